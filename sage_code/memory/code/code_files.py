"""The current text and definitions of the files that references point into; each file is read and parsed once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from sage_code.discover.reading import SourceText, read_source
from sage_code.discover.rules import DiscoverRules
from sage_code.languages.kinds import CHUNK_KIND, TEXT_KINDS
from sage_code.languages.table import HEAD_BYTES, detect
from sage_code.memory.code.code_text import content_hash, quotation
from sage_code.memory.files.code_ref import CodeRef
from sage_code.parse.definitions import parse
from sage_code.parse.parsed import ParsedFile
from sage_code.values import SkipReason, SourceFile, Symbol

# A memory may be about a file that is generated, or too large to be indexed.
_RULES = DiscoverRules(max_file_bytes=4_000_000, include_generated=True)
# The text that is cached; files beyond that are read again each time.
_MAX_CACHED_CHARS = 50_000_000
_FUNCTIONS = frozenset({"function", "method"})
_CONTAINERS = frozenset({"class", "type"})


class CodeFile:
    """The text of a file; it is parsed when its definitions are first needed."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.lines = text.removesuffix("\n").split("\n") if text else []
        self._hashes: dict[tuple[int, int] | None, str] = {}

    @cached_property
    def parsed(self) -> ParsedFile | None:
        """The parsed file; None if Sage has no grammar for its language."""
        data = self.text.encode()
        language = detect(self.path, data[:HEAD_BYTES])
        return parse(data, language) if language else None

    @cached_property
    def symbols(self) -> Sequence[Symbol]:
        """The definitions in code, without headings and keys of markup and data."""
        found = self.parsed.symbols if self.parsed else ()
        return [symbol for symbol in found if symbol.kind not in TEXT_KINDS]

    @cached_property
    def units(self) -> Sequence[Symbol]:
        """The definitions that references point to: outermost functions and methods, and types without any."""
        functions = [symbol for symbol in self.symbols if CHUNK_KIND.get(symbol.kind) in _FUNCTIONS]
        outer: list[Symbol] = []
        for symbol in sorted(functions, key=lambda one: (one.start_line, -one.end_line)):
            if not outer or symbol.end_line > outer[-1].end_line:
                outer.append(symbol)
        types = [
            symbol
            for symbol in self.symbols
            if CHUNK_KIND.get(symbol.kind) in _CONTAINERS
            and not any(symbol.start_line <= one.line <= symbol.end_line for one in outer)
            and not any(one.start_line <= symbol.line <= one.end_line for one in outer)
        ]
        return sorted([*outer, *types], key=lambda one: one.start_line)

    def piece(self, lines: tuple[int, int] | None) -> list[str]:
        """The lines of a range, or of the whole file."""
        return self.lines if lines is None else self.lines[lines[0] - 1 : lines[1]]

    def hash(self, lines: tuple[int, int] | None) -> str:
        """The content hash of a range, or of the whole file."""
        if lines not in self._hashes:
            self._hashes[lines] = content_hash(self.piece(lines))
        return self._hashes[lines]

    def ref(self, lines: tuple[int, int] | None, symbol: str = "") -> CodeRef:
        """A reference to the current text of a range, or of the whole file."""
        snippet = quotation(self.piece(lines)) or None
        return CodeRef(self.path, lines, snippet, symbol=symbol, content_hash=self.hash(lines))


class CodeFiles:
    """The files of a project, each read once; files outside of it and links are not read."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._known: dict[str, CodeFile | None] = {}
        self._chars = 0

    def get(self, path: str) -> CodeFile | None:
        """The file at a relative path; None if there is no text file."""
        if path in self._known:
            return self._known[path]
        file = self._read(path)
        self._chars += len(file.text) if file else 0
        if self._chars < _MAX_CACHED_CHARS:
            self._known[path] = file
        return file

    def _read(self, path: str) -> CodeFile | None:
        try:
            read = read_source(self.root, SourceFile(path, 0, 0), _RULES)
        except UnicodeEncodeError:  # a name with lone surrogates
            return None
        if isinstance(read, SourceText):
            return CodeFile(path, read.text)
        return CodeFile(path, "") if read.reason == SkipReason.EMPTY else None


def span(symbol: Symbol) -> tuple[int, int]:
    """The lines of a definition."""
    return symbol.start_line, symbol.end_line
