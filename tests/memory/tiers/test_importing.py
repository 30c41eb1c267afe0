"""Imports: each message once, from whichever file and however often it is read, also when the reader is killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import pytest
from made_ids import new_uuid

from sage_code.memory.tiers.engines.protocol import Engine
from sage_code.memory.tiers.engines.sqlite import SqliteEngine
from sage_code.memory.tiers.importing import ImportReport, import_files, import_path, kind_of
from sage_code.memory.tiers.message_ids import id_of
from sage_code.memory.tiers.opened import opened_agent
from sage_code.memory.tiers.recall_memory import RecallMemory
from sage_code.memory.tiers.values import Message
from sage_code.progress import Silent
from sage_code.settings.table import Settings

SETTINGS = Settings(memory_user="ada")
SESSION = "5e551011-0000-4000-8000-000000000001"
OTHER = "5e551011-0000-4000-8000-000000000002"
CODEX_SESSION = "0198c0de-0000-7000-8000-000000000003"


def recall_of(engine: Engine) -> RecallMemory:
    return RecallMemory(engine, opened_agent(engine, SETTINGS), SETTINGS)


@pytest.fixture
def recall(engine: Engine) -> RecallMemory:
    return recall_of(engine)


@pytest.fixture
def local(tmp_path: Path) -> RecallMemory:
    """Recall memory on SQLite, for what does not depend on the engine."""
    return recall_of(SqliteEngine(str(tmp_path / "local" / "memory.db")))


class Claude:
    """A transcript of Claude Code that grows."""

    def __init__(self, path: Path, session: str = SESSION, cwd: str = "/w/shop") -> None:
        self.path, self.session, self.cwd, self.count = path, session, cwd, 0
        path.parent.mkdir(parents=True, exist_ok=True)

    def write(self, kind: str, content: Any, **more: Any) -> None:
        self.count += 1
        stamp = f"2026-03-02T10:{self.count // 60 % 60:02}:{self.count % 60:02}.000Z"
        record = {
            "type": kind, "uuid": str(new_uuid()), "sessionId": self.session, "cwd": self.cwd, "gitBranch": "main",
            "timestamp": stamp, "message": {"role": kind, "content": content}, **more,
        }  # fmt: skip
        with self.path.open("a") as file:
            file.write(json.dumps({key: value for key, value in record.items() if value is not None}) + "\n")

    def exchange(self, asked: str, answered: str) -> None:
        """A request, a call with its output, an answer."""
        self.write("user", asked)
        call = {"type": "tool_use", "id": f"t{self.count}", "name": "Bash", "input": {"command": "make test"}}
        self.write("assistant", [call])
        self.write("user", [{"type": "tool_result", "tool_use_id": f"t{self.count}", "content": "output " * 500}])
        self.write("assistant", [{"type": "text", "text": answered}])


def codex(path: Path) -> None:
    """A rollout of Codex."""

    def line(kind: str, second: int, **payload: Any) -> str:
        return json.dumps({"timestamp": f"2026-03-02T11:00:{second:02}.123Z", "type": kind, "payload": payload}) + "\n"

    def text(role: str, said: str) -> dict[str, Any]:
        return {"type": "message", "role": role, "content": [{"type": "input_text", "text": said}]}

    arguments = json.dumps({"command": ["bash", "-lc", "rg retry"]})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        line("session_meta", 0, id=CODEX_SESSION, cwd="/w/bank", git={"branch": "dev"})
        + line("response_item", 1, **text("user", "<environment_context>x</environment_context>"))
        + line("response_item", 2, **text("user", "Where are the retries?"))
        + line("response_item", 3, type="function_call", name="shell", call_id="call_1", arguments=arguments)
        + line("response_item", 4, type="function_call_output", call_id="call_1", output="Exit code: 1\nrg: boom")
        + line("response_item", 5, **text("assistant", "In client.py."))
        + line("response_item", 5, **text("assistant", "In client.py."))  # said twice in one moment
        + line("compacted", 6, message="They looked for retries.")
    )


def stored(recall: RecallMemory, session: str = "") -> list[Message]:
    """All messages, oldest first."""
    names = [session] if session else [one.id for one in recall.sessions(limit=10_000)]
    return [message for name in names for message in recall.messages(name)]


def texts(recall: RecallMemory, session: str = "") -> list[str]:
    return [one.content for one in stored(recall, session)]


def run(path: Path, recall: RecallMemory, **more: Any) -> ImportReport:
    return import_path(str(path), recall, Silent(), **more)


def test_a_session_of_claude_is_remembered_without_tool_output(recall: RecallMemory, tmp_path: Path) -> None:
    talk = Claude(tmp_path / "p" / f"{SESSION}.jsonl")
    talk.exchange("Which queue do we use? <system-reminder>be nice</system-reminder>", "Kafka, for the order.")
    failed = [{"type": "tool_result", "tool_use_id": "t", "content": "KeyError: 'topic'", "is_error": True}]
    talk.write("user", failed)
    talk.write("user", "<sage-brief n=1>\nDecided: RabbitMQ\n</sage-brief>")
    talk.write("user", "This session is being continued from a previous conversation.", isCompactSummary=True)
    report = run(tmp_path / "p", recall)
    assert (report.files, report.messages, report.bad_lines, report.failed) == (1, 5, 0, {})
    found = stored(recall, SESSION)
    assert [(one.role, one.content, one.tool_name) for one in found] == [
        ("user", "Which queue do we use?", ""),
        ("tool", "Bash: make test", "Bash"),
        ("assistant", "Kafka, for the order.", ""),
        ("tool", "KeyError: 'topic'", ""),
        ("summary", "This session is being continued from a previous conversation.", ""),
    ]
    (session,) = recall.sessions()
    assert (session.title, session.project, session.source) == ("Which queue do we use?", "/w/shop", "claude")
    assert found[0].metadata == {"branch": "main"}
    assert found[0].created_at.isoformat() == "2026-03-02T10:00:01+00:00"


def test_a_rollout_of_codex_is_remembered(recall: RecallMemory, tmp_path: Path) -> None:
    codex(tmp_path / "rollout-2026.jsonl")  # the name has no id, the first record has
    for _ in range(2):
        run(tmp_path, recall, again=True)
    assert [(one.role, one.content) for one in stored(recall, CODEX_SESSION)] == [
        ("user", "Where are the retries?"),
        ("tool", "shell: rg retry"),
        ("tool", "Exit code: 1\nrg: boom"),
        ("assistant", "In client.py."),
        ("assistant", "In client.py."),
        ("summary", "They looked for retries."),
    ]
    assert recall.sessions()[0].source == "codex"
    assert recall.sessions()[0].project == "/w/bank"


def test_subagents_speak_in_their_session_and_not_as_the_user(local: RecallMemory, tmp_path: Path) -> None:
    talk = Claude(tmp_path / f"{SESSION}.jsonl")
    talk.exchange("Find the slow query.", "I ask somebody.")
    aside = Claude(tmp_path / SESSION / "subagents" / "agent-a1.jsonl")
    aside.write("user", "Look for slow queries.", isSidechain=True, agentId="a1", sessionId=None)
    aside.write("assistant", [{"type": "text", "text": "It is in report.py."}], isSidechain=True, agentId="a1")
    run(tmp_path, local)
    assert len(local.sessions()) == 1
    found = [(one.role, one.speaker, one.content) for one in stored(local, SESSION) if one.speaker]
    assert sorted(found) == [
        ("assistant", "agent", "Look for slow queries."),
        ("assistant", "subagent", "It is in report.py."),
    ]
    assert local.sessions()[0].title == "Find the slow query."


def test_plain_lines_have_many_spellings(recall: RecallMemory, tmp_path: Path) -> None:
    lines: Iterable[Any] = (
        {"role": "user", "content": "first", "timestamp": "2026-03-01T10:00:00Z", "session": "s1", "name": "Ann"},
        {"role": "ai", "text": [{"type": "text", "text": "second"}, {"type": "image"}], "time": 1772359260,
         "session_id": "s1", "channel": "support"},
        {"speaker": "Bob", "text": "third", "created_at": "2026-03-01", "session": "s2"},
        {"role": "user", "content": "yes", "unknown": [1, 2]},
        {"role": "user", "content": "yes"},
        {"role": "user", "content": 7},
        {"role": "user", "content": "with id", "id": 12},
        ["no", "object"],
    )  # fmt: skip
    data = "\n".join(json.dumps(one) for one in lines)  # the last line has no end
    (tmp_path / "chat.jsonl").write_text(data + '\n{"role": "user", "content": "the last"}')
    report = run(tmp_path, recall)
    assert (report.messages, report.bad_lines) == (7, 2)
    assert [(one.role, one.speaker, one.content) for one in stored(recall, "s1")] == [
        ("user", "Ann", "first"), ("assistant", "", "second")
    ]  # fmt: skip
    assert [(one.role, one.speaker) for one in stored(recall, "s2")] == [("user", "Bob")]
    assert texts(recall, "chat") == ["yes", "yes", "with id", "the last"]
    assert {one.id: one.channel for one in recall.sessions()}["s1"] == "support"
    with (tmp_path / "chat.jsonl").open("a") as file:
        file.write('\n{"role": "user", "content": "yes"}\n')
    assert run(tmp_path, recall).messages == 1
    assert texts(recall, "chat") == ["yes", "yes", "with id", "the last", "yes"]


def test_a_long_plain_message_becomes_several(local: RecallMemory, tmp_path: Path) -> None:
    (tmp_path / "long.jsonl").write_text(json.dumps({"role": "user", "content": "word " * 250_000}) + "\n")
    assert run(tmp_path, local).messages == 3
    assert sum(len(text) for text in texts(local, "long")) == len(("word " * 250_000).strip())


def test_ten_imports_store_each_message_once(recall: RecallMemory, tmp_path: Path) -> None:
    talk = Claude(tmp_path / f"{SESSION}.jsonl")
    for number in range(30):
        talk.exchange(f"Question {number}?", f"Answer {number}.")
    codex(tmp_path / "x" / f"rollout-{CODEX_SESSION}.jsonl")
    (tmp_path / "chat.jsonl").write_text('{"role": "user", "content": "hello"}\n' * 3)
    first = run(tmp_path, recall)
    before = stored(recall)
    assert first.messages == len(before) == 90 + 6 + 3
    for number in range(9):
        report = run(tmp_path, recall, again=number % 2 == 1)
        assert report.messages == 0
        assert report.unchanged == (0 if number % 2 else 3)
    assert stored(recall) == before


def test_a_file_that_grows_is_read_from_where_it_was(recall: RecallMemory, tmp_path: Path) -> None:
    talk = Claude(tmp_path / f"{SESSION}.jsonl")
    talk.exchange("one", "two")
    run(tmp_path, recall)
    talk.exchange("three", "four")
    with talk.path.open("a") as file:
        file.write('{"type": "user", "half": ')  # is still being written
    report = run(tmp_path, recall)
    assert (report.messages, report.known, report.bad_lines) == (3, 0, 0)
    assert [one.content for one in stored(recall) if one.role != "tool"] == ["one", "two", "three", "four"]
    assert recall.sessions()[0].title == "one"


def test_a_file_that_was_replaced_is_read_from_its_beginning(recall: RecallMemory, tmp_path: Path) -> None:
    talk = Claude(tmp_path / f"{SESSION}.jsonl")
    for number in range(5):
        talk.exchange(f"old {number}", "done")
    run(tmp_path, recall)
    kept = talk.path.read_text().splitlines(keepends=True)[-4:]
    talk.path.write_text("".join(kept))  # cut: the last exchange is left
    talk.exchange("new", "done too")
    report = run(tmp_path, recall)
    assert (report.messages, report.known) == (3, 3)
    assert len(texts(recall)) == 18


def test_a_fork_does_not_double_what_it_repeats(recall: RecallMemory, tmp_path: Path) -> None:
    talk = Claude(tmp_path / f"{SESSION}.jsonl")
    talk.exchange("one", "two")
    fork = Claude(tmp_path / f"{OTHER}.jsonl", OTHER)
    fork.path.write_text(talk.path.read_text().replace(SESSION, OTHER))
    fork.exchange("three", "four")
    os.utime(talk.path, (1, 1))
    run(tmp_path, recall)
    assert texts(recall, SESSION) == ["one", "Bash: make test", "two"]
    assert texts(recall, OTHER) == ["three", "Bash: make test", "four"]


def test_short_ids_of_two_sessions_are_not_the_same(local: RecallMemory, tmp_path: Path) -> None:
    for session in (SESSION, OTHER):
        talk = Claude(tmp_path / f"{session}.jsonl", session)
        talk.write("user", f"I am {session}", uuid="u1")
    assert run(tmp_path, local).messages == 2


def test_secrets_are_masked_also_in_the_title(local: RecallMemory, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    Claude(tmp_path / f"{SESSION}.jsonl").exchange(f"Use the token {secret} for it", "I will.")
    run(tmp_path, local)
    assert secret not in str(stored(local))
    assert secret not in str(local.sessions())
    assert b"ghp_a1" not in Path(local.engine.uri).read_bytes()


def test_what_was_forgotten_does_not_come_back_by_itself(recall: RecallMemory, tmp_path: Path) -> None:
    talk = Claude(tmp_path / f"{SESSION}.jsonl")
    talk.exchange("one", "two")
    run(tmp_path, recall)
    recall.forget(session=SESSION)
    talk.exchange("three", "four")
    run(tmp_path, recall)
    assert texts(recall, SESSION) == ["three", "Bash: make test", "four"]
    run(tmp_path, recall, again=True)
    assert len(texts(recall, SESSION)) == 6


def test_the_notes_about_files_have_no_text(local: RecallMemory, tmp_path: Path) -> None:
    Claude(tmp_path / f"{SESSION}.jsonl").exchange("Zanzibar", "Ouagadougou")
    codex(tmp_path / "rollout-x.jsonl")
    run(tmp_path, local)
    with local.engine.reading() as rows:
        notes = str(rows.all("SELECT path, cursor FROM imports"))
    assert notes.count("rollout-x") == 1
    assert not any(word in notes for word in ("Zanzibar", "Ouagadougou", "retries"))


def test_hostile_files_end_nothing(local: RecallMemory, tmp_path: Path) -> None:
    good = Claude(tmp_path / "a" / f"{SESSION}.jsonl")
    good.exchange("one", "two")
    with good.path.open("ab") as file:
        file.write(b'{"type":"user","text":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n")
        file.write(b'{"type":"user","message":{"content":"' + b"x" * (11 << 20) + b'"}}\n')
        file.write(b'{"type":"user","message":{"content":"a\\u0000b \\ud800"},"uuid":7,"sessionId":[],"cwd":{}}\n')
        file.write(b'{"type":"user","message":{"content":"\xff\xfe"}}\n{"type":"user"\0}\n[1]\n""\n\n{}\n')
        file.write(b'{"type":"user","timestamp":"9999-12-31T99:99:1e308Z","message":{"content":"late"}}\n')
        file.write(b'{"type":"user","timestamp":"2026-01-01T00:00:nan","message":{"content":"never"}}\n')
    (tmp_path / "secret.jsonl").write_text('{"role": "user", "content": "outside"}\n')
    (tmp_path / "a" / "link.jsonl").symlink_to(tmp_path / "secret.jsonl")
    (tmp_path / "a" / "folder").symlink_to(tmp_path)
    (tmp_path / "a" / "numbers.jsonl").write_text("1\n2\n")
    (tmp_path / "a" / "empty.jsonl").touch()
    (tmp_path / "a" / "folder.jsonl").mkdir()
    os.mkfifo(tmp_path / "a" / "pipe.jsonl")
    report = run(tmp_path / "a", local)
    found = texts(local)
    assert {"one", "two", "late", "never"} <= set(found)
    assert not any("outside" in text or "\0" in text for text in found)
    assert report.bad_lines == 4
    assert {os.path.basename(path) for path in report.failed} == {"numbers.jsonl"}


def test_any_line_is_read_or_counted(local: RecallMemory, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    keys = ["type", "message", "content", "role", "text", "uuid", "sessionId", "cwd", "payload", "id", "timestamp",
            "session", "name", "channel", "isSidechain", "isCompactSummary", "input", "call_id"]  # fmt: skip
    values: list[Any] = [None, True, 0, -1.5, 1e308, "", "user", "assistant", "text", "message", "é\ud800",
                         "2026-01-01", "tool_use", "session_meta", "response_item", "function_call"]  # fmt: skip

    def anything(depth: int = 0) -> Any:
        draw = chance.random()
        if depth > 4 or draw < 0.5:
            return chance.choice(values)
        if draw < 0.65:
            return [anything(depth + 1) for _ in range(chance.randrange(4))]
        return {chance.choice(keys): anything(depth + 1) for _ in range(chance.randrange(7))}

    for number in range(12):
        lines = [json.dumps(anything()).encode() for _ in range(60)]
        lines += [line[: chance.randrange(len(line) + 1)] for line in lines[:20]]
        chance.shuffle(lines)
        first = b'{"sessionId": "s"}' if number % 2 else b'{"role": "user", "content": "x"}'
        (tmp_path / f"{number}.jsonl").write_bytes(b"\n".join([first, *lines]) + b"\n")
    report = import_files([str(path) for path in sorted(tmp_path.glob("*.jsonl"))], local, Silent())
    assert report.files == 12
    before = texts(local)
    import_files([str(path) for path in sorted(tmp_path.glob("*.jsonl"))], local, Silent(), again=True)
    assert texts(local) == before


def test_the_kind_of_a_file_is_in_it_not_in_its_name(tmp_path: Path) -> None:
    def kind(text: str) -> str:
        (tmp_path / "rollout-x.jsonl").write_text(text)
        return kind_of(str(tmp_path / "rollout-x.jsonl"))

    assert kind('{"role": "user", "content": "x"}\n') == "jsonl"
    assert kind('{"type": "summary", "summary": "x", "leafUuid": "y"}\n') == "transcript"
    assert kind('damaged\n{"timestamp": "", "type": "session_meta", "payload": {}}\n') == "transcript"
    assert kind('{"type": "mode"}\n') == "transcript"
    assert kind('{"a": 1}\n') == kind("") == kind("[1]\n") == ""


def test_ids_are_those_of_the_standard() -> None:
    for number in range(200):
        space = new_uuid()
        assert UUID(id_of(space.bytes, f"é{number}")) == uuid5(space, f"é{number}")


_IMPORT = """
import sys
from sage_code.memory.tiers.importing import import_path
from sage_code.memory.tiers.opened import opened_recall
from sage_code.progress import Silent
from sage_code.settings.table import Settings
recall = opened_recall(Settings(memory_user="ada", memory_uri=sys.argv[2]))
print("begun", flush=True)
import_path(sys.argv[1], recall, Silent())
"""


def test_killed_in_the_middle_twice_nothing_is_lost_or_doubled(
    engine: Engine, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder = tmp_path / "transcripts"
    expected = set()
    for name in ("a", "b"):
        talk = Claude(folder / f"{name}.jsonl", name)
        for number in range(1_500):
            talk.exchange(f"{name} asks {number}", f"{name} is told {number}")
            expected |= {f"{name} asks {number}", f"{name} is told {number}"}
    uri = engine.uri
    if request.node.callspec.params["engine"] == "postgres":
        uri = request.getfixturevalue("postgres").uri(uri.rpartition("/")[2].partition("?")[0])
    recall = recall_of(engine)
    done = 0
    for _ in range(2):
        before = recall.count()
        with subprocess.Popen([sys.executable, "-c", _IMPORT, str(folder), uri], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            while recall.count() == before and process.poll() is None:  # until it has stored something more
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        done += process.returncode == -signal.SIGKILL
    assert done == 2, "an import ended before it was killed"
    assert 0 < recall.count() < len(expected) + 3_000
    run(folder, recall)
    found = [one.content for one in stored(recall) if one.role != "tool"]
    assert len(found) == len(expected)
    assert set(found) == expected
    assert recall.count() == len(expected) + 3_000
    assert engine.verify() == []
