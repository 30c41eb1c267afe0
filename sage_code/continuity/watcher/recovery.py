"""Saves the checkpoint of a compacted session and remembers what was said, in a process of its own: what a save imports
would make the watcher big. Another task makes the summaries of channels that are due.

    python -P -m sage_code.continuity.watcher.recovery   < one line of JSON

The child reads its task from standard input, which the watcher keeps open meanwhile. If it is closed early the watcher
was killed, and the child ends at once: the next watcher does the task again. The state of the session notes under
`recovered` for which compaction that was done. A task without a compaction only remembers.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

from sage_code.continuity.dials import dials_of
from sage_code.continuity.remembering import remember
from sage_code.continuity.session import Session
from sage_code.continuity.watcher.journal import open_log
from sage_code.continuity.watcher.summaries import summarise_due
from sage_code.text.light_json import dumps, loads

_LIMIT_S = 120.0
_WAIT_S = 20.0
_NICENESS = 10
# A request and its answer, or two short requests, are worth half: see `salience`.
_ENOUGH_REQUESTS, _ENOUGH_CHARACTERS = 2, 2_000


class Recovery:
    """Runs the child process, one at a time."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._is_ended = False
        self._lock = threading.Lock()

    def run(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """Do the task and wait for it; what it says about itself, empty if it was ended or failed."""
        command = [sys.executable, "-P", "-m", __name__]
        with self._lock:
            if self._is_ended:
                return {}
            log = open_log()
            try:
                child = self._child = subprocess.Popen(
                    command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, cwd="/"
                )
            finally:
                os.close(log)
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            child.stdin.write(dumps(dict(task)).encode("utf-8", "surrogatepass") + b"\n")
            child.stdin.flush()
            child.wait(_LIMIT_S)  # it says less than a pipe holds
            said = loads(child.stdout.read().strip()) if child.returncode == 0 else {}
        except (subprocess.TimeoutExpired, BrokenPipeError, ValueError):
            said = {}
        finally:
            child.kill()
            child.wait()
            for pipe in (child.stdin, child.stdout):
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
            self._child = None
        return said if isinstance(said, dict) else {}

    def end(self) -> None:
        """End the child that runs, and begin none any more."""
        with self._lock:
            self._is_ended = True
            if (child := self._child) is not None:
                child.kill()


def save(task: Mapping[str, Any]) -> dict[str, Any]:
    """Save the checkpoint, unless the settings forbid it or hardly anything was said since the last one; remember."""
    session, root, compaction = (str(task[key]) for key in ("session", "root", "compaction"))
    with Session(session, root, _WAIT_S) as state:
        if not state.transcript or not os.path.exists(state.transcript):
            state.data["transcript"] = str(task["transcript"])
        is_wanted = bool(dials_of(root, state.data)["capture_checkpoints"])
    if not compaction:
        return {"remembered": remember(session, root)}
    with Session(session, root, _WAIT_S) as state:
        worth = salience(state.transcript, state.data.get("captured"))
    checkpoint = ""
    if is_wanted and worth >= float(task["salience_threshold"]):
        from sage_code.continuity.capture import capture  # lazy: a quiet session needs none of it

        checkpoint = capture(session, root, "precompact", publishes=False)  # the watcher does
    with Session(session, root, _WAIT_S) as state:
        state.data["recovered"] = compaction
    return {"checkpoint": checkpoint, "salience": round(worth, 2), "remembered": remember(session, root)}


def salience(transcript: str, captured: object) -> float:
    """How much was said since the last checkpoint, from 0 to 1: half for requests, half for the length of all."""
    from sage_code.transcripts.conversation import AGENT, USER, said
    from sage_code.transcripts.lines import Cursor, LineReader

    cursors = captured.get("cursors") if isinstance(captured, dict) else None
    before = cursors.get(transcript) if isinstance(cursors, dict) else None
    cursor = Cursor(*before) if isinstance(before, list) and len(before) == len(Cursor._fields) else None
    requests = characters = 0
    for line in LineReader(transcript, cursor):
        try:
            events = list(said(line))
        except ValueError:  # damaged
            continue
        requests += sum(event.kind == USER for event in events)
        characters += sum(len(event.text) for event in events if event.kind in (USER, AGENT))
        if requests >= _ENOUGH_REQUESTS and characters >= _ENOUGH_CHARACTERS:
            return 1.0
    return (min(1.0, requests / _ENOUGH_REQUESTS) + min(1.0, characters / _ENOUGH_CHARACTERS)) / 2


def _end_with_the_watcher() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


def main() -> None:
    """The child process."""
    task = loads(sys.stdin.buffer.readline().strip())
    threading.Thread(target=_end_with_the_watcher, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    said = summarise_due() if task.get("summaries") else save(task)
    sys.stdout.write(dumps(said))
    sys.stdout.flush()
    if "sage_code.events.process" in sys.modules:
        from sage_code.events.process import close_all

        close_all()  # plugins handle what they were sent; without this they would end with this process
    os._exit(0)  # the thread still reads standard input, which Python would wait for


if __name__ == "__main__":
    main()
