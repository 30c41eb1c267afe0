"""What only the embedded engine does: migrations, processes, files of vectors, a full disk, traces in files."""

from __future__ import annotations

import multiprocessing
import os
import resource
import sqlite3
import stat
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from sage_code.errors import Busy, FormatTooNew, SageError, StoreError
from sage_code.memory.tiers.engines import sqlite, vector_files
from sage_code.memory.tiers.engines.opening import open_engine
from sage_code.memory.tiers.engines.protocol import Part
from sage_code.memory.tiers.engines.sqlite import SqliteEngine
from sage_code.memory.tiers.engines.sqlite_schema import MIGRATIONS
from sage_code.memory.tiers.opened import opened_agent
from sage_code.memory.tiers.recall_memory import RecallMemory
from sage_code.memory.tiers.tables import channels
from sage_code.memory.tiers.values import Agent, NewMessage, Scope, now
from sage_code.settings.loading import load_settings

DIM = 64
ADA = Agent("00000000-0000-4000-8000-00000000000a", 1, "u", "ada")


def opened(path: Path) -> SqliteEngine:
    engine = SqliteEngine(str(path))
    engine.use_model("model", DIM)
    return engine


def vectors(*seeds: int) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    made = np.stack([np.random.default_rng(seed).normal(size=DIM) for seed in seeds]).astype(np.float32)
    return made / np.linalg.norm(made, axis=1)[:, None]


def add(engine: SqliteEngine, *texts: str) -> list[int]:
    """Store texts as messages of one agent; the words are the text, the vector is drawn from the sequence."""
    with engine.writing() as rows:
        rows.run(
            "INSERT INTO agents (id, user_id, name, created_at) VALUES (?, 'u', 'ada', ?) ON CONFLICT DO NOTHING",
            (ADA.id, now()),
        )
        rows.run(
            "INSERT INTO sessions (agent_id, id, started_at, last_at) VALUES (?, 's', ?, ?) ON CONFLICT DO NOTHING",
            (ADA.id, now(), now()),
        )
        before = rows.one("SELECT coalesce(max(sequence), 0) FROM messages")
        assert before is not None
        sequences = [before[0] + place for place in range(1, len(texts) + 1)]
        rows.many(
            "INSERT INTO messages (sequence, id, agent_id, session, role, created_at, content)"
            " VALUES (?, ?, ?, 1, 'user', ?, ?)",
            ((one, f"id {one}", ADA.id, now(), text) for one, text in zip(sequences, texts, strict=True)),
        )
        rows.run("UPDATE agents SET message_count = message_count + ?", (len(texts),))
        engine.add_words(rows, "message", list(zip(sequences, texts, strict=True)))
        engine.add_vectors(rows, "message", [Part(one, ADA.number) for one in sequences], vectors(*sequences))
    return sequences


def nearest(engine: SqliteEngine, seed: int, limit: int = 1) -> list[int]:
    with engine.reading() as rows:
        return [one for one, _ in engine.nearest(rows, "message", vectors(seed)[0], Scope(ADA), limit)]


def test_importing_the_engine_does_not_import_numpy() -> None:
    code = "import sys, sage_code.memory.tiers.engines.sqlite; print('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_words_are_added_without_numpy(tmp_path: Path) -> None:
    code = (
        "import sys; from sage_code.memory.tiers.engines.sqlite import SqliteEngine\n"
        f"engine = SqliteEngine({str(tmp_path / 'memory.db')!r})\n"
        "with engine.writing() as rows: engine.add_words(rows, 'message', [(1, 'a b')])\n"
        "engine.close(); print('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_a_database_of_the_first_format_gets_its_channels(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as connection:
        for statement in MIGRATIONS[0].split(";\n"):
            if statement.strip():
                connection.execute(statement)
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
    with closing(SqliteEngine(str(path))) as engine:
        settings = load_settings(None)
        recall = RecallMemory(engine, opened_agent(engine, settings), settings)
        recall.add([NewMessage("user", "hello", session="s")], channel="#a", embed=False)
        with engine.reading() as rows:
            assert [(one.name, one.waiting) for one in channels.channels_of(rows, recall.agent.id)] == [("#a", 1)]
        assert engine.verify() == []


def test_an_empty_file_becomes_a_database_and_a_newer_one_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    path.touch()
    opened(path).close()
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS),)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(FormatTooNew, match="newer"):
        SqliteEngine(str(path))
    assert path.read_bytes() == before


