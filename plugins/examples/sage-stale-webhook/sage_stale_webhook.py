"""Posts a JSON document to a URL for every memory whose code has changed.

The address is in `webhook.json` in the plugin's folder. It must be on this machine, unless the file allows others:

    {"url": "https://hooks.example.org/stale", "allow_remote": true}

An event is put into a short queue and posted by a thread: Sage never waits for the receiver. What could not be posted
is raised with the next event, or at the end, and Sage says it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from ipaddress import ip_address
from pathlib import Path
from queue import Full, Queue
from typing import Any
from urllib.parse import urlsplit

from sage_code.events.events import Event, EventType
from sage_code.events.plugins import PluginBase, PluginMetadata

MOST_WAITING = 100
POST_SECONDS = 2.0
LAST_SECONDS = 3.0  # for what still waits when Sage ends


class StaleWebhookPlugin(PluginBase):
    """Subscribes to `staleness.found`."""

    metadata = PluginMetadata(
        name="sage-stale-webhook",
        version="1.0.0",
        author="Sage",
        description="Posts to a URL which memories are stale.",
    )

    def on_load(self, context: Mapping[str, Any]) -> None:
        """Subscribe, and start the thread that posts."""
        self._file = Path(context["folder"], "webhook.json")
        self._waiting: Queue[dict[str, Any] | None] = Queue(MOST_WAITING)
        self._problem = ""
        self._thread = threading.Thread(target=self._post_all, daemon=True)
        self._thread.start()
        context["bus"].subscribe(EventType.STALENESS_FOUND, self._found)

    def on_unload(self) -> None:
        """Post what still waits, if it does not take long."""
        self._waiting.put(None, timeout=LAST_SECONDS)
        self._thread.join(LAST_SECONDS)
        self._raise_problem()

    def _found(self, event: Event) -> None:
        try:
            self._waiting.put_nowait({"type": event.type, "timestamp": event.timestamp, **event.metadata})
        except Full:
            self._problem = f"{MOST_WAITING} findings wait to be posted; this one is left out"
        self._raise_problem()

    def _raise_problem(self) -> None:
        problem, self._problem = self._problem, ""
        if problem:
            raise RuntimeError(problem)

    def _post_all(self) -> None:
        while (document := self._waiting.get()) is not None:
            try:
                self._post(document)
            except (OSError, ValueError, HTTPException) as error:
                self._problem = f"a finding could not be posted: {error or type(error).__name__}"

    def _post(self, document: dict[str, Any]) -> None:
        """Post one document; no redirect is followed, and no proxy is used."""
        if not self._file.exists():
            return
        settings = json.loads(self._file.read_text("utf-8"))
        url = urlsplit(str(settings["url"]) if isinstance(settings, dict) and "url" in settings else "")
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ValueError(f'{self._file} needs an address: {{"url": "http://127.0.0.1:8000/stale"}}')
        if not (_is_here(url.hostname) or settings.get("allow_remote") is True):
            raise ValueError(f"{url.hostname} is not this machine, and {self._file} does not allow others")
        kind = HTTPSConnection if url.scheme == "https" else HTTPConnection
        connection = kind(url.hostname, url.port, timeout=POST_SECONDS)
        try:
            path = f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"
            connection.request("POST", path, json.dumps(document), {"Content-Type": "application/json"})
            status = connection.getresponse().status
        finally:
            connection.close()
        if status >= 300:
            raise ValueError(f"{url.hostname} answered with {status}")


def _is_here(host: str) -> bool:
    """Whether an address names this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:  # a name, which may lead anywhere
        return False
