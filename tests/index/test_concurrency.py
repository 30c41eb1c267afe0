"""Several processes at once: no reader sees half an index, and no row is stored twice."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sage_code.errors import Busy
from sage_code.files.locks import locked


@pytest.mark.slow
def test_two_indexers_and_four_readers(prove: Callable[..., None], seed: int) -> None:
    prove("concurrency.py", "--seconds", "6", "--files", "60", "--seed", str(seed))


def test_a_deleted_lock_keeps_nobody_out_and_lets_nobody_in_twice(tmp_path: Path) -> None:
    """Whoever waits for a lock file that is deleted must wait for the new one, not hold the old one."""
    lock = str(tmp_path / "folder" / "index.lock")
    waiting, inside = threading.Event(), threading.Event()

    def wait() -> None:
        with locked(lock, on_wait=waiting.set):
            inside.set()

    waiter = threading.Thread(target=wait)
    with locked(lock):
        waiter.start()
        assert waiting.wait(5)
        shutil.rmtree(tmp_path / "folder")
        with locked(lock):  # a third one, with the new file
            assert not inside.wait(0.3)
    waiter.join(5)
    assert inside.is_set()


def test_a_lock_can_be_shared_and_waited_for_in_vain(tmp_path: Path) -> None:
    lock = str(tmp_path / "use.lock")
    with locked(lock, shared=True), locked(lock, shared=True, timeout_s=0), pytest.raises(Busy) as refused:
        with locked(lock, timeout_s=0.1):
            pass
    assert refused.value.hint
