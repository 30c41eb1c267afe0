"""Does what plugins ask for. There is one function for each type of action, and no other way to have something done.

In the watcher actions run in two threads behind bounded queues, so that the loop never waits: one for what takes
milliseconds, one for checkpoints, which take seconds. An action that fails is logged and ends nothing.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from sage_code.continuity.dials import dials_of
from sage_code.continuity.following import follow
from sage_code.continuity.queue import GARBAGE_S, OTHERS_S, add_to_queue
from sage_code.continuity.session import Session
from sage_code.continuity.watcher.journal import Journal
from sage_code.continuity.watcher.plugins import ACTIONS, Action
from sage_code.continuity.watcher.recovery import Recovery
from sage_code.continuity.watcher.summaries import SummaryClock
from sage_code.discover.roots import why_unusual
from sage_code.errors import UsageError
from sage_code.files.contained import read_regular
from sage_code.memory.files.frontmatter import load, split
from sage_code.paths import DOT_SAGE, sage_home
from sage_code.transcripts.conversation import clock

CHECKPOINTS = "checkpoints"
_SLOW = ("save_recovery", "summarise")
_MAX_WAITING = 1_000
_WAIT_S = 20.0
_PATIENCE_S = 3.0
_MAX_FILE_BYTES = 1_000_000
_MAX_RECENT = 200


class Executor:
    """Runs actions. `on_checkpoint` is called with the id of each checkpoint that was saved."""

    def __init__(self, journal: Journal, on_checkpoint: Callable[[str], None] = lambda _: None) -> None:
        self._journal, self._on_checkpoint = journal, on_checkpoint
        self._recovery = Recovery()
        self.summaries = SummaryClock()
        self._work: dict[str, Callable[[Mapping[str, Any]], None]] = {
            "log": self._log,
            "save_recovery": self._save_recovery,
            "summarise": self._summarise,
            "write_marker": self._write_marker,
            "queue_for_injection": self._queue_for_injection,
            "start_session": self._start_session,
            "end_session": self._end_session,
        }
        assert self._work.keys() == ACTIONS
        self._quick, self._slow = _Lane(self._run), _Lane(self._run)

    def execute_actions(self, actions: Iterable[Action], *, blocking: bool) -> None:
        """Run actions: here and now, or in the background. UsageError for what is no action of the list."""
        for action in actions:
            if not isinstance(action, Action) or action.type not in self._work:
                named = action.type if isinstance(action, Action) else repr(action)
                raise UsageError(f"there is no action {named[:80]!r}", "nothing was done")
            lane = self._slow if action.type in _SLOW else self._quick
            if blocking:
                self._run(action)
            elif not lane.add(action):
                self._journal.fail(f"action {action.type}", RuntimeError("too many wait; it was dropped"))

    def close(self) -> None:
        """Finish what is quick and end what is slow, which the next watcher does again."""
        self._recovery.end()
        self._slow.close(drop=True)
        self._quick.close(drop=False)

    def _run(self, action: Action) -> None:
        try:
            self._work[action.type](action.values)
        except Exception as error:
            self._journal.fail(f"action {action.type}", error)

    def _log(self, values: Mapping[str, Any]) -> None:
        self._journal.log(str(values["text"]))

    def _write_marker(self, values: Mapping[str, Any]) -> None:
        """Read the transcript into the state of the session, where the compaction is pending from then on.

        The state knows compactions by their ids: one that was answered stays so.
        """
        with Session(str(values["session"]), str(values["root"]), _WAIT_S) as state:
            if not state.transcript or not os.path.exists(state.transcript):
                state.data["transcript"] = str(values["transcript"])
            follow(state)
            state.data["used"] = time.time()

    def _save_recovery(self, values: Mapping[str, Any]) -> None:
        """Have the child save and remember, and log what it says."""
        said = self._recovery.run(values)
        session = values["session"]
        if checkpoint := said.get("checkpoint"):
            self._journal.log(f"saved checkpoint {checkpoint} of session {session}")
            self._on_checkpoint(str(checkpoint))
        elif not values["compaction"]:
            if said.get("remembered"):
                self._journal.log(f"remembered {said['remembered']} messages of session {session}")
        elif "salience" in said:
            self._journal.log(f"no checkpoint of session {session}: little is new (salience {said['salience']})")
        else:
            raise RuntimeError(f"no checkpoint of session {session}: the process that saves it was ended or failed")

    def _summarise(self, _: Mapping[str, Any]) -> None:
        """Have the child make the summaries that are due."""
        said: dict[str, Any] = {}
        try:
            said = self._recovery.run({"summaries": True})
        finally:
            self.summaries.done(said)
        if said.get("summarised") or said.get("failed"):
            self._journal.log(f"{said['summarised']} summaries of channels made, {said['failed']} channels failed")

    def _queue_for_injection(self, values: Mapping[str, Any]) -> None:
        if not values.get("recent"):
            self._queue(str(values["file"]), str(values["checkpoint"]))
            return
        # One that is damaged must not keep the others out.
        for file in _recent_files(os.path.join(sage_home(), CHECKPOINTS)):
            try:
                self._queue(file, os.path.basename(file).removesuffix(".md"))
            except Exception as error:
                self._journal.fail("action queue_for_injection", error)

    def _queue(self, file: str, checkpoint: str) -> None:
        """Add a checkpoint to the queue of its project, if it is new enough and says which that is."""
        head = load(split(read_regular(file, _MAX_FILE_BYTES).decode("utf-8"))[0], file)
        root = _root_of(file, head)
        when = min(clock(head.get("ts")) or os.stat(file).st_mtime, time.time())
        if root and time.time() - when <= GARBAGE_S:
            share = bool(dials_of(root, {})["share_worktrees"])
            # A project's file may come from anybody, and must not pass for a session's own.
            session = "" if _is_shared(file) else str(head.get("session") or "")
            add_to_queue(root, checkpoint, session, when, share_worktrees=share)

    def _start_session(self, _: Mapping[str, Any]) -> None:
        session = self._journal.noted("session")
        if not session or session.get("ended"):
            new = {"id": os.urandom(6).hex(), "started": time.time(), "ended": None}
            self._journal.note(session=new)

    def _end_session(self, values: Mapping[str, Any]) -> None:
        session = self._journal.noted("session")
        if session and not session.get("ended"):
            self._journal.note(session={**session, "ended": time.time()})
            self._journal.log(f"ended session {session['id']}: {values.get('reason', '')}")


class _Lane:
    """A thread that runs actions one after the other. It begins with the first one."""

    def __init__(self, run: Callable[[Action], None]) -> None:
        self._run = run
        self._waiting: queue.Queue[Action | None] = queue.Queue(_MAX_WAITING)
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._is_dropping = False

    def add(self, action: Action) -> bool:
        """Whether there was room for the action."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, daemon=True)
                self._thread.start()
        try:
            self._waiting.put_nowait(action)
        except queue.Full:
            return False
        return True

    def close(self, *, drop: bool) -> None:
        """End the thread, within a few seconds."""
        self._is_dropping = drop
        if self._thread is not None:
            try:
                self._waiting.put(None, timeout=_PATIENCE_S)
            except queue.Full:
                return
            self._thread.join(_PATIENCE_S)

    def _loop(self) -> None:
        while (action := self._waiting.get()) is not None:
            if not self._is_dropping:
                self._run(action)


