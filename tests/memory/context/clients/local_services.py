"""Servers on 127.0.0.1 that speak as the services do, and that misbehave on purpose.

`Local` answers the first connection by the first script, and so on; the last script answers all further ones. A script
is given the connection after the request was read. `PROTOCOLS` has the two kinds of services with the same verbs, so
that every case runs against both.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Self

from sage_code.memory.context.clients.anthropic_messages import AnthropicMessages
from sage_code.memory.context.clients.asking import Pace
from sage_code.memory.context.clients.model_summariser import ModelSummariser
from sage_code.memory.context.clients.openai_compatible import OpenAICompatible

KEY = "sk-ant-api03-Zk4v9Qm2Lx7Tn1Rw8Yp3Hs6Jd5Fc0Bg-uVeXoKiAa"
Script = Callable[[socket.socket], None]


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    line: str
    headers: dict[str, str]
    body: bytes


class Local:
    """A server; as a context manager it ends with the block."""

    def __init__(self, *scripts: Script) -> None:
        self.scripts = scripts
        self.requests: list[Request] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.settimeout(10)
            request = _read(connection)
            self.requests.append(request)
            if self.scripts:
                self.scripts[min(len(self.requests), len(self.scripts)) - 1](connection)
            with suppress(OSError):  # let the client read to the end before the connection is gone
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1)


def _read(connection: socket.socket) -> Request:
    got = b""
    while b"\r\n\r\n" not in got:
        chunk = connection.recv(65_536)
        if not chunk:
            raise ConnectionError
        got += chunk
        if got.startswith(b"\x16"):
            return Request("a handshake", {}, got)
    head, _, body = got.partition(b"\r\n\r\n")
    line, *fields = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
    while len(body) < int(headers.get("content-length", "0")):
        body += connection.recv(65_536)
    return Request(line, headers, body)


# Scripts


def status(code: int, body: str = "", **headers: str) -> Script:
    fields = {"content-type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return raw(_head(code, fields, len(body.encode())) + body.encode())


def raw(data: bytes) -> Script:
    return lambda connection: connection.sendall(data)


def stream(data: bytes, *, piece: int = 0, content_type: str = "text/event-stream; charset=utf-8") -> Script:
    """A stream of events in chunked encoding, each chunk so many bytes."""
    step = piece or max(len(data), 1)
    chunks = b"".join(
        b"%x\r\n%s\r\n" % (len(part), part) for part in (data[at : at + step] for at in range(0, len(data), step))
    )
    return raw(_head(200, {"content-type": content_type, "transfer-encoding": "chunked"}) + chunks + b"0\r\n\r\n")


def until_closed(data: bytes) -> Script:
    """A stream without a length: it ends when the connection does."""
    return raw(_head(200, {"content-type": "text/event-stream"}) + data)


def broken(data: bytes) -> Script:
    """A stream that is reset after these bytes, in the middle of a chunk."""

    def run(connection: socket.socket) -> None:
        head = _head(200, {"content-type": "text/event-stream", "transfer-encoding": "chunked"})
        connection.sendall(head + b"%x\r\n%s" % (len(data) + 1_000, data))
        time.sleep(0.05)  # the client reads what there is before the reset discards it
        reset(connection)

    return run


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def dripping(data: bytes, at_once: bytes = b"", every_s: float = 0.02) -> Script:
    """A byte now and then, for ever if the client waits."""

    def run(connection: socket.socket) -> None:
        connection.sendall(at_once)
        for byte in data:
            connection.sendall(bytes([byte]))
            time.sleep(every_s)

    return run


def silent(connection: socket.socket) -> None:
    connection.recv(1)


STREAM_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"


def _head(code: int, fields: dict[str, str], length: int | None = None) -> bytes:
    fields = {**fields, **({"content-length": str(length)} if length is not None else {})}
    lines = [f"HTTP/1.1 {code} Said", *(f"{name}: {value}" for name, value in fields.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


# Protocols


@dataclass(frozen=True)
class Protocol:
    """A kind of service: how it writes its events."""

    name: str
    opening: bytes
    ping: bytes
    text: Callable[[str], bytes]
    closing: Callable[[str], bytes]  # by the reason to end: stop or length
    error: Callable[[str, str], bytes]

    def answer(self, text: str, *, reason: str = "stop", step: int = 7) -> bytes:
        """The whole stream of an answer."""
        pieces = [text[at : at + step] for at in range(0, len(text), step)]
        return self.opening + b"".join(map(self.text, pieces)) + self.closing(reason)

    def summariser(
        self, url: str, *, key: str = KEY, timeout_s: float = 5.0, slept: list[float] | None = None
    ) -> ModelSummariser:
        """A summariser of this service that does not really wait between its attempts."""
        waits = slept if slept is not None else []
        pace = Pace(sleep=waits.append, chance=lambda: 0.0)
        if self.name == "anthropic":
            return ModelSummariser(AnthropicMessages("claude-test", key, url, pace=pace), timeout_s, 8_000)
        return ModelSummariser(OpenAICompatible("llama-test", f"{url}/v1", key, pace=pace), timeout_s, 8_000)


def _event(name: str, value: object) -> bytes:
    return f"event: {name}\ndata: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


def _anthropic_text(text: str) -> bytes:
    delta = {"type": "text_delta", "text": text}
    return _event("content_block_delta", {"type": "content_block_delta", "index": 0, "delta": delta})


def _anthropic_closing(reason: str) -> bytes:
    why = {"stop": "end_turn", "length": "max_tokens"}.get(reason, reason)
    end = {"type": "message_delta", "delta": {"stop_reason": why, "stop_sequence": None}, "usage": {"output_tokens": 9}}
    return (
        _event("content_block_stop", {"type": "content_block_stop", "index": 0})
        + _event("message_delta", end)
        + _event("message_stop", {"type": "message_stop"})
    )


_MESSAGE = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-test",
    "content": [],
    "stop_reason": None,
    "stop_sequence": None,
    "usage": {"input_tokens": 25, "output_tokens": 1},
}
ANTHROPIC = Protocol(
    "anthropic",
    _event("message_start", {"type": "message_start", "message": _MESSAGE})
    + _event(
        "content_block_start",
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    ),
    _event("ping", {"type": "ping"}),
    _anthropic_text,
    _anthropic_closing,
    lambda kind, said: _event("error", {"type": "error", "error": {"type": kind, "message": said}}),
)


def _chunk(delta: dict[str, str], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    value = {"id": "c", "object": "chat.completion.chunk", "model": "llama-test", "choices": [choice]}
    return f"data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


_USAGE = b'data: {"id": "c", "choices": [], "usage": {"total_tokens": 3}}\n\n'
OPENAI = Protocol(
    "openai-compatible",
    _chunk({"role": "assistant", "content": ""}),
    b": keep-alive\n\n",
    lambda text: _chunk({"content": text}),
    lambda reason: _chunk({}, reason) + _USAGE + b"data: [DONE]\n\n",
    lambda kind, said: f"data: {json.dumps({'error': {'type': kind, 'message': said}})}\n\n".encode(),
)
PROTOCOLS = (ANTHROPIC, OPENAI)


# Messages


@dataclass(frozen=True)
class Said:
    """A message without a database."""

    id: str
    role: str
    content: str
    speaker: str = ""
    created_at: datetime = datetime(2026, 11, 18, tzinfo=UTC)


def said(texts: Iterable[str], roles: Sequence[str] = ("user", "assistant")) -> list[Said]:
    at = datetime(2026, 11, 18, 5, tzinfo=UTC)
    return [Said(f"id-{number}", roles[number % len(roles)], text, "", at) for number, text in enumerate(texts)]
