"""Made-up sessions of Claude Code in a project of the test's own; `playing.py` plays whole ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from playing import Machine


class Talk:
    """A transcript that grows."""

    def __init__(self, path: Path, root: Path, session: str = "s1", start: str = "2026-11-17T10") -> None:
        self.path, self.root, self.session, self.start = path, root, session, start
        self.count = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()

    def write(self, **record: Any) -> None:
        self.count += 1
        stamp = f"{self.start}:{self.count // 60:02}:{self.count % 60:02}.000Z"
        whole = {"sessionId": self.session, "cwd": str(self.root), "gitBranch": "main", "timestamp": stamp, **record}
        with self.path.open("a") as file:
            file.write(json.dumps({"uuid": f"u{self.count}", **whole}) + "\n")

    def user(self, text: Any, **more: Any) -> None:
        self.write(type="user", message={"role": "user", "content": text}, **more)

    def agent(self, text: str, fill: int = 1_000) -> None:
        message = {"role": "assistant", "model": "m", "content": [{"type": "text", "text": text}]}
        message["usage"] = {"input_tokens": fill}  # type: ignore[assignment]
        self.write(type="assistant", message=message)

    def tool(self, name: str, output: str = "ok", *, is_error: bool = False, **given: Any) -> None:
        number = f"t{self.count}"
        call = {"type": "tool_use", "id": number, "name": name, "input": given}
        self.write(type="assistant", message={"role": "assistant", "content": [call]})
        result = {"type": "tool_result", "tool_use_id": number, "content": output, "is_error": is_error}
        self.user([result])

    def compaction(self, name: str, trigger: str = "auto") -> None:
        data = {"trigger": trigger, "preTokens": 167_000}
        self.write(type="system", subtype="compact_boundary", uuid=name, compactMetadata=data)
        self.user("This session is being continued from a previous conversation.", isCompactSummary=True)

    def work(self) -> None:
        """A session with a request, an edit, an error, a decision and an instruction."""
        (self.root / "queue.py").write_text("def send(event):\n    return event\n")
        self.user("Which queue do we use for the events? Do not add a new dependency.")
        self.tool("Read", file_path=str(self.root / "queue.py"))
        self.tool("Bash", "Traceback\nKeyError: 'topic'", is_error=True, command="python queue.py")
        self.tool("Edit", file_path=str(self.root / "queue.py"), old_string="event\n", new_string="event\n")
        self.agent("I decided to use Kafka because the order within a key matters. RabbitMQ won't work for that.")
        self.user("Keep the retries in one place, please.")
        self.agent("Done: the retries are in `send` now. Should the timeout be configurable?")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


@pytest.fixture
def talk(tmp_path: Path, root: Path) -> Talk:
    return Talk(tmp_path / "claude" / "projects" / "slug" / "s1.jsonl", root)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A computer with its own home, Sage's home and Claude Code's folder; nothing runs on it afterwards."""
    made = Machine(tmp_path / "machine")
    yield made
    assert made.settle() == 0, "background processes are left"