def test_a_migration_that_fails_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    monkeypatch.setattr(sqlite, "MIGRATIONS", (*MIGRATIONS, "CREATE TABLE extra (a);\nCREATE TABLE agents (a);\n"))
    with pytest.raises(StoreError):
        SqliteEngine(str(path))
    monkeypatch.undo()
    engine = SqliteEngine(str(path))
    with engine.reading() as rows:
        assert rows.one("SELECT count(*) FROM sqlite_schema WHERE name = 'extra'") == (0,)
    engine.close()


def test_all_files_are_the_users_alone(tmp_path: Path) -> None:
    engine = opened(tmp_path / "memory" / "memory.db")
    add(engine, "a")
    made = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.name for path in made} >= {"memory.db", "memory.db-wal", "message-1.rows"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in made} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*") if path.is_dir()} == {0o700}
    engine.close()


def test_a_folder_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "other").write_text("x")
    (tmp_path / "other").chmod(0o644)
    opened(tmp_path / "memory.db").close()
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
    assert stat.S_IMODE((tmp_path / "other").stat().st_mode) == 0o644


def test_a_link_is_not_followed(sage_home: Path, tmp_path: Path) -> None:
    (sage_home / "memory").mkdir(parents=True)
    (tmp_path / "other").write_bytes(b"")
    (sage_home / "memory" / "memory.db").symlink_to(tmp_path / "other")
    with pytest.raises(StoreError, match=r"memory\.db"):
        open_engine()
    assert (tmp_path / "other").read_bytes() == b""


@pytest.mark.parametrize("content", [b"no database" * 1000, b"SQLite format 3\x00" + b"\xff" * 8192])
def test_a_damaged_file_is_named_and_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged") as caught:
        SqliteEngine(str(path))
    assert "backup" in caught.value.hint
    assert path.read_bytes() == content


