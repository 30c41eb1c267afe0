"""`.gitignore` syntax: does an ignore file exclude a file or folder?

Why not pathspec: its regular expressions backtrack, and the patterns come from the repository. A line like
`*a*a*a*a*a*a*a*ab` takes it 40 s for one name; importing it takes 40 ms. Here plain patterns are looked up in a
dictionary and all others become one automaton, which reads a path once; their number and length are bounded. Paths are
bytes, as they are for git: `?` is one byte.
"""

from __future__ import annotations

import string
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter

# Limits of one ignore file; the longest in our 29 benchmark repositories has 400 patterns. The time of a match grows
# with the tokens of patterns with wildcards, those of the folders above included: here a microsecond a letter.
MAX_PATTERNS = 10_000
MAX_PATTERN_CHARS = 1_000
MAX_GLOB_TOKENS = 16_384
_STAR = b"*"
_DEEP = b"**/"
_REST = b"**"  # at the end: everything below
_SLASH = 0x2F
_ANY = frozenset(range(256)) - {_SLASH}
_CLASSES = {
    b"alnum": string.ascii_letters + string.digits, b"alpha": string.ascii_letters, b"blank": " \t",
    b"cntrl": "".join(map(chr, [*range(32), 127])), b"digit": string.digits,
    b"graph": "".join(map(chr, range(33, 127))), b"lower": string.ascii_lowercase,
    b"print": "".join(map(chr, range(32, 127))), b"punct": string.punctuation, b"space": " \t\n\v\f\r",
    b"upper": string.ascii_uppercase, b"xdigit": string.hexdigits,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of an ignore file: its text and its tokens."""

    text: str
    tokens: tuple[bytes | frozenset[int], ...]  # `_STAR`, `_DEEP`, `_REST`, a byte, or a set of bytes
    negated: bool
    folders_only: bool
    whole_path: bool  # matched against the path from the ignore file's folder, not just the name

    @property
    def literal(self) -> bytes | None:
        """The only name or path it matches, if it has no wildcard."""
        plain = [token for token in self.tokens if isinstance(token, bytes) and len(token) == 1 and token != _STAR]
        return b"".join(plain) if len(plain) == len(self.tokens) else None


class _Globs:
    """Patterns with wildcards as one automaton whose states are the bits of a number; it reads a subject once.

    A state is a position between two tokens. A byte moves each state whose next token it matches by one bit (`_next`);
    states before a star stay (`_loop`). `**/` takes two bits: at the beginning of a folder's name (`_deep`) and inside
    it (`_inside`), from where a slash leads back; the next token is two bits after the first (`_after`).
    """

    __slots__ = ("_after", "_deep", "_final", "_first", "_inside", "_loop", "_loop_any", "_next", "_owners")

    def __init__(self, patterns: list[tuple[int, Pattern]]) -> None:
        self._first = self._final = self._loop = self._loop_any = self._deep = self._inside = 0
        self._next, self._after = [0] * 256, [0] * 256
        self._owners: list[tuple[int, tuple[int, Pattern]]] = []  # final bits, ascending
        bit = 0
        moves: list[list[int]] = [[] for _ in range(256)]
        leaps: list[list[int]] = [[] for _ in range(256)]
        for item in patterns:
            self._first |= 1 << bit
            leap = False
            for token in item[1].tokens:
                if token == _STAR:
                    self._loop |= 1 << bit
                elif token == _DEEP:
                    if not leap:  # two in a row are one
                        self._deep |= 1 << bit
                        self._inside |= 1 << bit + 1
                        leap = True
                else:
                    bit += 2 if leap else 1
                    members = range(256) if token == _REST else token
                    for byte in members:
                        (leaps if leap else moves)[byte].append(bit)
                    self._loop_any |= (token == _REST) << bit
                    leap = False
            self._final |= 1 << bit
            self._owners.append((bit, item))
            bit += 1
        for table, targets in ((self._next, moves), (self._after, leaps)):
            for byte, bits in enumerate(targets):
                table[byte] = _number(bits, bit)

    def last(self, subject: bytes) -> tuple[int, Pattern] | None:
        """The last pattern that matches the whole of `subject`."""
        states = self._first
        moves, after, deep, inside, loop = self._next, self._after, self._deep, self._inside, self._loop
        for byte in subject:
            now = ((states << 1) & moves[byte]) | (states & self._loop_any)
            if byte != _SLASH:
                now |= states & loop
            if deep:
                at_folder = states & deep
                now |= (at_folder << 2) & after[byte]
                now |= (states & inside) >> 1 if byte == _SLASH else (at_folder << 1) | (states & inside)
            if not now:
                return None
            states = now
        ended = (states & self._final).bit_length() - 1
        if ended < 0:
            return None
        return self._owners[bisect_left(self._owners, ended, key=itemgetter(0))][1]


def _number(bits: list[int], size: int) -> int:
    """The number with these bits set, in time linear in their count."""
    if not bits:
        return 0
    data = bytearray(size // 8 + 1)
    for bit in bits:
        data[bit >> 3] |= 1 << (bit & 7)
    return int.from_bytes(data, "little")


class _Matcher:
    """Some patterns of one ignore file; the last one that matches decides."""

    __slots__ = ("_globs", "_literals")

    def __init__(self, patterns: list[tuple[int, Pattern]]) -> None:
        self._literals: dict[bytes, tuple[int, Pattern]] = {}
        globs = []
        for item in patterns:
            literal = item[1].literal
            if literal is None:
                globs.append(item)
            else:
                self._literals[literal] = item
        self._globs = _Globs(globs) if globs else None

    def last(self, subject: bytes) -> tuple[int, Pattern] | None:
        literal = self._literals.get(subject)
        glob = self._globs.last(subject) if self._globs else None
        return max((literal, glob), key=itemgetter(0)) if literal and glob else literal or glob


class IgnoreFile:
    """The patterns of one ignore file, valid below `base` (absolute, with a final slash), and the ignore files of the
    folders above, which it overrules."""

    __slots__ = ("_above", "_base", "_for_files", "_for_folders", "_label", "_size", "left_out")

    def __init__(self, content: bytes, base: bytes, label: str, above: IgnoreFile | None = None) -> None:
        numbered: list[tuple[int, Pattern]] = []
        self.left_out = 0  # patterns that are not used: too many or too long
        self._size: int = above._size if above else 0
        is_full = False
        for pattern in parse(content):
            states = 0 if pattern.literal is not None else len(pattern.tokens) + 1
            is_full = is_full or self._size + states > MAX_GLOB_TOKENS
            too_many = len(numbered) >= MAX_PATTERNS or (states and is_full)
            if too_many or len(pattern.text) > MAX_PATTERN_CHARS:
                self.left_out += 1
                continue
            self._size += states
            numbered.append((len(numbered), pattern))
        files = [item for item in numbered if not item[1].folders_only]
        self._for_files, self._for_folders = (
            (_Matcher([i for i in some if not i[1].whole_path]), _Matcher([i for i in some if i[1].whole_path]))
            for some in (files, numbered)
        )
        self._base = base
        self._label = label
        self._above = above

    def decide(self, path: bytes, name: bytes) -> tuple[bool, str] | None:
        """Whether `path` (absolute; a folder's ends with a slash) is ignored and by which line; None when no line
        matches."""
        is_folder = path.endswith(b"/")
        path = path.removesuffix(b"/")
        rules: IgnoreFile | None = self
        while rules:
            by_name, by_path = rules._for_folders if is_folder else rules._for_files
            hit, other = by_name.last(name), by_path.last(path[len(rules._base) :])
            if other and (not hit or other[0] > hit[0]):
                hit = other
            if hit:
                return not hit[1].negated, f"{rules._label}: {hit[1].text}"
            rules = rules._above
        return None


def parse(content: bytes) -> Iterator[Pattern]:
    """The patterns of an ignore file; blank lines, comments and broken patterns are left out, as in git."""
    for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        glob = _strip_trailing_spaces(line.removesuffix(b"\r"))
        if not glob or glob.startswith(b"#"):
            continue
        text = glob.decode("utf-8", "backslashreplace")
        negated = glob.startswith(b"!")
        glob = glob[negated:]
        folders_only = glob.endswith(b"/")
        glob = glob.removesuffix(b"/")
        whole_path = b"/" in glob
        tokens = _tokens(glob.removeprefix(b"/"))
        if tokens:
            yield Pattern(text, tuple(tokens), negated, folders_only, whole_path)


def _strip_trailing_spaces(line: bytes) -> bytes:
    bare = line.rstrip(b" ")
    escaped = (len(bare) - len(bare.rstrip(b"\\"))) % 2
    return line[: len(bare) + 1] if escaped and len(line) > len(bare) else bare


def _tokens(glob: bytes) -> list[bytes | frozenset[int]] | None:
    """The tokens of a glob; None when git would never match it."""
    tokens: list[bytes | frozenset[int]] = []
    at = 0
    while at < len(glob):
        char = glob[at : at + 1]
        if char == b"*":
            end = at
            while glob[end : end + 1] == b"*":
                end += 1
            alone = end - at > 1 and (at == 0 or glob[at - 1 : at] == b"/")
            if alone and end == len(glob):
                tokens.append(_REST)
            elif alone and glob[end : end + 1] == b"/":
                tokens.append(_DEEP)
                end += 1
            else:
                tokens.append(_STAR)
            at = end
        elif char == b"[":
            bracket = _bracket(glob, at + 1)
            if bracket is None:
                return None
            members, at = bracket
            tokens.append(frozenset(members))
        elif char == b"?":
            tokens.append(_ANY)
            at += 1
        else:
            at += char == b"\\"
            if at == len(glob):
                return None  # git never matches a final backslash
            byte = glob[at : at + 1]
            tokens.append(frozenset(byte) if byte == _STAR else byte)
            at += 1
    return tokens


def _bracket(glob: bytes, at: int) -> tuple[set[int], int] | None:
    """The bytes that `[...]` matches, and its end; None when it is malformed."""
    negated = glob[at : at + 1] in (b"!", b"^")
    start = at = at + negated
    members: set[int] = set()
    previous = 0  # the plain character just before, with which a range may start
    while at == start or glob[at : at + 1] != b"]":
        if at >= len(glob):
            return None
        char = glob[at]
        if glob[at : at + 2] == b"[:" and (end := glob.find(b"]", at + 2)) > 0 and glob[end - 1 : end] == b":":
            name = glob[at + 2 : end - 1]
            if name not in _CLASSES:
                return None
            members.update(_CLASSES[name].encode())
            previous, at = 0, end + 1
            continue
        is_range = char == 0x2D and previous and glob[at + 1 : at + 2] not in (b"", b"]")
        at += bool(is_range)
        if glob[at : at + 1] == b"\\":
            at += 1
            if at >= len(glob):
                return None
        members.update(range(previous, glob[at] + 1) if is_range else (glob[at],))
        previous = 0 if is_range else glob[at]
        at += 1
    if negated:
        members = set(range(256)) - members
    return members - {0x2F}, at + 1
