"""Bars for a page: the figures of each day as rectangles of an SVG, which needs neither a library nor inline styles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sage_code.transcripts.usage import UsageReport, UsageRow

# The SVG is stretched to its place, so these are shares, not pixels.
WIDTH, HEIGHT = 1_000.0, 100.0
_GAP = 0.18  # of the width of a day
# A day on which little was used is still to be seen.
_LEAST = 1.5


@dataclass(frozen=True, slots=True)
class Bar:
    """One day."""

    x: float
    y: float
    width: float
    height: float
    title: str


@dataclass(frozen=True, slots=True)
class UsageChart:
    """Tokens or dollars by day, and the same as rows of a table, the newest first."""

    bars: tuple[Bar, ...]
    top: str  # what the highest bar means
    first: str
    last: str
    unit: str
    rows: tuple[tuple[str, UsageRow], ...]
    total: UsageRow


def usage_chart(report: UsageReport, first: date, last: date) -> UsageChart:
    """The usage from one day to another, days without any included."""
    known = {row.keys[0]: row for row in report.rows}
    days = [(first + timedelta(days=n)).isoformat() for n in range((last - first).days + 1)]
    rows = [(day, known[day]) for day in days if day in known]
    has_price = report.total.cost is not None
    value: Callable[[UsageRow], float] = _cost if has_price else _tokens
    most = max((value(row) for _, row in rows), default=0.0)
    return UsageChart(
        bars=tuple(_bars(days, known, value, most)),
        top=dollars(most) if has_price else short(round(most)),
        first=days[0],
        last=days[-1],
        unit="list price in US dollars" if has_price else "tokens",
        rows=tuple(rows[::-1]),
        total=report.total,
    )


def _bars(
    days: Sequence[str], known: dict[str, UsageRow], value: Callable[[UsageRow], float], most: float
) -> list[Bar]:
    """A bar for each day with usage; the highest one is as high as the chart."""
    step = WIDTH / len(days)
    bars = []
    for number, day in enumerate(days):
        row = known.get(day)
        if row is None:
            continue
        height = max(value(row) / most * HEIGHT, _LEAST) if most else _LEAST
        price = f", {dollars(row.cost)}" if row.cost is not None else ""
        title = f"{day}: {short(row.tokens.total)} tokens{price}"
        x, width = step * (number + _GAP / 2), step * (1 - _GAP)
        bars.append(Bar(round(x, 2), round(HEIGHT - height, 2), round(width, 2), round(height, 2), title))
    return bars


def _cost(row: UsageRow) -> float:
    return row.cost or 0.0


def _tokens(row: UsageRow) -> float:
    return float(row.tokens.total)


def dollars(value: float | None) -> str:
    """`$1.20`; a question mark if there is no price."""
    return "?" if value is None else f"${value:,.2f}"


def short(count: int) -> str:
    """`1.2M` for a count that is too long to be read."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)


def size(count: int) -> str:
    """`1.2 MB` for a count of bytes."""
    for unit_size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= unit_size:
            return f"{count / unit_size:.1f} {unit}"
    return f"{count} bytes"
