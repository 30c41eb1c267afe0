"""Made-up stack traces, in the form in which each language prints them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Frame:
    """A call in a trace; the innermost comes first in a list of them."""

    path: str
    name: str
    qualname: str
    line: int
    source: str


_PYTHON_ERRORS = (
    "AttributeError: 'NoneType' object has no attribute 'items'",
    "TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'",
    "KeyError: 'name'",
    "IndexError: list index out of range",
    "ValueError: too many values to unpack (expected 2)",
    "TypeError: expected str, bytes or os.PathLike object, not NoneType",
    "RecursionError: maximum recursion depth exceeded",
)
_JAVASCRIPT_ERRORS = (
    "TypeError: Cannot read properties of undefined (reading 'length')",
    "TypeError: x is not a function",
    "RangeError: Maximum call stack size exceeded",
    "TypeError: Cannot convert undefined or null to object",
    "Error: callback called twice",
)
_JAVA_ERRORS = (
    'java.lang.NullPointerException: Cannot invoke "String.length()" because "value" is null',
    "java.lang.IllegalStateException: null",
    "java.lang.ClassCastException: class java.lang.String cannot be cast to class java.lang.Integer",
    "java.lang.IndexOutOfBoundsException: Index 3 out of bounds for length 3",
    "java.util.ConcurrentModificationException",
)
_GO_ERRORS = (
    "panic: runtime error: invalid memory address or nil pointer dereference",
    "panic: runtime error: index out of range [3] with length 3",
    "panic: assignment to entry in nil map",
    "panic: close of closed channel",
)
_RUBY_ERRORS = (
    "undefined method `each' for nil:NilClass (NoMethodError)",
    "wrong number of arguments (given 2, expected 1) (ArgumentError)",
)
_PHP_ERRORS = (
    "PHP Fatal error:  Uncaught TypeError: Argument #1 must be of type string, null given",
    "PHP Fatal error:  Uncaught Error: Call to a member function get() on null",
)
_CSHARP_ERRORS = (
    "System.NullReferenceException: Object reference not set to an instance of an object.",
    "System.InvalidOperationException: Sequence contains no elements",
    "System.ArgumentNullException: Value cannot be null. (Parameter 'source')",
)
_RUST_ERRORS = (
    "called `Option::unwrap()` on a `None` value",
    "index out of bounds: the len is 3 but the index is 3",
    "attempt to subtract with overflow",
)
_ELIXIR_ERRORS = (
    "** (FunctionClauseError) no function clause matching",
    "** (KeyError) key :name not found",
    "** (MatchError) no match of right hand side value: nil",
)
_TITLES = (
    "Crash after upgrading to the latest version",
    "Getting this exception in production",
    "Unexpected error, works in the previous release",
    "This fails with the following trace",
    "",
    "",
)
_PACKAGE = re.compile(r"(?:^|/)src/(?:\w+/)?(?:java|kotlin|scala)/(.+)$|(?:^|/)src/(.+)$")


def trace(language: str, frames: list[Frame], message: str, draw: random.Random) -> str:
    """A trace as the language's own runtime prints it, with a title in most; nothing for languages that print none."""
    write = _WRITERS.get(language)
    if write is None:
        return ""
    title = draw.choice(_TITLES)
    text = write(frames, message, draw)
    return f"{title}\n\n{text}" if title else text


def _python(frames: list[Frame], message: str, draw: random.Random) -> str:
    root = draw.choice(
        ("/usr/lib/python3.11/site-packages/", "/home/me/.venv/lib/python3.12/site-packages/", "/app/", "")
    )
    lines = ["Traceback (most recent call last):", '  File "/app/main.py", line 12, in <module>', "    main()"]
    for frame in reversed(frames):
        path = re.sub(r"^(?:src|lib)/", "", frame.path)
        lines += [f'  File "{root}{path}", line {frame.line}, in {frame.name}', f"    {frame.source}"]
    return "\n".join([*lines, f"ValueError: {message}" if message else draw.choice(_PYTHON_ERRORS)])


def _javascript(frames: list[Frame], message: str, draw: random.Random) -> str:
    lines = [f"Error: {message}" if message else draw.choice(_JAVASCRIPT_ERRORS)]
    root = draw.choice(("/app/node_modules/", "/home/me/project/", "webpack-internal:///./"))
    lines += [f"    at {one.qualname} ({root}{one.path}:{one.line}:{draw.randint(3, 40)})" for one in frames]
    lines.append("    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)")
    return "\n".join(lines)


