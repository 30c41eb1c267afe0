"""Sage goes into an agent's configuration and out of it again, and every byte is as it was."""

from __future__ import annotations

import json
import os
import stat
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sage_code.agents import jsonc, record
from sage_code.agents.install import (
    install,
    install_notes,
    install_subagent,
    is_sage_entry,
    preview,
    read_entry,
    server_command,
    uninstall,
    uninstall_notes,
    uninstall_subagent,
)
from sage_code.agents.table import AGENTS, chosen_agents, config_file, notes_file
from sage_code.errors import ConfigError, UsageError
from sage_code.values import Scope

FIXTURES = Path(__file__).parents[2] / "fixtures" / "agents"
COMMAND = ["/opt/sage/bin/sage-mcp"]
NEWER = ["uvx", "--from", "sage-code==9.9.9", "sage-mcp"]
# A fixture of each agent, and the ways in which such a file may be written.
FILES = {
    "claude": ("claude.json", "claude-one-line.json"),
    "codex": ("codex.toml",),
    "cursor": ("cursor.json",),
    "gemini": ("gemini.json",),
    "vscode": ("vscode.json",),
    "windsurf": ("windsurf.json",),
    "zed": ("zed.json",),
    "opencode": ("opencode.json", "opencode-servers.json"),
}
EMPTY = ["", "\n", "\ufeff", "{}", "{ }\n", "{\n}\n", "{\r\n}\r\n", "{ // nothing yet\n}\n", "/* a */ {} // b"]
CASES = [
    *((name, (FIXTURES / file).read_bytes()) for name, files in FILES.items() for file in files),
    *((name, (FIXTURES / FILES[name][0]).read_bytes().rstrip()) for name in AGENTS),
    *(
        (name, (FIXTURES / FILES[name][0]).read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
        for name in AGENTS
    ),
    *(("zed", text.encode()) for text in EMPTY),
    *(("codex", text.encode()) for text in ("", "\n", "a = 1", "a = 1\r\n", "# only a comment", "\ufeffa = 1\n")),
]
IDS = [f"{name}-{number}" for number, (name, _) in enumerate(CASES)]


def _document(name: str, data: bytes) -> Any:
    text = data.decode()
    if name == "codex":
        return tomllib.loads(text.removeprefix("\ufeff"))
    return {} if jsonc.is_blank(text) else jsonc.parse(text).value


def _written(name: str, root: Path, data: bytes, scope: Scope = "user") -> Path:
    path = Path(config_file(AGENTS[name], scope, str(root)))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


@pytest.fixture(params=["linux", "darwin", "win32"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "platform", request.param)
    monkeypatch.setenv("APPDATA", str(Path.home() / "AppData" / "Roaming"))
    return str(request.param)


@pytest.mark.parametrize(("name", "data"), CASES, ids=IDS)
def test_install_and_uninstall_leave_the_file_unchanged(name: str, data: bytes, tmp_path: Path) -> None:
    agent, path = AGENTS[name], _written(name, tmp_path, data)
    before = _document(name, data)
    added = install(agent, "user", str(tmp_path), COMMAND)
    assert added.action == "added"
    assert Path(added.backup).read_bytes() == data
    assert stat.S_IMODE(os.stat(added.backup).st_mode) == 0o600
    after = _document(name, path.read_bytes())
    entry = read_entry(agent, "user", str(tmp_path))
    assert is_sage_entry(entry)
    keys = agent.newer_keys if b'"servers"' in data and agent.newer_keys else agent.keys
    servers, others = after, before
    for key in keys:
        assert {k: v for k, v in servers.items() if k != key} == {k: v for k, v in others.items() if k != key}
        servers, others = servers[key], others.get(key, {})
    assert servers == {**others, "sage": entry}
    assert install(agent, "user", str(tmp_path), COMMAND).action == "unchanged"
    assert install(agent, "user", str(tmp_path), NEWER).action == "updated"
    assert read_entry(agent, "user", str(tmp_path)) == agent.entry(NEWER)
    assert uninstall(agent, "user", str(tmp_path)).action == "removed"
    assert path.read_bytes() == data
    assert not Path(added.backup).exists()
    assert record.load() == {}
    assert uninstall(agent, "user", str(tmp_path)).action == "absent"
    assert path.read_bytes() == data


@pytest.mark.parametrize("scope", ["user", "project"])
@pytest.mark.parametrize("name", AGENTS)
def test_a_file_that_install_made_is_deleted_again(name: str, scope: Scope, tmp_path: Path, system: str) -> None:
    agent, root = AGENTS[name], tmp_path / "project"
    root.mkdir()
    if name == "windsurf" and scope == "project":
        with pytest.raises(UsageError, match="no servers for one project"):
            install(agent, scope, str(root), COMMAND)
        return
    before = sorted(Path.home().rglob("*")), sorted(root.rglob("*"))
    change = install(agent, scope, str(root), COMMAND)
    assert change.backup == ""
    assert stat.S_IMODE(os.stat(change.path).st_mode) == (0o600 if scope == "user" else 0o644)
    written = Path(change.path).read_text()
    assert written == preview(agent, scope, str(root), COMMAND)["text"]
    assert json.loads(written) if name != "codex" else tomllib.loads(written)
    assert uninstall(agent, scope, str(root)).action == "removed"
    left = [path for path in sorted(Path.home().rglob("*")) if ".sage" not in path.parts]
    assert (left, sorted(root.rglob("*"))) == before


def test_where_the_files_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, system: str) -> None:
    home, roaming = Path.home(), Path.home() / "AppData" / "Roaming"
    windows = system == "win32"
    support = {"linux": home / ".config", "darwin": home / "Library" / "Application Support", "win32": roaming}[system]
    found = {name: Path(config_file(agent, "user", "")) for name, agent in AGENTS.items()}
    assert found == {
        "claude": home / ".claude.json",
        "codex": home / ".codex" / "config.toml",
        "cursor": home / ".cursor" / "mcp.json",
        "gemini": home / ".gemini" / "settings.json",
        "vscode": support / "Code" / "User" / "mcp.json",
        "windsurf": home / ".codeium" / "windsurf" / "mcp_config.json",
        "zed": (roaming if windows else home / ".config") / "zed" / "settings.json",
        "opencode": home / ".config" / "opencode" / "opencode.json",
    }
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    assert config_file(AGENTS["codex"], "user", "") == str(tmp_path / "codex" / "config.toml")
    assert config_file(AGENTS["claude"], "user", "") == str(tmp_path / "claude" / ".claude.json")


def test_an_opencode_file_with_comments_is_preferred_when_it_is_the_one() -> None:
    folder = Path.home() / ".config" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.jsonc").write_text("{}")
    assert config_file(AGENTS["opencode"], "user", "").endswith("opencode.jsonc")


@pytest.mark.parametrize("name", AGENTS)
def test_changes_of_others_between_install_and_uninstall_stay(name: str, tmp_path: Path) -> None:
    """Another tool has reformatted the file: only the entry is cut out."""
    agent = AGENTS[name]
    path = Path(install(agent, "user", str(tmp_path), COMMAND).path)
    if name == "codex":
        path.write_text(path.read_text() + '\n[mcp_servers.sage.env]\nA = "1"\n\n[mcp_servers.other]\ncommand = "x"\n')
    else:
        document = json.loads(path.read_text())
        document[agent.keys[0]]["other"] = {"command": "x"}
        path.write_text(json.dumps(document, indent=4))
    assert uninstall(agent, "user", str(tmp_path)).action == "removed"
    assert _document(name, path.read_bytes()) == {agent.keys[0]: {"other": {"command": "x"}}}


def test_without_the_record_the_entry_is_found_by_its_name(tmp_path: Path, sage_home: Path) -> None:
    for name in AGENTS:
        data = (FIXTURES / FILES[name][0]).read_bytes()
        path = _written(name, tmp_path, data)
        install(AGENTS[name], "user", str(tmp_path), COMMAND)
        (sage_home / "agents" / "installed.json").unlink()
        uninstall(AGENTS[name], "user", str(tmp_path))
        # Gemini's had no servers, so an empty list of them is left; of the others nothing is.
        left = _document(name, path.read_bytes())
        assert left == _document(name, data) | ({"mcpServers": {}} if name == "gemini" else {})


def test_a_record_of_the_first_format_is_understood(tmp_path: Path, sage_home: Path) -> None:
    data = (FIXTURES / FILES["zed"][0]).read_bytes()
    path = _written("zed", tmp_path, data)
    install(AGENTS["zed"], "user", str(tmp_path), COMMAND)
    ((name, known),) = record.load().items()
    row = {"inserted": known.pieces[0], "existed": True, "folders": []}
    (sage_home / "agents" / "installed.json").write_text(json.dumps({"format": 1, "files": {name: row}}))
    assert record.load() == {name: known}
    uninstall(AGENTS["zed"], "user", str(tmp_path))
    assert path.read_bytes() == data


def test_an_entry_of_the_users_own_is_not_destroyed(tmp_path: Path) -> None:
    own = b'{\n  "mcpServers": {\n    "sage": { "command": "my-sage-crm" } // mine\n  }\n}\n'
    path = _written("cursor", tmp_path, own)
    with pytest.raises(ConfigError, match="not Sage's"):
        install(AGENTS["cursor"], "user", str(tmp_path), COMMAND)
    assert uninstall(AGENTS["cursor"], "user", str(tmp_path)).action == "kept"
    assert path.read_bytes() == own
    change = install(AGENTS["cursor"], "user", str(tmp_path), COMMAND, force=True)
    assert change.action == "updated"
    assert Path(change.backup).read_bytes() == own
    assert read_entry(AGENTS["cursor"], "user", str(tmp_path))["command"] == COMMAND[0]


BROKEN = [
    ("cursor", b'{"mcpServers": {'),
    ("cursor", b"{'a': 1}"),
    ("cursor", b'{"a": 1} x'),
    ("cursor", b"[]"),
    ("cursor", b'{"mcpServers": []}'),
    ("cursor", b'{"mcpServers": null}'),
    ("cursor", b'{"a": "\xff"}'),
    ("cursor", b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}"),
    ("codex", b"a = "),
    ("codex", b'mcp_servers = { docs = { command = "x" } }\n'),
    ("codex", b'mcp_servers = "none"\n'),
]


@pytest.mark.parametrize(("name", "data"), BROKEN, ids=map(str, range(len(BROKEN))))
def test_a_file_that_cannot_be_read_is_not_changed(name: str, data: bytes, tmp_path: Path) -> None:
    path = _written(name, tmp_path, data)
    with pytest.raises(ConfigError) as error:
        install(AGENTS[name], "user", str(tmp_path), COMMAND)
    assert str(path) in error.value.message or AGENTS[name].title in error.value.message
    assert error.value.hint
    assert path.read_bytes() == data


def test_a_link_is_written_through(tmp_path: Path) -> None:
    dotfiles = tmp_path / "dotfiles" / "mcp.json"
    dotfiles.parent.mkdir()
    dotfiles.write_bytes(b"{}\n")
    dotfiles.chmod(0o640)
    link = Path(config_file(AGENTS["cursor"], "user", ""))
    link.parent.mkdir(parents=True)
    link.symlink_to(dotfiles)
    install(AGENTS["cursor"], "user", str(tmp_path), COMMAND)
    assert link.is_symlink()
    assert "sage" in dotfiles.read_text()
    assert stat.S_IMODE(dotfiles.stat().st_mode) == 0o640
    uninstall(AGENTS["cursor"], "user", str(tmp_path))
    assert link.is_symlink()
    assert dotfiles.read_bytes() == b"{}\n"
    assert [path.name for path in dotfiles.parent.iterdir()] == ["mcp.json"]


@pytest.mark.parametrize("dangling", [True, False])
def test_links_out_of_the_project_are_refused(tmp_path: Path, dangling: bool) -> None:
    root, outside = tmp_path / "project", tmp_path / "outside.json"
    (root / ".cursor").mkdir(parents=True)
    if not dangling:
        outside.write_text("{}")
    (root / ".cursor" / "mcp.json").symlink_to(outside)
    (root / "AGENTS.md").symlink_to(tmp_path / "notes.md")
    with pytest.raises(ConfigError, match="leads out"):
        install(AGENTS["cursor"], "project", str(root), COMMAND)
    with pytest.raises(ConfigError, match="leads out"):
        install_notes(AGENTS["cursor"], "project", str(root))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside.json", "project"][dangling:]


@pytest.mark.parametrize(
    "data", [b"", b"# Rules\n\nBe brief.\n", b"# Rules\n\nBe brief.", b"# Rules\r\n\r\nBe brief.\r\n"]
)
@pytest.mark.parametrize("name", ["claude", "codex", "gemini"])
def test_lines_in_the_instructions(name: str, data: bytes, tmp_path: Path) -> None:
    agent = AGENTS[name]
    path = Path(notes_file(agent, "project", str(tmp_path)))
    path.write_bytes(data)
    assert install_notes(agent, "project", str(tmp_path)).action == "added"
    assert path.read_bytes().startswith(data)
    assert b"\n" not in path.read_bytes().replace(b"\r\n", b"") or b"\r\n" not in data
    assert install_notes(agent, "project", str(tmp_path)).action == "unchanged"
    path.write_bytes(path.read_bytes().replace(b"Exact text", b"Older text"))
    assert install_notes(agent, "project", str(tmp_path)).action == "updated"
    assert uninstall_notes(agent, "project", str(tmp_path)).action == "removed"
    assert path.read_bytes() == data
    install_notes(agent, "project", str(tmp_path))
    uninstall_notes(agent, "project", str(tmp_path))
    assert path.read_bytes() == data


def test_a_text_that_mentions_the_marks_is_not_cut(tmp_path: Path) -> None:
    own = "Sage writes between `<!-- sage:begin -->` and `<!-- sage:end -->`.\n"
    (tmp_path / "AGENTS.md").write_text(own)
    path = Path(install_notes(AGENTS["codex"], "project", str(tmp_path)).path)
    path.write_text(path.read_text().replace("Exact text", "My text") + "After it.\n")
    assert uninstall_notes(AGENTS["codex"], "project", str(tmp_path)).action == "removed"
    assert path.read_text() == own + "After it.\n"
    assert uninstall_notes(AGENTS["codex"], "project", str(tmp_path)).action == "absent"


NOTES = {
    "AGENTS.md": b"# Rules\r\nBe brief.",
    "CLAUDE.md": b"\n\n# Mine\n\n\n",
    ".mcp.json": b'{"mcpServers":{/**/}/**/\n}',
}


def test_uninstall_takes_the_notes_and_the_subagent_along_byte_for_byte(
    sage: Callable[..., Any], tmp_path: Path
) -> None:
    root = tmp_path / "project"
    root.mkdir()
    for name, data in NOTES.items():
        (root / name).write_bytes(data)
    where = ["--scope", "project", "--path", str(root)]
    every = ["--agent", "claude", "--agent", "codex", "--agent", "cursor"]
    added = sage("mcp", "install", *every, "--snippet", *where, "--json")
    assert added.code == 0, added.err
    assert sage("mcp", "install", "--agent", "claude", "--subagent", *where).code == 0
    assert (root / ".claude" / "agents" / "sage-search.md").exists()
    # Cursor still reads AGENTS.md, so that the lines stay until it goes.
    one = json.loads(sage("mcp", "uninstall", "--agent", "codex", *where, "--json").out)["changes"]
    assert [(change["kind"], change["action"]) for change in one] == [("server", "removed"), ("snippet", "kept")]
    assert b"sage:begin" in (root / "AGENTS.md").read_bytes()
    rest = json.loads(sage("mcp", "uninstall", *every, *where, "--json").out)["changes"]
    assert {(change["agent"], change["kind"]) for change in rest if change["action"] == "removed"} == {
        ("claude", "server"), ("claude", "snippet"), ("claude", "subagent"), ("cursor", "server"), ("cursor", "snippet")
    }  # fmt: skip
    assert {path.name: path.read_bytes() for path in root.rglob("*") if path.is_file()} == NOTES
    assert {path.name for path in root.iterdir()} == NOTES.keys()
    assert record.load() == {}
    nothing = sage("mcp", "uninstall", *every, *where)
    assert (nothing.code, nothing.out.count("\n")) == (1, 3)


def test_a_linked_instructions_file_is_restored_once(sage: Callable[..., Any], tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "AGENTS.md").write_bytes(b"# Rules")
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    words = ["--scope", "project", "--path", str(root)]
    assert sage("mcp", "install", "--agent", "codex", "--agent", "claude", "--snippet", *words).code == 0
    assert sage("mcp", "uninstall", "--agent", "codex", *words).code == 0
    assert (root / "AGENTS.md").read_bytes() != b"# Rules"
    assert sage("mcp", "uninstall", "--agent", "claude", *words).code == 0
    assert (root / "AGENTS.md").read_bytes() == b"# Rules"
    assert (root / "CLAUDE.md").is_symlink()
    assert record.load() == {}


def test_the_subagent_is_written_and_deleted(tmp_path: Path) -> None:
    claude = AGENTS["claude"]
    path = Path(install_subagent(claude, "project", str(tmp_path)).path)
    assert path == tmp_path / ".claude" / "agents" / "sage-search.md"
    head = path.read_text().split("---")[1]
    assert "tools: Bash, Read\n" in head
    assert "mcp" not in path.read_text().lower()
    assert install_subagent(claude, "project", str(tmp_path)).action == "unchanged"
    path.write_text(path.read_text() + "my own words\n")
    assert uninstall_subagent(claude, "project", str(tmp_path)).action == "kept"
    with pytest.raises(ConfigError, match="not Sage's"):
        install_subagent(claude, "project", str(tmp_path))
    path.unlink()
    install_subagent(claude, "project", str(tmp_path))
    assert uninstall_subagent(claude, "project", str(tmp_path)).action == "removed"
    assert not list(tmp_path.glob(".claude*/agents/*"))
    with pytest.raises(UsageError):
        install_subagent(AGENTS["zed"], "project", str(tmp_path))
    assert uninstall_subagent(AGENTS["zed"], "project", str(tmp_path)).action == "absent"


def test_installed_agents_are_found() -> None:
    with pytest.raises(UsageError, match="no agent"):
        chosen_agents(["all"])
    (Path.home() / ".claude").mkdir()
    (Path.home() / ".cursor").mkdir()
    assert [agent.name for agent in chosen_agents([])] == ["claude", "cursor"]
    assert [agent.name for agent in chosen_agents(["zed", "zed", "codex"])] == ["zed", "codex"]
    with pytest.raises(UsageError, match="no agent is called"):
        chosen_agents(["emacs"])


def test_the_command_names_this_installation() -> None:
    (own,) = server_command("user")
    assert os.path.isabs(own)
    assert os.path.dirname(own) == os.path.dirname(sys.executable)
    assert server_command("project") == ["sage-mcp"]
    assert server_command("project", version="1.2.3") == ["uvx", "--from", "sage-code==1.2.3", "sage-mcp"]
    assert all(is_sage_entry({"command": command[0], "args": command[1:]}) for command in (COMMAND, NEWER, [own]))
    assert is_sage_entry({"command": "sage", "args": ["mcp", "serve"]})
    assert is_sage_entry({"command": "C:\\Tools\\sage-mcp.exe"})
    assert not is_sage_entry({"command": "sage", "args": ["--crm"]})
    assert not is_sage_entry({"url": "https://sage.example"})
