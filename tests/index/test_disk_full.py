"""No space left: a clear error, the last good index still answers, and with space again all is well."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

_MB = 1 << 20


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
