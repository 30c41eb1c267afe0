"""What the benchmark scripts share: a process with its wall time and peak memory, and a table to print.

`run` is the stopwatch: it starts a command and waits for it, sampling the memory of the whole process tree meanwhile.
psutil is imported only there, so that a measured child may import this module from any environment.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MB = 1 << 20
_HERE = os.path.dirname(os.path.abspath(__file__))
_DEVELOPERS_VARIABLES = frozenset({"PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"})
_SAMPLE_S = 0.05
# Looking for new children reads every process of the machine: done less often, or it would slow what it measures.
_SAMPLES_A_LOOK = 10
# Which pages are shared takes milliseconds to say.
_SAMPLES_A_SHARE = 4


@dataclass(frozen=True, slots=True)
class Finished:
    """A process that has succeeded."""

    seconds: float  # wall, from before its start to after its end
    output: str
    own_mb: float  # peak resident memory of the process itself
    tree_mb: float  # and of it with all its children; pages that they share count once for each, unless `shared_once`

    def json(self) -> Any:
        """The document on the last line of its output."""
        return json.loads(self.output.splitlines()[-1])


def environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a measured process: bytecode is cached and output is buffered, as for any user."""
    inherited = {name: value for name, value in os.environ.items() if name not in _DEVELOPERS_VARIABLES}
    return {**inherited, **(more or {})}


def run(command: Sequence[str], env: Mapping[str, str] | None = None, *, shared_once: bool = False) -> Finished:
    """Run `command`, with `env` added to the environment, until it ends; a failure ends the benchmark.

    `shared_once` counts pages that processes share once in all, where the system says (Linux); it looks less often.
    """
    import psutil

    own = tree = 0
    started = time.perf_counter()
    process = psutil.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(env))
    family = [process]
    look = 0
    # Children report with one short line, so that the pipe never fills before it is read.
    while True:
        try:
            process.wait(timeout=_SAMPLE_S)
            break
        except psutil.TimeoutExpired:
            look += 1
        if look % _SAMPLES_A_LOOK == 1:
            family = [process, *process.children(recursive=True)]
        sizes = [_resident(member) for member in family]
        own = max(own, sizes[0])
        if not shared_once:
            tree = max(tree, sum(sizes))
        elif look % _SAMPLES_A_SHARE == 1:
            tree = max(tree, sum(map(_share, family)))
    seconds = time.perf_counter() - started
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return Finished(seconds, process.stdout.read(), own / MB, tree / MB)


def _resident(process: Any) -> int:
    import psutil

    try:
        return int(process.memory_info().rss)
    except psutil.Error:  # it has just ended
        return 0


def _share(process: Any) -> int:
    """The resident memory of a process, of pages that it shares with others only its share."""
    try:
        with open(f"/proc/{process.pid}/smaps_rollup", encoding="ascii") as file:
            return sum(int(line.split()[1]) * 1024 for line in file if line.startswith("Pss:"))
    except OSError:
        return _resident(process)


def wall(command: Sequence[str], env: Mapping[str, str] | None = None, codes: Iterable[int] = (0,)) -> float:
    """Seconds that a short process takes, from spawning it to its end; nothing else happens meanwhile."""
    return wall_and_cpu(command, env, codes)[0]


def wall_and_cpu(
    command: Sequence[str], env: Mapping[str, str] | None = None, codes: Iterable[int] = (0,)
) -> tuple[float, float]:
    """The same, and the processor time of the process, which says more on a machine that others use."""
    surroundings = environment(env)
    silence = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    started = time.perf_counter()
    process = os.posix_spawn(command[0], command, surroundings, file_actions=silence)
    _, status, used = os.wait4(process, 0)
    seconds = time.perf_counter() - started
    if os.waitstatus_to_exitcode(status) not in codes:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return seconds, used.ru_utime + used.ru_stime


def find_browser() -> str:
    """The path of a whole browser of the Chromium family, as people use one."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise SystemExit("no browser: `apt-get install chromium`")
    return found


def machine() -> str:
    """One line that says what was measured, when and where."""
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, cwd=_HERE
    ).stdout
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    when = time.strftime("%Y-%m-%d %H:%M")
    return f"{when}, commit {commit.strip()}, Python {platform.python_version()}, {os.cpu_count()} cores, load {load}."


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def verdict(value: float, limit: float, form: str = "{:.2f}") -> str:
    """A figure with its limit."""
    return f"{form.format(value)} {'✓' if value <= limit else '✗'} (at most {form.format(limit)})"
