"""How many events a second the bus publishes, each made, published and handled, beside bare calls in the same run.

    python benchmarks/events.py [--seconds 0.5] [--rounds 5]

The ways of a handler take turns, so that a busy machine slows all of them; the best round counts, because the others
say what else the machine did.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable

from measure import table

from sage_code.events.bus import EventBus
from sage_code.events.events import Event

_TYPE = "search.post_search"
_BATCH = 500
Batch = Callable[[], None]


def _handler(event: Event) -> None:
    """Does nothing: what is measured is the way to it."""


async def _async_handler(event: Event) -> None:
    """Ends at its first step."""


async def _waiting_handler(event: Event) -> None:  # noqa: ARG001
    """Lets others run once, so that its time limit is set and lifted."""
    await asyncio.sleep(0)


def _bare() -> None:
    for _ in range(_BATCH):
        _handler(Event(_TYPE))


def _sync(bus: EventBus) -> Batch:
    def batch() -> None:
        for _ in range(_BATCH):
            bus.publish_sync(Event(_TYPE))

    return batch


def _asynchronous(bus: EventBus, loop: asyncio.AbstractEventLoop) -> Batch:
    async def work() -> None:
        for _ in range(_BATCH):
            await bus.publish(Event(_TYPE))

    return lambda: loop.run_until_complete(work())


def _bus(handler: Callable[[Event], object], timeout_ms: int | None = None, others: int = 0) -> EventBus:
    bus = EventBus()
    for number in range(others):
        bus.subscribe(f"other.type_{number}", _handler, timeout_ms=0)
    bus.subscribe(_TYPE, handler, timeout_ms=timeout_ms)
    return bus


def _rate(batch: Batch, seconds: float) -> float:
    done, began = 0, time.perf_counter()
    while (took := time.perf_counter() - began) < seconds:
        batch()
        done += _BATCH
    return done / took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each way in each round")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    loop = asyncio.new_event_loop()
    ways = {
        "a bare call": (_bare, 0),
        "publish_sync, no handler": (_sync(EventBus()), 0),
        "publish_sync, one sync handler without a limit": (_sync(_bus(_handler, 0)), 200_000),
        "the same beside 100 subscriptions to other types": (_sync(_bus(_handler, 0, others=100)), 200_000),
        "publish_sync, one sync handler with a limit": (_sync(_bus(_handler)), 0),
        "publish_sync, one async handler with a limit": (_sync(_bus(_async_handler)), 0),
        "publish, one async handler with a limit": (_asynchronous(_bus(_async_handler), loop), 20_000),
        "publish, one async handler that waits, with a limit": (_asynchronous(_bus(_waiting_handler), loop), 20_000),
        "publish, one sync handler with a limit": (_asynchronous(_bus(_handler), loop), 0),
    }
    best = dict.fromkeys(ways, 0.0)
    for _ in range(given.rounds):
        for name, (batch, _target) in ways.items():
            best[name] = max(best[name], _rate(batch, given.seconds))
    loop.close()
    bare = best["a bare call"]
    rows = [
        [name, f"{best[name]:,.0f}", f"{bare / best[name]:.1f}", f"{target:,}" if target else ""]
        for name, (_batch, target) in ways.items()
    ]
    print(table(["way", "events a second", "times a bare call", "at least"], rows))


if __name__ == "__main__":
    main()
