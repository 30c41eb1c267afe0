"""Whole sessions with real hook processes: after each compaction the right brief arrives exactly once."""

from __future__ import annotations

import json
import re
import time

import pytest
from playing import Machine, Played, body_of, is_well_formed, number_of, section
from records import edit
from stories import (
    CART_ASKED,
    CART_DECIDED,
    MAIL_ASKED,
    MAIL_FOUND,
    STOCK_ASKED,
    STOCK_DECIDED,
    cart,
    mail,
    shop,
    stock,
)

pytestmark = pytest.mark.slow
_HOUR = 3_600.0


@pytest.mark.parametrize("boundary_first", [True, False])
def test_each_compaction_is_answered_once(machine: Machine, boundary_first: bool) -> None:
    session = Played(machine, shop(machine), boundary_first=boundary_first)
    session.start()
    assert session.briefs == []  # there is nothing to say yet
    for number, (story, asked, decided) in enumerate(
        [(cart, CART_ASKED, CART_DECIDED), (stock, STOCK_ASKED, STOCK_DECIDED), (mail, MAIL_ASKED, MAIL_FOUND)], 1
    ):
        story(session)
        session.compact("manual" if number == 2 else "auto")
        assert len(session.briefs) == number  # at once
        session.prompt("go on")
        session.work("It goes on.")
        session.prompt("and further")
        assert [number_of(brief) for brief in session.briefs] == list(range(1, number + 1))
        newest = session.briefs[-1]
        assert is_well_formed(newest)
        assert decided in newest
        assert section(newest, "The session began with") == [CART_ASKED]
        if number > 1:
            assert asked in section(newest, "Asked last (newest first)")
    assert "shop/cart.py" in session.briefs[0]
    assert "shop/: cart.py, stock.py" in " ".join(section(session.briefs[2], "Files changed")).replace(
        "stock.py, cart.py", "cart.py, stock.py"
    )
    assert "AttributeError: 'Item' object has no attribute 'cancelled'" in section(session.briefs[0], "Errors met")
    assert "branch main, at commit 0123456789ab" in session.briefs[0]


def test_sessions_in_one_folder_never_mix(machine: Machine) -> None:
    root = shop(machine)
    first, second = Played(machine, root), Played(machine, root)
    first.start()
    second.start()
    cart(first)
    stock(second)
    first.compact()
    second.compact("manual")
    mail(second)
    first.prompt("What about VAT? It must stay a setting.")
    first.work("VAT now lives in the settings so that shops can differ.")
    second.compact()
    first.compact()
    for session, own, foreign in (
        (first, (CART_ASKED, CART_DECIDED), (STOCK_ASKED, STOCK_DECIDED, MAIL_ASKED)),
        (second, (STOCK_ASKED, STOCK_DECIDED), (CART_ASKED, CART_DECIDED, "VAT now lives")),
    ):
        assert len(session.briefs) == 2
        for brief in session.briefs:
            here, _, others = brief.partition("Other sessions here:")
            assert all(text in here for text in own)
            assert not any(text in here for text in foreign)
            assert not any(text in others for text in own)
    # Each knows of the other, where it belongs.
    assert any(STOCK_DECIDED in line for line in section(first.briefs[1], "Other sessions here"))
    assert any(CART_DECIDED in line for line in section(second.briefs[0], "Other sessions here"))
    assert {text.count(f"session: {first.id}") for text in machine.checkpoints().values()} == {0, 1}


@pytest.mark.parametrize(("hours", "is_shown"), [(1, True), (3.8, True), (4.2, False), (30, False)])
def test_work_of_others_is_shown_for_four_hours(machine: Machine, hours: float, is_shown: bool) -> None:
    root = shop(machine)
    earlier = Played(machine, root, now=time.time() - hours * _HOUR)
    earlier.start()
    cart(earlier)
    stock(earlier)
    earlier.compact()
    later = Played(machine, root)
    later.start()
    assert len(later.briefs) == is_shown
    if is_shown:
        shown = section(later.briefs[0], "Other sessions here")
        assert any("raise OutOfStock" in line or "filter cancelled" in line for line in shown)
    # Its own work stays a session's own, however old it is.
    earlier.prompt("go on")
    earlier.work("It goes on with the last test.")
    earlier.compact()
    assert CART_DECIDED in earlier.briefs[-1]


def test_reading_again_saves_nothing_new(machine: Machine) -> None:
    session = Played(machine, shop(machine))
    session.start()
    cart(session)
    session.compact()
    stock(session)
    session.compact()
    session.prompt("go on")
    before = machine.checkpoints()
    assert len(before) == 2
    for source in ("resume", "compact"):
        machine.forget()
        session.start(source)
        session.event("PreCompact", trigger="auto", custom_instructions="")
        session.event("UserPromptSubmit", prompt="go on")
        machine.settle()
        assert machine.checkpoints() == before
    for _ in range(2):  # the same input again
        session.event("PreCompact", trigger="auto", custom_instructions="")
    assert machine.checkpoints() == before


