"""Does the chunker survive anything? Mutated real files of every language, through what `sage index` does to a file.

    python benchmarks/fuzz.py [--seconds 60] [--processes 1] [--seed 1] [--repos DIR] [--only LANGUAGE ...]
    python benchmarks/fuzz.py --replay FILE ...

The seeds are the samples in `fixtures/languages/` and files of the projects below `--repos`. A mutant (`mutations.py`)
is named by seed, language and number, so a run can be repeated. Each is read, parsed and cut by `chunk_file` in a child
process that can be ended, and what comes out goes through the pipe's encoding and back. A finding is

    exception   anything raised, also what a worker would have met with plain lines
    crash       the process died: native code, or more memory than a worker should need
    hang        no answer after budget and grace, when a worker is killed; counted in processor time, since the
                machine may be busy
    late        the answer took more processor time than the budget and half of the grace
    lines       a line in no chunk or in two, or a chunk whose text is not that of its lines
    symbols     a symbol that is not inside the file, or not in the chunk that holds its line
    references  one that cannot be read back, or points outside the file

Inputs that fail are kept in `--findings`, and the exit code is then 1.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle, islice, pairwise
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import orjson
import psutil

from benchmarks.measure import machine, table
from benchmarks.mutations import mutant
from sage_code.chunk import workers
from sage_code.chunk.files import ChunkedFile, chunk_file
from sage_code.chunk.lines import split_lines
from sage_code.compiled.references import ReferenceBuilder, ReferenceTable
from sage_code.discover.reading import SourceText, read_source
from sage_code.discover.rules import DiscoverRules
from sage_code.languages.table import HEAD_BYTES, all_languages, detect
from sage_code.parse.definitions import BUDGET_S
from sage_code.parse.reference_codec import KINDS, decode
from sage_code.values import SkippedFile, SourceFile

SAMPLES = Path(__file__).resolve().parents[1] / "fixtures" / "languages"
# Generated code is cut too when the user says so, and then it must be cut well.
RULES = DiscoverRules(include_generated=True)
# As in sage_code/chunk/workers.py, which ends a worker then.
GRACE_S = workers._GRACE_S
# Beyond the budget: tree-sitter checks its clock every hundred steps, and a step may read a token of 60 KB.
LATE_S = GRACE_S / 2
# A child that does nothing at all is not busy: it waits for something that never comes.
STUCK_S = 20 * GRACE_S
# A worker of a real run stays below 150 MB; this is room for the largest file.
MEMORY_BYTES = 3 << 30
# Real files for each language, and how large they may be: small ones leave time for more mutants.
_SEEDS_A_LANGUAGE = 60
_SEED_BYTES = 60_000
# Inputs kept of findings that look alike.
_KEPT = 3
# References of a file that are read back one by one.
_READ_BACK = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repos", type=Path, help="a folder of projects to take files from, beside the samples")
    parser.add_argument("--only", action="append", default=[], metavar="LANGUAGE")
    parser.add_argument("--findings", type=Path, default=Path(tempfile.gettempdir(), "sage-fuzz"))
    parser.add_argument("--replay", type=Path, nargs="+", metavar="FILE", help="check these files, as they are")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        _serve(given.child, Seeds.load(given.child.parent / "seeds.json"), given.seed)
    elif given.replay:
        sys.exit(replay(given.replay))
    else:
        with tempfile.TemporaryDirectory(prefix="sage-fuzz-") as scratch:
            run = Run(Path(scratch), given.findings, given.seed, given.processes)
            print(run.go(Seeds.collect(given.repos, given.only), given.seconds))
        sys.exit(1 if run.count else 0)


class Seeds:
    """The files that mutants are made from, by language."""

    def __init__(self, paths: dict[str, list[str]], chosen: Sequence[str] = ()) -> None:
        self.paths = paths
        self.chosen = list(chosen)  # the languages that are mutated; slices are taken from all of them

    @classmethod
    def collect(cls, repos: Path | None, only: list[str]) -> Seeds:
        """The sample of every language that Sage extracts definitions from, and real files of it."""
        names = {language.name for language in all_languages() if language.has_definitions}
        if unknown := set(only) - names:
            raise SystemExit(f"no such language: {', '.join(sorted(unknown))}")
        found: dict[str, list[str]] = {name: [] for name in sorted(names)}
        for name, paths in found.items():
            paths += sorted(str(path) for path in (SAMPLES / name).glob("sample.*")) or _files(SAMPLES / name)
        real = _files(repos) if repos else []
        Random(0).shuffle(real)  # spread over the projects, and the same for the same folder
        for path in real:
            by_path = detect(path)
            if by_path and len(found.get(by_path.name, ())) > _SEEDS_A_LANGUAGE:
                continue  # not even read: there may be 100,000 of them
            with open(path, "rb") as file:
                head = file.read(HEAD_BYTES)
            if (language := detect(path, head)) and language.name in found and b"\0" not in head:
                found[language.name].append(path)
        return cls(found, sorted(only) or sorted(names))

    @classmethod
    def load(cls, path: Path) -> Seeds:
        """The seeds that the parent has saved, for a child."""
        return cls(json.loads(path.read_text()))

    def save(self, path: Path) -> None:
        """For `load`."""
        path.write_text(json.dumps(self.paths))

    @cached_property
    def texts(self) -> dict[str, list[bytes]]:
        """What the files hold."""
        return {name: [Path(path).read_bytes() for path in paths] for name, paths in self.paths.items()}

    def mutant(self, seed: int, language: str, number: int) -> tuple[str, bytes, list[str]]:
        """The name, the content and the history of the mutant with this number."""
        dice = Random(f"{seed}/{language}/{number}")
        place = dice.randrange(len(self.paths[language]))
        path = self.paths[language][place]
        other = dice.choice(sorted(self.texts))
        data, steps = mutant(dice, self.texts[language][place], (self.texts[language], self.texts[other]))
        return os.path.basename(path), data, [path, *steps]


def _files(folder: Path) -> list[str]:
    found = []
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".git"))
        paths = [os.path.join(where, name) for name in sorted(names)]
        found += [path for path in paths if os.path.isfile(path) and 0 < os.path.getsize(path) <= _SEED_BYTES]
    return found


# --- one file -----------------------------------------------------------------------------------------------


def checked(root: str, name: str) -> dict[str, Any]:
    """What `sage index` makes of one file, and what is wrong with it: `problem` is empty, or kind and details."""
    path = os.path.join(root, name)
    file = SourceFile(name, os.path.getsize(path), 1)
    started, cpu = time.monotonic(), time.process_time()
    told: dict[str, Any] = {"problem": [], "skipped": "", "plain": False, "language": "", "bytes": file.size}
    try:
        result = chunk_file(root, file, RULES)
        told["ms"] = (time.monotonic() - started) * 1000
        used = time.process_time() - cpu
        if isinstance(result, SkippedFile):
            told["skipped"] = result.reason.value
        else:
            told["language"] = result.language
            told["plain"] = all(chunk.kind == "fallback" for chunk in result.chunks)
            source = read_source(root, file, RULES)
            assert isinstance(source, SourceText)
            _check(result, split_lines(source.text))
        if used > BUDGET_S + LATE_S:
            told["problem"] = ["late", f"{used:.1f} s of processor time"]
    except WrongError as wrong:
        told["problem"] = [wrong.kind, str(wrong)]
    except Exception as error:  # any exception is a finding
        frames = traceback.extract_tb(error.__traceback__)
        where = next((f"{Path(f.filename).name}:{f.name}" for f in reversed(frames) if "sage_code" in f.filename), "")
        told["problem"] = ["exception", f"{type(error).__name__} in {where}", traceback.format_exc()]
    told.setdefault("ms", (time.monotonic() - started) * 1000)
    return told


class WrongError(Exception):
    """An answer that breaks a promise."""

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(what)
        self.kind = kind


def _check(result: ChunkedFile, lines: list[str]) -> None:
    """Raise a WrongError if the chunks, symbols or references of a file break a promise."""
    back = workers._decode(result.file, orjson.loads(orjson.dumps(workers._encode(result))))
    if back != result:
        raise WrongError("lines", "not the same after the pipe")
    spans = [(chunk.start_line, chunk.end_line) for chunk in result.chunks]
    follows = all(start == end + 1 for (_, end), (start, _) in pairwise(spans))
    if not spans or spans[0][0] != 1 or spans[-1][1] != len(lines) or not follows:
        raise WrongError("lines", "a line in no chunk or in two")
    for chunk in result.chunks:
        if chunk.start_line > chunk.end_line:
            raise WrongError("lines", "a chunk that ends before it starts")
        if chunk.text != "\n".join(lines[chunk.start_line - 1 : chunk.end_line]):
            raise WrongError("lines", "a chunk with another text")
        for symbol in chunk.symbols:
            if not chunk.start_line <= symbol.line <= chunk.end_line:
                raise WrongError("symbols", f"a {symbol.kind} outside its chunk")
            if not 1 <= symbol.start_line <= symbol.line <= symbol.end_line <= len(lines):
                raise WrongError("symbols", f"a {symbol.kind} with odd lines")
    _check_references(result.references, len(lines))


def _check_references(encoded: str, lines: int) -> None:
    """Raise a WrongError if references change when stored and read, or are outside of the file."""
    builder = ReferenceBuilder()
    builder.add(encoded)
    read_back = list(islice(ReferenceTable(builder.arrays()).of_file(0), _READ_BACK))
    texts, kinds, at, columns = decode(encoded)
    for number, reference in enumerate(read_back):
        told = [reference.name, reference.receiver, reference.alias, reference.scope]
        if told != [texts[column[number]] for column in columns] or reference.line != at[number]:
            raise WrongError("references", "one that is not read back as it was")
    for kind, line in zip(kinds, at, strict=True):
        if not 1 <= line <= lines:
            raise WrongError("references", f"a {KINDS[kind]} outside the file")


def replay(paths: list[Path]) -> int:
    """Check files without mutating them; returns 1 if one fails, else 0."""
    failed = 0
    for path in paths:
        told = checked(str(path.parent.resolve()), path.name)
        failed += bool(told["problem"])
        print(f"{path}: {told['ms']:.0f} ms {told['language']} {told['skipped']} {' '.join(told['problem']) or 'fine'}")
    return int(failed > 0)


# --- the child ----------------------------------------------------------------------------------------------


def _serve(folder: Path, seeds: Seeds, seed: int) -> None:
    """Make and check the mutants that are asked for, one line each way; the last one is left in `folder`."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warm = set()
    for line in sys.stdin:
        language, number = json.loads(line)
        if language not in warm:  # loading a grammar and its queries takes up to a second, once
            warm.add(language)
            sample = Path(seeds.paths[language][0])
            checked(str(sample.parent), sample.name)
        name, data, steps = seeds.mutant(seed, language, number)
        for old in folder.iterdir():
            old.unlink()
        (folder / name).write_bytes(data)
        # Known before the file is cut: the parent has to say what was at work when no answer comes.
        print(json.dumps(steps), flush=True)
        print(json.dumps(checked(str(folder), name)), flush=True)


