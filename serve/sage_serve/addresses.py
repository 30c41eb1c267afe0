"""Which names this server answers to, and which machine a request comes from, also behind a proxy that is trusted."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import Scope

    from sage_serve.settings import ServeSettings

_LOCAL = ("127.0.0.1", "localhost")


class Addresses:
    """The names of a server and of those who ask it."""

    def __init__(self, settings: ServeSettings) -> None:
        local = {f"{name}:{settings.port}" for name in _LOCAL}
        # A browser and most clients leave out the port of a proxy at its usual place.
        given = {name.lower() for name in settings.allowed_hosts}
        self._hosts = {name.encode() for name in local | given}
        self._origins = {f"http://{name}".encode() for name in local} | {
            f"{kind}://{name}".encode() for kind in ("http", "https") for name in given
        }
        self._proxies = [ipaddress.ip_network(one) for one in settings.trusted_proxies]

    def problem(self, headers: Mapping[bytes, list[bytes]]) -> tuple[int, str] | None:
        """Why a request is not for this server, or does not come from its own page."""
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return 421, "the Host header names another server"
        if any(origin.lower() not in self._origins for origin in headers.get(b"origin", [])):
            return 403, "requests from that Origin are not served"
        return None

    def client(self, scope: Scope, headers: Mapping[bytes, list[bytes]]) -> str:
        """The address that asks: behind trusted proxies the last one that is no such proxy."""
        peer = (scope.get("client") or ("", 0))[0]
        if not self._is_proxy(peer):
            return peer
        named = b",".join(headers.get(b"x-forwarded-for", [])).decode("latin-1").split(",")
        for one in reversed([name.strip() for name in named if name.strip()]):
            if not _is_address(one):
                break
            if not self._is_proxy(one):
                return one
        return peer

    def is_https(self, scope: Scope, headers: Mapping[bytes, list[bytes]]) -> bool:
        """Whether the client speaks TLS with a trusted proxy."""
        peer = (scope.get("client") or ("", 0))[0]
        return self._is_proxy(peer) and headers.get(b"x-forwarded-proto", [b""])[-1].strip().lower() == b"https"

    def _is_proxy(self, address: str) -> bool:
        if not self._proxies or not _is_address(address):
            return False
        one = ipaddress.ip_address(address)
        return any(one in network for network in self._proxies)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
