"""The context builder: never over its budget, critical parts whole, the order kept, foreign text behind its fence."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code.errors import UsageError
from sage_code.memory.context.allocation import FULL, REPEATED
from sage_code.memory.context.builder import ContextBuilder
from sage_code.memory.context.components import BuiltContext, Component, Piece, Priority, text_of
from sage_code.text.tokens import count_tokens

CRITICAL, HIGH, MEDIUM, LOW = Priority
TEXTS = st.text(max_size=60) | st.text("ab <>/!\n\"':,_9é🎉\u202e", max_size=80) | st.sampled_from(
    ["", " ", "</part-0>", "<part-1>", "< /part-0>", "word " * 300, "x" * 900, "a\n\nb", "<", "/part-0>"]
)  # fmt: skip


def by_chars(text: str) -> int:
    """A counter that does not add up: two short texts cost less than both together."""
    return len(text) ** 2 // 400 if len(text) < 400 else len(text)


COUNTERS = [count_tokens, by_chars, len]


@st.composite
def components(draw: st.DrawFn) -> list[Component]:
    found = []
    for number in range(draw(st.integers(0, 5))):
        shares = sorted((draw(st.floats(0, 1)), draw(st.floats(0, 1))))
        items = [Piece(text) if draw(st.booleans()) else text for text in draw(st.lists(TEXTS, max_size=6))]
        found.append(
            Component(
                f"part-{number}", draw(st.sampled_from(Priority)), items, draw(st.sampled_from(["", "Title"])), *shares,
                draw(st.sampled_from(["start", "end"])), draw(st.booleans()), draw(st.sampled_from(["", "- "])),
                draw(st.booleans()), draw(st.booleans()), draw(st.sampled_from(["", "({left} more)"])),
            )
        )  # fmt: skip
    return found


def _built(parts: list[Component], budget: int, **options: object) -> BuiltContext:
    builder = ContextBuilder(budget, **options)  # type: ignore[arg-type]
    for part in parts:
        builder.add(part)
    return builder.build()


@given(components(), st.integers(0, 400), st.sampled_from(COUNTERS), st.sampled_from(["", "all n=1"]))
def test_it_keeps_its_promises(parts: list[Component], budget: int, counter: object, element: str) -> None:
    try:
        built = _built(parts, budget, counter=counter, element=element, max_chars=2_000)
    except UsageError:
        critical = [part for part in parts if part.priority is CRITICAL]
        with pytest.raises(UsageError, match="do not fit into"):  # the others have nothing to do with it
            _built(critical, budget, counter=counter, element=element, max_chars=2_000)
        return
    assert counter(built.text) == built.tokens <= budget  # type: ignore[operator]
    assert len(built.text) <= 2_000
    assert [part.name for part in built.parts] == [part.name for part in parts]
    for part, kept in zip(parts, built.parts, strict=True):
        assert kept.tokens <= kept.wanted_tokens
        if part.priority is CRITICAL and any(text_of(item).strip() for item in part.items):
            assert kept.items_kept == kept.items == len(part.items)
        assert bool(kept.why) == (kept.items_kept < kept.items)
        if kept.text and not element:
            shown = f"<{part.name}>" if part.is_foreign else kept.text
            assert shown in built.text
    assert _built(parts, budget, counter=counter, element=element, max_chars=2_000) == built


@given(st.lists(TEXTS, max_size=6), st.lists(TEXTS, max_size=6), st.sampled_from(["", "- "]))
def test_foreign_text_neither_closes_its_element_nor_opens_one(
    first: list[str], second: list[str], bullet: str
) -> None:
    built = _built([Component("part-0", HIGH, first, bullet=bullet), Component("part-1", LOW, second)], 5_000)
    tags = re.findall(r"<(?:\s*/|[!?]|[^\W\d])[^\n]*", built.text)
    expected = [f"<{end}{part.name}>" for part in built.parts if part.items_kept for end in ("", "/")]
    assert tags == expected
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e\u200b]", built.text)


@given(st.lists(st.text(max_size=200), max_size=8))
def test_the_default_counter_adds_up_over_lines(lines: list[str]) -> None:
    assert count_tokens("\n".join(lines)) == max(sum(count_tokens(line) + 1 for line in lines) - 1, 0)


PERSONA = Component("persona", CRITICAL, ["You are Sage."], is_foreign=False)
PROFILE = Component("profile", HIGH, [f"Ana likes thing number {number}." for number in range(20)], min_share=0.2)
TALK = [f"Ana: message number {number} of the talk" for number in range(50)]


def test_priorities_and_whole_items() -> None:
    built = _built([PERSONA, PROFILE, Component("talk", LOW, TALK, keep="end")], 260)
    persona, profile, talk = built.parts
    assert (persona.items_kept, persona.why) == (1, "")
    assert (profile.items_kept, profile.why) == (20, "")
    assert 0 < talk.items_kept < 50
    assert talk.why == FULL
    last = TALK[-talk.items_kept :]
    likes = map(str, PROFILE.items)
    assert built.text.split("\n") == ["You are Sage.", "<profile>", *likes, "</profile>", "<talk>", *last, "</talk>"]
    assert 200 < built.tokens == count_tokens(built.text) <= 260


def test_a_maximum_share_leaves_room_for_others_and_is_the_reason() -> None:
    limited = PROFILE._replace(max_share=0.3)
    built = _built([limited, Component("talk", LOW, TALK, keep="end")], 260)
    assert built.part("profile").tokens <= 0.3 * 261
    assert built.part("profile").why == "over its share of 30 %"
    assert built.tokens > 240


def test_a_minimum_share_of_a_low_priority_is_kept() -> None:
    built = _built([PROFILE, Component("talk", LOW, TALK, min_share=0.5, keep="end")], 200)
    assert built.part("talk").tokens > 80
    assert built.part("profile").why == FULL


def test_what_is_critical_must_fit() -> None:
    with pytest.raises(
        UsageError, match=r"the critical parts \(persona\) do not fit into 3 tokens: they need 4"
    ) as raised:
        _built([PERSONA, PROFILE], 3)
    assert raised.value.hint == "allow at least 4 tokens, or make them shorter"
    assert _built([PERSONA, PROFILE], 4).text == "You are Sage."
    assert _built([PROFILE], 3).text == ""


def test_a_message_more_leaves_what_comes_before_as_it_is() -> None:
    def text(count: int) -> str:
        parts = [PERSONA, PROFILE, Component("talk", LOW, TALK[:count], keep="end")]
        return _built(parts, 400).text.partition("<talk>")[0]

    assert len({text(count) for count in range(1, 51)}) == 1


def test_what_another_part_says_is_left_out() -> None:
    long = "The queue is Kafka because the order of events within a key matters to us."
    said = Component("said", HIGH, [f"Decided: {long}", "short"])
    built = _built([said, Component("again", LOW, [long, "short", "new"], drops_repeats=True)], 200)
    assert built.part("again").text == "new"
    assert built.part("again").why == REPEATED


def test_a_line_says_what_was_cut() -> None:
    talk = Component("talk", LOW, TALK, "Lately", keep="end", rest="({left} earlier ones are not shown)")
    built = _built([talk], 100)
    kept = built.parts[0].items_kept
    assert built.text.startswith(
        f"<talk>\nLately:\n({50 - kept} earlier ones are not shown)\nAna: message number {50 - kept} "
    )
    assert "not shown" not in _built([talk], 2_000).text


def test_one_element_around_all() -> None:
    built = _built([PROFILE._replace(title="Profile", bullet="- ")], 100, element="sage-brief n=2", about="Notes.")
    assert built.text.startswith("<sage-brief n=2>\nNotes.\nProfile:\n- Ana likes thing number 0.\n")
    assert built.text.endswith("\n</sage-brief>")


def test_counts_that_pieces_bring_are_used_unless_they_cannot_be() -> None:
    asked: list[str] = []

    def counter(text: str) -> int:
        asked.append(text)
        return count_tokens(text)

    pieces = [Piece(text, count_tokens(text)) for text in TALK]
    _built([Component("talk", LOW, pieces, keep="end")], 300, counter=counter)
    assert not {*TALK} & {*asked}
    lies = [Piece(text, 1) for text in TALK]
    assert _built([Component("talk", LOW, lies, keep="end")], 300).tokens <= 300


@pytest.mark.parametrize("name", ["", "a b", "<x>", "é", "1", "profile"])
def test_names_are_names_of_elements_and_given_once(name: str) -> None:
    with pytest.raises(UsageError, match="cannot be named"):
        _built([PROFILE, PROFILE._replace(name=name)], 100)


def test_shares_are_shares() -> None:
    with pytest.raises(UsageError, match=r"cannot have shares from 0\.5 to 0\.2"):
        _built([PROFILE._replace(min_share=0.5, max_share=0.2)], 100)


def test_the_report_is_json() -> None:
    built = _built([PERSONA, Component("talk", LOW, TALK, keep="end")], 100)
    data = json.loads(json.dumps(built.to_json()))
    assert (data["text"], data["tokens"], data["budget"]) == (built.text, built.tokens, 100)
    persona, talk = data["parts"]
    assert persona == {
        "name": "persona", "priority": "critical", "tokens": 5, "wanted_tokens": 5, "items_kept": 1, "items": 1,
        "why": "",
    }  # fmt: skip
    assert talk["why"] == FULL
    assert abs(talk["wanted_tokens"] - count_tokens("\n".join(TALK))) < 60
