"""An index taken elsewhere: `portable.py --projects DIR ... [--queries 200]`.

Each project is copied, indexed from scratch, exported, and imported under another folder and another Sage home, without
its files. The same questions (names and first sentences of documentation, taken from the project) are asked of both
indexes and every answer is compared whole; then the files are brought, and `sage index` counts what it has to embed.
Times are of whole processes.
"""

from __future__ import annotations

import argparse
import json
import os
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
from sage_code.kinds import TABLES
from sage_code.paths import HOME_VARIABLE, compiled_dir
from sage_code.search.query import parse_query

_SAGE = [sys.executable, "-m", "sage_cli.entry"]
_LEFT_OUT = shutil.ignore_patterns(".git", ".sage")


@dataclass(frozen=True, slots=True)
class Row:
    """What was seen of one project."""

    name: str
    chunks: int
    size: int
    asked: int
    same: int
    embedded: int  # by the import, and by `sage index` with the files brought
    cold_s: float
    export_s: float
    import_s: float
    export_mb: float
    import_mb: float


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
    head += ["cold index", "export", "import", "import : cold", "memory export, import"]
    print(measure.table(head, map(_cells, rows)))
    if any(row.same < row.asked or row.embedded for row in rows):
        raise SystemExit("something differs")


def _cells(row: Row) -> list[str]:
    return [
        row.name,
        f"{row.chunks:,}",
        f"{row.same} of {row.asked}",
        f"{row.embedded}",
        f"{row.size / 1e6:.1f} MB",
        f"{row.size / row.chunks:,.0f}",
        f"{row.cold_s:.1f} s",
        f"{row.export_s:.1f} s",
        f"{row.import_s:.1f} s",
        f"{row.import_s / row.cold_s:.2f}",
        f"{row.export_mb:.0f}, {row.import_mb:.0f} MB",
    ]


def _measure(source: Path, scratch: Path, queries: int) -> Row:
    first, second, archive = scratch / "first" / source.name, scratch / "second" / source.name, scratch / "archive"
    home, other_home = {HOME_VARIABLE: str(scratch / "home")}, {HOME_VARIABLE: str(scratch / "other-home")}
    shutil.copytree(source, first, ignore=_LEFT_OUT, symlinks=True)
    (first / ".sage").mkdir()
    cold = measure.run([*_SAGE, "index", str(first), "--json"], home)
    exported = measure.run([*_SAGE, "index", "export", str(archive), str(first), "--json"], home)
    imported = measure.run([*_SAGE, "index", "import", str(archive), str(second), "--json"], other_home)
    questions = _questions(first, queries)
    os.environ.update(home)
    expected = _answers(first, questions)
    os.environ.update(other_home)
    same = sum(answer == wanted for answer, wanted in zip(_answers(second, questions), expected, strict=True))
    shutil.copytree(first, second, ignore=_LEFT_OUT, symlinks=True, dirs_exist_ok=True)
    after = measure.run([*_SAGE, "index", str(second), "--json"], other_home).json()
    if after["files_unchanged"] != imported.json()["files"]:
        raise SystemExit(f"{source}: the files are not those that were exported")
    return Row(
        source.name,
        exported.json()["chunks"],
        exported.json()["bytes"],
        len(questions),
        same,
        imported.json()["chunks_embedded"] + after["chunks_created"],
        cold.seconds,
        exported.seconds,
        imported.seconds,
        exported.own_mb,
        imported.own_mb,
    )


def _questions(root: Path, count: int) -> list[str]:
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


def _answers(root: Path, questions: list[str]) -> list[Any]:
    project = Project.open(root)
    found = []
    for question in questions:
        response = project.search(question, explain=True)
        found.append((response.good, response.truncated, response.note, response.results))
    return found


if __name__ == "__main__":
    main()
