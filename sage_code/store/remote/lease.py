"""The lease that keeps two machines from writing into the tables of a remote store at once.

It is one object, changed only by conditional writes, which have one winner. Its holder writes it again every few
seconds (a heartbeat). A process that waits takes it over when it has not changed for `SECONDS` **by the waiter's own
monotonic clock**, so no machine's time of day matters. Without conflict each use costs three requests, and each
`confirm` one.

A lease alone cannot stop a holder that slept through a takeover and then goes on writing. So each write reads the
version of its table first, then asks `confirm`, then commits on that version; one who takes over makes a commit in each
table with which no older write is compatible (`Table.fence`). A write of a former holder is then either before the
fence, where the new holder sees it, or refused by Lance.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import orjson

from sage_code.errors import Busy
from sage_code.store.remote.objects import StoreUnreachableError

if TYPE_CHECKING:
    from sage_code.store.remote.objects import Objects, Stored

# History of the object: 1: first version.
FORMAT = 1
# A lease that has not changed for so long may be taken over. A heartbeat may fail twice before that happens.
SECONDS = 20.0
_BEATS = 4  # heartbeats in that time
# How often one who waits looks at it: an addition takes about a second.
_POLL_SECONDS = 0.25
# Longer than any use of it: who waits so long gives up with a message.
_PATIENCE_SECONDS = 1_800.0


class LeaseLostError(Busy):
    """Another machine has taken the lease over; nothing was written since, and the work can be repeated."""


class Lease:
    """One lease, for one process."""

    def __init__(self, objects: Objects, key: str, seconds: float | None = None) -> None:
        self._objects, self._key = objects, key
        self.seconds = SECONDS if seconds is None else seconds
        self._holder = secrets.token_hex(8)
        self._guard = threading.Lock()  # the heartbeat and `confirm` write in turn
        self._tag = ""  # of the object as we wrote it last; "" if the lease is not ours
        self._turn = self._beat = 0

    @contextlib.contextmanager
    def held(self, on_takeover: Callable[[], None], on_wait: Callable[[], None] | None = None) -> Iterator[None]:
        """Hold the lease. `on_takeover` is called before anything else when the last holder has not given it back."""
        was_given_back = self._acquire(on_wait)
        stop = threading.Event()
        heart = threading.Thread(target=self._beat_until, args=(stop,), name="sage-lease", daemon=True)
        heart.start()
        finished = False
        try:
            if not was_given_back:
                on_takeover()
            yield
            finished = True
        finally:
            stop.set()
            heart.join()
            if finished:  # after a failure a write may still be under way at the server: the next holder fences it off
                self._give_back()
            self._tag = ""

    def confirm(self) -> None:
        """Make sure that the lease is ours; `LeaseLostError` if it is not."""
        with self._guard:
            self._renew()

    def _acquire(self, on_wait: Callable[[], None] | None) -> bool:
        """Wait for the lease; whether its last holder had given it back."""
        started = since = time.monotonic()
        seen = ""
        while True:
            found = self._objects.get(self._key)
            state = _state(found)
            now = time.monotonic()
            tag = found.tag if found is not None else ""
            if tag != seen:
                seen, since = tag, now
            is_free = not state["holder"]
            if is_free or state["holder"] == self._holder or now - since > self.seconds:
                self._turn, self._beat = state["turn"] + 1, 0
                if self._write(tag, self._holder):
                    return is_free
                continue
            if on_wait is not None:
                on_wait()
                on_wait = None  # once
            if now - started > _PATIENCE_SECONDS:
                raise Busy(
                    f"other machines are writing to {self._objects.address} for {_PATIENCE_SECONDS / 60:.0f} minutes",
                    "run the command again later",
                )
            time.sleep(min(_POLL_SECONDS, self.seconds / 4))

    def _renew(self) -> None:
        if not self._tag or not self._write(self._tag, self._holder):
            self._tag = ""
            raise LeaseLostError(
                f"another machine has taken over the right to write to {self._objects.address}",
                "nothing is lost: run the command again",
            )

    def _write(self, tag: str, holder: str) -> bool:
        """Write the next state in the place of the one with this tag; False if another process was quicker."""
        self._beat += 1
        state = {"format": FORMAT, "holder": holder, "turn": self._turn, "beat": self._beat}
        data = orjson.dumps(state)
        new = self._objects.swap(self._key, data, tag)
        if new is None:
            # A write whose answer got lost is repeated by the client, and then finds itself.
            found = self._objects.get(self._key)
            new = found.tag if found is not None and found.data == data else None
        self._tag = new or ""
        return new is not None

    def _beat_until(self, stop: threading.Event) -> None:
        """The heartbeat, in a thread of its own. When it ends early, the next `confirm` says why."""
        while not stop.wait(self.seconds / _BEATS):
            with self._guard:
                try:
                    self._renew()
                except LeaseLostError:
                    return
                except StoreUnreachableError:
                    continue  # the next beat may get through; if not, another machine takes over

    def _give_back(self) -> None:
        """Leave it free, so that the next one does not wait."""
        with self._guard:
            if self._tag:
                with contextlib.suppress(StoreUnreachableError):  # then it runs out by itself
                    self._write(self._tag, "")


def _state(found: Stored | None) -> dict[str, Any]:
    """What the object says; a damaged or unknown one is somebody's until it runs out."""
    if found is None:
        return {"holder": "", "turn": 0}
    try:
        data = orjson.loads(found.data)
        return {"holder": str(data["holder"]), "turn": int(data["turn"])}
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return {"holder": "unknown", "turn": 0}
