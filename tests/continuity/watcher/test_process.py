"""There is one watcher for a user, it is found and ended for sure, and no other process is taken for it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from sage_code.continuity.watcher import journal, process

from .conftest import Agent, kill, until

Run = Callable[..., Any]
pytestmark = pytest.mark.slow


def test_start_status_stop(sage: Run, watcher: process.Running) -> None:
    assert psutil.Process(watcher.pid).ppid() != psutil.Process().pid  # nobody's child: it leaves no zombie here
    assert os.getsid(watcher.pid) not in (os.getsid(0), watcher.pid)
    assert os.readlink(f"/proc/{watcher.pid}/cwd") == "/" if sys.platform == "linux" else True
    for path in (process.pid_path(), process.lock_path(), journal.log_path()):
        assert os.stat(path).st_mode & 0o077 == 0
    again = sage("watcher", "start")
    assert (again.code, f"runs already (process {watcher.pid})" in again.out) == (0, True)
    until(lambda: json.loads(sage("watcher", "status", "--json").out)["watching"] == "events", "the notes")
    shown = sage("watcher", "status")
    assert (shown.code, str(watcher.pid) in shown.out, "last event: DaemonStarted" in shown.out) == (0, True, True)
    assert sage("watcher", "stop").code == 0
    assert process.birth_of(watcher.pid) != watcher.birth
    assert not os.path.exists(process.pid_path())
    assert sage("watcher", "stop").code == 1
    ended = sage("watcher", "status")
    assert (ended.code, "no watcher runs" in ended.out, "stopped: SIGTERM" in ended.out) == (1, True, True)
    assert journal.read_notes()["session"]["ended"]


@pytest.mark.usefixtures("_none_left")
def test_many_starts_at_once_make_one_watcher(home: Path) -> None:
    command = [sys.executable, "-c", "from sage_code.continuity.watcher import process as p; print(p.start()[0].pid)"]
    starts = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = [start.communicate()[0].strip() for start in starts]
    found = process.running()
    assert found is not None
    assert set(said) == {str(found.pid)}
    # The others have said that the place is taken, and may need a moment to end.
    until(lambda: _watchers(home) == [found.pid], "the end of the other watchers")


def _watchers(home: Path) -> list[int]:
    """The watchers of this home, by the system's list."""
    found = []
    for one in psutil.process_iter():
        try:
            if process.MODULE in one.cmdline() and one.environ().get("SAGE_HOME") == os.environ["SAGE_HOME"]:
                found.append(one.pid)
        except psutil.Error:
            continue
    return found


@pytest.mark.usefixtures("_none_left")
def test_a_home_that_is_named_from_the_current_folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home)
    monkeypatch.setenv("SAGE_HOME", "here")
    found, is_new = process.start()
    assert is_new
    assert (home / "here/continuity/watcher/pid").exists()
    assert process.running() == found


@pytest.mark.usefixtures("_none_left")
def test_the_pid_file_of_a_killed_watcher_counts_for_nothing(sage: Run, home: Path) -> None:
    first, _ = process.start()
    kill(first)
    assert os.path.exists(process.pid_path())
    assert process.running() is None
    assert sage("watcher", "status").code == 1
    second, is_new = process.start()
    assert is_new
    assert _watchers(home) == [second.pid]


def test_a_process_that_got_the_number_later_is_left_alone(home: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bystander:
        os.makedirs(os.path.dirname(process.pid_path()), 0o700)
        for birth in ("another time", ""):
            data = {"pid": bystander.pid, "birth": birth, "since": time.time()}
            Path(process.pid_path()).write_text(json.dumps(data))
            assert process.running() is None
            assert not process.stop()
            process._signal(process.Running(bystander.pid, birth, 0.0), signal.SIGKILL)
        assert bystander.poll() is None
        bystander.communicate(b"\n")
        assert bystander.returncode == 0


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}', '{"pid": "x", "birth": "y", "since": 0}', "[" * 9_999])
def test_a_damaged_pid_file_is_none(home: Path, text: str) -> None:
    os.makedirs(os.path.dirname(process.pid_path()), 0o700)
    Path(process.pid_path()).write_text(text)
    assert process.running() is None


