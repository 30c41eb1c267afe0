"""What the watcher costs while nothing happens, and how soon it sees a compaction.

    python benchmarks/watcher.py

Some sessions of Claude Code and Codex in as many projects, each with a transcript that has grown while the watcher ran.
Then: processor time and memory while nothing is written, the same while every transcript grows once a second, and the
time from the line of a compaction to the moment at which the state of its session says `pending`, for one compaction
after the other and for all at once. The processes that save checkpoints are not part of the watcher's own figures.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from measure import MB, table

_PENDING = "pending"
_PATIENCE_S = 60.0
_TEXT = "The cache is cleared too late, because `clear` runs after the write; I decided to use sqlite. " * 6


class _Agent:
    """One session, with its transcript."""

    def __init__(self, home: Path, number: int, kilobytes: int) -> None:
        self.session = str(UUID(int=number + 1))
        self.is_codex = number % 5 == 4
        self.root = home / f"work/project{number}"
        (self.root / ".git").mkdir(parents=True)
        folder = home / (".codex/sessions/2026/11/17" if self.is_codex else f".claude/projects/project{number}")
        folder.mkdir(parents=True, exist_ok=True)
        name = f"rollout-2026-11-17T10-00-00-{self.session}" if self.is_codex else self.session
        self.path = folder / f"{name}.jsonl"
        self._append([self._line("user", "Begin.")] + [self._line("assistant", _TEXT)] * (kilobytes * 1024 // 800))

    def grow(self) -> None:
        self._append([self._line("user", "Go on with the cache, and keep it small."), self._line("assistant", _TEXT)])

    def compact(self, id_: str) -> None:
        if self.is_codex:
            self._append([{"timestamp": id_, "type": "compacted", "payload": {"message": "the cache"}}])
            return
        boundary = {"type": "system", "subtype": "compact_boundary", "uuid": id_, "compactMetadata": {}}
        summary = {"type": "user", "isCompactSummary": True, "message": {"role": "user", "content": "the cache"}}
        self._append([boundary, summary])

    def is_pending(self, id_: str) -> bool:
        from sage_code.continuity.session import Session

        state = Session(self.session, str(self.root))
        state.load()
        known = state.data.get("compaction") or {}
        return known.get("id") == id_ and known.get("state") == _PENDING

    def _line(self, role: str, text: str) -> dict[str, Any]:
        when = "2026-11-17T10:00:00.000Z"
        if self.is_codex:
            kind = "input_text" if role == "user" else "output_text"
            message = {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
            return {"timestamp": when, "type": "response_item", "payload": {**message, "cwd": str(self.root)}}
        content = [{"type": "text", "text": text}]
        return {"type": role, "cwd": str(self.root), "timestamp": when, "message": {"role": role, "content": content}}

    def _append(self, records: Iterable[dict[str, Any]]) -> None:
        with self.path.open("ab") as file:
            file.write("".join(f"{json.dumps(record)}\n" for record in records).encode())


def _cpu_seconds(pid: int) -> float:
    import psutil

    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


def _share(pid: int, seconds: float, work: Iterable[_Agent] = ()) -> float:
    """The share of one core in percent that the watcher takes, while `work` grows once a second."""
    before, started = _cpu_seconds(pid), time.monotonic()
    while time.monotonic() - started < seconds:
        turn = time.monotonic()
        for agent in work:
            agent.grow()
        time.sleep(max(0.0, 1.0 - (time.monotonic() - turn)))
    return 100 * (_cpu_seconds(pid) - before) / (time.monotonic() - started)


def _until(check: Any) -> None:
    ends = time.monotonic() + _PATIENCE_S
    while not check():
        if time.monotonic() > ends:
            raise SystemExit("the watcher has seen nothing for a minute")
        time.sleep(0.005)


def _latencies(agents: list[_Agent], count: int, chance: Random) -> list[float]:
    found = []
    for number in range(count):
        time.sleep(chance.uniform(0.2, 1.2))  # not in step with the watcher
        agent, id_ = agents[number % len(agents)], f"c{number}"
        started = time.monotonic()
        agent.compact(id_)
        _until(lambda agent=agent, id_=id_: agent.is_pending(id_))
        found.append(time.monotonic() - started)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--transcripts", type=int, default=50)
    parser.add_argument("--kilobytes", type=int, default=1024, help="of each transcript at the start")
    parser.add_argument("--compactions", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30.0, help="how long the processor time is measured")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(os.path.realpath(folder))
        os.environ |= {"HOME": str(home), "SAGE_HOME": str(home / ".sage")}
        for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
            os.environ.pop(variable, None)
        _measure(home, given)


def _measure(home: Path, given: argparse.Namespace) -> None:
    """Start the watcher, measure it, and print the table."""
    import psutil

    from sage_code.continuity.watcher import process
    from sage_code.continuity.watcher.status import status

    agents = [_Agent(home, number, given.kilobytes) for number in range(given.transcripts)]
    started = time.monotonic()
    pid = process.start()[0].pid
    up_s = time.monotonic() - started
    try:
        for agent in agents:
            agent.grow()
        _until(lambda: status().following == given.transcripts)
        time.sleep(2)
        idle, idle_mb = _share(pid, given.seconds), psutil.Process(pid).memory_info().rss / MB
        busy = _share(pid, given.seconds, agents)
        alone = sorted(_latencies(agents, given.compactions, Random(1)))
        began = time.monotonic()
        for number, agent in enumerate(agents):
            agent.compact(f"all{number}")
        for number, agent in enumerate(agents):
            _until(lambda agent=agent, number=number: agent.is_pending(f"all{number}"))
        together = time.monotonic() - began
        most_mb = psutil.Process(pid).memory_info().rss / MB
    finally:
        process.stop()
    rows = [
        ("start until it watches", "–", f"{up_s:.2f} s"),
        (f"idle, {given.transcripts} transcripts: share of a core", "1 %", f"{idle:.2f} %"),
        ("idle: resident memory", "60 MB", f"{idle_mb:.1f} MB"),
        ("every transcript grows once a second: share of a core", "–", f"{busy:.2f} %"),
        ("resident memory at the end", "60 MB", f"{most_mb:.1f} MB"),
        (f"compaction to pending, {len(alone)}: median", "2 s", f"{statistics.median(alone):.2f} s"),
        (f"compaction to pending, {len(alone)}: slowest", "2 s", f"{alone[-1]:.2f} s"),
        (f"{given.transcripts} compactions at once, until the last is pending", "–", f"{together:.2f} s"),
    ]
    print(table(("claim", "target", "value"), rows))


if __name__ == "__main__":
    main()
