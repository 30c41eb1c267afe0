"""A plugin in a process of its own: calls, strikes, reload, events, threads, and its end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from sage_code.events import discovery, enabled, listening
from sage_code.events.bus import EventBus
from sage_code.events.enabled import EnabledPlugin
from sage_code.events.events import Event, EventType, SearchEvent
from sage_code.events.process import PluginProcess

pytestmark = pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="plugins do not run on this system")

_HEAD = "import os, threading, time\nfrom sage_code.events.plugins import *\n"
_HOOKS = ("pre_load", "post_load", "on_timeout", "pre_search", "post_search", "pre_format", "post_format")


def source(body: str, hooks: str = "['pre_search']", version: str = "1.0", more: str = "") -> str:
    """A plugin whose `pre_search` has this body."""
    inner = body.replace("\n", "\n        ")
    return f"""{_HEAD}
class One(LoaderPlugin, SearchPlugin, FormatPlugin):
    metadata = PluginMetadata("one", {version!r}, hooks={hooks})
    def pre_search(self, where, query, filters):
        {inner}
{more}
"""


@pytest.fixture
def file(sage_home: Path) -> Path:
    """The plugin's file."""
    path = sage_home / "plugins" / "one.py"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def made(file: Path) -> Iterator[Callable[..., tuple[PluginProcess, list[str]]]]:
    """A process for a plugin, and what is said about it."""
    processes: list[PluginProcess] = []

    def make(text: str, **more: Any) -> tuple[PluginProcess, list[str]]:
        file.write_text(text)
        said: list[str] = []
        facts = {"hooks": ("pre_search",), "timeout_ms": 20_000, "load_timeout_ms": 30_000, **more}
        processes.append(PluginProcess(EnabledPlugin("one", str(file), str(file), "1.0", **facts), said.append))
        return processes[-1], said

    yield make
    for process in processes:
        process.close()


def pid_of(process: PluginProcess) -> int:
    assert process._child is not None
    assert process._child.pid is not None
    return process._child.pid


def look_again(process: PluginProcess) -> None:
    """As if so much time had passed that the file is looked at again."""
    process._looked -= 1.0


# -- calls ------------------------------------------------------------------------------------------------------------


def test_every_hook_gets_its_arguments_and_its_answer_comes_back(
    made: Callable[..., tuple[PluginProcess, list[str]]],
) -> None:
    more = "".join(f"    def {hook}(self, *given): return ['{hook}', *given]\n" for hook in _HOOKS)
    process, said = made(source("...", hooks=repr(list(_HOOKS)), more=more), hooks=_HOOKS)
    assert process.pre_load("core", "a/ä.md") == ["pre_load", "core", "a/ä.md"]
    assert process.post_load("core", "text\n") == ["post_load", "core", "text\n"]
    assert process.on_timeout("core", 1200) == ["on_timeout", "core", 1200]
    assert process.pre_search("code", "q", {"path": None}) == ["pre_search", "code", "q", {"path": None}]
    rows = [{"id": "a:1", "score": 0.1}, {"id": "b:2", "score": 1e-9}]
    assert process.post_search("code", "q", rows) == ["post_search", "code", "q", rows]
    assert process.pre_format("search", {"results": rows}) == ["pre_format", "search", {"results": rows}]
    assert process.post_format("search", "\ud800 text") == ["post_format", "search", "\ud800 text"]
    assert said == []


def test_the_same_back_is_no_change(made: Callable[..., tuple[PluginProcess, list[str]]]) -> None:
    more = "    def post_search(self, where, query, results): return results\n"
    process, _ = made(source("return query", hooks="['pre_search', 'post_search']", more=more))
    assert process.pre_search("code", "code", {}) is None
    assert process.post_search("code", "q", [{"id": "a", "score": 1.0}]) is None


def test_large_questions_and_answers_pass(made: Callable[..., tuple[PluginProcess, list[str]]]) -> None:
    process, said = made(source("return query * 2"))
    text = "ä" * 2_000_000
    assert process.pre_search("code", text, {}) == text * 2
    assert said == []


def test_what_a_child_cannot_be_given_is_left_out(made: Callable[..., tuple[PluginProcess, list[str]]]) -> None:
    process, said = made(source("return str(filters)"))
    assert process.pre_search("code", "q", {"type": EventType.PRE_SEARCH}) == "{'type': 'search.pre_search'}"
    assert process.pre_search("code", "q", {"object": object()}) is None
    assert process.pre_search("code", "q", {}) == "{}"
    [line] = said
    assert "pre_search was left out" in line


