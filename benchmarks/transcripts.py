"""How fast transcripts are read: megabytes a second over 500 MB, and how much memory that takes.

The transcript is made up, with the shape of real ones: long results of Read with their file beside them, edits with
the whole file in them, shell output, searches, thinking and prompts. It is written outside the repository once and
kept. The reading runs in a process of its own, whose peak memory is compared with that of a tenth of the file.

    python benchmarks/transcripts.py [--megabytes 500] [--scratch DIR] [--repeat 3]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from measure import MB, machine, run, table

_CHILD = """
import json, resource, sys, time
from sage_code.transcripts.reader import TranscriptReader
started, cpu = time.perf_counter(), time.process_time()
reader = TranscriptReader(sys.argv[1])
touches = sum(1 for _ in reader)
print(json.dumps({
    "seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu, "touches": touches,
    "bytes": reader.stats.bytes, "lines": reader.stats.lines, "corrupt": reader.stats.corrupt,
    "too_long": reader.stats.too_long, "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""
TARGET_MB_S = 50


class MadeUpSession:
    """Writes the records of a session: calls, their results, and all records between them."""

    def __init__(self, seed: int, sources: list[str], root: str = "/w/app") -> None:
        self._random = random.Random(seed)
        self._sources, self._root, self._number = sources, root, 0
        self.touches = 0  # what a reader must find

    def records(self) -> Iterator[dict[str, Any]]:
        """An endless stream of records."""
        makers = [self._read, self._edit, self._bash, self._grep, self._talk, self._snapshot]
        while True:
            yield from self._random.choices(makers, weights=[30, 14, 26, 10, 30, 2])[0]()

    def _record(self, kind: str, **more: Any) -> dict[str, Any]:
        self._number += 1
        at = datetime(2026, 8, 1, tzinfo=UTC) + timedelta(seconds=self._number)
        return {
            "parentUuid": f"{self._number - 1:032x}", "isSidechain": False, "userType": "external", "cwd": self._root,
            "sessionId": "5e551011-0000-4000-8000-000000000000", "version": "2.1.240", "gitBranch": "main",
            "type": kind, **more, "uuid": f"{self._number:032x}",
            "timestamp": at.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        }  # fmt: skip

    def _call(self, tool: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """A tool call: its id and its record."""
        number = f"toolu_{self._number:024x}"
        usage = {
            "input_tokens": 3, "output_tokens": 90,
            "cache_read_input_tokens": 61000, "cache_creation_input_tokens": 700,
        }  # fmt: skip
        block = {"type": "tool_use", "id": number, "name": tool, "input": given}
        message = {
            "id": f"msg_{self._number:x}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
            "content": [block], "stop_reason": None, "usage": usage,
        }  # fmt: skip
        return number, self._record("assistant", message=message, requestId=f"req_{self._number:x}")

    def _result(self, number: str, text: str, details: Any, failed: bool = False) -> dict[str, Any]:
        block = {"tool_use_id": number, "type": "tool_result", "content": text, "is_error": failed}
        return self._record("user", message={"role": "user", "content": [block]}, toolUseResult=details)

    def _source(self) -> tuple[str, list[str]]:
        number = self._random.randrange(len(self._sources))
        return f"{self._root}/src/module_{number}.py", self._sources[number].split("\n")

    def _read(self) -> Iterator[dict[str, Any]]:
        path, lines = self._source()
        number, call = self._call("Read", {"file_path": path})
        yield call
        shown = "\n".join(f"{at:>6}\t{line}" for at, line in enumerate(lines, 1))
        file = {"filePath": path, "content": "\n".join(lines), "numLines": len(lines), "startLine": 1}
        self.touches += 1
        yield self._result(number, shown, {"type": "text", "file": {**file, "totalLines": len(lines)}})

    def _edit(self) -> Iterator[dict[str, Any]]:
        """An edit of a file, with the whole file in its result."""
        path, lines = self._source()
        at = self._random.randrange(max(1, len(lines) - 8))
        old, new = "\n".join(lines[at : at + 3]), "\n".join(["# changed", *lines[at : at + 3]])
        number, call = self._call("Edit", {"file_path": path, "old_string": old, "new_string": new})
        yield call
        if self._random.random() < 0.1:
            yield self._result(number, "String to replace not found in file.", "Error: String to replace", failed=True)
            return
        hunk = {
            "oldStart": at + 1, "oldLines": 3, "newStart": at + 1, "newLines": 4,
            "lines": ["+# changed", *(f" {line}" for line in lines[at : at + 3])],
        }  # fmt: skip
        details = {
            "filePath": path, "oldString": old, "newString": new, "originalFile": "\n".join(lines),
            "structuredPatch": [hunk], "userModified": False, "replaceAll": False,
        }  # fmt: skip
        self.touches += 1
        yield self._result(number, f"The file {path} has been updated.\n{new}", details)

    def _bash(self) -> Iterator[dict[str, Any]]:
        _, lines = self._source()
        number, call = self._call("Bash", {"command": "python -m pytest -q tests | tail -40", "description": "tests"})
        yield call
        output = "\n".join(lines[:200])
        yield self._result(number, output, {"stdout": output, "stderr": "", "interrupted": False})

    def _grep(self) -> Iterator[dict[str, Any]]:
        number, call = self._call("Grep", {"pattern": "def .*retry", "output_mode": "files_with_matches"})
        yield call
        names = [f"src/module_{self._random.randrange(500)}.py" for _ in range(12)]
        self.touches += len(set(names))
        details = {"mode": "files_with_matches", "filenames": names, "numFiles": len(names)}
        yield self._result(number, f"Found {len(names)} files\n" + "\n".join(names), details)

    def _talk(self) -> Iterator[dict[str, Any]]:
        _, lines = self._source()
        text = [{"type": "text", "text": "I will look at it. " * 20 + "\n".join(lines[:30])}]
        yield self._record("assistant", message={"id": f"msg_{self._number:x}", "role": "assistant", "content": text})

    def _snapshot(self) -> Iterator[dict[str, Any]]:
        files = {f"src/module_{n}.py": {"backupFileName": f"{n:x}@v2", "version": 2} for n in range(60)}
        yield {"type": "file-history-snapshot", "messageId": "m", "snapshot": {"trackedFileBackups": files}}


def write_transcript(path: str, size: int, seed: int = 1) -> int:
    """Write at least `size` bytes of a session; returns how many touches are in them."""
    session = MadeUpSession(seed, _texts())
    written = 0
    with open(path, "wb") as file:
        for record in session.records():
            line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
            file.write(line)
            written += len(line)
            if written >= size and record["type"] != "assistant":
                return session.touches
    return session.touches


def _texts() -> list[str]:
    """Source files of Sage itself: real code, with the quotes and escapes of real code."""
    top = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sage_code")
    paths = sorted(os.path.join(folder, name) for folder, _, names in os.walk(top) for name in names)
    texts = []
    for path in paths:
        if path.endswith(".py"):
            with open(path, encoding="utf-8") as file:
                texts.append(file.read())
    return texts


def main() -> None:
    """Make the file, read it, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--scratch", default=os.path.join(tempfile.gettempdir(), "sage-transcripts"))
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    os.makedirs(given.scratch, exist_ok=True)
    rows = []
    for megabytes in (given.megabytes // 10, given.megabytes):
        path = os.path.join(given.scratch, f"session-{megabytes}.jsonl")
        touches = write_transcript(path, megabytes * MB)
        found = [run([sys.executable, "-c", _CHILD, path]).json() for _ in range(given.repeat)]
        best = min(found, key=lambda one: one["seconds"])
        assert best["touches"] == touches, f"{best['touches']} touches found, {touches} written"
        size = best["bytes"] / MB
        speeds = ", ".join(f"{size / one['seconds']:.0f}" for one in found)
        rows.append((f"{size:.0f} MB, {best['lines']:,} lines", f"{touches:,} of {touches:,}", speeds,
                     f"{size / best['cpu']:.0f}", f"{best['peak_mb']:.0f} MB"))  # fmt: skip
        os.unlink(path)
    print(machine())
    print(table(("transcript", "touches found", "MB/s, each run", "MB per CPU second", "peak memory"), rows))
    print(f"target: {TARGET_MB_S} MB/s")


if __name__ == "__main__":
    main()
