"""No space left: a clear error, the last good index still answers, and with space again all is well."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

_MB = 1 << 20
_BUG = re.compile(r"unexpected|bug|Traceback")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "none", disk], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small tmpfs here: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", disk], check=True)


@contextlib.contextmanager
def filled(disk: Path, leaving: int) -> Iterator[None]:
    """Takes all space but so many bytes."""
    filler = disk / "filler"
    filler.write_bytes(bytes(max(0, shutil.disk_usage(disk).free - leaving)))
    try:
        yield
    finally:
        filler.unlink()


# Space that is left for a run: nothing at all, a part of what it writes, and nearly enough.
@pytest.mark.parametrize("leaving", [0, 40_000, 300_000])
@pytest.mark.parametrize("what", ["home", "project"])
def test_disk_full(
    small_disk: Path,
    sample: Path,
    answer: Callable[..., dict],
    finds: Callable[..., list[str]],
    write: Callable[..., Path],
    many_files: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    what: str,
    leaving: int,
) -> None:
    if what == "home":
        monkeypatch.setenv("SAGE_HOME", str(small_disk / "home"))
    else:
        sample = Path(shutil.move(sample, small_disk / "project"))
    answer("index", sample)
    write(sample, many_files)
    with filled(small_disk, leaving):
        error = answer("index", sample, code=2)["error"]
        assert (error["code"], "no space left" in error["message"].lower()) == ("store", True), error
        assert "free some space" in error["hint"]
        assert finds(sample, "Server.start") == ["server.py"]
    assert answer("index", sample)["files_indexed"] == len(many_files)
    assert finds(sample, "work_7_3") == ["package/module_7.py"]
    assert answer("admin", "verify", sample, "--check")["clean"]


@pytest.mark.parametrize(
    "words",
    [
        ["checkpoint", "save", "-t", "Ports are opened late.", "--project", "{root}"],
        ["knowledge", "add", "{root}/server.py", "--id", "note", "--project", "{root}"],
        ["core", "add", "server.py", "--summary", "Serves.", "--path", "{root}"],
        ["config", "set", "recall_threshold", "0.5"],
        ["config", "set", "exclude", "*.x", "--scope", "project", "--project", "{root}"],
        ["index", "export", "{root}/out.sage", "{root}"],
        ["mcp", "install", "--agent", "cursor"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_what_a_full_disk_refuses_is_said_and_not_taken_for_saved(
    small_disk: Path, sample: Path, sage: Callable[..., object], monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.setenv("HOME", str(small_disk))
    monkeypatch.setenv("SAGE_HOME", str(small_disk / ".sage"))
    root = str(shutil.move(sample, small_disk / "project"))
    (small_disk / ".cursor").mkdir()
    assert sage("index", root).code == 0
    sage("knowledge", "list", "--project", root)  # makes the files that reading makes
    words = [word.replace("{root}", root) for word in words]
    before = _contents(small_disk)
    with filled(small_disk, 0):
        outcome = sage(*words)
        assert outcome.code == 2, outcome
        assert not _BUG.search(outcome.err), outcome.err
        assert "o space left" in outcome.err, outcome.err
    after = {path: data for path, data in _contents(small_disk).items() if data and not path.endswith(".lock")}
    assert {path: after.get(path) for path in before if before[path]} == {
        path: data for path, data in before.items() if data
    }
    assert sage(*words).code == 0


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "filler"}
