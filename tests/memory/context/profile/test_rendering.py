"""The profile is short, stable, and changes as little as it can."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from profile_messages import START

from sage_code.memory.context.profile.rendering import PROFILE_CHARS, profile_text
from sage_code.memory.context.profile.values import Fact, fact_id

_WORDS = "dogs guitars boats horses novels stamps bikes maps coins trains orchids kites drums violins parrots bees"
_THINGS = _WORDS.split()


def fact(text: str, number: int, score: float = 0.8) -> Fact:
    """A fact said in the given minute."""
    return Fact(fact_id(f"m{number}", text), text, f"m{number}", START + timedelta(minutes=number), score)


def many(count: int) -> list[Fact]:
    """Facts that together are longer than a profile."""
    return [
        fact(f"I keep {number + 2} {_THINGS[number % len(_THINGS)]} of kind {number} in my cellar{number}", number)
        for number in range(count)
    ]


def test_facts_are_lines_in_the_order_in_which_they_were_said() -> None:
    facts = [fact("I live in Lisbon", 2), fact("I have two dogs", 1)]
    assert profile_text(facts) == "I have two dogs\nI live in Lisbon"
    assert profile_text(facts[::-1]) == profile_text(facts)


def test_nothing_gives_nothing() -> None:
    assert profile_text([]) == ""


def test_retired_facts_are_left_out() -> None:
    facts = [fact("I have two dogs", 1), replace(fact("I live in Boston", 2), retired_by="m9")]
    assert profile_text(facts) == "I have two dogs"


def test_what_is_known_changes_nothing() -> None:
    facts = [fact("I have two dogs", 1), fact("I live in Lisbon", 2)]
    before = profile_text(facts)
    assert profile_text([*facts, facts[0]]) == before
    assert profile_text([*facts, fact("I have dogs", 3)]) == before
    assert profile_text([*facts, fact("I live in Lisbon now", 4)]) == before


def test_a_new_fact_leaves_the_other_lines_as_they_are() -> None:
    facts = many(60)
    for count in range(1, len(facts)):
        before, after = (profile_text(facts[:end]).split("\n") for end in (count, count + 1))
        kept = [line for line in after if line in before]
        assert kept == [line for line in before if line in after]
        assert len(before) - len(kept) <= 2


def test_sure_facts_outlast_doubtful_ones() -> None:
    facts = [replace(one, score=0.95 if number % 3 == 0 else 0.4) for number, one in enumerate(many(60))]
    lines = set(profile_text(facts).split("\n"))
    assert sum(one.text in lines for one in facts if one.score > 0.9) > len(lines) * 0.8


def test_what_is_only_mentioned_is_named_where_room_is_left() -> None:
    assert profile_text([fact("My son is in junior high", 1)]).split("\n") == [
        "My son is in junior high",
        "I have a son",
    ]
    assert len(profile_text([fact("My son is in junior high", 1)], 30)) <= 30


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.text("abcdefgh ij", max_size=300), st.integers(0, 50), st.floats(0, 1)), max_size=60),
    st.integers(0, 1000),
)
def test_a_profile_is_never_too_long(made: list[tuple[str, int, float]], most: int) -> None:
    facts = [fact(text, number, score) for text, number, score in made]
    assert len(profile_text(facts)) <= PROFILE_CHARS
    text = profile_text(facts, most)
    assert len(text) <= most
    assert text == profile_text(facts[::-1], most)
    assert text == profile_text([*facts, *facts], most)
