"""PostgreSQL alone: what only a server can do, from two processes that make the tables to a disk that is full."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest
from made_ids import new_uuid
from postgres_server import PostgresServer, running_server

from sage_code.errors import Busy, ConfigError, FormatTooNew, SageError, StoreError
from sage_code.memory.tiers.engines import postgres_vectors, postgres_words
from sage_code.memory.tiers.engines.opening import open_engine
from sage_code.memory.tiers.engines.postgres import PostgresEngine
from sage_code.memory.tiers.engines.protocol import Json, Part, Transaction
from sage_code.memory.tiers.tables import agents, messages, sessions
from sage_code.memory.tiers.values import Agent, NewMessage, Scope, now

SECRET = "hunter2&Co"
DIM = 8


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    name = postgres.fresh()
    yield name
    postgres.drop(name)


@pytest.fixture
def uri(postgres: PostgresServer, database: str) -> str:
    return postgres.uri(database)


@pytest.fixture
def team(uri: str) -> Iterator[PostgresEngine]:
    opened = PostgresEngine(uri)
    yield opened
    opened.close()


@pytest.fixture
def own_server() -> Iterator[PostgresServer]:
    """A server that the test may stop; what it has acknowledged is there after a crash of its processes."""
    with tempfile.TemporaryDirectory(prefix="sage-pg-") as folder:
        with running_server(Path(folder), synchronous_commit="on") as server:
            server.run("CREATE EXTENSION vector")
            yield server


def agent_named(engine: PostgresEngine, name: str = "sage") -> Agent:
    with engine.writing() as rows:
        return agents.make_agent(rows, "ada", name)


def store(engine: PostgresEngine, rows: Transaction, agent: Agent, texts: list[str]) -> list[int]:
    """Messages with their words and, if there is a model, a vector that is made from the number of the message."""
    number = sessions.make_session(rows, agent.id, "s1", now(), project="p")
    new = [NewMessage("user", text, id=str(new_uuid()), created_at=now(), tokens=1) for text in texts]
    sequences = [one.sequence for one in messages.insert_messages(rows, agent.id, [(number, one) for one in new])]
    engine.add_words(rows, "message", list(zip(sequences, texts, strict=True)))
    agents.count_messages(rows, agent.id, len(sequences), len(sequences))
    return sequences


def vectors(count: int, seed: int = 1) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    made = np.random.default_rng(seed).normal(size=(count, DIM)).astype(np.float32)
    unit: np.ndarray[tuple[int, int], np.dtype[np.float32]] = made / np.linalg.norm(made, axis=1, keepdims=True)
    return unit


def count(engine: PostgresEngine, table: str) -> int:
    with engine.reading() as rows:
        found = rows.one(f"SELECT count(*) FROM {table}")
    assert found is not None
    return int(found[0])


# Tables


def test_tables_are_made_once_however_many_processes_begin(postgres: PostgresServer) -> None:
    name = postgres.empty()
    code = f"from sage_code.memory.tiers.engines.postgres import PostgresEngine; PostgresEngine({postgres.uri(name)!r})"
    running = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(4)]
    assert [process.communicate()[1] for process in running] == [b""] * 4
    assert [process.returncode for process in running] == [0] * 4
    assert postgres.run("SELECT number FROM sage.sage_migrations", name) == [(1,), (2,)]
    postgres.drop(name)


def test_everything_is_in_a_schema_of_its_own(postgres: PostgresServer, database: str, team: PostgresEngine) -> None:
    team.use_model("model", DIM)
    found = postgres.run("SELECT DISTINCT schemaname FROM pg_tables WHERE schemaname !~ '^(pg_|information)'", database)
    assert found == [("sage",)]


def test_a_database_of_a_newer_sage_is_left_alone(postgres: PostgresServer, database: str, uri: str) -> None:
    postgres.run("INSERT INTO sage.sage_migrations (number) VALUES (99)", database)
    with pytest.raises(FormatTooNew, match="newer Sage"):
        open_engine(uri)


def test_a_user_without_rights_is_told_what_the_administrator_has_to_run(postgres: PostgresServer) -> None:
    name = postgres.empty()
    postgres.run("DROP ROLE IF EXISTS guest")
    postgres.run("CREATE ROLE guest LOGIN")
    with pytest.raises(StoreError) as refused:
        PostgresEngine(postgres.uri(name, "guest"))
    assert "CREATE EXTENSION vector" in refused.value.hint
    postgres.run("CREATE EXTENSION vector", name)
    with pytest.raises(StoreError) as refused:
        PostgresEngine(postgres.uri(name, "guest"))
    assert "CREATE SCHEMA sage AUTHORIZATION guest" in refused.value.hint
    postgres.run("CREATE SCHEMA sage AUTHORIZATION guest", name)
    PostgresEngine(postgres.uri(name, "guest")).close()
    postgres.drop(name)


# Rows


def test_two_engines_on_one_database_see_each_others_rows(uri: str, team: PostgresEngine) -> None:
    other = PostgresEngine(uri)
    agent = agent_named(team)
    with team.writing() as rows:
        store(team, rows, agent, ["one"])
        assert count(other, "messages") == 0
    assert count(other, "messages") == 1
    other.close()


def test_a_reader_sees_one_state(uri: str, team: PostgresEngine) -> None:
    agent = agent_named(team)
    with team.reading() as before:
        assert before.one("SELECT count(*) FROM messages") == (0,)
        with team.writing() as rows:
            store(team, rows, agent, ["one"])
        assert before.one("SELECT count(*) FROM messages") == (0,)


def test_a_reader_cannot_write(team: PostgresEngine) -> None:
    with pytest.raises(StoreError, match="read-only"), team.reading() as rows:
        rows.run("DELETE FROM messages")


def test_a_block_that_raises_leaves_nothing(team: PostgresEngine) -> None:
    agent = agent_named(team)

    def store_and_fail(swallow: bool) -> None:
        with team.writing() as rows:
            store(team, rows, agent, ["one"])
            try:
                rows.run("INSERT INTO nowhere VALUES (?)", (1,))
            except Exception as error:
                if not swallow:
                    raise ZeroDivisionError from error

    with pytest.raises(ZeroDivisionError):
        store_and_fail(swallow=False)
    with pytest.raises(StoreError, match="a statement failed"):
        store_and_fail(swallow=True)
    assert (count(team, "messages"), count(team, "message_words")) == (0, 0)


def test_what_a_server_cannot_store_is_replaced(team: PostgresEngine) -> None:
    agent = agent_named(team)
    with team.writing() as rows:
        rows.run("UPDATE agents SET name = ? WHERE id = ?", ("a\x00b\ud800c", agent.id))
        sessions.make_session(rows, agent.id, "s\x00", now())
        rows.run("UPDATE sessions SET state = ?", (Json({"k\x00": ["\x00", {"n": None}]}),))
    with team.reading() as rows:
        assert rows.one("SELECT name FROM agents") == ("a\ufffdb\ufffdc",)
        assert rows.one("SELECT id, state FROM sessions") == ("s\ufffd", {"k\ufffd": ["\ufffd", {"n": None}]})


def test_lists_of_marks_and_signs_in_statements(team: PostgresEngine) -> None:
    agent, other = agent_named(team, "50% off?"), agent_named(team, 'q"uo\\te')
    with team.reading() as rows:
        found = rows.all("SELECT name FROM agents WHERE id IN (?, ?) ORDER BY name", (agent.id, other.id))
        assert found == [("50% off?",), ('q"uo\\te',)]
        assert rows.all("SELECT 1 FROM agents WHERE name NOT IN (?, ?)", (agent.name, other.name)) == []
        assert rows.one("SELECT name FROM agents WHERE name IN (?, ?)", (other.name, "none")) == (other.name,)
        assert rows.one("SELECT name FROM agents WHERE name LIKE '50%?'") == ("50% off?",)


def test_one_transaction_waits_for_the_other_on_an_agent(team: PostgresEngine) -> None:
    agent, order = agent_named(team), []

    def second() -> None:
        with team.writing() as rows:
            rows.lock_agent(agent.id)
            order.append("second")

    with team.writing() as rows:
        rows.lock_agent(agent.id)
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.3)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_lock_that_is_held_too_long_is_busy(team: PostgresEngine) -> None:
    agent = agent_named(team)

    def lock() -> None:
        with team.writing() as rows:
            rows.run("SET LOCAL lock_timeout = '100ms'")
            rows.lock_agent(agent.id)

    with team.writing() as first:
        first.lock_agent(agent.id)
        with pytest.raises(Busy, match="another transaction"):
            lock()


# Words and vectors


def test_words_of_any_shape_are_found_as_they_are(team: PostgresEngine) -> None:
    agent = agent_named(team)
    strange = ["it's", "a\\b", "x&y|!z", ":*", "naïve", "'", "日本", "%s", "w" * 3000]
    with team.writing() as rows:
        first, second = store(team, rows, agent, [" ".join(strange) + "\nlast", "other"])
    with team.reading() as rows:
        assert team.words_of(rows, "message", [first, second])[first] == " ".join(strange) + "\nlast"
        for word in [*strange[:-1], "last"]:
            assert team.frequencies(rows, "message", [word]) == {word: 1}, word
            assert [one for one, _ in team.with_words(rows, "message", {word: 1.0}, Scope(agent), 5)] == [first], word
        assert team.with_words(rows, "message", {strange[-1]: 1.0, "": 1.0, "a b": 1.0}, Scope(agent), 5) == []


@pytest.mark.parametrize("few", [0, 10_000])
def test_of_rows_with_the_same_words_the_short_one_is_first(
    team: PostgresEngine, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(postgres_words, "_FEW", few)
    agent = agent_named(team)
    long = " ".join(f"w{number}" for number in range(3000))  # too long to be kept beside its row
    with team.writing() as rows:
        short, longer = store(team, rows, agent, ["retry policy", f"retry policy {long}"])
    with team.reading() as rows:
        found = team.with_words(rows, "message", {"retry": 1.0, "policy": 2.0}, Scope(agent), 5)
    assert [one for one, _ in found] == [short, longer]


def test_a_search_asks_for_its_facts_once_and_never_keeps_them_for_a_writer(team: PostgresEngine) -> None:
    agent = agent_named(team)
    team.use_model("model", DIM)
    with team.writing() as rows:
        assert rows.facts("message", Scope(agent)).in_scope == 0
        store(team, rows, agent, ["one", "two"])
        assert rows.facts("message", Scope(agent)).in_scope == 2
        assert rows.facts("message", Scope(agent, role="assistant")).in_scope == 0
    with team.reading() as rows:
        facts = rows.facts("message", Scope(agent))
        assert (facts.in_scope, facts.model, facts.stretches) == (2, ("model", DIM), [])
        assert rows.facts("message", Scope(agent)) is facts


@pytest.mark.parametrize("few", [0, 10_000])
def test_both_ways_to_search_give_the_same(team: PostgresEngine, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(postgres_words, "_FEW", few)
    monkeypatch.setattr(postgres_vectors, "_FEW", few)
    agent, other = agent_named(team), agent_named(team, "other")
    team.use_model("model", DIM)
    made = vectors(300)
    with team.writing() as rows:
        sequences = store(team, rows, agent, [f"all rare{number} some{number % 7}" for number in range(300)])
        team.add_vectors(rows, "message", [Part(one, agent.number) for one in sequences], made)
        foreign = store(team, rows, other, ["all rare5"])
        team.add_vectors(rows, "message", [Part(foreign[0], other.number)], made[5:6])
    team.maintain()
    with team._alone() as connection:
        assert postgres_vectors.index_vectors(connection, "message", unindexed=100)
        assert not postgres_vectors.index_vectors(connection, "message", unindexed=100)
    with team.reading() as rows:
        weights = {"all": 0.1, "rare5": 3.0, "some5": 1.0}
        found = team.with_words(rows, "message", weights, Scope(agent, project="p"), 3)
        assert found[0][0] == sequences[5]
        assert [score / found[0][1] for _, score in found[1:]] == [pytest.approx(1.1 / 4.1)] * 2
        near = team.nearest(rows, "message", made[5], Scope(agent), 300)
        exact = np.argsort(-(made @ made[5]))
        assert [one for one, _ in near[:20]] == [sequences[place] for place in exact[:20]]
        assert near[0] == (sequences[5], pytest.approx(1.0, abs=1e-3))
        assert foreign[0] not in {one for one, _ in near}
        assert team.nearest(rows, "message", made[5], Scope(other), 9) == [(foreign[0], pytest.approx(1.0, abs=1e-3))]


def test_indexes_of_vectors_grow_in_stretches(team: PostgresEngine) -> None:
    agent = agent_named(team)
    team.use_model("model", DIM)
    made = vectors(700)
    sequences: list[int] = []
    for start, end, wanted in (
        (0, 400, [(0, 400)]),
        (400, 500, [(0, 400), (400, 500)]),
        (500, 700, [(0, 400), (400, 700)]),
    ):
        with team.writing() as rows:
            new = store(team, rows, agent, [f"w{number}" for number in range(start, end)])
            team.add_vectors(rows, "message", [Part(one, agent.number) for one in new], made[start:end])
            sequences += new
        with team._alone() as connection:
            assert postgres_vectors.index_vectors(connection, "message", unindexed=50)
            assert postgres_vectors.stretches(connection, "message") == wanted
    with team.reading() as rows:
        for place in (3, 450, 650):
            assert team.nearest(rows, "message", made[place], Scope(agent), 1)[0][0] == sequences[place]
    assert team.verify() == []


def test_another_model_drops_the_vectors(uri: str, team: PostgresEngine) -> None:
    agent = agent_named(team)
    assert not team.use_model("first", DIM)
    assert not team.use_model("first", DIM)
    with team.writing() as rows:
        sequences = store(team, rows, agent, ["one"])
        team.add_vectors(rows, "message", [Part(sequences[0], agent.number)], vectors(1))
    other = PostgresEngine(uri)
    assert other.use_model("second", DIM)
    with other.reading() as rows:
        assert [one for one, _, _ in messages.unembedded(rows, 9)] == sequences
        assert other.nearest(rows, "message", vectors(1)[0], Scope(agent), 5) == []
    other.close()
    with pytest.raises(StoreError, match="not of the one in use"), team.writing() as rows:
        team.add_vectors(rows, "message", [Part(sequences[0], agent.number)], vectors(1))


# Damage and deletion


def test_what_was_deleted_is_in_no_file_of_a_table(own_server: PostgresServer) -> None:
    engine = PostgresEngine(own_server.uri("postgres"))
    agent = agent_named(engine)
    engine.use_model("model", DIM)
    with engine.writing() as rows:
        kept = store(engine, rows, agent, [f"keepsake{number} stays" for number in range(50)])
        gone = store(engine, rows, agent, [f"quicksand{number} " + "goes " * 900 for number in range(50)])
        made = [Part(one, agent.number) for one in [*kept, *gone]]
        engine.add_vectors(rows, "message", made, vectors(100))
    engine.maintain()
    own_server.run("CHECKPOINT")
    assert _files_with(own_server, b"quicksand7")
    with engine.writing() as rows:
        engine.remove(rows, "message", gone)
        rows.run("DELETE FROM messages WHERE sequence > ?", (kept[-1],))
        agents.count_messages(rows, agent.id, -len(gone), -len(gone))
    engine.erase()
    own_server.run("CHECKPOINT")
    assert _files_with(own_server, b"quicksand7") == []
    assert _files_with(own_server, b"keepsake7")
    assert engine.verify() == []
    assert (count(engine, "messages"), count(engine, "message_parts")) == (50, 50)
    engine.close()


def _files_with(server: PostgresServer, text: bytes) -> list[str]:
    """The server's files that have a text, without the write-ahead log."""
    files = (path for path in Path(server.running.data).rglob("*") if path.is_file() and "pg_wal" not in path.parts)
    return [path.name for path in files if text in path.read_bytes()]


