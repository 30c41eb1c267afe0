"""Kills `sage index` again and again at random moments, and checks what is left.

    python benchmarks/crash.py --runs 100

Each round takes a made-up project, cold or after a day's edits, starts the real `sage index` on it and kills its
process group with SIGKILL. Then the old index or the new one must answer, all of it and nothing else: symbol files to
the byte, every segment, and `sage grep`. The next run must succeed, embed nothing that had reached the store, leave no
rubbish, and `sage admin verify --check` must be clean. Ends with 1 when a promise was broken.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

import made_up
import psutil
from measure import table
from proving import State, Violation, command, demand, expected, own_home, published, remembered, sage

from sage_code.embed import default_embedder
from sage_code.index.upkeep import verify_project
from sage_code.paths import compiled_dir, generations_dir
from sage_code.settings.loading import load_settings
from sage_code.store.lance import Store, store_uri, table_name

# When to kill: at any time, once it has begun to write, once the first rows are on the disk, or in the narrow gap
# between the new compiled files and the manifest that names them. A process spends most of its time importing and
# parsing, so a random moment is rarely there.
_MOMENTS = ("any", "work", "store", "work", "store", "publish")
_PHASES = ("before any row", "some rows stored", "all rows stored", "published", "manifest written", "had finished")
_POLL_S = 0.0005
_DEATH_S = 5.0


@dataclass(frozen=True, slots=True)
class Round:
    """What one kill interrupted and what the next run did."""

    cold: bool
    moment: str
    phase: str
    lost: int  # chunks that had not reached the store
    created: int  # chunks that the next run embedded


@dataclass(slots=True)
class _Pace:
    """How long an undisturbed run takes, and how much of it comes after the imports."""

    life_s: float = 4.0
    work_s: float = 1.0


class Proof:
    """A project and its home, killed round by round."""

    def __init__(self, folder: Path, rng: Random, files: int) -> None:
        self._rng, self._root, self._home = rng, folder / "project", folder / "home"
        self._project = made_up.Project(self._root, rng, files)
        self._pace = {True: _Pace(), False: _Pace()}
        embedder = default_embedder()
        self._model, self._dim = embedder.name, embedder.dim
        self._state: State | None = None
        for cold in (True, False):  # undisturbed, for the pace
            self._prepare(cold)
            self._start(cold, "never")
            self._state = self._settle(expected(self._root))

    def round(self, number: int) -> Round:
        """Kill one run and let the next one repair the index."""
        cold, moment = self._rng.random() < 0.4, _MOMENTS[number % len(_MOMENTS)]
        self._prepare(cold)
        old, new = self._state, expected(self._root)
        finished = self._start(cold, moment)
        self._wait_for_children()
        self._answers(old, new)
        missing = self._missing(new)
        phase = _PHASES[-1] if finished else self._phase(new)
        if moment == "work":  # the machine is now slower, now faster: aim for the middle
            self._pace[cold].work_s *= {_PHASES[0]: 1.3, _PHASES[-1]: 0.7}.get(phase, 1)
        lost = sum(map(len, missing.values()))
        stats = sage("index", self._root)
        distinct = {digest for hashes in missing.values() for digest in hashes}
        demand(
            len(distinct) <= stats["chunks_created"] <= lost,
            f"the next run embedded {stats['chunks_created']} chunks, lost were {lost}",
        )
        self._state = self._settle(new)
        if number % 10 == 0:
            demand(sage("admin", "verify", self._root, "--check")["clean"], "sage admin verify is clean")
        return Round(cold, moment, phase, lost, stats["chunks_created"])

    # -- before -----------------------------------------------------------------------------------------------------

    def _prepare(self, cold: bool) -> None:
        if cold:
            shutil.rmtree(self._home, ignore_errors=True)
            shutil.rmtree(self._root / ".sage", ignore_errors=True)
            self._state = None
        else:
            self._project.edit()

    def _start(self, cold: bool, moment: str) -> bool:
        """Start `sage index` and kill it after a time; returns whether it had ended before."""
        pace = self._pace[cold]
        link = compiled_dir(str(self._root))
        before = os.readlink(link) if os.path.islink(link) else ""
        stored = self._data_files()
        started = time.monotonic()
        process = subprocess.Popen(
            command("index", self._root), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )

        def wait_until(condition: Callable[[], bool]) -> None:
            while process.poll() is None and not condition():
                time.sleep(_POLL_S)

        def wait(seconds: float) -> None:
            until = time.monotonic() + seconds
            wait_until(lambda: time.monotonic() >= until)

        if moment == "any":
            wait(self._rng.uniform(0, pace.life_s))
        else:
            wait_until(self._is_writing)
            writing = time.monotonic()
            if moment == "work":
                wait(self._rng.uniform(0, pace.work_s))
            elif moment == "store":
                wait_until(lambda: self._data_files() > stored)
                wait(self._rng.uniform(0, pace.work_s / 2))
            elif moment == "publish":
                wait_until(lambda: os.path.islink(link) and os.readlink(link) != before)
                wait(self._rng.uniform(0, 0.004))
            else:
                process.wait()
                pace.life_s, pace.work_s = time.monotonic() - started, time.monotonic() - writing
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        error = process.communicate()[1].decode()
        demand(process.returncode in (0, -signal.SIGKILL), f"sage index ended with {process.returncode}: {error}")
        demand("Traceback" not in error, error)
        return process.returncode == 0

    def _is_writing(self) -> bool:
        folder = generations_dir(str(self._root))
        return os.path.isdir(folder) and any(name.endswith(".tmp") for name in os.listdir(folder))

    def _data_files(self) -> int:
        return sum(1 for _ in Path(store_uri("")).glob("*.lance/data/*"))

    # -- after ------------------------------------------------------------------------------------------------------

    def _wait_for_children(self) -> None:
        """Check that the workers end: they are in their own sessions and must notice the kill themselves."""
        until = time.monotonic() + _DEATH_S
        while alive := [child for child in psutil.process_iter(["environ"]) if self._is_ours(child)]:
            demand(time.monotonic() < until, f"{alive} outlived their parent")
            time.sleep(0.02)

    def _is_ours(self, process: psutil.Process) -> bool:
        home = (process.info["environ"] or {}).get("SAGE_HOME")
        return home == str(self._home) and process.pid != os.getpid()

    def _answers(self, old: State | None, new: State) -> None:
        """Check that the index is completely the old or the new one, and that the command line agrees."""
        found, named = published(self._root), remembered(self._root)
        demand(found in (old, new), "the compiled files are neither the old index nor the new one")
        demand(named in (old and old.keys, new.keys), "the manifest is neither the old one nor the new one")
        demand(named != new.keys or found == new, "the manifest speaks of compiled files that are not there")
        if found is None:
            demand(sage("grep", "x", "--path", self._root, ok=(2,))["error"]["code"] == "not_indexed", "grep says so")
            return
        lines = found.symbols["functions"].splitlines()[1:-1]
        symbol = json.loads(self._rng.choice(lines).rstrip(b","))
        # Without a refresh: otherwise it would answer from the files as they are, and index them.
        matches = sage("grep", symbol["name"], "--no-refresh", "--path", self._root)["matches"]
        demand(symbol in matches, f"grep does not find {symbol}")

    def _missing(self, new: State) -> dict[str, list[str]]:
        """The chunks of files without rows in the store whose vectors are not in the store either."""
        store = self._open_store()
        if store is None:
            return {key: list(hashes) for key, hashes in new.hashes.items()}
        present = store.existing(list(new.hashes))
        hashes = [digest for key, hashes in new.hashes.items() if key not in present for digest in hashes]
        vectors = store.vectors(hashes)
        return {
            key: [digest for digest in hashes if digest not in vectors]
            for key, hashes in new.hashes.items()
            if key not in present
        }

    def _open_store(self) -> Store | None:
        """The store, or None if it has no table: opening it would create one."""
        uri = store_uri("")
        versions = Path(uri, f"{table_name(self._model, self._dim)}.lance", "_versions")
        return Store(uri, self._model, self._dim) if any(versions.glob("*.manifest")) else None

    def _phase(self, new: State) -> str:
        """How far the killed run got, by what it left."""
        store = self._open_store()
        stored = len(store.existing(list(new.hashes))) if store else 0
        known = len(set(new.hashes) & set(self._state.keys.values())) if self._state else 0
        if remembered(self._root) == new.keys:
            return _PHASES[4]
        if published(self._root) == new:
            return _PHASES[3]
        if stored == len(new.hashes):
            return _PHASES[2]
        return _PHASES[1] if stored > known else _PHASES[0]

    def _settle(self, new: State) -> State:
        """Check that a complete run has left the new index, registered and verified, and nothing else."""
        demand(published(self._root) == new, "the compiled files are the new index")
        demand(remembered(self._root) == new.keys, "the manifest is the new one")
        report = verify_project(str(self._root), load_settings(str(self._root)), mend=False)
        demand(report.clean, f"verify is clean: {report.findings[:3]}")
        demand(report.rows == sum(new.chunks.values()), "every chunk has one row")
        demand([entry["root"] for entry in sage("projects", "list")["projects"]] == [str(self._root)], "it is listed")
        rubbish = [path for folder in (self._root, self._home) for path in folder.rglob("*.tmp")]
        demand(not rubbish, f"nothing is left behind: {rubbish}")
        demand(len(os.listdir(generations_dir(str(self._root)))) <= 2, "at most two generations stay")
        return new


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100, help="how often to kill (default: 100)")
    parser.add_argument("--files", type=int, default=150, help="files of the project (default: 150)")
    parser.add_argument("--seed", type=int, default=1, help="names the project, its edits and the moments (default: 1)")
    given = parser.parse_args()
    rounds: list[Round] = []
    started = time.monotonic()
    with own_home() as folder:
        try:
            proof = Proof(folder, Random(given.seed), given.files)
            for number in range(given.runs):
                rounds.append(proof.round(number))
                print(f"{number + 1:4d}  {rounds[-1]}", file=sys.stderr, flush=True)
        except Violation as violation:
            print(f"broken in run {len(rounds) + 1} (seed {given.seed}): {violation}")
            return 1
        finally:
            print(_summary(rounds, time.monotonic() - started))
    return 0


def _summary(rounds: list[Round], seconds: float) -> str:
    kinds = Counter((each.phase, each.cold) for each in rounds)
    rows = [[phase, kinds[phase, True], kinds[phase, False]] for phase in _PHASES]
    killed = sum(each.phase != _PHASES[-1] for each in rounds)
    lost, created = sum(each.lost for each in rounds), sum(each.created for each in rounds)
    return (
        f"{table(['killed when', 'cold runs', 'incremental runs'], rows)}\n"
        f"{killed} of {len(rounds)} runs killed in {seconds:.0f} s, the others were faster; "
        f"chunks lost {lost:,}, embedded again {created:,}"
    )


if __name__ == "__main__":
    sys.exit(main())
