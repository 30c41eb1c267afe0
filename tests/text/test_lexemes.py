"""Words of code: identifiers, their parts, and how a lexicon counts them."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code.text.lexemes import MAX_LEXEME_CHARS, Lexicon, lexemes, split_word

words = st.text(st.sampled_from("abAB_19éß"), min_size=1, max_size=12)
texts = st.lists(words, max_size=20).map(" ".join)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("parseHTTPHeader", ("parsehttpheader", "parse", "http", "header")),
        ("MAX_SIZE", ("max_size", "max", "size")),
        ("utf8", ("utf8", "utf", "8")),
        ("simple", ("simple",)),
        ("__init__", ("init",)),
        ("_", ("_",)),
        ("größeÄndern", ("größeändern",)),
        ("größe_ändern", ("größe_ändern", "größe", "ändern")),
        ("x" * (MAX_LEXEME_CHARS + 1), ()),
    ],
)
def test_a_word_is_itself_and_its_parts(word: str, expected: tuple[str, ...]) -> None:
    assert split_word(word) == expected


def test_text_gives_its_words_in_order_and_nothing_else() -> None:
    assert lexemes("if (userName != 42) { return; }") == ["if", "username", "user", "name", "42", "return"]


@given(st.text())
def test_lexemes_are_lower_case_and_never_empty(text: str) -> None:
    assert all(lexeme and lexeme == lexeme.lower() for lexeme in lexemes(text))


@given(st.lists(texts, max_size=6))
def test_a_lexicon_counts_what_lexemes_lists(documents: list[str]) -> None:
    lexicon = Lexicon()
    numbers, counts, lengths = lexicon.count(documents)
    assert len(lengths) == len(documents)
    assert sum(lengths) == len(numbers) == len(counts)
    names = list(lexicon.numbers)
    assert [lexicon.numbers[name] for name in names] == list(range(len(lexicon.numbers)))
    start = 0
    for document, length in zip(documents, lengths, strict=True):
        counted: Counter[str] = Counter()
        for number, count in zip(numbers[start : start + length], counts[start : start + length], strict=True):
            counted[names[number]] += count
        assert counted == Counter(lexemes(document))
        start += length


def test_numbers_stay_when_more_is_counted() -> None:
    lexicon = Lexicon()
    lexicon.count(["alpha beta"])
    lexicon.count(["beta gamma"])
    assert list(lexicon.numbers) == ["alpha", "beta", "gamma"]
    assert list(lexicon.since(2)) == ["gamma"]
