"""Merging two edits: no line is lost, the order of the sides makes no difference."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sage_code.memory.team.merging import merged

_LINES = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "\n"]), max_size=8).map("".join)
_HEAD = "---\nid: x\nkeywords: [one]\nadded: 1\n---\nbody\n"


@given(_LINES, _LINES, _LINES)
@settings(max_examples=300, deadline=None)
def test_the_sides_may_be_exchanged(base: str, mine: str, theirs: str) -> None:
    assert merged(base, mine, theirs) == merged(base, theirs, mine)


@given(_LINES, _LINES)
@settings(max_examples=200, deadline=None)
def test_one_edit_alone_is_the_result(base: str, mine: str) -> None:
    assert merged(base, mine, base) == mine
    assert merged(base, base, mine) == mine
    assert merged(base, mine, mine) == mine


@given(_LINES, _LINES, _LINES)
@settings(max_examples=300, deadline=None)
def test_what_either_side_added_is_in_the_result(base: str, mine: str, theirs: str) -> None:
    mine, theirs = f"MINE\n{mine}", f"{theirs}THEIRS\n"
    both = merged(base, mine, theirs)
    if both is not None:
        assert "MINE\n" in both
        assert "THEIRS\n" in both


def test_fields_beside_each_other_are_merged_and_the_same_field_is_a_conflict() -> None:
    mine, theirs = _HEAD.replace("[one]", "[one, two]"), _HEAD.replace("added: 1", "added: 2")
    assert merged(_HEAD, mine, theirs) == _HEAD.replace("[one]", "[one, two]").replace("added: 1", "added: 2")
    assert merged(_HEAD, mine, _HEAD.replace("[one]", "[three]")) is None


@pytest.mark.parametrize("theirs", ["a\nX\nc\n", "a\nc\n", "a\nb\nX\nc\n"])
def test_edits_of_the_same_lines_are_not_guessed(theirs: str) -> None:
    mine = "a\nY\nc\n" if "b" not in theirs else "a\nb\nY\nc\n"
    assert merged("a\nb\nc\n", mine, theirs) is None
