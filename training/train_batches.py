"""The batches of training: pairs mapped from the disk, in an order that makes neighbours hard to distinguish.

The negatives of a pair are the other pairs of its block. Random ones are too easy: a search must distinguish the
functions of one package. So a block is made of runs, each of one package; in the second phase half of the runs hold
pairs with similar vectors, from any package.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Entries:
    """The words of some pairs in one field: the pair, the row of the table, and the weight by frequency."""

    owner: Ints
    ids: Ints
    tf: Floats


class TokenPairs:
    """The pairs that `tokenise` wrote."""

    def __init__(self, folder: Path) -> None:
        facts = json.loads((folder / "tokens.json").read_text())
        self.words: int = facts["words"]
        self.buckets: int = facts["buckets"]
        self.count: int = facts["pairs"]
        self.names: dict[str, list[str]] = json.loads((folder / "names.json").read_text())
        self.vocabulary = (folder / "vocabulary.txt").read_text(encoding="utf-8").split("\n")
        fields = ("query", "lead", "body", "more")
        self._ids = {field: _mapped(folder, f"{field}_ids") for field in fields}
        self._tf = {field: _mapped(folder, f"{field}_tf") for field in fields}
        self._starts = {field: np.load(folder / f"{field}_starts.npy") for field in fields}
        self._named = _mapped(folder, "body_named")
        self.package, self.language, self.kind = (
            np.load(folder / f"{name}.npy") for name in ("package", "language", "kind")
        )
        # Equal numbers mean equal questions, or equal bodies: such pairs are no negatives of each other.
        self.asked, self.code = np.load(folder / "asked.npy"), np.load(folder / "code.npy")

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return self.words + self.buckets

    def entries(self, field: str, pairs: Ints, nameless: NDArray[np.bool_] | None = None) -> Entries:
        """The words of `pairs` in a field; those that are `nameless` lose the words of their name."""
        starts = self._starts[field][pairs]
        sizes = self._starts[field][pairs + 1] - starts
        owner = np.repeat(np.arange(len(pairs)), sizes)
        places = np.arange(len(owner)) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
        if nameless is not None:
            kept = ~nameless[owner]
            if field == "body":
                kept |= ~self._named[places]
            owner, places = owner[kept], places[kept]
        ids = self._ids[field][places].astype(np.int64)
        return Entries(owner, ids, 1 + np.log(self._tf[field][places].astype(np.float32)))

    def document_frequency(self) -> NDArray[np.float64]:
        """In how many bodies the word of each row occurs."""
        return np.bincount(self._ids["body"], minlength=self.rows).astype(np.float64)


def _mapped(folder: Path, name: str) -> NDArray[np.int64]:
    return np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r"))


def package_runs(pairs: TokenPairs, chosen: Ints, run: int, rng: np.random.Generator) -> list[Ints]:
    """`chosen` in runs of one package each, the runs in random order."""
    shuffled = rng.permutation(chosen)
    ordered = shuffled[np.argsort(pairs.package[shuffled], kind="stable")]
    borders = np.flatnonzero(np.diff(pairs.package[ordered])) + 1
    runs = [piece for part in np.split(ordered, borders) for piece in np.split(part, range(run, len(part), run))]
    return [runs[number] for number in rng.permutation(len(runs))]


def nearby_runs(vectors: Floats, chosen: Ints, run: int, rng: np.random.Generator) -> list[Ints]:
    """`chosen` in runs of pairs with similar vectors: halved along random directions until a part is a run."""
    parts, runs = [chosen], []
    while parts:
        part = parts.pop()
        if len(part) <= run:
            runs.append(part)
            continue
        # Two members give a direction that the part really varies in; their middle is the median of the projections.
        one, other = vectors[rng.choice(part, 2, replace=False)]
        order = np.argsort(vectors[part] @ (one - other))
        half = len(part) // 2
        parts += [part[order[:half]], part[order[half:]]]
    return [runs[number] for number in rng.permutation(len(runs))]


def blocks(runs: list[Ints], size: int) -> Iterator[Ints]:
    """The runs one after another, cut into blocks of exactly `size`; the rest is dropped."""
    flat = np.concatenate(runs)
    for start in range(0, len(flat) - size + 1, size):
        yield flat[start : start + size]
