"""Indexes projects in the background: the first question about a project starts a run, and does not wait for it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from sage_code.errors import SageError

if TYPE_CHECKING:
    from sage_code.project import Project

# How long after a failed run no question starts another.
_SECONDS_BEFORE_ANOTHER = 60.0


class Run:
    """One run in the background; as a `Progress` it only remembers how far it is."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._stage, self._done, self._total = "starting", 0, 0
        self._ended = threading.Event()
        self.ended_at = float("inf")
        self.error: SageError | None = None
        # A daemon thread ends with the server, and the child process with it.
        threading.Thread(target=self._run, name="sage-index", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Wait at most so many seconds; whether the run has ended well."""
        return self._ended.wait(seconds) and self.error is None

    @property
    def is_over(self) -> bool:
        """Whether it has ended, well or not."""
        return self._ended.is_set()

    def state(self) -> str:
        """How far the run is, or why it failed, for the reader of an answer."""
        if self.error is not None:
            return f"indexing failed: {self.error.message}; {self.error.hint}"
        count = f" {self._done:,} of {self._total:,}" if self._total else ""
        return f"it is being indexed now ({self._stage}{count}): ask again soon for a better answer"

    def _run(self) -> None:
        try:
            self._project.index(progress=self, apart=True)
        except SageError as error:
            self.error = error
        except Exception as error:
            self.error = SageError(f"unexpected {type(error).__name__}: {error}", "run `sage index` to see why")
        finally:
            self.ended_at = time.monotonic()
            self._ended.set()

    def stage(self, name: str, total: int | None = None) -> None:
        """A stage begins."""
        self._stage, self._done, self._total = name, 0, total or 0

    def advance(self, steps: int = 1) -> None:
        """Count."""
        self._done += steps

    def note(self, text: str) -> None:
        """Ignored."""


class Background:
    """The runs of a server, one for each project."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self._lock = threading.Lock()

    def index(self, project: Project) -> Run:
        """The run of a project: the one under way, or a new one."""
        with self._lock:
            run = self._runs.get(project.root)
            if run is None or (run.is_over and not self._rests(run)):
                run = self._runs[project.root] = Run(project)
            return run

    def of(self, root: str) -> Run | None:
        """The run that is under way, or the last one if it failed."""
        run = self._runs.get(root)
        return run if run is not None and (not run.is_over or run.error is not None) else None

    def _rests(self, run: Run) -> bool:
        return run.error is not None and time.monotonic() - run.ended_at < _SECONDS_BEFORE_ANOTHER