def _no_answer(kind: str, what: str, seconds: float) -> dict[str, Any]:
    return {"ms": 1000 * seconds, "problem": [kind, what], "skipped": "", "plain": False, "bytes": 0}


class Child:
    """A process that checks mutants, and a thread that reads its output."""

    def __init__(self, scratch: Path, seed: int) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=scratch))
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--child", str(self.folder), "--seed", str(seed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._said: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def ask(self, language: str, number: int) -> tuple[list[str], dict[str, Any]]:
        """The mutations of a mutant, and the result of its check."""
        assert self.process.stdin is not None
        steps = ["?"]
        try:
            self.process.stdin.write(json.dumps([language, number]) + "\n")
            self.process.stdin.flush()
            # Making a mutant is not measured, nor is loading a grammar.
            steps = self._answer(STUCK_S)
            asked, before = time.monotonic(), self._used()
            while time.monotonic() - asked < STUCK_S and self._used() - before < BUDGET_S + GRACE_S:
                with contextlib.suppress(queue.Empty):
                    return steps, self._answer(1.0)
            raise queue.Empty
        except queue.Empty:
            self.end()
            return steps, _no_answer("hang", "no answer", BUDGET_S + GRACE_S)
        except BrokenPipeError:
            code = self.process.wait()
            return steps, _no_answer("crash", f"exit code {code}", 0.0)

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.wait()

    def _used(self) -> float:
        """Seconds of processor time so far; 0 for a dead process whose output is still to be read."""
        try:
            return sum(psutil.Process(self.process.pid).cpu_times()[:2])
        except psutil.NoSuchProcess:
            return 0.0

    def _answer(self, seconds: float) -> Any:
        line = self._said.get(timeout=seconds)
        if not line:
            raise BrokenPipeError
        return json.loads(line)

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._said.put(line)
        self._said.put("")


