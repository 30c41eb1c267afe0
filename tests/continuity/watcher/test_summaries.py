"""The watcher has channels summarised by a child process, when the database has changed or something is due."""

from __future__ import annotations

import os
import random
import time

import pytest

from sage_code.continuity.watcher import summaries
from sage_code.continuity.watcher.recovery import Recovery
from sage_code.continuity.watcher.summaries import SummaryClock, summarise_due
from sage_code.memory.tiers.engines.opening import default_path
from sage_code.memory.tiers.manager import MemoryManager
from sage_code.memory.tiers.values import NewMessage


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SummaryClock:
    monkeypatch.setattr(summaries, "_FIRST_S", 0.0)
    monkeypatch.setattr(summaries, "_TICK_S", 0.0)
    return SummaryClock(random.Random(1))


def _say(count: int) -> None:
    with MemoryManager() as memory:
        memory.recall.add([NewMessage("user", f"we decided on {n}", session="s") for n in range(count)], channel="#a")


def test_a_child_is_started_when_the_database_has_changed(clock: SummaryClock) -> None:
    assert clock.is_due()  # the first look: the last watcher may have left something
    assert not clock.is_due()  # one at a time
    clock.done({"summarised": 0, "failed": 0, "wait": None})
    assert not clock.is_due()
    _say(3)
    assert clock.is_due()
    clock.done({"summarised": 0, "failed": 0, "wait": None})
    assert not clock.is_due()
    path = default_path()
    os.utime(path, (time.time() + 5, time.time() + 5))
    assert clock.is_due()


def test_a_child_is_started_when_something_has_become_due(clock: SummaryClock) -> None:
    assert clock.is_due()
    clock.done({"summarised": 0, "failed": 0, "wait": 900.0})
    assert not clock.is_due()
    clock._runs = True
    clock.done({"summarised": 0, "failed": 0, "wait": 0.0})
    assert clock.is_due()


def test_a_child_that_failed_is_tried_again_later(clock: SummaryClock) -> None:
    assert clock.is_due()
    clock.done({})
    assert not clock.is_due()
    assert 200 < clock._due - time.time() <= 300


def test_what_is_due_is_made_once_and_what_waits_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert summarise_due() == {"summarised": 0, "failed": 0, "wait": None}
    assert not os.path.exists(default_path())
    _say(4)
    said = summarise_due()
    assert said["summarised"] == 0
    assert 0 < said["wait"] <= 15 * 60
    _say(10)
    assert summarise_due() == {"summarised": 1, "failed": 0, "wait": None}
    _say(10)
    monkeypatch.setenv("SAGE_CHANNEL_SUMMARIES", "false")
    assert summarise_due() == {"summarised": 0, "failed": 0, "wait": None}


@pytest.mark.slow
def test_the_child_process_does_it() -> None:
    _say(12)
    assert Recovery().run({"summaries": True}) == {"summarised": 1, "failed": 0, "wait": None}
