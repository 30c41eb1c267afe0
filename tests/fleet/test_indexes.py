"""The table of a fleet: the same whoever made it, with the indexes that searches use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lance
import pytest

from sage_code.errors import StoreError
from sage_code.fleet import coordinator, roster
from sage_code.fleet.coordinator import index_fleet
from sage_code.fleet.tables import fleet_place
from sage_code.settings.loading import load_settings
from sage_code.store import fleet_index

from .test_coordinator import Here, _index

Repositories = list[roster.Repository]


def _columns() -> set[str]:
    dataset = lance.dataset(fleet_place(load_settings(None)).table.uri)
    return {column for index in dataset.describe_indices() for column in index.field_names}


def test_the_rows_are_in_the_order_of_the_plan(
    repositories: Repositories, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _index(monkeypatch, repositories[:4], Here())
    first = lance.dataset(fleet_place(load_settings(None)).table.uri).to_table()
    real = coordinator._Coordinator._worked

    def backwards(*given: Any) -> Iterator[Any]:
        yield from reversed(list(real(*given)))

    monkeypatch.setattr(coordinator._Coordinator, "_worked", backwards)
    monkeypatch.setenv("SAGE_STORE_URI", str(tmp_path / "other"))
    assert _index(monkeypatch, repositories[:4], Here()).shards > 2
    assert lance.dataset(fleet_place(load_settings(None)).table.uri).to_table() == first


def test_an_index_of_the_fleet_makes_and_extends_the_indexes_of_its_table(
    repositories: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_index, "_LEAST_ROWS", 30)
    _index(monkeypatch, repositories[:5], Here())
    assert _columns() == {"vector", "words", "repository", "owner", "language"}
    table = fleet_place(load_settings(None)).table
    assert fleet_index.is_indexed(table)
    version = lance.dataset(table.uri).version
    _index(monkeypatch, repositories[:5], Here())
    assert lance.dataset(table.uri).version == version  # nothing was done again
    _index(monkeypatch, repositories, Here())
    assert fleet_index.is_indexed(table)


def test_a_coordinator_makes_the_indexes_that_the_one_before_it_did_not_come_to(
    repositories: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: object) -> None:
        raise OSError("LanceError(IO): no space left\nand more")

    with monkeypatch.context() as patched:
        patched.setattr(fleet_index, "index_fleet", refused)
        with pytest.raises(StoreError, match=r"could not be made: LanceError\(IO\): no space left$"):
            _index(patched, repositories[:2], Here())
    assert _columns() == set()
    idle = Here()
    assert _index(monkeypatch, repositories[:2], idle).runs == 0
    assert idle.calls == 0
    assert "words" in _columns()


def test_a_fleet_of_nothing_has_nothing_to_index() -> None:
    assert index_fleet([], load_settings(None)).rows == 0
