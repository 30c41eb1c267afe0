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


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        # Between the counts of o200k_base and of Claude's published tokenizer, or slightly above.
        ("The garden was ready before the guests arrived.", 9, 11),
        ("getUserNameFromSessionToken", 6, 8),
        ("人人生而自由", 6, 8),
        ("모든 인간은", 5, 9),
        ("Все люди рождаются", 8, 12),
        ("🎉", 1, 3),
    ],
)
def test_words_identifiers_and_other_scripts_are_not_counted_too_low(text: str, least: int, most: int) -> None:
    assert least <= count_tokens(text) <= most


@given(st.lists(st.text(max_size=12), max_size=6))
def test_the_count_of_lines_is_the_sum_of_their_counts(texts: list[str]) -> None:
    lines = [line for text in texts for line in text.split("\n")] or [""]
    assert count_tokens("\n".join(lines)) == sum(map(count_tokens, lines)) + len(lines) - 1


@given(st.text(max_size=200) | st.text("aB é9_\"',: \n", max_size=60))
def test_blanks_and_lines_divide_texts_without_a_cost(text: str) -> None:
    assert count_tokens(text.replace("\n", " \n  ")) == count_tokens(text)
    assert count_tokens(f"{text}\n{text}") == 2 * count_tokens(text) + 1
