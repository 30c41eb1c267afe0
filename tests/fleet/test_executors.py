from __future__ import annotations

import os
import signal
import sys
import time
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from sage_code.errors import UsageError
from sage_code.fleet import roster
from sage_code.fleet.coordinator import index_fleet
from sage_code.fleet.executors import LocalPool, opened
from sage_code.settings.loading import load_settings

from .conftest import table_rows


@pytest.mark.parametrize("workers", ["0", "-1", "ray:0", "spark://x", "ray://a b", "dask://$(x)", "4;rm"])
def test_other_words_are_no_workers(workers: str) -> None:
    with pytest.raises(UsageError), opened(workers):
        pass
    with pytest.raises(UsageError):  # also when nothing has to be done
        index_fleet([], load_settings(None), workers=workers)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_processes_leave_ctrl_c_to_the_coordinator_from_their_start() -> None:
    pool = LocalPool(1)
    try:
        assert signal.SIGINT in pool.submit(signal.pthread_sigmask, signal.SIG_BLOCK, ()).result()
    finally:
        pool.shutdown()
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.slow
def test_a_killed_process_fails_its_own_task_only() -> None:
    pool = LocalPool(2)
    try:
        slow = pool.submit(time.sleep, 3)
        died = pool.submit(os._exit, 9)
        with pytest.raises(BrokenProcessPool):
            died.result(60)
        assert pool.submit(os.getppid).result(60) != os.getppid()  # in a process below this one
        assert slow.result(60) is None
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("workers", ["2", "dask:2", "ray:2"])
def test_every_executor_makes_the_same_table(
    repositories: list[roster.Repository], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workers: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))  # Ray writes a token there
    few = repositories[:3]
    stats = index_fleet(few, load_settings(None), workers=workers)
    assert (stats.changed, stats.failures) == (3, 0)
    rows = table_rows()
    assert len(rows) == stats.rows
    monkeypatch.setenv("SAGE_STORE_URI", str(tmp_path / "other"))
    index_fleet(few, load_settings(None), workers="1")
    assert table_rows() == rows
