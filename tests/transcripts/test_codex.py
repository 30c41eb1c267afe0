"""Codex CLI's rollouts through the same interface."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sage_code.transcripts.code_context import extract_file_interactions, session_context
from sage_code.transcripts.reader import Resume, TranscriptReader

PATCH = """*** Begin Patch
*** Update File: src/a.py
@@
-x
+y
*** Add File: new.py
+z
*** Delete File: old.py
*** End Patch"""


def _line(kind: str, **payload: Any) -> str:
    return json.dumps({"timestamp": "2026-08-01T10:00:00.000Z", "type": kind, "payload": payload}) + "\n"


def _function(number: str, name: str, arguments: Any) -> str:
    return _line("response_item", type="function_call", name=name, arguments=json.dumps(arguments), call_id=number)


def _output(number: str, output: Any, kind: str = "function_call_output") -> str:
    return _line("response_item", type=kind, call_id=number, output=output)


@pytest.fixture
def rollout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session in `<tmp>/app`, in Codex's tree."""
    root = tmp_path / "app"
    (root / ".git").mkdir(parents=True)
    folder = tmp_path / "codex" / "sessions" / "2026" / "08" / "01"
    folder.mkdir(parents=True)
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "nothing"))
    path = folder / "rollout-2026-08-01T10-00-00-0190.jsonl"
    lines = [
        _line("session_meta", id="0190", cwd=str(root), timestamp="t", cli_version="0.140.0", originator="codex"),
        _line("turn_context", cwd=str(root), model="gpt-5"),
        _function("c1", "exec_command", {"cmd": "sed -n '3,9p' src/a.py"}),
        _output("c1", "Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nx"),
        _function("c2", "shell", {"command": ["bash", "-lc", "cat b.py"], "workdir": str(root / "sub")}),
        _output("c2", json.dumps({"output": "x", "metadata": {"exit_code": 0}})),
        _function("c3", "shell_command", {"command": "cat failed.py"}),
        _output("c3", "Exit code: 1\nWall time: 0 seconds\nOutput:\n"),
        _line("response_item", type="custom_tool_call", name="apply_patch", input=PATCH, call_id="c4"),
        _output("c4", "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.", "custom_tool_call_output"),
        _line("response_item", type="custom_tool_call", name="apply_patch", input=PATCH, call_id="c5"),
        _output("c5", "apply_patch verification failed: no such lines", "custom_tool_call_output"),
        _function("c6", "update_plan", {"plan": []}),
        _output("c6", "Plan updated"),
        _line("event_msg", type="token_count", info=None),
        "not json\n",
    ]
    path.write_text("".join(lines))
    return path


def test_commands_and_patches(rollout: Path) -> None:
    found = extract_file_interactions(str(rollout))
    root = rollout.parents[5] / "app"
    assert [(one.action, one.file, one.lines) for one in found] == [
        ("read", str(root / "src" / "a.py"), (3, 9)),
        ("read", str(root / "sub" / "b.py"), None),
        ("edit", str(root / "src" / "a.py"), None),
        ("write", str(root / "new.py"), None),
    ]


def test_the_session_is_found_by_its_project(rollout: Path) -> None:
    root = rollout.parents[5] / "app"
    context = session_context(str(root))
    assert context is not None
    assert context.files_changed == {str(root / "src" / "a.py"), str(root / "new.py")}
    assert session_context(str(rollout.parents[5])) is None


def test_a_reader_resumes_after_every_line(rollout: Path) -> None:
    whole = rollout.read_bytes()
    at_once = list(TranscriptReader(str(rollout)))
    found, resume = [], Resume()
    for end in [at for at, byte in enumerate(whole) if byte == 10]:
        rollout.write_bytes(whole[: end + 5])
        reader = TranscriptReader(str(rollout), resume)
        found += reader
        resume = reader.resume()
    assert found == at_once
