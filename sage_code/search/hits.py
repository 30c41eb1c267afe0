"""Turns ranked chunks into hits: location, name, signature, and a snippet with the words that match the query.

Reads the snapshot, and the files of the hits for their snippets.
"""

from __future__ import annotations

from sage_code.discover import DiscoverRules
from sage_code.languages.kinds import CHUNK_KIND
from sage_code.search.engine import Ranked, SearchEngine
from sage_code.search.filters import is_wanted
from sage_code.search.query import Query
from sage_code.search.results import Hit, OtherChunk
from sage_code.search.snippets import SnippetMaker
from sage_code.search.wanted import wanted_kinds
from sage_code.search.words import stem
from sage_code.text.lexemes import lexemes
from sage_code.values import Symbol


class HitMaker:
    """Makes the hits of one query."""

    def __init__(self, engine: SearchEngine, query: Query, rules: DiscoverRules, lines: int, context: int) -> None:
        self._snapshot, self._ranking, self._query = engine.snapshot, engine.ranking, query
        folder = self._snapshot.generation.folder
        self._snippets = SnippetMaker(self._snapshot.root, folder, rules, query, lines, context)
        self._stems = frozenset(query.stems)
        self._kinds = wanted_kinds(query.filters.kinds)
        # One word may be a name without looking like one.
        names = query.names + (query.loose_names if query.kind == "symbol" else ())
        self._names = {name.rpartition(".")[2] for name in names}

    def hit(self, rank: int, found: Ranked, *, explain: bool) -> Hit:
        """The hit of a ranked chunk."""
        snapshot = self._snapshot
        path, kind = snapshot.path(found.file), snapshot.kind(found.chunk)
        qualname, signature = snapshot.qualname(found.chunk), snapshot.signature(found.chunk)
        first, last = shown = self._lines_of(found.chunk)
        if symbol := self._wanted_symbol(found, kind):
            kind, qualname, signature = CHUNK_KIND.get(symbol.kind, kind), symbol.qualname, symbol.signature
            # A query for a name wants the whole definition, and the chunk may be only its head.
            shown = max(first, symbol.start_line), min(last, symbol.end_line)
            first, last = (symbol.start_line, symbol.end_line) if symbol.name in self._names else shown
        snippet = self._snippets.cut(path, *shown)
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
            snippet=snippet.text,
            snippet_line=snippet.line,
            also=tuple(OtherChunk(*self._lines_of(chunk), snapshot.qualname(chunk)) for chunk in found.also),
            explain=self._ranking.shares(found.features, self._query.kind) if explain else {},
            match_spans=snippet.match_spans,
        )

    def _lines_of(self, chunk: int) -> tuple[int, int]:
        return int(self._snapshot.chunk_start[chunk]), int(self._snapshot.chunk_end[chunk])

    def _wanted_symbol(self, found: Ranked, kind: str) -> Symbol | None:
        """The symbol inside a chunk that the query asks for by name or by kind.

        A small class is one chunk with its methods, and tiny functions share one. A query for methods shows the method
        of such a chunk, and a query for a name the symbol with that name.
        """
        by_kind = bool(self._kinds) and kind not in self._kinds
        if not by_kind and not self._names:
            return None
        first, last = self._lines_of(found.chunk)
        inside = [symbol for symbol in self._snapshot.symbols(found.file) if first <= symbol.line <= last]
        if self._kinds:
            inside = [symbol for symbol in inside if is_wanted(symbol, self._kinds)]
        if not by_kind:
            inside = [symbol for symbol in inside if symbol.name in self._names]

        def common_stems(symbol: Symbol) -> int:
            return len({stem(word) for word in lexemes(symbol.name)} & self._stems)

        return max(inside, key=common_stems, default=None)
