"""Reads the limits of a span of time as people write them: `2026-03-01`, `2026-03`, `last week`, `2 hours ago`.

`since` is the beginning of what is named, `until` its end: `--until March` includes the 31st. Words are read in the
local time zone. In a question `2 weeks ago` means about that time; as a limit it is exact.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta

from sage_code.errors import UsageError
from sage_code.memory.tiers.ranking.times import Window, window_of

_MAX_CHARS = 200
_MONTH = re.compile(r"(\d{4})-(\d\d)")
_AGO = re.compile(r"(\d{1,4}) (minute|hour|day|week|month|year)s? ago", re.IGNORECASE)
_HOURS = {"minute": 1 / 60, "hour": 1, "day": 24, "week": 7 * 24, "month": 30 * 24, "year": 365 * 24}
_EXAMPLES = "a date (2026-03-01), a time (2026-03-01T14:30), or words: yesterday, last week, 3 days ago, in March"


def since_of(text: str, now: datetime | None = None) -> datetime | None:
    """The first moment that a text names; None for an empty text, UsageError for one that names none."""
    exact, window = _read(text, now)
    return exact if window is None else _moment(text, window.start)


def until_of(text: str, now: datetime | None = None) -> datetime | None:
    """The moment behind the last one that a text names; None for an empty text, UsageError for one that names none."""
    exact, window = _read(text, now)
    return exact if window is None else _moment(text, window.end)


def _read(text: str, now: datetime | None) -> tuple[datetime | None, Window | None]:
    """A text as an exact time or as a span."""
    text = text.strip()
    if not text:
        return None, None
    here = (now or datetime.now(UTC)).astimezone()
    if ago := _AGO.fullmatch(text):
        try:
            return (here - timedelta(hours=int(ago[1]) * _HOURS[ago[2].lower()])).astimezone(UTC), None
        except OverflowError:
            return datetime.min.replace(tzinfo=UTC), None
    if month := _MONTH.fullmatch(text):
        try:
            text = f"{datetime(int(month[1]), int(month[2]), 1):%B} {month[1]}"
        except ValueError as error:
            raise UsageError(f"{text} is no month", "a year has twelve: 2026-01 to 2026-12") from error
    if ":" in text:
        try:
            return datetime.fromisoformat(text).astimezone(UTC), None
        except (ValueError, OverflowError):
            pass  # words may have a colon, too
    # A date in digits is read as it is: `in 2026-02-31` would be a year.
    readings = (text,) if "-" in text else (text, f"in {text}", f"on {text}")
    for spelled in readings if len(text) <= _MAX_CHARS else ():
        if (window := window_of(spelled, here)) is not None:
            return None, window
    raise UsageError(f"{text[:80]!r} names no time", f"write {_EXAMPLES}")


def _moment(text: str, seconds: float) -> datetime:
    if math.isinf(seconds):
        raise UsageError(f"{text[:80]!r} has no limit on that side", f"write {_EXAMPLES}")
    return datetime.fromtimestamp(seconds, UTC)
