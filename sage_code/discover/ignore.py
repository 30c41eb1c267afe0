"""`.gitignore` syntax: does a file or folder belong to what an ignore file leaves out?

Why not pathspec: its regular expressions backtrack, and the patterns come from the repository. A line like
`*a*a*a*a*a*a*a*ab` takes it 40 s for one name; importing it costs 40 ms. Here every `*` but the last and
every `**` but the last is an atomic group (the shortest match is always good enough when another star
follows), so that a match costs at most the square of the path's length. All patterns of a file become one
expression. Paths are bytes, as they are for git: `?` is one byte.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass

_STAR = b"*"
_DEEP = b"**/"
_CLASSES = {
    b"alnum": string.ascii_letters + string.digits, b"alpha": string.ascii_letters, b"blank": " \t",
    b"cntrl": "".join(map(chr, [*range(32), 127])), b"digit": string.digits,
    b"graph": "".join(map(chr, range(33, 127))), b"lower": string.ascii_lowercase,
    b"print": "".join(map(chr, range(32, 127))), b"punct": string.punctuation, b"space": " \t\n\v\f\r",
    b"upper": string.ascii_uppercase, b"xdigit": string.hexdigits,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of an ignore file, as it was written and as it is matched."""

    text: str
    regex: bytes
    negated: bool
    folders_only: bool
    whole_path: bool  # matched against the path from the ignore file's folder, not just the name


class _Matcher:
    """Some patterns of one file as one expression; the last pattern that matches decides."""

    __slots__ = ("_match", "_patterns")

    def __init__(self, patterns: list[tuple[int, Pattern]]) -> None:
        self._patterns = patterns[::-1]
        alternatives = b"|".join(b"(%s)" % pattern.regex for _, pattern in self._patterns)
        self._match = re.compile(alternatives, re.DOTALL).fullmatch if patterns else None

    def last(self, subject: bytes) -> tuple[int, Pattern] | None:
        found = self._match(subject) if self._match else None
        return self._patterns[found.lastindex - 1] if found and found.lastindex else None


class IgnoreFile:
    """The patterns of one ignore file, valid for everything below `base` (absolute, with a final slash),
    and the ignore files of the folders above, which have less say."""

    __slots__ = ("_above", "_base", "_for_files", "_for_folders", "_label")

    def __init__(self, content: bytes, base: bytes, label: str, above: IgnoreFile | None = None) -> None:
        numbered = list(enumerate(parse(content)))
        files = [item for item in numbered if not item[1].folders_only]
        self._for_files, self._for_folders = (
            (_Matcher([i for i in some if not i[1].whole_path]), _Matcher([i for i in some if i[1].whole_path]))
            for some in (files, numbered)
        )
        self._base = base
        self._label = label
        self._above = above

    def decide(self, path: bytes, name: bytes) -> tuple[bool, str] | None:
        """Whether `path` (absolute; a folder's ends with a slash) is ignored and by which line; None when no
        line speaks of it."""
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
        regex = _translate(glob.removeprefix(b"/"))
        if regex:
            yield Pattern(text, regex, negated, folders_only, whole_path)


def _strip_trailing_spaces(line: bytes) -> bytes:
    bare = line.rstrip(b" ")
    escaped = (len(bare) - len(bare.rstrip(b"\\"))) % 2
    return line[: len(bare) + 1] if escaped and len(line) > len(bare) else bare


def _translate(glob: bytes) -> bytes | None:
    """The regular expression of a glob; None when git would never match it."""
    tokens = _tokens(glob)
    if not tokens:
        return None
    runs: list[list[bytes]] = [[]]
    for token in tokens:
        if token == _DEEP:
            runs.append([])
        else:
            runs[-1].append(token)
    first, *rest = map(_run, runs)
    if not rest:
        return first
    middle = b"".join(b"(?>(?:[^/]+/)*?%s)" % run for run in rest[:-1])
    return b"%s%s(?:[^/]+/)*%s" % (first, middle, rest[-1])


def _run(tokens: list[bytes]) -> bytes:
    """A stretch without `**/`: only its last star may backtrack."""
    chunks = [b""]
    for token in tokens:
        if token == _STAR:
            chunks.append(b"")
        else:
            chunks[-1] += token
    if len(chunks) == 1:
        return chunks[0]
    middle = b"".join(b"(?>[^/]*?%s)" % chunk for chunk in chunks[1:-1])
    return b"%s%s[^/]*%s" % (chunks[0], middle, chunks[-1])


def _tokens(glob: bytes) -> list[bytes] | None:
    """`_STAR`, `_DEEP` and expressions for one byte each (or, for a final `**`, the rest)."""
    tokens: list[bytes] = []
    at = 0
    while at < len(glob):
        char = glob[at : at + 1]
        if char == b"*":
            end = at
            while glob[end : end + 1] == b"*":
                end += 1
            alone = end - at > 1 and (at == 0 or glob[at - 1 : at] == b"/")
            if alone and end == len(glob):
                tokens.append(b".+")
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
            tokens.append(b"[%s]" % b"".join(b"\\x%02x" % m for m in sorted(members)) if members else b"(?!)")
        elif char == b"?":
            tokens.append(b"[^/]")
            at += 1
        else:
            at += char == b"\\"
            if at == len(glob):
                return None  # git never matches a final backslash
            tokens.append(re.escape(glob[at : at + 1]))
            at += 1
    return tokens


def _bracket(glob: bytes, at: int) -> tuple[set[int], int] | None:
    """The bytes that `[...]` stands for and where it ends; None when it is broken."""
    negated = glob[at : at + 1] in (b"!", b"^")
    start = at = at + negated
    members: set[int] = set()
    previous = 0  # what a range may start with: a plain character just before
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
