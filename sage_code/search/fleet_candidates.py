"""Asks the fleet's table for the chunks that may answer: the nearest by meaning, the best by words, and what is around
them in their files.

Filters are strings in an expression of DataFusion: values are quoted here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sage_code.errors import UsageError
from sage_code.search.fleet_snapshot import FleetFile
from sage_code.search.query import Filters, Query
from sage_code.search.wanted import wanted_kinds, wanted_language
from sage_code.store.fleet_index import FleetStatistics
from sage_code.text.stems import stem

# Chunks by meaning and by words, and how many files of theirs are ranked, with how many chunks each at most.
_NEAREST, _BY_WORDS, _FILES, _PER_FILE, _ROWS = 100, 100, 40, 6, 128
# Words that full text looks for: the rarest. Common words are in millions of rows and decide nothing.
_MAX_WORDS = 8
_MAX_VALUES, _MAX_VALUE_CHARS = 100, 200
# Partitions that are looked at, against the root of their number, and how many more candidates get an exact cosine: 2.5
# gives a recall@10 of 0.93 at a hundred thousand rows, 5 gives 0.99 in the same time; more candidates change nothing.
_PROBES, _REFINED = 5.0, 4
# As in the fusion of rankings: how little the first places differ.
_FUSED = 20
_FRAGMENT_BITS = 32
_COLUMNS = [
    "repository", "owner", "file_key", "path", "language", "kind", "name", "qualname", "signature", "start_line",
    "end_line", "length", "text", "definitions", "number", "vector",
]  # fmt: skip


def condition(filters: Filters, readable: Sequence[str] | None = None) -> str | None:
    """The filters, and the repositories that may be read, as an expression; None if everything is allowed."""
    languages = [wanted_language(name, ()) for name in filters.languages]
    parts = [
        _one_of(column, values)
        for column, values in (
            ("repository", filters.repositories),
            ("owner", filters.owners),
            ("language", languages),
        )
        if values
    ]
    if readable is not None:
        parts.append(_one_of("repository", readable) if readable else "false")
    wanted_kinds(filters.kinds)  # kinds and paths are compared when the candidates are ranked
    return " AND ".join(parts) or None


def _one_of(column: str, values: Sequence[str]) -> str:
    if len(values) > _MAX_VALUES or any(len(value) > _MAX_VALUE_CHARS or "\0" in value for value in values):
        raise UsageError(
            f"too many values for a filter, or one of more than {_MAX_VALUE_CHARS} characters", "ask for fewer"
        )
    # Single quotes are strings in DataFusion, and a doubled one is a quote inside of it; no other sign is special.
    return f"{column} IN ({', '.join(_quoted(value) for value in values)})"


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def telling_stems(query: Query, statistics: FleetStatistics) -> list[str]:
    """The stems that full text looks for, rarest first."""
    names = dict.fromkeys(stem(term) for term in (*query.title_terms, *query.terms))
    usable = [name for name in names if name and not name.isspace()]
    return sorted(usable, key=lambda name: (statistics.holding(name), name))[:_MAX_WORDS]


class Place(NamedTuple):
    """Where a chunk is: the address of its row, its number in its file, and how many chunks the file has."""

    address: int
    number: int
    siblings: int


class FleetCandidates:
    """Reads one version of the table; its two questions are asked at the same time."""

    def __init__(self, dataset: Any, statistics: FleetStatistics) -> None:
        self._dataset, self._statistics = dataset, statistics
        columns = {column for index in dataset.describe_indices() for column in index.field_names}
        self._has_words, self._has_vectors = "words" in columns, "vector" in columns
        self._pool = ThreadPoolExecutor(2, "sage-fleet")
        self._probes = max(20, round(_PROBES * isqrt(isqrt(max(dataset.count_rows(), 1)))))

    def files(
        self, query: Query, vectors: NDArray[np.float32], readable: Sequence[str] | None = None
    ) -> list[FleetFile]:
        """The files that are worth ranking, with the chunks around what was found in them.

        `readable` are the repositories that may be read; None: all.
        """
        allowed = condition(query.filters, readable)
        asked = [self._pool.submit(self.by_words, query, allowed)]
        asked += [self._pool.submit(self.nearest, vector, allowed) for vector in vectors]
        found = [future.result() for future in asked]
        return self._read(_best_files(found), {place.address for ranking in found for place in ranking})

    def nearest(self, vector: NDArray[np.float32], allowed: str | None, count: int = _NEAREST) -> list[Place]:
        """The nearest chunks: address, number in its file, and chunks of the file."""
        if not vector.any():
            return []
        near = {"column": "vector", "q": vector, "k": count, "metric": "cosine"}
        if self._has_vectors:
            near |= {"nprobes": self._probes, "refine_factor": _REFINED}
        return self._places(nearest=near, filter=allowed)

    def by_words(self, query: Query, allowed: str | None) -> list[Place]:
        """The best chunks by words; none as long as full text has no index."""
        words = telling_stems(query, self._statistics)
        if not words or not self._has_words:
            return []
        text = {"query": " ".join(words), "columns": ["words"]}
        return self._places(full_text_query=text, limit=_BY_WORDS, filter=allowed)

    def _places(self, **asked: Any) -> list[Place]:
        table = self._dataset.scanner(
            columns=["number", "siblings"], prefilter=True, with_row_address=True, disable_scoring_autoprojection=True,
            **asked,
        ).to_table()  # fmt: skip
        columns = (table[name].to_pylist() for name in ("_rowaddr", "number", "siblings"))
        return [Place(*fields) for fields in zip(*columns, strict=True)]

    def _read(self, addresses: Iterable[int], found: Collection[int]) -> list[FleetFile]:
        """The files that have a found chunk; rows beside it that belong to another file are not used."""
        listed = ",".join(map(str, sorted(addresses)))
        if not listed:
            return []
        table = self._dataset.scanner(columns=_COLUMNS, filter=f"_rowaddr IN ({listed})", with_row_address=True)
        table = table.to_table()
        flat = table["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        vectors = flat.reshape(table.num_rows, -1)
        by_file: dict[tuple[str, str, str], dict[int, int]] = {}
        rows = table.drop_columns(["vector"]).to_pylist()
        wanted = {_file_of(row) for row in rows if row["_rowaddr"] in found}
        for at, row in enumerate(rows):
            if _file_of(row) not in wanted:
                continue
            by_file.setdefault(_file_of(row), {})[row["number"]] = at
        files = []
        seen: set[tuple[str, str]] = set()
        for (repository, path, _), numbers in sorted(by_file.items()):
            if (repository, path) not in seen:
                seen.add((repository, path))
                own = [numbers[number] for number in sorted(numbers)]
                files.append(FleetFile([rows[at] for at in own], vectors[own]))
        return files


def _file_of(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["repository"], row["path"], row["file_key"]


def _best_files(rankings: Iterable[Iterable[Place]]) -> set[int]:
    """The addresses of the rows to read: of each of the best files what was found, then what is around it.

    The rows of a file are beside each other, so the number of a chunk tells where its file begins.
    """
    scores: dict[int, float] = {}  # by file, which is the address that its first chunk should have
    found: dict[int, list[Place]] = {}
    for ranking in rankings:
        for rank, place in enumerate(ranking):
            first = place.address - place.number
            scores[first] = scores.get(first, 0.0) + 1 / (_FUSED + rank)
            found.setdefault(first, []).append(place)
    chosen: set[int] = set()
    for first in sorted(scores, key=lambda one: (-scores[one], one))[:_FILES]:
        hits = dict.fromkeys(place.address for place in found[first][:_PER_FILE])
        around = {address for place in found[first][:_PER_FILE] for address in _beside(place)}
        chosen |= {*hits, *_nearest(hits, around)}
        if len(chosen) >= _ROWS:
            break
    return chosen


def _nearest(hits: Collection[int], around: Collection[int]) -> list[int]:
    """The hits and what is nearest to one of them, a few in all."""
    found = dict.fromkeys(sorted(hits))
    for distance in range(1, _PER_FILE + 1):
        beside = (address for hit in hits for address in (hit - distance, hit + distance))
        found |= dict.fromkeys(sorted(address for address in beside if address in around))
        if len(found) >= _PER_FILE:
            break
    return list(found)[:_PER_FILE]


def _beside(place: Place) -> range:
    """The addresses of the rows near a chunk that are of its file and of its fragment."""
    fragment = place.address >> _FRAGMENT_BITS << _FRAGMENT_BITS
    first = max(place.address - min(place.number, _PER_FILE), fragment)
    behind = min(max(place.siblings - place.number, 1), _PER_FILE)
    return range(first, place.address + behind)
