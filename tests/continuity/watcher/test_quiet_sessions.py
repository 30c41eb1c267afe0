"""A session without hooks comes into recall memory once it is quiet, without a compaction."""

from __future__ import annotations

from pathlib import Path

import pytest

from sage_code.continuity.watcher import daemon
from sage_code.memory.tiers.opened import opened_recall
from sage_code.settings.loading import load_settings

from .conftest import Agent, until
from .test_compactions import watching


@pytest.mark.parametrize("codex", [False, True])
def test_a_quiet_session_is_remembered(home: Path, codex: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "_QUIET_S", 0.5)
    agent = Agent(home, home / "src" / "app", codex=codex)
    with watching():
        agent.begin()
        agent.talk(3)
        until(lambda: agent.state().get("remembered") == agent.path.stat().st_size, "the messages")
        agent.talk(1)
        until(lambda: agent.state().get("remembered") == agent.path.stat().st_size, "the new messages")
    recall = opened_recall(load_settings(None))
    assert len(recall.messages(agent.session)) == (8 if codex else 9)
    recall.engine.close()


def test_a_project_that_does_not_want_it(home: Path, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "_QUIET_S", 0.2)
    (agent.root / ".sage").mkdir()
    (agent.root / ".sage" / "tuning.yaml").write_text("remember_conversations: false\n")
    with watching():
        agent.begin()
        agent.talk(3)
        agent.compact()
        until(agent.is_recovered, "the checkpoint")
    assert not (home / ".sage" / "memory").exists()
