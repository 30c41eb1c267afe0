"""Who may write into the tables of a store: one process at a time, on this machine and on all others.

In a folder a lock file is enough. A remote store has a lease as well: `confirm` is asked before each commit. A process
that takes the lease over from a writer that has not given it back first makes late commits of that writer impossible.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sage_code.files.locks import locked

if TYPE_CHECKING:
    from sage_code.store.remote.address import Address
    from sage_code.store.remote.lease import Lease

_LEASE = "write.lease"


class WriteGuard:
    """Keeps all others from writing to the tables at one address."""

    def __init__(self, place: Address, lock: str, fence: Callable[[], None]) -> None:
        """`fence` makes commits impossible that were begun before it."""
        self._lock, self._fence = lock, fence
        self._lease: Lease | None = None
        if place.is_remote:
            from sage_code.store.remote.lease import Lease  # lazy: only remote stores need it
            from sage_code.store.remote.objects import Objects

            self._lease = Lease(Objects(place), _LEASE)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """While this is held, no other process writes."""
        with locked(self._lock):
            if self._lease is None:
                yield
            else:
                with self._lease.held(self._fence):
                    yield

    def confirm(self) -> None:
        """Raise `LeaseLostError` if another machine has taken over. Comes after reading the version to commit on."""
        if self._lease is not None:
            self._lease.confirm()
