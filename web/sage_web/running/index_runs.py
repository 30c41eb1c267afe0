"""The index runs that pages start, follow and stop, and those that other processes do meanwhile.

A run belongs to the server: it goes on when its page is closed, every page sees it, and it ends with the server. It
works in a child process, so that the server stays small and goes on answering. A project has one run at a time.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from sage_code.errors import Busy, SageError
from sage_code.text.masking import mask_all
from sage_web.running.live import Live, Message, root_of

if TYPE_CHECKING:
    from sage_web.projects import Projects

Phase = Literal["running", "stopping", "done", "stopped", "failed"]
# A page is told about progress so often at most.
_TELL_S = 0.1
_MOVING: tuple[Phase, ...] = ("running", "stopping")


@dataclass(frozen=True, slots=True)
class Run:
    """One index run, as it is now."""

    project: str  # the slug
    number: int
    full: bool
    started: float
    phase: Phase = "running"
    stage: str = "starting"
    done: int = 0
    total: int | None = None
    note: str = ""
    seconds: float = 0.0  # that it took; 0 while it goes on
    counts: tuple[tuple[str, int], ...] = ()
    error: str = ""
    hint: str = ""
    by: str = ""  # the process that does it, if it is not this server's own

    @property
    def is_moving(self) -> bool:
        """Whether it goes on."""
        return self.phase in _MOVING

    def message(self) -> Message:
        """As pages are told about it, with what looks like a secret masked."""
        return {"kind": "run", **asdict(mask_all(self, []))}


class _Stopped(Exception):  # noqa: N818 - not an error: somebody wants it
    """The run is to end."""


class IndexRuns:
    """The last run of each project."""

    def __init__(self, live: Live, projects: Projects) -> None:
        self._live, self._projects = live, projects
        self._runs: dict[str, Run] = {}  # by root
        self._elsewhere: dict[str, tuple[int, Run | None]] = {}  # by root: the process, and the run before
        self._lock = threading.Lock()
        self._number = 0
        live.subscribe(self._heard, self._greeting)
        live.on_end(self.stop_all)

    def last(self, root: str) -> Run | None:
        """The run of a project that goes on, or the last one."""
        with self._lock:
            self._forget_dead(root)
            return self._runs.get(root)

    def start(self, root: str, slug: str, *, full: bool = False) -> Run:
        """Begin a run; Busy if one of this server goes on."""
        with self._lock:
            known = self._runs.get(root)
            if known is not None and known.is_moving and not known.by:
                raise Busy(f"{slug} is being indexed already", "wait for it, or stop it")
            run = self._new(slug, full)
            self._runs[root] = run
        self._live.send(run.message())
        threading.Thread(target=self._work, args=(root, run), name=f"index {slug}", daemon=True).start()
        return run

    def stop(self, root: str) -> Run | None:
        """Have the run of a project end; the last good index stays. One of another process goes on."""
        if self.last(root) is None:
            return None
        return self._change(root, lambda run: replace(run, phase="stopping") if run.is_moving and not run.by else run)

    def stop_all(self) -> None:
        """Have every run end: the server does."""
        for root in tuple(self._runs):
            self.stop(root)

    # -- a run of this server, in its own thread --------------------------------------------------------------------

    def _work(self, root: str, run: Run) -> None:
        """Do a run to its end, whatever that is."""
        from sage_code.project import Project  # lazy: only a run needs it

        try:
            stats = Project(root).index(full=run.full, apart=True, progress=_Following(self, root))
        except _Stopped:
            self._finish(root, phase="stopped")
        except SageError as error:
            self._finish(root, phase="failed", error=error.message, hint=error.hint)
        except OSError as error:
            hint = "the last good index is untouched; try again"
            self._finish(root, phase="failed", error=f"the process that indexes could not be run: {error}", hint=hint)
        else:
            self._finish(root, phase="done", counts=_counts(asdict(stats)))

    def _finish(self, root: str, **values: Any) -> None:
        now = time.time()
        self._change(root, lambda run: replace(run, seconds=max(now - run.started, 0.001), stage="", **values))

    def progress(self, root: str, change: Callable[[Run], Run], *, tell: bool) -> None:
        """A run has gone on; raises if it is to end."""
        if self._change(root, change, tell=tell).phase == "stopping":
            raise _Stopped

    def _change(self, root: str, change: Callable[[Run], Run], *, tell: bool = True) -> Run:
        with self._lock:
            run = self._runs[root] = change(self._runs[root])
        if tell:
            self._live.send(run.message())
        return run

    def _new(self, slug: str, full: bool, by: str = "") -> Run:
        self._number += 1
        return Run(slug, self._number, full, time.time(), by=by)

    # -- runs of other processes, in the thread that reads events ----------------------------------------------------

    def _heard(self, event: Message, slug: str) -> None:
        """Follow the runs of other processes; those of this server tell more by themselves."""
        kind, root, pid = event["type"], root_of(event), event.get("pid")
        if not slug or kind not in ("index.started", "index.finished", "index.failed") or type(pid) is not int:
            return
        with self._lock:
            known = self._runs.get(root)
            if kind == "index.started":
                if (known is not None and known.is_moving) or not _is_alive(pid):
                    return
                by = f"{event.get('program', 'process')} {pid}"
                run = replace(self._new(slug, full=False, by=by), stage="indexing")
                self._elsewhere[root] = pid, known
            elif known is None or not known.is_moving or self._elsewhere.get(root, (0,))[0] != pid:
                return
            else:
                _, before = self._elsewhere.pop(root)
                run = _ended(known, event)
                if before is not None and _found_nothing(run):
                    run = before  # every search looks for changes: that is no news
            self._runs[root] = run
        self._live.send(run.message())

    def _forget_dead(self, root: str) -> None:
        """A process that was killed says nothing any more."""
        run = self._runs.get(root)
        pid, _ = self._elsewhere.get(root, (0, None))
        if run is not None and run.is_moving and run.by and not (pid and _is_alive(pid)):
            self._elsewhere.pop(root, None)
            why = "the process that indexed has ended without a word"
            self._runs[root] = replace(run, phase="failed", stage="", error=why, hint="start another run")

    def _greeting(self) -> Iterator[Message]:
        """What a new page is told: the runs that go on."""
        for root in tuple(self._runs):
            run = self.last(root)
            if run is not None:
                yield run.message()


class _Following:
    """The `Progress` of a run."""

    def __init__(self, runs: IndexRuns, root: str) -> None:
        self._runs, self._root = runs, root
        self._told = 0.0

    def stage(self, name: str, total: int | None = None) -> None:
        """A stage begins."""
        self._runs.progress(self._root, lambda run: replace(run, stage=name, total=total, done=0), tell=True)

    def advance(self, steps: int = 1) -> None:
        """Some steps are done; without any, the run lives and may be stopped."""
        tell = bool(steps) and time.monotonic() - self._told > _TELL_S
        if tell:
            self._told = time.monotonic()
        self._runs.progress(self._root, lambda run: replace(run, done=run.done + steps), tell=tell)

    def note(self, text: str) -> None:
        """A line for people."""
        self._runs.progress(self._root, lambda run: replace(run, note=text), tell=True)


def _ended(run: Run, event: Message) -> Run:
    """The run of another process after its last event."""
    metadata = event.get("metadata")
    about = metadata if isinstance(metadata, dict) else {}
    seconds = max(time.time() - run.started, 0.001)
    if event["type"] == "index.failed":
        return replace(run, phase="failed", stage="", seconds=seconds, error=str(about.get("message", ""))[:1_000])
    stats = about.get("stats")
    return replace(
        run, phase="done", stage="", seconds=seconds, counts=_counts(stats if isinstance(stats, dict) else {})
    )


def _found_nothing(run: Run) -> bool:
    counts = dict(run.counts)
    return run.phase == "done" and not any(counts.get(_WORDS[name]) for name in ("files_indexed", "files_removed"))


_WORDS = {
    "files_indexed": "files indexed",
    "files_unchanged": "unchanged",
    "files_removed": "removed",
    "files_skipped": "skipped",
    "chunks_created": "chunks embedded",
    "chunks_reused": "chunks reused",
}


def _counts(stats: dict[str, Any]) -> tuple[tuple[str, int], ...]:
    return tuple((words, stats[name]) for name, words in _WORDS.items() if type(stats.get(name)) is int)


def _is_alive(pid: int) -> bool:
    """Whether there is such a process of this user."""
    if os.name == "nt" or pid <= 1:
        return os.name == "nt"  # there a signal would end it
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