def _recent_files(folder: str) -> list[str]:
    """The checkpoints of a folder that are new enough for other sessions, oldest first."""
    try:
        with os.scandir(folder) as entries:
            found = [
                (entry.stat(follow_symlinks=False).st_mtime, entry.path)
                for entry in entries
                if entry.name.endswith(".md") and entry.is_file(follow_symlinks=False)
            ]
    except OSError:
        return []
    return [path for when, path in sorted(found)[-_MAX_RECENT:] if time.time() - when < OTHERS_S]


def _root_of(file: str, head: Mapping[str, Any]) -> str:
    """The project of a checkpoint: the one around its folder, or the one that it names; empty if there is none."""
    if _is_shared(file):
        return os.path.dirname(os.path.dirname(os.path.dirname(file)))
    named = head.get("project")
    is_path = isinstance(named, str) and os.path.isabs(named) and "\0" not in named
    return str(named) if is_path and os.path.isdir(str(named)) and not why_unusual(str(named)) else ""


def _is_shared(file: str) -> bool:
    """Whether a checkpoint is in a project's `.sage/`, not in Sage's home."""
    base = os.path.dirname(os.path.dirname(os.path.realpath(file)))
    return os.path.basename(base) == DOT_SAGE and base != os.path.realpath(sage_home())
