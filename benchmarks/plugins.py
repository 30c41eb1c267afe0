"""What plugins cost: nothing if none is enabled, and little if one listens to everything.

    python benchmarks/plugins.py [--before CHECKOUT] [--project DIR] [--rounds 40]

Without a plugin, this checkout takes turns with an older one (`--before`, a git worktree from before there were
plugins): warm searches in two processes that stay open, and `sage grep` as a whole process. With one, two homes of this
checkout take turns, the second with a plugin that has all seven hooks and changes nothing: warm searches of the library
(two hooks), over MCP (all four that an answer passes, five calls), and `sage search` as a whole process.

Every line has medians, with the median ratio of turns that ran one after the other, and the least times (of each
question, then their mean): on a machine that does other work too, only these say what Sage itself takes.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from measure import environment

TOP = Path(__file__).parents[1]
QUESTIONS = (
    "where is a file replaced whole",
    "which words does a query have",
    "masking of secrets",
    "when is a checkpoint due",
    "order of handlers by priority",
    "read_contained",
)
SYMBOL = "read_contained"
# Searches of one turn: a turn is long enough for the clock, and short enough for the machine to stay the same.
_A_TURN = 12

_PLUGIN = """
from sage_code.events.plugins import HOOKS, PluginMetadata


class Nothing:
    metadata = PluginMetadata("nothing", "1", hooks=list(HOOKS))

    def nothing(self, *given):
        return None

    pre_load = post_load = on_timeout = pre_search = post_search = pre_format = post_format = nothing
"""
_LIBRARY = """
import json, sys, time
from sage_code.project import Project
project = Project.open(sys.argv[1])
for line in sys.stdin:
    took = []
    for question in json.loads(line):
        started = time.perf_counter()
        project.search(question)
        took.append((time.perf_counter() - started) * 1000)
    print(json.dumps(took), flush=True)
