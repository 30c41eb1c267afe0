"""A pending brief comes with the next answer of any tool: once, and for its own session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mcp import Client
from talking import content, over_stdio, text

from sage_code.continuity.overview import mark, sessions
from sage_code.continuity.session import Session


def _waiting(root: Path, tmp_path: Path, session: str) -> None:
    """A session in the project that waits for its brief."""
    path = tmp_path / f"{session}.jsonl"
    stamp = "2026-11-17T10:00:00.000Z"

    def line(kind: str, said: Any) -> str:
        return json.dumps({"type": kind, "timestamp": stamp, "message": {"role": kind, "content": said}}) + "\n"

    answer = [{"type": "text", "text": f"I decided to use Kafka for {session} because order matters."}]
    path.write_text(line("user", f"Which queue do we use in {session}?") + line("assistant", answer))
    with Session(session, str(root)) as state:
        state.data["transcript"] = str(path)
    mark(str(root), session)


def _project(tmp_path: Path) -> Path:
    root = tmp_path / "app"
    (root / ".git").mkdir(parents=True)
    (root / "queue.py").write_text("def send():\n    pass\n")
    return root


def test_a_pending_brief_comes_once_with_any_answer(tmp_path: Path) -> None:
    root = _project(tmp_path)
    _waiting(root, tmp_path, "s1")
    _waiting(root, tmp_path, "s2")

    async def another(client: Client) -> None:
        status = await client.call_tool("sage_continuity_status", {})
        assert {one["state"] for one in content(status)["sessions"]} == {"answered", "pending"}
        assert "continuity" not in content(status)
        assert "<sage-brief" not in text(status)

    async def its_own(client: Client) -> None:
        answers = [await client.call_tool("sage_version", {}) for _ in range(3)]
        told = [content(answer).get("continuity", "") for answer in answers]
        assert "I decided to use Kafka for s1" in told[0]
        assert told[1:] == ["", ""]
        assert told[0] in text(answers[0])
        assert "s2" not in told[0]

    over_stdio(its_own, root, CLAUDE_CODE_SESSION_ID="s1")
    states = {one.session: one.state for one in sessions(str(root))}
    assert states == {"s1": "answered", "s2": "pending"}
    over_stdio(another, root, CLAUDE_CODE_SESSION_ID="s3")
    assert {one.session: one.state for one in sessions(str(root))} == states
