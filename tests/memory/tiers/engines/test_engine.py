"""What every engine promises: transactions, words, vectors, scopes, removal, and a check that finds damage."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from sage_code.errors import SageError
from sage_code.memory.tiers.engines.protocol import Engine, Json, Kind, Part, Transaction, moment, nested, texts
from sage_code.memory.tiers.values import Agent, Scope

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
DIM = 96
ADA, BOB = "00000000-0000-4000-8000-00000000000a", "00000000-0000-4000-8000-00000000000b"


class Talk:
    """Two agents with messages; each message has words and a vector."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.random = np.random.default_rng(7)
        engine.use_model("model-1", DIM)
        with engine.writing() as rows:
            self.ada, self.bob = self._agent(rows, ADA, "ada"), self._agent(rows, BOB, "bob")
            self.sessions = {
                (agent.id, name): self._session(rows, agent, name, project)
                for agent in (self.ada, self.bob)
                for name, project in (("s1", "/p1"), ("s2", "/p2"))
            }
        self.vectors: dict[int, NDArray[np.float32]] = {}

    def _agent(self, rows: Transaction, agent_id: str, name: str) -> Agent:
        found = rows.one(
            "INSERT INTO agents (id, user_id, name, created_at) VALUES (?, ?, ?, ?) RETURNING number",
            (agent_id, "u", name, START),
        )
        assert found is not None
        return Agent(agent_id, found[0], "u", name)

    def _session(self, rows: Transaction, agent: Agent, name: str, project: str) -> int:
        found = rows.one(
            "INSERT INTO sessions (agent_id, id, project, started_at, last_at) VALUES (?, ?, ?, ?, ?) RETURNING number",
            (agent.id, name, project, START, START),
        )
        assert found is not None
        return int(found[0])

    def add(
        self,
        words: str,
        agent: Agent | None = None,
        *,
        session: str = "s1",
        role: str = "user",
        minute: int = 0,
        vectors: NDArray[np.float32] | None = None,
    ) -> int:
        agent = agent or self.ada
        vectors = unit(self.random.normal(size=(1, DIM))) if vectors is None else vectors
        with self.engine.writing() as rows:
            found = rows.one(
                "INSERT INTO messages (id, agent_id, session, role, created_at, content) VALUES (?, ?, ?, ?, ?, ?)"
                " RETURNING sequence",
                (
                    f"00000000-0000-4000-8000-{len(self.vectors):012d}", agent.id, self.sessions[agent.id, session],
                    role, START + timedelta(minutes=minute), words,
                ),
            )  # fmt: skip
            assert found is not None
            sequence = int(found[0])
            rows.run("UPDATE agents SET message_count = message_count + 1 WHERE id = ?", (agent.id,))
            self.engine.add_words(rows, "message", [(sequence, words)])
            self.engine.add_vectors(rows, "message", [Part(sequence, agent.number)] * len(vectors), vectors)
        self.vectors[sequence] = vectors
        return sequence

    def forget(self, sequence: int, agent: Agent | None = None) -> None:
        with self.engine.writing() as rows:
            self.engine.remove(rows, "message", [sequence])
            rows.run("DELETE FROM messages WHERE sequence = ?", (sequence,))
            rows.run("UPDATE agents SET message_count = message_count - 1 WHERE id = ?", ((agent or self.ada).id,))

    def by_words(self, *terms: str, scope: Scope | None = None, limit: int = 10) -> list[int]:
        with self.engine.reading() as rows:
            weights = dict.fromkeys(terms, 1.0)
            found = self.engine.with_words(rows, "message", weights, scope or Scope(self.ada), limit)
        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
        return [sequence for sequence, _ in found]

    def by_meaning(self, vector: NDArray[np.float32], scope: Scope | None = None, limit: int = 10) -> list[int]:
        with self.engine.reading() as rows:
            found = self.engine.nearest(rows, "message", vector, scope or Scope(self.ada), limit)
        return [sequence for sequence, _ in found]


def unit(vectors: NDArray[np.float64]) -> NDArray[np.float32]:
    made: NDArray[np.float32] = (vectors / np.linalg.norm(vectors, axis=1)[:, None]).astype(np.float32)
    return made


