"""A snapshot in memory of a few files of many repositories: what ranks the candidates of a fleet as those of a project.

The chunks come from rows of the fleet's table, and are ranked by the same features and weights. What a feature compares
a chunk with (how rare a word is, how long a text, how near a usual chunk) comes from statistics of the whole table. How
often other files use a definition is not in the table and counts as never.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.lookup import SymbolFiles, normalise
from sage_code.compiled.published import Generation, SegmentRef, Snapshot
from sage_code.compiled.segment_builder import SegmentBuilder
from sage_code.languages.kinds import CHUNK_KINDS
from sage_code.search.dense import DenseIndex, Nearness, mean_and_spread
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.top import Floats, Mask
from sage_code.store.fleet_table import unpack_definitions
from sage_code.store.rows import FileRows
from sage_code.text.stems import stem
from sage_code.values import Chunk

if TYPE_CHECKING:
    from sage_code.store.fleet_index import FleetStatistics


class FleetFile:
    """Some chunks of a file of a repository, in their order, and its text as far as they have it."""

    def __init__(self, rows: Sequence[Mapping[str, Any]], vectors: NDArray[np.float32]) -> None:
        first = rows[0]
        self.repository: str = first["repository"]
        self.owner: str = first["owner"]
        self.path: str = first["path"]
        chunks = tuple(_chunk(row) for row in rows)
        self.rows = FileRows(
            key=first["file_key"],
            path=f"{self.repository}/{self.path}",
            language=first["language"],
            chunks=chunks,
            texts=("",) * len(chunks),
            text_hashes=("",) * len(chunks),
            vectors=vectors,
        )

    @cached_property
    def text(self) -> str:
        """The lines of its chunks, each at its number; lines of chunks that were not read are empty."""
        lines: list[str] = []
        for chunk in self.rows.chunks:
            lines += [""] * (chunk.start_line - 1 - len(lines))
            lines += chunk.text.removesuffix("\n").split("\n")[: chunk.end_line - chunk.start_line + 1]
        return "\n".join(lines)


def _chunk(row: Mapping[str, Any]) -> Chunk:
    docstring, symbols = unpack_definitions(row["definitions"])
    kind = row["kind"] if row["kind"] in CHUNK_KINDS else "fallback"
    text = row["text"][max(len(row["text"]) - row["length"], 0) :]
    return Chunk(
        kind, row["name"], row["qualname"], row["start_line"], row["end_line"], row["signature"], docstring, text,
        symbols,
    )  # fmt: skip


class FleetSymbols(SymbolFiles):
    """The definitions of some files, without symbol files."""

    def __init__(self, files: Sequence[FleetFile]) -> None:
        self._by_name: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for file in files:
            for chunk in file.rows.chunks:
                for one in chunk.symbols:
                    found = {
                        "name": one.name, "qualname": one.qualname, "kind": one.kind, "file": file.rows.path,
                        "line": one.line, "start_line": one.start_line, "end_line": one.end_line,
                    }  # fmt: skip
                    self._by_name[one.name].append(found)

    def find(
        self,
        name: str,
        *,
        kind: str | None = None,
        ignore_case: bool = False,  # noqa: ARG002 - a ranking asks for neither
        prefix: bool = False,  # noqa: ARG002
        patience: int | None = None,
    ) -> list[dict[str, Any]]:
        """Those called `name`, by bare or qualified name, as in a project; case and whole names matter."""
        wanted = normalise(name)
        found = self._by_name.get(wanted.rpartition(".")[2] or wanted, [])
        if patience is not None and len(found) > patience:
            return []
        is_dotted = "." in wanted.strip(".")
        return [
            one
            for one in found
            if (kind is None or one["kind"] == kind) and (not is_dotted or f".{one['qualname']}".endswith(f".{wanted}"))
        ]


class FleetSnapshot(SearchSnapshot):
    """Candidates of the fleet as a snapshot. Paths begin with the name of the repository."""

    def __init__(self, files: Sequence[FleetFile], model: str, dim: int, statistics: FleetStatistics) -> None:
        self.by_path = {file.rows.path: file for file in files}
        builder = SegmentBuilder(model, dim)
        for file in self.by_path.values():
            builder.add(file.rows)
        segment = builder.build()
        chunks = max(statistics.rows, len(builder))
        generation = Generation("", "fleet", model, dim, (SegmentRef("", (), chunks),), {})
        unused = {"chunk_uses": np.zeros(len(builder), np.float32), "file_users": np.zeros(len(files), np.uint32)}
        self._statistics = statistics
        super().__init__("", Snapshot(generation, [segment], FleetSymbols(files), unused))

    def holding(self, term: str, found: int) -> int:
        """How many chunks of the table have a word."""
        return max(found, self._statistics.holding(stem(term)))

    def norms(self, field: str, k1: float, b: float) -> NDArray[np.float32]:
        """As in a project, with the mean length of the table."""
        average = self._statistics.lengths.get(field)
        if average is None:
            return super().norms(field, k1, b)
        if field not in self._norms:
            lengths = self._column(f"{field}_lengths").astype(np.float32)
            self._norms[field] = np.float32(k1 * (1 - b)) + np.float32(k1 * b / average) * lengths
        return self._norms[field]


class FleetNearness(DenseIndex):
    """The vectors of the candidates, compared with what is usual in the table."""

    def __init__(self, snapshot: FleetSnapshot, statistics: FleetStatistics) -> None:
        super().__init__(snapshot)
        self.exact = True
        self._usual = statistics.vectors

    def nearness(self, query: Floats, allowed: Mask | None = None) -> Nearness:
        """The cosines of all candidates."""
        found = super().nearness(query, allowed)
        if not len(self._usual) or not query.any():
            return found
        return Nearness(found.scores, *mean_and_spread(self._usual @ query))
