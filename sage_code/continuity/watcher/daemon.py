"""The loop of the watcher: waits for changes of files, finds compactions and new checkpoints, publishes them.

The kernel reports changes (watchfiles); where it cannot, the loop looks by itself every second. It also looks now and
then in between, since a report can be missed. What has to survive a restart is in the states of the sessions: how far a
transcript was read (`seen`), whether a compaction waits for its answer, and whether its checkpoint was saved
(`recovered`). A transcript that was there before the watcher is read from its end on. One that grew and is quiet again
is brought into recall memory, unless a hook has done it.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterable

from sage_code.continuity.dials import dials_of
from sage_code.continuity.remembering import is_behind
from sage_code.continuity.session import PENDING, Session, sessions_of
from sage_code.continuity.watcher.actions import CHECKPOINTS, Executor
from sage_code.continuity.watcher.journal import Journal
from sage_code.continuity.watcher.plugins import Action, BuiltIns, configured, plugins_path
from sage_code.continuity.watcher.reading import Compaction, Tail, cursor_before
from sage_code.continuity.watcher.sessions import Stamp, is_named_like_one, look, places, root_of, session_of
from sage_code.errors import Busy, SageError
from sage_code.events.bus import get_event_bus
from sage_code.events.events import Event
from sage_code.events.session_events import (
    WATCHER,
    CheckpointCreated,
    CheckpointFileCreated,
    CompactionDetected,
    DaemonStarted,
    DaemonStopping,
)
from sage_code.paths import DOT_SAGE, listeners_dir, sage_home
from sage_code.transcripts.lines import Cursor

# A change is taken up after 0.1 to 0.2 s of quiet, or after half a second of constant writing. Each step wakes the
# process up for some microseconds.
_STEP_MS, _DEBOUNCE_MS, _TICK_MS = 100, 500, 1_000
_POLL_S = 1.0
# How often it looks for folders that are new, by itself for changes, and again for a way to be told.
_FOLDERS_S, _SWEEP_S, _RETRY_S = 5.0, 60.0, 60.0
# Looking must not take more than a hundredth of the time, however many transcripts there are.
_MOST_OF_TIME = 100
_LOCK_WAIT_S = 1.0
# A session that has said nothing for so long is over, or waits: then its messages are remembered.
_QUIET_S = 300.0
# What a transcript that is new says about earlier times is a copy from another session.
_NEWS_S = 3_600.0
_MAX_TAILS = 2_000
_MAX_PROJECT_FOLDERS = 200


class Watcher:
    """Watches until `stop` is set, or its process until `is_homeless` says so. One thread runs it."""

    def __init__(
        self, journal: Journal, stop: threading.Event, is_homeless: Callable[[], bool] = lambda: False
    ) -> None:
        self._journal, self._stop, self._is_homeless = journal, stop, is_homeless
        self._executor = Executor(journal, self._publish_checkpoint)
        self._built_ins = BuiltIns(get_event_bus(), self._execute, journal.fail)
        self._had_listeners = False
        self._plugins_stamp: object = False  # another one than that of any file, and than that of none
        self._stamps: dict[str, Stamp] = {}
        self._tails: dict[str, Tail] = {}
        self._owners: dict[str, tuple[str, str]] = {}  # transcript → session and project; both empty: nobody's
        self._dials: dict[str, dict[str, object]] = {}
        self._changed: dict[str, float] = {}  # transcript → when it has grown last
        self._checkpoints: dict[str, set[str]] = {}  # folder → names in it
        self._next_sweep = self._next_folders = 0.0
        self._roots: list[object] = []
        self._watched: list[str] = []
        self.reason = "asked to stop"

    def run(self, on_up: Callable[[], None] = lambda: None) -> None:
        """Watch until `stop` is set. `on_up` is called when nothing that happens from then on is missed."""
        self._begin()
        on_up()
        try:
            while not self._stop.is_set():
                try:
                    self._watch()
                except Exception as error:  # nothing that a file holds may end the watcher
                    self._journal.fail("watching", error)
                    self._stop.wait(_POLL_S)
        finally:
            self._executor.close()
            self._emit(DaemonStopping(reason=self.reason))
            self._built_ins.close()
            self._journal.flush(now=True)

    # Waiting for changes

    def _begin(self) -> None:
        """Take note of what is there, and go on with what the last watcher left."""
        seen = look(places())
        self._stamps = dict(seen.files)
        newest = max(seen.files, key=lambda path: seen.files[path][1], default="")
        self._watch_checkpoints(os.path.realpath(os.path.join(sage_home(), CHECKPOINTS)))
        self._emit(DaemonStarted(pid=os.getpid(), transcript_path=newest))
        for data in sessions_of():
            try:
                self._resume(data)
            except (SageError, OSError, ValueError, TypeError) as error:
                self._journal.fail("a session that is known", error)
        self._tick()

    def _resume(self, data: dict[str, object]) -> None:
        """Go on with a session: what its transcript got meanwhile, and the checkpoint that was not finished."""
        path = os.path.realpath(str(data.get("transcript") or ""))
        session, root = str(data.get("session") or ""), str(data.get("root") or "")
        if path not in self._stamps or session_of(path) != session or not self._is_wanted(root):
            return
        compaction = data.get("compaction")
        known = compaction if isinstance(compaction, dict) and compaction.get("state") == PENDING else {}
        if known.get("id") and data.get("recovered") != known["id"]:
            self._emit_compaction(path, session, root, str(known["id"]))
        seen = data.get("seen")
        cursor = Cursor(*seen) if isinstance(seen, list) and len(seen) == len(Cursor._fields) else Cursor()
        if cursor.offset != self._stamps[path][0]:
            self._owners[path] = session, root
            tail = Tail(path, cursor, float(str(data.get("started") or 0)) - _NEWS_S)
            tail.read()
            self._add(tail, root)
            self._tell(path)

    def _watch(self) -> None:
        """Watch the folders that are there now; returns when they have changed."""
        seen = look(places())
        # Linux watches single folders, and below them would follow links; macOS watches whole trees.
        is_linux = sys.platform.startswith("linux")
        folders = list(seen.folders) if is_linux else [place.path for place in places() if os.path.isdir(place.path)]
        folders += [folder for folder in self._checkpoints if os.path.isdir(folder) and not _is_linked(folder)]
        self._watched, self._roots = seen.folders, self._root_stamps()
        try:
            from watchfiles._rust_notify import RustNotify  # lazy: 50 ms, and only here

            # Not `ignore_permission_denied`: that hides every error, also that no watch is left.
            notify = RustNotify(folders, False, False, 300, not is_linux, False)
        except FileNotFoundError:
            self._stop.wait(_STEP_MS / 1_000)  # deleted meanwhile: look again
            return
        except (OSError, RuntimeError, ImportError) as error:
            what = "the system reports no changes, so the watcher looks every second"
            if self._journal.noted("watching") != "polling":  # said once, not at every try
                self._journal.fail(what, error)
            self._poll(time.monotonic() + _RETRY_S)
            return
        with notify:
            self._journal.note(watching="events", folders=len(folders))
            # What was written before the watch began; folders that appeared in between are watched next time.
            if self._sweep():
                return
            while True:
                found = notify.watch(_DEBOUNCE_MS, _STEP_MS, _TICK_MS, self._stop)
                if found in ("stop", "signal") or self._stop.is_set():
                    return
                changes = [path for _, path in found] if isinstance(found, set) else []
                if self._take_all(changes) or self._tick() or self._are_folders_new():
                    return

    def _poll(self, until: float) -> None:
        """Look for changes without being told."""
        self._journal.note(watching="polling")
        pause = _POLL_S
        while time.monotonic() < until and not self._stop.wait(pause):
            started = time.monotonic()
            self._sweep()
            self._tick()
            pause = max(_POLL_S, (time.monotonic() - started) * _MOST_OF_TIME)

    def _are_folders_new(self) -> bool:
        """Whether a place has appeared, or is another folder than before."""
        if time.monotonic() < self._next_folders:
            return False
        self._next_folders = time.monotonic() + _FOLDERS_S
        return self._root_stamps() != self._roots

    def _root_stamps(self) -> list[object]:
        return [_identity(path) for path in (*(place.path for place in places()), *self._checkpoints)]

    def _sweep(self) -> bool:
        """Look at everything; whether there are other folders than those that are watched."""
        started = time.monotonic()
        seen = look(places())
        for path, stamp in seen.files.items():
            if self._stamps.get(path) != stamp:
                self._take(path)
        for path in self._stamps.keys() - seen.files.keys():  # deleted
            for kept in (self._stamps, self._tails, self._owners, self._changed):
                kept.pop(path, None)
        for folder in list(self._checkpoints):
            self._look_for_checkpoints(folder)
        took = time.monotonic() - started
        self._next_sweep = time.monotonic() + max(_SWEEP_S, took * _MOST_OF_TIME)
        return sorted(seen.folders) != sorted(self._watched)

    # What has changed

    def _take_all(self, changes: Iterable[str]) -> bool:
        """Take up what has changed; whether there are new folders to watch."""
        is_new_folder = False
        for path in changes:
            folder, name = os.path.split(path)
            if folder in self._checkpoints:
                self._look_for_checkpoints(folder)
            elif is_named_like_one(name):
                self._take(path)
            elif os.path.isdir(path) and not os.path.islink(path):
                is_new_folder = True
        return is_new_folder and sys.platform.startswith("linux")

    def _tick(self) -> bool:
        """Do what is due by time; whether there are other folders than those that are watched."""
        if self._is_homeless():
            # Somebody has deleted its folder. A new watcher would not see its lock, and writing would bring it back.
            os._exit(0)
        for path in [path for path, tail in self._tails.items() if tail.waits]:
            self._tell(path)
        for path in [path for path, at in self._changed.items() if time.monotonic() - at > _QUIET_S]:
            del self._changed[path]
            self._remember(path)
        if self._executor.summaries.is_due():
            self._executor.execute_actions([Action("summarise")], blocking=False)
        self._journal.note(following=len(self._tails))
        self._journal.flush()
        return time.monotonic() >= self._next_sweep > 0 and self._sweep()

    def _take(self, path: str) -> None:
        """Read what is new in a file, if it is a transcript that is really there."""
        try:
            state = os.lstat(path)
            before = self._stamps.get(path)
            stamp = (state.st_size, state.st_mtime_ns)
            if stamp == before or os.path.realpath(path) != path or not stat.S_ISREG(state.st_mode):
                return
            self._stamps[path] = stamp
            if path in self._tails:
                self._tails[path].read()
            elif not self._follow(path, before):
                return
            self._changed[path] = time.monotonic()
            self._tell(path)
        except (SageError, OSError) as error:  # deleted meanwhile, or not ours to read
            if os.path.exists(path):
                self._journal.fail(f"transcript {path}", error)

    def _follow(self, path: str, before: Stamp | None) -> bool:
        """Begin to follow a transcript; False if it is nobody's or cannot be told yet."""
        session, root = self._owner(path)
        if not session or not self._is_wanted(root):
            return False
        tail = Tail(path, cursor_before(path, before[0])) if before else Tail(path, Cursor(), time.time() - _NEWS_S)
        tail.read()
        self._add(tail, root)
        # What was there before the watcher, or before the session, is not news for anybody who follows it later.
        begins = tail.cursor if tail.has_old_ones and not tail.waits else tail.start
        try:
            with Session(session, root, _LOCK_WAIT_S) as state:
                if not state.transcript or not os.path.exists(state.transcript):
                    state.data["transcript"] = path
                if begins.offset:
                    state.data.setdefault("seen", list(begins))
                state.data.setdefault("used", time.time())
        except Busy:
            pass  # whoever holds the state has made it
        return True

    def _add(self, tail: Tail, root: str) -> None:
        while len(self._tails) >= _MAX_TAILS:
            del self._tails[next(iter(self._tails))]
        self._tails[tail.path] = tail
        self._watch_checkpoints(os.path.join(root, DOT_SAGE, CHECKPOINTS))

    def _owner(self, path: str) -> tuple[str, str]:
        """The session and the project of a transcript; empty if they are not known or there is none."""
        if path not in self._owners:
            root = root_of(path)
            if root is None:
                # Not said yet: the first lines of a transcript may be without a folder. Looked at again when it grows.
                self._stamps.pop(path, None)
                return "", ""
            self._owners[path] = (session_of(path), root) if root else ("", "")
        return self._owners[path]

    def _tell(self, path: str) -> None:
        """Publish the newest compaction of a transcript, unless it was answered."""
        tail = self._tails[path]
        if (found := tail.newest()) is None:
            return
        session, root = self._owners[path]
        if not self._is_wanted(root):
            return  # switched off meanwhile
        if _is_answered(session, root, found):
            self._journal.log(f"compaction in {root}, session {session}: a hook has answered it")
            return
        self._emit_compaction(path, session, root, found.id, found.summary)

    def _remember(self, path: str) -> None:
        """Have a transcript brought into recall memory that is quiet now."""
        session, root = self._owners.get(path, ("", ""))
        if not session or not self._is_wanted(root):
            return
        if dials_of(root, self._dials[root])["remember_conversations"] and is_behind(Session(session, root).loaded()):
            task = {"session": session, "root": root, "transcript": path, "compaction": ""}
            self._executor.execute_actions([Action("save_recovery", task)], blocking=False)

    def _is_wanted(self, root: str) -> bool:
        """Whether sessions of a project are followed."""
        return os.path.isdir(root) and bool(dials_of(root, self._dials.setdefault(root, {}))["continuity_enabled"])

    # Checkpoints

    def _watch_checkpoints(self, folder: str) -> None:
        """Watch a folder of checkpoints from now on; those that are in it are not new."""
        if folder not in self._checkpoints and len(self._checkpoints) < _MAX_PROJECT_FOLDERS:
            self._checkpoints[folder] = _names(folder)
            self._next_folders = 0.0

    def _look_for_checkpoints(self, folder: str) -> None:
        names = _names(folder)
        for name in sorted(names - self._checkpoints[folder]):
            file = os.path.join(folder, name)
            self._emit(CheckpointFileCreated(file_path=file, checkpoint_id=name.removesuffix(".md")))
        self._checkpoints[folder] = names

    # Events

    def _emit(self, event: Event) -> None:
        """Publish an event: the built-in plugins answer first, then those of the user hear of it.

        The loop waits for the user's plugins. Their time is bounded, and three failures switch one off.
        """
        stamp = _identity(plugins_path(), times=True)
        if stamp != self._plugins_stamp:
            self._plugins_stamp = stamp
            plugins, warnings = configured()
            self._built_ins.use(plugins)
            for warning in warnings:
                self._journal.log(f"warning: {warning}")
        self._publish(event)

    def _emit_compaction(self, path: str, session: str, root: str, id_: str, summary: str = "") -> None:
        self._emit(
            CompactionDetected(
                source=WATCHER, summary=summary, transcript_path=path, session=session, root=root, compaction=id_
            )
        )

    def _publish(self, event: Event) -> None:
        self._journal.note(last_event={"at": time.time(), "type": type(event).__name__})
        self._had_listeners = self._had_listeners or os.path.exists(listeners_dir())
        if self._had_listeners:
            from sage_code.events.listening import bus_for  # lazy: a watcher that only the agents need stays small

            bus_for(event.type)  # puts the user's plugins on the bus, and takes those off that are enabled no more
        get_event_bus().publish_sync(event)

    def _publish_checkpoint(self, id_: str) -> None:
        """Publish a checkpoint that was saved; called in a thread of the executor."""
        self._publish(CheckpointCreated(source=WATCHER, checkpoint_id=id_, checkpoint_type="precompact"))

    def _execute(self, actions: Iterable[Action], event: Event) -> None:
        """Have done what a built-in plugin asks for. At the end the threads are gone that do it in the background."""
        self._executor.execute_actions(actions, blocking=isinstance(event, DaemonStopping))


def _is_answered(session: str, root: str, found: Compaction) -> bool:
    """Whether a hook or a tool has already taken this compaction."""
    state = Session(session, root)
    state.load()
    known = state.data.get("compaction")
    return isinstance(known, dict) and known.get("id") == found.id and known.get("state") != PENDING


def _is_linked(folder: str) -> bool:
    """Whether a link is on the way to a folder; a project may come from anybody."""
    return os.path.realpath(folder) != folder


def _names(folder: str) -> set[str]:
    """The checkpoints in a folder; links are left out."""
    try:
        if _is_linked(folder):
            return set()
        with os.scandir(folder) as entries:
            return {entry.name for entry in entries if entry.name.endswith(".md") and not entry.is_symlink()}
    except OSError:
        return set()


def _identity(path: str, *, times: bool = False) -> object:
    """What tells whether a path is another file or folder now; None if there is nothing."""
    try:
        state = os.stat(path)
    except OSError:
        return None
    return (state.st_dev, state.st_ino, *((state.st_mtime_ns, state.st_size) if times else ()))