def test_verify_names_what_is_wrong(team: PostgresEngine) -> None:
    agent = agent_named(team)
    team.use_model("model", DIM)
    with team.writing() as rows:
        first, _second, third = store(team, rows, agent, ["one", "two", "three"])
        messages.mark_unembedded(rows, [third])
        team.add_vectors(rows, "message", [Part(first, agent.number), Part(999, agent.number)], vectors(2))
        rows.run("DELETE FROM message_words WHERE sequence = ?", (first,))
    assert team.verify() == [
        "1 messages have no words",
        "1 vectors have no row in messages",
        "1 messages have neither vectors nor a note that they need them",
    ]
    assert team.size() > 100_000


# Servers that refuse


def test_no_error_has_the_password(postgres: PostgresServer, database: str) -> None:
    quoted = "hunter2%26Co"
    folder = postgres.running.uri().partition("@")[2].partition("/")[0]
    wrong = [
        f"postgresql://ada:{quoted}@127.0.0.1:1/memory",
        f"postgresql://ada:{quoted}@no-such-host.invalid/memory",
        f"postgresql://ada:{quoted}@{folder}/no_such_database",
        f"postgresql://nobody_here:{quoted}@{folder}/{database}",
        f"postgresql://ada:{quoted}@{folder}:{quoted}/memory",
        f"postgresql://ada:{quoted}@more@host/memory",
        f"postgresql://ada:{quoted}/more@host/memory",
        f"postgresql://ada:12/{quoted}@host/memory",
        f"postgresql://ada:{quoted}@host/memory?{quoted}=1",
    ]
    for uri in wrong:
        with pytest.raises(SageError) as refused:
            open_engine(uri)
        said = f"{refused.value} {refused.value.hint} {refused.value!r}"
        assert "hunter2" not in said
        assert refused.value.hint
    assert quoted not in PostgresEngine(postgres.uri(database, password=SECRET)).uri


