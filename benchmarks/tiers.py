"""What writing at once, kills and refusals do to the memory tiers, on SQLite and on PostgreSQL.

    python benchmarks/tiers.py [--engines sqlite postgres] [--parts writers kills] [--seconds 60] [--kills 50]

`writers`: eight processes write to one block and to the messages of one agent, half of them with the version that they
have read. What a process was told is stored is noted by it, and looked for afterwards: in the history of the block,
whose versions have no gaps, and among the messages. `kills`: a process that writes is killed at random moments; after
each kill the database is opened and verified, and what was acknowledged is there. Disks that are full and servers that
go away are in `tests/memory/tiers/engines/`.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

WRITERS = 8
LABEL = "log"


def write(uri: str, name: str, acknowledged: str, seconds: float) -> None:
    """Write for so long, and note everything that was acknowledged."""
    from sage_code.errors import Conflict
    from sage_code.memory.tiers.core_memory import CoreMemory
    from sage_code.memory.tiers.opened import opened_agent, opened_recall
    from sage_code.memory.tiers.values import NewMessage
    from sage_code.settings.table import Settings

    settings = Settings(memory_user="benchmark")
    recall = opened_recall(settings, uri)
    core = CoreMemory(recall.engine, opened_agent(recall.engine, settings), settings)
    end, number = time.monotonic() + seconds, 0
    with open(acknowledged, "a", buffering=1) as noted:
        while time.monotonic() < end:
            text = f"{name} says {number}"
            if number % 2:
                try:
                    core.set(LABEL, text, expected_version=core.block(LABEL).version)
                    noted.write(f"block {text}\n")
                except Conflict:
                    noted.write(f"conflict {text}\n")
            else:
                core.set(LABEL, text)
                noted.write(f"block {text}\n")
            ids = recall.add([NewMessage("user", f"{text} {part}", session=name) for part in range(3)])
            noted.writelines(f"message {id_}\n" for id_ in ids)
            number += 1


def prepare(uri: str) -> None:
    """Make the agent and its block."""
    from sage_code.memory.tiers.core_memory import CoreMemory
    from sage_code.memory.tiers.opened import opened_recall
    from sage_code.settings.table import Settings

    recall = opened_recall(Settings(memory_user="benchmark"), uri)
    CoreMemory(recall.engine, recall.agent, recall.settings).create(LABEL)
    recall.engine.close()


def judge(uri: str, folder: Path) -> dict[str, int]:
    """What was acknowledged and is not there, and what is wrong with the database."""
    from sage_code.memory.tiers.core_memory import CoreMemory
    from sage_code.memory.tiers.opened import opened_recall
    from sage_code.settings.table import Settings

    lines = [line for path in folder.glob("*.ack") for line in path.read_text().splitlines()]
    told: dict[str, list[str]] = {"block": [], "message": [], "conflict": []}
    for line in lines:
        kind, _, text = line.partition(" ")
        if kind in told and text:
            told[kind].append(text)
    recall = opened_recall(Settings(memory_user="benchmark"), uri)
    history = CoreMemory(recall.engine, recall.agent, recall.settings).history(LABEL)
    values, versions = {edit.value for edit in history}, sorted(edit.version for edit in history)
    stored = {message.id for message in recall.get(told["message"])}
    wrong = recall.engine.verify()
    for line in wrong:
        print("  ", line)
    recall.engine.close()
    return {
        "edits": len(told["block"]),
        "messages": len(told["message"]),
        "conflicts": len(told["conflict"]),
        "lost edits": len(set(told["block"]) - values),
        "lost messages": len(set(told["message"]) - stored),
        "gaps": versions[-1] - len(versions),
        "findings": len(wrong),
    }


def start(uri: str, folder: Path, name: str, seconds: float) -> subprocess.Popen[bytes]:
    """A process that writes."""
    return subprocess.Popen(
        [sys.executable, __file__, "--write", uri, name, str(folder / f"{name}.ack"), str(seconds)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def writers(uri: str, folder: Path, seconds: float) -> None:
    prepare(uri)
    processes = [start(uri, folder, f"writer-{number}", seconds) for number in range(WRITERS)]
    failed = sum(process.wait() != 0 for process in processes)
    print(f"  {WRITERS} writers for {seconds:.0f} s: {judge(uri, folder)}, {failed} processes failed")


def kills(uri: str, folder: Path, count: int) -> None:
    prepare(uri)
    chooser, worst = random.Random(5), {"lost edits": 0, "lost messages": 0, "gaps": 0, "findings": 0}
    for number in range(count):
        process = start(uri, folder, f"victim-{number}", 60)
        noted, begun = folder / f"victim-{number}.ack", time.monotonic()
        while not (noted.exists() and noted.stat().st_size) and time.monotonic() - begun < 30:
            time.sleep(0.01)
        time.sleep(chooser.random() * 0.3)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        found = judge(uri, folder)
        worst = {name: max(value, found[name]) for name, value in worst.items()}
    print(f"  {count} kills: {found}; at worst {worst}")


def main() -> None:
    if sys.argv[1:2] == ["--write"]:
        uri, name, acknowledged, seconds = sys.argv[2:]
        write(uri, name, acknowledged, float(seconds))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", nargs="+", choices=("sqlite", "postgres"), default=["sqlite", "postgres"])
    parser.add_argument("--parts", nargs="+", choices=("writers", "kills"), default=["writers", "kills"])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--kills", type=int, default=50)
    given = parser.parse_args()
    for engine in given.engines:
        for part in given.parts:
            with ExitStack() as stack:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                uri = str(folder / "memory.db")
                if engine == "postgres":
                    from postgres import server

                    uri = stack.enter_context(server(stack.enter_context(tempfile.TemporaryDirectory())))
                print(f"{engine}, {part}", flush=True)
                if part == "writers":
                    writers(uri, folder, given.seconds)
                else:
                    kills(uri, folder, given.kills)


if __name__ == "__main__":
    main()
