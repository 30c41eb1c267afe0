"""Times of the pages of memories: lists, search, filters, one memory and the stale queue, with thousands of memories.

    python benchmarks/web_memories.py [--memories 5000] [--folder FOLDER]

Half of them are checkpoints, half knowledge, each about one to three definitions of Sage's own code; the definitions of
two files have changed since. `cold` is the first time in a process. The pages are asked for over HTTP, on this machine.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import Request, urlopen

_CODE = Path(__file__).parents[1] / "sage_code"
_WORDS = ("queue", "token", "cache", "index", "lock", "retry", "parser", "page", "undo", "session", "watcher", "event")
_ROUNDS = 9
PAGES = (
    ("timeline", "/memory"),
    ("timeline, page 50", "/memory?page=50"),
    ("todos", "/memory?tab=todos"),
    ("keyword", "/memory?keyword=queue"),
    ("search", "/memory?q=why+does+the+queue+need+a+lock"),
    ("one memory", "/memory/knowledge/fact-1"),
    ("stale queue", "/stale"),
    ("state filter", "/memory?state=changed"),
)


def make(root: Path, count: int) -> None:
    """A copy of Sage's code with memories about it."""
    from sage_code import Project
    from sage_code.memory.code.code_files import CodeFiles, span
    from sage_code.memory.files.checkpoint import Checkpoint
    from sage_code.memory.files.checkpoint_text import to_markdown as checkpoint_text
    from sage_code.memory.files.knowledge import KnowledgeItem
    from sage_code.memory.files.knowledge import to_markdown as knowledge_text

    shutil.copytree(_CODE, root / "sage_code", ignore=shutil.ignore_patterns("__pycache__", "model"))
    project = Project(str(root))
    project.index(name="big")
    code = CodeFiles(os.path.realpath(root))
    paths = sorted(path.relative_to(root).as_posix() for path in root.glob("sage_code/**/*.py"))
    refs = [file.ref(span(one), one.qualname) for path in paths if (file := code.get(path)) for one in file.units]
    draw = random.Random(1)
    for folder in ("checkpoints", "knowledge/global"):
        (root / ".sage" / folder).mkdir(parents=True, exist_ok=True)
    for number in range(count // 2):
        day = f"2026-{1 + number % 11:02d}-{1 + number % 28:02d}"
        time_of_day = f"{number % 24:02d}:{number % 60:02d}:00"
        id_ = f"{day}T{time_of_day.replace(':', '-')}_why-{number}"
        thesis = f"The {draw.choice(_WORDS)} needs a {draw.choice(_WORDS)}, because of {number}."
        about = tuple(draw.sample(refs, 3))
        checkpoint = Checkpoint(id_, f"{day}T{time_of_day}Z", f"Why {number}?", thesis, 0.7, code_refs=about)
        (root / ".sage" / "checkpoints" / f"{id_}.md").write_text(checkpoint_text(checkpoint))
        kind = "todo" if number % 5 == 0 else "knowledge"
        text = f"The {draw.choice(_WORDS)} of {draw.choice(_WORDS)} is {number}.\n\nMore about it."
        item = KnowledgeItem(
            f"fact-{number}", text, kind, tuple(draw.sample(_WORDS, 2)), added=day,
            status="pending" if kind == "todo" else "", code_refs=tuple(draw.sample(refs, 1)),
        )  # fmt: skip
        (root / ".sage" / "knowledge" / "global" / f"{item.id}.md").write_text(knowledge_text(item))
    (root / ".sage" / "knowledge" / "index.yaml").write_text("not a list")  # so that it is made from the files
    list(project.memory.knowledge.items())
    for path in ("sage_code/project.py", "sage_code/memory/memory.py"):
        file_ = root / path
        file_.write_text(file_.read_text().replace('"""The', '"""Now the'))


def measure(root: Path) -> None:
    """Ask a server for each page and print the times."""
    server = subprocess.Popen(
        [sys.executable, "-P", "-m", "sage_cli.entry", "web", "--no-open", "--port", "0"],
        stdout=subprocess.PIPE, text=True, cwd=root, env=os.environ,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        found = re.search(r"(http://127\.0\.0\.1:\d+)/enter\?token=(\S+)", server.stdout.readline())
        assert found is not None
        print(f"{'page':<20}{'cold':>10}{'p50':>10}{'most':>10}{'kB':>8}")
        for name, path in PAGES:
            times, size = [], 0
            for _ in range(_ROUNDS + 1):
                # As htmx asks: a page that would wait for the comparison of all memories is asked for with it.
                headers = {"Authorization": f"Bearer {found[2]}", "HX-Request": "true"}
                started = time.perf_counter()
                with urlopen(Request(f"{found[1]}/p/big{path}", headers=headers)) as answer:
                    size = len(answer.read())
                times.append(1000 * (time.perf_counter() - started))
            cold, *warm = times
            print(f"{name:<20}{cold:>7.0f} ms{statistics.median(warm):>7.0f} ms{max(warm):>7.0f} ms{size / 1000:>8.0f}")
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    """Make the project, unless it is there, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=5000)
    parser.add_argument("--folder", help="keep the project there and use it again")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(given.folder or temporary)
        os.environ["SAGE_HOME"] = str(folder / "home")
        root = folder / "project"
        if not root.exists():
            make(root, given.memories)
        measure(root)


if __name__ == "__main__":
    main()
