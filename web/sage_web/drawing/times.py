"""Times in words: how long ago something was, and how long it took."""

from __future__ import annotations

from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
# Further back a date says more than a count of days.
_MOST_DAYS = 60


def ago(stamp: str, now: datetime | None = None) -> str:
    """`2 min ago` for a time in ISO 8601; its date if it is long ago, and the text itself if it is no time."""
    try:
        then = datetime.fromisoformat(stamp)
    except ValueError:
        return stamp
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    if not 0 <= seconds < _MOST_DAYS * _DAY:
        return then.date().isoformat()
    return "just now" if seconds < _MINUTE else f"{lasted(seconds)} ago"


def lasted(seconds: float) -> str:
    """`1.2 s`, `5 min`, `3 h`, `2 days`."""
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min"
    if seconds < _DAY:
        return f"{int(seconds // _HOUR)} h"
    days = int(seconds // _DAY)
    return f"{days} day{'s' * (days != 1)}"
