"""Cuts the lines out of a chunk that show why it was found, and says which words in them match the query.

Reads the file as it is now. If the file is missing, as after an import of an index, reads the text in the index.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from sage_code.compiled.texts import stored_text
from sage_code.discover import DiscoverRules, SourceText, read_source
from sage_code.search.query import Query
from sage_code.search.words import head_of, stems_of
from sage_code.values import SourceFile

# Lines of a snippet unless more are asked for.
SNIPPET_LINES = 12
# Longer lines are cut: minified code has lines of a megabyte.
MAX_LINE_CHARS = 240
_WORD = re.compile(r"[A-Za-z_$][\w$]*|\w+")
_IDENTIFIER = re.compile(r"[\w$]+")
# Files whose lines are kept for the next query.
_KEPT_FILES = 256

# Start and end offsets in a snippet.
Spans = tuple[tuple[int, int], ...]


class Snippet(NamedTuple):
    """Some lines of a file, and the words in them that match the query."""

    text: str
    line: int  # of the file at which the text starts
    match_spans: Spans = ()


class LineMatcher:
    """Finds the words of one query in lines of code."""

    def __init__(self, query: Query) -> None:
        self._stems = frozenset(query.stems)
        # Every form of a word begins with its head, which is faster to look for than to split a text into words.
        self._heads = tuple(head_of(stem) or stem for stem in self._stems)

    def stems_in(self, line: str) -> frozenset[str]:
        """The stems of the query that a line has."""
        if not any(map(line.lower().__contains__, self._heads)):
            return frozenset()
        return self._stems.intersection(frozenset().union(*map(stems_of, _WORD.findall(line))))

    def spans(self, text: str) -> Spans:
        """The words of a text that match, as offsets; an identifier matches as a whole."""
        lower = text.lower()
        if len(lower) != len(text):  # a few letters get longer, and offsets would shift
            lower = text
        found = set()
        for head in self._heads:
            start = lower.find(head)
            while start >= 0:
                word = _IDENTIFIER.match(text, start)
                end = word.end() if word else start + len(head)
                while start and (text[start - 1].isalnum() or text[start - 1] in "_$"):
                    start -= 1
                if not self._stems.isdisjoint(stems_of(text[start:end])):
                    found.add((start, end))
                start = lower.find(head, end)
        return tuple(sorted(found))


class SnippetMaker:
    """Cuts snippets for one query: the `lines` lines of a chunk that match best, and `context` more on both sides."""

    def __init__(
        self, root: str, generation: str, rules: DiscoverRules, query: Query, lines: int, context: int
    ) -> None:
        self._root, self._generation, self._rules = root, generation, rules
        self._matcher = LineMatcher(query)
        self._lines, self._context = lines, context

    def cut(self, path: str, first: int, last: int) -> Snippet:
        """The snippet of the lines `first` to `last`; empty if the file cannot be read or no lines are wanted."""
        if not self._lines:
            return Snippet("", first)
        source = self._source(path)
        part = source[first - 1 : last]
        if not part:
            return Snippet("", first)
        start = first - 1 + self._best_start(part)
        end = min(start + self._lines, last) + self._context
        start = max(start - self._context, 0)
        text = "\n".join([line[:MAX_LINE_CHARS] for line in source[start:end]]).rstrip()
        return Snippet(text, start + 1, self._matcher.spans(text))

    def _source(self, path: str) -> Sequence[str]:
        """The lines of a file."""
        try:
            state = os.lstat(os.path.join(self._root, path))
        except OSError:
            return (stored_text(self._generation, path) or "").split("\n")
        return _read(self._root, self._rules, SourceFile(path, state.st_size, state.st_mtime_ns, state.st_ctime_ns))

    def _best_start(self, part: Sequence[str]) -> int:
        """Where the best window of lines starts: most different stems of the query, then most matches."""
        size = self._lines
        if len(part) <= size:
            return 0
        found = [self._matcher.stems_in(line) for line in part]
        if not any(found):
            return 0
        best, best_start = (-1, -1), 0
        for start in range(len(part) - size + 1):
            if start and not found[start + size - 1]:
                continue  # no better than the window before it
            window = found[start : start + size]
            matched = (len(set().union(*window)), sum(map(len, window)))
            if matched > best:
                best, best_start = matched, start
        # The head of a definition says what it is, so keep it if the best window starts near it.
        return 0 if best_start <= size // 3 else best_start


@lru_cache(maxsize=_KEPT_FILES)
def _read(root: str, rules: DiscoverRules, file: SourceFile) -> Sequence[str]:
    """The lines of a file in the state that `file` describes."""
    source = read_source(root, file, rules)
    return source.text.split("\n") if isinstance(source, SourceText) else ()
