"""The distances that a project's messages have from what was before them: a histogram of fixed size.

What is far differs from project to project, so a new topic must also be far for its project. The histogram starts with
a prior from the labelled conversations, and halves itself when it is full, so that it follows a project that changes.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# 1: counts of 48 steps of a quarter, from -6 to 6
FORMAT = 1
_LOW, _STEP, _BINS = -6.0, 0.25, 48
# Distances that the histogram remembers at most; then every count is halved.
_FULL = 2000
# The logits of the labelled conversations that `training/triggers.py` learns from, as 100 distances.
_PRIOR = (
    11, 2, 2, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
)  # fmt: skip


class Distances:
    """Counts the distances of a project, and says how far a share of them is."""

    __slots__ = ("_counts",)

    def __init__(self, state: dict[str, Any] | None = None) -> None:
        counts = (state or {}).get("counts")
        is_ours = (state or {}).get("format") == FORMAT and isinstance(counts, list) and len(counts) == _BINS
        self._counts = [max(0, int(count)) for count in counts] if is_ours and counts else list(_PRIOR)

    def add(self, distance: float) -> None:
        """Count a distance."""
        self._counts[min(_BINS - 1, max(0, int((distance - _LOW) / _STEP)))] += 1
        if sum(self._counts) > _FULL:
            self._counts = [count // 2 for count in self._counts]

    def quantile(self, share: float) -> float:
        """The distance that `share` of all distances are below."""
        wanted = share * sum(self._counts)
        for place, count in enumerate(self._counts):
            if count and wanted <= count:
                return _LOW + _STEP * (place + wanted / count)
            wanted -= count
        return _LOW + _STEP * _BINS

    def state(self) -> dict[str, Any]:
        """The histogram as a value of JSON."""
        return {"format": FORMAT, "counts": list(self._counts)}