def test_a_wrong_password_is_said(own_server: PostgresServer) -> None:
    rules = Path(own_server.running.data) / "pg_hba.conf"
    own_server.run(f"CREATE ROLE ada LOGIN PASSWORD '{SECRET}'")
    rules.write_text("local all ada scram-sha-256\n" + rules.read_text())
    own_server.run("SELECT pg_reload_conf()")
    for password in ("wrong-password", ""):
        with pytest.raises(StoreError, match="refuses this user") as refused:
            PostgresEngine(own_server.uri("postgres", "ada", password))
        assert "wrong-password" not in str(refused.value)
    own_server.run("GRANT CREATE ON DATABASE postgres TO ada")
    opened = PostgresEngine(own_server.uri("postgres", "ada", SECRET))
    assert SECRET not in opened.uri
    opened.close()


def test_a_server_that_goes_away_in_a_transaction_and_comes_back(own_server: PostgresServer) -> None:
    engine = PostgresEngine(own_server.uri("postgres"))
    agent = agent_named(engine)
    with engine.reading(), engine.reading(), engine.reading():
        pass  # several connections, all of which will be dead

    def store_while_it_stops() -> None:
        with engine.writing() as rows:
            store(engine, rows, agent, ["lost"])
            own_server.running.stop("immediate")
            store(engine, rows, agent, ["never"])

    with pytest.raises(StoreError) as gone:
        store_while_it_stops()
    assert gone.value.hint
    with pytest.raises(StoreError, match="cannot be reached"), engine.reading():
        pass
    own_server.running.start()
    with engine.writing() as rows:
        store(engine, rows, agent, ["kept"])
    assert (count(engine, "messages"), count(engine, "message_words")) == (1, 1)
    engine.close()