# --- the run ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Tally:
    """What happened to the mutants of one language."""

    mutants: int = 0
    skipped: int = 0
    plain: int = 0  # out of time, and cut by lines
    slowest_ms: float = 0.0
    slowest: str = ""
    findings: Counter[str] = field(default_factory=Counter)


class Run:
    """A fuzz run: its children, their mutants, and the findings."""

    def __init__(self, scratch: Path, findings: Path, seed: int, processes: int) -> None:
        self.scratch, self.findings, self.seed, self.processes = scratch, findings, seed, processes
        self.tallies: dict[str, Tally] = {}
        self.kinds: Counter[tuple[str, ...]] = Counter()
        self.mutated_bytes = 0
        self._lock = threading.Lock()

    @property
    def count(self) -> int:
        """All findings."""
        return self.kinds.total()

    def go(self, seeds: Seeds, seconds: float) -> str:
        """Ask for mutants of each language in turn until the time is up; the report."""
        seeds.save(self.scratch / "seeds.json")
        self.tallies = {name: Tally() for name in seeds.chosen}
        work = ((name, number // len(seeds.chosen)) for number, name in enumerate(cycle(seeds.chosen)))
        end = time.monotonic() + seconds
        threads = [threading.Thread(target=self._drive, args=(work, end)) for _ in range(self.processes)]
        began = machine()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self._report(seeds, began, seconds)

    def _drive(self, work: Iterator[tuple[str, int]], end: float) -> None:
        """Give one child mutants until the time is up; start another one after a crash."""
        child = Child(self.scratch, self.seed)
        while time.monotonic() < end:
            with self._lock:
                language, number = next(work)
            steps, told = child.ask(language, number)
            with self._lock:
                self._note(child, language, number, steps, told)
            if told["problem"] and told["problem"][0] in ("hang", "crash"):
                child = Child(self.scratch, self.seed)
        child.end()

    def _note(self, child: Child, language: str, number: int, steps: list[str], told: dict[str, Any]) -> None:
        """Count the result of one mutant, and keep the first input of each kind of failure."""
        tally = self.tallies[language]
        tally.mutants += 1
        tally.skipped += bool(told["skipped"])
        tally.plain += told["plain"]
        self.mutated_bytes += told["bytes"]
        if told["ms"] > tally.slowest_ms:
            tally.slowest_ms, tally.slowest = told["ms"], f"{number}: {'+'.join(steps[1:])}, {told['bytes']:,} bytes"
        if not told["problem"]:
            return
        tally.findings[told["problem"][0]] += 1
        alike = (language, *told["problem"][:2]) if told["problem"][0] != "late" else (language, "late")
        self.kinds[alike] += 1
        if self.kinds[alike] <= _KEPT:
            kept = self.findings / f"{language}-{told['problem'][0]}-{self.seed}-{number}"
            kept.mkdir(parents=True, exist_ok=True)
            for path in child.folder.iterdir():
                shutil.copy(path, kept)
            (kept / "secret.txt").write_text("\n".join([*steps, *told["problem"]]) + "\n")
        print(
            f"{language} {number}: {' '.join(told['problem'][:2])} ({'+'.join(steps[1:])})", file=sys.stderr, flush=True
        )

    def _report(self, seeds: Seeds, began: str, seconds: float) -> str:
        """The report of the run, as Markdown."""
        rows: list[list[object]] = [
            [
                name,
                len(seeds.paths[name]),
                f"{tally.mutants:,}",
                f"{tally.skipped:,}",
                f"{tally.plain:,}",
                f"{tally.slowest_ms:.0f}",
                tally.slowest,
                ", ".join(f"{count} {kind}" for kind, count in sorted(tally.findings.items())) or 0,
            ]
            for name, tally in self.tallies.items()
        ]
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = children.ru_utime + children.ru_stime
        mutants = sum(tally.mutants for tally in self.tallies.values())
        skipped = sum(tally.skipped for tally in self.tallies.values())
        plain = sum(tally.plain for tally in self.tallies.values())
        files = sum(map(len, seeds.paths.values()))
        slowest = max(tally.slowest_ms for tally in self.tallies.values())
        rows.append(["all", files, f"{mutants:,}", f"{skipped:,}", f"{plain:,}", f"{slowest:.0f}", "", self.count])
        head = ["language", "files", "mutants", "left out", "by lines", "slowest ms", "which", "findings"]
        summary = (
            f"Seed {self.seed}, {self.processes} processes, {seconds:.0f} s, of which {used:.0f} s of processor time"
        )
        parts = [
            began,
            f"{summary}; {self.mutated_bytes / 1e6:,.0f} MB.",
            table(head, rows),
        ]
        if self.count:
            parts.append("\n".join(f"{count} × {' '.join(alike)}" for alike, count in self.kinds.most_common()))
            parts.append(f"Inputs in {self.findings}.")
        return "\n\n".join(parts)


if __name__ == "__main__":
    main()
