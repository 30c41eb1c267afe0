"""The record of enabled plugins: who may write it, what is refused, and that damage never stops Sage."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from sage_code.errors import ConfigError, PluginError, UsageError
from sage_code.events import discovery, enabled
from sage_code.events.enabled import EnabledPlugin

_PLUGIN = """
from sage_code.events.plugins import PluginMetadata, SearchPlugin

class One(SearchPlugin):
    metadata = PluginMetadata("{name}", "1.2", "Ada", "Adds words.", ["pre_search"], {priority})

    def on_load(self, context):
        context["bus"].subscribe("memory.*", print)
"""


def record(name: str = "one", **more: object) -> EnabledPlugin:
    return EnabledPlugin(**{"name": name, "source": f"/{name}.py", "origin": f"/{name}.py", "version": "1.0", **more})  # type: ignore[arg-type]


@pytest.fixture
def add(sage_home: Path) -> Callable[..., Path]:
    """Writes a plugin into the user's folder."""

    def write(file: str, name: str = "one", priority: int = 100, text: str = "") -> Path:
        path = sage_home / "plugins" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text or _PLUGIN.format(name=name, priority=priority))
        return path

    return write


# -- the record ------------------------------------------------------------------------------------------------------


def test_a_record_comes_back_as_it_was(sage_home: Path) -> None:
    one = record(hooks=("pre_search",), events=("memory.*",), priority=7, timeout_ms=150, stamp="1-2-3")
    enabled.put(one)
    enabled.put(record("two", priority=1))
    assert enabled.read() == (record("two", priority=1), one)
    enabled.put(record("two", priority=9))
    assert [plugin.priority for plugin in enabled.read()] == [7, 9]


def test_the_record_is_private_and_goes_with_the_last_plugin(sage_home: Path) -> None:
    enabled.put(record())
    assert stat.S_IMODE(os.stat(sage_home / "events").st_mode) == 0o700
    assert stat.S_IMODE(os.stat(sage_home / "events" / "plugins.json").st_mode) == 0o600
    assert enabled.drop("one") == record()
    assert enabled.drop("one") is None
    assert not (sage_home / "events").exists()


def test_the_folder_stays_while_a_tail_has_its_pipe_in_it(sage_home: Path) -> None:
    enabled.put(record())
    os.mkfifo(sage_home / "events" / "1-1.fifo")
    enabled.drop("one")
    assert os.listdir(sage_home / "events") == ["1-1.fifo"]


