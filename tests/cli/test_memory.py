"""`sage checkpoint`, `knowledge`, `todo` and `templates` as a person meets them."""

from __future__ import annotations

import io
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture(autouse=True)
def project(sample: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (sample / ".sage").mkdir()
    monkeypatch.chdir(sample)
    return sample


def test_a_checkpoint_from_saving_to_removing(sage: Run, project: Path) -> None:
    saved = sage(
        "checkpoint", "save", "-q", "Which queue?", "-t", "Kafka.\nIt keeps the order.", "-e", "measured", "-c", "0.8"
    )
    assert saved.code == 0
    assert saved.out.startswith("saved: ")
    assert "  80%  manual  Kafka. It keeps the order." in sage("checkpoint", "list").out
    shown = sage("checkpoint", "show", "which-queue").out
    assert "# Which queue?" in shown
    assert "- measured" in shown
    assert "which-queue" in sage("checkpoint", "search", "does the queue keep the order").out
    assert sage("checkpoint", "list", "--skill", "other").code == 1
    again = sage("checkpoint", "save", "-t", "Kafka.\nIt keeps the order.", "--auto")
    assert again.code == 1
    assert again.out.startswith("not saved (duplicate)")
    assert sage("checkpoint", "rm", "which-queue").out.startswith("removed ")
    assert sage("checkpoint", "search", "queue").code == 1
    missing = sage("checkpoint", "rm", "which-queue")
    assert missing.code == 2
    assert "there is no checkpoint" in missing.err


def test_a_whole_checkpoint_from_json(sage: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"core_question": "q", "thesis": "t", "confidence": 0.4, "open_questions": ["why?"]}
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(given)))
    assert sage("checkpoint", "save", "--from", "-", "--template", "decision", "--field", "options=A or B").code == 0
    shown = json.loads(sage("checkpoint", "show", "_q", "--json").out)
    assert (shown["open_questions"], shown["fields"], shown["confidence"]) == (["why?"], {"options": "A or B"}, 0.4)
    for text, complaint in (("[1]", "holds no object"), ("{", "holds no JSON"), ("[" * 50_000, "holds no JSON")):
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        refused = sage("checkpoint", "save", "--from", "-")
        assert refused.code == 2
        assert complaint in refused.err
    assert "is no NAME=TEXT" in sage("checkpoint", "save", "-t", "t", "--field", "x").err
    assert "needs a thesis" in sage("checkpoint", "save", "-q", "q").err


def test_secrets_are_said_and_can_be_allowed(sage: Run, project: Path) -> None:
    saved = sage("checkpoint", "save", "-t", f"The token is {TOKEN}")
    assert saved.code == 0
    assert "masked: GitHub token; --allow-secret keeps it" in saved.err
    assert TOKEN not in sage("checkpoint", "list").out
    assert not sage("checkpoint", "save", "-t", f"It is {TOKEN}", "--allow-secret").err
    assert TOKEN in sage("checkpoint", "list").out


def test_knowledge_and_todos(sage: Run, project: Path) -> None:
    (project / "fact.md").write_text("Consent under the GDPR must be easy to withdraw.\n")
    kept = sage("knowledge", "add", "fact.md", "--id", "gdpr", "--keywords", "gdpr,consent")
    assert kept.out == "kept: gdpr (knowledge)\n"
    double = sage("knowledge", "add", "fact.md", "--id", "gdpr-2", "--type", "todo", "--due", "2020-01-01")
    assert "gdpr says the same (100%): sage knowledge merge gdpr-2 gdpr" in double.out
    assert sage("knowledge", "list").out.splitlines()[0] == "gdpr  knowledge    gdpr, consent  project"
    match = sage("knowledge", "match", "what about GDPR consent")
    assert match.code == 0
    assert "✓" in match.out
    assert "0.7 ×" in match.out
    assert sage("knowledge", "match", "how are elephants fed").code == 1
    assert "easy to withdraw" in sage("knowledge", "show", "gdpr").out
    assert sage("todo", "list").out == "gdpr-2  due  2020-01-01\n"
    assert sage("todo", "done", "gdpr-2").out == "done: gdpr-2\n"
    assert sage("todo", "pending").code == 1
    assert sage("todo", "list").out == "gdpr-2  done  2020-01-01\n"
    assert sage("knowledge", "merge", "gdpr", "gdpr-2").code == 0
    assert sage("knowledge", "rm", "gdpr").code == 0
    assert sage("knowledge", "list").code == 1
    for words, complaint in (
        (("fact.md", "--id", "x", "--type", "song"), "there is no type"),
        (("nowhere.md", "--id", "x"), "cannot be read"),
        (("fact.md", "--id", "../"), "is no id"),
    ):
        refused = sage("knowledge", "add", *words)
        assert refused.code == 2
        assert complaint in refused.err


