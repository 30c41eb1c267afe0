"""What do references cost an index, and does the cost stay linear?

    python benchmarks/reference_cost.py [--projects DIR ...] [--symbols 2000 20000 100000] [--repeat 5]

A whole cold `Project.index()` as it is, against the same without references: there a worker finds none, so that none
are encoded, stored or compiled either. The two take turns, each run in a fresh process that imports first and has a
SAGE_HOME of its own. Real projects are copied to a scratch folder; the others are made up (`made_up.py`), one for each
number of symbols, in four languages, with about six calls in each function.

Sage's workers are child processes, so the switch has to reach them: the measured process starts this script as its
worker instead of `sage_code.chunk.workers`, in both arms, and the script serves as that module does, with or without
the patterns of references in its queries. On a busy machine trust the processor time.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.made_up import Project as MadeUp
from benchmarks.measure import machine, run, table, verdict

# Of the issue: indexing with references takes at most this many times indexing without them.
LIMIT = 1.25
# Time per symbol between the smallest and the largest made-up project may grow so far and still be called linear.
LINEAR_LIMIT = 1.25
_SYMBOLS_A_FILE = 33
_SWITCH = "SAGE_BENCHMARK_REFERENCES"
_MODULES = (
    "sage_code.chunk.workers",
    "sage_code.compiled.generation",
    "sage_code.index.vectors",
    "sage_code.index.pipeline",
    "sage_code.store.lance",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--projects", nargs="*", type=Path, default=[])
    parser.add_argument("--symbols", nargs="*", type=int, default=[2_000, 20_000, 100_000])
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    began = machine()
    measured = []
    for project in given.projects:
        with tempfile.TemporaryDirectory(prefix="sage-references-") as scratch:
            shutil.copytree(project, Path(scratch, "project"), symlinks=True, ignore=shutil.ignore_patterns(".sage"))
            measured.append(measure(Path(scratch), project.name, given.repeat))
    made_up = []
    for symbols in given.symbols:
        with tempfile.TemporaryDirectory(prefix="sage-references-") as scratch:
            MadeUp(Path(scratch, "project"), random.Random(symbols), symbols // _SYMBOLS_A_FILE)
            Path(scratch, "project", ".git").mkdir()  # marks the root
            made_up.append(measure(Path(scratch), f"made up, {symbols:,}", given.repeat))
    print(report(began, measured, made_up, given.repeat))


def measure(scratch: Path, name: str, repeat: int) -> dict[str, Any]:
    """The medians of both arms, which run in turns and begin in turns."""
    runs: dict[str, list[dict[str, Any]]] = {"with": [], "without": []}
    for number in range(repeat):
        for arm in sorted(runs, reverse=bool(number % 2)):
            shutil.rmtree(scratch / "project" / ".sage", ignore_errors=True)
            shutil.rmtree(scratch / "home", ignore_errors=True)
            env = {"SAGE_HOME": str(scratch / "home"), _SWITCH: arm}
            told = run([sys.executable, __file__, "--child", str(scratch / "project")], env).json()
            runs[arm].append(told)
            print(f"{name}, {arm}: {json.dumps(told)}", file=sys.stderr, flush=True)
    assert not any(told["references"] for told in runs["without"])
    assert len({told["symbols"] for told in (*runs["with"], *runs["without"])}) == 1
    first = runs["with"][0]
    medians = {f"{arm} {what}": median(told[what] for told in runs[arm]) for arm in runs for what in ("seconds", "cpu")}
    return {"name": name} | {what: first[what] for what in ("files", "symbols", "references")} | medians


# -- inside the measured processes --------------------------------------------------------------------------------


def child(root: str) -> None:
    """Index the project at `root` and print, in one line of JSON, how long that took."""
    for module in _MODULES:
        importlib.import_module(module)
    from sage_code.project import Project

    _redirect_workers()
    project = Project.open(root)
    before, started = sum(os.times()[:4]), time.perf_counter()
    stats = project.index()
    seconds, cpu = time.perf_counter() - started, sum(os.times()[:4]) - before
    symbols = stats.functions_compiled + stats.classes_compiled + stats.constants_compiled
    references = _references(root)
    told = {"seconds": seconds, "cpu": cpu, "files": stats.files_indexed, "symbols": symbols, "references": references}
    print(json.dumps(told))


def _redirect_workers() -> None:
    """Make Sage start this script as its worker, and switch references off here too if asked."""
    from sage_code.chunk import workers

    start = subprocess.Popen

    def started(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        if command[-1] == workers.__name__:
            command = [sys.executable, "-P", __file__, "--worker"]
        return start(command, **options)

    subprocess.Popen = started  # type: ignore[assignment, misc]
    # A project too small for workers is chunked here.
    _switch()


def _switch() -> None:
    if os.environ[_SWITCH] == "without":
        from sage_code.parse import grammar

        read = grammar._query_text
        grammar._query_text = lambda folders, name: "" if name == "references.scm" else read(folders, name)


def worker() -> None:
    """Serve as `sage_code.chunk.workers` does."""
    from sage_code.chunk import workers

    _switch()
    workers._serve(sys.stdin.buffer, sys.stdout.buffer, workers._chunk_or_die)


def _references(root: str) -> int:
    from sage_code.compiled.published import current

    generation = current(root)
    assert generation is not None
    return sum(len(generation.open_segment(ref).arrays["ref_kind"]) for ref in generation.segments)


# -- the report -------------------------------------------------------------------------------------------------


def report(began: str, projects: list[dict[str, Any]], made_up: list[dict[str, Any]], repeat: int) -> str:
    """The report, as Markdown."""
    head = ["project", "files", "symbols", "references"]
    head += ["s", "without", "times", "CPU s", "without", "times", "ms a symbol", "CPU ms a symbol"]
    parts = [began, f"Cold index, in process, imports left out; medians of {repeat} in turns:"]
    parts.append(table(head, [_row(each) for each in (*projects, *made_up)]))
    if len(made_up) > 1:
        first, last = made_up[0], made_up[-1]
        for what, name in (("seconds", "Wall"), ("cpu", "Processor")):
            growth = {arm: _a_symbol(last, arm, what) / _a_symbol(first, arm, what) for arm in ("with", "without")}
            parts.append(
                f"{name} time a symbol, {last['symbols']:,} symbols against {first['symbols']:,}: "
                f"{verdict(growth['with'], LINEAR_LIMIT)}; without references {growth['without']:.2f}."
            )
    return "\n\n".join(parts)


def _a_symbol(each: dict[str, Any], arm: str, what: str) -> float:
    return float(each[f"{arm} {what}"] / each["symbols"])


def _row(each: dict[str, Any]) -> list[object]:
    row: list[object] = [each["name"], *(f"{each[what]:,}" for what in ("files", "symbols", "references"))]
    for what in ("seconds", "cpu"):
        taken, without = each[f"with {what}"], each[f"without {what}"]
        row += [f"{taken:.2f}", f"{without:.2f}", verdict(taken / without, LIMIT)]
    return [*row, *(f"{1000 * _a_symbol(each, 'with', what):.3f}" for what in ("seconds", "cpu"))]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2])
    elif sys.argv[1:2] == ["--worker"]:
        worker()
    else:
        main()