def test_births_tell_processes_apart() -> None:
    own = psutil.Process().pid
    assert process.birth_of(own) == process.birth_of(own) != ""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    until(lambda: not process.birth_of(ended.pid), "the zombie, which counts as ended")
    ended.wait()
    assert process.birth_of(ended.pid) == ""


def test_a_lock_that_another_machine_holds_is_said(home: Path, sage: Run) -> None:
    from sage_code.files.locks import locked

    with locked(process.lock_path()):
        result = sage("watcher", "start")
    assert result.code == 2
    assert "another process holds" in result.err


def test_a_watcher_that_does_not_listen_is_killed(watcher: process.Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_STOP_S", 0.2)
    os.kill(watcher.pid, signal.SIGSTOP)
    assert process.stop()
    assert process.running() is None


def test_the_foreground_ends_with_ctrl_c(home: Path) -> None:
    command = [sys.executable, "-m", "sage_cli.entry", "watcher", "run"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as run:
        until(process.running, "the watcher")
        second = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (second.returncode, "runs already" in second.stderr) == (0, True)
        run.send_signal(signal.SIGINT)
        _, err = run.communicate()
        assert run.returncode == 0
        assert "Traceback" not in err
        assert "stopped: SIGINT" in err
    assert process.running() is None


@pytest.mark.usefixtures("_none_left")
def test_ensure_running_obeys_the_setting_of_the_user_alone(home: Path, tmp_path: Path) -> None:
    (tmp_path / ".sage").mkdir()
    (tmp_path / ".sage/tuning.yaml").write_text("watcher_auto_start: true\n")
    process.ensure_running(str(tmp_path))
    (home / ".sage").mkdir(exist_ok=True)
    assert _watchers(home) == []
    (home / ".sage/tuning.yaml").write_text("watcher_auto_start: true\n")
    for _ in range(2):
        process.ensure_running(str(tmp_path))
    until(process.running, "the watcher")
    for thread in threading.enumerate():
        if thread.name == process.LAUNCHER:
            thread.join()  # both have started their watcher by then
    until(lambda: len(_watchers(home)) == 1, "the second one to see the first")
    (home / ".sage/tuning.yaml").write_text("watcher_auto_start: [\n")
    process.ensure_running(str(tmp_path))  # says nothing: a server starts


def test_a_watcher_whose_folder_is_deleted_ends(watcher: process.Running, home: Path) -> None:
    shutil.rmtree(home / ".sage")
    until(lambda: process.birth_of(watcher.pid) != watcher.birth, "its end")
    assert not (home / ".sage").exists()


def test_the_log_is_bounded(home: Path) -> None:
    book = journal.Journal()
    for number in range(700):
        book.log(f"{number} {'x' * 1_900}\x1b[31m\nsecond line")
    sizes = [os.path.getsize(path) for path in (journal.log_path(), f"{journal.log_path()}.1")]
    assert all(0 < size <= journal.MAX_LOG_BYTES for size in sizes)
    assert os.stat(f"{journal.log_path()}.1").st_mode & 0o077 == 0
    assert journal.log_tail(1)[0].split()[2] == "699"
    assert all("\x1b" not in line for line in journal.log_tail(10))


def test_the_watcher_is_small(watcher: process.Running, home: Path) -> None:
    """What it imports decides how much memory every user gives it."""
    agent = Agent(home, home / "work/app")
    agent.begin()
    agent.compact()
    until(lambda: agent.compaction(), "the marker")
    maps = Path(f"/proc/{watcher.pid}/maps")
    if maps.exists():
        loaded = maps.read_text()
        assert "numpy" not in loaded
        assert "lance" not in loaded
        assert "tree_sitter" not in loaded
    assert psutil.Process(watcher.pid).memory_info().rss < 60 << 20
