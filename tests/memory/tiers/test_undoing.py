"""What a page needs of the tiers, on both engines: parts of long lists, and the way back from an edit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from sage_code.errors import Conflict, UsageError
from sage_code.memory.channels.channel_memory import ChannelMemory
from sage_code.memory.channels.user_profiles import UserProfiles
from sage_code.memory.tiers.archival_memory import ArchivalMemory
from sage_code.memory.tiers.core_memory import CoreMemory
from sage_code.memory.tiers.engines.protocol import Engine
from sage_code.memory.tiers.opened import opened_agent
from sage_code.memory.tiers.recall_memory import RecallMemory
from sage_code.memory.tiers.tables import channels, messages, passages, profiles, sessions
from sage_code.memory.tiers.values import Agent, NewMessage, Scope
from sage_code.settings.table import Settings

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
KEY = "AKIAIOSFODNN7EXAMPLX"
SETTINGS = Settings()


@pytest.fixture
def agent(engine: Engine) -> Agent:
    """A new agent, without messages."""
    return opened_agent(engine, SETTINGS)


def test_parts_of_sessions_and_of_messages(engine: Engine, agent: Agent) -> None:
    recall = RecallMemory(engine, agent, SETTINGS)
    for number in range(3):
        new = [
            NewMessage(
                role,
                f"{number}.{minute}",
                session=f"s{number}",
                created_at=START + timedelta(days=number, minutes=minute),
            )
            for minute, role in enumerate(("user", "assistant") * 3)
        ]
        recall.add(new, project="/work/shop" if number else "")
    with engine.reading() as rows:
        assert sessions.count_of_sessions(rows, agent.id) == 3
        assert sessions.count_of_sessions(rows, agent.id, project="/work/shop", since=START + timedelta(days=2)) == 1
        assert [one.id for one in sessions.sessions_of(rows, agent.id, limit=1, skip=1)] == ["s1"]
        assert [one.id for one in sessions.sessions_of(rows, agent.id, until=START + timedelta(hours=1))] == ["s0"]
        assert sessions.projects_of(rows, agent.id) == ["/work/shop"]
        session = sessions.session_of(rows, agent.id, "s1")
        assert session is not None
        part = messages.page_of_session(rows, agent.id, session.number, 2, 2)
        assert [one.content for one in part] == ["1.2", "1.3"]
        assert messages.place_in_session(rows, agent.id, part[0]) == 2
        newest = messages.newest_in(rows, Scope(agent, role="user", project="/work/shop"), 2, 1)
        assert [one.content for one in newest] == ["2.2", "2.0"]
        facts = messages.facts_at(rows, agent.id, [one.sequence for one in part])
        assert {(one.id, one.created_at) for one in facts} == {(one.id, one.created_at) for one in part}
        assert channels.names_of(rows, agent.id, [part[0].sequence]) == ["/work/shop"]
        assert [one.waiting for one in channels.dirty_channels(rows, agent.id, 5)] == [6, 12]


def test_blocks_that_were_deleted_are_listed_until_they_are_back(engine: Engine, agent: Agent) -> None:
    assert CoreMemory(engine, agent, SETTINGS, only_reads=True).blocks() == []
    core = CoreMemory(engine, agent, SETTINGS)
    core.create("notes", "first")
    core.create("plans", "second")
    for label in ("notes", "plans"):
        core.delete(label)
    assert [(one.label, one.version) for one in core.deleted()] == [("notes", 2), ("plans", 2)]
    core.undo("notes")
    assert [one.label for one in core.deleted()] == ["plans"]


def test_a_passage_is_edited_found_by_its_new_words_and_comes_back(engine: Engine, agent: Agent) -> None:
    archive = ArchivalMemory(engine, agent, SETTINGS)
    old = archive.insert("Kafka was rejected.", "queues").passage
    saved = archive.edit(old.id, f"RabbitMQ was chosen with {KEY}.", "queues, decision", expected=old)
    assert saved.masked
    assert KEY not in saved.passage.content
    assert archive.list("decision") == [saved.passage]
    assert [one.passage.id for one in archive.search("rabbitmq")] == [old.id]
    assert not archive.search("kafka")
    with pytest.raises(Conflict):
        archive.edit(old.id, "Too late", expected=old)
    with engine.reading() as rows:
        assert [tags for _, tags in passages.tags_of_all(rows, agent.id, ("decision",))] == [("queues", "decision")]
    gone = archive.delete(old.id)
    assert not archive.search("rabbitmq")
    assert archive.restore(gone) == gone
    assert archive.restore(gone) == gone  # twice is once
    [found] = archive.search("rabbitmq")
    assert found.passage == gone


def test_facts_are_added_taken_back_and_restored(engine: Engine, agent: Agent) -> None:
    channel = ChannelMemory(engine, agent, SETTINGS)
    said = channel.add("user", "I live in Lisbon. I have two dogs.")
    channel.summarise()
    people = UserProfiles(engine, agent, SETTINGS)
    people.add("", "I like tea")
    people.add("", "I like tea")  # known already
    assert len(people.facts()) == 3
    with engine.reading() as rows:
        assert profiles.count_facts_of(rows, agent.id, [said]) == 2
    fact = next(one for one in people.facts() if "Lisbon" in one.text)
    people.retire("", fact.id)
    assert not any("Lisbon" in one.text for one in people.facts(retired=True))
    people.restore(fact)
    restored = next(one for one in people.facts() if one.id == fact.id)
    assert (restored.text, restored.message_id, restored.score) == (fact.text, fact.message_id, fact.score)
    with pytest.raises(UsageError):
        people.restore(fact)
    with pytest.raises(UsageError):
        people.add("", "x" * 301)
