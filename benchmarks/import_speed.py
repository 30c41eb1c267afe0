"""How fast transcripts come into recall memory, and whether each message is stored once, also after kills.

The transcripts are made up (`transcripts.py`), each with a session of its own. They are imported into a new SQLite
database, masked, with words and vectors, in a process of its own, whose peak memory is compared with that of a tenth of
the files. Nine imports more must find nothing new, the last of them reads everything again. Into another new database
they are imported by processes that are killed (SIGKILL) at random moments, and by one that is not: it must hold the
same messages. Ends with 1 if a message is missing or doubled.

    python benchmarks/import_speed.py [--megabytes 500] [--files 10] [--kills 5] [--scratch DIR]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import MB, machine, run, table
from transcripts import MadeUpSession, _texts

TARGET_MB_S = 20
_CHILD = """
import json, resource, sys, time
from sage_code.memory.tiers.importing import import_path
from sage_code.memory.tiers.opened import opened_recall
from sage_code.progress import Silent
from sage_code.settings.table import Settings
folder, database, again = sys.argv[1], sys.argv[2], sys.argv[3] == "again"
recall = opened_recall(Settings(memory_user="ada"), database)
started, cpu = time.perf_counter(), time.process_time()
report = import_path(folder, recall, Silent(), again=again)
seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
print(json.dumps({
    "seconds": seconds, "cpu": cpu, "bytes": report.bytes, "new": report.messages, "known": report.known,
    "unchanged": report.unchanged, "bad": report.bad_lines, "count": recall.count(),
    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""
_DIGEST = """
import hashlib, sys
from sage_code.memory.tiers.engines.sqlite import SqliteEngine
engine, digest, count = SqliteEngine(sys.argv[1]), hashlib.sha256(), 0
with engine.reading() as rows:
    for row in rows.all("SELECT m.role, m.created_at, m.content, s.id FROM messages m JOIN sessions s"
                        " ON s.number = m.session ORDER BY s.id, m.created_at, m.role, m.content"):
        digest.update(repr(row).encode())
        count += 1
print(count, digest.hexdigest(), len(engine.verify()))
"""


class Session(MadeUpSession):
    """A session with ids of its own, which knows how many messages a reader must find."""

    def __init__(self, seed: int, sources: list[str]) -> None:
        super().__init__(seed, sources)
        self._seed = seed
        self.messages = 0

    def _record(self, kind: str, **more: Any) -> dict[str, Any]:
        record = super()._record(kind, **more)
        blocks = record["message"]["content"]
        # A reply is one message (words, or a call), and so is a failed result.
        self.messages += kind == "assistant" or blocks[0].get("is_error") is True
        session = f"{self._seed:08x}-0000-4000-8000-000000000000"
        return {**record, "sessionId": session, "uuid": f"{session[:-12]}{self._number:012x}"}


def write_folder(folder: Path, files: int, size: int) -> int:
    """Write sessions of `size` bytes together; returns how many messages are in them."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    sources, messages = _texts(), 0
    for number in range(files):
        session, written = Session(number + 1, sources), 0
        with (folder / f"{number}.jsonl").open("wb") as file:
            for record in session.records():
                line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
                file.write(line)
                written += len(line)
                if written >= size // files and record["type"] != "assistant":
                    break
        messages += session.messages
    return messages


def _import(folder: Path, database: Path, again: bool = False) -> dict[str, Any]:
    words = [sys.executable, "-c", _CHILD, str(folder), str(database), "again" if again else ""]
    found: dict[str, Any] = run(words).json()
    return found


def _kill_some(folder: Path, database: Path, kills: int, expected: int) -> int:
    """Begin imports and kill them, each when about so many messages more are stored; how many were killed."""
    chance, killed = random.Random(1), 0
    for number in range(kills):
        enough = int((number + chance.random()) / kills * expected)
        words = [sys.executable, "-c", _CHILD, str(folder), str(database), ""]
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        while process.poll() is None and _stored(database) < enough:
            time.sleep(0.01)
        time.sleep(chance.random())
        process.send_signal(signal.SIGKILL)
        killed += process.wait() == -signal.SIGKILL
    return killed


def _stored(database: Path) -> int:
    """How many messages are in a database that another process writes."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
            return int(opened.execute("SELECT COALESCE(SUM(message_count), 0) FROM agents").fetchone()[0])
    except sqlite3.OperationalError:  # not made yet
        return 0


def _digest(database: Path) -> str:
    return subprocess.run(
        [sys.executable, "-c", _DIGEST, str(database)], check=True, capture_output=True, text=True
    ).stdout.strip()


def main() -> None:
    """Make the files, import them, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=500)
    parser.add_argument("--files", type=int, default=10)
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--scratch", default=os.path.join(tempfile.gettempdir(), "sage-import"))
    given = parser.parse_args()
    scratch = Path(given.scratch)
    shutil.rmtree(scratch, ignore_errors=True)
    rows, wrong = [], []
    try:
        for megabytes in (given.megabytes // 10, given.megabytes):
            folder = scratch / str(megabytes)
            expected = write_folder(folder, given.files, megabytes * MB)
            database = scratch / f"{megabytes}.db"
            first = _import(folder, database)
            size = first["bytes"] / MB
            rows.append((f"{size:.0f} MB, {expected:,} messages", f"{first['count']:,}", f"{first['seconds']:.1f} s",
                         f"{size / first['seconds']:.1f}", f"{size / first['cpu']:.1f}",
                         f"{first['peak_mb']:.0f} MB"))  # fmt: skip
            if first["count"] != expected or first["bad"]:
                wrong.append(f"{first['count']} of {expected} messages, {first['bad']} bad lines")
        more = [_import(folder, database, again=number == 8) for number in range(9)]
        wrong += [f"an import stored {one['new']} again" for one in more if one["new"] or one["count"] != expected]
        other = scratch / "killed.db"
        killed = _kill_some(folder, other, given.kills, expected)
        last = _import(folder, other)
        digests = _digest(database), _digest(other)
        if digests[0] != digests[1] or not digests[0].endswith(" 0"):
            wrong.append(f"after kills {digests[1]} instead of {digests[0]}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(machine())
    print(table(("transcripts", "stored", "time", "MB/s", "MB per CPU second", "peak memory"), rows))
    print(f"target: {TARGET_MB_S} MB/s on one core")
    quick = max(one["seconds"] for one in more[:8]) * 1e3
    print(f"nine more: eight read nothing, in {quick:.0f} ms at most; one read it all, in {more[8]['seconds']:.1f} s")
    print(f"{killed} of {given.kills} imports were killed in the middle, the last one stored {last['new']:,} more")
    print("\n".join(wrong) or "each message is stored once")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
