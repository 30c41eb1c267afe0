"""How near two words are in meaning, by the vectors of the bundled model; words are given as their stems.

The vector of a stem is the sum of those of the model's words that have it. So stored stems are compared without their
text. Vectors are whole numbers, small enough for exact sums (`search/soft.py`), so that a nearness does not depend on
what else is compared.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sage_code.embed.packed import MODEL_FOLDER, VOCABULARY
from sage_code.text.stems import LONGEST_ENDING, head_of, stem

if TYPE_CHECKING:
    from sage_code.embed.bundled import BundledEmbedder

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
# Components of unit vectors are counted in 127ths: 127 * 127 * 256 is below 2**24, up to which float32 is exact.
_PARTS = 127
_UNIT = 1 / (_PARTS * _PARTS)
# Stems with vectors that are kept (34 MB); then they are looked up again.
_KEPT = 32_768
# A shorter stem has no endings that could be removed.
_MIN_HEAD = 3


class Meanings(dict[str, int]):
    """Numbers the stems that it meets, and compares them. One thread at a time may use it."""

    def __init__(self, model: BundledEmbedder) -> None:
        super().__init__()
        self._model = model
        self._words: list[str] = []
        self._new: list[str] = []
        self.digits = bytearray()  # which stems are numbers
        self._vectors = np.zeros((0, model.dim), np.float32)

    def __missing__(self, stemmed: str) -> int:
        number = self[stemmed] = len(self)
        self.digits.append(stemmed.isdigit())
        self._new.append(stemmed)
        return number

    def make_room(self) -> None:
        """Forget everything when too much is kept; numbers that were given before are void."""
        if len(self) > _KEPT:
            self.clear()
            self._new, self._vectors, self.digits = [], self._vectors[:0], bytearray()

    def nearness(self, asked: Rows, others: Rows) -> Floats:
        """The cosine of each asked stem (rows) and each other stem (columns), by their numbers."""
        self._look_up()
        near: Floats = self._vectors[asked] @ self._vectors[others].T
        return near * np.float32(_UNIT)

    def _look_up(self) -> None:
        """Make the vectors of new stems."""
        if not self._new:
            return
        if not self._words:
            with open(os.path.join(MODEL_FOLDER, VOCABULARY), encoding="utf-8") as file:
                self._words = sorted(file.read().split("\n"))
        groups = [self._forms(stemmed) for stemmed in self._new]
        vectors = self._model.word_vectors([word for group in groups for word in group])
        starts = np.cumsum([0, *(len(group) for group in groups[:-1])])
        sums = np.add.reduceat(vectors.astype(np.float64), starts)
        lengths = np.maximum(np.sqrt(np.einsum("ij,ij->i", sums, sums)), 1e-9)
        made = np.rint(sums / lengths[:, None] * _PARTS).astype(np.float32)
        before = len(self) - len(self._new)
        if len(self) > len(self._vectors):  # twice the room, so that vectors are seldom copied
            room = np.zeros((2 * len(self), self._model.dim), np.float32)
            room[:before] = self._vectors[:before]
            self._vectors = room
        self._vectors[before : len(self)] = made
        self._new = []

    def _forms(self, stemmed: str) -> list[str]:
        """The model's words that have a stem; the stem itself if there are none."""
        head = head_of(stemmed)
        if len(head) < _MIN_HEAD:
            return [stemmed]
        longest = len(head) + LONGEST_ENDING
        found = []
        for at in range(bisect_left(self._words, head), len(self._words)):
            word = self._words[at]
            if not word.startswith(head):
                break
            if len(word) <= longest and stem(word) == stemmed:
                found.append(word)
        return found or [stemmed]