def interrupted(engine: Engine, error: type[BaseException], step: Callable[[Transaction], object]) -> None:
    """A transaction that does something and then fails."""
    with engine.writing() as rows:
        step(rows)
        raise error


def fact(name: str) -> Callable[[Transaction], object]:
    return lambda rows: rows.run("INSERT INTO facts (name, value) VALUES (?, ?)", (name, "1"))


@pytest.fixture
def talk(engine: Engine) -> Talk:
    return Talk(engine)


def test_rows_are_inserted_as_they_are_and_get_growing_sequences(talk: Talk) -> None:
    texts = ["a\tb\\n", "one\ntwo\r\n", "\\N", "", "\\.", "naïve 日本 😀", 'it\'s "quoted" {}', "x" * 100_000]
    facts = [{}, {"a\n\t": ["\\", None, 1.5]}, *[{"n": number} for number in range(len(texts) - 2)]]
    before = talk.add("before")
    columns = ("id", "agent_id", "session", "role", "created_at", "metadata", "content")
    given = [
        (f"10000000-0000-4000-8000-{number:012d}", ADA, talk.sessions[ADA, "s1"], "user", START, Json(fact), text)
        for number, (text, fact) in enumerate(zip(texts, facts, strict=True))
    ]
    with talk.engine.writing() as rows:
        sequences = rows.insert("messages", columns, given)
        assert rows.insert("messages", columns, []) == []
    assert sequences == sorted(sequences)
    assert sequences[0] > before
    with talk.engine.reading() as rows:
        found = rows.all(
            "SELECT sequence, content, metadata, created_at FROM messages WHERE sequence > ? ORDER BY sequence",
            (before,),
        )
    assert [row[0] for row in found] == sequences
    assert [row[1] for row in found] == texts
    assert [nested(row[2]) for row in found] == facts
    assert {moment(row[3]) for row in found} == {START}


def test_a_sequence_is_not_given_twice(talk: Talk) -> None:
    columns = ("id", "agent_id", "session", "role", "created_at", "content")
    row = ("10000000-0000-4000-8000-000000000001", ADA, talk.sessions[ADA, "s1"], "user", START, "text")
    with talk.engine.writing() as rows:
        [first] = rows.insert("messages", columns, [row])
        rows.run("DELETE FROM messages WHERE sequence = ?", (first,))
    with talk.engine.writing() as rows:
        [second] = rows.insert("messages", columns, [row])
    assert second > first


def test_an_id_that_is_known_is_refused_and_nothing_is_stored(talk: Talk) -> None:
    columns = ("id", "agent_id", "session", "role", "created_at", "content")
    row = ("10000000-0000-4000-8000-000000000001", ADA, talk.sessions[ADA, "s1"], "user", START, "text")
    other = ("10000000-0000-4000-8000-000000000002", *row[1:])
    with talk.engine.writing() as rows:
        rows.insert("messages", columns, [row])
    with pytest.raises(SageError), talk.engine.writing() as rows:
        rows.insert("messages", columns, [other, row])
    with talk.engine.reading() as rows:
        assert rows.all("SELECT count(*) FROM messages") == [(1,)]


def test_a_transaction_is_committed_or_rolled_back_as_a_whole(engine: Engine) -> None:
    with engine.writing() as rows:
        fact("one")(rows)
    for name, error in (("two", ZeroDivisionError), ("three", KeyboardInterrupt)):
        with pytest.raises(error):
            interrupted(engine, error, fact(name))
    with engine.reading() as rows:
        assert rows.all("SELECT name FROM facts WHERE name IN (?, ?, ?)", ("one", "two", "three")) == [("one",)]


def test_a_statement_that_fails_is_an_error_of_sage_and_undoes_its_transaction(engine: Engine) -> None:
    with pytest.raises(SageError):
        interrupted(engine, AssertionError, lambda rows: [fact("one")(rows), fact("one")(rows)])
    with engine.writing() as rows:
        assert rows.one("SELECT count(*) FROM facts WHERE name = ?", ("one",)) == (0,)


