"""How long does `sage grep` take as a whole process, against an interpreter that does nothing?

    python benchmarks/grep_speed.py [--symbols 200000] [--files 20000] [--repeat 30]

A synthetic project with that many symbols is generated and indexed for real in a scratch folder; with `--files` small
files are added up to that number, ten in a folder. Then the commands and `python -c pass` with the same interpreter
take turns in random order; the medians of wall and CPU time are compared. A hit in a large project looks at a part of
its files for changes, with `--refresh` and on a miss at all. At the end the modules that a hit imports beyond a bare
interpreter are listed with what each costs.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import environment, machine, run, table, verdict

HIT_LIMIT, HIT_LIMIT_OF_MANY_FILES = 3.0, 2.5
_FILES_A_FOLDER = 10
_SETTLED_S = 5.0  # files are old enough to be believed unchanged
_SAGE = str(Path(sys.executable).with_name("sage"))
_BARE = "python -c pass"
# What one generated file defines: 5 classes of 15 methods, 15 functions and 5 constants.
_CLASSES, _METHODS, _FUNCTIONS, _CONSTANTS = 5, 15, 15, 5
_SYMBOLS_A_FILE = _CLASSES * (1 + _METHODS) + _FUNCTIONS + _CONSTANTS
_WORDS = """
    parse read write load save open close find make send fetch merge split check build render index sort header request
    response session token cache chunk symbol manifest buffer stream socket packet table column row query plan node tree
    leaf graph edge path route handler event signal worker queue task batch lock record field schema page block frame