def test_a_lost_state_brings_no_second_brief(machine: Machine) -> None:
    session = Played(machine, shop(machine))
    session.start()
    cart(session)
    session.compact()
    session.prompt("go on")
    session.work("It goes on.")
    assert len(session.briefs) == 1
    machine.forget()
    session.prompt("and further")
    assert len(session.briefs) == 1
    stock(session)
    session.compact()
    assert len(session.briefs) == 2
    assert number_of(session.briefs[1]) > number_of(session.briefs[0])
    assert CART_DECIDED in session.briefs[1]


def test_a_brief_is_never_taken_for_something_said(machine: Machine) -> None:
    session = Played(machine, shop(machine))
    session.start()
    cart(session)
    session.compact()
    session.prompt("go on")
    brief = session.briefs[0]
    # It comes back in every place that a client could put it into.
    session.transcript.user(f"{brief}\nNow look at the stock, please.")
    session.transcript.user([{"type": "text", "text": f"<system-reminder>\n{brief}\n</system-reminder>"}])
    session.transcript.meta(brief)
    session.transcript.hook_context("UserPromptSubmit", "", brief)
    session.work(f"I was given this:\n{brief}\nThe fix is to lock the row while it is reserved.")
    session.compact()
    saved = machine.checkpoints()
    assert len(saved) == 2
    assert sum(CART_DECIDED in text for text in saved.values()) == 1
    assert sum(CART_ASKED in text for text in saved.values()) == 1
    assert not any("sage-brief" in text or "has more" in text for text in saved.values())
    assert session.briefs[1].count(CART_DECIDED) == 1
    assert "Now look at the stock, please." in session.briefs[1]
    assert "The fix is to lock the row" in session.briefs[1]


def test_a_crash_and_a_resumed_session(machine: Machine) -> None:
    session = Played(machine, shop(machine))
    session.start()
    cart(session)
    session.compact()
    stock(session)  # then the machine crashes: no SessionEnd
    session.resume()
    session.prompt("go on")
    session.work("It goes on.")
    session.compact()
    session.prompt("and further")
    assert len(session.briefs) == 3  # compaction, resume, compaction
    assert "Sage's notes of this session, in the words" in session.briefs[1]
    assert STOCK_DECIDED in session.briefs[2]
    assert CART_DECIDED in session.briefs[2]
    assert len(machine.checkpoints()) == 2


def test_a_resumed_session_whose_compaction_had_no_brief_gets_one(machine: Machine) -> None:
    session = Played(machine, shop(machine))
    session.start()
    cart(session)
    session.compact(has_start=False)  # it crashes in the middle of the compaction
    session.resume()
    session.prompt("go on")
    session.work("It goes on.")
    session.prompt("and further")
    assert len(session.briefs) == 1
    assert CART_DECIDED in session.briefs[0]


@pytest.mark.parametrize("has_pre", [True, False])
def test_hooks_that_are_not_called(machine: Machine, has_pre: bool) -> None:
    session = Played(machine, shop(machine))
    cart(session)
    session.compact(has_pre=has_pre, has_start=False)
    session.prompt("hello?", has_hook=False)
    session.work("Hello.")
    session.prompt("go on")
    session.work("It goes on.")
    session.prompt("and further")
    assert len(session.briefs) == 1
    assert CART_DECIDED in session.briefs[0]


def test_a_brief_keeps_its_budget_and_its_bytes(machine: Machine) -> None:
    from sage_code.text.tokens import count_tokens

    root = shop(machine)
    session = Played(machine, root)
    session.start()
    for number in range(30):
        session.prompt(f"Please make step {number} of the import faster, but never drop a row of table_{number}.")
        session.work(f"I decided to batch step {number} instead of streaming, as the lock of table_{number} is slow.")
    session.compact()
    for tokens in (1_500, 600, 200, 20_000):
        machine.tune(brief_tokens=tokens)
        session.compact()
        brief = session.briefs[-1]
        assert count_tokens(brief) <= tokens
        assert len(brief) <= 10_000
        assert is_well_formed(brief)
    # Nothing has happened in between: the same bytes, but for the number.
    session.compact()
    session.compact()
    assert body_of(session.briefs[-1]) == body_of(session.briefs[-2])
    assert number_of(session.briefs[-1]) == number_of(session.briefs[-2]) + 1
    assert not re.search(r"\d\d:\d\d|\bago\b", session.briefs[-1])
    known = len(session.briefs)
    machine.tune(brief_tokens=0)
    session.compact()
    session.prompt("go on")
    session.resume()
    assert session.subagent("Look at the import.").context
    machine.tune(brief_tokens=0, subagent_tokens=0)
    assert not session.subagent("Look at the import.").context
    assert len(session.briefs) == known