def test_a_reader_sees_one_state_while_others_write(engine: Engine) -> None:
    def write() -> None:
        with engine.writing() as rows:
            rows.run("INSERT INTO facts (name, value) VALUES (?, ?)", ("new", "1"))

    with engine.reading() as rows:
        assert rows.one("SELECT count(*) FROM facts WHERE name = ?", ("new",)) == (0,)
        writer = threading.Thread(target=write)
        writer.start()
        writer.join()
        assert rows.one("SELECT count(*) FROM facts WHERE name = ?", ("new",)) == (0,)
    with engine.reading() as rows:
        assert rows.one("SELECT count(*) FROM facts WHERE name = ?", ("new",)) == (1,)


def test_threads_write_one_after_the_other(engine: Engine) -> None:
    with engine.writing() as rows:
        rows.run("INSERT INTO facts (name, value) VALUES (?, ?)", ("n", "0"))
        rows.run(
            "INSERT INTO agents (id, user_id, name, created_at) VALUES (?, ?, ?, ?)", (ADA, "u", "ada", START)
        )  # fmt: skip

    def count() -> None:
        for _ in range(10):
            with engine.writing() as rows:
                rows.lock_agent(ADA)
                found = rows.one("SELECT value FROM facts WHERE name = ?", ("n",))
                assert found is not None
                rows.run("UPDATE facts SET value = ? WHERE name = ?", (str(int(found[0]) + 1), "n"))

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with engine.reading() as rows:
        assert rows.one("SELECT value FROM facts WHERE name = ?", ("n",)) == ("40",)


def test_times_lists_and_nested_values_come_back_as_they_were(talk: Talk) -> None:
    written = datetime(2026, 7, 1, 12, 30, 1, 999999, tzinfo=UTC)
    with talk.engine.writing() as rows:
        rows.run(
            "INSERT INTO passages (id, agent_id, content, tags, code_refs, created_at) VALUES (?, ?, ?, ?, ?, ?)",
            (BOB, ADA, "ü\n'\"", ("a", 'b"c'), Json([{"file": "x.py", "line": 1}]), written),
        )
    with talk.engine.reading() as rows:
        found = rows.one("SELECT content, tags, code_refs, created_at FROM passages")
    assert found is not None
    assert (found[0], texts(found[1]), nested(found[2]), moment(found[3])) == (
        "ü\n'\"", ("a", 'b"c'), [{"file": "x.py", "line": 1}], written
    )  # fmt: skip


def test_words_are_given_back_and_counted(talk: Talk) -> None:
    one, two = talk.add("retri polici\nbackoff retri"), talk.add("logo retri", talk.bob)
    with talk.engine.reading() as rows:
        assert talk.engine.words_of(rows, "message", [one, two, 99]) == {
            one: "retri polici\nbackoff retri",
            two: "logo retri",
        }
        assert talk.engine.frequencies(rows, "message", ["retri", "logo", "none"]) == {"retri": 2, "logo": 1, "none": 0}


def test_the_row_that_has_more_of_the_words_comes_first(talk: Talk) -> None:
    some = talk.add("retri polici")
    best = talk.add("retri polici backoff")
    talk.add("logo blue")
    assert talk.by_words("retri", "polici", "backoff") == [best, some]
    assert talk.by_words("retri", "polici", "backoff", limit=1) == [best]
    assert talk.by_words("none") == []


HOSTILE = [
    '"', '""', "'", "*", "retri*", "NEAR(retri polici)", "words:retri", "retri OR polici", "retri) OR (polici", "-",
    "^retri", "{words}", "", " ", "\n", "a\x00b", "%", "_", "\\", ":*", "retri & polici", "!retri", "<->", "💥",
    "\ud800", "ﬀ", "İ", "日本語", "x" * 3000, "; DROP TABLE messages", "--", "/*", "$1", "?", "%s",
]  # fmt: skip


