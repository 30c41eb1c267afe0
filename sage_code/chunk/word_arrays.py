"""The words of many files as arrays, for what counts them: the model and the segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sage_code.chunk.words import RUNS, FileWords


@dataclass(frozen=True, slots=True)
class WordArrays:
    """The words of the chunks of several files, one file after the other."""

    words: list[str]  # of each file its distinct words
    numbers: NDArray[np.int64]  # the words of all runs of all chunks, as places in `words`
    sizes: NDArray[np.int64]  # a row a chunk, a column a run

    def of_chunks(self, chosen: Sequence[int]) -> WordArrays:
        """The words of the chunks at these places, which are in order."""
        kept = np.zeros(len(self.sizes), np.bool_)
        kept[list(chosen)] = True
        return WordArrays(self.words, self.numbers[np.repeat(kept, self.sizes.sum(axis=1))], self.sizes[kept])


def join(files: Sequence[FileWords]) -> WordArrays:
    """The words of `files` in one."""
    words = [word for file in files for word in file.words]
    lengths = np.array([len(file.words) for file in files], np.int64)
    numbers = _flat([file.numbers for file in files])
    numbers += np.repeat(np.cumsum(lengths) - lengths, [len(file.numbers) for file in files])
    return WordArrays(words, numbers, _flat([file.sizes for file in files]).reshape(-1, RUNS))


class NumberLists:
    """Many short lists of numbers in two arrays."""

    __slots__ = ("_ends", "_lengths", "_values")

    def __init__(self, lists: Sequence[Sequence[int]]) -> None:
        self._lengths = np.fromiter(map(len, lists), np.int64, len(lists))
        self._ends = np.cumsum(self._lengths)
        self._values = np.fromiter(chain.from_iterable(lists), np.int64, int(self._lengths.sum()))

    def of(self, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The numbers in the lists at `places`, one list after the other; and how many each has."""
        taken = self._lengths[places]
        # Where each number is: where its list begins, plus its place in the list.
        found = np.repeat(self._ends[places] - np.cumsum(taken), taken)
        found += np.arange(len(found))
        return self._values[found], taken

    def first(self) -> NDArray[np.int64]:
        """The first number of each list; no list may be empty."""
        found: NDArray[np.int64] = self._values[self._ends - self._lengths]
        return found


def counted(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct keys in order, and how often each occurs. Sorts `keys` in place."""
    keys.sort()
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    return keys[first], np.diff(first, append=len(keys))


def _flat(parts: Sequence[Any]) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, np.int64), *(np.frombuffer(part, np.uint32) for part in parts)])
