"""The largest of many numbers, by their places; and the arrays in which search counts.

Which of several equal ones are taken must not depend on how an index came about, so not on their places.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Places = NDArray[np.int64]
Mask = NDArray[np.bool_]
# Mostly a few are far above the rest, and only those above such a share of the largest are put in order.
_SHARES = (0.7, 0.4, 0.0)


def top(values: Floats, count: int, ties: Callable[[Places], NDArray[np.uint64]]) -> Places:
    """The places of the largest values above zero, in no order; of equal ones those that `ties` puts lowest."""
    peak = float(values.max(initial=0.0))
    places = np.empty(0, np.int64)
    for share in _SHARES:
        places = np.flatnonzero(values > peak * share)
        if len(places) >= count:
            found = values[places]
            least = np.partition(found, len(found) - count)[len(found) - count]
            above, equal = places[found > least], places[found == least]
            wanted = count - len(above)
            if wanted < len(equal):
                equal = equal[np.argsort(ties(equal), kind="stable")[:wanted]]
            return np.concatenate([above, equal])
    return places
