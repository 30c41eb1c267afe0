"""The largest of many numbers, by their places; and the arrays in which search counts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Places = NDArray[np.int64]
Mask = NDArray[np.bool_]
# Mostly a few are far above the rest, and only those above such a share of the largest are put in order.
_SHARES = (0.7, 0.4, 0.0)


def top(values: Floats, count: int) -> Places:
    """The places of the largest values above zero."""
    peak = float(values.max(initial=0.0))
    places = np.empty(0, np.int64)
    for share in _SHARES:
        places = np.flatnonzero(values > peak * share)
        if len(places) >= count:
            found = values[places]
            return places[np.argpartition(found, len(found) - count)[-count:]]
    return places
