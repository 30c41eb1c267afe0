"""The state of a session: two processes, damage, settings; what people and the MCP server do about pending briefs."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from sage_code.continuity.dials import dials_of
from sage_code.continuity.following import expect_compaction, follow
from sage_code.continuity.hooks.bringing import brief_text, catch_up
from sage_code.continuity.hooks.judging import window_of
from sage_code.continuity.overview import clear, mark, sessions, take_brief
from sage_code.continuity.places import session_file
from sage_code.continuity.session import ANSWERED, PENDING, Session, forget_old_sessions
from sage_code.errors import Busy, UsageError
from sage_code.paths import sage_home

if TYPE_CHECKING:
    from conftest import Talk

COUNT = """
import sys
from sage_code.continuity.session import Session
for _ in range(50):
    with Session("s1", sys.argv[1], 30) as state:
        state.data["count"] = state.data.get("count", 0) + 1
"""


def test_two_processes_lose_nothing(root: Path) -> None:
    both = [subprocess.Popen([sys.executable, "-c", COUNT, str(root)]) for _ in range(2)]
    assert [one.wait() for one in both] == [0, 0]
    assert Session("s1", str(root)).loaded()["count"] == 100


def test_a_held_state_is_said_to_be_busy(root: Path) -> None:
    with Session("s1", str(root)), pytest.raises(Busy), Session("s1", str(root), 0.1):
        pass


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"format": 99}', "\0", '{"format": 1, "session": "other"}'])
def test_a_damaged_state_counts_as_none(root: Path, text: str) -> None:
    path = Path(session_file("s1", str(root)))
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with Session("s1", str(root)) as state:
        assert state.data["session"] == "s1"
        assert "count" not in state.data


@pytest.mark.parametrize("name", ["../../evil", "a/b", "x" * 500, "ü", "a\0b", "."])
def test_any_name_of_a_session_gives_a_file_in_the_folder(root: Path, name: str) -> None:
    path = Path(session_file(name, str(root)))
    assert path.parent == Path(sage_home()) / "continuity" / "sessions"
    assert len(path.name) < 200


def test_old_sessions_are_forgotten(root: Path) -> None:
    with Session("s1", str(root)) as state:
        state.data["x"] = 1
    path = Path(state.path)
    forget_old_sessions(path.stat().st_mtime + 29 * 86_400)
    assert path.exists()
    forget_old_sessions(path.stat().st_mtime + 31 * 86_400)
    forget_old_sessions(path.parent.stat().st_mtime + 62 * 86_400)
    assert not list(path.parent.iterdir())


def test_a_transcript_is_followed_line_by_line(talk: Talk) -> None:
    with Session("s1", str(talk.root)) as state:
        state.data["transcript"] = str(talk.path)
        assert not follow(state)
        talk.work()
        with talk.path.open("a") as file:
            file.write('{"type":"user","message":{"content":"half')
        assert follow(state)
        assert not follow(state)
        with talk.path.open("a") as file:
            file.write(' and whole"}}\n')
        assert follow(state)
        assert state.data["turn"]["user"].endswith("half and whole")
        assert state.data["branch"] == "main"
        assert state.data["fill"] == 1_000


def test_a_compaction_is_pending_once(talk: Talk) -> None:
    with Session("s1", str(talk.root)) as state:
        state.data["transcript"] = str(talk.path)
        talk.work()
        talk.compaction("c1")
        follow(state)
        assert (state.data["compaction"]["n"], state.data["compaction"]["state"]) == (1, PENDING)
        assert expect_compaction(state.data) is state.data["compaction"]  # the hook is about the same one
        state.data["compaction"]["state"] = ANSWERED
        talk.agent("on we go")
        talk.compaction("c2")
        follow(state)
        assert (state.data["compaction"]["n"], state.data["compaction"]["state"]) == (2, PENDING)


def test_a_hook_may_be_faster_than_the_transcript(talk: Talk) -> None:
    with Session("s1", str(talk.root)) as state:
        state.data["transcript"] = str(talk.path)
        talk.work()
        follow(state)
        expect_compaction(state.data)["state"] = ANSWERED
        talk.compaction("c1")
        follow(state)
        assert state.data["compaction"] | {"at": 0} == {"n": 1, "id": "c1", "state": ANSWERED, "at": 0}


def test_a_long_transcript_that_is_new_is_read_at_its_end(talk: Talk) -> None:
    for number in range(300):
        talk.user(f"request {number} " + "x" * 500)
    with Session("s1", str(talk.root)) as state:
        state.data["transcript"] = str(talk.path)
        follow(state, new_bytes=2_000)
        assert "request 0 " not in state.data["turn"]["user"]
        assert "request 299 " in state.data["turn"]["user"]


def test_settings_are_loaded_when_they_change(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data: dict[str, Any] = {}
    assert dials_of(str(root), data)["brief_tokens"] == 1_500
    tuning = Path(sage_home()) / "tuning.yaml"
    tuning.parent.mkdir(parents=True)
    tuning.write_text("brief_tokens: 700\n")
    assert dials_of(str(root), data)["brief_tokens"] == 700
    monkeypatch.setenv("SAGE_CONTEXT_THRESHOLD", "80")
    assert dials_of(str(root), data)["context_threshold"] == 80
    tuning.write_text("brief_tokens: many\n")
    assert dials_of(str(root), data)["brief_tokens"] == 700
    assert "brief_tokens" in data["complaint"]
    (root / ".sage").mkdir()
    (root / ".sage" / "tuning.yaml").write_text("ask_for_checkpoint: true\nbrief_tokens: 20000\n")
    tuning.write_text("brief_tokens: 600\n")
    settings = dials_of(str(root), data)
    assert not settings["ask_for_checkpoint"]  # a project does not make sessions louder
    assert settings["brief_tokens"] == 600


@pytest.mark.parametrize(
    ("data", "window"),
    [
        ({}, 200_000),
        ({"model": "claude-x[1m]"}, 1_000_000),
        ({"model": "m", "full_at": {"m": 155_000}}, 155_000),
        ({"model": "m", "fill": 300_000}, 1_000_000),
        ({"window": 272_000}, 272_000),
    ],
)
def test_the_window_is_found_out(data: dict[str, Any], window: int) -> None:
    assert window_of(data, {"context_window": 0}) == window
    assert window_of(data, {"context_window": 500_000}) == 500_000


def test_a_new_session_saves_what_a_crashed_one_has_left(talk: Talk) -> None:
    talk.start = time.strftime("%Y-%m-%dT%H", time.gmtime())
    talk.work()
    with talk.path.open("a") as file:
        file.write("{}\n" * 1_000)
    now = time.time()
    for session, idle in (("s1", 300), ("other", 10)):
        with Session(session, str(talk.root)) as state:
            state.data |= {"transcript": str(talk.path), "used": now - idle}
    with Session("s2", str(talk.root)) as state:
        catch_up(state)  # `other` may still work, so that it is left alone
        text = brief_text(state, dials_of(str(talk.root), state.data), "startup")
    assert [one.session for one in sessions(str(talk.root)) if one.checkpoints] == ["s1"]
    assert "Other sessions here:" in text
    assert "Kafka" in text
    with Session("s3", str(talk.root)) as state:
        catch_up(state)
    assert [len(one.checkpoints) for one in sessions(str(talk.root)) if one.session == "s1"] == [1]


def _pending(talk: Talk, session: str) -> None:
    with Session(session, str(talk.root)) as state:
        state.data["transcript"] = str(talk.path)
    mark(str(talk.root), session)


def test_a_pending_brief_is_given_once(talk: Talk) -> None:
    talk.work()
    _pending(talk, "s1")
    (one,) = sessions(str(talk.root))
    assert one.state == "pending"
    assert "Kafka" in take_brief(str(talk.root), "s1")
    assert take_brief(str(talk.root), "s1") == ""
    (one,) = sessions(str(talk.root))
    assert (one.state, one.by, len(one.checkpoints)) == ("answered", "mcp", 1)


def test_nobody_gets_the_brief_of_another_session(talk: Talk) -> None:
    talk.work()
    _pending(talk, "s1")
    assert take_brief(str(talk.root), "s2") == ""
    _pending(talk, "s2")
    assert take_brief(str(talk.root)) == ""  # two wait, and it is not known who asks
    assert clear(str(talk.root), "s2") == ["s2"]
    assert "Kafka" in take_brief(str(talk.root))


def test_marking_needs_a_session(root: Path) -> None:
    with pytest.raises(UsageError, match="no session"):
        mark(str(root))
    assert clear(str(root)) == []
