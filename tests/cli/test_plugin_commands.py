"""`sage plugins`: what a user sees and types, with real plugins in real processes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sage_code.events.plugins import HOOKS
from sage_code.paths import listeners_dir

Run = Callable[..., Any]
TOP = Path(__file__).parents[2]
BLOCKS = re.findall(r"```python\n(.*?)```", (TOP / "docs" / "PLUGINS.md").read_text(), re.DOTALL)


def _names(sage: Run) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in json.loads(sage("plugins", "list", "--json").out)["plugins"]}


def _plugin(sage_home: Path, name: str, body: str = "", hooks: str = "'pre_search'") -> Path:
    folder = sage_home / "plugins"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.py"
    path.write_text(
        "from sage_code.events.plugins import PluginMetadata\n\n\nclass Mine:\n"
        f"    metadata = PluginMetadata('{name}', '1.0', 'Ana', 'For a test.', [{hooks}], 30)\n\n"
        f"    def pre_search(self, where, query, filters):\n        return None\n{body}"
    )
    return path


def test_a_list_without_own_plugins_says_what_to_do_next(sage: Run, sage_home: Path) -> None:
    listed = sage("plugins", "list")
    assert listed.code == 0
    assert [line.split()[0] for line in listed.out.splitlines()] == ["session", "checkpoint-queue", "recovery"]
    assert "sage plugins new" in listed.err
    assert not sage_home.exists()


def test_a_new_plugin_works_at_once(sage: Run, sage_home: Path) -> None:
    made = sage("plugins", "new", "my-words")
    assert made.code == 0
    assert (sage_home / "plugins" / "my_words.py").stat().st_mode & 0o777 == 0o600
    assert not Path(listeners_dir()).exists()
    enabled = sage("plugins", "enable", "my-words")
    assert enabled.out == "enabled: my-words (pre_search)\n"
    assert enabled.err == ""
    assert _names(sage)["my-words"]["hooks"] == ["pre_search"]
    assert sage("plugins", "enable", "my-words").out.startswith("already enabled: my-words")
    assert sage("plugins", "disable", "my-words").out == "disabled: my-words\n"
    assert not Path(listeners_dir()).exists()
    again = sage("plugins", "disable", "my-words")
    assert (again.code, again.out) == (1, "not enabled: my-words\n")


def test_a_new_plugin_with_every_hook_passes_its_test(sage: Run, sage_home: Path) -> None:
    words = [word for hook in HOOKS for word in ("--hook", hook)]
    made = json.loads(sage("plugins", "new", "all-of-them", *words, "--json").out)
    assert tuple(made["hooks"]) == HOOKS
    path = os.pathsep.join(map(str, (TOP, TOP / "cli", TOP / "mcp")))
    done = subprocess.run(
        [sys.executable, made["test"]], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    assert "Ran 7 tests" in done.stderr
    assert sage("plugins", "enable", "all-of-them").out == f"enabled: all-of-them ({', '.join(HOOKS)})\n"


def test_nothing_is_overwritten(sage: Run, sage_home: Path) -> None:
    sage("plugins", "new", "mine")
    path = sage_home / "plugins" / "mine.py"
    path.write_text("# mine\n")
    refused = sage("plugins", "new", "mine")
    assert refused.code == 2
    assert "is there already" in refused.err
    assert path.read_text() == "# mine\n"
    (sage_home / "plugins" / "tests" / "test_other.py").write_text("# mine too\n")
    assert sage("plugins", "new", "other").code == 2
    assert not (sage_home / "plugins" / "other.py").exists()


@pytest.mark.parametrize(
    "name", ["../evil", "a/b", "Upper", "9lives", "a--b", "", "json", "class", "tests", "x" * 99, "a.b"]
)
def test_names_that_cannot_be_used(sage: Run, sage_home: Path, name: str) -> None:
    refused = sage("plugins", "new", name)
    assert refused.code == 2
    assert "cannot be called" in refused.err
    assert not sage_home.exists()


def test_names_of_the_watchers_plugins_are_taken(sage: Run) -> None:
    assert "watcher's own" in sage("plugins", "new", "recovery").err


def test_an_unknown_hook_names_those_that_there_are(sage: Run) -> None:
    refused = sage("plugins", "new", "mine", "--hook", "presearch")
    assert refused.code == 2
    assert "pre_search" in refused.err


def test_an_unknown_name_has_a_nearest_one(sage: Run, sage_home: Path) -> None:
    _plugin(sage_home, "boosts")
    for command in ("enable", "disable", "show"):
        refused = sage("plugins", command, "bosts")
        assert refused.code == 2
        assert "did you mean boosts?" in refused.err


def test_show_has_what_the_plugin_says_now(sage: Run, sage_home: Path) -> None:
    body = "\n    def on_load(self, context):\n        context['bus'].subscribe('staleness.*', print)\n"
    path = _plugin(sage_home, "mine", body)
    sage("plugins", "enable", "mine", "--priority", "7", "--timeout-ms", "300")
    shown = sage("plugins", "show", "mine").out
    for part in ("mine 1.0  (enabled)", "For a test.", "Ana", str(path), "pre_search", "staleness.*", "300 ms", "7\n"):
        assert part in shown
    path.write_text("def broken(:\n")
    shown = sage("plugins", "show", "mine").out
    assert "(broken)" in shown
    assert f"{path}" in shown
    assert "problem:" in shown


def test_options_of_an_enabled_plugin_can_be_changed(sage: Run, sage_home: Path) -> None:
    _plugin(sage_home, "mine")
    sage("plugins", "enable", "mine")
    assert sage("plugins", "enable", "mine", "--priority", "5").out.startswith("enabled: mine")
    assert sage("plugins", "enable", "mine", "--timeout-ms", "500").out.startswith("enabled: mine")
    row = _names(sage)["mine"]
    assert (row["priority"], row["timeout_ms"]) == (5, 500)
    assert sage("plugins", "enable", "mine", "--timeout-ms", "0").code == 2


def test_the_order_of_the_list_is_that_of_the_calls(sage: Run, sage_home: Path) -> None:
    for name, priority in (("late", "90"), ("zero", "0")):
        _plugin(sage_home, name)
        assert sage("plugins", "enable", name, "--priority", priority).code == 0
    assert [name for name, row in _names(sage).items() if row["kind"] == "file"] == ["zero", "late"]


def test_a_plugin_that_cannot_be_loaded_is_not_enabled(sage: Run, sage_home: Path) -> None:
    path = _plugin(sage_home, "mine", hooks="'pre_serach'")
    refused = sage("plugins", "enable", "mine")
    assert refused.code == 2
    assert str(path) in refused.err
    assert "did you mean pre_search?" in refused.err
    assert not Path(listeners_dir()).exists()


def test_a_plugin_whose_file_is_gone_can_be_disabled(sage: Run, sage_home: Path) -> None:
    path = _plugin(sage_home, "mine")
    sage("plugins", "enable", "mine")
    path.unlink()
    assert "broken" in sage("plugins", "list").out
    assert "is gone" in sage("plugins", "show", "mine").out
    assert sage("plugins", "disable", "mine").code == 0


def test_on_a_terminal_enable_says_whose_code_will_run(
    sage: Run, sage_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _plugin(sage_home, "mine")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    said = " ".join(sage("plugins", "enable", "mine").err.split())
    assert str(path) in said
    assert "your rights" in said
    assert "sage plugins disable mine" in said


def test_the_watchers_plugins_are_switched_in_their_file(sage: Run, sage_home: Path) -> None:
    file = sage_home / "plugins.yaml"
    assert sage("plugins", "disable", "recovery").out == "disabled: recovery\n"
    assert file.read_text() == "plugins: {recovery: {enabled: false}}\n"
    assert sage("plugins", "disable", "recovery").code == 1
    assert "built-in, off" in sage("plugins", "list").out
    assert sage("plugins", "enable", "recovery").out == "enabled: recovery (compaction.detected)\n"
    assert not file.exists()
    file.write_text("# My own.\nplugins:\n  recovery:\n    settings: {salience_threshold: 0.2}\n")
    sage("plugins", "disable", "recovery")
    assert file.read_text().startswith("# My own.\nplugins: {recovery: {enabled: false, settings")
    sage("plugins", "enable", "recovery")
    assert "salience_threshold: 0.2" in file.read_text()


def test_comments_between_the_watchers_plugins_are_not_lost(sage: Run, sage_home: Path) -> None:
    sage_home.mkdir()
    file = sage_home / "plugins.yaml"
    file.write_text(text := "plugins:\n  # quiet at night\n  recovery: {priority: 5}\n")
    refused = sage("plugins", "disable", "recovery")
    assert refused.code == 2
    assert "`enabled: false` below `recovery:`" in " ".join(refused.err.split())
    assert file.read_text() == text
    assert "set `priority`" in sage("plugins", "enable", "recovery", "--priority", "3").err


def test_a_plugin_that_garbles_everything_can_be_disabled(sage: Run, sage_home: Path) -> None:
    body = "\n    def post_format(self, command, text):\n        return 'garbled'\n"
    _plugin(sage_home, "mine", body, hooks="'post_format'")
    sage("plugins", "enable", "mine")
    assert "garbled" not in sage("plugins", "list").out
    assert "garbled" not in sage("plugins", "show", "mine").out
    assert sage("plugins", "disable", "mine").out == "disabled: mine\n"


def test_names_from_files_cannot_control_the_terminal(sage: Run, sage_home: Path) -> None:
    _plugin(sage_home, "mine").rename(sage_home / "plugins" / "a\x1b[31m.py")
    listed = sage("plugins", "list")
    assert "\x1b" not in listed.out + listed.err
    assert "\\x1b[31m" in listed.out


def test_doctor_finds_plugins_that_cannot_run(sage_home: Path, sage: Run) -> None:
    from sage_code.doctor.plugins import plugin_findings

    assert list(plugin_findings()) == []
    paths = {name: _plugin(sage_home, name) for name in ("good", "gone", "broken", "grown")}
    for name in paths:
        assert sage("plugins", "enable", name).code == 0
    paths["gone"].unlink()
    paths["broken"].write_text("raise RuntimeError('no')\n")
    grown = paths["grown"].read_text().replace("['pre_search']", "['pre_search', 'post_format']")
    paths["grown"].write_text(f"{grown}\n    def post_format(self, command, text):\n        return None\n")
    found = list(plugin_findings())
    assert [finding.level for finding in found] == ["warning"] * 3 + ["ok"]
    by_name = {finding.message.split()[1].rstrip(":"): finding for finding in found[:3]}
    assert "is gone" in by_name["gone"].message
    assert "RuntimeError" in by_name["broken"].message
    assert "post_format" in by_name["grown"].message
    assert by_name["grown"].fix == "`sage plugins enable grown`"
    assert "sage plugins disable broken" in by_name["broken"].fix
    assert found[-1].message == "enabled: good"


def test_the_plugin_of_the_document_can_be_enabled(sage: Run, sage_home: Path) -> None:
    (sage_home / "plugins").mkdir(parents=True)
    (sage_home / "plugins" / "my_synonyms.py").write_text(BLOCKS[0])
    assert sage("plugins", "enable", "my-synonyms").out == "enabled: my-synonyms (pre_search)\n"


def test_the_hooks_of_the_document_do_what_it_says() -> None:
    methods: dict[str, Any] = {}
    for block in BLOCKS[1:]:
        if block.startswith("def "):
            exec(block, methods)
    assert set(HOOKS) <= methods.keys()
    shown = "on db7.internal.example"
    assert methods["pre_load"](None, "core", ".sage/core.md") == "docs/core-for-agents.md"
    assert methods["post_load"](None, "core", shown) == "on [a database]"
    assert "50 ms" in methods["on_timeout"](None, "blocks", 50)
    assert methods["pre_search"](None, "code", "q", {"paths": []})["filters"] == {"paths": ["src/"]}
    rows = [{"file": "a/vendor/b.py"}, {"file": "c.py"}]
    assert methods["post_search"](None, "code", "q", rows) == [{"file": "c.py"}]
    document = {"results": [{"snippet": shown}]}
    assert methods["pre_format"](None, "search", document)["results"][0]["snippet"] == "on [a database]"
    assert methods["post_format"](None, "search", shown) == "on [a database]"


def test_the_program_of_the_document_runs() -> None:
    (program,) = [block for block in BLOCKS if "get_event_bus" in block]
    path = os.pathsep.join(map(str, (TOP, TOP / "cli", TOP / "mcp")))
    subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": path}, check=True)


def test_the_commands_of_the_document_exist() -> None:
    import shlex

    import typer

    from sage_cli.app import app

    root: Any = typer.main.get_command(app)
    (block,) = re.findall(r"```sh\n(.*?)```", (TOP / "docs" / "PLUGINS.md").read_text(), re.DOTALL)
    for line in block.splitlines():
        _, name, *words = shlex.split(line, comments=True)
        command = root.commands[name]
        while hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        command.make_context("sage", words)
