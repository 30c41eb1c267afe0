"""What fits into a budget of tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code.text.tokens import count_tokens, first_lines, fit


@pytest.mark.parametrize(("budget", "kept"), [(0, []), (2, []), (3, ["abc"]), (5, ["abc", "de"]), (99, ["abc", "de"])])
def test_the_first_items_are_kept_while_there_is_room(budget: int, kept: list[str]) -> None:
    assert fit(["abc", "de"], len, budget) == kept


@given(st.text(alphabet="ab_1 .\n", max_size=60), st.integers(-1, 40))
def test_the_first_lines_are_the_most_that_fit(text: str, budget: int) -> None:
    lines = text.split("\n")
    shown = first_lines(text, budget)
    fitting = ["\n".join(lines[:n]) for n in range(1, len(lines) + 1) if count_tokens("\n".join(lines[:n])) <= budget]
    assert shown == (fitting[-1] if fitting else "")