""".split()  # noqa: SIM905 - a list of quoted words is no easier to read


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--symbols", type=int, default=200_000)
    parser.add_argument("--files", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=30)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sage-grep-") as scratch:
        root, env = os.path.join(scratch, "project"), {"SAGE_HOME": os.path.join(scratch, "home")}
        generate(Path(root), given.symbols, given.files)
        indexed = run([_SAGE, "index", "--json", root], env)
        limit = HIT_LIMIT_OF_MANY_FILES if given.files else HIT_LIMIT
        print(report(root, env, given.repeat, indexed.seconds, indexed.json(), limit))


def generate(root: Path, symbols: int, files: int = 0) -> None:
    """Python files whose names repeat about as much as in real code: words from a small vocabulary."""
    dice = random.Random(0)
    for number in range(symbols // _SYMBOLS_A_FILE):
        folder = root / f"package_{number // 50:03d}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"module_{number:05d}.py").write_text(_module(dice))
    for number in range(symbols // _SYMBOLS_A_FILE, files):
        folder = root / f"area_{number // 200:03d}" / f"small_{number // _FILES_A_FOLDER:04d}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"module_{number:05d}.py").write_text(
            f"def {_name(dice)}({dice.choice(_WORDS)}):\n{_body(dice, 4)}\n"
        )
    (root / ".git").mkdir(exist_ok=True)  # marks the root
    (root / "package_000" / "landmark.py").write_text(
        "class Landmark:\n    def reach_the_landmark(self, way: int) -> int:\n        return way\n"
    )


def _module(dice: random.Random) -> str:
    lines = [f"{_name(dice).upper()} = {dice.randrange(1000)}" for _ in range(_CONSTANTS)]
    for _ in range(_CLASSES):
        lines.append(f'\n\nclass {_name(dice).title().replace("_", "")}:\n    """Keeps a {dice.choice(_WORDS)}."""')
        lines += [f"\n    def {_name(dice)}(self, {dice.choice(_WORDS)}):\n{_body(dice, 8)}" for _ in range(_METHODS)]
    lines += [f"\n\ndef {_name(dice)}({dice.choice(_WORDS)}, limit=10):\n{_body(dice, 4)}" for _ in range(_FUNCTIONS)]
    return "\n".join(lines) + "\n"


def _name(dice: random.Random) -> str:
    return "_".join(dice.choices(_WORDS, k=3))


def _body(dice: random.Random, indent: int) -> str:
    return f"{' ' * indent}return {_name(dice)}({dice.choice(_WORDS)}.{dice.choice(_WORDS)})"


def cost(command: list[str], env: dict[str, str]) -> tuple[float, float]:
    """Seconds of wall and of CPU time that a short process takes, from spawning it to its end."""
    silence = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_WRONLY, 0) for stream in (1, 2)]
    surroundings = environment(env)
    started = time.perf_counter()
    process = os.posix_spawn(command[0], command, surroundings, file_actions=silence)
    _, status, used = os.wait4(process, 0)
    seconds = time.perf_counter() - started
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return seconds, used.ru_utime + used.ru_stime


def report(root: str, env: dict[str, str], repeat: int, indexing_s: float, stats: dict[str, int], limit: float) -> str:
    """Measure all commands in random order; the report, as Markdown."""
    grep = [_SAGE, "grep", "--path", root]
    commands = {
        _BARE: [sys.executable, "-c", "pass"],
        "hit": [*grep, "reach_the_landmark"],
        "hit, --refresh": [*grep, "--refresh", "reach_the_landmark"],
        "hit, --no-refresh": [*grep, "--no-refresh", "reach_the_landmark"],
        "hit, qualified": [*grep, "Landmark.reach_the_landmark"],
        "hit, --json": [*grep, "--json", "reach_the_landmark"],
        "--prefix": [*grep, "--prefix", "reach_the_l"],
        "--ignore-case": [*grep, "--ignore-case", "REACH_THE_LANDMARK"],
        "miss by a slip": [*grep, "reach_the_landmrk"],
        "miss, nothing alike": [*grep, "zqxj_unheard_of"],
    }
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    first = []
    for command in (commands["hit"], *commands.values()):
        first.append(cost(command, env)[0])  # once for the page cache and the bytecode
        time.sleep(_SETTLED_S / len(commands))
    for _ in range(repeat):
        for name in random.sample(list(commands), len(commands)):
            times[name].append(cost(commands[name], env))
    bare, bare_cpu = (median(part) for part in zip(*times[_BARE], strict=True))
    rows = [
        [
            name,
            f"{median(taken) * 1000:.1f}",
            f"{min(taken) * 1000:.1f}",
            verdict(median(taken) / bare, limit) if name == "hit" else f"{median(taken) / bare:.2f}",
            f"{median(used) / bare_cpu:.2f}",
        ]
        for name, (taken, used) in ((name, tuple(zip(*pairs, strict=True))) for name, pairs in times.items())
    ]
    symbols = stats["functions_compiled"] + stats["classes_compiled"] + stats["constants_compiled"]
    return "\n\n".join(
        [
            machine(),
            f"{symbols:,} symbols in {stats['files_indexed']:,} files, indexed for real in {indexing_s:.0f} s.",
            table(["command", f"median of {repeat}, ms", "best, ms", f"times `{_BARE}`", "times its CPU"], rows),
            f"The first hit after the index was made, which looks at every file: {first[0] * 1000:.0f} ms.",
            "Imported by a hit beyond a bare interpreter (ms, without what each imports itself):",
            table(["module", "ms"], imports(commands["hit"], commands[_BARE], env)),
        ]
    )


def imports(command: list[str], bare: list[str], env: dict[str, str]) -> list[tuple[str, str]]:
    """Modules that `command` loads and `bare` does not, the slowest first, each with the least of several times."""
    known = _import_times(bare, env)
    samples = [_import_times([sys.executable, *command], env) for _ in range(5)]
    costs = {module: min(sample[module] for sample in samples) for module in samples[0] if module not in known}
    dearest = sorted(costs.items(), key=lambda item: -item[1])
    return [(module, f"{cost / 1000:.1f}") for module, cost in (*dearest[:15], ("all", sum(costs.values())))]


def _import_times(command: list[str], env: dict[str, str]) -> dict[str, int]:
    traced = environment({**env, "PYTHONPROFILEIMPORTTIME": "1"})
    told = subprocess.run(command, env=traced, capture_output=True, text=True, check=True).stderr
    return {module: int(own) for own, module in re.findall(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\S+)", told)}


if __name__ == "__main__":
    main()
