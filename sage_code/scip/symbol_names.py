"""The grammar of SCIP's symbol strings: `scheme manager package version descriptors`, or `local ID`.

A descriptor is a name with a suffix that says its kind: `a/` namespace, `A#` type, `a.` term, `a().` method, `[A]` type
parameter, `(a)` parameter, `a!` macro, `a:` meta. Names with other signs are in backticks.
"""

from __future__ import annotations

from typing import NamedTuple

NAMESPACE, TYPE, TERM, METHOD, TYPE_PARAMETER, PARAMETER, MACRO, META = (
    "namespace", "type", "term", "method", "type_parameter", "parameter", "macro", "meta",
)  # fmt: skip
_SUFFIXES = {"/": NAMESPACE, "#": TYPE, ".": TERM, ":": META, "!": MACRO}
_SIGNS = {kind: sign for sign, kind in _SUFFIXES.items()}
_LOCAL = "local "
# A longer symbol is no name of code.
MAX_LENGTH = 4_096


class Descriptor(NamedTuple):
    """One step of a symbol's path."""

    name: str
    kind: str


def is_local(symbol: str) -> bool:
    """Whether a symbol is known in its document only."""
    return symbol.startswith(_LOCAL)


def parse(symbol: str) -> list[Descriptor]:
    """The descriptors of a global symbol; none if it is local, too long or malformed."""
    if is_local(symbol) or len(symbol) > MAX_LENGTH:
        return []
    at = 0
    for _ in range(4):  # scheme, manager, package, version
        at = _after_part(symbol, at)
        if at < 0:
            return []
    found = []
    while at < len(symbol):
        descriptor, at = _descriptor(symbol, at)
        if descriptor is None:
            return []
        found.append(descriptor)
    return found


def _after_part(symbol: str, at: int) -> int:
    """Where the part of a symbol at `at` and its space end, -1 if they do not; a doubled space is one of the part."""
    while (at := symbol.find(" ", at)) >= 0 and symbol[at + 1 : at + 2] == " ":
        at += 2
    return at + 1 if at >= 0 else -1


def _descriptor(symbol: str, at: int) -> tuple[Descriptor | None, int]:
    """The descriptor at `at`, and where it ends."""
    for opening, closing, kind in (("[", "]", TYPE_PARAMETER), ("(", ")", PARAMETER)):
        if symbol[at] == opening:
            name, at = _name(symbol, at + 1)
            return (Descriptor(name, kind), at + 1) if name and symbol[at : at + 1] == closing else (None, at)
    name, at = _name(symbol, at)
    sign = symbol[at : at + 1]
    if not name or not sign:
        return None, at
    if sign == "(":
        end = symbol.find(").", at)
        return (Descriptor(name, METHOD), end + 2) if end >= 0 else (None, at)
    return (Descriptor(name, _SUFFIXES[sign]), at + 1) if sign in _SUFFIXES else (None, at)


def _name(symbol: str, at: int) -> tuple[str, int]:
    """The identifier at `at`, plain or in backticks, where a doubled backtick is one of the name."""
    if symbol[at : at + 1] != "`":
        end = at
        while end < len(symbol) and (symbol[end].isalnum() or symbol[end] in "_+-$"):
            end += 1
        return symbol[at:end], end
    parts = []
    at += 1
    while True:
        end = symbol.find("`", at)
        if end < 0:
            return "", len(symbol)
        parts.append(symbol[at:end])
        if symbol[end + 1 : end + 2] != "`":
            return "`".join(parts), end + 1
        at = end + 2


def descriptor(name: str, kind: str, overload: int = 0) -> str:
    """A descriptor as text."""
    is_plain = bool(name) and all(char.isascii() and (char.isalnum() or char in "_+-$") for char in name)
    written = name if is_plain else "`" + name.replace("`", "``") + "`"
    if kind == METHOD:
        return f"{written}({f'+{overload}' if overload else ''})."
    return written + _SIGNS[kind]


def package(scheme: str, manager: str, name: str, version: str) -> str:
    """The part of a symbol before its descriptors; `.` is an empty one."""
    return "".join((part.replace(" ", "  ") or ".") + " " for part in (scheme, manager, name, version))
