"""A memory is copied from any engine to any other: nothing is missing, nothing is changed, and that is proved."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sage_code.errors import StoreError, UsageError
from sage_code.memory.tiers.archival_memory import ArchivalMemory
from sage_code.memory.tiers.core_memory import CoreMemory
from sage_code.memory.tiers.engines.opening import open_engine
from sage_code.memory.tiers.engines.protocol import Engine
from sage_code.memory.tiers.entry_store import MemoryStore, MemoryType
from sage_code.memory.tiers.manager import MemoryManager
from sage_code.memory.tiers.moving import CopiedTable, move
from sage_code.memory.tiers.opened import opened_agent, user_of
from sage_code.memory.tiers.recall_memory import RecallMemory
from sage_code.memory.tiers.tables import channels, imports, messages, profiles
from sage_code.memory.tiers.upkeep import agents_of_user, forget_agent, overview_of, rebuild
from sage_code.memory.tiers.values import NewMessage, now
from sage_code.settings.loading import load_settings

Opened = Callable[[str], Engine]
DIRECTIONS = [("sqlite", "sqlite"), ("sqlite", "postgres"), ("postgres", "sqlite")]
ODD = "Grüße 𝄞 'quoted' \"twice\" \\ back; DROP TABLE messages; -- \u202e\n\ttab </value>"
COUNT = 1_203  # more than a batch


@pytest.fixture
def addresses(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """Gives the address of an empty memory of a kind, each time another one."""
    made: list[str] = []

    def address(kind: str) -> str:
        made.append(kind)
        if kind == "sqlite":
            return str(tmp_path / f"memory{len(made)}" / "memory.db")
        server = request.getfixturevalue("postgres")
        name: str = server.fresh()
        request.addfinalizer(lambda: server.drop(name))
        return str(server.uri(name))

    return address


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Opens databases, and closes them at the end."""
    engines: list[Engine] = []

    def open_one(uri: str) -> Engine:
        engines.append(open_engine(uri))
        return engines[-1]

    yield open_one
    for engine in engines:
        engine.close()


def _fill(engine: Engine, name: str = "sage", count: int = COUNT, user: str = "") -> None:
    """Something in every table, with what databases like to change: signs, times, numbers, nothing."""
    settings = load_settings(None)
    agent = opened_agent(engine, settings, name, user)
    recall = RecallMemory(engine, agent, settings)
    said = [
        NewMessage(
            "user" if number % 2 else "assistant",
            f"{ODD} number {number}" if number % 100 == 0 else f"the worker {number} retries three times",
            session=f"s{number % 3}",
            created_at=datetime(2026, 3, 1 + number % 28, 12, 30, 1, number, tzinfo=UTC),
            speaker="Ann ✓",
            metadata={"ratio": 0.1, "nested": {"b": [1, None, True], "a": "ä"}} if number % 50 == 0 else {},
        )
        for number in range(count)
    ]
    recall.add(said, project="/work/shop", channel="c", title=f"Ti'tle {name}", embed=False)
    with engine.writing() as rows:
        imports.note_read(rows, agent.id, "/work/a transcript.jsonl", {"cursor": [1, "x"]}, now())
        for version in (1, 2):
            made = channels.StoredSummary("c", "rolling", version, {"text": ODD, "topics": ["ä"]}, 10, now())
            channels.add_summary(rows, agent.id, made, kept=5)
        profiles.forget_profile(rows, agent.id, "Ann ✓", now())
        fact = profiles.StoredFact("f1", "Ann ✓", ODD, said[0].id, now(), 0.1 + 0.2, "home", "by hand")
        profiles.add_facts(rows, agent.id, [fact], now())
    core = CoreMemory(engine, agent, settings)
    core.append("human", ODD)
    core.set("human", f"Name of {name}: Ann")
    core.create("notes", "first", description="What we do", read_only=True)
    archive = ArchivalMemory(engine, agent, settings)
    archive.insert(f"Staging of {name} is rebuilt every Monday", ["ops", "staging"])
    archive.insert(ODD, "odd, ünïcode")
    store = MemoryStore(engine=engine, agent=name, user=user or user_of(settings))
    store.add(f"{ODD} we chose Kafka", MemoryType.DECISION, tags=["queue"], metadata={"x": 1.5})


