"""Says which lines of a file match a query, and cuts out those that show why it was found.

Reads the file as it is now. If the file is missing, as after an import of an index, reads the text in the index.
"""

from __future__ import annotations

import math
import os
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from sage_code.compiled.texts import stored_text
from sage_code.discover import DiscoverRules, SourceText, read_source
from sage_code.search.literals import LiteralFinder
from sage_code.search.query import Query
from sage_code.search.words import head_of, stems_of
from sage_code.values import SourceFile

# Lines of a snippet unless more are asked for.
SNIPPET_LINES = 12
# Longer lines are cut: minified code has lines of a megabyte.
MAX_LINE_CHARS = 240
_IDENTIFIER = re.compile(r"[\w$]+")
# Files whose lines are kept for the next query.
_KEPT_FILES = 256

# What each line that matches adds to the score of its window: little, it only decides between equals.
_REPEATED = 0.02

# Start and end offsets in a snippet.
Spans = tuple[tuple[int, int], ...]


class SearchOptions(NamedTuple):
    """How a query is answered."""

    limit: int = 10
    explain: bool = False
    refresh: bool = True
    lines: int = SNIPPET_LINES  # of a snippet; 0 for none
    context: int = 0  # lines of the file around it
    folds: bool = False  # whether hits that are much weaker than the first are shown in a line each


class Snippet(NamedTuple):
    """Some lines of a file, and the words in them that match the query."""

    text: str
    line: int  # of the file at which the text starts
    match_spans: Spans = ()


class FileText(NamedTuple):
    """The text of a file, whole and as lines."""

    text: str
    lines: Sequence[str]


class LineMatch(NamedTuple):
    """What of the query a line has."""

    stems: frozenset[str]
    run: float  # the value of the longest run of its words


class LineMatcher:
    """Finds the words of one query in lines of code."""

    def __init__(self, query: Query) -> None:
        self._stems = frozenset(query.stems)
        # Every form of a word begins with its head, which is faster to look for than to split a text into words.
        self._heads = tuple(dict.fromkeys(head_of(stem) or stem for stem in query.stems))
        self._known: dict[str, frozenset[str]] = {}  # by word, those of its stems that are asked for
        self.literal = LiteralFinder(query.text)

    def stems_in(self, line: str) -> frozenset[str]:
        """The stems of the query that a line has."""
        return frozenset().union(*[stems for _, _, stems in self._words(line, line.lower())])

    def matches(self, lines: Sequence[str], first: int) -> dict[int, LineMatch]:
        """By number, in order, the lines that have a word or a literal of the query; `first` is that of the first."""
        text = "\n".join(lines)
        lower = text.lower()
        starts = list(accumulate([len(line) + 1 for line in lines], initial=0))
        held: dict[int, set[str]] = {}
        for start, _, stems in self._words(text, lower):
            held.setdefault(bisect_right(starts, start) - 1, set()).update(stems)
        if not self.literal.has_run(lower):
            return {first + number: LineMatch(frozenset(held[number]), 0.0) for number in sorted(held)}
        for literal in self.literal.literals:
            start = lower.find(literal) if len(lower) == len(text) else -1
            while start >= 0:
                number = bisect_right(starts, start) - 1
                held.setdefault(number, set())
                start = lower.find(literal, starts[number + 1])
        return {
            first + number: LineMatch(frozenset(held[number]), self.literal.best_run(lines[number]).value)
            for number in sorted(held)
        }

    def spans(self, text: str) -> Spans:
        """What matches in a text, as offsets: words, an identifier as a whole, and in each line the longest run."""
        lower = text.lower()
        found = {(start, end) for start, end, _ in self._words(text, lower)}
        return _merged([*found, *self._runs(text)]) if self.literal.has_run(lower) else tuple(sorted(found))

    def _words(self, text: str, lower: str) -> Iterator[tuple[int, int, frozenset[str]]]:
        """The words of a text that match, an identifier as a whole: where each starts and ends, and its stems."""
        if len(lower) != len(text):  # a few letters get longer, and offsets would shift
            lower = text
        known = self._known
        for head in self._heads:
            start = lower.find(head)
            while start >= 0:
                word = _IDENTIFIER.match(text, start)
                end = word.end() if word else start + len(head)
                while start and (text[start - 1].isalnum() or text[start - 1] in "_$"):
                    start -= 1
                written = text[start:end]
                stems = known.get(written)
                if stems is None:
                    stems = known[written] = self._stems & stems_of(written)
                if stems:
                    yield start, end, stems
                start = lower.find(head, end)

    def _runs(self, text: str) -> list[tuple[int, int]]:
        """The longest run of each line."""
        runs, offset = [], 0
        for line in text.split("\n"):
            run = self.literal.best_run(line)
            if run.value:
                runs.append((offset + run.start, offset + run.end))
            offset += len(line) + 1
        return runs


