"""How long do the worst questions about callers take?

    python benchmarks/callers_speed.py PROJECT ... [--names 5] [--limits 0.5 1 2] [--here]

Each project is copied to a scratch folder and indexed for real. The names with the most work are asked: those with many
definitions, which have to be distinguished at every call. For every name all its definitions are asked, as `sage
callers NAME --seconds 0` does, by a project that was just opened; then the one with the most callers alone. Nothing is
left out, however long it takes. Then callers and references are asked with each of the limits, as `--seconds` sets
them: how long that takes by the clock, and how much is left out. On a busy machine trust the processor time. `--here`
asks the index that a project has.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import machine, table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="+", type=Path)
    parser.add_argument("--names", type=int, default=5)
    parser.add_argument("--limits", nargs="*", type=float, default=[0.5, 1.0, 2.0])
    parser.add_argument("--here", action="store_true")
    given = parser.parse_args()
    began = machine()
    rows: list[list[Any]] = []
    bounded: list[list[Any]] = []
    for project in given.projects:
        if given.here:
            bounded += [[project.name, *row] for row in limited(str(project.resolve()), given.names, given.limits)]
            continue
        with tempfile.TemporaryDirectory(prefix="sage-callers-") as scratch:
            os.environ["SAGE_HOME"] = str(Path(scratch, "home"))
            root = Path(scratch, "project")
            shutil.copytree(project, root, symlinks=True, ignore=shutil.ignore_patterns(".sage"))
            rows += [[project.name, *row] for row in asked(str(root), given.names)]
            bounded += [[project.name, *row] for row in limited(str(root), given.names, given.limits)]
    head = ["project", "name", "definitions", "uses", "callers", "s", "CPU s", "one definition", "s", "CPU s"]
    limits = ["project", "name", "relation", "seconds given", "s", "CPU s", "uses", "definitions left", "files left"]
    print(began, *([table(head, rows)] if rows else []), table(limits, bounded), sep="\n\n")


def limited(root: str, names: int, limits: list[float]) -> list[list[Any]]:
    """How long the same names take when there is a limit of time."""
    from sage_code.project import Project

    project = Project.open(root)
    rows: list[list[Any]] = []
    for name, _ in worst(root, names):
        for relation in ("callers", "references"):
            for limit in limits:
                took = _Stopwatch()
                found = project.related(name, relation, seconds=limit)
                left = found.left_out
                rows.append([name, relation, limit, *took(), len(found.uses), left.definitions, left.files])
    return rows


def asked(root: str, names: int) -> list[list[Any]]:
    """For each of the worst names of a project: the question, the callers found, and the time."""
    from sage_code.project import Project
    from sage_code.xref.answers import callers
    from sage_code.xref.compiled_graph import CompiledGraph
    from sage_code.xref.resolve import Resolver

    Project.open(root).index()
    rows = []
    for name, uses in worst(root, names):
        took = _Stopwatch()
        graph = CompiledGraph(root)
        resolver = Resolver(graph)
        found = {target: callers(resolver, target) for target in graph.definitions(name)}
        row = [name, len(found), f"{uses:,}", sum(map(len, found.values())), *took()]
        most = max(found, key=lambda target: len(found[target]))
        took = _Stopwatch()
        assert callers(Resolver(CompiledGraph(root)), most) == found[most]
        rows.append([*row, most.symbol.qualname, *took()])
    return rows


class _Stopwatch:
    def __init__(self) -> None:
        self._started = time.perf_counter(), time.process_time()

    def __call__(self) -> list[str]:
        """By the clock and by the processor."""
        now = time.perf_counter(), time.process_time()
        return [f"{end - start:.2f}" for start, end in zip(self._started, now, strict=True)]


def worst(root: str, names: int) -> list[tuple[str, int]]:
    """Names by definitions times uses, with their uses."""
    from sage_code.xref.compiled_graph import CompiledGraph

    graph = CompiledGraph(root)
    defined = Counter(symbol.name for file in graph.files() for symbol in graph.file_symbols(file))
    used = Counter(
        reference.name
        for file in graph.files()
        for reference in graph.file_references(file)
        if reference.kind != "bind" and reference.name in defined
    )
    likely = sorted(used, key=lambda name: -used[name] * defined[name])
    return [(name, used[name]) for name in likely if graph.definitions(name)][:names]


if __name__ == "__main__":
    main()