def test_verify_finds_a_page_that_was_overwritten(tmp_path: Path) -> None:
    engine = opened(tmp_path / "memory.db")
    add(engine, *(f"word{number} " * 30 for number in range(200)))
    engine.close()
    with (tmp_path / "memory.db").open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(size // 2 // 4096 * 4096)
        file.write(b"\xaa" * 4096)
    assert SqliteEngine(str(tmp_path / "memory.db")).verify()


def test_verify_finds_full_text_that_does_not_fit(tmp_path: Path) -> None:
    engine = opened(tmp_path / "memory.db")
    add(engine, "apple", "pear")
    with engine.writing() as rows:
        rows.run("UPDATE message_words_content SET c0 = 'plum' WHERE id = 1")
    assert "full text" in engine.verify()[0]
    engine.close()


@pytest.mark.parametrize("name", ["rows", "signs", "agents", "sequences"])
@pytest.mark.parametrize("how", ["deleted", "short", "empty", "folder deleted"])
def test_damaged_vectors_are_made_again(tmp_path: Path, name: str, how: str) -> None:
    engine = opened(tmp_path / "memory.db")
    add(engine, "a", "b", "c")
    assert nearest(engine, 2) == [2]
    path = tmp_path / "memory.db-vectors" / f"message-1.{name}"
    if how == "deleted":
        path.unlink()
    elif how == "folder deleted":
        for file in path.parent.iterdir():
            file.unlink()
        path.parent.rmdir()
    else:
        os.truncate(path, path.stat().st_size - 1 if how == "short" else 0)
    assert engine.verify()
    assert nearest(engine, 2) == []
    with engine.reading() as rows:
        assert rows.all("SELECT sequence FROM unembedded") == [(1,), (2,), (3,)]
    assert engine.use_model("model", DIM) is True
    assert engine.use_model("model", DIM) is False
    with engine.writing() as rows:
        engine.add_vectors(rows, "message", [Part(one, 1) for one in (1, 2, 3)], vectors(1, 2, 3))
    assert nearest(engine, 2) == [2]
    assert engine.verify() == []
    assert {file.name for file in path.parent.iterdir()} == {
        f"message-2.{ending}" for ending in ("rows", "signs", "agents", "sequences")
    }
    engine.close()


def test_a_writer_notices_that_vectors_are_gone(tmp_path: Path) -> None:
    engine = opened(tmp_path / "memory.db")
    add(engine, "a", "b")
    (tmp_path / "memory.db-vectors" / "message-1.rows").unlink()
    (added,) = add(engine, "c")
    assert nearest(engine, added) == [added]
    with engine.reading() as rows:
        assert rows.all("SELECT sequence FROM unembedded") == [(1,), (2,)]
    assert engine.use_model("model", DIM) is True
    assert engine.verify() == []
    engine.close()


def test_many_vectors_are_ranked_by_signs_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = opened(tmp_path / "memory.db")
    random = np.random.default_rng(3)
    count = 6000
    centres = random.normal(size=(60, DIM))
    made = centres[random.integers(0, 60, count)] + random.normal(size=(count, DIM))
    made = (made / np.linalg.norm(made, axis=1)[:, None]).astype(np.float32)
    add(engine, "a")
    with engine.writing() as rows:
        for start in range(0, count, 1000):
            rows.many(
                "INSERT INTO messages (sequence, id, agent_id, session, role, created_at, content)"
                " VALUES (?, ?, ?, 1, ?, ?, '')",
                (
                    (10 + one, str(one), ADA.id, "tool" if one % 3 else "user", now())
                    for one in range(start, start + 1000)
                ),
            )
            parts = [Part(10 + one, 1) for one in range(start, start + 1000)]
            engine.add_vectors(rows, "message", parts, made[start : start + 1000])

    def found(scope: Scope) -> list[set[int]]:
        with engine.reading() as rows:
            return [{one for one, _ in engine.nearest(rows, "message", query, scope, 50)} for query in made[:20]]

    scopes = (Scope(ADA), Scope(ADA, role="tool"), Scope(ADA, role="user"), Scope(ADA, session="s"))
    exact = [found(scope) for scope in scopes]
    monkeypatch.setattr(vector_files, "_MAX_EXACT", 100)
    monkeypatch.setattr(vector_files, "_SHORTLIST", 600)
    for scope, wanted in zip(scopes, exact, strict=True):
        recall = [len(one & other) / 50 for one, other in zip(found(scope), wanted, strict=True)]
        assert np.mean(recall) > 0.9
    engine.close()


def test_a_forked_process_reads_and_writes(tmp_path: Path) -> None:
    engine = opened(tmp_path / "memory.db")
    add(engine, "a")
    with engine.reading() as rows:  # a connection is open
        assert rows.one("SELECT count(*) FROM messages") == (1,)
    child = multiprocessing.get_context("fork").Process(target=add, args=(engine, "b"))
    child.start()
    child.join()
    assert child.exitcode == 0
    add(engine, "c")
    assert nearest(engine, 2) == [2]
    assert engine.verify() == []
    engine.close()


def _write_for(path: Path, number: int, seconds: float) -> None:
    engine = SqliteEngine(str(path))
    end = time.monotonic() + seconds
    done = 0
    while time.monotonic() < end:
        add(engine, f"writer{number} text{done}")
        done += 1
    (path.parent / f"done-{number}").write_text(str(done))


@pytest.mark.slow
def test_readers_beside_writers_in_other_processes(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    engine = opened(path)
    add(engine, "first")
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_for, args=(path, number, 4.0)) for number in range(4)]
    for writer in writers:
        writer.start()
    last = 0
    while any(writer.is_alive() for writer in writers):
        with engine.reading() as rows:
            counts = [
                rows.one(f"SELECT count(*) FROM {table}") for table in ("messages", "message_words", "message_parts")
            ]
            assert counts[0] == counts[1] == counts[2]
            assert counts[0] is not None
            assert counts[0][0] >= last
            last = counts[0][0]
            found = engine.nearest(rows, "message", vectors(last)[0], Scope(ADA), 1)
            assert found[0][0] == last
            assert found[0][1] > 0.99
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    done = sum(int((tmp_path / f"done-{number}").read_text()) for number in range(4))
    with engine.reading() as rows:
        assert rows.one("SELECT count(*) FROM messages") == (done + 1,)
    assert engine.verify() == []
    engine.close()


