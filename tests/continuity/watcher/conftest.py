"""Made-up sessions of agents in a home of the test's own, and a watcher that is always ended."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sage_code.continuity.session import Session
from sage_code.continuity.watcher import process

SESSION = "11111111-1111-4111-8111-111111111111"
_PATIENCE_S = 120.0


def until(check: Callable[[], Any], what: str = "it") -> Any:
    """Wait until `check` gives something; only a watcher that hangs lets this fail."""
    ends = time.monotonic() + _PATIENCE_S
    while not (found := check()):
        assert time.monotonic() < ends, f"waited in vain for {what}"
        time.sleep(0.02)
    return found


class Agent:
    """One session of an agent in a project, with its transcript."""

    def __init__(self, home: Path, root: Path, session: str = SESSION, codex: bool = False) -> None:
        self.root, self.session, self.codex = root, session, codex
        (root / ".git").mkdir(parents=True, exist_ok=True)
        folder = home / ".codex/sessions/2026/11/17" if codex else home / ".claude/projects" / root.name
        folder.mkdir(parents=True, exist_ok=True)
        name = f"rollout-2026-11-17T10-00-00-{session}.jsonl" if codex else f"{session}.jsonl"
        self.path = folder / name
        self._lines = 0
        self._began = datetime.now(UTC)

    def _at(self) -> str:
        self._lines += 1
        return (self._began + timedelta(milliseconds=self._lines)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def write(self, *records: dict[str, Any], end: str = "\n") -> None:
        """Append lines to the transcript."""
        with self.path.open("a") as file:
            file.write("\n".join(map(json.dumps, records)) + end)

    def talk(self, count: int = 4) -> None:
        """Some exchanges that are worth a checkpoint."""
        for number in range(count):
            ask = f"Please use sqlite and never json for cache {number}, because it must be fast."
            say = "The root cause is that the cache is never cleared, because `clear` is called too late. " * 8
            self.write(self.record("user", ask), self.record("assistant", say))

    def record(self, role: str, text: str) -> dict[str, Any]:
        """One message."""
        if self.codex:
            kind = "input_text" if role == "user" else "output_text"
            payload = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
            return {"timestamp": self._at(), "type": "response_item", "payload": payload}
        message = {"role": role, "content": text if role == "user" else [{"type": "text", "text": text}]}
        return {"type": role, "uuid": f"r{self._lines}", "cwd": str(self.root), "timestamp": self._at(),
                "sessionId": self.session, "message": message}  # fmt: skip

    def begin(self) -> None:
        """The line with the folder."""
        if self.codex:
            meta = {"id": self.session, "cwd": str(self.root)}
            self.write({"timestamp": self._at(), "type": "session_meta", "payload": meta})
        else:
            self.write(self.record("user", "Look at the cache."))

    def boundary(self, id_: str) -> dict[str, Any]:
        """The line of Claude Code where a context was compacted."""
        data = {"trigger": "auto", "preTokens": 167_000}
        return {"type": "system", "subtype": "compact_boundary", "uuid": id_, "content": "Conversation compacted",
                "compactMetadata": data, "timestamp": self._at()}  # fmt: skip

    def summary(self, id_: str, *, blocks: bool = False) -> dict[str, Any]:
        """The line with Claude Code's summary."""
        text = "This session is being continued from a previous conversation: the cache."
        content: Any = [{"type": "text", "text": text}] if blocks else text
        return {"type": "user", "uuid": id_, "isCompactSummary": True, "timestamp": self._at(),
                "message": {"role": "user", "content": content}}  # fmt: skip

    def compact(self, id_: str = "c1") -> None:
        """A compaction, as the agent writes it."""
        if self.codex:
            self.write({"timestamp": id_, "type": "compacted", "payload": {"message": "the cache"}})
        else:
            self.write(self.boundary(id_), self.summary(f"{id_}-summary"))

    def state(self) -> dict[str, Any]:
        """What is known about the session."""
        state = Session(self.session, str(self.root))
        state.load()
        return state.data

    def compaction(self) -> Any:
        """The id of the compaction and how it stands."""
        known = self.state().get("compaction") or {}
        return (known["id"], known["state"]) if known else None

    def is_recovered(self, id_: str = "c1") -> bool:
        """Whether the checkpoint of a compaction was dealt with."""
        return bool(self.state().get("recovered") == id_)


@pytest.fixture
def home(sage_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's home folder."""
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(variable, raising=False)
    return Path(os.path.realpath(sage_home.parent))


@pytest.fixture
def agent(home: Path) -> Agent:
    """A session of Claude Code that has said something."""
    made = Agent(home, home / "work/app")
    made.begin()
    made.talk()
    return made


@pytest.fixture
def watcher(home: Path) -> Iterator[process.Running]:
    """A watcher that runs."""
    yield process.start()[0]
    process.stop()


@pytest.fixture
def _none_left(home: Path) -> Iterator[None]:
    """Ends the watcher that a test has started."""
    yield
    process.stop()


def kill(found: process.Running) -> None:
    """End a watcher as a machine in need of memory does, and wait for its end."""
    os.kill(found.pid, signal.SIGKILL)
    until(lambda: process.birth_of(found.pid) != found.birth, "the killed watcher")
