"""What a server for many users is started with, and what its requests are judged by."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from sage_code.errors import UsageError

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 7245
# A person with several agents asks less than this; a loop without pauses is slowed down.
DEFAULT_RATE, DEFAULT_BURST = 50.0, 200.0
# Guesses of tokens from one address: ten at once, then one every six seconds.
FAILURE_RATE, FAILURE_BURST = 1 / 6, 10.0
# Work that takes long (callers of callers, a refresh) leaves room for the searches of others in its process.
DEFAULT_SEARCHES, DEFAULT_QUEUE = 4, 256
QUEUE_PATIENCE_S = 30.0
DEFAULT_GRACE_S = 20.0


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """How to serve."""

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    projects: tuple[str, ...] = ()  # names or folders; none: every indexed one
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    workers: int = 1
    rate: float = DEFAULT_RATE
    burst: float = DEFAULT_BURST
    searches: int = DEFAULT_SEARCHES
    queue: int = DEFAULT_QUEUE
    grace_s: float = DEFAULT_GRACE_S
    drain_delay_s: float = 0.0
    log_format: str = "json"
    log_queries: bool = False

    def check(self) -> None:
        """Refuse what cannot be served safely."""
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            raise UsageError(f"--host {self.host} is no address", "give an IP address, such as 127.0.0.1") from None
        if address.version != 4:
            raise UsageError(f"--host {self.host} is no IPv4 address", "give 127.0.0.1, or 0.0.0.0 in a container")
        if not address.is_loopback and not self.allowed_hosts:
            hint = "name the hosts that clients use with --allowed-host, and put a proxy with TLS before it"
            raise UsageError(f"--host {self.host} lets other machines in", hint)
        for proxy in self.trusted_proxies:
            try:
                ipaddress.ip_network(proxy)
            except ValueError:
                hint = "give an address or a network, such as 10.0.0.0/8"
                raise UsageError(f"--trusted-proxy {proxy} is no address", hint) from None
        for name, value in (("--workers", self.workers), ("--max-searches", self.searches), ("--queue", self.queue)):
            if value < 1:
                raise UsageError(f"{name} {value} is too few", "give at least 1")