def _merged(spans: list[tuple[int, int]]) -> Spans:
    """The spans in order, those that overlap as one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


class Window(NamedTuple):
    """Consecutive lines of a file that match best."""

    score: float
    first: int
    last: int
    best: int  # the line among them that matches best


class MatchedLines:
    """The lines of a part of a file, with what of the query each has."""

    def __init__(self, matcher: LineMatcher, lines: Sequence[str], first: int) -> None:
        self.first, self.last = first, first + len(lines) - 1
        self._found = matcher.matches(lines, first)
        self._numbers = list(self._found)
        # A word that most lines have says little about any of them.
        held = Counter(stem for match in self._found.values() for stem in match.stems)
        self._weights = {stem: 1 / (1 + math.log(count)) for stem, count in held.items()}

    def best_window(self, first: int, last: int, size: int) -> Window:
        """The best `size` lines between two lines: most and rarest stems of the query, and the longest run.

        Begins with `first`, the head of a definition, if that loses no match."""
        matched = self._numbers[bisect_left(self._numbers, first) : bisect_right(self._numbers, last)]
        if not matched:
            return Window(0.0, first, min(first + size - 1, last), first)
        best, low, high, end = -1.0, 0, 0, 0
        for begin, number in enumerate(matched):  # a best window begins with a match
            end = bisect_left(matched, number + size, end)
            score = self._score(matched[begin:end])
            if score > best:
                best, low, high = score, number, matched[end - 1]
            if end == len(matched):
                break
        start = first
        if high >= first + size:
            start = min(max(first, low - (size - (high - low + 1)) // 3), max(first, last - size + 1))
        shown = matched[bisect_left(matched, start) : bisect_left(matched, start + size)]
        return Window(best, start, min(start + size - 1, last), max(shown, key=self._line_score))

    def _score(self, numbers: Sequence[int]) -> float:
        """How well some lines match together."""
        found = [self._found[number] for number in numbers]
        stems = found[0].stems.union(*[match.stems for match in found[1:]])
        return (
            sum([self._weights[stem] for stem in stems]) + max([match.run for match in found]) + _REPEATED * len(found)
        )

    def _line_score(self, number: int) -> float:
        match = self._found[number]
        return match.run + sum([self._weights[stem] for stem in match.stems])


class SnippetMaker:
    """Cuts snippets for one query: at most `lines` lines, and `context` more on both sides."""

    def __init__(
        self, root: str, generation: str, rules: DiscoverRules, query: Query, lines: int, context: int
    ) -> None:
        self._root, self._generation, self._rules = root, generation, rules
        self.matcher = LineMatcher(query)
        self.lines, self._context = lines, context

    def cut(self, source: FileText, first: int, last: int, *, is_marked: bool = True) -> Snippet:
        """The snippet of the lines `first` to `last` of a file; empty if it has none of them or no lines are wanted."""
        lines = source.lines if self.lines else ()
        if not lines[first - 1 : last]:
            return Snippet("", first)
        start = max(first - 1 - self._context, 0)
        text = "\n".join([line[:MAX_LINE_CHARS] for line in lines[start : last + self._context]]).rstrip()
        return Snippet(text, start + 1, self.matcher.spans(text) if is_marked else ())

    def source(self, path: str) -> FileText:
        """The text of a file; empty if it cannot be read."""
        return read_text(self._root, self._generation, self._rules, path)


def read_text(root: str, generation: str, rules: DiscoverRules, path: str) -> FileText:
    """The text of a file, or that in the folder of the generation if it is not there; empty if it cannot be read."""
    try:
        state = os.lstat(os.path.join(root, path))
    except OSError:
        return _split(stored_text(generation, path) or "")
    return _read(root, rules, SourceFile(path, state.st_size, state.st_mtime_ns, state.st_ctime_ns))


@lru_cache(maxsize=_KEPT_FILES)
def _read(root: str, rules: DiscoverRules, file: SourceFile) -> FileText:
    """The text of a file in the state that `file` describes."""
    source = read_source(root, file, rules)
    return _split(source.text) if isinstance(source, SourceText) else FileText("", ())


def _split(text: str) -> FileText:
    return FileText(text, text.split("\n"))
