"""Formats times for people: how long ago, or the exact date if the user asks for it. Reads times that people type."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from sage_code.errors import UsageError

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
# Further back a date says more than a count of days.
_MOST_DAYS = 60
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_MONTH = re.compile(r"(\d{4})-(\d\d)")
_AGO = re.compile(r"(\d{1,4}) (minute|hour|day|week|month|year)s? ago", re.IGNORECASE)
_SECONDS = {"minute": _MINUTE, "hour": _HOUR, "day": _DAY, "week": 7 * _DAY, "month": 30 * _DAY, "year": 365 * _DAY}


def when(stamp: str, exact: bool = False, now: datetime | None = None) -> str:
    """`2 min ago` for a time in ISO 8601; the text itself with `exact`, if it is long ago, and if it is no time."""
    from sage_cli.output import one_line

    try:
        then = datetime.fromisoformat(stamp)
    except ValueError:
        return one_line(stamp)
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    seconds = ((now or datetime.now(UTC)) - then).total_seconds()
    if exact or not 0 <= seconds < _MOST_DAYS * _DAY:
        return one_line(stamp)
    if seconds < _MINUTE:
        return "just now"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min ago"
    if seconds < _DAY:
        return f"{int(seconds // _HOUR)} h ago"
    days = int(seconds // _DAY)
    return f"{days} day{'s' * (days != 1)} ago"


def since(text: str, now: datetime | None = None) -> datetime | None:
    """The first moment that a text names (`2026-03`, `2 weeks ago`, `last week`, ISO 8601); None for an empty text."""
    from sage_code.memory.tiers.spans import since_of

    return _ago(text, now) or since_of(_spelled(text), now)


def until(text: str, now: datetime | None = None) -> datetime | None:
    """The moment behind the last one that a text names; None for an empty text."""
    from sage_code.memory.tiers.spans import until_of

    return _ago(text, now) or until_of(_spelled(text), now)


def before(text: str, now: datetime | None = None) -> datetime | None:
    """The moment that everything before a named time is before: `2026-03` is its first day."""
    return since(text, now)


def _ago(text: str, now: datetime | None) -> datetime | None:
    """The moment that was so long ago. In a question `2 weeks ago` is about that time; as a limit it is exact."""
    found = _AGO.fullmatch(text.strip())
    if found is None:
        return None
    try:
        return (now or datetime.now(UTC)) - timedelta(seconds=int(found[1]) * _SECONDS[found[2].lower()])
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC)


def _spelled(text: str) -> str:
    """A month in digits with its name, as words of time are read."""
    found = _MONTH.fullmatch(text.strip())
    if found is None:
        return text
    if not 1 <= int(found[2]) <= len(_MONTHS):
        raise UsageError(f"{text} is no month", "a year has twelve: 2026-01 to 2026-12")
    return f"{_MONTHS[int(found[2]) - 1]} {found[1]}"
