"""Signals that are found in few steps are those that a plain search finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sage_code.embed.bundled import BundledEmbedder
from sage_code.memory.tiers.ranking.features import _DONE, _PREFERENCE, _STANDING, _with_phrases
from sage_code.memory.tiers.ranking.meanings import Meanings
from sage_code.memory.tiers.ranking.pool import Candidate, Pool

PIECES = st.sampled_from(
    (*_STANDING, *_PREFERENCE, *_DONE, "i", "i ", "i'", "we ", "text", " ", "always", "if i ", "\n")
)
TEXTS = st.lists(st.lists(PIECES, max_size=8).map("".join), min_size=1, max_size=5)


@given(TEXTS)
def test_phrases_are_those_of_each_text(texts: list[str]) -> None:
    for found, phrases in zip(_with_phrases(texts), (_STANDING, _PREFERENCE, _DONE), strict=True):
        assert found.tolist() == [float(any(phrase in text for phrase in phrases)) for text in texts]


@given(st.lists(st.text(alphabet="ab \n\u2003", max_size=20), min_size=1, max_size=5))
def test_a_pool_counts_the_words_of_each_part(texts: list[str]) -> None:
    meanings = Meanings(BundledEmbedder())
    candidates = [Candidate(key, "user", "", "", text, 0.0, "s", key, 0.0, True) for key, text in enumerate(texts)]
    pool = Pool(candidates, meanings)
    parts = [part for text in texts for part in text.split("\n")]
    assert pool.part_sizes.tolist() == [len(part.split()) for part in parts]
    assert pool.part_counts.tolist() == [text.count("\n") + 1 for text in texts]
    assert pool.tokens.tolist() == [meanings[word] for part in parts for word in part.split()]