def _digests(proof: list[CopiedTable]) -> dict[str, tuple[int, str]]:
    return {one.table: (one.rows_at_target, one.digest_at_target) for one in proof}


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_everything_arrives_and_is_proved(
    addresses: Callable[[str], str], opened: Opened, source: str, target: str
) -> None:
    here, there, settings = opened(addresses(source)), opened(addresses(target)), load_settings(None)
    _fill(here)
    _fill(here, "helper", 7)
    _fill(here, "sage", 5, user="somebody")
    reported: dict[str, int] = {}

    def count(table: str, rows: int) -> None:
        reported[table] = reported.get(table, 0) + rows

    proof = move(here, there, settings, count)
    rows = {one.table: one.rows for one in proof}
    assert rows == {
        "agents": 3, "blocks": 9, "block_history": 15, "sessions": 9, "passages": 6, "entries": 3,
        "messages": COUNT + 12, "imports": 3, "channels": 3, "channel_summaries": 6, "profiles": 3, "profile_facts": 3,
    }  # fmt: skip
    assert all(one.is_same for one in proof)
    assert reported["messages"] == COUNT + 12
    assert reported["vectors"] == COUNT + 12
    assert there.verify() == []
    again = move(here, there, settings)
    assert _digests(again) == _digests(proof)
    agent = next(one for one in agents_of_user(there, user_of(settings)) if one.name == "sage")
    found = ArchivalMemory(there, agent, settings).search("when is staging rebuilt", 1)
    assert found[0].passage.content == "Staging of sage is rebuilt every Monday"
    with there.reading() as transaction:
        assert not messages.unembedded(transaction, 1)
        kept = messages.messages_of_session(transaction, agent.id, "s0", limit=1)[0]
    assert kept.metadata == {"ratio": 0.1, "nested": {"b": [1, None, True], "a": "ä"}}
    assert kept.content == f"{ODD} number 0"


def test_only_the_rows_of_one_user_are_copied_if_one_is_named(addresses: Callable[[str], str], opened: Opened) -> None:
    here, there, settings = opened(addresses("sqlite")), opened(addresses("sqlite")), load_settings(None)
    _fill(here, count=3)
    _fill(here, "secret", 4, user="somebody")
    proof = move(here, there, settings, user=user_of(settings))
    assert {one.table: one.rows for one in proof}["messages"] == 3
    assert agents_of_user(there, "somebody") == []
    with pytest.raises(UsageError, match="nothing in"):
        move(here, there, settings, user="nobody at all")


@pytest.mark.parametrize("target", ["sqlite", "postgres"])
def test_an_interrupted_copy_goes_on_where_it_stopped(
    addresses: Callable[[str], str], opened: Opened, target: str
) -> None:
    here, there, settings = opened(addresses("sqlite")), opened(addresses(target)), load_settings(None)
    _fill(here)
    for stop_at in ("block_history", "passages", "messages", "vectors"):

        def interrupt(table: str, _rows: int, stop_at: str = stop_at) -> None:
            if table == stop_at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            move(here, there, settings, interrupt)
    proof = move(here, there, settings)
    assert all(one.is_same for one in proof)
    assert there.verify() == []
    assert overview_of(there, user_of(settings)).waiting == 0


def test_what_changed_since_a_copy_is_copied_by_the_next_one(addresses: Callable[[str], str], opened: Opened) -> None:
    here, there, settings = opened(addresses("sqlite")), opened(addresses("sqlite")), load_settings(None)
    _fill(here, count=5)
    move(here, there, settings)
    agent = opened_agent(here, settings)
    CoreMemory(here, agent, settings).append("human", "More.")
    RecallMemory(here, agent, settings).add([NewMessage("user", "one more", session="s0")], title="Another title")
    assert all(one.is_same for one in move(here, there, settings))
    # The copy is used now, and the old database must not overwrite it.
    CoreMemory(there, opened_agent(there, settings), settings).append("human", "Newer.")
    with pytest.raises(UsageError, match="newer memory"):
        move(here, there, settings)
    assert all(one.is_same for one in move(there, here, settings))
    # What was deleted since is still in the copy: that is said, not hidden.
    RecallMemory(here, agent, settings).forget(session="s1")
    here_count = RecallMemory(here, agent, settings).count()
    RecallMemory(here, agent, settings).add(
        [NewMessage("user", f"new {number}", session="s0") for number in range(5)], embed=False
    )
    assert here_count < 6
    with pytest.raises(StoreError, match="differs") as refused:
        move(here, there, settings)
    assert "deleted here since" in refused.value.hint