def test_what_is_not_enabled_any_more_is_not_refreshed(sage_home: Path) -> None:
    enabled.refresh(record())
    enabled.put(record(source="/other.py"))
    enabled.refresh(record(priority=3))
    assert [(plugin.source, plugin.priority) for plugin in enabled.read()] == [("/other.py", 100)]


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"format": 1}', '{"format": "1", "plugins": []}', '{"format": 99, "plugins": []}',
     '{"format": 1, "plugins": [7]}', '{"format": 1, "plugins": [{"name": "one"}]}', "[" * 100_000,
     '{"format": 1, "plugins": [{"name": "a", "source": "b", "origin": "c", "version": "1", "hooks": [7]}]}',
     '{"format": 1, "plugins": [{"name": "a", "source": "b", "origin": "c", "version": "1", "priority": "x"}]}'],
)  # fmt: skip
def test_a_damaged_record_enables_nothing_and_is_said_once(
    sage_home: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    enabled.put(record())
    (sage_home / "events" / "plugins.json").write_text(text)
    with pytest.raises(ConfigError, match="cannot be used") as refused:
        enabled.read()
    assert "sage plugins enable" in refused.value.hint
    assert enabled.enabled() == enabled.enabled() == ()
    assert capsys.readouterr().err.count("cannot be used") == 1


def test_a_record_that_others_could_have_written_enables_nothing(sage_home: Path, tmp_path: Path) -> None:
    enabled.put(record())
    path = sage_home / "events" / "plugins.json"
    for target in (path, path.parent):
        mode = target.stat().st_mode
        target.chmod(mode | 0o020)
        with pytest.raises(ConfigError, match="other users may change"):
            enabled.read()
        target.chmod(mode)
    path.rename(tmp_path / "moved.json")
    path.symlink_to(tmp_path / "moved.json")
    with pytest.raises(ConfigError, match="is no regular file"):
        enabled.read()
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(ConfigError, match="is no regular file"):
        enabled.read()


def test_a_record_of_another_user_enables_nothing(sage_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enabled.put(record())
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(ConfigError, match="belongs to another user"):
        enabled.read()


# -- the home ---------------------------------------------------------------------------------------------------------


def test_a_home_inside_of_a_project_has_no_plugins(
    sage_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for marker in (".git", ".hg", ".sage"):
        root = tmp_path / marker[1:]
        (root / marker).mkdir(parents=True)
        home = root / "deep" / "home"
        monkeypatch.setenv("SAGE_HOME", str(home))
        (home / "events").mkdir(parents=True, mode=0o700)
        rows = [{"name": "one", "source": "/x.py", "origin": "/x.py", "version": "1"}]
        (home / "events" / "plugins.json").write_text(json.dumps({"format": 1, "plugins": rows}))
        assert enabled.enabled() == ()
        assert f"is inside of the project {root}" in capsys.readouterr().err
        with pytest.raises(UsageError, match="inside of the project"):
            discovery.enable("one")


def test_a_relative_home_has_no_plugins(sage_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SAGE_HOME", ".sage")
    assert "relative path" in enabled.distrust()


def test_the_users_own_home_may_be_versioned(sage_home: Path) -> None:
    (sage_home.parent / ".git").mkdir()
    assert enabled.distrust() == ""


# -- finding, enabling, disabling ------------------------------------------------------------------------------------


def test_a_file_is_found_enabled_shown_and_disabled(add: Callable[..., Path]) -> None:
    path = add("my_one.py", priority=30)
    [found] = discovery.discover()
    assert (found.name, found.source, found.kind, found.problem) == ("my-one", str(path), "file", "")
    one = discovery.enable("my-one")
    assert enabled.read() == (one,)
    assert (one.name, one.version, one.author, one.description) == ("one", "1.2", "Ada", "Adds words.")
    assert (one.hooks, one.events, one.priority, one.timeout_ms) == (("pre_search",), ("memory.*",), 30, 1000)
    assert [plugin.name for plugin in discovery.discover()] == ["one"]
    assert discovery.inspect("one") == one
    assert discovery.disable("one") == one
    with pytest.raises(UsageError, match="not enabled"):
        discovery.disable("one")


def test_enabling_again_updates_and_keeps_what_the_user_has_chosen(add: Callable[..., Path]) -> None:
    path = add("one.py")
    assert discovery.enable("one", priority=5, timeout_ms=200).priority == 5
    path.write_text(_PLUGIN.format(name="one", priority=77).replace("1.2", "1.3"))
    again = discovery.enable("one")
    assert (again.priority, again.timeout_ms, again.version) == (5, 200, "1.3")
    path.write_text(_PLUGIN.format(name="uno", priority=77))
    assert discovery.enable("one").name == "uno"
    assert [plugin.name for plugin in enabled.read()] == ["uno"]


def test_two_plugins_of_one_name_are_refused_and_both_named(add: Callable[..., Path]) -> None:
    first, second = add("one.py"), add("copy.py")
    discovery.enable("one")
    with pytest.raises(PluginError) as refused:
        discovery.enable("copy")
    assert str(first) in refused.value.message
    assert str(second) in refused.value.message
    discovery.disable("one")
    third = add("co_py.py")
    (third.parent / "co-py.py").write_text(third.read_text())
    with pytest.raises(PluginError, match="2 plugins are named co-py"):
        discovery.enable("co-py")


def test_what_cannot_be_loaded_is_not_enabled_and_its_file_is_named(add: Callable[..., Path]) -> None:
    path = add("broken.py", text="import no_such_module")
    with pytest.raises(PluginError, match="no_such_module") as refused:
        discovery.enable("broken")
    assert f"{path}:1" in refused.value.message
    path.write_text("while True: pass")
    with pytest.raises(PluginError, match=r"longer than 0\.3 s"):
        discovery.enable("broken", load_timeout_ms=300)
    path.write_text("import os; os._exit(3)")
    with pytest.raises(PluginError, match="exit code 3"):
        discovery.enable("broken")
    assert enabled.read() == ()


@pytest.mark.parametrize("options", [{"timeout_ms": 0}, {"timeout_ms": 10**9}, {"priority": 10**9}])
def test_numbers_out_of_range_are_refused(sage_home: Path, options: dict[str, int]) -> None:
    with pytest.raises(UsageError, match="out of range"):
        discovery.enable("one", **options)


def test_files_that_may_be_somebody_elses_are_refused(add: Callable[..., Path], tmp_path: Path) -> None:
    folder = add("one.py").parent
    (folder / "one.py").chmod(0o666)
    (folder / "_hidden.py").write_text("")
    (folder / "notes.txt").write_text("")
    (folder / "folder.py").mkdir()
    os.mkfifo(folder / "pipe.py")
    (tmp_path / "outside.py").write_text(_PLUGIN)
    (folder / "link.py").symlink_to(tmp_path / "outside.py")
    (folder / "lost.py").symlink_to(folder / "nothing.py")
    problems = {found.name: found.problem for found in discovery.discover()}
    assert sorted(problems) == ["folder", "link", "lost", "one", "pipe"]
    assert "all users may change it" in problems["one"]
    assert "outside of" in problems["link"]
    assert "no regular file" in problems["folder"]
    assert "no regular file" in problems["pipe"]
    with pytest.raises(PluginError, match=r"one\.py: all users"):
        discovery.enable("one")


def test_what_is_not_there_is_said_with_what_is(add: Callable[..., Path]) -> None:
    add("one.py")
    with pytest.raises(UsageError, match="no plugin two") as refused:
        discovery.enable("two")
    assert "there are: one" in refused.value.hint
