"""`sage conversations` as a person meets it."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer

from sage_cli.dates import before, since, until
from sage_code.errors import UsageError
from sage_code.transcripts.find import slug

Run = Callable[..., Any]
SHOP, BANK = "5e551011-0000-4000-8000-000000000001", "ba4c0000-0000-4000-8000-000000000002"
NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)


def _line(session: str, cwd: str, number: int, kind: str, text: str, month: int = 3) -> str:
    stamp = f"2026-{month:02}-02T10:00:{number:02}.000Z"
    id_ = f"{session[:-4]}{number:04}"
    message = {"role": kind, "content": [{"type": "text", "text": text}]}
    record = {"type": kind, "uuid": id_, "sessionId": session, "cwd": cwd, "timestamp": stamp, "message": message}
    return json.dumps(record) + "\n"


@pytest.fixture(autouse=True)
def transcripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sage_home: Path) -> Path:
    """Two projects with a session each, in Claude Code's own folder."""
    folder = sage_home.parent / ".claude" / "projects"
    for session, name, month, talk in (
        (SHOP, "shop", 3, ("How often does the payment client retry?", "Five times, with exponential backoff.")),
        (BANK, "bank", 4, ("Which colour has the logo?", "It is blue, as the rest of the page.")),
    ):
        root = tmp_path / name
        (root / ".git").mkdir(parents=True)
        path = folder / slug(str(root)) / f"{session}.jsonl"
        path.parent.mkdir(parents=True)
        kinds = ("user", "assistant")
        path.write_text(
            "".join(
                _line(session, str(root), number, kinds[number % 2], text, month) for number, text in enumerate(talk)
            )
        )
    monkeypatch.chdir(tmp_path / "shop")
    return folder


def _json(sage: Run, *words: str, code: int = 0) -> Any:
    result = sage("conversations", *words, "--json")
    assert result.code == code, result.err
    return json.loads(result.out)


def test_nothing_is_said_to_be_nothing(sage: Run) -> None:
    for words in (["list"], ["search", "retries"]):
        result = sage("conversations", *words)
        assert result.code == 1
        assert "sage conversations import" in result.err


def test_import_list_search_show(sage: Run, tmp_path: Path) -> None:
    done = sage("conversations", "import")
    assert (done.code, done.out.partition(" (")[0]) == (0, "4 new messages in 2 files")
    assert "2 files unchanged" in sage("conversations", "import").out
    listed = sage("conversations", "list", "--dates").out.splitlines()
    assert listed[0].split("  ") == ["ba4c0000", "2026-04-02T10:00:01Z", "2", "bank", "Which colour has the logo?"]
    assert len(listed) == 2
    assert [one["id"] for one in _json(sage, "list", "--here")["sessions"]] == [SHOP]
    assert [one["id"] for one in _json(sage, "list", "--project", "bank")["sessions"]] == [BANK]
    assert [one["id"] for one in _json(sage, "list", "--since", "2026-04")["sessions"]] == [BANK]
    assert sage("conversations", "list", "--since", "2026-05").code == 1
    found = sage("conversations", "search", "how many retries of a payment", "--dates")
    assert found.code == 0
    first = found.out.split("\n\n")[0]
    assert "shop" in first
    assert "Five times, with exponential backoff." in found.out
    assert "  > assistant: Five times" in found.out or "  < user: How often" in found.out
    here = _json(sage, "search", "logo colour", "--here", "--explain")
    assert {one["project"] for one in here["results"]} <= {str(tmp_path / "shop")}
    spoken = _json(sage, "search", "logo", "--role", "assistant", "--since", "2026-04-01", "--until", "2026-04")
    assert [one["passage"] for one in spoken["results"]] == ["It is blue, as the rest of the page."]
    result = spoken["results"][0]
    shown = sage("conversations", "show", result["session"][:6], "--around", result["id"][:8], "--limit", "2")
    assert shown.code == 0
    assert shown.out.splitlines()[0] == "Which colour has the logo?"
    assert "It is blue" in shown.out
    assert [one["role"] for one in _json(sage, "show", BANK)["messages"]] == ["user", "assistant"]
    assert [one["role"] for one in _json(sage, "show", BANK, "--limit", "1")["messages"]] == ["assistant"]


def test_mistakes_are_explained(sage: Run) -> None:
    sage("conversations", "import")
    for words, said in (
        (["show", "zzz"], "there is no session zzz"),
        (["show", SHOP, "--around", "xyz"], "is no id of a message"),
        (["show", SHOP, "--around", "0000"], "there is no message"),
        (["list", "--project", "nowhere"], "no project is called nowhere"),
        (["list", "--project", "bank", "--here"], "say two things"),
        (["search", "x", "--since", "whenever"], "names no time"),
        (["import", "nothing.jsonl"], "there is no file"),
        (["import", ".", "--here"], "say two things"),
        (["forget"], "nothing says what to forget"),
        (["forget", "--all", "--session", SHOP], "--all leaves nothing"),
    ):
        result = sage("conversations", *words)
        assert (result.code, said in result.err) == (2, True), (words, result.err)


