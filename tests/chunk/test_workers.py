"""Chunking in child processes: the same results, in order, even when a child hangs or dies."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from sage_code.chunk import workers
from sage_code.chunk.files import ChunkedFile, chunk_file
from sage_code.chunk.workers import chunk_files, chunk_here
from sage_code.discover.reading import SourceText, read_source
from sage_code.discover.rules import DEFAULT_RULES
from sage_code.values import SkippedFile, SkipReason, SourceFile

# A worker whose grammar hangs on one file and crashes on another.
UNSOUND = """
import os, sys, time
from sage_code.chunk import workers

def work(root, file, rules, budget_s, source):
    if file.path.startswith("hang"):
        time.sleep(60)
    if file.path.startswith("die"):
        os._exit(3)
    return workers.chunk_file(root, file, rules, source=source)

workers._serve(sys.stdin.buffer, sys.stdout.buffer, work)
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[SourceFile]:
    """Forty files of very different sizes, one of them binary."""
    monkeypatch.setattr(workers, "_MIN_BYTES_FOR_WORKERS", 0)
    listed = []
    for number in range(40):
        name = f"{number:02d}.py"
        text = f"def function_{number}():\n    return {number}\n\n\n" * (1 + 40 * (number % 3))
        (tmp_path / name).write_text(text)
        listed.append(SourceFile(name, len(text), 1))
    (tmp_path / "20.py").write_bytes(b"\0\1\2" * 50)
    return listed


@pytest.fixture
def unsound_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "unsound_worker"
    script.write_text(UNSOUND)
    start = subprocess.Popen

    def replaced(command: list[str], **options: Any) -> Any:
        assert command[-1] == "sage_code.chunk.workers"
        return start([sys.executable, str(script)], **options)

    monkeypatch.setattr(subprocess, "Popen", replaced)
    monkeypatch.setattr(workers, "_GRACE_S", 3.0)


def _children() -> list[int]:
    return [child.pid for child in psutil.Process().children(recursive=True)]


def test_results_come_in_order_and_equal_those_made_here(tmp_path: Path, files: list[SourceFile]) -> None:
    before = _children()
    found = list(chunk_files(str(tmp_path), files, DEFAULT_RULES, workers=2))
    assert found == [chunk_file(str(tmp_path), file, DEFAULT_RULES) for file in files]
    assert isinstance(found[20], SkippedFile)
    assert found[20].reason is SkipReason.BINARY
    assert _children() == before


@pytest.mark.parametrize("minimum", [0, 1 << 30], ids=["in workers", "here"])
def test_a_file_whose_text_is_given_is_not_read(
    tmp_path: Path, files: list[SourceFile], monkeypatch: pytest.MonkeyPatch, minimum: int
) -> None:
    monkeypatch.setattr(workers, "_MIN_BYTES_FOR_WORKERS", minimum)
    expected = list(chunk_files(str(tmp_path), files, DEFAULT_RULES, workers=2))
    sources = {file.path: read_source(str(tmp_path), file) for file in files if file.path != "20.py"}
    for path in sources:
        (tmp_path / path).unlink()
    assert list(chunk_files(str(tmp_path), files, DEFAULT_RULES, sources=sources, workers=2)) == expected  # type: ignore[arg-type]


def test_a_worker_that_hangs_while_a_text_is_sent_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unsound_workers: None
) -> None:
    """More text than a pipe holds waits for a worker that reads nothing."""
    assert unsound_workers is None
    monkeypatch.setattr(workers, "_MIN_BYTES_FOR_WORKERS", 0)
    texts = {"hang.py": "a = 1\n", **{f"{number}.py": "b = 2\n" * 20_000 for number in range(4)}}
    files = [SourceFile(path, len(text), 1) for path, text in texts.items()]
    sources = {path: SourceText(text, path, "utf-8") for path, text in texts.items()}
    found = list(chunk_files(str(tmp_path), files, DEFAULT_RULES, sources=sources, workers=1, budget_s=0.5))
    assert [result.content_hash for result in found if isinstance(result, ChunkedFile)] == list(texts)


