"""Formats times for people: how long ago, or the exact date if the user asks for it. Reads times that people type."""

from __future__ import annotations

from datetime import UTC, datetime

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
# Further back a date says more than a count of days.
_MOST_DAYS = 60


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

    return since_of(text, now)


def until(text: str, now: datetime | None = None) -> datetime | None:
    """The moment behind the last one that a text names; None for an empty text."""
    from sage_code.memory.tiers.spans import until_of

    return until_of(text, now)


def before(text: str, now: datetime | None = None) -> datetime | None:
    """The moment that everything before a named time is before: `2026-03` is its first day."""
    return since(text, now)
