"""Turns ranked chunks into hits: the definition that answers, its lines, and a snippet with what matches the query.

Reads the snapshot, and the files of the hits.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from sage_code.discover.rules import DiscoverRules
from sage_code.languages.kinds import CHUNK_KIND
from sage_code.search.engine import Ranked, SearchEngine
from sage_code.search.explanation import explain
from sage_code.search.filters import is_wanted
from sage_code.search.focus import Focus, focus, focus_on
from sage_code.search.query import Query
from sage_code.search.results import Hit, OtherChunk
from sage_code.search.snippets import SNIPPET_LINES, FileText, MatchedLines, SearchOptions, SnippetMaker, Window
from sage_code.search.wanted import wanted_kinds
from sage_code.text.lexemes import lexemes
from sage_code.text.stems import stem
from sage_code.values import Symbol

# Other places of a file that are named for a literal text; more say no more.
_MAX_LITERAL_PLACES = 5


class _Shown(NamedTuple):
    """What is shown of a chunk: its label and its lines."""

    chunk: int
    part: Focus
    by_name: bool = False  # whether its definition was asked for by name


class HitMaker:
    """Makes the hits of one query."""

    def __init__(
        self,
        engine: SearchEngine,
        query: Query,
        rules: DiscoverRules,
        options: SearchOptions,
        source: Callable[[str], FileText] | None = None,
    ) -> None:
        """`source` gives the texts of files that are not in the folder of a project."""
        self._snapshot, self._query = engine.snapshot, query
        self._ranking = engine.ranking if options.explain else None
        folder = self._snapshot.generation.folder
        self._snippets = SnippetMaker(self._snapshot.root, folder, rules, query, options.lines, options.context)
        self._source = source or self._snippets.source
        self._size = options.lines or SNIPPET_LINES
        self._stems = frozenset(query.stems)
        self._kinds = wanted_kinds(query.filters.kinds)
        # One word may be a name without looking like one.
        names = query.names + (query.loose_names if query.kind == "symbol" else ())
        self._names = frozenset(name.rpartition(".")[2] for name in names)
        # Whether nothing but names is asked for: other words of a query may mean another definition of the chunk.
        self._only_names = query.kind == "symbol" or set(query.terms) <= {
            word for name in self._names for word in lexemes(name)
        }

    def hit(self, rank: int, found: Ranked, *, is_folded: bool = False) -> Hit:
        """The hit of a ranked chunk; a folded one has no spans, and names other places by their chunks."""
        snapshot, path = self._snapshot, self._snapshot.path(found.file)
        source = self._source(path)
        literal: Sequence[int] = found.lines or self._snippets.literal_lines(source)
        inside, is_defined = self._inside(found.chunk, found.lines), self._is_defined_in(found)
        if len(inside) == 1 and not (self._kinds or is_defined):
            shown = self._shown_line(found, inside[0], source)
        else:
            is_literal = bool(literal) and not is_defined
            shown = self._shown(found.file, self._chunk(found, literal), source, is_literal=is_literal)
        chunk, (symbol, first, last, window) = shown.chunk, shown.part
        kind, qualname, signature = self._label(shown)
        if shown.by_name and symbol is not None:
            # A query for a name wants the whole definition, and the chunk may be only its head.
            first, last = symbol.start_line, symbol.end_line
        snippet = self._snippets.cut(source, window.first, window.last, is_marked=not is_folded)
        head = symbol.line if symbol else 0
        line = head if first <= head <= last else int(snapshot.chunk_line[chunk])
        if not shown.by_name and (window.best in literal or (window.score and not first <= head <= last)):
            line = window.best
        return Hit(
            rank=rank,
            score=round(found.probability, 4),
            file=path,
            line=line,
            start_line=first,
            end_line=last,
            kind=kind,
            name=qualname.rpartition(".")[2],
            qualname=qualname,
            language=snapshot.language(found.file),
            signature=signature,
            snippet=snippet.text,
            snippet_line=snippet.line,
            also=self._also(found, shown, literal, None if is_folded else source),
            explain=explain(self._ranking, found) if self._ranking else None,
            match_spans=snippet.match_spans,
            best_line=window.best,
            head_line=head,
        )

    def candidate(self, rank: int, found: Ranked, *, is_folded: bool = False) -> Hit:
        """A ranked chunk without its lines, for which its file need not be read; `whole` makes the hit."""
        snapshot, chunk = self._snapshot, found.chunk
        first, last = self._lines_of(chunk)
        qualname, line = snapshot.qualname(chunk), int(snapshot.chunk_line[chunk])
        return Hit(
            rank=rank,
            score=round(found.probability, 4),
            file=snapshot.path(found.file),
            line=line,
            start_line=first,
            end_line=last,
            kind=snapshot.kind(chunk),
            name=qualname.rpartition(".")[2],
            qualname=qualname,
            language=snapshot.language(found.file),
            signature="",
            snippet="",
            snippet_line=first,
            whole=partial(self.hit, rank, found, is_folded=is_folded),
        )

    def hit_at(self, path: str, line: int, score: float) -> Hit | None:
        """A line of an indexed file as a hit, which nothing explains; None if there is no such line."""
        file = self._snapshot.file_numbers.get(path)
        source = self._source(path) if file is not None else None
        if file is None or source is None or not 1 <= line <= source.last_line:
            return None
        chunk = self._snapshot.chunk_at_line(file, line)
        found = Ranked(chunk, file, score, True, np.zeros(0, np.float32), (), 0.0, 0.0, 0.0, 0.0, (line,), True)
        return self.hit(0, found)

    def _is_defined_in(self, found: Ranked) -> bool:
        """Whether a hit has the definition of the one name that is asked for, which is then shown as a whole."""
        first, last = self._lines_of(found.chunk)
        symbols = self._symbols(found.file, first, last) if self._only_names else ()
        return any(symbol.name in self._names and symbol.line in found.lines for symbol in symbols)

    def _inside(self, chunk: int, lines: Sequence[int]) -> list[int]:
        """Those of some lines that a chunk has."""
        first, last = self._lines_of(chunk) if lines else (0, 0)
        return [line for line in lines if first <= line <= last]

    def _shown_line(self, found: Ranked, line: int, source: FileText) -> _Shown:
        """The lines around a line, with the smallest definition that it is in."""
        first, last = self._lines_of(found.chunk)
        last = min(last, source.last_line)
        return _Shown(found.chunk, focus_on(line, self._symbols(found.file, line, line), first, last, self._size))

    def _chunk(self, found: Ranked, literal: Sequence[int]) -> int:
        """The chunk of a file to show: the ranked one, or the first with the literal text that is asked for."""
        first, last = self._lines_of(found.chunk)
        if not literal or any(first <= line <= last for line in literal) or self._kinds or found.is_verbatim:
            return found.chunk
        return self._snapshot.chunk_at_line(found.file, literal[0])

    def _shown(self, file: int, chunk: int, source: FileText, *, is_literal: bool = False) -> _Shown:
        """The definition of a chunk that answers, and its best lines; names in a literal text are not asked for."""
        first, last = self._lines_of(chunk)
        symbols = self._symbols(file, first, last)
        named = self._wanted_symbol(chunk, symbols) if self._kinds or not is_literal else None
        if named is not None:
            first, last = max(first, named.start_line), min(last, named.end_line)
        if not first <= min(last, source.last_line):  # the file cannot be read, or is shorter now
            own = self._snapshot.qualname(chunk)
            symbol = named or next((one for one in symbols if one.qualname == own), None)
            return _Shown(chunk, Focus(symbol, first, last, Window(0.0, first, last, first)))
        matched = MatchedLines(self._snippets.matcher, source, first, last)
        if named is None:
            if self._kinds:
                symbols = [one for one in symbols if is_wanted(one, self._kinds)]
            own = self._snapshot.qualname(chunk)
            return _Shown(chunk, focus(matched, symbols, own, self._names, self._size))
        window = matched.best_window(first, last, self._size)
        return _Shown(chunk, Focus(named, first, last, window), named.name in self._names)

    def _label(self, shown: _Shown) -> tuple[str, str, str]:
        """Kind, qualified name and signature of what is shown."""
        snapshot, symbol = self._snapshot, shown.part.symbol
        kind = snapshot.kind(shown.chunk)
        if symbol is not None:
            return CHUNK_KIND.get(symbol.kind, kind), symbol.qualname, symbol.signature
        return kind if kind in {"fallback", "constant"} else "module", "", ""

    def _also(
        self, found: Ranked, shown: _Shown, literal: Sequence[int], source: FileText | None
    ) -> tuple[OtherChunk, ...]:
        """The other good places of the file: where a literal text also stands, then its other good chunks.

        A chunk is named by its definition that answers, or without the source by its own name."""
        first, last = shown.part.window.first, shown.part.window.last
        places = []
        for line in [line for line in literal if not first <= line <= last][:_MAX_LITERAL_PLACES]:
            around = self._symbols(found.file, line, line)
            smallest = min(around, key=lambda one: one.end_line - one.start_line, default=None)
            places.append(OtherChunk(line, line, smallest.qualname if smallest else ""))
        for chunk in (found.chunk, *found.also):
            if chunk != shown.chunk and source is None:
                places.append(OtherChunk(*self._lines_of(chunk), self._snapshot.qualname(chunk)))
            elif chunk != shown.chunk and source is not None:
                other = self._shown(found.file, chunk, source)
                places.append(OtherChunk(other.part.first, other.part.last, self._label(other)[1]))
        return tuple(dict.fromkeys(places))

    def _lines_of(self, chunk: int) -> tuple[int, int]:
        return int(self._snapshot.chunk_start[chunk]), int(self._snapshot.chunk_end[chunk])

    def _symbols(self, file: int, first: int, last: int) -> list[Symbol]:
        """The definitions of a file that have any of these lines."""
        number = bisect_right(self._snapshot.file_at, file) - 1
        return self._snapshot.segments[number].symbols_between(file - self._snapshot.file_at[number], first, last)

    def _wanted_symbol(self, chunk: int, symbols: Sequence[Symbol]) -> Symbol | None:
        """The symbol inside a chunk that the query asks for by name or by kind.

        A small class is one chunk with its methods, and tiny functions share one. A query for methods shows the method
        of such a chunk, and a query for a name the symbol with that name.
        """
        by_kind = bool(self._kinds) and self._snapshot.kind(chunk) not in self._kinds
        if not by_kind and not (self._names and self._only_names):
            return None
        first, last = self._lines_of(chunk)
        inside = [symbol for symbol in symbols if first <= symbol.line <= last]
        if self._kinds:
            inside = [symbol for symbol in inside if is_wanted(symbol, self._kinds)]
        if not by_kind:
            inside = [symbol for symbol in inside if symbol.name in self._names]

        def common_stems(symbol: Symbol) -> int:
            return len({stem(word) for word in lexemes(symbol.name)} & self._stems)

        return max(inside, key=common_stems, default=None)
