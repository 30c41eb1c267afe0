"""Sage's hooks go into the settings of Claude Code and out of them again, and every byte is as it was."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import stat
import string
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sage_code.agents import hooks, jsonc, record
from sage_code.agents.hook_table import (
    EVENTS,
    SCOPES,
    SHARED_COMMAND,
    groups,
    hook_command,
    is_sage_hook,
    settings_file,
)
from sage_code.doctor.agents import agent_findings
from sage_code.errors import ConfigError

Sage = Callable[..., Any]
OTHER = {"type": "command", "command": "say done"}
OLDER = {"type": "command", "command": "/old/venv/bin/sage-hook", "timeout": 10}
TEXTS = [
    b"", b"\n", b"\xef\xbb\xbf", b"{}", b"{ }\n", b"{\r\n}\r\n", b"/* a */ {} // b", b'{"model":"opus"}',
    b'{\n\t"model": "opus",\n\t"hooks": {}\n}', b'{"hooks": {"Stop": []}}', b'{"hooks":{"Stop":[],"PreCompact":[]}}',
    b'\xef\xbb\xbf{\r\n    "hooks": {\r\n        "Stop": [ // mine\r\n        ],\r\n    },\r\n}\r\n',
    b'{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say"}]}]}, "a": 1}',
    # The text that goes into one list is found in the other one too, where it is not what was inserted.
    (b'{\n "hooks": {\n  "Stop": [\n   {\n    "hooks": []\n   } // one\n  ],\n'
    b'  "PreCompact": [\n   {\n    "hooks": []\n   },// two\n  ]\n }\n}'),
    (b'{\n "hooks": {\n  "PreCompact": [\n   {\n    "hooks": []\n   } // one\n  ],\n'
    b'  "Stop": [\n   {\n    "hooks": []\n   },\n  ]\n }\n}'),
]  # fmt: skip
BROKEN = [
    b"{", b"[]", b'{"a": 1} x', b'{"hooks": null}', b'{"hooks": []}', b'{"hooks": {"Stop": {}}}', b'{"a": "\xff"}',
    b'{"hooks": {"SessionEnd": "x"}}',
]  # fmt: skip


@pytest.fixture
def file() -> Path:
    path = Path.home() / ".claude" / "settings.json"
    path.parent.mkdir()
    return path


@pytest.fixture
def root(tmp_path: Path) -> str:
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return str(tmp_path / "project")


def _document(data: bytes) -> Any:
    text = data.decode()
    return {} if jsonc.is_blank(text) else jsonc.parse(text).value


def _with_hooks(document: dict[str, Any], command: str) -> dict[str, Any]:
    listed = dict(document.get("hooks", {}))
    for event, (group,) in groups(command).items():
        listed[event] = [*listed.get(event, []), group]
    return {**document, "hooks": listed}


def _listed(document: Any) -> list[tuple[str, Any]]:
    return [(event, one) for event, group in document["hooks"].items() for item in group for one in item["hooks"]]


@pytest.mark.parametrize("data", TEXTS, ids=map(str, range(len(TEXTS))))
def test_install_and_uninstall_leave_the_file_unchanged(data: bytes, file: Path, root: str) -> None:
    file.write_bytes(data)
    added = hooks.install("user", root)
    assert added.action == "added"
    assert Path(added.backup).read_bytes() == data
    assert _document(file.read_bytes()) == _with_hooks(_document(data), hook_command("user"))
    once = file.read_bytes()
    assert hooks.install("user", root).action == "unchanged"
    assert file.read_bytes() == once
    assert hooks.uninstall("user", root).action == "removed"
    assert file.read_bytes() == data
    assert not Path(added.backup).exists()
    assert record.load() == {}
    assert hooks.uninstall("user", root).action == "absent"
    assert file.read_bytes() == data


_PLAIN = st.none() | st.booleans() | st.integers(-9, 9) | st.text(string.printable + "é", max_size=6)
_HANDLERS = st.sampled_from(
    [OTHER, {"type": "prompt", "prompt": "x"}, {"type": "command", "command": "echo sage-hook"}]
)
_GROUPS = st.fixed_dictionaries({"hooks": st.lists(_HANDLERS, max_size=2)}, optional={"matcher": st.just("Bash")})
_HOOKS = st.dictionaries(st.sampled_from([*EVENTS, "PostToolUse"]), st.lists(_GROUPS, max_size=2), max_size=4)
_SETTINGS = st.fixed_dictionaries(
    {}, optional={"hooks": _HOOKS, "model": _PLAIN, "env": st.dictionaries(st.text(max_size=3), _PLAIN, max_size=2)}
)


@settings(max_examples=60, deadline=None)
@given(st.data(), _SETTINGS, st.integers(0, 4))
def test_any_settings_however_they_are_written(
    written: Callable[[Any], st.SearchStrategy[str]], data: st.DataObject, document: dict[str, Any], indent: int
) -> None:
    text = data.draw(written(document)).encode()
    file = Path(settings_file("user", ""))
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(text)
    hooks.install("user", "")
    after = _document(file.read_bytes())
    assert after == _with_hooks(document, hook_command("user"))
    hooks.uninstall("user", "")
    assert file.read_bytes() == text
    # Another program writes the file anew, with a hook of its own, between the two.
    hooks.install("user", "")
    after["hooks"].setdefault("Stop", []).append({"hooks": [OTHER]})
    after["theme"] = "dark"
    file.write_text(json.dumps(after, indent=indent or None))
    hooks.uninstall("user", "")
    left = _document(file.read_bytes())
    foreign = document.get("hooks", {})
    assert left.pop("theme") == "dark"
    assert left.pop("hooks") == {**foreign, "Stop": [*foreign.get("Stop", []), {"hooks": [OTHER]}]}
    assert left == {key: value for key, value in document.items() if key != "hooks"}


@pytest.mark.parametrize("scope", SCOPES)
def test_a_file_that_install_made_is_deleted_again(sage: Sage, scope: str, root: str) -> None:
    before = sorted(Path.home().rglob("*")), sorted(Path(root).rglob("*"))
    where = ["--scope", scope, "--project", root]
    (shown,) = json.loads(sage("hooks", "install", "--print", *where, "--json").out)["previews"]
    assert (sorted(Path.home().rglob("*")), sorted(Path(root).rglob("*"))) == before
    assert sage("hooks", "install", *where).code == 0
    path = Path(shown["path"])
    assert path == (Path(root) if scope != "user" else Path.home()) / ".claude" / path.name
    assert path.read_text() == shown["text"]
    assert json.loads(shown["text"]) == {"hooks": groups(hook_command(scope))}  # type: ignore[arg-type]
    assert stat.S_IMODE(path.stat().st_mode) == (0o644 if scope == "project" else 0o600)
    assert sage("hooks", "uninstall", *where).code == 0
    left = [one for one in sorted(Path.home().rglob("*")) if ".sage" not in one.parts]
    assert (left, sorted(Path(root).rglob("*"))) == before
    assert sage("hooks", "uninstall", *where).code == 1


def test_a_reformatted_file_that_install_made_is_deleted_too(file: Path, root: str) -> None:
    file.parent.rmdir()
    hooks.install("user", root)
    file.write_text(json.dumps(json.loads(file.read_text()), indent=8, sort_keys=True))
    hooks.uninstall("user", root)
    assert not file.parent.exists()


def test_what_others_add_meanwhile_stays_where_it_is(file: Path, root: str) -> None:
    before = '{\n  "hooks": {\n    "Stop": [\n      { "hooks": [] } // a\n    ]\n  },\n  "model": "opus"\n}\n'
    file.write_text(before)
    hooks.install("user", root)
    mine = '"theme": "dark", // mine\n  "model"'
    file.write_text(file.read_text().replace('"model"', mine))
    hooks.uninstall("user", root)
    assert file.read_text() == before.replace('"model"', mine)


def test_a_hook_beside_a_users_own_in_one_group_is_cut_out_alone(file: Path, root: str) -> None:
    own = {"matcher": "auto", "hooks": [OTHER, OLDER, OTHER]}
    file.write_text(json.dumps({"hooks": {"PreCompact": [own]}}, indent=2))
    assert hooks.uninstall("user", root).action == "removed"
    assert json.loads(file.read_text()) == {"hooks": {"PreCompact": [{**own, "hooks": [OTHER, OTHER]}]}}


def test_without_the_record_the_hooks_are_found_by_their_program(file: Path, root: str, sage_home: Path) -> None:
    document = {"hooks": {"Stop": [{"hooks": [OTHER]}]}, "model": "opus"}
    file.write_text(json.dumps(document, indent=2))
    hooks.install("user", root)
    (sage_home / "agents" / "installed.json").unlink()
    assert hooks.uninstall("user", root).action == "removed"
    assert json.loads(file.read_text()) == document


def test_an_older_entry_is_updated_and_what_the_user_has_set_on_it_stays(file: Path, root: str) -> None:
    tuned = {**OLDER, "timeout": 60}
    kept = {"model": "opus", "hooks": {"Stop": [{"hooks": [OTHER]}]}}
    older = {"Stop": [{"hooks": [OTHER]}, {"hooks": [OLDER]}], "PreCompact": [{"matcher": "auto", "hooks": [tuned]}]}
    file.write_text(json.dumps({**kept, "hooks": older}, indent=2))
    assert hooks.status(root).scopes[0].state == "broken"
    assert hooks.install("user", root).action == "updated"
    document = json.loads(file.read_text())
    assert document["hooks"]["Stop"] == [{"hooks": [OTHER]}, groups(hook_command("user"))["Stop"][0]]
    handler = {**tuned, "command": hook_command("user")}
    assert document["hooks"]["PreCompact"] == [{"matcher": "auto", "hooks": [handler]}]
    assert hooks.install("user", root).action == "unchanged"
    assert hooks.install("user", root, force=True).action == "updated"
    assert json.loads(file.read_text()) == _with_hooks(kept, hook_command("user"))
    hooks.uninstall("user", root)
    assert json.loads(file.read_text()) == kept


@pytest.mark.parametrize("data", BROKEN, ids=map(str, range(len(BROKEN))))
def test_a_file_that_cannot_take_a_hook_is_not_changed(data: bytes, file: Path, root: str, sage: Sage) -> None:
    file.write_bytes(data)
    result = sage("hooks", "install", "--project", root)
    assert result.code == 2
    assert str(file) in result.err
    assert file.read_bytes() == data
    assert not list(Path.home().glob(".sage/agents/*.backup"))


def test_a_link_is_written_through_and_one_out_of_the_project_is_refused(file: Path, root: str, tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles.json"
    dotfiles.write_bytes(b"{}\n")
    file.symlink_to(dotfiles)
    hooks.install("user", root)
    assert file.is_symlink()
    assert "Stop" in dotfiles.read_text()
    hooks.uninstall("user", root)
    assert (file.is_symlink(), dotfiles.read_bytes()) == (True, b"{}\n")
    (Path(root) / ".claude").mkdir()
    for scope, name in (("project", "settings.json"), ("local", "settings.local.json")):
        (Path(root) / ".claude" / name).symlink_to(dotfiles)
        with pytest.raises(ConfigError, match="leads out"):
            hooks.install(scope, root)  # type: ignore[arg-type]
    assert dotfiles.read_bytes() == b"{}\n"


def test_the_users_folder_may_be_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, root: str) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    assert hooks.install("user", root).path == str(tmp_path / "claude" / "settings.json")


def test_which_commands_are_sages() -> None:
    for command in (
        hook_command("user"), SHARED_COMMAND, "sage-hook", "'/my venv/bin/sage-hook'", "SAGE_HOME=/x sage-hook",
        "C:\\Tools\\sage-hook.exe", "python3 -P -m sage_code.continuity.hooks.entry",
    ):  # fmt: skip
        quoted = command if "\\" not in command else shlex.quote(command)
        assert is_sage_hook({"type": "command", "command": quoted}), command
    assert is_sage_hook({"command": "/bin/sage-hook", "args": ["--x"]})
    for foreign in ("echo sage-hook", "cat /x/sage-hook", "my-sage-hook", "sage-hook-crm", "'", "-m", ""):
        assert not is_sage_hook({"type": "command", "command": foreign}), foreign
    assert not any(map(is_sage_hook, (None, "sage-hook", {"type": "http", "url": "sage-hook"}, {"command": 1})))


def test_the_command_names_this_installation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "my venv" / "bin"
    folder.mkdir(parents=True)
    monkeypatch.setattr(sys, "executable", str(folder / "python"))
    assert shlex.split(hook_command("user")) == [
        str(folder / "python"), "-P", "-m", "sage_code.continuity.hooks.entry"
    ]  # fmt: skip
    (folder / "sage-hook").write_text("#!/bin/sh\n")
    (folder / "sage-hook").chmod(0o755)
    assert shlex.split(hook_command("user")) == shlex.split(hook_command("local")) == [str(folder / "sage-hook")]
    assert hook_command("project") == SHARED_COMMAND


@pytest.mark.parametrize("shell", ["sh", "bash", "dash", "zsh"])
def test_the_shared_command_disturbs_nobody_without_sage_and_passes_on_what_the_hook_says(
    shell: str, tmp_path: Path
) -> None:
    path = shutil.which(shell)
    if path is None:
        pytest.skip(f"no {shell} here")
    run = lambda: subprocess.run(  # noqa: E731
        [path, "-c", SHARED_COMMAND],
        input="{}",
        capture_output=True,
        text=True,
        env={"PATH": str(tmp_path)},
        check=False,
    )
    silent = run()
    assert (silent.returncode, silent.stdout, silent.stderr) == (0, "", "")
    program = tmp_path / "sage-hook"
    program.write_text(f"#!{shutil.which('sh')}\nread line; echo got $line; exit 2\n")
    program.chmod(0o755)
    blocked = run()
    assert (blocked.returncode, blocked.stdout) == (2, "got {}\n")


def test_status(sage: Sage, root: str, file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def look(code: int) -> Any:
        result = sage("hooks", "status", "--project", root, "--json")
        assert result.code == code, result.out + result.err
        return json.loads(result.out)

    found = look(1)
    assert [(one["scope"], one["state"]) for one in found["scopes"]] == [(scope, "absent") for scope in SCOPES]
    assert not found["installed"]
    assert not (Path.home() / ".sage").exists()
    sage("hooks", "install", "--project", root)
    user = look(0)["scopes"][0]
    assert (user["state"], user["missing"], user["runnable"]) == ("installed", [], True)
    assert user["command"] == hook_command("user")

    document = json.loads(file.read_text())
    del document["hooks"]["Stop"]
    file.write_text(json.dumps(document))
    assert (look(0)["scopes"][0]["state"], look(0)["scopes"][0]["missing"]) == ("partial", ["Stop"])
    assert "sage hooks install" in sage("hooks", "status", "--project", root).out
    sage("hooks", "install", "--project", root)
    program = tmp_path / "bin" / "sage-hook"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    file.write_text(json.dumps({"hooks": groups(str(program))}))
    assert look(0)["scopes"][0]["state"] == "outdated"
    program.unlink()
    broken = look(2)["scopes"][0]
    assert (broken["state"], broken["problem"], broken["runnable"]) == ("broken", f"{program} cannot be run", False)
    file.write_text("{")
    broken = look(2)["scopes"][0]
    assert (broken["state"], broken["command"]) == ("broken", "")
    assert "no valid JSON" in broken["problem"]

    file.write_text(json.dumps({"disableAllHooks": True, "enabledPlugins": {"sage@sage": True}}))
    found = look(1)
    assert (found["disabled_by"], found["plugin_in"]) == (str(file), str(file))
    assert len(found["notes"]) == 2
    sage("hooks", "install", "--project", root)
    assert "more than once" in look(0)["notes"][1]
    local = Path(settings_file("local", root))
    local.parent.mkdir()
    local.write_text(json.dumps({"disableAllHooks": False, "enabledPlugins": {"sage@sage": False}}))
    found = look(0)
    assert (found["disabled_by"], found["plugin_in"], found["notes"]) == ("", "", [])
    sage("hooks", "install", "--project", root, "--scope", "project")
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    assert look(2)["scopes"][1]["problem"] == "sage-hook is not on the PATH"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = look(0)
    assert [one["state"] for one in found["scopes"]] == ["installed", "installed", "absent"]
    assert "more than once" in found["notes"][0]


def test_the_home_folder_as_a_project_has_one_settings_file(file: Path) -> None:
    assert [one.scope for one in hooks.status(str(Path.home())).scopes] == ["user", "local"]


def test_doctor_says_what_repairs_the_hooks(file: Path, root: str) -> None:
    def look() -> tuple[str, str, str]:
        *_, found = agent_findings(root, "1.0")
        return found.level, found.message, found.fix

    level, message, fix = look()
    assert (level, "`sage hooks install`" in fix) == ("note", True)
    hooks.install("user", root)
    assert look()[::2] == ("ok", "")
    file.write_text(json.dumps({"hooks": groups("/gone/sage-hook")}))
    level, message, fix = look()
    assert (level, "/gone/sage-hook" in message, fix) == ("error", True, "`sage hooks install`")
    file.write_text(json.dumps({"hooks": {"Stop": groups(hook_command("user"))["Stop"]}}))
    assert look()[::2] == ("warning", "`sage hooks install`")
    hooks.install("user", root)
    file.write_text(file.read_text().replace("{", '{"disableAllHooks": true,', 1))
    assert "switched off" in look()[1]
    file.write_text(json.dumps({"enabledPlugins": {"sage@sage": True}}))
    assert look()[0] == "ok"


def test_folders_go_with_the_last_file_of_sage_in_them(sage: Sage, root: str) -> None:
    where = ["--scope", "project", "--project", root]
    for words in (("hooks", "install"), ("skills", "install"), ("mcp", "install", "--agent", "claude", "--subagent")):
        assert sage(*words, *where).code == 0
    for words in (("hooks", "uninstall"), ("skills", "uninstall"), ("mcp", "uninstall", "--agent", "claude")):
        assert sage(*words, *where).code == 0
    assert [path.name for path in Path(root).iterdir()] == [".git"]
    assert record.load() == {}