@pytest.mark.parametrize("term", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_word_is_a_word_and_nothing_else(talk: Talk, term: str) -> None:
    plain = talk.add("retri polici")
    talk.add("a b c words retri", talk.bob)
    with talk.engine.reading() as rows:
        assert talk.engine.frequencies(rows, "message", [term]).get(term, 0) == 0
    assert talk.by_words(term) == []
    assert talk.by_words(term, "polici") == [plain]


@pytest.mark.parametrize("term", ['say"so"', "it's", "c++", "a-b", "x.y(z)", "日本語", "naïv", "*", "near", "or"])
def test_a_word_with_signs_in_it_is_found_as_it_is(talk: Talk, term: str) -> None:
    found = talk.add(f"before {term} after")
    talk.add("before after")
    assert talk.by_words(term) == [found]


def test_a_row_of_another_agent_is_never_found(talk: Talk) -> None:
    mine = talk.add("retri polici")
    theirs = talk.add("retri polici", talk.bob)
    vector = talk.vectors[theirs][0]
    assert talk.by_words("retri", "polici") == [mine]
    assert talk.by_meaning(vector) == [mine]
    assert talk.by_words("retri", scope=Scope(talk.bob)) == [theirs]
    assert talk.by_meaning(vector, Scope(talk.bob)) == [theirs]
    # Neither does a scope that names the number of the one and the id of the other.
    mixed = Scope(Agent(talk.ada.id, talk.bob.number, "u", "ada"))
    assert theirs not in talk.by_meaning(vector, mixed)


def test_a_scope_allows_only_what_it_says(talk: Talk) -> None:
    rows = {
        (session, role, minute): talk.add("retri", session=session, role=role, minute=minute)
        for session in ("s1", "s2")
        for role in ("user", "tool")
        for minute in (0, 10, 20)
    }
    talk.add("retri", talk.bob)
    vector = unit(np.ones((1, DIM)))[0]
    later, last = START + timedelta(minutes=10), START + timedelta(minutes=20)
    for scope, wanted in (
        (Scope(talk.ada), set(rows.values())),
        (Scope(talk.ada, session="s2"), {row for key, row in rows.items() if key[0] == "s2"}),
        (Scope(talk.ada, project="/p1"), {row for key, row in rows.items() if key[0] == "s1"}),
        (Scope(talk.ada, project="/p1", session="s2"), set()),
        (Scope(talk.ada, role="tool"), {row for key, row in rows.items() if key[1] == "tool"}),
        (Scope(talk.ada, role="summary"), set()),
        (Scope(talk.ada, since=later), {row for key, row in rows.items() if key[2] >= 10}),
        (Scope(talk.ada, since=later, until=last), {row for key, row in rows.items() if key[2] == 10}),
        (Scope(talk.ada, project="/p2", role="user", until=later), {rows["s2", "user", 0]}),
    ):
        assert set(talk.by_words("retri", scope=scope, limit=50)) == wanted
        assert set(talk.by_meaning(vector, scope, limit=50)) == wanted


def test_the_best_part_of_a_row_counts(talk: Talk) -> None:
    wanted = unit(talk.random.normal(size=(1, DIM)))
    other = unit(talk.random.normal(size=(3, DIM)))
    single = talk.add("a", vectors=other[:1])
    several = talk.add("b", vectors=np.concatenate([other[1:], wanted]))
    with talk.engine.reading() as rows:
        found = talk.engine.nearest(rows, "message", wanted[0], Scope(talk.ada), 5)
        cosines = talk.engine.cosines(rows, "message", wanted[0], [single, several, 99])
    assert [sequence for sequence, _ in found] == [several, single]
    assert found[0][1] == pytest.approx(1, abs=2e-3)
    assert found[1][1] == pytest.approx(float(other[0] @ wanted[0]), abs=1e-2)
    assert cosines == pytest.approx(dict(found), abs=2e-3)


def test_vectors_of_a_transaction_that_fails_are_not_found(talk: Talk) -> None:
    kept = talk.add("a")
    parts = [Part(kept, talk.ada.number)]
    with pytest.raises(ZeroDivisionError):
        interrupted(
            talk.engine,
            ZeroDivisionError,
            lambda rows: talk.engine.add_vectors(rows, "message", parts, unit(np.ones((1, DIM)))),
        )
    with talk.engine.reading() as rows:
        cosine = talk.engine.cosines(rows, "message", unit(np.ones((1, DIM)))[0], [kept])[kept]
    assert cosine < 0.9
    new = talk.add("b")
    assert talk.by_meaning(talk.vectors[new][0], limit=1) == [new]


def test_what_is_removed_is_not_found_and_the_rest_is(talk: Talk) -> None:
    gone, kept = talk.add("retri polici"), talk.add("retri backoff")
    talk.forget(gone)
    assert talk.by_words("retri", "polici") == [kept]
    assert talk.by_meaning(talk.vectors[gone][0]) == [kept]
    with talk.engine.reading() as rows:
        assert talk.engine.words_of(rows, "message", [gone]) == {}
        assert talk.engine.cosines(rows, "message", talk.vectors[gone][0], [gone]) == {}
    talk.engine.erase()
    assert talk.by_words("retri") == [kept]
    assert talk.by_meaning(talk.vectors[kept][0]) == [kept]
    assert talk.engine.verify() == []


def test_a_removal_that_is_rolled_back_removes_nothing(talk: Talk) -> None:
    kept = talk.add("retri polici")
    with pytest.raises(ZeroDivisionError):
        interrupted(talk.engine, ZeroDivisionError, lambda rows: talk.engine.remove(rows, "message", [kept]))
    assert talk.by_words("retri") == [kept]
    assert talk.by_meaning(talk.vectors[kept][0]) == [kept]
    assert talk.engine.verify() == []


def test_another_model_drops_all_vectors_and_lists_every_message(talk: Talk) -> None:
    sequences = [talk.add("a"), talk.add("b", talk.bob)]
    assert talk.engine.use_model("model-1", DIM) is False
    assert talk.engine.use_model("model-2", 64) is True
    assert talk.engine.use_model("model-2", 64) is False
    assert talk.by_meaning(unit(np.ones((1, 64)))[0]) == []
    with talk.engine.reading() as rows:
        assert rows.all("SELECT sequence FROM unembedded ORDER BY sequence") == [(one,) for one in sequences]
    with talk.engine.writing() as rows:
        vectors = unit(talk.random.normal(size=(1, 64)))
        talk.engine.add_vectors(rows, "message", [Part(sequences[0], talk.ada.number)], vectors)
        rows.run("DELETE FROM unembedded WHERE sequence = ?", (sequences[0],))
    assert talk.by_meaning(vectors[0]) == [sequences[0]]
    assert talk.engine.verify() == []


@pytest.mark.parametrize(
    "damage",
    ["DELETE FROM message_parts", "DELETE FROM messages", "UPDATE agents SET message_count = 5"],
)
def test_verify_finds_rows_that_do_not_fit(talk: Talk, damage: str) -> None:
    talk.add("retri")
    assert talk.engine.verify() == []
    with talk.engine.writing() as rows:
        rows.run(damage)
    assert len(talk.engine.verify()) > 0


def test_passages_are_searched_like_messages(talk: Talk) -> None:
    kind: Kind = "passage"
    with talk.engine.writing() as rows:
        found = rows.one(
            "INSERT INTO passages (id, agent_id, content, created_at) VALUES (?, ?, ?, ?) RETURNING sequence",
            (BOB, ADA, "x", START),
        )
        assert found is not None
        sequence = int(found[0])
        vectors = unit(talk.random.normal(size=(1, DIM)))
        talk.engine.add_words(rows, kind, [(sequence, "retri polici")])
        talk.engine.add_vectors(rows, kind, [Part(sequence, talk.ada.number)], vectors)
    with talk.engine.reading() as rows:
        for agent, wanted in ((talk.ada, [sequence]), (talk.bob, [])):
            words = talk.engine.with_words(rows, kind, {"retri": 1.0}, Scope(agent), 5)
            near = talk.engine.nearest(rows, kind, vectors[0], Scope(agent), 5)
            assert [row for row, _ in words] == [row for row, _ in near] == wanted
    assert talk.by_words("retri") == []
    talk.engine.maintain()
    assert talk.engine.verify() == []
    assert talk.engine.size() > 0


def test_an_empty_database_answers_with_nothing(engine: Engine) -> None:
    scope = Scope(Agent(ADA, 1, "u", "ada"))
    with engine.reading() as rows:
        assert engine.with_words(rows, "message", {"a": 1.0}, scope, 5) == []
        assert engine.with_words(rows, "message", {}, scope, 5) == []
        assert engine.nearest(rows, "message", unit(np.ones((1, DIM)))[0], scope, 5) == []
        assert engine.cosines(rows, "message", unit(np.ones((1, DIM)))[0], [1]) == {}
        assert engine.frequencies(rows, "message", ["a"]) == {"a": 0}
    engine.maintain()
    engine.erase()
    assert engine.verify() == []
