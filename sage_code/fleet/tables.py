"""Where the fleet's table is: in the store of the settings, one for each model of vectors."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sage_code.embed.loading import load_embedder
from sage_code.files.locks import locked
from sage_code.settings.loading import Settings
from sage_code.store.fleet_table import fleet_table
from sage_code.store.lance import store_uri, table_name
from sage_code.store.remote.address import address_of
from sage_code.store.remote.objects import Objects

if TYPE_CHECKING:
    from sage_code.store.remote.lease import Lease

# How often the loop over the shards asks whether the lease is still ours: each time is a request.
_CONFIRMED_S = 5.0


class FleetPlace:
    """The fleet's table and the objects beside it."""

    def __init__(self, uri: str, model: str, dim: int, settings: Settings | None) -> None:
        self.model, self.dim = model, dim
        self.name = fleet_table(table_name(model, dim))
        self.store = address_of(uri if "://" in uri else os.path.abspath(uri), settings)
        self.table = self.store.below(f"{self.name}.lance")
        self.objects = Objects(self.store)
        self._lease: Lease | None = None
        self._confirmed = 0.0

    @contextlib.contextmanager
    def alone(self, on_wait: Callable[[], None]) -> Iterator[None]:
        """Keep other coordinators of this table out: those of this machine by a lock, all others by a lease."""
        if self.store.is_remote:
            from sage_code.store.remote.lease import Lease  # lazy: only remote stores need it

            self._lease = Lease(self.objects, f"fleet/{self.name}/lease")
            with self._lease.held(_nothing_to_fence, on_wait):
                yield
            return
        with locked(os.path.join(self.store.uri, "fleet", f"{self.name}.lock"), on_wait=on_wait):
            yield

    def still_alone(self) -> None:
        """Raise `LeaseLostError` if another coordinator has taken over."""
        if self._lease is not None:
            self._lease.confirm()
            self._confirmed = time.monotonic()

    def still_alone_lately(self) -> None:
        """The same, but asked only every few seconds: for a loop."""
        if time.monotonic() - self._confirmed > _CONFIRMED_S:
            self.still_alone()


def _nothing_to_fence() -> None:
    """A late commit of the former holder is in conflict with any other: see `fleet.publishing`."""


def fleet_place(settings: Settings) -> FleetPlace:
    """The fleet's place in the store of the settings, for their model."""
    embedder = load_embedder(settings.code_embedding_model, "code", settings)
    return FleetPlace(store_uri(settings.store_uri), embedder.name, embedder.dim, settings)