# -- strikes ---------------------------------------------------------------------------------------------------------


def test_three_errors_switch_a_plugin_off_until_its_file_changes(
    made: Callable[..., tuple[PluginProcess, list[str]]], file: Path
) -> None:
    process, said = made(source("raise ValueError(query)"))
    first = [process.pre_search("code", "q", {}) for _ in range(2)]
    pid = pid_of(process)
    assert len(said) == 1  # an error of this kind is said once
    assert first == [None, None]
    assert process.pre_search("code", "q", {}) is None
    assert process.is_off
    assert "has failed 3 times" in said[1]
    assert "switched off" in said[1]
    for _ in range(3):
        assert process.pre_search("code", "q", {}) is None
    assert len(said) == 2
    assert process._child is None
    assert not psutil.pid_exists(pid)
    file.write_text(source("return query + '!'"))
    look_again(process)
    assert process.pre_search("code", "q", {}) == "q!"


def test_a_timeout_ends_the_process_and_the_next_call_has_another(
    made: Callable[..., tuple[PluginProcess, list[str]]],
) -> None:
    process, said = made(source("if query == 'slow': time.sleep(1000)\nreturn str(os.getpgrp())"), timeout_ms=20_000)
    first = process.pre_search("code", "q", {})
    process.record = EnabledPlugin(**{**_facts(process.record), "timeout_ms": 100})
    assert process.pre_search("code", "slow", {}) is None
    assert not psutil.pid_exists(int(first))
    process.record = EnabledPlugin(**{**_facts(process.record), "timeout_ms": 20_000})
    second = process.pre_search("code", "q", {})
    assert second not in (None, first)
    assert said == [f"plugin one ({process.record.origin}): pre_search took longer than 100 ms"]


def _facts(record: EnabledPlugin) -> dict[str, Any]:
    return {name: getattr(record, name) for name in EnabledPlugin.__slots__}


def test_the_processes_that_a_plugin_starts_end_with_it(made: Callable[..., tuple[PluginProcess, list[str]]]) -> None:
    body = "import subprocess\nreturn str(subprocess.Popen(['sleep', '1000']).pid)"
    process, _ = made(source(body))
    started = int(process.pre_search("code", "q", {}))
    process.close()
    _wait_until(lambda: _has_ended(started))


