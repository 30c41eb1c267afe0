"""What can be undone: once, for a while, and not after something was erased for good."""

from __future__ import annotations

import time

import pytest

from sage_web.running.undoing import Undoing


def test_a_change_is_undone_once() -> None:
    undoing = Undoing()
    token = undoing.keep("Saved.", lambda: "/agents")
    found = undoing.find(token)
    assert found is not None
    assert (found.said, found.undo()) == ("Saved.", "/agents")
    assert undoing.find("another") is None
    assert undoing.take(token) is not None
    assert undoing.take(token) is None


def test_what_is_old_or_erased_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    undoing = Undoing()
    tokens = [undoing.keep("Saved.", lambda: "/agents") for _ in range(60)]
    assert undoing.find(tokens[0]) is None  # only the last ones are kept
    undoing.clear()
    assert undoing.find(tokens[-1]) is None
    token = undoing.keep("Saved.", lambda: "/agents")
    later = time.monotonic() + 3_600
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert undoing.find(token) is None
