"""What a person takes back is gone; what others do, what may happen, and everything else stays."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from profile_messages import says

from sage_code.memory.context.profile.facts import Fact, facts_in, retired
from sage_code.memory.context.profile.rendering import profile_text

_OTHERS = ("I have a cat named Luna", "I love pizza", "My brother lives in Rome", "I prefer short commits")


def known(*contents: str) -> list[Fact]:
    """The facts of messages that were said one after the other."""
    return [fact for number, content in enumerate(contents) for fact in facts_in(says(content, number))]


@pytest.mark.parametrize(
    ("old", "later"),
    [
        ("I live in Boston", "I moved to Denver."),
        ("I live in Boston", "I live in Denver now."),
        ("I live in Boston", "I don't live in Boston any more."),
        ("My name is Jon", "My name is John, not Jon."),
        ("I work as a waiter", "I'm now a bartender."),
        ("I work as a waiter", "I quit my job."),
        ("I'm married", "We got divorced."),
        ("I play tennis every weekend", "I no longer play tennis."),
        ("I play tennis every weekend", "I used to play tennis."),
        ("I ride my bike to work", "I sold the bike."),
        ("I have two dogs", "I have three dogs now."),
        ("I love sushi", "I don't like sushi."),
        ("I use vim", "I switched from vim to helix."),
        ("I always use npm", "I switched to pnpm."),
        ("My favorite color is blue", "My favorite color is green."),
        ("We deploy on Fridays", "We no longer deploy on Fridays."),
        ("I prefer tabs", "I prefer spaces now."),
    ],
)
def test_corrections_take_back_the_old_fact_only(old: str, later: str) -> None:
    facts = known(*_OTHERS[:2], old, *_OTHERS[2:])
    assert [fact.text for fact in retired(facts, says(later, 20))] == [old]


@pytest.mark.parametrize(
    "later",
    [
        "My sister moved to Denver.",
        "I might move to Denver.",
        "If I moved to Denver, I would sell the bike.",
        "Did you move to Denver?",
        "I moved the function to another file.",
        "I want to quit my job.",
        "You no longer live in Boston.",
        "She got divorced.",
        "I live in Boston, near the river.",
        "I got used to the cold in Boston.",
        "Thanks, that's great!",
        "I'm sorry to hear that.",
        "",
    ],
)
def test_other_things_take_back_nothing(later: str) -> None:
    facts = known("I live in Boston", "I work as a waiter", "I'm married", "I ride my bike to work", *_OTHERS)
    assert retired(facts, says(later, 20)) == []


def test_a_short_answer_takes_back_what_was_asked_about() -> None:
    facts = known("I play tennis every weekend", *_OTHERS)
    asked = says("Do you still play tennis?", 19, "assistant")
    assert [fact.text for fact in retired(facts, says("Not any more.", 20), [asked])] == ["I play tennis every weekend"]


@pytest.mark.parametrize("role", ["assistant", "tool", "system", "summary"])
def test_agents_take_back_nothing(role: str) -> None:
    assert retired(known("I live in Boston"), says("I moved to Denver.", 20, role)) == []


def test_later_facts_and_those_of_the_same_message_stay() -> None:
    facts = known("I live in Boston")
    assert retired(facts, says("I live in Boston. I moved to Denver.", 0)) == []
    assert retired(known("Hello.", "Hello.", "I live in Denver"), says("I live in Boston now.", 1)) == []


def test_the_profile_has_the_new_fact_instead_of_the_old_one() -> None:
    facts = known("I have two dogs", "I live in Boston")
    message = says("I live in Denver now.", 20)
    gone = {fact.id for fact in retired(facts, message)}
    facts = [fact for fact in facts if fact.id not in gone] + facts_in(message)
    assert profile_text(facts) == "I have two dogs\nI live in Denver now"


def test_nothing_new_leaves_the_profile_as_it_is() -> None:
    facts = known("I have two dogs", "I live in Boston", *_OTHERS)
    before = profile_text(facts)
    for content in ("Fix the failing test, please.", "What do you think?", "I have two dogs.", "I'm at the store."):
        message = says(content, 30)
        assert retired(facts, message) == []
        assert profile_text([*facts, *facts_in(message)]) == before


def test_long_and_hostile_messages_are_read_in_time() -> None:
    facts = known("I live in Boston", "I play tennis every weekend", *_OTHERS)
    for piece in ("not ", "switched from ", "i moved ", "a", "my favorite ", ", not x", "I no longer ", "my a "):
        content = (piece * (1_000_000 // len(piece) + 1))[:1_000_000]
        started = time.process_time()
        retired(facts, says(content, 20), [says(content, 19, "assistant")])
        assert time.process_time() - started < 1.5, piece


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_taken(content: str) -> None:
    facts = known("I live in Boston", *_OTHERS)
    gone = retired(facts, says(content, 20))
    assert gone == retired(facts, says(content, 20))
    assert all(fact in facts for fact in gone)
