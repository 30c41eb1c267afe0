"""Tokens and cost: each reply counts once, although transcripts repeat it."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from sage_code.errors import UsageError
from sage_code.transcripts.prices import Tokens, cost
from sage_code.transcripts.usage import usage


@pytest.fixture
def projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setenv("TZ", "UTC")
    folder = tmp_path / "claude" / "projects" / "-w-app"
    folder.mkdir(parents=True)
    return folder


def _line(number: str | None, model: str = "claude-sonnet-4-6", day: str = "2026-08-01", **tokens: Any) -> str:
    message = {"id": number, "role": "assistant", "model": model, "usage": tokens, "content": []}
    record = {"type": "assistant", "cwd": "/w/app", "timestamp": f"{day}T12:00:00.000Z", "message": message}
    return json.dumps(record) + "\n"


def test_a_reply_of_several_lines_counts_once_with_its_largest_figures(projects: Path) -> None:
    lines = [_line("m1", input_tokens=3, output_tokens=1), _line("m1", input_tokens=3, output_tokens=90)] * 3
    (projects / "s.jsonl").write_text("".join(lines))
    (projects / "resumed.jsonl").write_text("".join(lines) + _line("m2", input_tokens=10))
    total = usage().total
    assert (total.replies, total.tokens.input, total.tokens.output) == (2, 13, 90)


def test_subagents_count(projects: Path) -> None:
    (projects / "s.jsonl").write_text(_line("m1", input_tokens=1))
    nested = projects / "s" / "subagents"
    nested.mkdir(parents=True)
    (nested / "agent-1.jsonl").write_text(_line("m2", input_tokens=2))
    assert usage().total.tokens.input == 3


def test_cache_writes_are_read_from_either_field(projects: Path) -> None:
    nested = {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 20}
    (projects / "s.jsonl").write_text(
        _line("m1", cache_creation_input_tokens=0, cache_creation=nested)
        + _line("m2", cache_creation_input_tokens=7)
        + _line("m3", cache_creation_input_tokens=120, cache_creation=nested)
    )
    tokens = usage().total.tokens
    assert (tokens.cache_write, tokens.cache_write_1h) == (207, 40)


def test_groups_and_the_first_day(projects: Path) -> None:
    (projects / "s.jsonl").write_text(
        _line("m1", day="2026-07-31", input_tokens=1)
        + _line("m2", day="2026-08-01", input_tokens=2)
        + _line("m3", "claude-haiku-4-5", day="2026-08-02", input_tokens=4)
    )
    report = usage(("model", "day"), date(2026, 8, 1))
    assert [(row.keys, row.tokens.input) for row in report.rows] == [
        (("claude-haiku-4-5", "2026-08-02"), 4),
        (("claude-sonnet-4-6", "2026-08-01"), 2),
    ]
    assert [row.keys for row in usage(("project",)).rows] == [("/w/app",)]
    assert usage(project="/elsewhere").rows == ()
    with pytest.raises(UsageError):
        usage(("colour",))


def test_a_model_without_a_price_counts_without_cost(projects: Path) -> None:
    (projects / "s.jsonl").write_text(
        _line("m1", "claude-future-9", input_tokens=5)
        + _line("m2", input_tokens=1_000_000)
        + _line("m3", "<synthetic>")
    )
    report = usage(("model",))
    assert report.unpriced_models == ("claude-future-9",)
    assert [(row.cost, row.unpriced) for row in report.rows] == [(None, 5), (3.0, 0)]
    assert report.total.cost == 3.0


def test_damaged_and_hostile_lines(projects: Path) -> None:
    odd = [_line(None, input_tokens=-5, output_tokens="x"), _line("m9", input_tokens=10**30, output_tokens=True)]
    odd += ['{"usage":1,"assistant":\n', '{"type":"assistant","usage":{},"message":[]}\n', '["usage","assistant"]\n']
    (projects / "s.jsonl").write_text("".join(odd) + _line("m1", input_tokens=1))
    report = usage()
    assert report.total.tokens.total == 1
    assert report.corrupt == 2  # cut off, and a list in place of a record


def test_codex_counts_up_and_repeats_itself(projects: Path, tmp_path: Path) -> None:
    def line(kind: str, at: int, **payload: Any) -> str:
        return json.dumps({"timestamp": f"2026-08-01T12:00:0{at}Z", "type": kind, "payload": payload}) + "\n"

    def count(at: int, total: int) -> str:
        step = {"input_tokens": 100, "cached_input_tokens": 60, "output_tokens": 10, "total_tokens": 110}
        return line(
            "event_msg",
            at,
            type="token_count",
            info={"last_token_usage": step, "total_token_usage": {"total_tokens": total}},
        )

    folder = tmp_path / "codex" / "sessions" / "2026"
    folder.mkdir(parents=True)
    text = line("session_meta", 0, cwd="/w/app") + line("turn_context", 0, model="gpt-5-codex", cwd="/w/app")
    text += count(1, 110) + count(2, 110) + count(3, 220)
    (folder / "rollout-a.jsonl").write_text(text)
    (folder / "rollout-resumed.jsonl").write_text(text + count(4, 330))
    report = usage(("model", "project"))
    (row,) = report.rows
    assert row.keys == ("gpt-5-codex", "/w/app")
    assert (row.replies, row.tokens) == (3, Tokens(120, 30, 180))


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-sonnet-4-6", 18.0),
        ("claude-opus-4-5-20251101", 30.0),
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", 30.0),
        ("anthropic/claude-opus-4-6", 30.0),
        ("claude-opus-4-6[1m]", 30.0),
        ("claude-opus-4-5@20251101", 30.0),
        ("claude-opus-4-99", None),
        ("claude-opus", None),
        ("", None),
    ],
)
def test_names_of_models(model: str, expected: float | None) -> None:
    assert cost(model, Tokens(1_000_000, 1_000_000)) == expected


def test_a_long_prompt_may_cost_more() -> None:
    assert cost("claude-sonnet-4-5", Tokens(input=100_000)) == 0.3
    assert cost("claude-sonnet-4-5", Tokens(input=100_000, cache_read=200_000)) == 0.72
