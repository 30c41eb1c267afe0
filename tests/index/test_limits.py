"""A pipe, a folder or a huge file instead of a file that Sage reads: no command hangs, fills the memory or breaks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sage_code.paths import compiled_dir

Answer = Callable[..., Any]
_PATHS = [
    "{project}/.sage/codebase/index_meta.json",
    "{project}/.sage/codebase/index.lock",
    "{project}/.sage/core.md",
    "{project}/.sage/tuning.yaml",
    "{project}/.gitignore",
    "{project}/.sageignore",
    "{project}/.git/config",
    "{project}/.git/HEAD",
    "{project}/.git/index",
    "{compiled}/segments.json",
    "{compiled}/functions.json",
    "{home}/codebase/index_meta.json",
    "{home}/tuning.yaml",
    "{home}/agents/installed.json",
    "{home}/templates/own.yaml",
]


def _endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.mkdir()


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(100 << 30)  # sparse


@pytest.fixture
def alarm() -> Iterator[None]:
    """A command that waits for ever fails."""

    def ring(*_: object) -> None:
        raise AssertionError("a command waits for something that never comes")

    signal.signal(signal.SIGALRM, ring)
    signal.alarm(120)
    yield
    signal.alarm(0)


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("spoil", [_endless, _pipe, _folder, _huge])
@pytest.mark.parametrize("pattern", _PATHS)
def test_no_device_pipe_folder_or_huge_file_stalls_or_breaks_a_command(
    sample: Path, sage_home: Path, sage: Callable[..., Any], pattern: str, spoil: Callable[[Path], None]
) -> None:
    subprocess.run(["git", "init", "-q", str(sample)], check=True)
    assert sage("index", str(sample)).code == 0
    compiled = os.path.realpath(compiled_dir(str(sample)))
    path = Path(pattern.format(project=sample, home=sage_home, compiled=compiled))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    spoil(path)
    root = str(sample)
    for words in (
        ["search", "open the port", "--project", root],
        ["grep", "connect", "--path", root],
        ["map", "--path", root],
        ["core", "list", "--path", root],
        ["checkpoint", "list", "--project", root],
        ["status", root],
        ["projects", "list"],
        ["templates", "list"],
        ["index", root],
    ):
        outcome = sage(*words)
        assert outcome.code in (0, 1, 2), (words, outcome)
        said = outcome.out + outcome.err
        assert "Traceback" not in said, (words, said)
        assert "this is a bug" not in said, (words, said)
    peak = Path("/proc/self/status")
    if peak.exists():
        resident = next(int(line.split()[1]) for line in peak.read_text().splitlines() if line.startswith("VmHWM"))
        assert resident < 2 << 20  # KB, of the whole test run


def test_a_damaged_manifest_or_list_of_projects_is_noticed_and_comes_back(
    sample: Path, sage_home: Path, answer: Answer, sage: Callable[..., Any]
) -> None:
    answer("index", sample)
    before = answer("projects", "list")
    for path in (sample / ".sage/codebase/index_meta.json", sage_home / "codebase/projects.json"):
        data = path.read_bytes()
        path.write_bytes(data.replace(b"sample", b"samqle", 1))  # still JSON
    assert answer("projects", "list", code=2)["error"]["code"] == "index_corrupt"
    assert "checksum" in answer("status", sample, code=1)["damaged"]
    assert sage("index", str(sample)).code == 0
    after = answer("projects", "list")
    assert [entry["root"] for entry in after["projects"]] == [entry["root"] for entry in before["projects"]]
    assert answer("status", sample)["fresh"]


@pytest.fixture
def read_only(sample: Path, sage: Callable[..., Any]) -> Iterator[Path]:
    """An indexed project whose `.sage` cannot be written to."""
    assert sage("index", str(sample)).code == 0
    folder = sample / ".sage"
    bound = subprocess.run(["mount", "--bind", folder, folder], capture_output=True, text=True, check=False)
    if bound.returncode:
        pytest.skip(f"cannot mount here: {bound.stderr.strip()}")
    subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
    yield sample
    subprocess.run(["umount", "--lazy", folder], check=True)


def test_a_read_only_index_still_answers_and_index_says_that_it_cannot_write(
    read_only: Path, answer: Answer, sage: Callable[..., Any]
) -> None:
    (read_only / "server.py").write_text((read_only / "server.py").read_text() + "\n\ndef added():\n    return 1\n")
    found = answer("search", "connect", "--project", read_only)
    assert found["results"]
    assert "could not be brought in" in found["note"]
    here = ("--path", str(read_only))
    for words in (
        ["grep", "connect"],
        ["refs", "connect"],
        ["map"],
        ["outline", "server.py"],
        ["similar", "server.py:8"],
    ):
        outcome = sage(*words, *here)
        assert outcome.code in (0, 1), outcome
        assert outcome.code or not outcome.err or "could not be brought in" in outcome.err, outcome
    error = answer("index", read_only, code=2)["error"]
    assert "cannot write" in error["message"]
    assert answer("checkpoint", "save", "-t", "Ports open late.", "--project", read_only, code=2)["error"]["hint"]
    assert (
        answer("checkpoint", "list", "--project", read_only, code=1)["checkpoints"] == []
    )  # nothing is said to be saved


def test_a_link_in_place_of_local_is_written_through_by_nothing(
    sample: Path, tmp_path: Path, sage: Callable[..., Any]
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (sample / ".sage").mkdir()
    (sample / ".sage" / "local").symlink_to(elsewhere)
    root = str(sample)
    assert sage("index", root).code == 0
    for words in (
        ["checkpoint", "save", "-t", "Ports open late."],
        ["checkpoint", "list"],
        ["checkpoint", "search", "x"],
    ):
        outcome = sage(*words, "--project", root)
        assert "this is a bug" not in outcome.err
    assert sage("core", "add", "server.py", "--path", root).code == 2
    assert list(elsewhere.iterdir()) == []


def test_a_nul_in_an_argument_is_a_clear_error(sample: Path, sage: Callable[..., Any]) -> None:
    for words in (["grep", "a\0b"], ["search", "a\0b"], ["index", f"{sample}\0"], ["outline", "a\0.py"]):
        outcome = sage(*words)
        assert outcome.code == 2
        assert "NUL" in outcome.err
        assert "unexpected" not in outcome.err


def test_what_the_disk_refuses_is_explained_and_is_no_bug(
    sample: Path, sage: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "/somewhere/file")

    monkeypatch.setattr("sage_code.memory.files.core_files.core_files", refuse)
    outcome = sage("core", "list", "--path", str(sample), "--json")
    assert outcome.code == 2
    error = json.loads(outcome.out)["error"]
    assert error["message"] == "no space left on the disk: /somewhere/file: No space left on device"
    assert "free some space" in error["hint"]
