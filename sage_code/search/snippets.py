"""Says which lines of a file match a query, and cuts out those that show why it was found.

Reads the file as it is now. If the file is missing, as after an import of an index, reads the text in the index.
"""

from __future__ import annotations

import math
import os
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import NamedTuple

from sage_code.compiled.texts import stored_text
from sage_code.discover.reading import SourceText, read_source
from sage_code.discover.rules import DiscoverRules
from sage_code.search.literals import LiteralFinder
from sage_code.search.query import Query
from sage_code.text.stems import head_of, stems_of
from sage_code.values import SourceFile

# Lines of a snippet unless more are asked for.
SNIPPET_LINES = 12
# Longer lines are cut: minified code has lines of a megabyte.
MAX_LINE_CHARS = 240
_IDENTIFIER = re.compile(r"[\w$]+")
# Files whose texts are kept for the next query.
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
    more: int = 0  # candidates beyond the limit, for plugins that may lift them


class Snippet(NamedTuple):
    """Some lines of a file, and the words in them that match the query."""

    text: str
    line: int  # of the file at which the text starts
    match_spans: Spans = ()


class FileText:
    """The text of a file, or None if it cannot be read; what search derives from it is worked out once."""

    def __init__(self, text: str | None) -> None:
        self.text = text or ""
        self._is_read = text is not None

    @cached_property
    def lower(self) -> str:
        """The text in lower case."""
        return self.text.lower()

    @cached_property
    def starts(self) -> list[int]:
        """The offset of each line, and that of the line that would follow the last."""
        lines = self.text.split("\n") if self._is_read else ()
        return list(accumulate(map((1).__add__, map(len, lines)), initial=0))

    @property
    def last_line(self) -> int:
        """The number of lines."""
        return len(self.starts) - 1

    def line(self, number: int) -> str:
        """A line, counted from 1."""
        return self.text[self.starts[number - 1] : self.starts[number] - 1]


class Matches(NamedTuple):
    """What of a query some lines of a file have, by line."""

    stems: dict[int, int]  # of the lines that match, in order: a bit for each stem
    runs: dict[int, float]  # of those with a run of the query's words, the value of the longest


