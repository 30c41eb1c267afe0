"""Hooks that are killed, in real processes: the brief still arrives, once, and what was saved is saved once."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from playing import Kill, Machine, Played, is_well_formed
from stories import CART_DECIDED, STOCK_DECIDED, cart, shop, stock

pytestmark = pytest.mark.slow

# The moments at which a hook dies: before it does anything, and between each two steps that others can see.
_PRE = [
    "sage_code.continuity.hooks.events:answer",
    "sage_code.continuity.capture:capture",
    "sage_code.continuity.capture:_save",
    "sage_code.continuity.capture:_tidy",  # the checkpoint is there, and nobody knows
    "sage_code.continuity.capture:add_to_queue",
]
_START = [
    "sage_code.continuity.hooks.events:answer",
    "sage_code.continuity.capture:capture",
    "sage_code.continuity.brief:make_brief",
    "sage_code.text.light_json:dumps",
    "sage_code.continuity.hooks.entry:_settle",  # the answer is written, but a hook that fails is not heard
]


def _after_a_death(session: Played) -> None:
    """What must hold after prompts: one brief, with the work in it; one checkpoint."""
    for prompt in ("go on", "and further", "and the rest"):
        session.prompt(prompt)
        session.work("It goes on.")
    assert len(session.briefs) == 1
    assert CART_DECIDED in session.briefs[0]
    assert "shop/cart.py" in session.briefs[0]
    assert is_well_formed(session.briefs[0])
    (state,) = session.machine.states()
    assert state["compaction"]["state"] == "answered"
    assert sum(CART_DECIDED in text for text in session.machine.checkpoints().values()) == 1


@pytest.mark.parametrize("where", _PRE)
def test_a_killed_save_is_made_up_for(machine: Machine, where: str) -> None:
    session = Played(machine, shop(machine))
    session.start()
    cart(session)
    session.compact(pre=Kill(at=where))
    assert len(session.briefs) == 1
    _after_a_death(session)


@pytest.mark.parametrize("where", _START)
def test_a_killed_brief_comes_with_the_next_prompt(machine: Machine, where: str) -> None:
    session = Played(machine, shop(machine))
    session.start()
    cart(session)
    session.compact(start=Kill(at=where))
    assert session.briefs == []
    session.prompt("hello?")
    assert len(session.briefs) == 1
    _after_a_death(session)


@pytest.mark.parametrize("boundary_first", [True, False])
def test_all_hooks_killed_once(machine: Machine, boundary_first: bool) -> None:
    session = Played(machine, shop(machine), boundary_first=boundary_first)
    session.start()
    cart(session)
    session.compact(pre=Kill(at=_PRE[3]), start=Kill(at=_START[4]))
    session.prompt("hello?", Kill(at=_START[2]))
    assert session.briefs == []
    session.work("Hello.")
    session.prompt("hello?")
    assert len(session.briefs) == 1
    _after_a_death(session)


def test_hooks_that_are_killed_at_any_moment(machine: Machine, seed: int) -> None:
    chance = Random(seed)
    session = Played(machine, shop(machine))
    session.start()
    for number in range(1, 7):
        asked = f"Please rework step {number} of the import, but never drop a row."
        told = f"I decided to lock mark-{number} instead of the table."
        session.turn(asked, told)
        session.boundary_first = chance.random() < 0.5
        session.compact(pre=Kill(after=chance.uniform(0, 0.3)), start=Kill(after=chance.uniform(0, 0.3)))
        session.prompt("hello?", Kill(after=chance.uniform(0, 0.3)))
        for prompt in ("hello?", "go on", "and further"):
            session.work("It goes on.")
            session.prompt(prompt)
        assert len(session.briefs) == number
        assert f"mark-{number}" in session.briefs[-1]
    for number in range(1, 7):
        told = f"I decided to lock mark-{number} instead of the table."
        assert sum(told in text for text in machine.checkpoints().values()) == 1


def test_killed_writers_leave_nothing_for_ever(machine: Machine) -> None:
    root, seen = shop(machine), set()
    for calls in range(5):
        session = Played(machine, root)
        cart(session)
        session.compact(pre=Kill(at="os:replace", calls=calls), has_start=False)
        seen |= {path.parent.name for path in machine.sage.rglob("*.tmp")}
    assert seen == {"sessions", "projects", "checkpoints"}
    for path in machine.sage.rglob("*.tmp"):
        os.utime(path, (time.time() - 4_000,) * 2)
    session = Played(machine, root)
    session.start()
    stock(session)
    session.compact()
    assert not list(machine.sage.rglob("*.tmp"))


def test_two_hooks_at_once_bring_one_brief(machine: Machine) -> None:
    session = Played(machine, shop(machine))
    session.start()
    cart(session)
    session.compact(has_start=False)
    with ThreadPoolExecutor(2) as pool:
        ran = list(pool.map(lambda _: session.start("compact"), range(2)))
    assert sum(bool(one.context) for one in ran) == 1
    session.prompt("go on")
    assert len(session.briefs) == 1


def test_a_hook_that_dies_after_it_said_that_it_has_answered(machine: Machine) -> None:
    session = Played(machine, shop(machine))
    session.start()
    cart(session)
    session.compact()
    stock(session)
    session.compact(start=Kill(at="os:_exit"))
    assert len(session.briefs) == 1
    for prompt in ("hello?", "go on", "and further"):
        session.prompt(prompt)
        session.work("It goes on.")
    assert len(session.briefs) == 2
    assert STOCK_DECIDED in session.briefs[1]
