"""Is this checkout slower than another one? Both answer the same questions in turns, each with its own home and copy.

    python benchmarks/before_after.py --before PYTHON --after PYTHON PROJECT [--rounds 25]
    python benchmarks/before_after.py --before PYTHON --after PYTHON PROJECT --compare

`--compare` measures nothing: it compares the bytes of the compiled files and the JSON of every kind of answer, and ends
with 1 if one differs.

PYTHON is the interpreter of an environment in which one version of Sage is installed. Whole processes: `sage grep`, a
cold `sage search`, `sage index` with nothing to do, with one changed file and from nothing (a fifth of the rounds). In
one process each: warm searches, which take turns question by question. Each round begins with the other version.
Times are those of the processor, and the ratio is that of the medians; a busy machine disturbs both alike.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from measure import environment, table

PROCESSES = {
    "sage grep": ["grep", "{name}"],
    "cold sage search": ["search", "how is a file opened and read", "--json"],
    "sage index, nothing to do": ["index"],
}
QUESTIONS = ("how is a file opened", "parse the configuration", "retry after an error", "write the result", "{name}")
CODE = (".py", ".go", ".rb", ".c", ".ts", ".js", ".rs", ".java", ".php")
# What `--compare` asks about each of the most central symbols.
ABOUT_SYMBOLS = (["grep"], ["refs"], ["callers", "--depth", "2"], ["callees"], ["analyze"], ["similar"], ["impact"])
SYMBOLS = 40
# Fields that differ from run to run.
VOLATILE = ("took_ms", "root", "project")
# Answers one question a line with the processor's milliseconds that it took.
WARM = """
import sys, time
from sage_code import Project
project = Project.open(".")
for line in sys.stdin:
    started = time.process_time()
    project.search(line.strip(), refresh=False)
    print((time.process_time() - started) * 1000, flush=True)
"""


class Side:
    """One version of Sage with its own home and its own copy of the project."""

    def __init__(self, python: str, project: Path, folder: Path) -> None:
        self.python, self.root = os.path.abspath(python), folder / "project"
        shutil.copytree(project, self.root, symlinks=True, ignore=shutil.ignore_patterns(".sage"))
        self.home = folder / "home"
        self.environment = environment({"SAGE_HOME": str(self.home), "HOME": str(folder)})
        self.run(["index"])

    def run(self, words: list[str]) -> float:
        """The processor time of one command and its children, in milliseconds."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [self.python, "-m", "sage_cli.entry", *words]
        subprocess.run(command, cwd=self.root, env=self.environment, stdout=subprocess.DEVNULL, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)

    def index_from_nothing(self) -> float:
        """The processor time of a first index."""
        shutil.rmtree(self.home)
        shutil.rmtree(self.root / ".sage")
        return self.run(["index"])

    def index_one_change(self) -> float:
        """The processor time of an index after one file has got a line more."""
        file = max(self.root.rglob("*.*"), key=lambda path: (path.is_file() and path.suffix in CODE, path.name))
        with file.open("a") as written:
            written.write("\n")
        return self.run(["index"])

    def warm(self) -> subprocess.Popen[str]:
        """A process that answers one question after another."""
        return subprocess.Popen(
            [self.python, "-c", WARM], cwd=self.root, env=self.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def names(self) -> list[str]:
        """The names of the most central symbols of the project."""
        return [str(entry["qualname"]) for entry in self.ask(["map", "--max-tokens", "4000"])["entries"]]

    def ask(self, words: list[str]) -> dict[str, Any]:
        """What a command answers with `--json`, without what differs from run to run."""
        command = [self.python, "-m", "sage_cli.entry", *words, "--json"]
        found = subprocess.run(command, cwd=self.root, env=self.environment, capture_output=True, check=False)
        answer = json.loads(found.stdout)
        return {"exit code": found.returncode, **{key: answer[key] for key in answer if key not in VOLATILE}}

    def compiled(self) -> dict[str, str]:
        """The hash of each compiled file; a segment's name, and the list of the files, differ from run to run."""
        files = sorted((self.root / ".sage" / "codebase" / "compiled").iterdir())
        return {
            path.suffix if path.suffix == ".seg" else path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in files
            if path.name != "segments.json"
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--compare", action="store_true", help="compare results, measure nothing")
    parser.add_argument("project", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        sides = [Side(python, given.project, Path(scratch, name)) for name, python in
                 (("before", given.before), ("after", given.after))]  # fmt: skip
        name = sides[1].names()[0]
        if given.compare:
            sys.exit(_compare(sides))
        rows = []
        for title, words in PROCESSES.items():
            asked = [word.format(name=name) for word in words]
            rows.append(_row(title, _in_turns(sides, partial(Side.run, words=asked), given.rounds + 1)[1:]))
        few = max(given.rounds // 5, 1)
        rows.append(_row("sage index, one file changed", _in_turns(sides, Side.index_one_change, few)))
        rows.append(_row("sage index, from nothing", _in_turns(sides, Side.index_from_nothing, few)))
        rows.append(_row("warm search", _warm(sides, name, given.rounds)))
        print(table(("", "before ms", "after ms", "ratio"), rows))


def _compare(sides: list[Side]) -> int:
    """Print what differs between the two versions; how many things do."""
    before, after = (side.compiled() for side in sides)
    different = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    print(f"{len(before)} compiled files, {len(different)} differ {different or ''}")
    names = sides[0].names()[:SYMBOLS]
    asked = [["map"], ["similar", "--duplicates"]]
    for question in (*QUESTIONS, *names):
        asked += [["search", question.format(name=names[0]), more] for more in ("--explain", "--no-refresh")]
    asked += [[command, name, *more] for name in names for command, *more in ABOUT_SYMBOLS]
    changed = [words for words in asked if sides[0].ask(words) != sides[1].ask(words)]
    print(f"{len(asked)} answers, {len(changed)} differ", *changed, sep="\n")
    return min(len(different) + len(changed), 1)


def _in_turns(sides: list[Side], measure: Callable[[Side], float], rounds: int) -> list[list[float]]:
    """The times of both sides in each round; the side that begins changes."""
    times = []
    for number in range(rounds):
        first, second = (0, 1) if number % 2 else (1, 0)
        found = {one: measure(sides[one]) for one in (first, second)}
        times.append([found[0], found[1]])
    return times


def _warm(sides: list[Side], name: str, rounds: int) -> list[list[float]]:
    """The times of warm searches, one pair per question: both versions answer in turns."""
    children = [side.warm() for side in sides]
    times = []
    for number in range((rounds + 2) * len(QUESTIONS)):
        pair = [0.0, 0.0]
        for one in (0, 1) if number % 2 else (1, 0):
            child = children[one]
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write(QUESTIONS[number % len(QUESTIONS)].format(name=name) + "\n")
            child.stdin.flush()
            pair[one] = float(child.stdout.readline())
        times.append(pair)
    for child in children:
        child.communicate()
    return times[2 * len(QUESTIONS) :]  # the first ones open files and fill caches


def _row(title: str, times: list[list[float]]) -> tuple[str, str, str, str]:
    before, after = (statistics.median(column) for column in zip(*times, strict=True))
    return title, f"{before:.1f}", f"{after:.1f}", f"{after / before:.3f}"


if __name__ == "__main__":
    main()
