"""`sage continuity` as a person meets it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sage_code.continuity.log import note

Run = Callable[..., Any]


@pytest.fixture(autouse=True)
def project(sample: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(sample)
    return sample


def test_sessions_are_shown_marked_and_cleared(sage: Run) -> None:
    nothing = sage("continuity", "status")
    assert nothing.code == 1
    assert "`sage hooks install`" in nothing.err
    without = sage("continuity", "mark")
    assert without.code == 2
    assert "no session of an agent was seen" in without.err
    assert sage("continuity", "mark", "--session", "s1").out == "s1 gets its brief with its next prompt\n"
    note("capture", "OSError: no space left")
    shown = sage("continuity", "status")
    assert shown.code == 0
    assert "s1  just now" in shown.out
    assert "1 compactions, brief pending" in shown.out
    assert "OSError: no space left" in shown.out
    assert sage("continuity", "clear", "--session", "s2").code == 1
    assert sage("continuity", "clear", "--force").out == "dropped the brief of s1\n"
    assert "brief answered by cleared" in sage("continuity", "status").out


def test_a_switch_turns_it_off(sage: Run, project: Path) -> None:
    sage("config", "set", "continuity_enabled", "false")
    sage("continuity", "mark", "--session", "s1")
    assert "continuity is switched off" in sage("continuity", "status").out
    assert str(project) in sage("continuity", "status", "--all").out


def test_a_saved_checkpoint_is_in_the_queue(sage: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sage_code.continuity.queue import queued

    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s1")
    saved = sage("checkpoint", "save", "-t", "The port is 5433").out.removeprefix("saved: ").strip()
    assert queued(str(project), "s1", []) == [(saved, True)]
    assert queued(str(project), "s2", []) == [(saved, False)]
