"""One POST over HTTP/1.1 that ends at a deadline, whatever the server does, and reads no more than a limit.

`http.client` limits each wait and not the whole: a server that sends a byte a second keeps it for hours. Here looking
up the name, connecting, the handshake, sending and each single read share one deadline, and the bytes are counted as
they arrive. Certificates are always verified, redirects are never followed, nothing is read from the environment, and
a key is not sent in the clear to another machine.
"""

from __future__ import annotations

import http.client
import io
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import IO, Any
from urllib.parse import urlsplit

from sage_code.memory.context.clients.asking import MOST_ANSWER_BYTES, Deadline, Failed

_AT_ONCE = 65_536
# Enough for the message of an error; the rest is not worth reading.
_MOST_ERROR_BYTES = 16_384


@dataclass(frozen=True, slots=True)
class Address:
    """Where a request goes."""

    is_encrypted: bool
    host: str
    port: int
    target: str  # path and parameters


@dataclass(frozen=True, slots=True)
class Reply:
    """The head of an answer, and its body while it arrives."""

    status: int
    headers: Mapping[str, str]  # by names in small letters
    chunks: Iterator[bytes]

    @property
    def content_type(self) -> str:
        """The type of the body, without its parameters."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    def beginning(self) -> bytes:
        """What fits into the message of an error."""
        found = b""
        try:
            while len(found) < _MOST_ERROR_BYTES and (chunk := next(self.chunks, b"")):
                found += chunk
        except Failed:  # the status is known, and says more than a body that broke off
            return found
        return found[:_MOST_ERROR_BYTES]


def address_of(base: str, path: str, *, has_key: bool) -> Address:
    """The address of `path` below a base address; Failed if it cannot be one, or if a key would be readable there."""
    hint = "set summariser_url to an address such as https://host/v1"
    try:
        parts = urlsplit(base)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        host, port = "", None
    if not host or parts.scheme not in ("http", "https") or parts.username is not None:
        raise Failed("summariser_url is no address of a service", hint)
    is_encrypted = parts.scheme == "https"
    if has_key and not is_encrypted and not _is_this_machine(host):
        raise Failed(
            f"the key would be sent to {host} unencrypted", "use https:// in summariser_url, or remove the key"
        )
    target = parts.path.rstrip("/") + path + (f"?{parts.query}" if parts.query else "")
    return Address(is_encrypted, host, port or (443 if is_encrypted else 80), target)


@contextmanager
def posted(address: Address, headers: Mapping[str, str], body: bytes, deadline: Deadline) -> Iterator[Reply]:
    """Send a body and give the answer. Whatever breaks is Failed; the connection is closed in the end."""
    with closing(_Connection(address, deadline)) as connection:
        with _failures(address, deadline):
            # Compressed answers could grow beyond every limit.
            sent = {"Accept-Encoding": "identity", "Connection": "close", **headers}
            connection.request("POST", address.target, body, sent)
            response = connection.getresponse()
        with closing(response):
            fields = {name.lower(): value for name, value in response.getheaders()}
            yield Reply(response.status, fields, _chunks(response, address, deadline))


def _chunks(response: http.client.HTTPResponse, address: Address, deadline: Deadline) -> Iterator[bytes]:
    while True:
        with _failures(address, deadline):
            chunk = response.read1(_AT_ONCE)
        if not chunk:
            return
        yield chunk


@contextmanager
def _failures(address: Address, deadline: Deadline) -> Iterator[None]:
    """Turns what sockets, TLS and HTTP raise into Failed."""
    where = f"{address.host}:{address.port}"
    try:
        yield
    except Failed:
        raise
    except TimeoutError:
        raise deadline.missed() from None
    except ssl.SSLCertVerificationError as error:
        raise Failed(
            f"the certificate of {where} is not valid: {error.verify_message}", "check summariser_url"
        ) from None
    except ssl.SSLError as error:
        raise Failed(f"no encrypted connection to {where}: {error.reason}", "check summariser_url") from None
    except socket.gaierror as error:
        again = error.errno == socket.EAI_AGAIN
        raise Failed(f"{address.host} is not found: {error.strerror}", "check summariser_url", again=again) from None
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise Failed(f"no connection to {where}: {why}", "is the service running?", again=True) from None
    except http.client.HTTPException as error:
        raise Failed(f"{where} broke off ({type(error).__name__})", "is it such a service?", again=True) from None


class _Connection(http.client.HTTPConnection):
    """A connection of which every wait ends at the deadline."""

    def __init__(self, address: Address, deadline: Deadline) -> None:
        super().__init__(address.host, address.port)
        self._address, self._deadline = address, deadline
        # The name in the header `Host` has a port only if it is not the usual one.
        self.default_port = 443 if address.is_encrypted else 80

    def connect(self) -> None:
        """Connect to the first address of the host that answers."""
        plain = _connected(self.host, self.port, self._deadline)
        try:
            if self._address.is_encrypted:
                plain.settimeout(self._deadline.left())
                context = ssl.create_default_context()
                context.set_alpn_protocols(["http/1.1"])
                plain = context.wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            raise
        self.sock: Any = _Timed(plain, self._deadline)


class _Timed:
    """As much of a socket as `http.client` uses. It is closed before the answer is read; then the file is the owner."""

    def __init__(self, plain: socket.socket, deadline: Deadline) -> None:
        self._plain, self._deadline, self._has_file = plain, deadline, False

    def sendall(self, data: bytes) -> None:
        self._plain.settimeout(self._deadline.left())
        self._plain.sendall(data)

    def makefile(self, _mode: str) -> IO[bytes]:
        self._has_file = True
        return io.BufferedReader(_Received(self._plain, self._deadline), _AT_ONCE)

    def close(self) -> None:
        if not self._has_file:
            self._plain.close()


class _Received(io.RawIOBase):
    """The bytes from a socket, before the deadline and up to the limit."""

    def __init__(self, plain: socket.socket, deadline: Deadline) -> None:
        self._plain, self._deadline, self._count = plain, deadline, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._plain.settimeout(self._deadline.left())
        count = self._plain.recv_into(buffer)
        self._count += count
        if self._count > MOST_ANSWER_BYTES:
            raise Failed(f"the answer has more than {MOST_ANSWER_BYTES // 1_000_000} MB", "is it such a service?")
        return count

    def close(self) -> None:
        if not self.closed:
            self._plain.close()
        super().close()


def _connected(host: str, port: int, deadline: Deadline) -> socket.socket:
    """A socket that is connected to the first address of the host that answers."""
    problem: OSError | None = None
    for family, kind, protocol, _, place in _looked_up(host, port, deadline):
        one = socket.socket(family, kind, protocol)
        try:
            one.settimeout(deadline.left())
            one.connect(place)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except BaseException as error:
            one.close()
            if not isinstance(error, OSError) or isinstance(error, TimeoutError):
                raise
            problem = error
        else:
            return one
    raise problem or OSError("the name has no address")


def _looked_up(host: str, port: int, deadline: Deadline) -> list[Any]:
    """The addresses of a host. A look-up cannot be ended, so it runs beside and is left alone at the deadline."""
    found: list[Any] = []
    problems: list[OSError] = []

    def look_up() -> None:
        try:
            found.extend(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except UnicodeError:  # a name that no host can have
            problems.append(socket.gaierror(socket.EAI_NONAME, "no such name"))
        except OSError as error:
            problems.append(error)

    beside = threading.Thread(target=look_up, daemon=True)
    beside.start()
    beside.join(deadline.left())
    if beside.is_alive():
        raise deadline.missed()
    if problems:
        raise problems[0]
    return found


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
