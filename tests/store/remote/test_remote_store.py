"""The store on a real S3 server: as in a folder, with writers on several machines, of which some die."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sage_code.store.lance import Store
from sage_code.store.remote import lease
from sage_code.store.remote.lease import LeaseLostError
from sage_code.store.remote.objects import StoreUnreachableError
from sage_code.store.rows import FileRows

if TYPE_CHECKING:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from s3_server import S3Server

_DIM = 8
# A writer in a process of its own, with its own Sage's home: an other machine. It dies, when it is told so, between a
# commit of texts and the commit of their files, as the holder of the lease.
_WRITER = """
import sys, time
import numpy as np
from sage_code.store.lance import Store
from sage_code.store.remote import lease
from sage_code.store.rows import FileRows, text_hash
from sage_code.values import Chunk
uri, first, last, dies = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4] == "dies"
lease.SECONDS = 1.0
store = Store(uri, "m", 8)
print("open", flush=True)
sys.stdin.readline()
for number in range(first, last):
    text = f"text {number}"
    chunk = Chunk("function", "f", "f", 1, 2, "", "", text, ())
    rows = FileRows(f"{number:032x}", "a.py", "python", (chunk,), (text,), (text_hash(text),),
                    np.full((1, 8), number + 1, np.float32))
    if dies and number == (first + last) // 2:
        calls = []
        confirm = store._guard.confirm
        def stop():
            confirm()
            calls.append(1)
            if len(calls) == 2:
                print("holding", flush=True)
                time.sleep(600)
        store._files._confirm = store._chunks._confirm = stop
    store.add([rows])
print("done", flush=True)
"""


def _writer(home: Path, uri: str, first: int, last: int, end: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _WRITER, uri, str(first), str(last), end],
        env={**os.environ, "SAGE_HOME": str(home)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def _said(process: subprocess.Popen[str], word: str) -> None:
    assert process.stdout is not None
    assert process.stdout.readline().strip() == word


def _go(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def test_rows_are_added_read_and_compacted_in_a_bucket(s3: S3Server, rows_of: Callable[..., FileRows]) -> None:
    store = Store(f"{s3.bucket()}/team", "m", _DIM)
    one, two = rows_of("a.py", "def a():\n    pass\n", _DIM), rows_of("b.py", "def b():\n    pass\n", _DIM)
    assert store.add([one]) == len(one.texts)
    assert store.add([one, two]) == len(two.texts)
    store.compact()
    again = Store(store.uri, "m", _DIM)
    assert [row.key for row in again.read([one.key])] == [one.key]
    assert (again.count(), again.count_files()) == (len(one.texts) + len(two.texts), 2)


def test_a_writer_that_slept_through_a_takeover_cannot_publish(
    s3: S3Server, rows_of: Callable[..., FileRows], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "SECONDS", 0.5)
    uri = s3.bucket()
    sleeper, other = Store(uri, "m", _DIM), Store(uri, "m", _DIM)
    rows = rows_of("a.py", "def a():\n    pass\n", _DIM)
    held, confirm = sleeper._guard._lease, sleeper._guard.confirm
    assert held is not None
    slept: list[bool] = []

    def sleep() -> None:
        """The lease is confirmed; then, before the commit, another machine takes it over and writes the same."""
        confirm()
        if not slept:
            slept.append(True)
            other._guard._lock += ".of-another-machine"
            with held._guard:  # its heartbeat sleeps too
                assert other.add([rows]) == len(rows.texts)

    sleeper._chunks._confirm = sleep
    with pytest.raises(LeaseLostError):
        sleeper._add([rows])
    assert (sleeper.count(), sleeper.count_files()) == (len(rows.texts), 1)
    assert sleeper.add([rows]) == 0


@pytest.mark.slow
def test_two_writers_one_killed_lose_and_double_nothing(s3: S3Server, tmp_path: Path) -> None:
    uri = s3.bucket()
    first, second = _writer(tmp_path / "1", uri, 0, 12, "dies"), _writer(tmp_path / "2", uri, 4, 16, "ends")
    _said(second, "open")
    _said(first, "open")
    _go(first)
    _said(first, "holding")
    _go(second)
    first.send_signal(signal.SIGKILL)
    first.wait()
    _said(second, "done")
    assert second.wait() == 0
    third = _writer(tmp_path / "3", uri, 0, 12, "ends")
    _said(third, "open")
    assert third.communicate("\n")[0].strip() == "done"
    store = Store(uri, "m", _DIM)
    assert sorted(store.keys_by_age()) == [f"{number:032x}" for number in range(16)]
    assert store.count() == 16
    assert len(list(store.read([f"{number:032x}" for number in range(16)]))) == 16


def test_a_store_that_does_not_answer_is_said_soon_and_without_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "the-id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "the-secret")
    with pytest.raises(StoreUnreachableError) as found:
        Store("s3://nowhere/x", "m", _DIM)
    assert "the-" not in str(found.value)