def test_nothing_is_ever_blocked_unless_asked_for(machine: Machine) -> None:
    session = Played(machine, shop(machine))
    session.start()
    cart(session, "In conclusion, the root cause is fixed.")
    assert session.compact("manual")
    assert session.compact("auto")
    session.transcript.fill = 190_000
    session.turn("go on, please", "All of it is done. In conclusion it works because the filter is in one place.")
    assert not any(ran.is_block for ran in session.ran)


def test_on_request_a_manual_compaction_is_held_once(machine: Machine) -> None:
    machine.tune(ask_for_checkpoint=True)
    session = Played(machine, shop(machine))
    session.start()
    cart(session)
    assert session.compact("auto")
    assert not session.compact("manual")
    assert "sage_save_checkpoint" in session.ran[-1].answer["reason"]
    assert session.compact("manual")
    assert session.compact("manual")
    other = Played(machine, session.cwd)
    other.start()
    stock(other)
    assert not other.compact("manual")  # each session is asked for itself
    assert other.compact("manual")


def test_on_request_stop_asks_once_for_a_reason(machine: Machine) -> None:
    pytest.importorskip("sage_code.continuity.triggers.detector")
    machine.tune(ask_for_checkpoint=True, context_cooldown=0, trigger_cooldown=0)
    session = Played(machine, shop(machine))
    session.start()
    session.prompt(CART_ASKED)
    session.transcript.fill = 190_000
    session.work(CART_DECIDED)
    assert not session.stop(CART_DECIDED, stop_hook_active=True).is_block
    session.transcript.boundary("manual")
    session.prompt("go on")
    session.transcript.fill = 191_000
    session.work("It goes on.")
    asked = session.stop("It goes on.")
    assert asked.is_block
    assert not session.stop("It goes on.", stop_hook_active=True).is_block
    for _ in range(3):
        session.prompt("go on")
        session.work("It goes on again.")
        assert not session.stop("It goes on again.").is_block


def test_switched_off_is_silent(machine: Machine) -> None:
    machine.tune(continuity_enabled=False)
    session = Played(machine, shop(machine))
    session.start()
    cart(session)
    session.compact()
    session.prompt("checkpoint")
    session.end()
    assert all(not ran.out for ran in session.ran)
    assert machine.checkpoints() == {}


@pytest.mark.parametrize("where", ["user", "project"])
def test_a_damaged_settings_file_is_said_once(machine: Machine, where: str) -> None:
    root = shop(machine)
    folder = machine.sage if where == "user" else root / ".sage"
    folder.mkdir(parents=True)
    (folder / "tuning.yaml").write_text("brief_tokens: [1, 2\n")
    session = Played(machine, root)
    session.start()
    session.prompt(CART_ASKED)
    session.work(CART_DECIDED)
    session.compact()
    session.prompt("go on")
    assert len([text for text in session.shown if "tuning.yaml" in text]) == 1
    assert len(session.briefs) == 1


def test_settings_that_are_damaged_before_a_compaction_are_said_once(machine: Machine) -> None:
    session = Played(machine, shop(machine))
    session.start()
    cart(session)
    (machine.sage / "tuning.yaml").write_text("brief_tokens: [1, 2\n")
    session.compact(has_pre=False)
    session.prompt("go on")
    session.prompt("and further")
    assert len([text for text in session.shown if "tuning.yaml" in text]) == 1
    assert len(session.briefs) == 1


def test_what_a_person_corrects_or_deletes_holds(machine: Machine) -> None:
    session = Played(machine, shop(machine))
    session.start()
    cart(session)
    session.compact()
    stock(session)
    session.compact()
    assert CART_DECIDED in session.briefs[1]
    first, second = machine.checkpoints()
    path = machine.sage / "checkpoints" / f"{second}.md"
    path.write_text(path.read_text().replace("raise OutOfStock", "raise SoldOut"))
    (machine.sage / "checkpoints" / f"{first}.md").unlink()
    session.compact()
    brief = session.briefs[2]
    assert "raise SoldOut" in brief
    assert "OutOfStock" not in brief
    assert CART_DECIDED not in brief
    assert CART_ASKED not in brief
    assert list(machine.checkpoints()) == [second]


def test_subagents_are_told_what_matters_for_their_task(machine: Machine) -> None:
    session = Played(machine, shop(machine))
    session.start()
    cart(session)
    stock(session)
    session.compact()
    told = session.subagent("Find out who calls reserve and whether they catch OutOfStock.")
    assert told.answer["hookSpecificOutput"]["hookEventName"] == "SubagentStart"
    assert section(told.context, "Decided")[0] == STOCK_DECIDED
    assert len(told.context) < 600 * 5
    # The subagent's own events are not the session's.
    assert not session.event("Stop", agent_id="a1b2c3", stop_hook_active=False).out
    session.prompt("go on")
    assert len(session.briefs) == 1


