"""A remote table is copied here: whole versions, only what is new, within a limit; used when the store is away."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import lance
import pyarrow as pa
import pytest

from sage_code.store.remote import mirror
from sage_code.store.remote.address import Address, address_of
from sage_code.store.remote.mirror import Mirror
from sage_code.store.remote.objects import Objects, StoreUnreachableError

if TYPE_CHECKING:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from s3_server import CountingProxy, S3Server

_TABLE, _SECOND = "words.lance", "words_statistics.lance"
_LIMIT = 1 << 30


@pytest.fixture
def store(s3: S3Server, s3_way: CountingProxy, monkeypatch: pytest.MonkeyPatch) -> Address:
    """An empty place behind a way that can be closed; it is asked before each use."""
    monkeypatch.setattr(mirror, "LOOKED_AFTER", 0.0)
    return address_of(s3.bucket())


def _write(store: Address, words: list[str], mode: str = "append", table: str = _TABLE) -> None:
    place = store.below(table)
    lance.write_dataset(pa.table({"word": words}), place.uri, mode=mode, storage_options=place.options)


def _words(place: Address | None) -> list[str]:
    assert place is not None
    dataset = lance.dataset(place.below(_TABLE).uri)
    found: list[str] = dataset.to_table()["word"].to_pylist()
    return found


def _files(place: Address | None, ending: str) -> set[str]:
    assert place is not None
    return {path.name for path in Path(place.uri).rglob(f"*{ending}")}


def test_a_second_question_costs_no_request(
    store: Address, s3_way: CountingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(store, ["one", "two"])
    _write(store, ["of a sample"], table=_SECOND)
    first = Mirror(store, [_TABLE, _SECOND], _LIMIT).current()
    assert _words(first.place) == ["one", "two"]
    before = s3_way.requests
    monkeypatch.setattr(mirror, "LOOKED_AFTER", 60.0)
    again = Mirror(store, [_TABLE, _SECOND], _LIMIT).current()
    assert _words(again.place) == ["one", "two"]
    assert (s3_way.requests, again.note) == (before, "")


def test_a_new_version_fetches_only_what_is_new(store: Address) -> None:
    _write(store, ["one", "two", "three"])
    lance.dataset(store.below(_TABLE).uri, storage_options=store.options).create_scalar_index("word", "BITMAP")
    copy = Mirror(store, [_TABLE, _SECOND], _LIMIT)
    place = copy.current().place
    old = {path: path.stat().st_mtime_ns for path in Path(place.uri if place else "").rglob("data/*.lance")}
    assert len(old) == 1
    _write(store, ["four"])
    remote = lance.dataset(store.below(_TABLE).uri, storage_options=store.options)
    remote.delete("word = 'two'")
    assert _words(copy.current().place) == ["one", "three", "four"]
    assert all(path.stat().st_mtime_ns == written for path, written in old.items())
    assert lance.dataset(os.path.join(place.uri if place else "", _TABLE)).count_rows("word = 'three'") == 1


def test_files_of_older_versions_are_removed(store: Address) -> None:
    copy = Mirror(store, [_TABLE], _LIMIT)
    for word in ("first", "second", "third"):
        _write(store, [word], mode="overwrite")
        assert _words(copy.current().place) == [word]
    place = copy.current().place
    assert len(_files(place, ".lance") - {_TABLE}) == 2  # the version before stays: another process may be reading it
    assert len(_files(place, ".manifest")) == 1


def test_only_its_owner_can_read_the_copy(store: Address) -> None:
    _write(store, ["one"])
    place = Mirror(store, [_TABLE], _LIMIT).current().place
    assert place is not None
    for folder, _, files in os.walk(place.uri):
        assert os.stat(folder).st_mode & 0o077 == 0
        assert all(os.stat(os.path.join(folder, file)).st_mode & 0o077 == 0 for file in files if file != "copying.lock")


def test_the_last_version_answers_when_the_store_is_away(store: Address, s3_way: CountingProxy) -> None:
    _write(store, ["one"])
    copy = Mirror(store, [_TABLE], _LIMIT)
    assert copy.current().note == ""
    s3_way.close_way()
    found = copy.current()
    assert _words(found.place) == ["one"]
    assert f"{store} does not answer" in found.note
    assert "this is its state of 20" in found.note
    s3_way.is_closed = False
    _write(store, ["two"])
    found = copy.current()
    assert (_words(found.place), found.note) == (["one", "two"], "")


def test_without_a_copy_a_store_that_is_away_is_an_error(store: Address, s3_way: CountingProxy) -> None:
    s3_way.close_way()
    with pytest.raises(StoreUnreachableError):
        Mirror(store, [_TABLE], _LIMIT).current()


def test_one_who_may_not_read_any_more_has_no_copy(store: Address) -> None:
    _write(store, ["one"])
    place = Mirror(store, [_TABLE], _LIMIT).current().place
    refused = Address(store.uri, {**store.options, "secret_access_key": "taken back"})
    with pytest.raises(StoreUnreachableError):
        Mirror(refused, [_TABLE], _LIMIT).current()
    assert not _files(place, ".lance")


def test_a_table_beyond_the_limit_stays_where_it_is(
    store: Address, s3_way: CountingProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(store, ["one" * 1_000])
    kept = Mirror(store, [_TABLE], _LIMIT).current().place
    _write(store, ["two" * 1_000])
    small = Mirror(store, [_TABLE], 4_000)
    assert small.current() == mirror.Mirrored(None)
    assert not _files(kept, ".lance")
    monkeypatch.setattr(mirror, "LOOKED_AFTER", 60.0)
    before = s3_way.requests
    assert small.current() == mirror.Mirrored(None)
    assert Mirror(store, [_TABLE], 0).current() == mirror.Mirrored(None)
    assert s3_way.requests == before


def test_a_large_copy_is_made_over_several_questions(store: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    for word in ("one", "two", "three"):
        _write(store, [word])
    monkeypatch.setattr(mirror, "AT_ONCE_BYTES", 1)
    copy = Mirror(store, [_TABLE], _LIMIT)
    for _ in range(2):
        found = copy.current()
        assert found.place is None
        assert "are left" in found.note
    assert _words(copy.current().place) == ["one", "two", "three"]


def test_a_file_that_leads_out_of_the_folder_is_not_copied(store: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(store, ["one"])
    real = mirror._parts
    monkeypatch.setattr(mirror, "_parts", lambda dataset: ({"../../escaped": 1}, *real(dataset)[1:]))
    assert Mirror(store, [_TABLE], _LIMIT).current() == mirror.Mirrored(None)


def test_a_large_object_is_read_in_parts(store: Address, monkeypatch: pytest.MonkeyPatch) -> None:
    from sage_code.store.remote import objects

    monkeypatch.setattr(objects, "_PART_BYTES", 3)
    there = Objects(store)
    there.put("some/letters", b"abcdefgh")
    assert list(there.parts("some/letters", 8)) == [b"abc", b"def", b"gh"]
    assert there.sizes("some/") == {"some/letters": 8}
