"""Selects the largest of many numbers, and names the types of arrays that search works with.

Equal values are selected by an order that the caller gives. Their rows must not decide: rows depend on how an index
was made, and answers must not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
# Mostly a few values are far above the rest, so only values above this share of the largest are compared at first.
_SHARES = (0.7, 0.4, 0.0)
# A group, a float and a row in a number of 63 bits.
_GROUP_BITS, _ROW_BITS = 12, 19


def top(values: Floats, count: int, ties: Callable[[Rows], NDArray[np.uint64]]) -> Rows:
    """The rows of the `count` largest values above zero, unordered; of equal values those with the lowest `ties`."""
    peak = float(values.max(initial=0.0))
    rows = np.empty(0, np.int64)
    for share in _SHARES:
        rows = (values > peak * share).nonzero()[0]
        if len(rows) >= count:
            found = values[rows]
            least = np.partition(found, len(found) - count)[len(found) - count]
            above, equal = rows[found > least], rows[found == least]
            wanted = count - len(above)
            if wanted < len(equal):
                equal = equal[np.argsort(ties(equal), kind="stable")[:wanted]]
            return np.concatenate([above, equal])
    return rows


def distinct(values: Rows) -> Rows:
    """The different values in ascending order. `np.unique` does the same, but loads `numpy.ma`."""
    ordered: Rows = np.sort(values)
    return ordered[runs_of(ordered)[0]]


def runs_of(values: Rows) -> tuple[Rows, Rows]:
    """Where the runs of equal values start, and how long each is. `np.diff` says the same in three times the time."""
    is_start = np.ones(len(values), dtype=bool)
    np.not_equal(values[1:], values[:-1], out=is_start[1:])
    starts = is_start.nonzero()[0]
    return starts, sizes_of(starts, len(values))


def sizes_of(starts: Rows, end: int) -> Rows:
    """How long runs are that start at `starts`, the last of which ends at `end`."""
    sizes = np.empty_like(starts)
    np.subtract(starts[1:], starts[:-1], out=sizes[:-1])
    sizes[-1:] = end - starts[-1:]
    return sizes


def ordered_in_groups(values: Floats, groups: Rows) -> Rows:
    """Rows in the order of their groups, which are ascending, and in a group from the largest value to the smallest;
    equal values by row. As `np.lexsort((-values, groups))`, but one sort of whole numbers instead of two of others."""
    if not len(values) or len(values) >= 1 << _ROW_BITS or int(groups[-1]) >= 1 << _GROUP_BITS:
        return np.lexsort((-values, groups))
    # The bits of a float are in the order of its value, those of a negative one in reverse. No zero is negative here.
    bits = (np.float32(0) - values).view(np.int32).astype(np.int64)
    bits ^= (bits >> 63) & 0x7FFFFFFF
    keys = (groups << (_ROW_BITS + 32)) + ((bits + (1 << 31)) << _ROW_BITS) + np.arange(len(values))
    keys.sort()
    return keys & ((1 << _ROW_BITS) - 1)
