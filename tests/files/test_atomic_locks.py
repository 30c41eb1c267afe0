"""Files are replaced as a whole, links never lead outside, and locks hold between processes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

from sage_code.errors import Busy, SageError
from sage_code.files.atomic import PRIVATE_FILE, publish, resolve, write_bytes
from sage_code.files.locks import locked
from sage_code.index.pipeline import index_project
from sage_code.settings.loading import load_settings

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="links and modes of POSIX")

HOLD = """
import sys
from sage_code.files.locks import locked
with locked(sys.argv[1], shared=sys.argv[2] == "shared"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_file_is_replaced_whole_and_nothing_is_left_behind(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for data in (b"one", b"two" * 100_000, b""):
        write_bytes(str(path), data, mode=PRIVATE_FILE)
        assert path.read_bytes() == data
    assert os.listdir(tmp_path) == ["file"]


@posix_only
def test_a_private_file_is_private(tmp_path: Path) -> None:
    write_bytes(str(tmp_path / "file"), b"x", mode=PRIVATE_FILE)
    assert (tmp_path / "file").stat().st_mode & 0o777 == PRIVATE_FILE


def test_a_write_that_fails_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_bytes(str(path), b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@posix_only
def test_a_link_instead_of_the_file_is_replaced_and_never_written_through(tmp_path: Path) -> None:
    (tmp_path / "precious").write_bytes(b"mine")
    (tmp_path / "file").symlink_to("precious")
    write_bytes(str(tmp_path / "file"), b"new")
    assert (tmp_path / "precious").read_bytes() == b"mine"
    assert not (tmp_path / "file").is_symlink()


@posix_only
@pytest.mark.parametrize("planted", ["link", "file"])
def test_the_temporary_file_is_new_and_its_name_unpredictable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, planted: str
) -> None:
    names = []
    for _ in range(2):
        monkeypatch.setattr(os, "replace", lambda source, _target: names.append(source))
        write_bytes(str(tmp_path / "file"), b"x")
    assert names[0] != names[1]
    # Even if the name is guessed, Sage does not write through a link or into an existing file.
    monkeypatch.setattr(os, "urandom", lambda size: b"\0" * size)
    trap = tmp_path / f"file.{'00' * 8}.tmp"
    (tmp_path / "precious").write_bytes(b"mine")
    if planted == "link":
        trap.symlink_to("precious")
    else:
        trap.hardlink_to(tmp_path / "precious")
    with pytest.raises(OSError, match="exists"):
        write_bytes(str(tmp_path / "file"), b"x")
    assert (tmp_path / "precious").read_bytes() == b"mine"


def test_publish_points_a_name_at_a_folder_and_resolve_follows(tmp_path: Path) -> None:
    link = str(tmp_path / "current")
    assert resolve(link) is None
    for name in ("generations/one", "generations/two"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        publish(link, str(folder))
        assert resolve(link) == str(folder)
    assert sorted(os.listdir(tmp_path)) == ["current", "generations"]
    (tmp_path / "generations" / "two").rmdir()
    assert resolve(link) is None


def test_a_plain_folder_resolves_to_itself_and_is_replaced(tmp_path: Path) -> None:
    link, folder = tmp_path / "current", tmp_path / "one"
    link.mkdir()
    (link / "left over").touch()
    assert resolve(str(link)) == str(link)
    folder.mkdir()
    publish(str(link), str(folder))
    assert resolve(str(link)) == str(folder)


def test_a_file_that_names_the_folder_is_followed_too(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "current").write_text("one")
    assert resolve(str(tmp_path / "current")) == str(tmp_path / "one")


@pytest.mark.parametrize("target", ["{outside}", "../outside", "one/../../outside", ".", "..", ""])
@pytest.mark.parametrize("as_link", [pytest.param(True, marks=posix_only), False])
def test_a_link_that_points_outside_is_not_followed(tmp_path: Path, target: str, as_link: bool) -> None:
    base, outside = tmp_path / "base", tmp_path / "outside"
    outside.mkdir()
    (base / "one").mkdir(parents=True)
    target = target.format(outside=outside)
    if as_link and not target:
        pytest.skip("there are no empty links")
    if as_link:
        (base / "current").symlink_to(target)
    else:
        (base / "current").write_text(target)
    assert resolve(str(base / "current")) is None


@posix_only
@pytest.mark.parametrize("folder", [".sage", ".sage/codebase", ".sage/codebase/generations"])
def test_indexing_writes_and_deletes_through_no_link_of_a_repository(sample: Path, tmp_path: Path, folder: str) -> None:
    precious = tmp_path / "precious"
    (precious / "photos").mkdir(parents=True)
    link = sample / folder
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(precious)
    with pytest.raises(SageError) as caught:
        index_project(str(sample), load_settings(None))
    assert str(link) in caught.value.message
    assert os.listdir(precious) == ["photos"]


@posix_only
def test_links_instead_of_small_files_are_not_written_through(sample: Path, tmp_path: Path) -> None:
    (sample / ".sage" / "codebase").mkdir(parents=True)
    (sample / ".sage" / ".gitignore").symlink_to(tmp_path / "new")
    (sample / ".sage" / "codebase" / "index_meta.json").symlink_to(tmp_path / "other")
    index_project(str(sample), load_settings(None))
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "other").exists()
    lock = sample / ".sage" / "codebase" / "index.lock"
    lock.unlink()
    lock.symlink_to(tmp_path / "lock")
    with pytest.raises(SageError, match="index"):
        index_project(str(sample), load_settings(None))
    assert not (tmp_path / "lock").exists()


@contextmanager
def _held_elsewhere(path: Path, how: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLD, str(path), how]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("theirs", "ours", "fits"),
    [("exclusive", False, False), ("exclusive", True, False), ("shared", False, False), ("shared", True, True)],
)
def test_locks_hold_between_processes(tmp_path: Path, theirs: str, ours: bool, fits: bool) -> None:
    path = tmp_path / "deep" / "file.lock"
    waited: list[bool] = []
    outcome = nullcontext() if fits else pytest.raises(Busy, match=r"file\.lock")
    with _held_elsewhere(path, theirs), outcome:
        with locked(str(path), shared=ours, timeout_s=0.1, on_wait=lambda: waited.append(True)):
            pass
    assert waited == ([] if fits else [True])
    with locked(str(path), timeout_s=5):
        pass


def test_a_lock_ends_with_its_process(tmp_path: Path) -> None:
    path = tmp_path / "file.lock"
    with _held_elsewhere(path, "exclusive") as process:
        process.kill()
        started = time.monotonic()
        with locked(str(path), timeout_s=5):
            assert time.monotonic() - started < 2
