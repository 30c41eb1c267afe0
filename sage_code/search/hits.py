"""From a ranked chunk to an answer: its place, its name, and the lines of it that matched."""

from __future__ import annotations

from sage_code.discover import DiscoverRules
from sage_code.languages.kinds import CHUNK_KIND
from sage_code.search.engine import Ranked, SearchEngine
from sage_code.search.filters import is_wanted, wanted_kinds
from sage_code.search.query import Query
from sage_code.search.results import Hit, Span
from sage_code.search.snippets import snippet
from sage_code.search.words import stem
from sage_code.text.lexemes import lexemes
from sage_code.values import Symbol


class HitMaker:
    """Makes the answers to one question."""

    def __init__(self, engine: SearchEngine, query: Query, rules: DiscoverRules, lines: int, context: int) -> None:
        self._snapshot, self._ranking, self._query = engine.snapshot, engine.ranking, query
        self._rules, self._lines, self._context = rules, lines, context
        self._kinds = wanted_kinds(query.filters.kinds)
        # One word may be a name without looking like one.
        names = query.names + (query.loose_names if query.kind == "symbol" else ())
        self._names_asked = {name.rpartition(".")[2] for name in names}

    def hit(self, rank: int, found: Ranked, *, explain: bool) -> Hit:
        """The answer that a ranked chunk is."""
        snapshot = self._snapshot
        path, kind = snapshot.path(found.file), snapshot.kind(found.chunk)
        qualname, signature = snapshot.qualname(found.chunk), snapshot.signature(found.chunk)
        first, last = shown = self._lines_of(found.chunk)
        if symbol := self._asked_for(found, kind):
            kind, qualname, signature = CHUNK_KIND.get(symbol.kind, kind), symbol.qualname, symbol.signature
            # What is asked for by name is the whole definition, of which the chunk may be only the head.
            shown = max(first, symbol.start_line), min(last, symbol.end_line)
            first, last = (symbol.start_line, symbol.end_line) if symbol.name in self._names_asked else shown
        text, line = snippet(
            snapshot.root,
            self._rules,
            path,
            shown,
            self._query,
            self._lines,
            self._context,
            generation=snapshot.generation.folder,
        )
        return Hit(
            rank=rank,
            score=round(found.probability, 4),
            file=path,
            line=symbol.line if symbol else int(snapshot.chunk_line[found.chunk]),
            start_line=first,
            end_line=last,
            kind=kind,
            name=qualname.rpartition(".")[2],
            qualname=qualname,
            language=snapshot.language(found.file),
            signature=signature,
            snippet=text,
            snippet_line=line,
            also=tuple(Span(*self._lines_of(chunk), snapshot.qualname(chunk)) for chunk in found.also),
            explain=self._ranking.shares(found.row, self._query.kind) if explain else {},
        )

    def _lines_of(self, chunk: int) -> tuple[int, int]:
        return int(self._snapshot.chunk_start[chunk]), int(self._snapshot.chunk_end[chunk])

    def _asked_for(self, found: Ranked, kind: str) -> Symbol | None:
        """The definition inside a chunk that is meant, when the question says so.

        A small class is one chunk with its methods, and tiny functions share one: whoever asks for methods is shown
        the method, and whoever asks by name what has that name.
        """
        names = self._names_asked
        by_kind = bool(self._kinds) and kind not in self._kinds
        if not by_kind and not names:
            return None
        first, last = self._lines_of(found.chunk)
        inside = [symbol for symbol in self._snapshot.symbols(found.file) if first <= symbol.line <= last]
        if self._kinds:
            inside = [symbol for symbol in inside if is_wanted(symbol, self._kinds)]
        if not by_kind:
            inside = [symbol for symbol in inside if symbol.name in names]
        wanted = {stem(term) for term in self._query.terms}

        def spoken_of(symbol: Symbol) -> int:
            return len({stem(word) for word in lexemes(symbol.name)} & wanted)

        return max(inside, key=spoken_of, default=None)
