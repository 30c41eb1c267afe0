"""Exports an index and imports it elsewhere: `portable.py --projects DIR ... [--queries 200]`.

Each project is copied, indexed from scratch, exported, and imported under another folder and another Sage home, without
its files. The same questions (names and first sentences of documentation, taken from the project) are asked of both
indexes and every answer is compared whole; then the files are brought, and `sage index` counts what it has to embed.
Times are of whole processes, and beside them what they and their children took of the processor.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measure

from sage_code import Project
from sage_code.errors import UsageError
from sage_code.languages.kinds import TABLES
from sage_code.paths import HOME_VARIABLE, compiled_dir
from sage_code.search.query import parse_query

_SAGE = [sys.executable, "-m", "sage_cli.entry"]
_LEFT_OUT = shutil.ignore_patterns(".git", ".sage")


@dataclass(frozen=True, slots=True)
class Timed:
    """A process that has ended, and its processor time."""

    finished: measure.Finished
    cpu_s: float

    @property
    def report(self) -> Any:
        """Its output."""
        return self.finished.json()

    def __str__(self) -> str:
        return f"{self.finished.seconds:.1f} s ({self.cpu_s:.1f})"


@dataclass(frozen=True, slots=True)
class Row:
    """The results of one project."""

    name: str
    chunks: int
    size: int
    asked: int
    same: int
    embedded: int  # by the import, and by `sage index` with the files brought
    cold: Timed
    exported: Timed
    imported: Timed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--projects", type=Path, nargs="+", required=True, help="folders of source code")
    parser.add_argument("--queries", type=int, default=200, help="questions to each")
    given = parser.parse_args()
    rows = []
    for source in given.projects:
        with tempfile.TemporaryDirectory() as scratch:
            rows.append(_measure(source, Path(scratch), given.queries))
    print(measure.machine() + "\n")
    head = ["project", "chunks", "results identical", "re-embedded", "archive", "bytes a chunk"]
    head += ["cold index (processor)", "export", "import", "import : cold", "memory export, import"]
    print(measure.table(head, map(_cells, rows)))
    if any(row.same < row.asked or row.embedded for row in rows):
        raise SystemExit("something differs")


def _cells(row: Row) -> list[str]:
    """The cells of one row of the table."""
    return [
        row.name,
        f"{row.chunks:,}",
        f"{row.same} of {row.asked}",
        f"{row.embedded}",
        f"{row.size / 1e6:.1f} MB",
        f"{row.size / row.chunks:,.0f}",
        str(row.cold),
        str(row.exported),
        str(row.imported),
        f"{row.imported.finished.seconds / row.cold.finished.seconds:.2f} ({row.imported.cpu_s / row.cold.cpu_s:.2f})",
        f"{row.exported.finished.own_mb:.0f}, {row.imported.finished.own_mb:.0f} MB",
    ]


def _measure(source: Path, scratch: Path, queries: int) -> Row:
    """Export one project, import it elsewhere, and compare the answers."""
    first, second, archive = scratch / "first" / source.name, scratch / "second" / source.name, scratch / "archive"
    home, other_home = {HOME_VARIABLE: str(scratch / "home")}, {HOME_VARIABLE: str(scratch / "other-home")}
    shutil.copytree(source, first, ignore=_LEFT_OUT, symlinks=True)
    (first / ".sage").mkdir()
    cold = _sage(home, "index", str(first))
    exported = _sage(home, "index", "export", str(archive), str(first))
    imported = _sage(other_home, "index", "import", str(archive), str(second))
    questions = questions_of(first, queries)
    os.environ.update(home)
    expected = answers_of(first, questions)
    os.environ.update(other_home)
    same = sum(answer == wanted for answer, wanted in zip(answers_of(second, questions), expected, strict=True))
    shutil.copytree(first, second, ignore=_LEFT_OUT, symlinks=True, dirs_exist_ok=True)
    after = _sage(other_home, "index", str(second)).report
    if after["files_unchanged"] + after["files_indexed"] != imported.report["files"]:
        raise SystemExit(f"{source}: the files are not those that were exported")
    return Row(
        source.name,
        exported.report["chunks"],
        exported.report["bytes"],
        len(questions),
        same,
        after["chunks_created"],
        cold,
        exported,
        imported,
    )


def _sage(home: dict[str, str], *words: str) -> Timed:
    before = _children_s()
    finished = measure.run([*_SAGE, *words, "--json"], home)
    return Timed(finished, _children_s() - before)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def questions_of(root: Path, count: int) -> list[str]:
    """Names, and first sentences of documentation, evenly from all over the project."""
    names: list[str] = []
    sentences: list[str] = []
    for table in TABLES:
        for symbol in json.loads(Path(compiled_dir(str(root)), f"{table}.json").read_bytes())["symbols"]:
            names.append(symbol["qualname"])
            if sentence := symbol["docstring"].strip().partition("\n")[0].partition(". ")[0]:
                sentences.append(sentence[:200])
    half = count // 2
    return [*_evenly(filter(_asks, set(names)), count - half), *_evenly(filter(_asks, set(sentences)), half)]


def _asks(text: str) -> bool:
    """Whether there is something to look for in `text`: `__` has no words, and `path:x` is a filter."""
    try:
        return bool(parse_query(text).terms)
    except UsageError:
        return False


def _evenly(found: Iterable[str], count: int) -> list[str]:
    values = sorted(found)
    step = max(len(values) // max(count, 1), 1)
    return values[::step][:count]


def answers_of(root: Path, questions: list[str]) -> list[Any]:
    project = Project.open(root)
    found = []
    for question in questions:
        response = project.search(question)
        found.append((response.good, response.truncated, response.note, response.results))
    return found


if __name__ == "__main__":
    main()
