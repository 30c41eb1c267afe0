"""Settings and plugin may both bring Sage's hooks: then every event calls two of them at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from sage_code.continuity.overview import sessions
from sage_code.continuity.queue import note_checkpoint
from sage_code.paths import sage_home

if TYPE_CHECKING:
    from conftest import Talk


def _twice(talk: Talk, event: str, **more: Any) -> list[dict[str, Any]]:
    """The answers of two hooks that are called for one event."""
    given = {"hook_event_name": event, "session_id": "s1", "cwd": str(talk.root), "transcript_path": str(talk.path)}
    command = [sys.executable, "-P", "-m", "sage_code.continuity.hooks.entry"]
    paths = os.pathsep.join(path for path in sys.path if path)
    both = [
        subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": paths}
        )
        for _ in range(2)
    ]
    for one in both:
        assert one.stdin is not None
        one.stdin.write(json.dumps({**given, **more}).encode())
        one.stdin.close()
    answers = []
    for one in both:
        assert one.stdout is not None
        answers.append(json.loads(one.stdout.read() or b"{}"))
        assert one.wait() == 0
        one.stdout.close()
    return answers


def _briefs(answers: list[dict[str, Any]]) -> list[str]:
    return [one["hookSpecificOutput"]["additionalContext"] for one in answers if "hookSpecificOutput" in one]


def test_two_hooks_of_one_event_answer_once(talk: Talk) -> None:
    note_checkpoint(str(talk.root), "by-hand", "s9")
    folder = os.path.join(sage_home(), "checkpoints")
    os.makedirs(folder)
    with open(os.path.join(folder, "by-hand.md"), "w") as file:
        file.write("---\nid: by-hand\n---\n# Port?\n\n## Thesis\nIt is 5433.\n")
    assert len(_briefs(_twice(talk, "SessionStart", source="startup"))) == 1
    talk.work()
    _twice(talk, "Stop", last_assistant_message="Done: the retries are in `send` now.")
    (one,) = sessions(str(talk.root))
    assert one.exchanges == 1
    _twice(talk, "PreCompact", trigger="auto")
    talk.compaction("c1")
    (brief,) = _briefs(_twice(talk, "SessionStart", source="compact"))
    assert "Kafka" in brief
    assert not _briefs(_twice(talk, "UserPromptSubmit", prompt="go on"))
    (one,) = sessions(str(talk.root))
    assert (one.state, len(one.checkpoints)) == ("answered", 1)
