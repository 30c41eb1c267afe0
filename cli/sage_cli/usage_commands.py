"""`sage usage`: shows tokens and cost from the transcripts of agents, as a chart in the terminal."""

from __future__ import annotations

import re
import shutil
import sys
from datetime import date, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sage_cli.options import JsonOption
from sage_cli.output import exit_if_nothing, one_line, print_json
from sage_code.errors import UsageError

if TYPE_CHECKING:
    from sage_code.transcripts.usage import UsageReport, UsageRow

_DAYS = re.compile(r"(\d{1,5})([dwm])")
_DAYS_IN = {"d": 1, "w": 7, "m": 30}
_BLOCKS = " ▏▎▍▌▋▊▉█"
_LONGEST_LABEL = 40
_LEAST_BAR, _LONGEST_BAR = 8, 40


def usage(
    since: Annotated[
        str, typer.Option("--since", "-s", metavar="WHEN", help="7d, 4w, 3m, a date like 2026-08-01, or all.")
    ] = "30d",
    by: Annotated[str, typer.Option("--by", "-b", help="day, model, project, or several: day,model.")] = "day",
    here: Annotated[bool, typer.Option("--here", help="Only the current project.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the tokens that agents have used, and their cost at list prices.

    Read from the transcripts of Claude Code and Codex CLI on this machine. Each reply counts once, however many lines
    it has; a model without a known price counts without one. Exits with 1 when nothing was used.

    Example:  sage usage

    Example:  sage usage --by model,project --since 4w

    Example:  sage usage --here --json
    """
    from sage_code.paths import find_root
    from sage_code.transcripts.usage import usage as usage_of

    start = _start(since)
    keys = [key.strip() for key in by.split(",") if key.strip()]
    report = usage_of(keys, start, find_root(".") if here else None)
    if as_json:
        print_json(_document(report, start))
    else:
        _show(report)
    exit_if_nothing(report.rows)


def _start(since: str) -> date | None:
    """The first day that `--since` means; None for all."""
    if since == "all":
        return None
    try:
        if found := _DAYS.fullmatch(since):
            return date.today() - timedelta(days=int(found[1]) * _DAYS_IN[found[2]] - 1)
        return date.fromisoformat(since)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{since[:40]!r} is no time", "7d, 4w, 3m, a date like 2026-08-01, or all") from error


def _document(report: UsageReport, start: date | None) -> dict[str, Any]:
    """The report as `compiled_schema/usage.json` describes it."""
    from sage_code.transcripts.prices import dated

    rows = [{**dict(zip(report.by, row.keys, strict=True)), **_figures(row)} for row in report.rows]
    return {
        "since": start.isoformat() if start else None,
        "by": list(report.by),
        "rows": rows,
        "total": _figures(report.total),
        "unpriced_models": list(report.unpriced_models),
        "prices_dated": dated(),
        "files": report.files,
        "lines_corrupt": report.corrupt,
        "lines_too_long": report.too_long,
    }


def _figures(row: UsageRow) -> dict[str, Any]:
    """Tokens and cost of a row, as `--json` prints them."""
    return {
        "replies": row.replies,
        "input_tokens": row.tokens.input,
        "output_tokens": row.tokens.output,
        "cache_read_tokens": row.tokens.cache_read,
        "cache_write_tokens": row.tokens.cache_write + row.tokens.cache_write_1h,
        "total_tokens": row.tokens.total,
        "cost_usd": row.cost,
        "unpriced_tokens": row.unpriced,
    }


def _show(report: UsageReport) -> None:
    """Print the report as a chart."""
    from sage_code.transcripts.prices import dated

    if report.corrupt or report.too_long:
        print(f"left out: {report.corrupt} damaged lines, {report.too_long} that are too long", file=sys.stderr)
    if not report.rows:
        print("no transcript has any usage", file=sys.stderr)
        return
    labels = [_shortened("  ".join(row.keys)) for row in report.rows]
    wide = max(map(len, [*labels, "total"]))
    bar = min(_LONGEST_BAR, max(_LEAST_BAR, shutil.get_terminal_size().columns - wide - 46))
    most = max(_height(row) for row in report.rows) or 1.0
    print(f"{'':<{wide}}  {'input':>8} {'output':>8} {'cached':>8} {'cost':>10}")
    for label, row in zip(labels, report.rows, strict=True):
        print(f"{label:<{wide}}  {_line(row)}  {_bar(_height(row) / most, bar)}".rstrip())
    print(f"{'total':<{wide}}  {_line(report.total)}")
    if report.unpriced_models:
        models = one_line(", ".join(report.unpriced_models))
        print(f"without a known price: {models} ({_short(report.total.unpriced)} tokens)", file=sys.stderr)
    print(f"list prices of {dated()}; what a subscription costs is another matter", file=sys.stderr)


def _line(row: UsageRow) -> str:
    cached = row.tokens.cache_read
    fresh = row.tokens.input + row.tokens.cache_write + row.tokens.cache_write_1h
    cost = "?" if row.cost is None else f"${row.cost:,.2f}"
    return f"{_short(fresh):>8} {_short(row.tokens.output):>8} {_short(cached):>8} {cost:>10}"


def _height(row: UsageRow) -> float:
    """The value of a bar: the cost; without a known price a guess from the tokens, so that the bar is visible."""
    return row.cost if row.cost is not None else row.tokens.total / 1e6


def _bar(share: float, width: int) -> str:
    eighths = round(share * width * 8)
    return "█" * (eighths // 8) + (_BLOCKS[eighths % 8] if eighths % 8 else "")


def _short(count: int) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)


def _shortened(label: str) -> str:
    label = one_line(label)
    return label if len(label) <= _LONGEST_LABEL else "…" + label[-_LONGEST_LABEL + 1 :]
