"""Passages of messages: they cover the text in order, keep short code whole, and are about a paragraph long."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sage_code.memory.tiers.ranking.parts import PART_CHARS, WHOLE_CHARS, parts, words_of_text

SENTENCE = "The retry policy waits twice as long after each failure. "
PIECES = st.sampled_from(
    ["word ", "\n", "\n\n", "```\n", "# Title\n", "A sentence. ", "x" * 900, "é ", "- item\n", "~~~\n"]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=300)), max_size=60).map("".join))
def test_passages_cover_any_text_in_order(text: str) -> None:
    found = parts(text)
    assert found[0][0] == 0
    assert found[-1][1] == len(text)
    assert all(one[1] == other[0] for one, other in pairwise(found))
    assert all(start < end for start, end in found) or text == ""


@given(st.text(max_size=WHOLE_CHARS))
def test_a_short_text_is_one_passage(text: str) -> None:
    assert parts(text) == [(0, len(text))]


def test_a_long_text_is_cut_between_sentences() -> None:
    text = SENTENCE * 60
    found = [text[start:end] for start, end in parts(text)]
    assert len(found) > 3
    assert all(passage.endswith("failure. ") for passage in found)
    assert all(len(passage) <= PART_CHARS for passage in found)


def test_a_text_without_spaces_is_cut_all_the_same() -> None:
    assert all(end - start <= PART_CHARS for start, end in parts("x" * 5000))


def test_a_paragraph_begins_a_passage_when_there_is_enough_before() -> None:
    first, second, third = SENTENCE * 10 + "\n\n", SENTENCE * 10 + "\n\n", SENTENCE * 10
    assert parts(first + second + third) == [
        (0, len(first)),
        (len(first), len(first + second)),
        (len(first + second), len(first + second + third)),
    ]


def test_a_short_code_block_is_not_cut() -> None:
    block = "```python\n" + "call(argument)\n\n" * 60 + "```\n"
    text = SENTENCE * 14 + "\n\n" + block + SENTENCE * 14
    start = text.index("```")
    assert any(one <= start and start + len(block) <= other for one, other in parts(text))


def test_a_fence_that_is_not_closed_is_text() -> None:
    text = "```\n" + "line\n" * 1000
    assert len(parts(text)) > 3


def test_stored_stems_have_a_line_for_each_passage() -> None:
    text = SENTENCE * 60
    lines = words_of_text(text).split("\n")
    assert len(lines) == len(parts(text))
    assert lines[0].split()[:4] == ["retri", "polici", "wait", "twic"]


def test_stems_of_names_of_code_include_their_parts() -> None:
    assert words_of_text("parseHeader() of the module") == "parsehead pars head modul"
