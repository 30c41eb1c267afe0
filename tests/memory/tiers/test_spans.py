"""Limits of time as people write them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from sage_code.errors import UsageError
from sage_code.memory.tiers.spans import since_of, until_of

NOW = datetime(2026, 11, 18, 12, 0, tzinfo=UTC)


def _day(text: str) -> datetime:
    """The beginning of a day, in the time zone of the machine."""
    return datetime.fromisoformat(text).astimezone(UTC)


@pytest.mark.parametrize(
    ("text", "since", "until"),
    [
        ("2026-03-01", "2026-03-01", "2026-03-02"),
        ("2026-03", "2026-03-01", "2026-04-01"),
        ("March", "2026-03-01", "2026-04-01"),
        ("in December", "2025-12-01", "2026-01-01"),
        ("last week", "2026-11-09", "2026-11-16"),
        ("yesterday", "2026-11-17", "2026-11-18"),
        ("2025", "2025-01-01", "2026-01-01"),
    ],
)
def test_a_span_has_a_beginning_and_an_end(text: str, since: str, until: str) -> None:
    assert since_of(text, NOW) == _day(since)
    assert until_of(text, NOW) == _day(until)


def test_a_moment_is_exact() -> None:
    assert since_of("2 hours ago", NOW) == until_of("2 hours ago", NOW) == datetime(2026, 11, 18, 10, tzinfo=UTC)
    assert since_of("2026-03-01T14:30:00Z") == datetime(2026, 3, 1, 14, 30, tzinfo=UTC)
    assert since_of("9999 years ago", NOW) == datetime.min.replace(tzinfo=UTC)
    assert since_of("  ", NOW) is None


@pytest.mark.parametrize("text", ["whenever", "2026-13", "0000-03", "2026-02-31", "before March", "x" * 100_000])
def test_what_names_no_time_is_an_error_with_examples(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        since_of(text, NOW)
    assert "2026" in refused.value.hint
    assert len(refused.value.message) < 200
