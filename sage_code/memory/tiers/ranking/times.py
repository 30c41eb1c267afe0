"""The span of time that a question names: `last week`, `in March`, `on 3 May 2024`, `yesterday`, `since 2024-05-03`.

Words are read relative to a given time, in its time zone. A month or weekday without a year means the latest one that
has begun. A span is a hint for ranking, never a filter: people remember dates wrongly.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

_MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
           "november", "december")  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_NUMBERS = {word: number for number, word in enumerate(_COUNTED)}
_NUMBERS |= {"a": 1, "an": 1, "couple": 2, "few": 3, "several": 4}
# `recently` without a number.
_RECENT_DAYS = 14
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}

_MONTH = r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"  # noqa: E501
_YEAR = r"(?P<year>(?:19|20)\d\d)\b"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?\b"
_COUNT = (
    r"(?P<count>\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|(?:a )?couple(?: of)?|(?:a )?few|several)"
)
_UNIT = r"(?P<unit>day|week|month|year)s?\b"
_BEFORE_MONTH = (
    r"\b(?:in|during|since|until|till|before|after|by|from|of|last|this|early|late|mid|throughout|between|and)[ -]"
)
# Words before a date that open one side of the span.
_SINCE = re.compile(r"\b(?:since|after|from|later than|starting)\s+(?:on\s+|the\s+)?$", re.IGNORECASE)
_UNTIL = re.compile(r"\b(?:until|till|before|up to|by|prior to|earlier than)\s+(?:on\s+|the\s+)?$", re.IGNORECASE)
_JOINED = re.compile(r"^\s*(?:and|to|until|through|till|-|–)\s*(?:on\s+|the\s+)?$", re.IGNORECASE)
_BETWEEN = re.compile(r"\b(?:between|from)\s+(?:on\s+|the\s+)?$", re.IGNORECASE)


class Window(NamedTuple):
    """A span of time in seconds since 1970: from `start` to before `end`; either may be infinite."""

    start: float
    end: float


class _Days(NamedTuple):
    """A span of days: from the first to before the second."""

    start: date
    end: date


_Reading = Callable[[re.Match[str], date], _Days | None]


def window_of(text: str, now: datetime) -> Window | None:
    """The span of time that a text names, or None."""
    zone = now.tzinfo or UTC
    try:
        found = _spans(text, now.date())
    except (OverflowError, ValueError):  # a date beyond the calendar
        return None
    if not found:
        return None
    at, after, days = found[0]
    start, end = _seconds(days.start, zone), _seconds(days.end, zone)
    before = text[:at]
    if len(found) > 1 and _JOINED.match(text[after : found[1][0]]) and _BETWEEN.search(before):
        return Window(start, max(end, _seconds(found[1][2].end, zone)))
    if _SINCE.search(before):
        return Window(start, math.inf)
    if _UNTIL.search(before):
        return Window(-math.inf, start if re.search(r"before|prior|earlier", before[-12:], re.IGNORECASE) else end)
    for _, _, other in found[1:]:  # several dates: a message near any of them may answer
        start, end = min(start, _seconds(other.start, zone)), max(end, _seconds(other.end, zone))
    return Window(start, end)


def _seconds(day: date, zone: object) -> float:
    moment = datetime(day.year, day.month, day.day, tzinfo=zone)  # type: ignore[arg-type]
    return moment.timestamp()


def _spans(text: str, today: date) -> list[tuple[int, int, _Days]]:
    """The dates of a text in order, each with its offsets; the longest reading of a place wins."""
    found: list[tuple[int, int, _Days]] = []
    for pattern, reading in _READINGS:
        for match in pattern.finditer(text):
            start, end = match.span()
            if any(start < other_end and other_start < end for other_start, other_end, _ in found):
                continue
            if (days := reading(match, today)) is not None:
                found.append((match.start("at") if "at" in match.re.groupindex else start, end, days))
    return sorted(found, key=lambda one: one[0])


def _one_day(day: date) -> _Days:
    return _Days(day, day + timedelta(days=1))


def _month_days(year: int, month: int) -> _Days:
    return _Days(date(year, month, 1), date(year + month // 12, month % 12 + 1, 1))


def _number_of_month(name: str) -> int:
    return 1 + next(number for number, month in enumerate(_MONTHS) if month.startswith(name.lower()[:3]))


def _iso(match: re.Match[str], _: date) -> _Days | None:
    return _valid_day(int(match["year"]), int(match["month"]), int(match["day"]))


def _slashes(match: re.Match[str], _: date) -> _Days | None:
    """05/03/2024: the month comes first, as in America, unless it cannot."""
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
    return _valid_day(year, first, second) or _valid_day(year, second, first)


def _valid_day(year: int, month: int, day: int) -> _Days | None:
    try:
        return _one_day(date(year, month, day))
    except ValueError:
        return None


def _named_day(match: re.Match[str], today: date) -> _Days | None:
    month, day = _number_of_month(match["month"]), int(match["day"])
    if match["year"]:
        return _valid_day(int(match["year"]), month, day)
    this_year = _valid_day(today.year, month, day)
    return this_year if this_year is None or this_year.start <= today else _valid_day(today.year - 1, month, day)


def _named_month(match: re.Match[str], today: date) -> _Days | None:
    month = _number_of_month(match["month"])
    year = match.groupdict().get("year")
    if year:
        return _month_days(int(year), month)
    return _month_days(today.year if month <= today.month else today.year - 1, month)


def _whole_year(match: re.Match[str], _: date) -> _Days | None:
    year = int(match["year"])
    return _Days(date(year, 1, 1), date(year + 1, 1, 1))


def _day_word(match: re.Match[str], today: date) -> _Days | None:
    word = match[0].lower()
    if "before yesterday" in word:
        return _one_day(today - timedelta(days=2))
    if "yesterday" in word or "last night" in word:
        return _one_day(today - timedelta(days=1))
    return _one_day(today)


def _named_span(match: re.Match[str], today: date) -> _Days | None:
    """Last, this or past week, month, year or weekend."""
    back = 0 if match["which"].lower() in ("this", "current") else 1
    unit = match["unit"].lower()
    if unit in ("week", "weekend"):
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return _Days(monday + timedelta(days=5 if unit == "weekend" else 0), monday + timedelta(days=7))
    if unit == "month":
        months = today.year * 12 + today.month - 1 - back
        return _month_days(months // 12, months % 12 + 1)
    return _Days(date(today.year - back, 1, 1), date(today.year - back + 1, 1, 1))


def _count(match: re.Match[str]) -> int:
    words = match["count"].lower().removesuffix(" of").split()
    return int(words[-1]) if words[-1].isdigit() else _NUMBERS[words[-1]]


def _ago(match: re.Match[str], today: date) -> _Days | None:
    """3 weeks ago: around that day, the wider the longer ago."""
    size = _DAYS[match["unit"].lower()]
    day = today - timedelta(days=_count(match) * size)
    around = timedelta(days=size // 2)
    return _Days(day - around, day + around + timedelta(days=1))


def _past(match: re.Match[str], today: date) -> _Days | None:
    days = _count(match) * _DAYS[match["unit"].lower()]
    return _Days(today - timedelta(days=days), today + timedelta(days=1))


def _recently(_: re.Match[str], today: date) -> _Days | None:
    return _Days(today - timedelta(days=_RECENT_DAYS), today + timedelta(days=1))


def _weekday(match: re.Match[str], today: date) -> _Days | None:
    back = (today.weekday() - _WEEKDAYS.index(match["weekday"].lower())) % 7
    return _one_day(today - timedelta(days=back or 7))


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


# The exact ones first: what one of them reads, the next ones leave alone.
_READINGS: tuple[tuple[re.Pattern[str], _Reading], ...] = (
    (_pattern(r"\b" + _YEAR[:-2] + r"-(?P<month>[01]\d)-(?P<day>[0-3]\d)(?!\d)"), _iso),
    (_pattern(r"\b(?P<first>[0-3]?\d)/(?P<second>[0-3]?\d)/" + _YEAR), _slashes),
    (_pattern(r"\b" + _DAY + r"(?: of)? " + _MONTH + r"(?:,? " + _YEAR + ")?"), _named_day),
    (_pattern(r"\b" + _MONTH + r"[ -]" + _DAY + r"(?!:)(?:,?[ -]" + _YEAR + ")?"), _named_day),
    (_pattern(r"\b" + _MONTH + r"(?: of|,)?[ -]" + _YEAR), _named_month),
    (_pattern(r"\b" + _COUNT + " " + _UNIT + r" (?:ago|earlier|back)\b"), _ago),
    (_pattern(r"\b(?:last|past|previous) " + _COUNT + " " + _UNIT), _past),
    (_pattern(r"\b(?:the day before yesterday|yesterday|last night|today|tonight|this (?:morning|afternoon|evening))\b"), _day_word),  # noqa: E501
    (_pattern(r"\b(?P<which>last|this|past|previous|current) (?P<unit>weekend|week|month|year)\b"), _named_span),
    (_pattern(r"\b(?:on|last|this|since|until|before|after|by|from) (?P<at>(?P<weekday>" + "|".join(_WEEKDAYS) + r"))\b"), _weekday),  # noqa: E501
    (_pattern(_BEFORE_MONTH + "(?P<at>" + _MONTH + ")"), _named_month),
    (_pattern(r"\b(?:in|during|since|until|before|after|from|of|between|and) (?P<at>" + _YEAR + ")"), _whole_year),
    (_pattern(r"\b(?:recently|lately|these days)\b"), _recently),
)  # fmt: skip