def test_forget_asks_and_really_deletes(sage: Run, sage_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sage("conversations", "import")
    assert _json(sage, "forget", "--project", "shop", "--dry-run") == {"messages": 2, "sessions": 0, "dry_run": True}
    monkeypatch.setattr(typer, "confirm", lambda *_, **__: False)
    refused = sage("conversations", "forget", "--session", SHOP[:8])
    assert (refused.code, refused.err) == (1, "nothing was deleted\n")
    assert len(_json(sage, "list")["sessions"]) == 2
    monkeypatch.setattr(typer, "confirm", lambda *_, **__: True)
    assert sage("conversations", "forget", "--session", SHOP[:8]).out == "deleted 2 messages and 1 session\n"
    assert [one["id"] for one in _json(sage, "list")["sessions"]] == [BANK]
    for path in (sage_home / "memory").rglob("*"):
        assert not path.is_file() or b"exponential" not in path.read_bytes()
    assert sage("conversations", "import").out.startswith("0 new messages")  # it does not come back by itself
    message = _json(sage, "show", BANK)["messages"][1]["id"]
    assert _json(sage, "forget", "--message", message[:13], "--force")["messages"] == 1
    assert _json(sage, "forget", "--before", "2026-04", "--force", code=1)["messages"] == 0
    assert _json(sage, "forget", "--all", "--force")["messages"] == 1
    assert sage("conversations", "forget", "--all", "--force").code == 1
    assert _json(sage, "import", "--again")["messages"] == 4


def test_a_project_that_does_not_want_it_is_left_out(sage: Run, tmp_path: Path) -> None:
    (tmp_path / "bank" / ".sage").mkdir()
    (tmp_path / "bank" / ".sage" / "tuning.yaml").write_text("remember_conversations: false\n")
    done = _json(sage, "import")
    assert (done["files"], done["left_out"], done["messages"]) == (1, 1, 2)
    assert _json(sage, "import", "--project", str(tmp_path / "bank"))["messages"] == 2  # the user insists


def test_a_bad_file_is_reported_and_the_others_are_read(sage: Run, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "bad.jsonl").write_text("not json\n")
    (tmp_path / "files" / "good.jsonl").write_text('{"role": "user", "content": "hello"}\n{broken\n')
    result = sage("conversations", "import", str(tmp_path / "files"))
    assert result.code == 0
    assert result.out.splitlines()[1:] == ["1 file not read", "1 line damaged or too long, and left out"]
    assert "bad.jsonl holds no conversation" in result.err
    done = _json(sage, "import", str(tmp_path / "files"), "--again")
    assert [Path(one["path"]).name for one in done["failed"]] == ["bad.jsonl"]


def test_what_was_said_controls_no_terminal(sage: Run, tmp_path: Path) -> None:
    record = {
        "role": "user",
        "content": "evil \x1b[31mred\x1b[0m \u202etxt",
        "session": "s\x1b[1m",
        "name": "\x1b]0;x\x07",
    }
    (tmp_path / "chat.jsonl").write_text(json.dumps(record) + "\n")
    sage("conversations", "import", str(tmp_path / "chat.jsonl"))
    for words in (["list"], ["show", "s"], ["search", "evil red"]):
        result = sage("conversations", *words)
        assert result.code == 0
        assert "\x1b" not in result.out
        assert "\u202e" not in result.out


def test_ctrl_c_keeps_what_was_stored(sage: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from sage_code.memory.tiers import importing

    real, calls = importing.import_file, []

    def interrupted(*words: Any, **more: Any) -> None:
        calls.append(words)
        if len(calls) == 2:
            raise KeyboardInterrupt
        real(*words, **more)

    monkeypatch.setattr(importing, "import_file", interrupted)
    result = sage("conversations", "import")
    assert result.code == 130
    assert "the next import goes on there" in result.err
    monkeypatch.setattr(importing, "import_file", real)
    assert len(_json(sage, "list")["sessions"]) == 1
    assert _json(sage, "import")["messages"] == 2


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-03", "2026-03-01", "2026-04-01"),
        ("2026-03-05", "2026-03-05", "2026-03-06"),
        ("2 weeks ago", "2026-06-01", "2026-06-01"),
        ("yesterday", "2026-06-14", "2026-06-15"),
    ],
)
def test_limits_of_time(text: str, first: str, last: str) -> None:
    start, end = since(text, NOW), until(text, NOW)
    assert start is not None
    assert end is not None
    assert (start.astimezone().date().isoformat(), end.astimezone().date().isoformat()) == (first, last)
    assert before(text, NOW) == start


def test_no_limit_and_no_time() -> None:
    assert since("") is until("") is None
    with pytest.raises(UsageError):
        since("2026-13")
