"""Answers of models: any form that holds a summary is read, and nothing exceeds its limits."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from local_services import KEY

from sage_code.memory.context.clients.answering import summary_of
from sage_code.memory.context.clients.asking import Answer, Failed
from sage_code.memory.context.summary import StructuredSummary, words_in

IDS = {"m1": "a", "m2": "b", "p1": "c"}
GOOD = '{"text": "A good summary.", "topics": ["x"]}'


def parsed(text: str, *, cut: bool = False) -> StructuredSummary:
    return summary_of(Answer(text, cut), IDS, 100, "test")


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"Here is the summary:\n\n```\n{GOOD}\n```\nAnything else?",
        f"Sure {{ok}}! {GOOD} That was it.",
        f'<think>Perhaps {{"text": "a draft"}}?</think>\n{GOOD}',
        f'{{"a": 1}} {GOOD}',
    ],
)
def test_json_is_found_wherever_it_is(text: str) -> None:
    summary = parsed(text)
    assert (summary.text, summary.topics, summary.by) == ("A good summary.", ("x",), "test")


def test_prose_is_a_summary_without_parts() -> None:
    assert parsed("The cache was renamed. Tests are open.") == StructuredSummary(
        "The cache was renamed. Tests are open.", "test"
    )


@pytest.mark.parametrize("text", ["", "word " * 301, json.dumps({"text": "word " * 301}), "{" * 50_000, "[" * 50_000])
def test_empty_broken_and_far_too_long_answers_are_failures(text: str) -> None:
    with pytest.raises(Failed):
        parsed(text)


def test_half_of_an_answer_is_no_prose() -> None:
    with pytest.raises(Failed, match="cut off"):
        parsed("The cache was", cut=True)


def test_every_field_has_its_limits() -> None:
    long = "word " * 500
    many = [{"text": long, "message_ids": ["m1", "a", "zzz", *["m2"] * 100]}] * 100
    threads = [{"what": long, "who": [long] * 50, "state": "exploded", "message_ids": ["p1"]}] * 100
    document = {
        "text": "Fine.",
        "by": "an impostor",
        "problem": "none",
        "topics": [long] * 100,
        "threads": threads,
        "quotes": many,
        **dict.fromkeys(("decisions", "unresolved", "code_refs"), many),
    }
    summary = parsed(json.dumps(document))
    assert (summary.by, summary.problem, summary.quotes) == ("test", "", ())
    assert len(summary.topics) == 12
    assert max(map(len, summary.topics)) <= 80
    assert (len(summary.threads), len(summary.threads[0].who), summary.threads[0].state) == (20, 10, "open")
    assert summary.threads[0].message_ids == ("c",)
    for points in (summary.decisions, summary.unresolved, summary.code_refs):
        assert len(points) == 30
        assert len(points[0].text) <= 400
        assert points[0].message_ids == ("a", "b")


def test_secrets_and_unstorable_characters_are_removed() -> None:
    document = {"text": f"use {KEY}\x00\ud800 now", "topics": [f"key {KEY}"], "decisions": [f"a\x1b[31m {KEY}"]}
    summary = parsed(json.dumps(document))
    assert KEY not in f"{summary}"
    assert "\x1b" not in summary.decisions[0].text
    json.dumps(summary.to_json(), ensure_ascii=False).encode()  # no half of a surrogate pair


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=20,
)


@given(
    st.dictionaries(
        st.sampled_from(["text", "topics", "threads", "decisions", "unresolved", "code_refs", "by", "who"]), _json
    )
    | st.text(max_size=200)
)
def test_any_answer_is_a_summary_or_a_failure(value: object) -> None:
    try:
        summary = parsed(value if isinstance(value, str) else json.dumps(value))
    except Failed:
        return
    assert summary.text.strip()
    assert words_in(summary.text) <= 300
    json.dumps(summary.to_json()).encode()
