"""Reads the receiver of a name (`self` in `self.f`) backwards from the source, which costs less than asking the tree
and works for every language. The source is reversed once, so that no name costs a copy of the text before it.
"""

from __future__ import annotations

import re
from functools import lru_cache

# All patterns read backwards: the dot, then the dotted name before it, and whether there is a dot before that.
_JOINT = rb"\s*(?:\.[?!]?|>-|::)"
_DOTTED = rb"\s*([\w$@]+(?:(?:\.[?!]?|>-|::)[\w$@]+)*)(?:(?=%s)())?" % _JOINT
_RECEIVER = re.compile(_JOINT + rb"(?:%s)?" % _DOTTED)
# The same for most receivers, names and plain dots with nothing before them, in a third of the time.
_PLAIN = re.compile(rb"\.([\w$@]++(?:\.[\w$@]++)*+)(?!%s)" % _JOINT)
# The same for a call: `expect(x).to.be`, `make(1)`.
_PLAIN_CALL = re.compile(rb"\.(?:([\w$@]++(?:\.[\w$@]++)*+)\.)?+\)[^()]*+\(([\w$@]++(?:\.[\w$@]++)*+)(?!%s)" % _JOINT)
_CALLED = re.compile(rb"(?:>[^<>()]{0,60}<)?" + _DOTTED)
_SPACE = re.compile(rb"\s*")
_ARGUMENTS = re.compile(rb"\)[^()]*+\(")
_PARENTHESIS = re.compile(rb"[()]")
_SEPARATOR = re.compile(r"\?\.|!\.|->|::")
_LOOK_BACK = 300
_MAX_CHAIN = 4
# The receiver of a name after an index or an operation, which only types could resolve; and after a literal.
EXPRESSION, LITERAL = "?", '?"'
_QUOTES = frozenset(b"\"'`")
_CLOSED = ord(")")
# A name has a receiver only if one of these bytes is before it.
JOINTS = frozenset(b".>:")


class Receivers:
    """The receivers of the names of one source."""

    __slots__ = ("_backwards", "_size")

    def __init__(self, source: bytes) -> None:
        self._backwards, self._size = source[::-1], len(source)

    def before(self, start: int) -> str:
        """The receiver of the name at `start`, after one of `JOINTS`: `self`, `os.path`, `super`, `Foo()`, `?` (an
        expression), or nothing."""
        at = self._size - start
        if plain := _PLAIN.match(self._backwards, at, at + _LOOK_BACK):
            return _forwards(plain[1])
        if call := _PLAIN_CALL.match(self._backwards, at, at + _LOOK_BACK):
            called = _forwards(call[2]) + "()" if call[2] != b"repus" else "super"
            return f"{called}.{_forwards(call[1])}" if call[1] else called
        match = _RECEIVER.match(self._backwards, at, at + _LOOK_BACK)
        return self._read(match, min(at + _LOOK_BACK, self._size), _MAX_CHAIN) if match else ""

    def _read(self, match: re.Match[bytes], limit: int, chain: int) -> str:
        """The receiver that begins with `match`, through at most `chain` calls."""
        suffix = ""
        if match[1] is None:  # a call, an index or a literal
            at = _SPACE.match(self._backwards, match.end(), limit).end()  # type: ignore[union-attr]  # always matches
            last = self._backwards[at] if at < limit else 0
            opened = self._opened(at, limit) if last == _CLOSED else 0
            if not opened or chain <= 0:
                return LITERAL if last in _QUOTES else EXPRESSION
            suffix = "()"
            called = _CALLED.match(self._backwards, opened, limit)
            if called is None:
                return EXPRESSION
            match = called
        name = _forwards(match[1]) + suffix
        if name == "super()":
            return "super"
        if match.lastindex == 1:
            return name
        # The name has a receiver of its own: `f(x).items`.
        joint = _RECEIVER.match(self._backwards, match.end(1), limit)
        head = self._read(joint, limit, chain - 1) if joint else ""
        return EXPRESSION if head.startswith(EXPRESSION) or not head else f"{head}.{name}"

    def _opened(self, start: int, limit: int) -> int:
        """The offset after the `(` that belongs to the `)` at `start`, both backwards; 0 if it is beyond `limit`."""
        if flat := _ARGUMENTS.match(self._backwards, start, limit):
            return flat.end()
        depth = 0
        for match in _PARENTHESIS.finditer(self._backwards, start, limit):
            depth += 1 if match[0] == b")" else -1
            if depth == 0:
                return match.end()
        return 0


@lru_cache(4096)  # most receivers of a file are `self` and a few other names
def _forwards(name: bytes) -> str:
    return _SEPARATOR.sub(".", name[::-1].decode("utf-8", "replace"))
