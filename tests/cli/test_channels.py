"""`sage channels`, `profile`, `context`, `summarise` and `scheduler` as a person meets them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sage_code import MemoryManager
from sage_code.memory.tiers.values import NewMessage

Run = Callable[..., Any]
TALK = (
    ("Ana", "I live in Lisbon and I always deploy on Fridays."),
    ("Ben", "Which queue do we use for billing?"),
    ("Ana", "We decided to use Kafka for the billing queue, because order matters."),
    ("Ben", "Agreed. Who writes worker.py?"),
)


@pytest.fixture
def room() -> None:
    """A room in which two people talk."""
    with MemoryManager() as memory:
        said = [NewMessage("user", text, session="room", speaker=name) for name, text in TALK]
        memory.recall.add(said, channel="#team")


def _json(sage: Run, *words: str, code: int = 0) -> Any:
    result = sage(*words, "--json")
    assert result.code == code, result.err
    return json.loads(result.out)


def test_nothing_is_said_to_be_nothing(sage: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words in (["channels", "list"], ["profile", "show"], ["profile", "list"]):
        result = sage(*words)
        assert result.code == 1
        assert result.err.strip()
    result = sage("channels", "show", "#nowhere")
    assert result.code == 2
    assert "#nowhere" in result.err
    assert sage("scheduler", "run", "--once").out.strip() == "nothing is due"


def test_a_channel_is_listed_summarised_and_shown(sage: Run, room: None) -> None:
    (listed,) = _json(sage, "channels", "list")["channels"]
    assert (listed["name"], listed["messages"], listed["waiting"]) == ("#team", 4, 4)
    result = sage("channels", "show", "#team")
    assert result.code == 1
    assert "summarise" in result.err
    made = _json(sage, "channels", "summarise", "#team")
    assert made["waiting"] == 0
    assert "Kafka" in made["summary"]["summary"]["text"]
    assert made["summary"]["summary"]["by"] == "extractive"
    text = sage("channels", "show", "#team").out
    assert "Kafka" in text
    assert "Lately (version 1" in text
    (version,) = _json(sage, "channels", "history", "#team")["versions"]
    assert version["messages"] == 4
    assert _json(sage, "channels", "summarise", "#team") == made  # nothing is new


def test_a_project_is_a_channel_by_its_path(sage: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    (root / "src").mkdir()
    with MemoryManager() as memory:
        memory.recall.add([NewMessage("user", "We decided on Redis.", session="s")], project=str(root))
    monkeypatch.chdir(root / "src")
    for words in ([], ["."], [str(root)], ["shop"]):
        assert _json(sage, "channels", "summarise", *words)["channel"] == str(root)


def test_the_scheduler_makes_what_is_due(sage: Run, room: None) -> None:
    assert _json(sage, "scheduler", "status") == {"leads": False, "waiting": 4, "dirty": 1, "due": 0}
    assert _json(sage, "scheduler", "run", "--once")["summarised"] == []
    with MemoryManager() as memory:
        memory.recall.add([NewMessage("user", f"and {n}", session="room") for n in range(6)], channel="#team")
    (done,) = _json(sage, "scheduler", "run", "--once")["summarised"]
    assert (done["channel"], done["read"], done["waiting"]) == ("#team", 10, 0)


@pytest.mark.slow
def test_the_scheduler_ends_cleanly(room: None) -> None:
    with MemoryManager() as memory:
        memory.recall.add([NewMessage("user", f"and {n}", session="room") for n in range(9)], channel="#team")
    code = "from sage_cli.entry import main; main()"
    command = [sys.executable, "-c", code, "scheduler", "run", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ))
    assert process.stdout is not None
    line = process.stdout.readline()
    assert json.loads(line)["summarised"][0]["channel"] == "#team"
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert time.monotonic() - started < 10
    assert errors == b""


def test_a_person_reads_corrects_and_deletes_what_is_known(
    sage: Run, room: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sage("channels", "summarise", "#team")
    assert "Lisbon" in sage("profile", "show", "Ana").out
    found = _json(sage, "profile", "show", "Ana")
    home = next(fact for fact in found["facts"] if "Lisbon" in fact["text"])
    assert home["message_id"]
    assert home["id"][:8] in sage("profile", "show", "Ana", "--facts").out
    done = _json(sage, "profile", "edit", "Ana", "--remove", home["id"][:8])
    assert "Lisbon" not in done["text"]
    assert "tea" in _json(sage, "profile", "edit", "Ana", "--add", "I like tea")["text"]
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import pathlib, sys\n"
        "path = pathlib.Path(sys.argv[1])\n"
        "path.write_text(path.read_text().replace('tea', 'coffee'))\n"
    )
    monkeypatch.setenv("VISUAL", f"{sys.executable} {editor}")
    assert sage("profile", "edit", "Ana").code == 0
    shown = sage("profile", "show", "Ana").out
    assert "coffee" in shown
    assert "tea" not in shown
    assert sage("profile", "edit", "Ana", "--remove", "zzz").code == 2
    assert [one["participant"] for one in _json(sage, "profile", "list")["people"]] == ["Ana"]
    assert _json(sage, "profile", "forget", "Ana", "--force")["facts"] >= 1
    assert sage("profile", "show", "Ana").code == 1


def test_the_context_says_what_is_kept_and_cut(sage: Run, room: None) -> None:
    sage("channels", "summarise", "#team")
    whole = _json(sage, "context", "show", "#team", "--for", "Ana")
    assert [part["name"] for part in whole["parts"]] == [
        "instructions", "user_profile", "channel_profile", "relationships", "rolling_summary", "transcript",
    ]  # fmt: skip
    assert whole["tokens"] <= whole["budget"] == 8_000
    assert "Who writes worker.py?" in whole["text"]
    assert "Lisbon" in whole["text"]
    least = next(part["tokens"] for part in whole["parts"] if part["name"] == "instructions")
    small = _json(sage, "context", "show", "#team", "--max-tokens", str(least + 60))
    assert small["tokens"] <= least + 60
    assert small["parts"][0]["why"] == ""
    assert small["parts"][-1]["why"]
    shown = sage("context", "show", "#team").out
    assert "transcript" in shown
    tiny = sage("context", "show", "#team", "--max-tokens", "5")
    assert tiny.code == 2
    assert "instructions" in tiny.err


def test_summarise_reads_transcripts_lines_and_texts(sage: Run, tmp_path: Path) -> None:
    chat = tmp_path / "chat.jsonl"
    chat.write_text("".join(json.dumps({"role": "user", "name": name, "content": text}) + "\n" for name, text in TALK))
    assert "Kafka" in sage("summarise", str(chat)).out
    text = tmp_path / "meeting.txt"
    text.write_text("".join(f"{name}: {said}\n" for name, said in TALK))
    found = _json(sage, "summarise", str(text), "--words", "40")
    assert found["messages"] == 4
    assert "Kafka" in found["summary"]["text"]
    letter = tmp_path / "letter.md"
    letter.write_text("# Plan\n\nWe decided to use Kafka for billing.\n\nIt costs more: 3 servers.\n")
    assert _json(sage, "summarise", str(letter))["messages"] == 3
    assert sage("summarise", str(tmp_path / "none.jsonl")).code == 2
    (tmp_path / "empty.txt").write_text("")
    assert sage("summarise", str(tmp_path / "empty.txt")).code == 1
    (tmp_path / "binary.jsonl").write_bytes(b"\x00\x01\xff" * 100)
    assert sage("summarise", str(tmp_path / "binary.jsonl")).code == 2
