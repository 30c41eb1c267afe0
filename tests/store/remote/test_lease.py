"""The lease of a remote store: one holder at a time, taken over from the dead, lost by those who slept."""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sage_code.store.remote.address import address_of
from sage_code.store.remote.lease import Lease, LeaseLostError
from sage_code.store.remote.objects import Objects

if TYPE_CHECKING:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from s3_server import S3Server

_SHORT = 0.8


@pytest.fixture
def objects(s3: S3Server) -> Objects:
    return Objects(address_of(s3.bucket()))


def _refuse() -> None:
    raise AssertionError("the lease was given back: nothing is to be fenced off")


def test_of_many_one_holds_it_at_a_time(objects: Objects) -> None:
    holders, most = 0, 0
    guard = threading.Lock()

    def use(_: int) -> None:
        nonlocal holders, most
        lease = Lease(objects, "lease")
        with lease.held(_refuse):
            with guard:
                holders += 1
                most = max(most, holders)
            lease.confirm()
            with guard:
                holders -= 1

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(use, range(12)))
    assert most == 1


def test_a_holder_that_lives_keeps_it_for_longer_than_its_time(objects: Objects) -> None:
    first, second = Lease(objects, "lease", _SHORT), Lease(objects, "lease", _SHORT)
    order: list[str] = []

    def wait() -> None:
        with second.held(_refuse):
            order.append("second")

    with first.held(_refuse):
        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(2 * _SHORT)
        first.confirm()
        order.append("first")
    waiting.join()
    assert order == ["first", "second"]


def test_what_a_dead_holder_left_is_taken_over_and_fenced_off(objects: Objects) -> None:
    dead, other = Lease(objects, "lease", _SHORT), Lease(objects, "lease", _SHORT)
    dead._acquire(None)  # without the heartbeat, as after a kill
    fenced: list[bool] = []
    started = time.monotonic()
    with other.held(lambda: fenced.append(True)):
        assert fenced == [True]
        assert time.monotonic() - started >= _SHORT
        with pytest.raises(LeaseLostError, match="taken over"):
            dead.confirm()
        other.confirm()
    with Lease(objects, "lease", _SHORT).held(_refuse):
        pass  # it was given back


def test_after_a_failure_it_is_not_given_back_but_its_holder_gets_it_at_once(objects: Objects) -> None:
    lease = Lease(objects, "lease")
    with pytest.raises(OSError, match="half"), lease.held(_refuse):
        raise OSError("half written")
    fenced: list[bool] = []
    started = time.monotonic()
    with lease.held(lambda: fenced.append(True)):
        assert fenced == [True]
    assert time.monotonic() - started < lease.seconds


def test_a_damaged_lease_is_somebody_s_until_it_runs_out(objects: Objects) -> None:
    objects.put("lease", b"\xff{")
    waits: list[bool] = []
    fenced: list[bool] = []
    with Lease(objects, "lease", _SHORT).held(lambda: fenced.append(True), lambda: waits.append(True)):
        assert (fenced, waits) == ([True], [True])
