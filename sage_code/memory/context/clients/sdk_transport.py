"""Sends the requests of the Anthropic SDK by `exchange.posted`. Imports httpx2: only who asks the SDK loads this."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import httpx2

from sage_code.memory.context.clients.asking import Deadline, Failed
from sage_code.memory.context.clients.exchange import Address, posted
from sage_code.memory.context.clients.service import Service

# `posted` and `http.client` set these.
_OURS = ("host", "connection", "accept-encoding", "content-length", "transfer-encoding")
_STREAM = "text/event-stream"


class Transport(httpx2.BaseTransport):
    """One request to one address. The SDK wraps what fails here, so it is kept as `failure`."""

    def __init__(self, address: Address, service: Service, deadline: Deadline) -> None:
        self._address, self._service, self._deadline = address, service, deadline
        self._open = ExitStack()
        self.failure: Failed | None = None

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """See httpx2: the answer to a request, its body still on the way."""
        headers = {name: value for name, value in request.headers.items() if name not in _OURS}
        try:
            reply = self._open.enter_context(posted(self._address, headers, request.read(), self._deadline))
            if reply.status != 200:
                raise self._service.failure(reply)
            if reply.content_type != _STREAM:
                raise self._service.wrong_type(reply)
        except Failed as error:
            self.failure = error
            raise
        # Other headers of the answer are left out: the SDK writes them to its log.
        return httpx2.Response(200, headers={"content-type": _STREAM}, stream=_Body(self, reply.chunks))

    def close(self) -> None:
        """See httpx2."""
        self._open.close()


class _Body(httpx2.SyncByteStream):
    def __init__(self, transport: Transport, chunks: Iterator[bytes]) -> None:
        self._transport, self._chunks = transport, chunks

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self._chunks
        except Failed as error:
            self._transport.failure = error
            raise
