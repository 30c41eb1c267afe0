"""Ten thousand memories: how long a search, a save and the first line of a list take; and what saving at once loses.

    python benchmarks/memory_scale.py [--count 10000] [--folder DIR] [--parts checkpoints knowledge processes kills]

Memories are made up from words of this repository's documentation and written through the same code that saves them
(without an fsync for each while the collection is built). Times are wall-clock and, in brackets, of the processor.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

from sage_code.memory.files.checkpoint import Checkpoint
from sage_code.memory.files.checkpoint_id import new_id
from sage_code.memory.files.checkpoint_text import to_markdown
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.memory.memory import Memory
from sage_code.settings.table import Settings

TOP = Path(__file__).parents[1]
SETTINGS = Settings(checkpoint_max_age_days=0, checkpoint_max_count=0)
_SEARCHES, _SAVES = 60, 30
NO_GOAL = 1e9


def words() -> list[str]:
    """Words to make texts of."""
    texts = [path.read_text() for path in (*TOP.glob("*.md"), *TOP.glob("docs/*.md"), *TOP.glob("sage_code/*.py"))]
    return sorted({word for text in texts for word in re.findall(r"[a-z]{3,12}", text)})


def sentence(chooser: random.Random, known: list[str], length: int) -> str:
    """So many words, the frequent ones often."""
    return " ".join(known[int(len(known) * chooser.random() ** 3)] for _ in range(length)).capitalize() + "."


def checkpoint(number: int, chooser: random.Random, known: list[str]) -> Checkpoint:
    """A checkpoint of usual length."""
    ts = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_700_000_000 + 600 * number))
    made = Checkpoint(
        "", ts, sentence(chooser, known, 9) + f" {number}", sentence(chooser, known, 40), chooser.random(), "synthesis",
        tuple(sentence(chooser, known, 12) for _ in range(4)), sentence(chooser, known, 60),
        tuple(sentence(chooser, known, 8) for _ in range(2)),
    )  # fmt: skip
    return Checkpoint(**{**{name: getattr(made, name) for name in made.__slots__}, "id": new_id(made)})


def timed(label: str, goal_ms: float, times: int, act: Callable[[int], object]) -> None:
    """Print how long something takes, and whether the target is met."""
    walls, cpus = [], []
    for number in range(times):
        wall, cpu = time.perf_counter(), time.process_time()
        act(number)
        walls.append((time.perf_counter() - wall) * 1000)
        cpus.append((time.process_time() - cpu) * 1000)
    middle, worst = statistics.median(walls), max(walls)
    verdict = "ok" if middle <= goal_ms else "MISSED"
    cells = (label, f"{middle:.1f} ({statistics.median(cpus):.1f})", f"{worst:.1f} ({max(cpus):.1f})")
    wanted = (f"{goal_ms:.0f}", verdict) if goal_ms < NO_GOAL else ("", "")
    print("| " + " | ".join((*cells, *wanted)) + " |", flush=True)


def checkpoints(root: Path, count: int) -> None:
    """Search, save and list among `count` checkpoints."""
    chooser, known = random.Random(1), words()
    folder = root / ".sage" / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(len(os.listdir(folder)), count):
        made = checkpoint(number, chooser, known)
        (folder / f"{made.id}.md").write_text(to_markdown(made))
    memory = Memory(str(root), SETTINGS)
    timed(
        f"first search of {count:,} checkpoints, all to be embedded",
        NO_GOAL,
        1,
        lambda _: memory.checkpoints.search("x y"),
    )
    timed(
        "first search of a new process, its index packed",
        1e9,
        1,
        lambda _: Memory(str(root), SETTINGS).checkpoints.search("x y"),
    )
    questions = [sentence(chooser, known, 7) for _ in range(_SEARCHES)]
    timed("search", 20, _SEARCHES, lambda number: memory.checkpoints.search(questions[number]))
    timed(
        "save", 60, _SAVES,
        lambda number: memory.save_checkpoint(
            {"core_question": questions[number], "thesis": sentence(chooser, known, 40), "confidence": 0.7},
            autosave=True, auto_code_context=False,
        ),
    )  # fmt: skip
    timed("search after saves", 20, _SEARCHES, lambda number: memory.checkpoints.search(questions[number]))
    timed("first 20 of a list", 100, 10, lambda _: list(islice(memory.checkpoints.newest(), 20)))


def knowledge(root: Path, count: int) -> None:
    """Recall, save and list among `count` items."""
    from sage_code.memory.files.homes import homes
    from sage_code.memory.files.knowledge import facts_of
    from sage_code.memory.files.knowledge import to_markdown as item_text
    from sage_code.memory.knowledge_store import _hash

    chooser, known = random.Random(2), words()
    memory = Memory(str(root), SETTINGS)
    folder = root / ".sage" / "knowledge" / "global"
    folder.mkdir(parents=True, exist_ok=True)
    entries = {}
    for number in range(count):
        keywords = tuple(chooser.sample(known, 3))
        item = KnowledgeItem(f"item-{number:05}", sentence(chooser, known, 50), keywords=keywords, added="2026-01-01")
        text = item_text(item)
        (folder / f"{item.id}.md").write_text(text)
        entries[item.id] = {**facts_of(item), "file": f"global/{item.id}.md", "hash": _hash(text)}
    memory.knowledge.knowledge_list(homes(str(root))[0]).rebuild(entries)
    questions = [sentence(chooser, known, 7) for _ in range(_SEARCHES)]
    timed(
        f"first recall among {count:,} items, all to be embedded", NO_GOAL, 1, lambda _: memory.recaller.recall("x y")
    )
    timed("recall", 20, _SEARCHES, lambda number: memory.recaller.recall(questions[number]))
    timed(
        "save", 60, _SAVES,
        lambda number: memory.save_knowledge(KnowledgeItem(f"new-{number}", sentence(chooser, known, 50))),
    )  # fmt: skip
    timed("recall after saves", 20, _SEARCHES, lambda number: memory.recaller.recall(questions[number]))
    timed("first 20 of a list", 500, 5, lambda _: list(islice(memory.knowledge.items(), 20)))


def _save_many(root: str, name: str, count: int) -> None:
    memory = Memory(root, SETTINGS)
    for number in range(count):
        given = {"core_question": "the same question", "thesis": f"{name} says {number}", "confidence": 0.5}
        memory.save_checkpoint(given, auto_code_context=False)
        memory.save_knowledge(KnowledgeItem(f"{name}-{number}", f"{name} knows {number}"))


def processes(root: Path, writers: int = 8, each: int = 25) -> None:
    """Save in many processes at once, then count the files."""
    started = [
        multiprocessing.get_context("spawn").Process(target=_save_many, args=(str(root), f"w{n}", each))
        for n in range(writers)
    ]
    for process in started:
        process.start()
    for process in started:
        process.join()
    memory = Memory(str(root), SETTINGS)
    theses = {found.thesis for found, _ in memory.checkpoints.newest()}
    known = {one.item.id for one in memory.knowledge.items()}
    listed = len(memory.knowledge.knowledge_list(memory.knowledge.memory_indexes[0].home).entries())
    searched = len(memory.checkpoints.memory_indexes[0].passages()), len(memory.knowledge.memory_indexes[0].passages())
    wanted = writers * each
    print(f"{writers} processes, {wanted} checkpoints and {wanted} items: {len(theses)} and {len(known)} on the disk,")
    print(f"{listed} in the list, {searched[0]} and {searched[1]} in the index")
    if {len(theses), len(known), listed, *searched} != {wanted}:
        sys.exit("LOST")


_KILLED = """
import sys
sys.path.insert(0, sys.argv[2])
from memory_scale import _save_many
_save_many(sys.argv[1], "k" + sys.argv[3], 10_000)
"""


def kills(root: Path, runs: int = 30) -> None:
    """Kill processes while they save; every file must be complete, and the next save must work."""
    chooser = random.Random(3)
    broken = 0
    for run in range(runs):
        process = subprocess.Popen([sys.executable, "-c", _KILLED, str(root), str(TOP / "benchmarks"), str(run)])
        before = _count(root)
        while _count(root) == before and process.poll() is None:
            time.sleep(0.02)
        time.sleep(chooser.random() * 0.2)
        process.send_signal(signal.SIGKILL)
        process.wait()
        memory = Memory(str(root), SETTINGS)
        complaints: list[str] = []
        whole = [found for found, _ in memory.checkpoints.newest(on_damaged=complaints.append)]
        broken += len(complaints) + sum(" says " not in found.thesis for found in whole)
        broken += sum(" knows " not in memory.knowledge.load(one.item.id).content for one in memory.knowledge.items())
        broken += len(whole) != len(memory.checkpoints.memory_indexes[0].passages())
        memory.save_knowledge(KnowledgeItem(f"after-{run}", f"after knows {run}"))
    print(f"{runs} kills, {_count(root)} files: {broken} broken")
    if broken:
        sys.exit("BROKEN")


def _count(root: Path) -> int:
    return sum(len(files) for _, _, files in os.walk(root / ".sage" / "checkpoints"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--runs", type=int, default=30)
    parts = ("checkpoints", "knowledge", "processes", "kills")
    parser.add_argument("--parts", nargs="+", choices=parts, default=list(parts))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        base = given.folder or Path(scratch)
        os.environ["SAGE_HOME"] = str(base / "home")
        if {"checkpoints", "knowledge"} & set(given.parts):
            print("| | p50 ms (processor) | worst | wanted | |\n|---|---|---|---|---|")
        if "checkpoints" in given.parts:
            checkpoints(base / "checkpoints", given.count)
        if "knowledge" in given.parts:
            knowledge(base / "knowledge", given.count)
        for part, act in (
            ("processes", lambda: processes(base / "many")),
            ("kills", lambda: kills(base / "kills", given.runs)),
        ):
            if part in given.parts:
                (base / ("many" if part == "processes" else part) / ".sage").mkdir(parents=True, exist_ok=True)
                act()


if __name__ == "__main__":
    main()