"""
_CLI = "from sage_cli.entry import main; main()"
_ENABLE = "import sys; from sage_code.events.discovery import enable; enable(sys.argv[1])"
_INDEX = "import sys; from sage_code.project import Project; Project.open(sys.argv[1]).index(anywhere=True)"


class Side:
    """A checkout with a home and a copy of the project of its own."""

    def __init__(self, checkout: Path, project: Path, folder: Path) -> None:
        self.home, self.project = folder / ".sage", folder / "project"
        shutil.copytree(project, self.project, ignore=shutil.ignore_patterns(".git", ".sage", ".venv", "__pycache__"))
        paths = os.pathsep.join(str(checkout / part) for part in ("", "cli", "mcp"))
        kept = {name: value for name, value in environment().items() if not name.startswith("SAGE_")}
        own = {"HOME": str(folder), "SAGE_HOME": str(self.home), "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        own["OPENBLAS_NUM_THREADS"] = "1"  # as `sage search` and the server have it; threads that spin measure the load
        self.environment = {**kept, "PYTHONPATH": paths, **own}
        self._workers: list[subprocess.Popen[str]] = []
        self.run(_INDEX, str(self.project))

    def with_code_of(self, checkout: Path) -> Side:
        """The same home and project with the code of another checkout, whose index has the same format."""
        other = copy.copy(self)
        paths = os.pathsep.join(str(checkout / part) for part in ("", "cli", "mcp"))
        bytecode = f"{self.environment['PYTHONPYCACHEPREFIX']}-other"
        other.environment = {**self.environment, "PYTHONPATH": paths, "PYTHONPYCACHEPREFIX": bytecode}
        other._workers = []
        return other

    def run(self, code: str, *words: str) -> float:
        """Run a program of Sage as a process in the project; returns its milliseconds."""
        command = [sys.executable, "-P", "-c", code, *words]
        started = time.perf_counter()
        subprocess.run(
            command, cwd=self.project, env=self.environment, check=True, stdout=subprocess.DEVNULL, timeout=600
        )
        return (time.perf_counter() - started) * 1000

    def enable_nothing(self) -> None:
        """Enable a plugin that has every hook and changes nothing."""
        (self.home / "plugins").mkdir()
        (self.home / "plugins" / "nothing.py").write_text(_PLUGIN)
        self.run(_ENABLE, "nothing")

    def library(self) -> Callable[[], list[float]]:
        """What searches in a process that stays open; each call returns the milliseconds of a turn."""
        return self._worker([sys.executable, "-P", "-c", _LIBRARY, str(self.project)])

    def server(self) -> Callable[[], list[float]]:
        """The same through an MCP client and a server over stdio."""
        return self._worker([sys.executable, __file__, "--talk", str(self.project)])

    def _worker(self, command: list[str]) -> Callable[[], list[float]]:
        worker = subprocess.Popen(
            command, env=self.environment, cwd=self.project, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._workers.append(worker)

        def turn() -> list[float]:
            assert worker.stdin is not None
            assert worker.stdout is not None
            questions = [QUESTIONS[number % len(QUESTIONS)] for number in range(_A_TURN)]
            worker.stdin.write(json.dumps(questions) + "\n")
            worker.stdin.flush()
            took: list[float] = json.loads(worker.stdout.readline())
            return took

        turn()  # opens what stays open
        return turn

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            assert worker.stdin is not None
            worker.stdin.close()
            worker.wait(60)
        self._workers.clear()


def talk(project: str) -> None:
    """Answer turns by calls of the search tool, over one connection."""
    import anyio
    from mcp import Client, StdioServerParameters, stdio_client

    command = [sys.executable, "-P", "-m", "sage_mcp.server"]
    start = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ), cwd=project)

    async def answer() -> None:
        async with Client(stdio_client(start)) as client:
            while line := await anyio.to_thread.run_sync(sys.stdin.readline):
                took = []
                for question in json.loads(line):
                    started = time.perf_counter()
                    await client.call_tool("sage_search_code", {"query": question})
                    took.append((time.perf_counter() - started) * 1000)
                print(json.dumps(took), flush=True)

    anyio.run(answer)


Turn = Callable[[], list[float]]
Turns = list[list[float]]


def in_turns(first: Turn, second: Turn, rounds: int) -> tuple[Turns, Turns]:
    """The times of two sides that take turns; every other round the second begins."""
    found: tuple[Turns, Turns] = ([], [])
    for number in range(rounds):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            found[side].append((first, second)[side]())
    return found


def report(name: str, first: Turns, second: Turns, names: tuple[str, str]) -> None:
    """Print a line about two sides."""
    one, other = ([statistics.median(turn) for turn in side] for side in (first, second))
    ratio = statistics.median(b / a for a, b in zip(one, other, strict=True))
    least = [statistics.mean(map(min, zip(*side, strict=True))) for side in (first, second)]
    print(
        f"{name:<36} median {names[0]} {statistics.median(one):7.2f} ms, "
        f"{names[1]} {statistics.median(other):7.2f} ms, ratio {ratio:.3f}; "
        f"least {least[0]:7.2f} ms, {least[1]:7.2f} ms: {least[1] / least[0]:.4f}, {least[1] - least[0]:+.2f} ms",
        flush=True,
    )


def report_pairs(name: str, sides: tuple[Side, Side], opened: Callable[[Side], Turn], pairs: int, rounds: int) -> None:
    """Print how warm searches of two sides compare, over several pairs of processes."""
    ratios, more = [], []
    for _ in range(pairs):
        first, second = in_turns(opened(sides[0]), opened(sides[1]), rounds)
        one, other = (statistics.median(time for turn in side for time in turn) for side in (first, second))
        ratios.append(other / one)
        more.append(other - one)
        for side in sides:
            side.close()
    root = pairs**0.5
    print(
        f"{name:<36} {pairs} pairs of processes: ratio {statistics.mean(ratios):.3f} ± "
        f"{statistics.stdev(ratios) / root:.3f}, median {statistics.median(ratios):.3f}; "
        f"{statistics.mean(more):+.2f} ± {statistics.stdev(more) / root:.2f}, median {statistics.median(more):+.2f} ms",
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before", type=Path, help="a checkout from before there were plugins")
    parser.add_argument("--project", type=Path, default=TOP / "sage_code", help="what is searched")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--talk", metavar="PROJECT", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.talk:
        talk(given.talk)
        return
    with tempfile.TemporaryDirectory() as scratch:
        sides = {"now": Side(TOP, given.project, Path(scratch) / "now")}
        if given.before:
            sides["before"] = sides["now"].with_code_of(given.before.resolve())
        sides["plugin"] = Side(TOP, given.project, Path(scratch) / "plugin")
        sides["plugin"].enable_nothing()
        now, plugin = sides["now"], sides["plugin"]
        a_pair = max(given.rounds // 8, 2)
        try:
            if given.before:
                before, names = sides["before"], ("before", "now")
                report_pairs("no plugin: a warm search", (before, now), Side.library, given.pairs, a_pair)
                grep = [lambda side=side: [side.run(_CLI, "grep", SYMBOL)] for side in (before, now)]
                report("no plugin: `sage grep`, a process", *in_turns(*grep, 4 * given.rounds), names)
            names = ("without", "with")
            report_pairs("one plugin: a warm search", (now, plugin), Side.library, given.pairs, a_pair)
            report_pairs("one plugin: a search over MCP", (now, plugin), Side.server, given.pairs, a_pair)
            search = [lambda side=side: [side.run(_CLI, "search", *QUESTIONS[0].split())] for side in (now, plugin)]
            report("one plugin: `sage search`, a process", *in_turns(*search, given.rounds), names)
        finally:
            for side in sides.values():
                side.close()


if __name__ == "__main__":
    main()
