"""Sessions, connections and requests over HTTP have limits: real sockets and a real server with short ones."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from talking import HttpServer, content
from test_http import _talk

from sage_code.serving import connections
from sage_mcp import over_http

_LIMITS = {
    "connections.REQUEST_S": 1.0,
    "connections.UNREAD_S": 1.0,
    "connections.MAX_CONNECTIONS": 12,
    "over_http.SESSION_IDLE_S": 2.0,
    "over_http.MAX_SESSIONS": 4,
    "over_http.MAX_BODY_BYTES": 200_000,
}


def _command(**limits: float) -> list[str]:
    """The server, with other limits than its own."""
    chosen = {**_LIMITS, **{f"connections.{name}": value for name, value in limits.items()}}
    changes = "; ".join(f"{name} = {value}" for name, value in chosen.items())
    code = (
        f"from sage_code.serving import connections; from sage_mcp import over_http, server; {changes}; server.main()"
    )
    return [sys.executable, "-P", "-c", code]


# How long the test waits for what should take a second or two; the machine may be busy.
_PATIENCE_S = 60


@pytest.fixture
def server(sample: Path) -> Iterator[HttpServer]:
    running = HttpServer(sample, _command())
    yield running
    running.end()


def _connected(server: HttpServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=_PATIENCE_S)


def _head(server: HttpServer, length: int) -> bytes:
    return (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n"
        f"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {length}\r\n"
        "\r\n"
    ).encode()


def _is_ended(peer: socket.socket) -> bool:
    """Whether the server closes the connection; what it says before does not count."""
    peer.settimeout(_PATIENCE_S)
    try:
        while peer.recv(65536):
            pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


def _post(server: HttpServer, message: dict[str, Any], session: str = "") -> tuple[int, http.client.HTTPMessage, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=_PATIENCE_S)
    headers = {
        "Authorization": f"Bearer {server.token}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **({"Mcp-Session-Id": session} if session else {}),
    }
    with contextlib.closing(connection):
        connection.request("POST", "/mcp", json.dumps(message), headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()


def _begin(server: HttpServer) -> tuple[int, str]:
    """Open a session as older clients do; the status and its id."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    status, headers, _ = _post(server, {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    return status, headers.get("Mcp-Session-Id", "")


def test_half_open_connections_end(server: HttpServer) -> None:
    silent, half_head, half_body = _connected(server), _connected(server), _connected(server)
    half_head.sendall(_head(server, 10)[:40])
    half_body.sendall(_head(server, 100) + b"{")
    refused = _connected(server)  # answered at once, and still owing the rest of its body
    refused.sendall(_head(server, 100).replace(b"Bearer ", b"Bearer x") + b"{")
    second = _connected(server)  # a whole request, and half of another in the same breath
    second.sendall(_head(server, 0).replace(b"POST /mcp", b"GET /nothing") + _head(server, 100) + b"{")
    for peer in (silent, half_head, half_body, refused, second):
        assert _is_ended(peer)
        peer.close()
    _talk(server, _version)


def test_a_byte_now_and_then_does_not_keep_a_connection_open(server: HttpServer) -> None:
    peer = _connected(server)
    request = _head(server, 10_000)
    end = time.monotonic() + _PATIENCE_S
    with contextlib.suppress(ConnectionError):
        for number in range(10 * _PATIENCE_S):
            peer.sendall(request[number : number + 1] or b" ")
            time.sleep(0.1)
    assert time.monotonic() < end
    peer.close()


def test_a_connection_is_used_again_after_a_whole_request(server: HttpServer) -> None:
    """No clock runs between two requests; uvicorn limits that pause."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=_PATIENCE_S)
    ports = set()
    for _ in range(3):
        connection.request("GET", "/nothing", headers={"Authorization": f"Bearer {server.token}"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 404
        ports.add(connection.sock.getsockname()[1])
        time.sleep(0.6)
    assert len(ports) == 1
    connection.close()


def test_too_many_connections_are_refused_and_the_others_go_on(server: HttpServer) -> None:
    peers = [_connected(server) for _ in range(40)]
    for peer in peers:
        assert _is_ended(peer)
        peer.close()
    _talk(server, _version)


def test_a_request_that_is_too_large_is_refused(server: HttpServer) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"filler": "x" * 300_000}}
    assert _post(server, message)[0] == 413
    peer = _connected(server)  # without saying how long it will be
    head = _head(server, 1).replace(b"Content-Length: 1", b"Transfer-Encoding: chunked")
    with contextlib.suppress(ConnectionError):
        peer.sendall(head)
        for _ in range(40):
            peer.sendall(b"2710\r\n" + b" " * 10_000 + b"\r\n")
    assert _is_ended(peer)
    peer.close()
    _talk(server, _version)


def test_sessions_are_limited_and_end_when_they_are_silent(server: HttpServer) -> None:
    opened = [_begin(server) for _ in range(4)]
    assert [status for status, _ in opened] == [200] * 4
    assert _begin(server)[0] == 503
    end = time.monotonic() + _PATIENCE_S
    while time.monotonic() < end and _begin(server)[0] != 200:
        time.sleep(0.2)
    assert time.monotonic() < end
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    assert _post(server, ping, opened[0][1])[0] == 404


@pytest.mark.slow
def test_a_peer_that_reads_nothing_loses_its_connection(sample: Path) -> None:
    """It asks and asks, until its answers fill every buffer between it and the server."""
    server = HttpServer(sample, _command(REQUEST_S=600.0))
    try:
        peer = socket.socket()
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        peer.connect(("127.0.0.1", server.port))
        peer.settimeout(_PATIENCE_S)  # the server reads nothing more, and then it is gone
        request = f"GET /nothing HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode() * 500_000
        with pytest.raises(ConnectionError):
            peer.sendall(request)
        peer.close()
        _talk(server, _version)
    finally:
        server.end()


async def _version(client: Client) -> None:
    assert content(await client.call_tool("sage_version", {}))["version"]


def test_the_limits_are_in_use() -> None:
    assert 5 <= connections.REQUEST_S <= 60
    assert connections.MAX_CONNECTIONS <= 512
    assert 60 <= over_http.SESSION_IDLE_S <= 3_600
    assert over_http.MAX_SESSIONS <= 1_000
    assert over_http.MAX_BODY_BYTES <= 4 << 20