def _java(frames: list[Frame], message: str, draw: random.Random) -> str:
    head = f"java.lang.IllegalStateException: {message}" if message else draw.choice(_JAVA_ERRORS)
    lines = [f'Exception in thread "main" {head}']
    for frame in frames:
        found = _PACKAGE.search(frame.path)
        inside = next((group for group in found.groups() if group), frame.path) if found else frame.path
        folder, _, file = inside.rpartition("/")
        owner = ".".join(part for part in (folder.replace("/", "."), file.partition(".")[0]) if part)
        lines.append(f"\tat {owner}.{frame.name}({file}:{frame.line})")
    lines.append("\tat java.base/java.lang.Thread.run(Thread.java:840)")
    return "\n".join(lines)


def _go(frames: list[Frame], message: str, draw: random.Random) -> str:
    lines = [
        f"panic: {message}" if message else draw.choice(_GO_ERRORS),
        "",
        f"goroutine {draw.randint(1, 90)} [running]:",
    ]
    for frame in frames:
        folder = frame.path.rpartition("/")[0].rpartition("/")[2] or "main"
        lines += [
            f"{folder}.{frame.qualname}(0xc000{draw.randint(100000, 999999)})",
            f"\t/go/src/app/{frame.path}:{frame.line} +0x{draw.randint(16, 999):x}",
        ]
    return "\n".join([*lines, "main.main()", "\t/go/src/app/main.go:21 +0x1d"])


def _ruby(frames: list[Frame], message: str, draw: random.Random) -> str:
    inner, *outer = frames
    said = f"{message} (ArgumentError)" if message else draw.choice(_RUBY_ERRORS)
    lines = [f"{inner.path}:{inner.line}:in `{inner.name}': {said}"]
    return "\n".join([*lines, *(f"\tfrom {frame.path}:{frame.line}:in `{frame.name}'" for frame in outer)])


def _php(frames: list[Frame], message: str, draw: random.Random) -> str:
    head = f"PHP Fatal error:  Uncaught RuntimeException: {message}" if message else draw.choice(_PHP_ERRORS)
    lines = [f"{head} in /var/www/{frames[0].path}:{frames[0].line}", "Stack trace:"]
    for number, (inner, outer) in enumerate(pairwise(frames)):
        lines.append(f"#{number} /var/www/{outer.path}({outer.line}): {inner.qualname.replace('.', '->')}()")
    return "\n".join([*lines, f"#{len(frames) - 1} {{main}}"])


def _csharp(frames: list[Frame], message: str, draw: random.Random) -> str:
    lines = [f"System.InvalidOperationException: {message}" if message else draw.choice(_CSHARP_ERRORS)]
    lines += [f"   at {frame.qualname}() in /src/{frame.path}:line {frame.line}" for frame in frames]
    return "\n".join(lines)


def _rust(frames: list[Frame], message: str, draw: random.Random) -> str:
    said = message or draw.choice(_RUST_ERRORS)
    lines = [
        f"thread 'main' panicked at {frames[0].path}:{frames[0].line}:{draw.randint(5, 40)}:",
        said,
        "stack backtrace:",
    ]
    lines += ["   0: rust_begin_unwind", "   1: core::panicking::panic_fmt"]
    for number, frame in enumerate(frames, 2):
        lines += [f"   {number}: {frame.qualname.replace('.', '::')}", f"             at ./{frame.path}:{frame.line}"]
    return "\n".join(lines)


def _elixir(frames: list[Frame], message: str, draw: random.Random) -> str:
    lines = [f"** (ArgumentError) {message}" if message else draw.choice(_ELIXIR_ERRORS)]
    return "\n".join(
        [
            *lines,
            *(f"    (app 1.0.0) {frame.path}:{frame.line}: {frame.qualname}/{draw.randint(0, 3)}" for frame in frames),
        ]
    )


_WRITERS: dict[str, Callable[[list[Frame], str, random.Random], str]] = {
    "python": _python,
    "javascript": _javascript,
    "typescript": _javascript,
    "tsx": _javascript,
    "java": _java,
    "kotlin": _java,
    "scala": _java,
    "go": _go,
    "ruby": _ruby,
    "php": _php,
    "csharp": _csharp,
    "rust": _rust,
    "elixir": _elixir,
}
