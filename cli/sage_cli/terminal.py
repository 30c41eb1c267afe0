"""Shows progress on a terminal, as a bar with rate and remaining time on standard error; elsewhere only notes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Self

from sage_cli.output import one_line

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


class TerminalProgress:
    """Answers the library's `Progress` calls; use as a context manager."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._show = sys.stderr.isatty() and not quiet and os.environ.get("TERM") not in ("dumb", "unknown")

    def __enter__(self) -> Self:
        if self._show:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}"),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def stage(self, name: str, total: int | None = None) -> None:
        """Replace the last stage by a new one."""
        if self._bar is not None:
            if self._task is not None:
                self._bar.remove_task(self._task)
            self._task = self._bar.add_task(name, total=total, rate="")

    def advance(self, steps: int = 1) -> None:
        """Move the bar."""
        if self._bar is not None and self._task is not None:
            self._bar.advance(self._task, steps)
            speed = self._bar.tasks[-1].speed
            self._bar.update(self._task, rate=f"{speed:,.0f}/s" if speed else "")

    def note(self, text: str) -> None:
        """Print one line above the bar, or plainly to standard error."""
        if self._bar is not None:
            self._bar.console.print(one_line(text), markup=False, highlight=False)
        else:
            print(f"sage: {one_line(text)}", file=sys.stderr)
