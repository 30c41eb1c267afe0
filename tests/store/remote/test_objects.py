"""Single objects of a real S3 server: written once, replaced by one, refused to readers, and silent about keys."""

from __future__ import annotations

import socket
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sage_code.settings.loading import Settings
from sage_code.store.remote.address import Address, address_of
from sage_code.store.remote.objects import Objects, StoreUnreachableError

if TYPE_CHECKING:
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from s3_server import S3Server


@pytest.fixture
def objects(s3: S3Server) -> Objects:
    return Objects(address_of(f"{s3.bucket()}/below"))


def test_an_object_is_written_read_listed_and_deleted(objects: Objects) -> None:
    assert objects.get("a/b") is None
    objects.put("a/b", b"one")
    objects.put("c", b"two")
    found = objects.get("a/b")
    assert found is not None
    assert found.data == b"one"
    assert sorted(objects.keys()) == ["a/b", "c"]
    assert list(objects.keys("a")) == ["a/b"]
    objects.delete("a/b")
    objects.delete("a/b")
    assert list(objects.keys()) == ["c"]


def test_of_many_that_create_an_object_one_wins(objects: Objects) -> None:
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda number: objects.create("once", str(number).encode()), range(16)))
    found = objects.get("once")
    assert won.count(True) == 1
    assert found is not None
    assert found.data == str(won.index(True)).encode()


def test_of_many_that_replace_an_object_one_wins(objects: Objects) -> None:
    objects.create("once", b"first")
    found = objects.get("once")
    assert found is not None
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda number: objects.replace("once", str(number).encode(), found.tag), range(16)))
    assert won.count(True) == 1
    assert not objects.replace("missing", b"x", found.tag)


def test_a_reader_is_refused_and_no_key_is_printed(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    uri = s3.bucket()
    Objects(address_of(uri)).put("a", b"one")
    for name, value in s3.environment(read_only=True).items():
        monkeypatch.setenv(name, value)
    address = address_of(uri)
    reader = Objects(address)
    found = reader.get("a")
    assert found is not None
    assert found.data == b"one"
    with pytest.raises(StoreUnreachableError) as refused:
        reader.put("a", b"two")
    secret = address.options["secret_access_key"]
    assert secret not in f"{refused.value} {refused.value.hint} {address} {address!r}"


def test_a_server_that_is_away_is_said_soon(s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{closed.getsockname()[1]}")
        start = time.monotonic()
        with pytest.raises(StoreUnreachableError, match="s3://bucket"):
            Objects(address_of("s3://bucket")).get("a")
        assert time.monotonic() - start < 20


def test_credentials_are_of_the_environment_first_and_then_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "half")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY", raising=False)
    settings = Settings(
        store_endpoint="http://127.0.0.1:1", store_access_key_id="mine", store_secret_access_key="my secret"
    )
    theirs = address_of("s3://bucket/path", settings)
    assert theirs.options.items() >= {
        "endpoint": "http://127.0.0.1:1", "allow_http": "true", "region": "us-east-1", "access_key_id": "mine",
        "secret_access_key": "my secret",
    }.items()  # fmt: skip
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "whole")
    assert address_of("s3://bucket", settings).options["access_key_id"] == "half"
    assert address_of("/a/folder", settings) == Address("/a/folder")
    assert str(theirs.below("x")) == "s3://bucket/path/x"
