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


def top(values: Floats, count: int, ties: Callable[[Rows], NDArray[np.uint64]]) -> Rows:
    """The rows of the `count` largest values above zero, unordered; of equal values those with the lowest `ties`."""
    peak = float(values.max(initial=0.0))
    rows = np.empty(0, np.int64)
    for share in _SHARES:
        rows = np.flatnonzero(values > peak * share)
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
    different: Rows = ordered[np.diff(ordered, prepend=ordered[:1] - 1) != 0]
    return different
