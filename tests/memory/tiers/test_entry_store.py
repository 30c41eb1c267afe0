"""MemoryStore: entries of an agent, their queries, summaries and pruning."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_ids import new_uuid

from sage_code.errors import Conflict, UsageError
from sage_code.memory.tiers.engines.protocol import Engine
from sage_code.memory.tiers.entry_store import MemoryEntry, MemoryPriority, MemoryStore, MemoryType
from sage_code.memory.tiers.storable import storable
from sage_code.settings.table import Settings
from sage_code.text.masking import mask
from sage_code.text.tokens import count_tokens

SETTINGS = Settings(embedding_model="hashing")
# Every example has an agent of its own, so that one database serves them all.
ON_ONE_ENGINE = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
LONG = "The queue keeps its order. It has two consumers, which share a cursor. Nobody else reads it. " * 4


def _store(engine: Engine, agent: str = "sage", user: str = "ann") -> MemoryStore:
    return MemoryStore(agent=agent, user=user, settings=SETTINGS, engine=engine)


@pytest.fixture
def store(engine: Engine) -> MemoryStore:
    return _store(engine)


def test_enums_and_defaults_are_the_specs() -> None:
    assert [one.value for one in MemoryType] == [
        "conversation", "decision", "context", "summary", "checkpoint", "artifact",
    ]  # fmt: skip
    assert {one.name: one.value for one in MemoryPriority} == {
        "EPHEMERAL": 10, "LOW": 30, "NORMAL": 50, "HIGH": 70, "CRITICAL": 90, "PERMANENT": 100,
    }  # fmt: skip
    entry = MemoryEntry("one", MemoryType.CONTEXT, "text")
    assert (entry.priority, entry.tokens, entry.session_id, entry.task_id) == (MemoryPriority.NORMAL, 0, None, None)
    assert (entry.tags, entry.metadata, entry.is_summarized, entry.summary_of) == ([], {}, False, [])
    assert entry.created_at.tzinfo is UTC
    assert entry.updated_at.tzinfo is UTC


def test_an_entry_is_stored_as_it_is_given(store: MemoryStore) -> None:
    entry = MemoryEntry(
        "decision 1", MemoryType.DECISION, "Use a queue", MemoryPriority.CRITICAL, session_id="s", task_id="t",
        tags=["a", 'b"\\'], metadata={"why": {"deep": [1, None, True, "x"]}},
    )  # fmt: skip
    assert store.add(entry) is entry
    assert entry.tokens == count_tokens("Use a queue")
    assert store.get("decision 1") == entry
    assert store.get("decision 2") is None


def test_a_content_becomes_an_entry(store: MemoryStore) -> None:
    entry = store.add("Use a queue", MemoryType.DECISION, MemoryPriority.HIGH, "s", "t", ["a"], {"n": 1})
    assert store.get(entry.id) == entry
    assert (entry.type, entry.priority, entry.session_id, entry.task_id) == (
        MemoryType.DECISION, MemoryPriority.HIGH, "s", "t",
    )  # fmt: skip
    assert (entry.tags, entry.metadata) == (["a"], {"n": 1})
    assert store.add("plain").type is MemoryType.CONTEXT


def test_tokens_that_are_given_are_kept(store: MemoryStore) -> None:
    store.add(MemoryEntry("one", MemoryType.CONTEXT, "text", tokens=500))
    assert store.total_tokens() == 500


NAMES = st.text(min_size=1, max_size=30)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
TIMES = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1), timezones=st.just(UTC))


@ON_ONE_ENGINE
@given(
    id_=NAMES, type_=st.sampled_from(MemoryType), content=st.text(max_size=200),
    priority=st.sampled_from(MemoryPriority), created=TIMES, session=st.none() | st.text(max_size=20),
    tags=st.lists(st.text(max_size=10), max_size=3), metadata=st.dictionaries(st.text(max_size=5), JSON, max_size=3),
    summary_of=st.lists(NAMES, max_size=3),
)  # fmt: skip
def test_what_is_stored_is_read(
    engine: Engine, id_: str, type_: MemoryType, content: str, priority: MemoryPriority, created: datetime,
    session: str | None, tags: list[str], metadata: dict[str, Any], summary_of: list[str],
) -> None:  # fmt: skip
    metadata.pop("$id", None)
    store = _store(engine, str(new_uuid()))
    added = store.add(
        MemoryEntry(
            id_, type_, content, priority, 0, created, created, session, None, tags, metadata, False, summary_of
        )
    )
    assert store.get(id_) == added
    assert store.query() == [added]
    assert added.content == storable(mask(content)[0])
    assert (added.id, added.session_id) == (storable(id_), None if session is None else storable(session))
    if "\0" not in repr(metadata) and repr(metadata).isascii():
        assert added.metadata == metadata


def test_secrets_are_masked(store: MemoryStore) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    entry = store.add(f"token {secret}", tags=[secret], metadata={"deep": [secret]})
    assert secret not in repr(store.get(entry.id))


def test_what_cannot_be_stored_is_refused(store: MemoryStore) -> None:
    with pytest.raises(UsageError, match="metadata must be JSON"):
        store.add("x", metadata={"at": datetime.now(UTC)})
    with pytest.raises(UsageError, match="metadata must be JSON"):
        store.add("x", metadata={"n": float("nan")})
    with pytest.raises(UsageError, match="no type of entries 'wish'"):
        store.add("x", "wish")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no priority 51"):
        store.add("x", priority=51)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="needs an id"):
        store.add(MemoryEntry("", MemoryType.CONTEXT, "x"))
    with pytest.raises(UsageError, match="at most 1,000,000 characters"):
        store.add("x" * 1_000_001)
    assert store.query() == []


def test_an_id_is_added_once(store: MemoryStore) -> None:
    for id_ in ("one", str(new_uuid())):
        store.add(MemoryEntry(id_, MemoryType.CONTEXT, "first"))
        with pytest.raises(UsageError, match="already"):
            store.add(MemoryEntry(id_, MemoryType.CONTEXT, "second"))
    assert [entry.content for entry in store.query()] == ["first", "first"]


def test_an_update_counts_again_and_is_told_of_others(store: MemoryStore) -> None:
    entry = store.add(MemoryEntry("one", MemoryType.CONTEXT, "short"))
    other = store.get("one")
    assert other is not None
    created = entry.created_at
    entry.content = "a content that is longer"
    store.update(entry)
    assert entry.tokens == count_tokens("a content that is longer")
    assert entry.created_at == created < entry.updated_at
    assert store.get("one") == entry
    other.content = "lost"
    with pytest.raises(Conflict, match="has been updated"):
        store.update(other)
    entry.priority = MemoryPriority.LOW
    store.update(entry)  # the same object again: it is what is stored
    assert store.get("one") == entry
    with pytest.raises(UsageError, match="no entry 'two'"):
        store.update(MemoryEntry("two", MemoryType.CONTEXT, "x"))


def test_a_query_narrows(store: MemoryStore) -> None:
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    for number, (type_, priority, session, task, tags, content) in enumerate(
        (
            (MemoryType.DECISION, MemoryPriority.HIGH, "s1", "t1", ["db", "queue"], "Use a Queue in ÄRGER"),
            (MemoryType.CONTEXT, MemoryPriority.LOW, "s1", "t2", ["db"], "The queue is slow"),
            (MemoryType.CONTEXT, MemoryPriority.NORMAL, "s2", "t1", [], "100% of _tests_ pass"),
        )
    ):
        store.add(
            MemoryEntry(
                f"e{number}", type_, content, priority, created_at=begin + timedelta(days=number), session_id=session,
                task_id=task, tags=tags,
            )
        )  # fmt: skip

    def ids(**wanted: Any) -> str:
        return " ".join(entry.id for entry in store.query(**wanted))

    assert ids() == "e2 e1 e0"
    assert ids(oldest_first=True) == "e0 e1 e2"
    assert ids(limit=2) == "e2 e1"
    assert ids(type=MemoryType.CONTEXT) == "e2 e1"
    assert ids(type="decision") == "e0"
    assert ids(session_id="s1") == "e1 e0"
    assert ids(task_id="t1") == "e2 e0"
    assert ids(tags=["db"]) == "e1 e0"
    assert ids(tags=["db", "queue"]) == "e0"
    assert ids(min_priority=MemoryPriority.NORMAL) == "e2 e0"
    assert ids(max_priority=MemoryPriority.NORMAL) == "e2 e1"
    assert ids(text="QUEUE ärger") == "e0"
    assert ids(text="0% _") == "e2"
    assert ids(text="'; DROP TABLE entries; --") == ""
    assert ids(since=begin + timedelta(days=1)) == "e2 e1"
    assert ids(since=(begin + timedelta(days=1)).astimezone(timezone(timedelta(hours=5)))) == "e2 e1"
    assert ids(session_id="s1", type=MemoryType.CONTEXT, tags=["db"]) == "e1"


def test_a_query_reads_on_where_a_page_ends(store: MemoryStore) -> None:
    when = datetime(2026, 3, 1, tzinfo=UTC)
    with store.writing() as rows:
        for number in range(1_201):  # more than two pages, most of them of the same time
            store.insert(
                rows,
                MemoryEntry(
                    str(number), MemoryType.CONTEXT, "x", created_at=when + timedelta(seconds=number // 700),
                    tags=["third"] if number % 3 == 0 else [],
                ),
            )  # fmt: skip
    assert len({entry.id for entry in store.query(limit=None)}) == 1_201
    assert len({entry.id for entry in store.query(limit=None, tags=["third"], oldest_first=True)}) == 401
    assert len(store.query(tags=["third"], limit=400)) == 400


def test_nobody_else_sees_an_entry(engine: Engine, store: MemoryStore) -> None:
    mine = store.add("mine", session_id="s")
    named = store.add(MemoryEntry("same name", MemoryType.CONTEXT, "mine too"))
    for other in (_store(engine, "coder"), _store(engine, user="bob")):
        assert other.query() == []
        assert other.get(mine.id) is None
        assert not other.delete(mine.id)
        assert other.total_tokens() == other.total_tokens("s") == 0
        assert other.prune(0) == []
        for change in (other.update, lambda entry, other=other: other.summarise([entry])):
            with pytest.raises(UsageError):
                change(mine)
        with pytest.raises(UsageError):
            other.add(mine)  # its id is taken
        other.add(MemoryEntry("same name", MemoryType.CONTEXT, "theirs"))
    assert store.get("same name") == named
    assert store.get(mine.id) == mine


def test_threads_add_at_once(store: MemoryStore) -> None:
    def add(worker: int) -> None:
        for number in range(20):
            store.add(f"note {number} of {worker}", session_id=f"s{worker}")

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(add, range(6)))
    assert len(store.query(limit=None)) == 120
    assert {len(store.query(session_id=f"s{worker}", limit=None)) for worker in range(6)} == {20}


def test_threads_that_update_one_entry_lose_nothing(store: MemoryStore) -> None:
    store.add(MemoryEntry("counter", MemoryType.CONTEXT, "x", metadata={"n": 0}))

    def count(_: int) -> None:
        while True:
            entry = store.get("counter")
            assert entry is not None
            entry.metadata["n"] += 1
            try:
                store.update(entry)
            except Conflict:
                continue
            return

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(count, range(20)))
    counter = store.get("counter")
    assert counter is not None
    assert counter.metadata == {"n": 20}


def test_a_summary_stands_for_entries_until_it_is_undone(store: MemoryStore) -> None:
    entries = [
        store.add(LONG, MemoryType.CONVERSATION, priority, "s", tags=[tag])
        for tag, priority in (("b", MemoryPriority.LOW), ("a", MemoryPriority.HIGH))
    ]
    before = store.total_tokens("s")
    summary = store.summarise(entries)
    assert store.get(summary.id) == summary
    assert (summary.type, summary.priority, summary.session_id) == (MemoryType.SUMMARY, MemoryPriority.HIGH, "s")
    assert (summary.summary_of, summary.tags) == ([entry.id for entry in entries], ["a", "b"])
    assert 0 < summary.tokens == store.total_tokens("s") <= before / 2
    assert store.query(include_summarized=False) == [summary]
    assert all(entry.is_summarized for entry in store.query(type=MemoryType.CONVERSATION))
    with pytest.raises(UsageError, match="are not there, or are summarised"):
        store.summarise(entries)
    back = store.undo_summary(summary.id)
    assert [entry.id for entry in back] == summary.summary_of
    assert not any(entry.is_summarized for entry in back)
    assert store.total_tokens("s") == before
    assert store.get(summary.id) is None
    with pytest.raises(UsageError, match="no summary"):
        store.undo_summary(summary.id)


def test_a_summary_of_a_summary_is_undone_in_order(store: MemoryStore) -> None:
    first = store.summarise([store.add(LONG, session_id="s1"), store.add(LONG, session_id="s2")])
    assert first.session_id is None
    second = store.summarise([first, store.add(LONG)])
    with pytest.raises(UsageError, match="part of another"):
        store.undo_summary(first.id)
    store.undo_summary(second.id)
    store.undo_summary(first.id)
    assert len(store.query(include_summarized=False)) == 3


def test_what_a_deleted_summary_stood_for_counts_again(store: MemoryStore) -> None:
    entry = store.add(LONG)
    assert store.delete(store.summarise([entry]).id)
    assert store.total_tokens() == entry.tokens
    assert store.delete(entry.id)
    assert not store.delete(entry.id)
    assert store.total_tokens() == 0


def test_two_that_summarise_the_same_make_one_summary(store: MemoryStore) -> None:
    entries = [store.add(LONG) for _ in range(3)]

    def summarise(_: int) -> int:
        try:
            store.summarise(entries)
        except (Conflict, UsageError):
            return 0
        return 1

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(summarise, range(4))) == 1
    assert len(store.query(type=MemoryType.SUMMARY)) == 1


def test_pruning_takes_the_lowest_priority_and_then_the_oldest(store: MemoryStore) -> None:
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    for number, priority in enumerate((50, 10, 30, 10, 70, 90, 100)):
        store.add(
            MemoryEntry(
                f"e{number}", MemoryType.CONTEXT, "x", MemoryPriority(priority), 10,
                begin + timedelta(days=number), session_id="s",
            )
        )  # fmt: skip
    store.add("x" * 1000, session_id="other")
    assert store.prune(70, "s") == []
    assert [entry.id for entry in store.prune(45, "s")] == ["e1", "e3", "e2"]
    assert [entry.id for entry in store.prune(0, "s")] == ["e0"]
    assert store.total_tokens("s") == 30
    assert len(store.query(session_id="other")) == 1


def test_a_pruned_summary_takes_along_what_it_stands_for_but_nothing_that_must_stay(store: MemoryStore) -> None:
    plain = store.summarise([store.add(LONG, priority=MemoryPriority.LOW) for _ in range(2)])
    raised = store.add(LONG, priority=MemoryPriority.LOW)
    kept = store.summarise([raised])
    entry = store.get(raised.id)
    assert entry is not None
    entry.priority = MemoryPriority.PERMANENT
    store.update(entry)
    assert [one.id for one in store.prune(0)] == [plain.id]
    assert {one.id for one in store.query()} == {raised.id, kept.id}


ENTRIES = st.lists(
    st.tuples(st.sampled_from(MemoryPriority), st.integers(1, 100), st.booleans()), min_size=1, max_size=25
)


@ON_ONE_ENGINE
@given(made=ENTRIES, most=st.integers(0, 1500))
def test_pruning_never_touches_what_must_stay(
    engine: Engine, made: list[tuple[MemoryPriority, int, bool]], most: int
) -> None:
    store = _store(engine, str(new_uuid()))
    for number, (priority, tokens, _) in enumerate(made):
        store.add(MemoryEntry(f"e{number}", MemoryType.CONTEXT, "x", priority, tokens))
    doomed = [f"e{number}" for number, (_, _, is_summarised) in enumerate(made) if is_summarised]
    if doomed:
        store.summarise(doomed)
    before = {entry.id: entry for entry in store.query(limit=None)}
    gone = store.prune(most)
    after = {entry.id: entry for entry in store.query(limit=None)}
    assert all(entry.priority <= MemoryPriority.NORMAL for entry in gone)
    assert all(after[id_] == entry for id_, entry in before.items() if entry.priority > MemoryPriority.NORMAL)
    left = [entry for entry in store.query(include_summarized=False, limit=None) if entry.priority <= 50]
    assert store.total_tokens() <= most or not left


def test_a_checkpoint_keeps_a_state_for_good(store: MemoryStore) -> None:
    id_ = store.save_checkpoint({"step": 3, "ids": ["a"]}, "s", "t")
    assert store.load_checkpoint(id_) == {"step": 3, "ids": ["a"]}
    entry = store.get(id_)
    assert entry is not None
    assert (entry.type, entry.priority) == (MemoryType.CHECKPOINT, MemoryPriority.PERMANENT)
    assert (entry.session_id, entry.task_id) == ("s", "t")
    with pytest.raises(UsageError, match="no checkpoint"):
        store.load_checkpoint("other")
    with pytest.raises(UsageError, match="no checkpoint"):
        store.load_checkpoint(store.add("x").id)


def test_a_store_opens_what_the_settings_name(sage_home: Any) -> None:
    with MemoryStore() as store:
        store.add("kept")
    with MemoryStore() as store:
        assert [entry.content for entry in store.query()] == ["kept"]
        assert store.agent.name == "sage"
    assert (sage_home / "memory" / "memory.db").exists()
    with MemoryStore(str(sage_home / "other.db"), agent="coder", user="bob") as store:
        assert store.query() == []
        assert (store.agent.name, store.agent.user) == ("coder", "bob")
