"""`sage usage` as a person sees it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    folder = tmp_path / "claude" / "projects" / "-x"
    folder.mkdir(parents=True)
    today = datetime.now(UTC).isoformat()
    lines = []
    for number, (model, tokens) in enumerate(
        [("claude-opus-4-6", 2_000_000), ("claude-haiku-4-5", 1_000_000), ("\x1b[31m", 5)]
    ):
        message = {"id": str(number), "model": model, "usage": {"input_tokens": tokens, "output_tokens": 2000}}
        lines.append(json.dumps({"type": "assistant", "timestamp": today, "cwd": "/w", "message": message}) + "\n")
    (folder / "s.jsonl").write_text("".join(lines))


def test_a_chart(used: None, sage: Run) -> None:
    found = sage("usage", "--by", "model")
    assert found.code == 0
    lines = {line.split()[0]: line for line in found.out.splitlines()[1:]}
    assert "$10.05" in lines["claude-opus-4-6"]
    assert lines["claude-opus-4-6"].count("█") > 5 * lines["claude-haiku-4-5"].count("█") > 0
    assert "$11.06" in lines["total"]
    assert "without a known price" in found.err
    assert "\x1b" not in found.out + found.err


def test_times(used: None, sage: Run) -> None:
    for since in ("7d", "4w", "3m", "2020-01-01", "all"):
        assert sage("usage", "--since", since).code == 0
    assert sage("usage", "--since", "2999-01-01").code == 1
    assert sage("usage", "--here").code == 1
    assert sage("usage", "--since", "yesterday").code == 2
    assert sage("usage", "--by", "colour").code == 2


def test_damaged_lines_of_transcripts_are_counted_and_said(used: None, sage: Run, tmp_path: Path) -> None:
    with (tmp_path / "claude" / "projects" / "-x" / "s.jsonl").open("a") as file:
        file.write('{"type":"assist\nnothing of a record\n{"type":"user","message":{"content":"cut of\n')
    found = sage("usage", "--by", "model")
    assert (found.code, "left out: 3 damaged lines" in found.err) == (0, True)
    assert json.loads(sage("usage", "--json").out)["lines_corrupt"] == 3
