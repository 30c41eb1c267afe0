"""Makes glibc return freed memory to the system during a long run, and Python look for garbage less often.

glibc raises its threshold for mapping large blocks whenever one is freed, so soon all blocks come from the heap, which
cannot shrink while small blocks remain between them. Fixed thresholds cost a little time and save about a third of the
peak of an index run. Without glibc this module does nothing.
"""

from __future__ import annotations

import gc
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_THRESHOLD_BYTES = 1 << 20
_ARENAS = 2
# Python's own numbers are 700 and 10: it would look at the same modules and rows again and again.
_OBJECTS, _ROUNDS = 20_000, 20


def return_freed_memory() -> None:
    """Fix glibc's thresholds for the rest of this process."""
    if sys.platform != "linux":
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:  # musl
        return
    for option, value in (
        (_M_TRIM_THRESHOLD, _THRESHOLD_BYTES),
        (_M_MMAP_THRESHOLD, _THRESHOLD_BYTES),
        (_M_ARENA_MAX, _ARENAS),
    ):
        mallopt(option, value)


def collect_rarely() -> None:
    """Let Python look for garbage less often for the rest of this process: a twentieth of a start or an index run."""
    gc.set_threshold(_OBJECTS, _ROUNDS, _ROUNDS)
