"""Finds a text, or the matches of a regular expression, in all files of a project, and ranks the files.

The index proposes files by the words that a match needs; the files are read as they are now, so every match is real and
none is missing. Files with a definition of what was asked for come first, then by what their path says about them
(source before tests, documentation and copies), then by how many files use them. Nothing heavy is imported: a process
that answers one question takes little longer than Python takes to start.
"""

from __future__ import annotations

from sage_code.compiled.inventory import reading
from sage_code.errors import IndexCorrupt
from sage_code.files.atomic import resolve
from sage_code.paths import compiled_dir
from sage_code.search.exact.disk import Disk, TextReader
from sage_code.search.exact.matching import Matcher
from sage_code.search.exact.opened import OpenedIndex
from sage_code.search.wanted import check_paths, matches_path, wanted_kinds, wanted_language

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from sage_code.files.looking import Looking
    from sage_code.search.exact.disk import DiskState
    from sage_code.search.exact.opened import IndexedFile
    from sage_code.settings.table import Settings

# Texts of matching files that are kept until the answer is made, in characters; others are read again.
_KEPT_CHARS = 32_000_000
# Of so many files, the best by path and use, the definitions are compared with the matches.
_EXAMINED_FILES = 300
# A name with more definitions tells no place from another.
_MAX_DEFINITIONS = 300
_MAX_LINE_CHARS = 240
# The higher, the later its files come.
_LATE = {
    "vendored": 3, "generated": 3, "test": 2, "example": 2, "doc": 2, "benchmark": 2, "compat": 1, "build": 1,
    "data": 1, "declarations": 1,
}  # fmt: skip


class Asked:
    """What is looked for, where, and how much is wanted."""

    __slots__ = (
        "context",
        "ignore_case",
        "kinds",
        "languages",
        "limit",
        "paths",
        "refresh",
        "regex",
        "snippets",
        "text",
    )

    def __init__(
        self,
        text: str,
        *,
        regex: bool = False,
        ignore_case: bool = False,
        limit: int = 10,
        languages: Sequence[str] = (),
        paths: Sequence[str] = (),
        kinds: Sequence[str] = (),
        refresh: bool = True,
        snippets: bool = True,
        context: int = 0,
    ) -> None:
        self.text, self.regex, self.ignore_case = text, regex, ignore_case
        self.limit, self.languages, self.paths, self.kinds = limit, languages, paths, kinds
        self.refresh, self.snippets, self.context = refresh, snippets, context


class Match:
    """Lines that match: the first match in a line, or one that spans lines."""

    __slots__ = ("end", "last", "line", "start")

    def __init__(self, line: int, last: int, start: int, end: int) -> None:
        self.line, self.last = line, last
        self.start, self.end = start, end  # offsets in the text


class MatchingFile:
    """A file with matches."""

    __slots__ = ("definition", "file", "is_changed", "matches", "order", "path", "text")

    def __init__(self, path: str, file: IndexedFile | None, matches: list[Match], text: str | None) -> None:
        self.path, self.file, self.matches, self.text = path, file, matches, text
        self.is_changed = False  # its lines may not be those of the index
        self.order: tuple[int, int, int, str] = (1, 0, 0, path)
        self.definition: tuple[Match, list[Any]] | None = None  # a match that is the name of a definition

    @property
    def lines(self) -> int:
        """How many lines match."""
        return sum(match.last - match.line + 1 for match in self.matches)


class Found:
    """All files with matches, the best first, and how many lines match."""

    __slots__ = ("files", "lines", "matcher")

    def __init__(self, matcher: Matcher, files: list[MatchingFile]) -> None:
        self.matcher, self.files = matcher, files
        self.lines = sum(file.lines for file in files)