class LineMatcher:
    """Finds the words of one query in lines of code."""

    def __init__(self, query: Query) -> None:
        self._bits = {stem: 1 << number for number, stem in enumerate(dict.fromkeys(query.stems))}
        # Every form of a word begins with its head, which is faster to look for than to split a text into words.
        self._heads = tuple(dict.fromkeys(head_of(stem) or stem for stem in query.stems))
        self._known: dict[str, int] = {}  # by word, those of its stems that are asked for
        self.literal = LiteralFinder(query.text)
        ends = [(self._bits_of(first), self._bits_of(last)) for first, last in self.literal.links]
        # Of the shortest runs, the stems of their ends; None for a long text, where some are not of the title. A `$`
        # joins words to one identifier, whose stems may not be those of its words.
        self._link_stems = ends if all(first and last for first, last in ends) else None
        self._may_hold_run: dict[int, bool] = {}

    def _bits_of(self, word: str) -> int:
        return sum([self._bits.get(stem, 0) for stem in stems_of(word)])

    def stems_in(self, line: str) -> frozenset[str]:
        """The stems of the query that a line has."""
        held = 0
        for _, _, stems in self._words(line, line.lower(), 0, len(line)):
            held |= stems
        return frozenset(stem for stem, bit in self._bits.items() if held & bit)

    def matches(self, source: FileText, first: int, last: int) -> Matches:
        """Those of the lines `first` to `last` that have a word or a literal of the query.

        A run is looked for only in lines that may have one: that have stems of both its ends, as far as the stems tell.
        """
        starts = source.starts
        text, lower, begin, end = source.text, source.lower, starts[first - 1], starts[last] - 1
        if len(lower) != len(text):  # offsets differ somewhere in the file, but mostly not in these lines
            text = text[begin:end]
            lower, begin, end = text.lower(), 0, len(text)
            starts = [start - starts[first - 1] for start in starts]
        held: dict[int, int] = {}
        for start, _, stems in self._words(text, lower, begin, end):
            number = bisect_right(starts, start, first - 1, last)
            held[number] = held.get(number, 0) | stems
        is_aligned = len(lower) == len(text)
        literal_lines = set[int]()
        for literal in self.literal.literals if is_aligned else ():
            start = lower.find(literal, begin, end)
            while start >= 0:
                number = bisect_right(starts, start, first - 1, last)
                literal_lines.add(number)
                held.setdefault(number, 0)
                start = lower.find(literal, starts[number], end)
        held = {number: held[number] for number in sorted(held)}
        if is_aligned and self._link_stems is not None and text.find("$", begin, end) < 0:
            known = self._may_hold_run
            for stems in set(held.values()).difference(known):
                known[stems] = any(stems & one and stems & other for one, other in self._link_stems)
            maybe = [number for number, stems in held.items() if known[stems] or number in literal_lines]
        else:
            maybe = list(held) if self.literal.has_run(lower[begin:end] if is_aligned else lower) else []
        runs = {number: self.literal.best_run(source.line(number)).value for number in maybe}
        return Matches(held, {number: value for number, value in runs.items() if value})

    def spans(self, text: str) -> Spans:
        """What matches in a text, as offsets: words, an identifier as a whole, and in each line the longest run."""
        lower = text.lower()
        found = {(start, end) for start, end, _ in self._words(text, lower, 0, len(text))}
        return _merged([*found, *self._runs(text)]) if self.literal.has_run(lower) else tuple(sorted(found))

    def _words(self, text: str, lower: str, begin: int, end: int) -> Iterator[tuple[int, int, int]]:
        """The words of whole lines that match, an identifier as a whole: where each starts and ends, and its stems."""
        if len(lower) != len(text):  # a few letters get longer, and offsets would shift
            lower = text
        known = self._known
        for head in self._heads:
            start = lower.find(head, begin, end)
            while start >= 0:
                word = _IDENTIFIER.match(text, start)
                after = word.end() if word else start + len(head)
                while start and (text[start - 1].isalnum() or text[start - 1] in "_$"):
                    start -= 1
                written = text[start:after]
                stems = known.get(written)
                if stems is None:
                    stems = known[written] = self._bits_of(written)
                if stems:
                    yield start, after, stems
                start = lower.find(head, after, end)

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
    """The lines `first` to `last` of a file, with what of the query each has."""

    def __init__(self, matcher: LineMatcher, source: FileText, first: int, last: int) -> None:
        self.first, self.last = first, min(last, source.last_line)
        found = matcher.matches(source, self.first, self.last)
        self._numbers, self._stems, self._run_of_line = list(found.stems), list(found.stems.values()), found.runs
        # A word that most lines have says little about any of them. In the order of the query, so that sums of these
        # weights are the same in every process.
        counts = Counter(self._stems)
        bits = [1 << number for number in range(max(counts, default=0).bit_length())]
        held = [(bit, sum([count for stems, count in counts.items() if stems & bit])) for bit in bits]
        self._weights = [(bit, 1 / (1 + math.log(count))) for bit, count in held if count]
        self._sums: dict[int, float] = {}
        # By rows and size. Definitions inside of each other often have the same matches.
        self._best_of_rows: dict[tuple[int, int, int], tuple[float, int, int]] = {}

    def best_score(self, first: int, last: int, size: int) -> float:
        """The score of the best `size` lines between two lines; 0 if none matches."""
        begin, stop = bisect_left(self._numbers, first), bisect_right(self._numbers, last)
        return self._best(begin, stop, size)[0] if begin < stop else 0.0

    def best_window(self, first: int, last: int, size: int) -> Window:
        """The best `size` lines between two lines: most and rarest stems of the query, and the longest run.

        Begins with `first`, the head of a definition, if that loses no match."""
        numbers = self._numbers
        begin, stop = bisect_left(numbers, first), bisect_right(numbers, last)
        if begin >= stop:
            return Window(0.0, first, min(first + size - 1, last), first)
        best, low, high = self._best(begin, stop, size)
        start = first
        if high >= first + size:
            start = min(max(first, low - (size - (high - low + 1)) // 3), max(first, last - size + 1))
        shown = range(bisect_left(numbers, start, begin, stop), bisect_left(numbers, start + size, begin, stop))
        best_row = max(shown, key=self._line_score) if len(shown) > 1 else shown[0]
        return Window(best, start, min(start + size - 1, last), numbers[best_row])

    def _best(self, begin: int, stop: int, size: int) -> tuple[float, int, int]:
        """The score of the best `size` lines among the matches of some rows, and the first and last match in them."""
        known = self._best_of_rows.get((begin, stop, size))
        if known is not None:
            return known
        numbers = self._numbers
        best, low, high, end = -1.0, 0, 0, begin
        for row in range(begin, stop):  # a best window begins with a match
            before, end = end, bisect_left(numbers, numbers[row] + size, end, stop)
            if end == before:  # a part of the window before it
                continue
            score = self._score(row, end)
            if score > best:
                best, low, high = score, numbers[row], numbers[end - 1]
            if end == stop:
                break
        self._best_of_rows[begin, stop, size] = best, low, high
        return best, low, high

    def _score(self, begin: int, end: int) -> float:
        """How well the lines of some rows match together."""
        stems = 0
        for held in self._stems[begin:end]:
            stems |= held
        run = 0.0
        if self._run_of_line:
            run = max([self._run_of_line.get(number, 0.0) for number in self._numbers[begin:end]])
        return self._sum(stems) + run + _REPEATED * (end - begin)

    def _line_score(self, row: int) -> float:
        return self._run_of_line.get(self._numbers[row], 0.0) + self._sum(self._stems[row])

    def _sum(self, stems: int) -> float:
        """The weights of some stems together."""
        known = self._sums.get(stems)
        if known is None:
            known = self._sums[stems] = sum([weight for bit, weight in self._weights if stems & bit])
        return known


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
        if not self.lines or not first <= min(last, source.last_line):
            return Snippet("", first)
        start = max(first - 1 - self._context, 0)
        end = min(last + self._context, source.last_line)
        lines = source.text[source.starts[start] : source.starts[end] - 1].split("\n")
        text = "\n".join([line[:MAX_LINE_CHARS] for line in lines]).rstrip()
        return Snippet(text, start + 1, self.matcher.spans(text) if is_marked else ())

    def literal_lines(self, source: FileText) -> list[int]:
        """The lines of a file that hold the longest literal of the query that any of them holds."""
        return self.matcher.literal.literal_lines(source.lower) if self.matcher.literal.literals else []

    def source(self, path: str) -> FileText:
        """The text of a file; empty if it cannot be read."""
        return read_text(self._root, self._generation, self._rules, path)


def read_text(root: str, generation: str, rules: DiscoverRules, path: str) -> FileText:
    """The text of a file, or that in the folder of the generation if it is not there; empty if it cannot be read."""
    try:
        state = os.lstat(os.path.join(root, path))
    except OSError:
        return FileText(stored_text(generation, path) or "")
    return _read(root, rules, path, state.st_size, state.st_mtime_ns, state.st_ctime_ns)


@lru_cache(maxsize=_KEPT_FILES)
def _read(root: str, rules: DiscoverRules, path: str, size: int, mtime_ns: int, ctime_ns: int) -> FileText:
    """The text of a file in the state that the arguments describe."""
    source = read_source(root, SourceFile(path, size, mtime_ns, ctime_ns), rules)
    return FileText(source.text if isinstance(source, SourceText) else None)
