"""Where does a cold index spend its processor time, in this version and in others?

    python benchmarks/index_profile.py DIR [--pythons PYTHON ...] [--repeat 3]

Each interpreter has a version of Sage installed; the one that runs this is the last. First comes the time of a whole
cold run, without a profiler: of the clock, of the process and of its workers, the best of a few turns. Then the time of
each step, of the process and of what a worker does (here for all files in one process), under a profiler that counts
the time of the thread alone and makes Python's own share larger. A step that a version does not have is a dash.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# By step: the end of a file's name and a function in it. Times include what the function calls.
_PROCESS = {
    "listing and comparing": (("pipeline.py", "_discover"), ("pipeline.py", "_diff")),
    "results of the workers": (("chunk/workers.py", "_decode"),),
    "vectors": (("index/vectors.py", "rows"),),
    "store": (("store/lance.py", "add"),),
    "compiled files": (("compiled/generation.py", "add"), ("compiled/generation.py", "publish")),
}
_WORKER = {
    "reading": (("discover/reading.py", "read_source"),),
    "parsing": (("parse/grammar.py", "parse_tree"),),
    "queries": (("parse/grammar.py", "matches"),),
    "definitions": (("parse/definitions.py", "run"),),
    "references": (("parse/references.py", "references"),),
    "chunks": (("chunk/chunker.py", "chunk_text"), ("chunk/chunker.py", "chunk_plain")),
    "words": (("chunk/words.py", "count_words"),),
    "sending": (("chunk/workers.py", "_encode"),),
}


def main() -> None:
    from measure import machine, table

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("project", type=Path)
    parser.add_argument("--pythons", nargs="*", default=[], help="interpreters with other versions of Sage")
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    pythons = [*given.pythons, sys.executable]
    with tempfile.TemporaryDirectory(prefix="sage-profile-") as scratch:
        root = Path(scratch, "project")
        shutil.copytree(given.project, root, symlinks=True, ignore=shutil.ignore_patterns(".git", ".sage"))
        runs: list[list[dict[str, Any]]] = [[] for _ in pythons]
        for _ in range(given.repeat):
            for python, found in zip(pythons, runs, strict=True):
                found.append(_child(python, root, "whole"))
        best = [min(found, key=lambda one: one["process"] + one["workers"]) for found in runs]
        steps = [_child(python, root, "steps") for python in pythons]
    print(machine(), end="\n\n")
    head = ["", *(f"version {number}" for number in range(1, len(pythons) + 1))]
    rows = [[name, *(f"{one[name]:.2f}" for one in best)] for name in ("clock", "process", "workers")]
    rows.append(["processor, against the first", *(f"{_cpu(one) / _cpu(best[0]):.2f}" for one in best)])
    for part in ("process", "workers"):
        rows += [[f"{part}: {name}", *(_share(one[part], name) for one in steps)] for name in steps[-1][part]]
    print(table(head, rows))


def _cpu(one: dict[str, Any]) -> float:
    return float(one["process"] + one["workers"])


def _share(part: dict[str, float], name: str) -> str:
    return f"{part[name]:.2f} s" if part[name] else "-"


def _child(python: str, root: Path, task: str) -> dict[str, Any]:
    shutil.rmtree(root / ".sage", ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="sage-profile-home-") as home:
        command = [python, __file__, "--child", task, str(root)]
        env = {**os.environ, "SAGE_HOME": home}
        done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True, cwd=home)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


# -- inside the measured processes ------------------------------------------------------------------------------------


def whole(root: str) -> dict[str, float]:
    """A cold run, imports left out."""
    from sage_code.project import Project

    project = Project.open(root)
    before, started = os.times(), time.perf_counter()
    project.index()
    after = os.times()
    return {
        "clock": time.perf_counter() - started,
        "process": after[0] + after[1] - before[0] - before[1],
        "workers": after[2] + after[3] - before[2] - before[3],
    }


def steps(root: str) -> dict[str, dict[str, float]]:
    """The time of each step, of the process and of a worker."""
    from sage_code.chunk.files import chunk_file
    from sage_code.chunk.workers import _encode
    from sage_code.discover.listing import list_files
    from sage_code.discover.rules import DEFAULT_RULES
    from sage_code.project import Project
    from sage_code.values import SourceFile

    project = Project.open(root)
    process, worker = cProfile.Profile(time.thread_time), cProfile.Profile(time.thread_time)
    process.runcall(project.index)
    files = [file for file in list_files(root) if isinstance(file, SourceFile)]

    def work() -> None:
        for file in files:
            _encode(chunk_file(root, file, DEFAULT_RULES))

    worker.runcall(work)
    return {"process": _times(process, _PROCESS), "workers": _times(worker, _WORKER)}


def _times(profile: cProfile.Profile, wanted: dict[str, tuple[tuple[str, str], ...]]) -> dict[str, float]:
    found: dict[tuple[str, int, str], Any] = vars(pstats.Stats(profile))["stats"]
    return {
        step: sum(
            entry[3]
            for (path, _, name), entry in found.items()
            if any(path.endswith(file) and name == function for file, function in functions)
        )
        for step, functions in wanted.items()
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps({"whole": whole, "steps": steps}[sys.argv[2]](sys.argv[3])))
    else:
        main()
