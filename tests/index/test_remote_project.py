"""A project whose store is a bucket: questions need no network; without it the last index answers, and says so."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sage_code.store.remote import address

if TYPE_CHECKING:
    sys.path.insert(0, str(Path(__file__).parents[1] / "store"))
    from s3_server import CountingProxy, S3Server

_NEW = '\n\ndef reach_printer(name):\n    """Reach a printer."""\n    return name\n'


@pytest.fixture
def project(sample: Path, s3: S3Server, s3_way: CountingProxy, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project that is not indexed yet; its store is an empty bucket."""
    monkeypatch.setenv("SAGE_STORE_URI", f"{s3.bucket()}/team")
    monkeypatch.setitem(address._PATIENCE, "client_max_retries", "0")
    monkeypatch.chdir(sample)
    return sample


def _json(outcome: Any) -> dict[str, Any]:
    """What a command has printed; errors are on standard error."""
    found: dict[str, Any] = json.loads(outcome.out or outcome.err)
    return found


def test_a_question_needs_no_network(project: Path, s3_way: CountingProxy, sage: Callable[..., Any]) -> None:
    assert sage("index").code == 0
    asked = s3_way.requests
    s3_way.close_way()
    found = _json(sage("search", "reach a host", "--json"))
    assert found["results"][0]["file"] == "server.py"
    assert found["note"] == ""
    assert sage("grep", "connect").code == 0
    unchanged = _json(sage("index", "--json"))
    assert unchanged["chunks_created"] == unchanged["files_indexed"] == 0
    assert s3_way.requests == asked
    assert str(project) == unchanged["root"]


def test_a_store_that_is_away_keeps_the_last_index(
    project: Path, s3_way: CountingProxy, sage: Callable[..., Any]
) -> None:
    sage("index")
    s3_way.close_way()
    path = project / "server.py"
    path.write_text(path.read_text() + _NEW)
    failed = sage("index", "--json")
    assert failed.code == 2
    error = _json(failed)["error"]
    assert "opening the store failed in s3://" in error["message"]
    assert "network" in error["hint"]
    for _ in range(2):  # the first one tries the store, the second one knows
        stale = _json(sage("search", "reach a host", "--json"))
        assert stale["results"][0]["file"] == "server.py"
        assert "could not be brought in: opening the store failed" in stale["note"]
    tried = sage("grep", "connect")
    assert tried.code == 0
    assert "could not be brought in" in tried.err
    s3_way.is_closed = False
    assert _json(sage("index", "--json"))["chunks_created"] >= 1
    assert sage("grep", "reach_printer").code == 0