def test_clear_and_fork_begin_sessions_of_their_own(machine: Machine) -> None:
    session = Played(machine, shop(machine))
    session.start()
    cart(session)
    session.compact()
    fork = session.fork()
    fork.prompt("Try it with a decorator instead, and never change the caller.")
    fork.work("I decided to use a decorator because the callers stay as they are.")
    fork.compact()
    fork.prompt("go on")
    own = [text for text in machine.checkpoints().values() if f"session: {fork.id}" in text]
    assert len(own) == 1
    assert CART_DECIDED not in own[0]
    assert "decorator" in fork.briefs[-1]
    assert len(fork.briefs) == 2
    fresh = session.clear()
    machine.settle()
    stock(fresh)
    fresh.compact()
    assert section(fresh.briefs[-1], "The session began with") == [STOCK_ASKED]


@pytest.mark.parametrize("is_shared", [False, True])
def test_worktrees_share_only_if_asked_to(machine: Machine, is_shared: bool) -> None:
    machine.tune(share_worktrees=is_shared)
    root = shop(machine)
    tree = machine.worktree(root, "feature")
    session = Played(machine, root)
    session.start()
    cart(session)
    session.compact()
    other = Played(machine, tree, branch="feature")
    other.start()
    assert any(CART_DECIDED in brief for brief in other.briefs) == is_shared


def test_the_transcript_may_lag_behind_the_hooks(machine: Machine) -> None:
    session = Played(machine, shop(machine))
    session.start()
    session.prompt(CART_ASKED)
    session.stop(CART_DECIDED, is_late=True)
    half = json.dumps({"type": "user", "message": {"role": "user", "content": STOCK_ASKED}}).encode()
    session.transcript.write(half[:40])  # half of a line
    session.event("UserPromptSubmit", prompt=STOCK_ASKED)
    session.transcript.write(half[40:] + b"\n")
    session.work(STOCK_DECIDED)
    session.compact()
    assert all(text in session.briefs[0] for text in (CART_ASKED, CART_DECIDED, STOCK_ASKED, STOCK_DECIDED))
    assert session.briefs[0].count(CART_DECIDED) == 1


def test_a_file_that_a_sentence_names_is_still_listed(machine: Machine) -> None:
    root = shop(machine)
    session = Played(machine, root)
    change = edit(root, "shop/mail.py", "print", "log")
    session.turn(
        "Please make send() in shop/mail.py write a log instead of printing.", "It is done in shop/mail.py.", [change]
    )
    session.compact()
    assert section(session.briefs[0], "Files changed") == ["shop/mail.py"]


def test_an_agent_that_changes_its_folder_stays_in_its_session(machine: Machine) -> None:
    session = Played(machine, shop(machine))
    session.start()
    cart(session)
    elsewhere = str(machine.project("elsewhere"))
    session.transcript.cwd = elsewhere
    session.event("PreCompact", cwd=elsewhere, trigger="auto", custom_instructions="")
    session.transcript.boundary()
    session.event("SessionStart", cwd=elsewhere, source="compact")
    session.event("UserPromptSubmit", cwd=str(session.cwd / "shop"), prompt="go on")
    assert len(session.briefs) == 1
    assert CART_DECIDED in session.briefs[0]
    assert section(session.briefs[0], "Files changed") == ["shop/cart.py"]


def test_two_sessions_may_ask_the_same_at_the_same_time(machine: Machine) -> None:
    root, now = shop(machine), float(int(time.time()))
    first, second = Played(machine, root, now=now), Played(machine, root, now=now)
    for session, answer in ((first, CART_DECIDED), (second, STOCK_DECIDED)):
        session.prompt(CART_ASKED)
        session.work(answer)
        session.compact()
    assert len(machine.checkpoints()) == 2
    assert STOCK_DECIDED in second.briefs[0].partition("Other sessions here:")[0]
    assert CART_DECIDED in first.briefs[0]


def test_the_end_of_a_session_saves_what_is_left(machine: Machine) -> None:
    root = shop(machine)
    session = Played(machine, root)
    session.start()
    cart(session)
    session.end()
    assert machine.settle() == 0
    assert len(machine.checkpoints()) == 1
    later = Played(machine, root)
    later.start()
    assert CART_DECIDED in later.briefs[0]
    session.resume()
    assert CART_DECIDED in session.briefs[-1]


def test_checkpoint_on_request(machine: Machine) -> None:
    session = Played(machine, shop(machine))
    session.start()
    cart(session)
    session.prompt("checkpoint")
    assert any("saves a checkpoint" in text for text in session.shown)
    machine.settle()
    assert len(machine.checkpoints()) == 1
