"""Words of questions and of names are compared by their meaning."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sage_code.embed.bundled import BundledEmbedder
from sage_code.search import soft
from sage_code.search.soft import SoftMatch, WordMeanings


def match(meanings: WordMeanings, query: dict[str, float], names: list[tuple[str, ...]]) -> SoftMatch:
    """Names are given as their words."""
    own, _ = meanings.match(query, [([" ".join(name) for name in names], split)])
    return own


def split(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(name.split()), ()


WORDS = ("retry", "backoff", "parse", "parser", "decode", "route", "router", "auth", "login", "cookie", "xyzzyq", "42")


@pytest.fixture(scope="module")
def meanings() -> WordMeanings:
    return WordMeanings(BundledEmbedder())


def test_a_word_is_nearest_to_itself_then_to_what_means_the_same(meanings: WordMeanings) -> None:
    found = match(meanings, {"retry": 1.0}, [("retry",), ("backoff",), ("cookie",)])
    assert found.cover[0] == pytest.approx(1.0, abs=0.02)
    assert found.cover[0] > found.cover[1] > found.cover[2]
    assert found.cover[1] > 0.3


def test_cover_counts_the_question_and_share_counts_the_name(meanings: WordMeanings) -> None:
    found = match(meanings, {"parse": 0.5, "cookie": 0.5}, [("parse",), ("parse", "cookie"), ("parse", "xyzzyq")])
    assert found.cover[0] == pytest.approx(0.5, abs=0.1)
    assert found.cover[1] == pytest.approx(1.0, abs=0.02)
    assert found.share[0] == pytest.approx(1.0, abs=0.02)
    assert found.share[2] < 0.7


def test_nothing_to_compare_is_zero(meanings: WordMeanings) -> None:
    assert match(meanings, {"retry": 1.0}, [()]).cover.tolist() == [0.0]
    assert match(meanings, {}, [("retry",)]).share.tolist() == [0.0]
    assert match(meanings, {"retry": 1.0}, []).cover.tolist() == []


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=4).map(tuple), min_size=1, max_size=12), st.integers(0, 11))
@settings(max_examples=50, deadline=None)
def test_a_name_gets_the_same_number_whatever_else_is_compared(names: list[tuple[str, ...]], number: int) -> None:
    asked = {"retry": 0.5, "login": 0.3, "parse": 0.2}
    one = names[number % len(names)]
    together = match(WordMeanings(BundledEmbedder()), asked, names)
    alone = match(WordMeanings(BundledEmbedder()), asked, [one])
    row = names.index(one)
    assert (together.cover[row], together.share[row]) == (alone.cover[0], alone.share[0])


def test_what_is_kept_is_bounded_and_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soft, "_KEPT", 4)
    bounded, free = WordMeanings(BundledEmbedder()), WordMeanings(BundledEmbedder())
    for names in ([("retry", "backoff")], [("parse", "parser", "decode")], [("route",), ("retry", "auth")]):
        asked = {"login": 0.6, "route": 0.4}
        monkeypatch.setattr(soft, "_KEPT", 4)
        few = match(bounded, asked, names)
        monkeypatch.setattr(soft, "_KEPT", 1 << 16)
        many = match(free, asked, names)
        assert np.array_equal(few.cover, many.cover)
        assert np.array_equal(few.share, many.share)