def store_much(engine: PostgresEngine, agent: Agent) -> None:
    with engine.writing() as rows:
        for number in range(50):
            store(engine, rows, agent, [Random(number).randbytes(500_000).hex()])


def test_a_full_disk_is_said_and_leaves_nothing(own_server: PostgresServer) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    with tempfile.TemporaryDirectory(prefix="sage-disk-") as disk:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=24m,mode=700,uid=65534", "tmpfs", disk], check=False
        )
        if mounted.returncode:
            pytest.skip("this machine does not let root mount a small disk")
        try:
            own_server.run(f"CREATE TABLESPACE small LOCATION '{disk}'")
            own_server.run("CREATE DATABASE full_disk TABLESPACE small")
            engine = PostgresEngine(own_server.uri("full_disk"))
            agent = agent_named(engine)
            with engine.writing() as rows:
                store(engine, rows, agent, ["before"])
            with pytest.raises(StoreError, match="disk is full") as full:
                store_much(engine, agent)
            assert "free some space" in full.value.hint
            assert (count(engine, "messages"), count(engine, "message_words")) == (1, 1)
            engine.close()
            own_server.drop("full_disk")
            own_server.run("DROP TABLESPACE small")
        finally:
            own_server.running.stop("fast")
            subprocess.run(["umount", disk], check=True)