class Finder:
    """Finds text in one project; the opened index stays open for the next question."""

    def __init__(self, root: str, settings: Callable[[], Settings], looking: Looking | None) -> None:
        """`settings` reads them anew: they may have changed. Without `looking` every question compares the files."""
        self.root, self._settings = root, settings
        self.name = ""  # of the project, once it was searched
        self._index: OpenedIndex | None = None
        self._disk = Disk(root, settings, looking)

    def find(self, asked: Asked) -> tuple[Found, list[dict[str, Any]]]:
        """All files with matches, and the first of them as results of `compiled_schema/search.json`."""
        matcher = Matcher(asked.text, regex=asked.regex, ignore_case=asked.ignore_case)
        try:
            return self._find(asked, matcher)
        except IndexCorrupt:
            if not asked.refresh:
                raise
        self._mend()
        return self._find(asked, matcher)

    def _mend(self) -> None:
        """Makes damaged files of the index again, unless this user has not indexed the project."""
        from sage_code.index import registry  # lazy: files are hardly ever damaged
        from sage_code.index.freshness import Freshness

        self._index = None  # it maps damaged files
        if any(entry.root == self.root for entry in registry.projects()):
            Freshness(self.root, self._settings, None).mend()

    def _find(self, asked: Asked, matcher: Matcher) -> tuple[Found, list[dict[str, Any]]]:
        """The same, for an index that is not damaged."""
        with reading(self.root):
            index = self._open()
            state = self._disk.state(index.generation, refresh=asked.refresh)
            self.name = state.project
            reader = TextReader(self.root, index.folder, imported=state.imported)
            try:
                files = list(self._matching(matcher, index, state, reader, asked))
                self._rank(files, matcher, index, reader)
                rows = [
                    self._row(rank, file, matcher, reader, asked) for rank, file in enumerate(files[: asked.limit], 1)
                ]
            finally:
                reader.close()
        return Found(matcher, files), rows

    def _open(self) -> OpenedIndex:
        opened = self._index
        if opened is None or opened.folder != resolve(compiled_dir(self.root)) or not opened.is_untouched():
            opened = self._index = OpenedIndex(self.root)
        return opened

    def _matching(
        self, matcher: Matcher, index: OpenedIndex, state: DiskState, reader: TextReader, asked: Asked
    ) -> Iterator[MatchingFile]:
        """The files with matches, in no particular order."""
        is_wanted = _file_filter(asked, index)
        kinds = wanted_kinds(asked.kinds)
        room = _KEPT_CHARS
        excluded = state.excluded
        files = [] if excluded is None else [one for one in index.candidates(matcher) if one.path not in excluded]
        if asked.languages or asked.paths:
            files = [file for file in files if is_wanted(file.path, file.language)]
        files.sort(key=_path)
        for file in files:
            text = reader.read(file.path, matcher.may_match)
            if text is None:
                continue
            matches = matches_in(text, matcher)
            if matches and kinds:
                matches = [match for match in matches if file.is_of_kind(match.line, kinds)]
            if matches:
                room -= len(text)
                yield MatchingFile(file.path, file, matches, text if room > 0 else None)
        changed = []
        for path, text in self._changed_texts(state, is_wanted) if state.changed else ():
            matches = matches_in(text, matcher)
            if matches:
                room -= len(text)
                changed.append(MatchingFile(path, None, matches, text if room > 0 else None))
        known = index.named({file.path for file in changed})
        for found in changed:
            found.file, found.is_changed = known.get(found.path), found.path not in state.racy
            if kinds:
                # What is in a file that has changed is not known by kind until it is indexed again.
                indexed = None if found.is_changed else found.file
                found.matches = [one for one in found.matches if indexed and indexed.is_of_kind(one.line, kinds)]
            if found.matches:
                yield found

    def _changed_texts(
        self, state: DiskState, is_wanted: Callable[[str, str | None], bool]
    ) -> Iterator[tuple[str, str]]:
        """The texts of files that have changed, unless they are skipped now."""
        from sage_code.discover.reading import SourceText, read_source  # lazy: mostly nothing has changed
        from sage_code.discover.rules import discover_rules

        rules = discover_rules(self._settings())
        for file in state.changed:
            if is_wanted(file.path, None):
                source = read_source(self.root, file, rules)
                if isinstance(source, SourceText):
                    yield file.path, source.text

    def _rank(self, files: list[MatchingFile], matcher: Matcher, index: OpenedIndex, reader: TextReader) -> None:
        """Sorts the files, the best first."""
        if len(files) > 1:
            from sage_code.search.path_classes import PATH_CLASSES, path_classes  # lazy: one file needs no order

            late = [_LATE.get(name, 0) for name in PATH_CLASSES]
            for file in files:
                lateness = max([own for own, there in zip(late, path_classes(file.path), strict=True) if there] or [0])
                users = index.users(file.file) if file.file else 0
                file.order = (1, lateness, -users, file.path)
            files.sort(key=_order)
        examined = files[:_EXAMINED_FILES]
        if len(files) > _EXAMINED_FILES and not matcher.is_pattern:
            named = self._defining(matcher)
            examined += [file for file in files[_EXAMINED_FILES:] if file.path in named]
        for file in examined:
            text = self._text(file, matcher, reader) if file.file else None
            if text is not None:
                file.definition = _definition(file, text)
                if file.definition is not None:
                    file.order = (0, *file.order[1:])
        files.sort(key=_order)

    def _defining(self, matcher: Matcher) -> set[str]:
        """The files that define a word of a plain text, by its exact name."""
        from sage_code.compiled.lookup import open_symbols

        symbols = open_symbols(self.root)
        return {found["file"] for word in matcher.words() for found in symbols.find(word, patience=_MAX_DEFINITIONS)}

    def _text(self, file: MatchingFile, matcher: Matcher, reader: TextReader) -> str | None:
        """The text of a matching file; read again, it may match elsewhere or no longer."""
        if file.text is None:
            file.text = reader.read(file.path, matcher.may_match)
            file.matches = (matches_in(file.text, matcher) if file.text else None) or file.matches
        return file.text

    def _row(self, rank: int, file: MatchingFile, matcher: Matcher, reader: TextReader, asked: Asked) -> dict[str, Any]:
        """A file as a result: its best line, and the others under `also`."""
        text = self._text(file, matcher, reader) or ""
        lines = text.split("\n")
        best = file.definition[0] if file.definition else file.matches[0]
        kind, qualname, signature = _place(file, best)
        if file.definition:
            from sage_code.languages.kinds import CHUNK_KIND

            symbol = file.definition[1]
            kind, qualname, signature = CHUNK_KIND.get(symbol[0], kind), symbol[2], symbol[6]
        first = max(best.line - asked.context, 1)
        shown = lines[first - 1 : best.last + asked.context] if asked.snippets else []
        return {
            "rank": rank,
            "score": 1.0,
            "file": file.path,
            "line": best.line,
            "start_line": best.line,
            "end_line": best.last,
            "kind": kind,
            "name": qualname.rpartition(".")[2],
            "qualname": qualname,
            "language": file.file.language if file.file else _language_of(file.path),
            "signature": signature,
            "snippet": "\n".join([line[:_MAX_LINE_CHARS] for line in shown]),
            "snippet_line": first,
            "lines": file.lines,
            "also": [_other(file, match, lines, asked) for match in file.matches if match is not best],
            "memory": [],
        }


