"""Hints: counted, few, with names that break nothing, and about several people only if that is allowed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from said import said

from sage_code.memory.context.hints import hints, may_hint, people
from sage_code.settings.table import Settings


def test_who_answers_whom() -> None:
    talk = [("Ana", "What now?"), ("Ben", "Let us see.")] * 7 + [("Cara", "Hello"), ("Ana", "Hi")] * 2
    assert hints(said(*talk)) == [
        "Ana and Ben answer each other most (13 times)",
        "Ana and Cara answer each other (3 times)",
    ]


def test_agreement_and_mentions() -> None:
    talk = [("Ana", "We take Kafka."), ("Ben", "Yes, exactly.")] * 3
    talk += [
        ("Ana", "We take NATS."),
        ("Ben", "Yes, but not for that."),
        ("Ana", "Why?"),
        ("Ben", "Yesterday it failed"),
    ]
    talk += [("Cara", "I ask @Ben Ogilvy about it"), ("Cara", "Ana knows nothing of Bens")] * 3
    found = hints(said(*talk), limit=9)
    assert "Ben agrees with Ana most (3 times)" in found
    assert "Cara mentions Ana most (3 times)" in found
    assert "Cara mentions Ben (3 times)" in found
    assert len(hints(said(*talk), limit=2)) == 2


def test_names_that_are_words_need_their_sign() -> None:
    talk = [("will", "we will see"), ("Jo", "will it work, Jo?")] * 4
    assert [line for line in hints(said(*talk)) if "mentions" in line] == []
    talk += [("Jo", "@will look"), ("will", "ok")] * 4
    assert "Jo mentions will most (4 times)" in hints(said(*talk))


def test_once_is_no_relationship() -> None:
    assert hints(said(("Ana", "Hello"), ("Ben", "Yes"))) == []
    assert hints([]) == []


def test_several_people_must_be_allowed() -> None:
    alone = said(("Ana", "Do it"), ("", "Done", "assistant"))
    both = said(("Ana", "Do it"), ("Ben", "Done"))
    assert (people(alone), people(both)) == (["Ana"], ["Ana", "Ben"])
    assert may_hint(len(people(alone)), Settings())
    assert not may_hint(len(people(both)), Settings())
    assert may_hint(len(people(both)), Settings(relationship_hints=True))


NAMES = st.text(max_size=8) | st.sampled_from(["</a>", "Ana", "Ana Lu", "a.*b", "(", "@", "\u202eb", ""])


@given(st.lists(st.tuples(NAMES, st.text(max_size=30) | NAMES), max_size=12), st.integers(0, 6))
def test_any_names_and_texts(lines: list[tuple[str, str]], limit: int) -> None:
    found = hints(said(*lines * 3), limit)
    assert len(found) <= limit
    assert all("\n" not in line and "</" not in line and "\u202e" not in line for line in found)