def _has_ended(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE  # nothing reaps orphans in some containers
    except psutil.NoSuchProcess:
        return True


def _wait_until(is_so: Callable[[], bool]) -> None:
    for _ in range(2_000):
        if is_so():
            return
        time.sleep(0.01)
    pytest.fail("it did not happen")


# -- reload ----------------------------------------------------------------------------------------------------------


def test_a_changed_file_replaces_the_process_and_leaves_no_old_code(
    made: Callable[..., tuple[PluginProcess, list[str]]], file: Path
) -> None:
    flag = file.parent / "unloaded"
    more = f"    def on_unload(self): open({str(flag)!r}, 'w').close()\n"
    process, said = made(source("return 'old'", more=more))
    assert process.pre_search("code", "q", {}) == "old"
    old = pid_of(process)
    file.write_text(source("return 'new'"))
    look_again(process)
    assert process.pre_search("code", "q", {}) == "new"
    assert flag.exists()
    assert not psutil.pid_exists(old)
    assert said == []


def test_broken_new_code_is_said_and_off_until_the_file_changes_again(
    made: Callable[..., tuple[PluginProcess, list[str]]], file: Path
) -> None:
    process, said = made(source("return 'old'"))
    assert process.pre_search("code", "q", {}) == "old"
    file.write_text("def broken(:")
    look_again(process)
    assert [process.pre_search("code", "q", {}) for _ in range(3)] == [None] * 3
    [line] = said
    assert "SyntaxError" in line
    file.unlink()
    look_again(process)
    assert process.pre_search("code", "q", {}) is None
    assert "No such file" in said[1]
    file.write_text(source("return 'repaired'"))
    look_again(process)
    assert process.pre_search("code", "q", {}) == "repaired"


# -- events ----------------------------------------------------------------------------------------------------------

_LISTENER = """
    def on_load(self, context):
        def heard(event):
            if event.metadata.get("fails"):
                raise ValueError("not this one")
            with open({log!r}, "a") as log:
                log.write(f"{{event.type}} {{event.metadata.get('number')}} {{type(event).__name__}}\\n")
        context["bus"].subscribe("memory.*", heard)
        context["bus"].subscribe("search.*", heard)
"""


def test_events_arrive_in_their_order_and_before_the_end(
    made: Callable[..., tuple[PluginProcess, list[str]]], file: Path
) -> None:
    log = file.parent / "log"
    process, said = made(source("return 'hook'", more=_LISTENER.format(log=str(log))))
    for number in range(100):
        process.notify(Event("memory.saved", metadata={"number": number}))
    process.notify(SearchEvent(EventType.PRE_SEARCH, query="q"))  # it listens to it, and has the hook: heard once
    process.close()
    lines = log.read_text().splitlines()
    assert lines == [f"memory.saved {number} Event" for number in range(100)] + ["search.pre_search None SearchEvent"]
    assert said == []


def test_handlers_of_events_that_fail_are_said_and_switched_off(
    made: Callable[..., tuple[PluginProcess, list[str]]], file: Path
) -> None:
    process, said = made(source("return 'hook'", more=_LISTENER.format(log=str(file.parent / "log"))))
    assert process.load()
    for _ in range(3):
        process.notify(Event("memory.saved", metadata={"fails": True}))
        _wait_until(lambda: _has_handled_all(process))
    assert process.pre_search("code", "q", {}) in (None, "hook")  # what has failed is counted with the next call
    _wait_until(lambda: process.pre_search("code", "q", {}) is None)
    assert any("ValueError: not this one" in line for line in said)
    assert process.is_off


def test_a_plugin_that_only_hears_events_and_cannot_be_loaded_is_said(
    made: Callable[..., tuple[PluginProcess, list[str]]], file: Path
) -> None:
    for _ in range(2):
        process, said = made("import no_such_module", hooks=(), events=("memory.*",))
        process.notify(Event("memory.saved"))
        if not said:
            process.close()  # as at the end of a command
        [line] = said
        assert f"{file}:1: ModuleNotFoundError" in line
    process, said = made("import no_such_module", hooks=(), events=("memory.*",))
    for _ in range(2_000):  # as a server would
        process.notify(Event("memory.saved"))
        if process.is_off:
            break
        time.sleep(0.01)
    [line] = said
    assert f"{file}:1: ModuleNotFoundError" in line


def _has_handled_all(process: PluginProcess) -> bool:
    child = process._child
    if child is not None:
        child.look()
    return child is None or not child.pending


def test_a_slow_handler_of_events_keeps_no_hook_waiting(made: Callable[..., tuple[PluginProcess, list[str]]]) -> None:
    more = "    def on_load(self, context): context['bus'].subscribe('*', lambda event: time.sleep(1000))\n"
    process, said = made(source("return query + '!'", more=more))
    for _ in range(1_000):
        process.notify(Event("memory.saved"))
    assert process.pre_search("code", "q", {}) == "q!"
    assert said == [
        f"plugin one ({process.record.origin}): events come faster than it handles them; some were left out"
    ]
    process.record = EnabledPlugin(**{**_facts(process.record), "timeout_ms": 50})  # its end has that time


# -- threads and the end ---------------------------------------------------------------------------------------------


def test_calls_of_several_threads_get_their_own_answers(made: Callable[..., tuple[PluginProcess, list[str]]]) -> None:
    process, said = made(source("return query + '!'"))
    answers: dict[str, list[str]] = {}

    def ask(name: str) -> None:
        answers[name] = [process.pre_search("code", f"{name}{number}", {}) for number in range(50)]

    threads = [threading.Thread(target=ask, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == {name: [f"{name}{number}!" for number in range(50)] for name in "abcd"}
    assert said == []


_PROGRAM = """
import os, signal, sys
from sage_code.events.enabled import EnabledPlugin
from sage_code.events.process import PluginProcess
path = sys.argv[1]
process = PluginProcess(EnabledPlugin("one", path, path, "1.0", hooks=("pre_search",)))
print(process.pre_search("code", "q", {}), flush=True)
exec(sys.argv[2])
"""


@pytest.mark.parametrize("ending", ["pass", "sys.exit(3)", "os._exit(0)", "signal.raise_signal(signal.SIGKILL)"])
def test_the_process_ends_with_sage_however_sage_ends(file: Path, ending: str) -> None:
    """A thread that never ends and a process of the plugin's own do not keep it."""
    body = (
        "threading.Thread(target=time.sleep, args=(1000,)).start()\nimport subprocess\n"
        "return f\"{os.getpgrp()} {subprocess.Popen(['sleep', '1000']).pid}\""
    )
    file.write_text(source(body))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-P", "-c", _PROGRAM, str(file), ending]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert done.stderr == ""
    _wait_until(lambda: all(map(_has_ended, map(int, done.stdout.split()))))


# -- on the bus ------------------------------------------------------------------------------------------------------


@pytest.fixture
def default_bus(sage_home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EventBus]:
    """A default bus of this test alone."""
    bus = EventBus()
    monkeypatch.setattr(EventBus, "_instance", bus)
    monkeypatch.setattr(enabled, "_said", set())
    yield bus
    for known in listening._listeners:
        listening._detach(known, list(known.attached))
    listening._listeners.clear()


def _searched(query: str = "q") -> str:
    bus = listening.bus_for(EventType.PRE_SEARCH)
    assert bus is not None
    event = SearchEvent(EventType.PRE_SEARCH, where="code", query=query)
    bus.publish_sync(event)
    return event.query


def test_what_is_enabled_is_on_the_bus_and_what_is_disabled_is_not(default_bus: EventBus, file: Path) -> None:
    heard: list[str] = []
    default_bus.subscribe(
        "plugin.*", lambda event: heard.append(f"{event.type} {event.metadata['name']}"), timeout_ms=0
    )
    assert listening.bus_for(EventType.PRE_SEARCH) is None
    file.write_text(source("return query + '!'"))
    discovery.enable("one")
    assert listening.bus_for(EventType.POST_FORMAT) is None
    assert _searched() == "q!"
    assert heard == ["plugin.loaded one"]
    discovery.disable("one")
    assert listening.bus_for(EventType.PRE_SEARCH) is None
    assert heard == ["plugin.loaded one", "plugin.unloaded one"]


def test_plugins_run_in_the_order_of_their_priorities(default_bus: EventBus, file: Path) -> None:
    for name in ("first", "second", "third"):
        text = source(f"return query + ' {name}'").replace('"one"', f'"{name}"')
        (file.parent / f"{name}.py").write_text(text)
    discovery.enable("third", priority=3)
    discovery.enable("first", priority=1)
    discovery.enable("second", priority=2)
    assert _searched() == "q first second third"
    discovery.enable("first", priority=9)
    assert _searched() == "q second third first"


def test_a_changed_plugin_takes_its_new_hooks_and_events(default_bus: EventBus, file: Path) -> None:
    file.write_text(source("return query + '!'"))
    discovery.enable("one")
    assert _searched() == "q!"
    more = _LISTENER.format(log=str(file.parent / "log")) + "    def post_format(self, command, text): return 'new'\n"
    file.write_text(source("return None", hooks="['post_format']", version="2.0", more=more))
    [known] = listening._listeners
    look_again(known.attached["one"].process)
    _searched()
    assert listening.bus_for(EventType.PRE_SEARCH) is not None  # by the event that it listens to now
    assert listening.bus_for(EventType.POST_FORMAT) is not None
    [record] = enabled.read()
    assert (record.version, record.hooks, record.events) == ("2.0", ("post_format",), ("memory.*", "search.*"))


def test_a_file_that_has_changed_while_sage_did_not_run_is_seen_at_once(default_bus: EventBus, file: Path) -> None:
    file.write_text(source("return query + '!'"))
    discovery.enable("one")
    file.write_text(source("...", hooks="['post_format']"))
    assert listening.bus_for(EventType.PRE_SEARCH) is None
    assert listening.bus_for(EventType.POST_FORMAT) is not None


def test_a_plugin_that_searches_with_sage_does_not_call_itself(default_bus: EventBus, file: Path) -> None:
    body = (
        "from sage_code.events.listening import bus_for\nfrom sage_code.paths import listeners_dir\n"
        "return f'{bus_for(\"search.pre_search\")} {os.path.exists(listeners_dir())}'"
    )
    file.write_text(source(body))
    discovery.enable("one")
    assert _searched() == "None True"