def test_a_compaction_that_is_undone_after_a_copy_is_copied_too(
    addresses: Callable[[str], str], opened: Opened
) -> None:
    uri, there, settings = addresses("sqlite"), opened(addresses("sqlite")), load_settings(None)
    with MemoryManager(uri=uri) as memory:
        for number in range(40):
            memory.add_message("user" if number % 2 else "assistant", f"We decided on plan {number}. " * 20)
        assert memory.compact() is not None
        assert all(one.is_same for one in move(memory.engine, there, settings))
        memory.undo_compaction()
        assert all(one.is_same for one in move(memory.engine, there, settings))
        ids = memory.message_ids()
    assert agents_of_user(there, user_of(settings))[0].message_ids == ids


def test_an_agent_of_the_same_name_is_not_mixed_up(addresses: Callable[[str], str], opened: Opened) -> None:
    here, there, settings = opened(addresses("sqlite")), opened(addresses("sqlite")), load_settings(None)
    _fill(here, count=2)
    CoreMemory(there, opened_agent(there, settings), settings)  # only looked at: its empty blocks give way
    assert all(one.is_same for one in move(here, there, settings))
    other = opened(addresses("sqlite"))
    CoreMemory(other, opened_agent(other, settings), settings).append("human", "Somebody else's")
    with pytest.raises(UsageError, match="already"):
        move(here, other, settings)
    assert overview_of(other, user_of(settings)).rows["messages"] == 0


def test_rebuild_makes_words_and_vectors_again(engine: Engine) -> None:
    settings = load_settings(None)
    _fill(engine, count=40)
    _fill(engine, "other", 3, user="somebody")
    mine = agents_of_user(engine, user_of(settings))
    assert rebuild(engine, mine, settings) == {"messages": 40, "passages": 2}
    assert engine.verify() == []
    assert overview_of(engine, user_of(settings)).waiting == 0
    assert ArchivalMemory(engine, mine[0], settings).search("when is staging rebuilt", 1)


def test_a_forgotten_agent_leaves_nothing_behind(engine: Engine) -> None:
    settings = load_settings(None)
    _fill(engine, "helper", 10)
    _fill(engine, "other", 3, user="somebody")
    (agent,) = agents_of_user(engine, user_of(settings))
    assert forget_agent(engine, agent)["messages"] == 10
    assert agents_of_user(engine, user_of(settings)) == []
    assert overview_of(engine, "somebody").rows["messages"] == 3
    assert engine.verify() == []


def test_the_command_moves_to_a_server_and_back(
    addresses: Callable[[str], str], sage: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine = open_engine()
    _fill(engine, count=30)
    engine.close()
    uri = addresses("postgres")
    moved = sage("memory", "move", "--to", uri)
    assert moved.code == 0, moved.err
    assert "sage config set memory_uri postgresql://" in moved.out
    first = json.loads(sage("memory", "move", "--to", uri, "--json").out)
    assert first["identical"]
    monkeypatch.setenv("SAGE_MEMORY_URI", uri)
    assert "(postgresql, " in sage("memory", "status").out
    assert "Name of sage: Ann" in sage("memory", "blocks", "human").out
    back = json.loads(sage("memory", "move", "--to", str(tmp_path / "back.db"), "--json").out)
    assert [one["digest_at_target"] for one in back["tables"]] == [one["digest"] for one in first["tables"]]
    assert "already" in sage("memory", "move", "--to", uri).err
