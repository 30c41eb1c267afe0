"""Made-up transcripts: records with the shape of Claude Code's, written into an agent's folder of the test's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

CWD = "/w/app"


class Session:
    """Builds the lines of a session."""

    def __init__(self, cwd: str = CWD) -> None:
        self.cwd = cwd
        self.records: list[dict[str, Any]] = []

    def _at(self) -> str:
        return f"2026-08-01T10:{len(self.records) // 60:02}:{len(self.records) % 60:02}.000Z"

    def call(self, tool: str, **given: Any) -> str:
        """An assistant's line with one call; returns its id."""
        number = f"toolu_{len(self.records)}"
        block = {"type": "tool_use", "id": number, "name": tool, "input": given}
        message = {"id": f"msg_{number}", "role": "assistant", "model": "m", "content": [block]}
        self.records.append(
            {"type": "assistant", "cwd": self.cwd, "timestamp": self._at(), "message": message, "sessionId": "S"}
        )
        return number

    def result(self, number: str, details: Any = None, *, content: Any = "ok", **more: Any) -> None:
        """The user's line with the result of a call."""
        block = {"type": "tool_result", "tool_use_id": number, "content": content, **more}
        record = {"type": "user", "cwd": self.cwd, "timestamp": self._at(), "sessionId": "S"}
        record["message"] = {"role": "user", "content": [block]}
        if details is not None:
            record["toolUseResult"] = details
        self.records.append(record)

    def does(self, tool: str, details: Any = None, *, content: Any = "ok", **given: Any) -> None:
        """A call and its good result."""
        self.result(self.call(tool, **given), details, content=content)

    def data(self) -> bytes:
        """The lines of the file."""
        return b"".join(json.dumps(record, separators=(",", ":")).encode() + b"\n" for record in self.records)


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def written(tmp_path: Path) -> Callable[[Session], str]:
    """Writes a session into a file and gives back its path."""

    def write(session: Session) -> str:
        path = tmp_path / "session.jsonl"
        path.write_bytes(session.data())
        return str(path)

    return write
