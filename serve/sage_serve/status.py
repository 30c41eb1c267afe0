"""Health, readiness and figures of a server, as probes and Prometheus ask for them."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

from sage_code.serving import metrics as figures

if TYPE_CHECKING:
    from sage_code.serving.metrics import Metrics
    from sage_serve.served import Served

# How often a process of several writes its figures for the others.
SAVE_EVERY_S = 1.0


class Status:
    """The state of one process of the server."""

    def __init__(self, served: Served, metrics: Metrics, folder: str = "") -> None:
        self.served, self._metrics = served, metrics
        self._folder, self._own = folder, f"{os.getpid()}.json"
        self.is_draining = False

    async def answer(self, path: str) -> tuple[int, bytes]:
        """The answer to a probe: whether the process is alive, or whether it should be sent requests."""
        if path == "/healthz":
            return 200, b"alive\n"
        if self.is_draining:
            return 503, b"the server is shutting down\n"
        problem = await asyncio.to_thread(self.served.why_not_ready)
        return (503, f"{problem}\n".encode()) if problem else (200, b"ready\n")

    async def metrics_text(self) -> bytes:
        """The figures of all processes of the server."""
        return await asyncio.to_thread(self._text)

    def _text(self) -> bytes:
        self._look()
        for name, age in self.served.ages().items():
            self._metrics.set("sage_index_age_seconds", round(age, 1), project=name)
        others = figures.saved(self._folder, self._own) if self._folder else []
        return figures.text_of([self._metrics.snapshot(), *others]).encode()

    def _look(self) -> None:
        self._metrics.set("sage_process_resident_bytes", figures.resident_bytes())
        self._metrics.set("sage_workers", 1)
        self._metrics.set("sage_draining", float(self.is_draining))

    async def keep_saving(self) -> None:
        """Let the other processes know the figures of this one, as long as it runs."""
        while self._folder:
            self._look()
            path = os.path.join(self._folder, self._own)
            await asyncio.to_thread(figures.save, self._metrics.snapshot(), path)
            await asyncio.sleep(SAVE_EVERY_S)
