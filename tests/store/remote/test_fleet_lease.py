"""Coordinators of a fleet in a remote store: one at a time, and one that was taken over publishes nothing."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sage_code.fleet import roster
from sage_code.fleet.coordinator import index_fleet
from sage_code.fleet.publishing import FleetTable
from sage_code.fleet.state import FleetState
from sage_code.fleet.tables import FleetPlace, fleet_place
from sage_code.settings.loading import load_settings
from sage_code.store.remote.lease import LeaseLostError

if TYPE_CHECKING:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from s3_server import S3Server


@pytest.fixture
def place(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> FleetPlace:
    monkeypatch.setenv("SAGE_STORE_URI", s3.bucket())
    return fleet_place(load_settings(None))


def test_a_second_coordinator_waits_and_says_so(place: FleetPlace) -> None:
    waits, done = threading.Event(), threading.Event()

    def second() -> None:
        with fleet_place(load_settings(None)).alone(waits.set):
            done.set()

    with place.alone(lambda: None):
        thread = threading.Thread(target=second)
        thread.start()
        assert waits.wait(20)
        place.still_alone()
        assert not done.is_set()
    assert done.wait(20)
    thread.join()


def test_a_coordinator_that_was_taken_over_publishes_nothing(
    place: FleetPlace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "shop.py").write_text("def price():\n    return 1\n")
    shop = [roster.repository(str(tmp_path / "shop"))]
    real = FleetTable.publish

    def taken_over(table: FleetTable, *given: object) -> bool:
        place.objects.put(f"fleet/{place.name}/lease", b'{"holder": "another", "turn": 9}')
        return real(table, *given)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(FleetTable, "publish", taken_over)
        with pytest.raises(LeaseLostError):
            index_fleet(shop, load_settings(None), workers="1")
    assert FleetTable(place.table, place.dim).rows() == 0
    place.objects.delete(f"fleet/{place.name}/lease")
    stats = index_fleet(shop, load_settings(None), workers="1")
    assert (stats.resumed, stats.shards_before, stats.rows) == (1, 1, 1)
    assert FleetState(place.objects, place.name).open_run() is None