def test_code_can_be_named(sage: Run, project: Path) -> None:
    saved = sage("checkpoint", "save", "-t", "Starting opens the port", "--ref", "server.py:10", "--json")
    assert json.loads(saved.out)["code_refs"] >= 1
    (project / "fact.md").write_text("Connecting retries three times.\n")
    assert sage("knowledge", "add", "fact.md", "--id", "retries", "--ref", "server.py:17-19").code == 0
    assert "Starting opens the port" in sage("why", "server.py:10").out
    assert "retries" in sage("why", "server.py:18").out
    for options, complaint in (
        ("server.py:9000", "no line 9000"),
        ("nowhere.py:3", "there is no file"),
        ("../outside.py:1", "there is no file"),
        ("server.py:9-3", "names no lines"),
        ("connect", "is not indexed"),
    ):
        refused = sage("checkpoint", "save", "-t", "x", "--ref", options)
        assert refused.code == 2
        assert complaint in refused.err
    sage("index")
    assert sage("checkpoint", "save", "-t", "A server can be stopped", "--ref", "Server.stop").code == 0
    assert "A server can be stopped" in sage("why", "Server.stop").out
    whole = sage("checkpoint", "save", "-t", "It listens and answers", "--ref", "Server", "--json")
    assert json.loads(whole.out)["code_refs"] == 2  # start and stop
    assert "nearest: connect" in sage("checkpoint", "save", "-t", "x", "--ref", "conect").err
    text = (project / "server.py").read_text()
    (project / "server.py").write_text(text.replace("self.port = None", "self.port = 0"))
    assert "A server can be stopped" in sage("stale").out


@pytest.mark.parametrize("kind", ["checkpoint", "knowledge"])
def test_restoring_an_unknown_memory_names_the_command_that_lists_the_archive(sage: Run, kind: str) -> None:
    result = sage(kind, "restore", "unknown")
    assert result.code == 2
    assert f"`sage {kind} list --archived`" in result.err


def test_editing_in_the_user_s_editor(sage: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "fact.md").write_text("old text\n")
    sage("knowledge", "add", "fact.md", "--id", "fact", "--keywords", "before")
    sage("checkpoint", "save", "-q", "Why?", "-t", "old text")
    editor = project / "editor.sh"
    editor.write_text('#!/bin/sh\nfor last; do :; done\nsed -i "s/old text/new text/; s/before/after/" "$last"\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", str(editor))
    assert sage("knowledge", "edit", "fact").code == 0
    assert "new text" in sage("knowledge", "show", "fact").out
    assert "after" in sage("knowledge", "list").out
    assert sage("checkpoint", "edit", "why").code == 0
    assert "new text" in sage("checkpoint", "list").out
    editor.write_text('#!/bin/sh\nfor last; do :; done\nprintf -- "---\\na: [\\n---\\n" > "$last"\n')
    broken = sage("checkpoint", "edit", "why")
    assert broken.code == 2
    assert "not valid YAML" in broken.err
    assert "cannot be started" in _edit_with(sage, monkeypatch, "/nowhere/editor")


def _edit_with(sage: Run, monkeypatch: pytest.MonkeyPatch, editor: str) -> str:
    monkeypatch.setenv("EDITOR", editor)
    err: str = sage("knowledge", "edit", "fact").err
    return err


def test_templates(sage: Run, sage_home: Path) -> None:
    assert sage("templates", "list").out.startswith("default  Everything")
    assert "optional_fields:" in sage("templates", "show", "decision").out
    folder = sage_home / "templates"
    folder.mkdir(parents=True)
    (folder / "mine.yaml").write_text("required_fields: [thesis]\nformat: '{{ thesis }} {{ nosuch }}'\n")
    assert "mine" in sage("templates", "list").out
    wrong = sage("templates", "validate", "mine")
    assert wrong.code == 2
    assert "'nosuch' is undefined" in wrong.err
    assert sage("templates", "validate", "research").out.startswith("research is sound")


def test_what_is_the_user_s_own_is_kept_at_home(sage: Run, sage_home: Path, project: Path) -> None:
    sage("checkpoint", "save", "-t", "mine alone", "--user")
    assert len(os.listdir(sage_home / "checkpoints")) == 1
    assert not (project / ".sage" / "checkpoints").exists()
    assert "mine alone" in sage("checkpoint", "list").out