def test_few_bytes_start_no_process(tmp_path: Path, files: list[SourceFile], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_MIN_BYTES_FOR_WORKERS", 1 << 30)
    monkeypatch.delattr(subprocess, "Popen")
    assert len(list(chunk_files(str(tmp_path), files, DEFAULT_RULES))) == len(files)


@pytest.mark.usefixtures("unsound_workers")
@pytest.mark.parametrize("culprits", [["die.py"], ["hang.py"], ["die1.py", "die2.py", "hang.py"]])
def test_a_file_that_ends_its_worker_is_cut_plainly_and_the_rest_as_always(
    tmp_path: Path, files: list[SourceFile], culprits: list[str]
) -> None:
    before = _children()
    for number, name in enumerate(culprits):
        (tmp_path / name).write_text("def f():\n    return 1\n")
        files.insert(5 + 7 * number, SourceFile(name, 22, 1))
    found = list(chunk_files(str(tmp_path), files, DEFAULT_RULES, workers=2, budget_s=0.5))
    for file, result in zip(files, found, strict=True):
        assert result == chunk_file(str(tmp_path), file, DEFAULT_RULES, plain=file.path in culprits)
    plain = found[5]
    assert isinstance(plain, ChunkedFile)
    assert [chunk.kind for chunk in plain.chunks] == ["fallback"]
    assert _children() == before


def test_a_run_that_is_given_up_leaves_no_process(tmp_path: Path, files: list[SourceFile]) -> None:
    before = _children()
    results = chunk_files(str(tmp_path), files, DEFAULT_RULES, workers=2)
    next(results)
    assert len(_children()) == len(before) + 2
    results.close()  # type: ignore[attr-defined]  # it is a generator
    assert _children() == before


# Strings inside strings: more than Perl's scanner has room for, and the process is gone.
CRASHES = '"${' * 200


@pytest.mark.parametrize("name", ["a.pl", "script"])
def test_a_grammar_that_ends_its_process_ends_a_worker(tmp_path: Path, name: str) -> None:
    text = f"#!/usr/bin/perl\nsub f {{ 1 }}\n{CRASHES}\n"
    (tmp_path / name).write_text(text)
    (tmp_path / "b.pl").write_text("sub g { 1 }\n")
    files = [SourceFile(name, len(text), 1), SourceFile("b.pl", 12, 1)]
    crashed, fine = chunk_files(str(tmp_path), files[: 1 + (name == "a.pl")], DEFAULT_RULES), files[1]
    first = next(crashed)
    assert isinstance(first, ChunkedFile)
    assert first.language == "perl"
    assert {chunk.kind for chunk in first.chunks} == {"fallback"}
    here = chunk_here(str(tmp_path), fine, DEFAULT_RULES)
    assert isinstance(here, ChunkedFile)
    assert [symbol.name for chunk in here.chunks for symbol in chunk.symbols] == ["g"]


# A worker that somebody kills while it has a certain file; and one that starts slowly and answers at once.
_KILLED = """
import os, signal, sys
from sage_code.chunk import workers

def work(root, file, rules, budget_s, source):
    killed = sum(name.startswith("killed") for name in os.listdir(root))
    if file.path == "03.py" and killed < {times}:
        open(os.path.join(root, f"killed{{killed}}"), "w").close()
        signal.raise_signal(signal.SIGKILL)
    return workers.chunk_file(root, file, rules, source=source)

workers._serve(sys.stdin.buffer, sys.stdout.buffer, work)
"""
_SLOW = """
import sys, time
from sage_code.chunk import workers
from sage_code.values import SkippedFile, SkipReason

time.sleep(2)
answer = lambda root, file, *rest: SkippedFile(file.path, SkipReason.BINARY, "by the worker")
workers._serve(sys.stdin.buffer, sys.stdout.buffer, answer)
"""


def _replace_worker(monkeypatch: pytest.MonkeyPatch, script: Path, text: str) -> None:
    script.write_text(text)
    start = subprocess.Popen
    monkeypatch.setattr(subprocess, "Popen", lambda _, **options: start([sys.executable, str(script)], **options))


@pytest.mark.parametrize(("times", "is_plain"), [(2, False), (9, True)])
def test_a_file_is_blamed_only_if_each_worker_that_has_it_is_killed(
    tmp_path: Path, files: list[SourceFile], monkeypatch: pytest.MonkeyPatch, times: int, is_plain: bool
) -> None:
    _replace_worker(monkeypatch, tmp_path / "killed_worker", _KILLED.format(times=times))
    found = list(chunk_files(str(tmp_path), files[:6], DEFAULT_RULES, workers=1))
    for file, result in zip(files, found, strict=False):
        assert result == chunk_file(str(tmp_path), file, DEFAULT_RULES, plain=is_plain and file.path == "03.py")


def test_no_file_is_blamed_for_a_worker_that_starts_slowly(
    tmp_path: Path, files: list[SourceFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    _replace_worker(monkeypatch, tmp_path / "slow_worker", _SLOW)
    monkeypatch.setattr(workers, "_GRACE_S", 0.5)
    found = list(chunk_files(str(tmp_path), files[:6], DEFAULT_RULES, workers=1, budget_s=1.0))
    assert {result.detail for result in found if isinstance(result, SkippedFile)} == {"by the worker"}
    assert len(found) == 6
