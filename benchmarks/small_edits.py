"""What many small edits cost: the time of each index, disk and files, without a single `sage admin compact`.

    python benchmarks/small_edits.py [--edits 2000] [--files 20] [--processes 10]

Small files are edited one at a time, and each edit is indexed, in this process and now and then by a real `sage index`.
Beside it a second process reads the store and what is made from it (search in all projects, export, verify) and may
never fail. At the end disk and files are compared with those of a fresh home that has indexed the same tree. Ends
with 1 when an index is slower at the end than at the beginning, the disk holds more than 5 times the fresh one, or a
reader failed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from statistics import median

from measure import table
from proving import Violation, demand, own_home, published, sage

_PART = 200  # edits that are compared; as many come before, which do not count
_MOST_DISK = 5.0
_MOST_SLOWDOWN = 1.3
_READER_RESTS_S = 0.5
_FUNCTION = '''def handle_{file}_{number}(order: dict[str, int], limit: int = {value}) -> int:
    """Handle every order of group {number}, up to a limit."""
    return sum(order.values()) * {value} if len(order) < limit else {value}


'''


class Tiny:
    """A project of small files whose sizes never change."""

    def __init__(self, root: Path, files: int, seed: int) -> None:
        self.root, self._rng = root, Random(seed)
        self._values = [[self._rng.randrange(100_000) for _ in range(6)] for _ in range(files)]
        root.mkdir(parents=True)
        for file in range(files):
            self._write(file)

    def edit(self) -> None:
        """Change one number in one function."""
        file = self._rng.randrange(len(self._values))
        self._values[file][self._rng.randrange(6)] = self._rng.randrange(100_000)
        self._write(file)

    def _write(self, file: int) -> None:
        parts = (_FUNCTION.format(file=file, number=n, value=value) for n, value in enumerate(self._values[file]))
        (self.root / f"group_{file}.py").write_text("".join(parts))


def read(root: Path, stop: Path) -> int:
    """What the second process does until `stop` exists; it prints how often, and what failed."""
    from sage_code import Project
    from sage_code.index.upkeep import verify_project
    from sage_code.settings.loading import Settings

    times, error = 0, ""
    while not stop.exists() and not error:
        try:
            demand(published(root) is not None, "there is no index")
            demand(Project.open(root).search("handle every order", refresh=False, everywhere=True).results, "no answer")
            demand(Project.open(root).export_index(stop.with_suffix(".sagepack")).files, "an export without files")
            verify_project(str(root), Settings(), mend=False)
        except Exception as failure:  # any failure of a reader counts
            error = f"{type(failure).__name__}: {failure}"
        times += 1
        time.sleep(_READER_RESTS_S)
    print(json.dumps({"times": times, "error": error}))
    return int(bool(error))


def disk(*folders: Path) -> tuple[int, int]:
    """Bytes and files; a file with several names counts once."""
    found = {}
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and not path.is_symlink():
                facts = path.lstat()
                found[facts.st_dev, facts.st_ino] = facts.st_size
    return sum(found.values()), len(found)


def edit_and_index(project: Tiny, edits: int, processes: int) -> list[float]:
    """The seconds of each index in this process; every so many, a real process does it instead."""
    from sage_code import Project

    seconds = []
    every = max(1, edits // processes) if processes else edits + 1
    for number in range(1, edits + 1):
        project.edit()
        if number % every == 0:
            demand(sage("index", project.root)["files_indexed"] == 1, "a process indexes the edit")
        else:
            started = time.perf_counter()
            Project.open(project.root).index()
            seconds.append(time.perf_counter() - started)
        if number % _PART == 0 or number == edits:
            size, files = disk(Path(os.environ["SAGE_HOME"]), project.root / ".sage")
            print(
                f"{number:>6} edits: {median(seconds[-_PART:]) * 1000:6.0f} ms, {size / 1e6:6.2f} MB, {files} files",
                flush=True,
            )
    return seconds


def measure(folder: Path, edits: int, files: int, processes: int, seed: int) -> int:
    """Edit, index and read at once, then compare with a fresh home; the exit code."""
    project = Tiny(folder / "project", files, seed)
    home = Path(os.environ["SAGE_HOME"])
    sage("index", project.root)
    stop = folder / "stop"
    words = [sys.executable, __file__, "--read", str(project.root), "--stop", str(stop)]
    reader = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        seconds = edit_and_index(project, edits, processes)
    finally:
        stop.touch()
        output, _ = reader.communicate()
    said = json.loads(output.splitlines()[-1])
    part = min(_PART, len(seconds) // 3)
    first, last = median(seconds[part : 2 * part]), median(seconds[-part:])
    grown = {"store": disk(home), ".sage": disk(project.root / ".sage")}
    fresh = folder / "fresh"
    os.environ["SAGE_HOME"] = str(fresh)
    (project.root / ".sage").rename(folder / "old")
    sage("index", project.root)
    new = {"store": disk(fresh), ".sage": disk(project.root / ".sage")}
    rows = [
        [name, f"{grown[name][0] / 1e6:.2f} MB", f"{new[name][0] / 1e6:.2f} MB", f"{grown[name][0] / new[name][0]:.2f}",
         grown[name][1], new[name][1]]
        for name in grown
    ]  # fmt: skip
    print(table(["what", "after the edits", "fresh", "times", "files", "fresh files"], rows))
    print(
        f"an index: {first * 1000:.0f} ms at the beginning, {last * 1000:.0f} ms at the end ({last / first:.2f} times)"
    )
    print(f"a reader: {said['times']} rounds, {said['error'] or 'never failed'}")
    too_much = any(grown[name][0] > _MOST_DISK * new[name][0] for name in grown)
    return int(too_much or last > _MOST_SLOWDOWN * first or bool(said["error"]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edits", type=int, default=2000, help="how many (default: 2000)")
    parser.add_argument("--files", type=int, default=20, help="files of the project (default: 20)")
    parser.add_argument("--processes", type=int, default=10, help="edits indexed by a real process (default: 10)")
    parser.add_argument("--seed", type=int, default=1, help="names the project and its edits (default: 1)")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--stop", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        return read(given.read, given.stop)
    with own_home() as folder:
        try:
            return measure(folder, given.edits, given.files, given.processes, given.seed)
        except Violation as violation:
            print(f"broken (seed {given.seed}): {violation}")
            return 1


if __name__ == "__main__":
    sys.exit(main())