def test_a_database_that_stays_locked_is_busy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_PATIENCE_S", 0.2)
    engine, other = opened(tmp_path / "memory.db"), opened(tmp_path / "memory.db")
    with engine.writing():
        with pytest.raises(Busy, match="another process"):
            add(other, "a")
        with other.reading() as rows:
            assert rows.one("SELECT count(*) FROM messages") == (0,)
    add(other, "a")
    engine.close()
    other.close()


def _fill(path: Path, outcome: Path) -> None:
    engine = SqliteEngine(str(path))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
    done = 0
    try:
        while True:
            add(engine, *(f"word{done} " + "x" * 500 for _ in range(50)))
            done += 1
    except SageError as error:
        outcome.write_text(f"{done}\n{type(error).__name__}\n{error.hint}")


@pytest.mark.slow
@pytest.mark.parametrize("dim", [DIM])
def test_a_disk_that_takes_no_more_leaves_whole_transactions(tmp_path: Path, dim: int) -> None:
    path, outcome = tmp_path / "memory.db", tmp_path / "outcome"
    opened(path).close()
    child = multiprocessing.get_context("spawn").Process(target=_fill, args=(path, outcome))
    child.start()
    child.join()
    done, name, hint = outcome.read_text().splitlines()
    assert name == "StoreError"
    assert hint
    engine = SqliteEngine(str(path))
    with engine.reading() as rows:
        assert rows.one("SELECT count(*) FROM messages") == (int(done) * 50,)
    assert int(done) > 0
    assert engine.verify() == []
    (added,) = add(engine, "afterwards there is space")
    assert nearest(engine, added) == [added]
    engine.close()


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="file"):
        SqliteEngine(str(tmp_path / "file" / "memory.db"))


def test_nothing_of_a_forgotten_message_is_left_in_any_file(tmp_path: Path) -> None:
    engine = opened(tmp_path / "memory" / "memory.db")
    secret = "zanzibarquux"
    random = np.random.default_rng(5)
    for batch in range(30):
        words = [" ".join(f"w{word}" for word in random.zipf(1.3, 30) % 5000) for _ in range(40)]
        marked = [f"{secret}{batch}a {words[0]}", f"{secret}{batch}b " + "long " * 3000, *words[2:]]
        sequences = add(engine, *marked)
        if batch % 3 == 0:
            engine.maintain()
        with engine.writing() as rows:
            for name, value in (("UPDATE", f"{secret}{batch}history"),):
                rows.run("INSERT INTO facts VALUES (?, ?)", (f"{name}{batch}", value))
            if batch % 2:
                engine.remove(rows, "message", sequences[:2])
                rows.many("DELETE FROM messages WHERE sequence = ?", ((one,) for one in sequences[:2]))
                rows.run("UPDATE agents SET message_count = message_count - 2")
    traces = [path.name for path in tmp_path.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
    assert traces
    with engine.writing() as rows:
        found = [one for (one,) in rows.all("SELECT sequence FROM messages WHERE content LIKE ?", (f"{secret}%",))]
        engine.remove(rows, "message", found)
        rows.many("DELETE FROM messages WHERE sequence = ?", ((one,) for one in found))
        rows.run("DELETE FROM facts WHERE value LIKE ?", (f"{secret}%",))
        rows.run("UPDATE agents SET message_count = (SELECT count(*) FROM messages)")
    engine.erase()
    # FTS5 stores what terms have in common once: a part of the word may stand alone.
    for part in (secret, secret[:7], secret[4:]):
        traces = [path.name for path in tmp_path.rglob("*") if path.is_file() and part.encode() in path.read_bytes()]
        assert traces == []
    rows_file = np.fromfile(tmp_path / "memory" / "memory.db-vectors" / "message-1.rows", np.uint8).reshape(-1, DIM + 4)
    assert not rows_file[found].any()
    assert engine.verify() == []
    engine.close()
