"""A hundred plugins that want to do harm: each runs for real, and Sage answers, says which plugin it was and why."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from sage_code.events.enabled import EnabledPlugin
from sage_code.events.process import PluginProcess

pytestmark = pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="plugins do not run on this system")

_HEAD = "import os, signal, sys, threading, time\nfrom sage_code.events.plugins import PluginMetadata, SearchPlugin\n"
_REGEX = "import re; re.match(r'(a+)+$', 'a' * 60 + 'b')"
_GIGABYTE = "len(bytearray(1 << 30))"
_UNPRINTABLE = "class Mute(Exception):\n    def __str__(self): raise ValueError\n    __repr__ = __str__\n"


@dataclass(frozen=True)
class Case:
    """A plugin and what comes of it: the words that are said, and what the hook answers to the query `q`."""

    source: str | bytes
    said: tuple[str, ...] = ()
    answer: object = None
    hangs_in: str = ""  # `load` or `call`: that time is short then


def plugin(
    *,
    first: str = "",
    metadata: str = 'PluginMetadata("bad", "1.0", hooks=["pre_search"])',
    hook: str = "return None",
    on_load: str = "return None",
    more: str = "",
) -> str:
    """The source of a plugin."""
    return f"""{_HEAD}
{first}
class Bad(SearchPlugin):
    metadata = {metadata}
    def on_load(self, context):
        {_indented(on_load)}
    def pre_search(self, where, query, filters):
        {_indented(hook)}
{more}
"""


def _indented(body: str) -> str:
    return body.replace("\n", "\n        ")


def importing(body: str, *said: str, hangs: bool = False) -> Case:
    return Case(plugin(first=body), said, hangs_in="load" if hangs else "")


def named(metadata: str, *said: str) -> Case:
    return Case(plugin(metadata=metadata), said)


def loading(body: str, *said: str, answer: object = None, hangs: bool = False) -> Case:
    return Case(plugin(on_load=body, hook="return query + '!'"), said, answer, "load" if hangs else "")


def calling(body: str, *said: str, answer: object = None, hangs: bool = False, first: str = "") -> Case:
    return Case(plugin(hook=body, first=first), said, answer, "call" if hangs else "")


LATE, SLOW = "loading it took longer than", "pre_search took longer than"
# The pipes to Sage are the only ones that the process has.
_PIPES = (
    "pipes = [fd for fd in range(3, 64) if os.path.exists(f'/proc/self/fd/{fd}') "
    "and 'pipe:' in os.readlink(f'/proc/self/fd/{fd}')]\n"
)
_TO_SAGE = _PIPES + "import fcntl; [out] = [fd for fd in pipes if fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_WRONLY]\n"

IMPORTS = {
    "missing module": importing("import no_such_module", "ModuleNotFoundError", "no_such_module"),
    "missing name": importing("from sage_code.events.plugins import NoSuchPlugin", "ImportError"),
    "relative import": importing("from . import friend", "ImportError"),
    "syntax error": Case("def broken(:\n", ("SyntaxError", ":1:")),
    "indentation error": Case("def f():\nreturn 1\n", ("IndentationError", ":2:")),
    "NUL bytes": Case(b"x = 1\0\n", ("null bytes",)),
    "no UTF-8": Case(b"x = '\xff\xfe'\n", ("SyntaxError",)),
    "empty file": Case("", ("no plugin in it",)),
    "no plugin": Case("x = 1\n", ("no plugin in it",)),
    "too long": Case("#" * (1 << 21), ("larger than",)),
    "import loops": importing("while True: pass", LATE, hangs=True),
    "import sleeps": importing("time.sleep(1000)", LATE, hangs=True),
    "import in a regex": importing(_REGEX, LATE, hangs=True),
    "import waits for itself": importing("lock = threading.Lock(); lock.acquire(); lock.acquire()", LATE, hangs=True),
    "import ignores alarms": importing(
        "signal.signal(signal.SIGALRM, signal.SIG_IGN)\nwhile True: pass", LATE, hangs=True
    ),
    "import stops itself": importing("signal.raise_signal(signal.SIGSTOP)", LATE, hangs=True),
    "import execs": importing("os.execv('/bin/sleep', ['sleep', '1000'])", "process has ended"),
    "sys.exit()": importing("sys.exit()", "SystemExit"),
    "sys.exit(3)": importing("sys.exit(3)", "SystemExit: 3"),
    "exit with text": importing("raise SystemExit('good bye')", "good bye"),
    "os._exit(0)": importing("os._exit(0)", "has ended with exit code 0"),
    "os._exit(7)": importing("os._exit(7)", "has ended with exit code 7"),
    "SIGKILL": importing("signal.raise_signal(signal.SIGKILL)", "has ended by SIGKILL"),
    "SIGSEGV": importing("signal.raise_signal(signal.SIGSEGV)", "has ended by SIGSEGV"),
    "abort": importing("os.abort()", "has ended by SIGABRT"),
    "import interrupts": importing("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "import GeneratorExit": importing("raise GeneratorExit", "GeneratorExit"),
    "import BaseException": importing("raise BaseException('basic')", "BaseException: basic"),
    "import unprintable": importing(_UNPRINTABLE + "raise Mute", "Mute: it cannot be shown"),
    "import recursion": importing("def f(): f()\nf()", "RecursionError"),
    "import 1 GB": importing(_GIGABYTE, "MemoryError"),
    "import closes all": importing("os.closerange(0, 256)", "process has ended"),
    "import forks": Case(plugin(first="os.fork()", hook="return query + '!'"), (), "q!"),
    "import prints": Case(plugin(first="print('x' * 10_000_000)", hook="return query + '!'"), (), "q!"),
    "import changes Sage": importing(
        "import sage_code.events.host as host\nhost.Host._send = None", "process has ended"
    ),
    "import hides modules": importing("sys.modules.clear()\nraise ValueError('gone')", "ValueError"),
}

METADATA = {
    "no metadata": Case(
        _HEAD + "class Bad:\n    metadata = 5\n    def pre_search(self, a, b, c): ...", ("has no name",)
    ),
    "metadata None": named("None", "has no name"),
    "metadata text": named("'bad'", "has no name"),
    "metadata method": named("lambda self: None", "is a method"),
    "metadata raises": named("property(lambda self: 1 / 0)", "ZeroDivisionError"),
    "metadata exits": named("property(lambda self: sys.exit(4))", "SystemExit"),
    "metadata loops": Case(
        plugin(metadata="property(lambda self: [1 for _ in iter(int, 1)])"), (LATE,), hangs_in="load"
    ),
    "name empty": named('PluginMetadata("", "1.0", hooks=["pre_search"])', "name '' is not allowed"),
    "name number": named('PluginMetadata(7, "1.0", hooks=["pre_search"])', "its name is of type int"),
    "name lines": named('PluginMetadata("a\\nb", "1.0", hooks=["pre_search"])', "is not allowed"),
    "name path": named('PluginMetadata("../../bad", "1.0", hooks=["pre_search"])', "is not allowed"),
    "name long": named('PluginMetadata("a" * 99, "1.0", hooks=["pre_search"])', "99 characters"),
    "name of another": named('PluginMetadata("other", "1.0", hooks=["pre_search"])', "calls itself other"),
    "version missing": named('PluginMetadata("bad", "", hooks=["pre_search"])', "is no version"),
    "version None": named('PluginMetadata("bad", None, hooks=["pre_search"])', "its version is of type NoneType"),
    "hooks text": named('PluginMetadata("bad", "1.0", hooks="pre_search")', "its hooks are of type str"),
    "hooks number": named('PluginMetadata("bad", "1.0", hooks=7)', "its hooks are of type int"),
    "hook unknown": named('PluginMetadata("bad", "1.0", hooks=["pre_serch"])', "no hook 'pre_serch'"),
    "hook number": named('PluginMetadata("bad", "1.0", hooks=[7])', "one of its hooks is of type int"),
    "hook twice": named('PluginMetadata("bad", "1.0", hooks=["pre_search"] * 2)', "pre_search twice"),
    "hook without method": named('PluginMetadata("bad", "1.0", hooks=["post_load"])', "no method for post_load"),
    "hook parameters": Case(
        plugin(more="    def post_search(self): ...", metadata='PluginMetadata("bad", "1.0", hooks=["post_search"])'),
        ("cannot be called",),
    ),
    "hook async": Case(plugin().replace("def pre_search", "async def pre_search"), ("is async",)),
    "priority text": named('PluginMetadata("bad", "1.0", hooks=["pre_search"], priority="high")', "its priority"),
    "priority huge": named('PluginMetadata("bad", "1.0", hooks=["pre_search"], priority=10**30)', "out of range"),
    "constructor raises": Case(plugin(more="    def __init__(self): raise OSError('no')"), ("OSError: no",)),
    "constructor needs": Case(plugin(more="    def __init__(self, what): ..."), ("TypeError",)),
    "constructor loops": Case(
        plugin(more="    def __init__(self):\n        while True: pass"), (LATE,), hangs_in="load"
    ),
    "two plugins": Case(
        plugin(more='class Two(Bad):\n    metadata = PluginMetadata("two", "1.0", hooks=["pre_search"])'),
        ("there are 2 plugins",),
    ),
    "one name twice": Case(plugin(more="class Two(Bad): pass"), ("two plugins in it are named bad",)),
}

LOADS = {
    "on_load raises": loading("raise ValueError('not today')", "ValueError: not today", "on_load"),
    "on_load exits": loading("sys.exit(2)", "SystemExit", "on_load"),
    "on_load interrupts": loading("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "on_load loops": loading("while True: pass", LATE, hangs=True),
    "on_load ends": loading("os._exit(9)", "has ended with exit code 9"),
    "on_load registers itself": loading("context['registry'].register(self)", "PluginError", "on_load"),
    "on_load another of its name": loading("context['registry'].register(type(self)())", "plugin"),
    "on_load thread": loading("threading.Thread(target=time.sleep, args=(1000,)).start()", answer="q!"),
    "on_load busy thread": loading(
        "def run():\n    while True: pass\nthreading.Thread(target=run, daemon=True).start()", answer="q!"
    ),
    "on_load no output": loading("sys.stdout = sys.stderr = sys.stdin = None", answer="q!"),
    "on_load elsewhere": loading("os.chdir('/tmp'); os.umask(0); os.environ.clear()", answer="q!"),
    "on_load closes stdio": loading("os.close(0); os.close(1); os.close(2)", answer="q!"),
}

CALLS = {
    "loops": calling("while True: pass", SLOW, hangs=True),
    "sleeps": calling("time.sleep(1000)", SLOW, hangs=True),
    "regex": calling(_REGEX, SLOW, hangs=True),
    "catches everything": calling(
        "while True:\n    try: time.sleep(1)\n    except BaseException: pass", SLOW, hangs=True
    ),
    "ignores signals": calling(
        "for one in (signal.SIGTERM, signal.SIGALRM, signal.SIGINT): signal.signal(one, signal.SIG_IGN)\n"
        "while True: pass",
        SLOW,
        hangs=True,
    ),
    "stops itself": calling("signal.raise_signal(signal.SIGSTOP)", SLOW, hangs=True),
    "reads for ever": calling("open('/dev/zero').read()", SLOW, hangs=True),
    "leaves a process": calling("os.fork() or time.sleep(1000); time.sleep(1000)", SLOW, hangs=True),
    "swallows questions": calling(_PIPES + "[os.close(fd) for fd in pipes]\ntime.sleep(1000)", "process has ended"),
    "exits": calling("sys.exit(2)", "SystemExit: 2"),
    "exits at once": calling("os._exit(0)", "has ended with exit code 0"),
    "exits with 5": calling("os._exit(5)", "has ended with exit code 5"),
    "kills itself": calling("signal.raise_signal(signal.SIGKILL)", "has ended by SIGKILL"),
    "kills its group": calling("os.killpg(0, signal.SIGTERM)", "has ended by SIGTERM"),
    "crashes": calling("import ctypes; ctypes.string_at(0)", "has ended by SIGSEGV"),
    "raises": calling("return {}['no such key']", "KeyError", "bad.py:10"),
    "interrupts": calling("raise KeyboardInterrupt", "KeyboardInterrupt"),
    "GeneratorExit": calling("raise GeneratorExit", "GeneratorExit"),
    "BaseException": calling("raise BaseException('basic')", "BaseException: basic"),
    "unprintable": calling("raise Mute", "Mute: it cannot be shown", first=_UNPRINTABLE),
    "long error": calling("raise ValueError('x' * 10_000_000)", "ValueError: xxx"),
    "terminal error": calling("raise ValueError('\\x1b[2J' + chr(10) + 'sage: all is well')", "ValueError: "),
    "1 GB": calling(_GIGABYTE, "MemoryError"),
    "recursion": calling("return self.pre_search(where, query, filters)", "RecursionError"),
    "a set": calling("return {1, 2}", "set has no form in JSON"),
    "an object": calling("return object()", "object has no form in JSON"),
    "bytes": calling("return b'q'", "bytes has no form in JSON"),
    "a class": calling("return int", "type has no form in JSON"),
    "a generator": calling("yield query", "generator has no form in JSON"),
    "a loop of lists": calling("rows = []\nrows.append(rows)\nreturn rows", "Error"),
    "deep lists": calling("rows = []\nfor _ in range(100_000): rows = [rows]\nreturn rows", "RecursionError"),
    "a huge number": calling("return 10 ** 5000", "ValueError"),
    "a huge text": calling("return 'x' * (20 << 20)", "the answer has 20,971,522 characters"),
    "an equal that raises": calling(
        "return Odd()", "ZeroDivisionError", first="class Odd:\n    def __eq__(self, other): return 1 / 0"
    ),
    "a number": calling("return 7", answer=7),
    "a list": calling("return [None, {}]", answer=[None, {}]),
    "not a number": calling("return [float('inf')]", answer=[float("inf")]),
    "half a character": calling("return chr(0xd800)", answer="\ud800"),
    "itself": calling("return query", answer=None),
    "changes what it is given": calling("filters['path'] = 'x'; filters.clear()", answer=None),
    "prints": calling("print('x' * 10_000_000, flush=True); return 'done'", answer="done"),
    "prints into the pipe": calling(_TO_SAGE + "os.write(out, b'what is this?\\n')", "something else than an answer"),
    "no object in the pipe": calling(_TO_SAGE + "os.write(out, b'[1, 2]\\n')", "something else than an answer"),
    "deep garbage": calling(_TO_SAGE + "os.write(out, b'[' * 50_000 + b'\\n')", "something else than an answer"),
    "an answer too early": calling(_TO_SAGE + 'os.write(out, b\'{"n": 9, "value": 1}\\n\')', "was not asked"),
    "an endless line": calling(_TO_SAGE + "while True: os.write(out, b'x' * 65536)", "longer than"),
    "many fine lines": calling(_TO_SAGE + "while True: os.write(out, b'{}\\n' * 20_000)", SLOW, hangs=True),
    "forks": calling("os.fork()\nreturn 'done'", answer="done"),
    "leaves a thread": calling(
        "threading.Thread(target=time.sleep, args=(1000,)).start()\nreturn 'done'", answer="done"
    ),
    "slow to interpret": calling("sys.setswitchinterval(100)\nreturn 'done'", answer="done"),
    "traces": calling("sys.settrace(lambda *_: 1 / 0)\nreturn str(len(query))", "ZeroDivisionError"),
    "no recursion": calling("sys.setrecursionlimit(60)\nreturn 'done'", answer="done"),
    "replaces len": calling(
        "import builtins; builtins.len = builtins.print = None\nreturn 'done'", "process has ended with exit code 1"
    ),
    "another alarm": calling("signal.alarm(0); signal.setitimer(signal.ITIMER_REAL, 0)\nreturn 'done'", answer="done"),
    "deletes its file": calling("os.unlink(__file__)\nreturn 'done'", answer="done"),
}

HOSTILE = {**IMPORTS, **METADATA, **LOADS, **CALLS}


@pytest.fixture
def bad(sage_home: Path) -> Callable[[Case], tuple[PluginProcess, list[str]]]:
    """A process for a plugin, and what is said about it."""

    def make(case: Case) -> tuple[PluginProcess, list[str]]:
        path = sage_home / "plugins" / "bad.py"
        path.parent.mkdir(parents=True)
        path.write_bytes(case.source if isinstance(case.source, bytes) else case.source.encode())
        said: list[str] = []
        record = EnabledPlugin(
            "bad", str(path), str(path), "1.0", hooks=("pre_search",),
            timeout_ms=100 if case.hangs_in == "call" else 20_000,
            load_timeout_ms=250 if case.hangs_in == "load" else 30_000,
        )  # fmt: skip
        return PluginProcess(record, said.append), said

    return make


def test_there_are_a_hundred_of_them() -> None:
    assert len(HOSTILE) >= 100
    assert len({case.source for case in HOSTILE.values()}) == len(HOSTILE)


@pytest.mark.parametrize("kind", HOSTILE)
def test_sage_answers_and_says_which_plugin_and_why(
    bad: Callable[[Case], tuple[PluginProcess, list[str]]], kind: str
) -> None:
    case = HOSTILE[kind]
    process, said = bad(case)
    filters = {"path": "src"}
    assert process.pre_search("code", "q", filters) == case.answer
    assert filters == {"path": "src"}
    child = process._child
    process.close()
    if case.said:
        [line] = said
        assert "plugin bad" in line
        assert process.record.origin in line
        for words in case.said:
            assert words in line
    else:
        assert said == []
    if child is not None:
        assert child.pid is None  # ended and reaped
