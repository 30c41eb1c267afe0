"""Reports the progress of a run to a client, and ends the run when the client cancels the request."""

from __future__ import annotations

import time

from anyio import from_thread
from mcp.server.mcpserver import Context

_SECONDS_BETWEEN_REPORTS = 0.5


class Reports:
    """Answers the library's `Progress` calls with notifications; raises when the client has cancelled the request."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._steps = 0  # of all stages: in the protocol progress only grows
        self._stage, self._done, self._total = "", 0, 0
        self._last = 0.0

    def stage(self, name: str, total: int | None = None) -> None:
        """A stage begins."""
        self._stage, self._done, self._total = name, 0, total or 0
        self.note(name)

    def advance(self, steps: int = 1) -> None:
        """Count, and report now and then."""
        from_thread.check_cancelled()
        self._done += steps
        if time.monotonic() - self._last > _SECONDS_BETWEEN_REPORTS:
            self.note(f"{self._stage} {self._done:,}/{self._total:,}" if self._total else self._stage)

    def note(self, text: str) -> None:
        """Report one line at once."""
        from_thread.check_cancelled()
        self._last = time.monotonic()
        self._steps += 1
        from_thread.run(self._context.report_progress, self._steps, None, text)
