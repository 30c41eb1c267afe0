"""How much work a server begins at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from sage_code.serving import limits
from sage_code.serving.limits import Full, Slots


def _order(work: Callable[[Slots, list[str]], Awaitable[None]], running: int = 2, waiting: int = 8) -> list[str]:
    """What happened, in order."""
    seen: list[str] = []
    asyncio.run(work(Slots(running, waiting, 5.0), seen))
    return seen


async def _piece(slots: Slots, seen: list[str], name: str, until: asyncio.Event | None = None) -> None:
    async with slots.one():
        seen.append(f"{name} begins")
        await (until.wait() if until else asyncio.sleep(0.001))
        seen.append(f"{name} ends")


def test_short_pieces_run_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ALONE_S", 60.0)

    async def three(slots: Slots, seen: list[str]) -> None:
        await asyncio.gather(*(_piece(slots, seen, name) for name in "abc"))

    assert _order(three) == ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]


def test_what_takes_long_lets_the_next_begin_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ALONE_S", 0.0)

    async def slow_and_quick(slots: Slots, seen: list[str]) -> None:
        done = asyncio.Event()
        slow = asyncio.create_task(_piece(slots, seen, "slow", done))
        await asyncio.sleep(0)
        await _piece(slots, seen, "quick")
        done.set()
        await slow

    assert _order(slow_and_quick) == ["slow begins", "quick begins", "quick ends", "slow ends"]


def test_no_more_wait_than_may_and_who_gives_up_takes_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ALONE_S", 60.0)

    async def crowd(slots: Slots, seen: list[str]) -> None:
        done = asyncio.Event()
        first = asyncio.create_task(_piece(slots, seen, "first", done))
        await asyncio.sleep(0)
        gives_up = asyncio.create_task(_piece(slots, seen, "gives up"))
        await asyncio.sleep(0)
        with pytest.raises(Full):
            await _piece(slots, seen, "one too many")
        gives_up.cancel()
        await asyncio.sleep(0)
        done.set()
        await first
        await _piece(slots, seen, "last")
        assert slots.queued == 0

    assert _order(crowd, waiting=1) == ["first begins", "first ends", "last begins", "last ends"]
