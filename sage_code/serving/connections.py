"""Ends the connections of a peer that sends half a request, reads no answer or opens too many.

uvicorn waits for ever for the rest of a request and for room in the peer's buffers. Any page in a browser can open
connections to a port of this machine, so each lasts only as long as a program on the same machine could need it.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# From the connection, or from the end of the answer before, to the last byte of a request. No program on this machine
# needs more, and a byte now and then does not prolong it.
REQUEST_S = 20.0
# How long a peer may leave an answer unread that no longer fits into the buffers.
UNREAD_S = 60.0
# Half of the files that a process may usually have open.
MAX_CONNECTIONS = 512


class BoundedConnection(H11Protocol):
    """One connection, with its time limits."""

    _waiting: asyncio.TimerHandle | None = None  # for the rest of a request
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base
        """A peer has connected."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
        else:
            self._watch()

    def data_received(self, data: bytes) -> None:
        """A peer has sent something."""
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        """An answer is out; the next request may be here in part already."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """The peer does not read."""
        super().pause_writing()
        self._unread = self.loop.call_later(UNREAD_S, self.transport.abort)

    def resume_writing(self) -> None:
        """The peer reads again."""
        super().resume_writing()
        _cancel(self._unread)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        super().connection_lost(exc)
        _cancel(self._waiting)
        _cancel(self._unread)

    def _watch(self) -> None:
        """Start the clock while a request is incomplete, and stop it when the whole request is here."""
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY) or self.transport.is_closing():
            _cancel(self._waiting)
            self._waiting = None
        elif self._waiting is None:
            self._waiting = self.loop.call_later(REQUEST_S, self.transport.abort)


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