def test_a_server_without_a_connection_left(own_server: PostgresServer) -> None:
    own_server.run("CREATE ROLE guest LOGIN CONNECTION LIMIT 1")
    own_server.run("GRANT CREATE ON DATABASE postgres TO guest")
    engine = PostgresEngine(own_server.uri("postgres", "guest"))
    with engine.reading():
        with pytest.raises(StoreError, match="no connection left"), engine.reading():
            pass
    with engine.reading():
        pass
    engine.close()


def test_a_read_only_server(postgres: PostgresServer, database: str, uri: str) -> None:
    postgres.run(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
    engine = PostgresEngine(uri)
    with pytest.raises(StoreError, match="read-only") as refused:
        engine.use_model("model", DIM)
    assert "primary" in refused.value.hint
    engine.close()


def test_without_the_extra_the_hint_says_how_to_install_it() -> None:
    code = (
        "import sys\n"
        "sys.modules['psycopg'] = None\n"
        "from sage_code.errors import ConfigError\n"
        "from sage_code.memory.tiers.engines.opening import open_engine\n"
        "try:\n    open_engine('postgresql://ada@localhost/memory')\n"
        "except ConfigError as error:\n    print(error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "pip install 'sage-code[postgres]'"


def test_the_driver_is_loaded_only_for_a_server() -> None:
    code = "import sys; import sage_code.memory.tiers.engines.postgres; print('psycopg' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_other_addresses_are_refused() -> None:
    with pytest.raises(ConfigError):
        open_engine("mysql://ada@localhost/memory")