def matches_in(text: str, matcher: Matcher) -> list[Match]:
    """The matches in a text with their lines."""
    found: list[Match] = []
    line, place, count = 1, 0, text.count
    for start, end in matcher.matches(text):
        line += count("\n", place, start)
        last = line + count("\n", start, end - 1) if end > start else line
        found.append(Match(line, last, start, end))
        place = start
    return found


def _definition(file: MatchingFile, text: str) -> tuple[Match, list[Any]] | None:
    """The first match that overlaps the name of a definition, and that definition."""
    assert file.file is not None
    by_line = {symbol[3]: symbol for symbol in reversed(file.file.symbols())}
    for match in file.matches:
        symbol = by_line.get(match.line)
        if symbol is None:
            continue
        line_start = text.rfind("\n", 0, match.start) + 1
        line_end = text.find("\n", match.start)
        name = text.find(symbol[1], line_start, line_end if line_end >= 0 else len(text))
        if name >= 0 and match.start < name + len(symbol[1]) and name < match.end:
            return match, symbol
    return None


def _other(file: MatchingFile, match: Match, lines: list[str], asked: Asked) -> dict[str, Any]:
    """A further match of a file."""
    text = "\n".join(lines[match.line - 1 : match.last])[:_MAX_LINE_CHARS] if asked.snippets else ""
    name = _place(file, match)[1]
    return {"start_line": match.line, "end_line": match.last, "name": name, "text": text}


def _file_filter(asked: Asked, index: OpenedIndex) -> Callable[[str, str | None], bool]:
    """Whether a file passes the filters, given its language if the index knows it."""
    check_paths(asked.paths)
    languages = {wanted_language(name, index.languages) for name in asked.languages}

    def is_wanted(path: str, language: str | None) -> bool:
        if asked.paths and not any(matches_path(path, pattern) for pattern in asked.paths):
            return False
        return not languages or (language or _language_of(path)) in languages

    return is_wanted


def _place(file: MatchingFile, match: Match) -> tuple[str, str, str]:
    """What a match lies in: kind, qualified name and signature."""
    return file.file.place(match.line) if file.file and not file.is_changed else ("fallback", "", "")


def _path(file: IndexedFile) -> str:
    return file.path


def _order(file: MatchingFile) -> tuple[int, int, int, str]:
    return file.order


def _language_of(path: str) -> str:
    from sage_code.languages.table import detect  # lazy: reads the table of languages

    language = detect(path)
    return language.name if language else "text"
