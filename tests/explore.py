"""Runs the tests that draw their input by chance with seeds that no run had before, until time is up or one fails.

    python tests/explore.py [--minutes 30] [--seed N] [TEST ...]

A round is every test marked `chance` (see `conftest.py`) and a minute of `benchmarks/fuzz.py`, all from one seed. The
first failure ends it with 1, and the command that gives the same round again is printed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

_ROOT = Path(__file__).resolve().parent.parent
_FUZZ_SECONDS = 60.0
_PYTEST = ("-m", "pytest", "-c", "pyproject.toml", "-x", "-m", "chance", "--hypothesis-profile=explore")


def main() -> int:
    """Rounds until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, help="only the round of this seed")
    parser.add_argument("tests", nargs="*", default=["tests"])
    given = parser.parse_args()
    end = time.monotonic() + 60 * given.minutes
    rounds = 0
    while time.monotonic() < end:
        seed = random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
        print(f"explore: round {rounds + 1}, seed {seed}", flush=True)
        commands = [[sys.executable, *_PYTEST, f"--hypothesis-seed={seed}", *given.tests]]
        if given.tests == ["tests"]:
            seconds = min(_FUZZ_SECONDS, 60 * given.minutes / 4)
            fuzz = str(_ROOT / "benchmarks" / "fuzz.py")
            commands.append([sys.executable, fuzz, "--seconds", f"{seconds:.0f}", "--seed", str(seed)])
        for command in commands:
            code = _run(command, seed, end)
            if code is None:
                break
            if code:
                tests = "" if given.tests == ["tests"] else f" TESTS='{' '.join(given.tests)}'"
                print(f"explore: failed; the same again: make explore SEED={seed}{tests}", flush=True)
                return 1
        else:
            rounds += 1
        if given.seed is not None:
            break
    print(f"explore: {rounds} whole rounds, nothing found", flush=True)
    return 0


def _run(command: list[str], seed: int, end: float) -> int | None:
    """The exit code; None when the time is up before the command is done."""
    process = subprocess.Popen(
        command, cwd=_ROOT, env={**os.environ, "EXPLORE_SEED": str(seed)}, start_new_session=True
    )
    try:
        return process.wait(max(end - time.monotonic(), 0))
    except subprocess.TimeoutExpired:
        return None
    finally:
        if process.poll() is None:  # also after Ctrl-C: nothing of it stays behind
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
