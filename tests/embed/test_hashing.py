"""The hashing embedder: always the same vectors, of unit length, similar for words that look alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code.embed import hashing
from sage_code.embed.hashing import DIM, HashingEmbedder

texts = st.lists(st.text(st.sampled_from("abcXY_ 1é\n(."), max_size=40), max_size=5)

# Stored indexes hold these figures: another vector under the same name would be compared with them.
GOLDEN = {
    "def parse_config(path):": {46: 0.4951, 31: -0.3058, 17: -0.29123, 221: -0.29123, 231: 0.29123},
    "größe 💡 x": {108: 0.57928, 187: 0.57928, 19: 0.20275, 85: 0.20275, 123: 0.20275},
}


@pytest.mark.parametrize("text", GOLDEN)
def test_vectors_never_change(text: str) -> None:
    (vector,) = HashingEmbedder().embed_code([text])
    for column, value in GOLDEN[text].items():
        assert vector[column] == pytest.approx(value, abs=1e-5)


@given(texts)
def test_vectors_have_unit_length_or_are_zero(documents: list[str]) -> None:
    vectors = HashingEmbedder().embed_code(documents)
    assert vectors.shape == (len(documents), DIM)
    assert vectors.dtype == np.float32
    for document, length in zip(documents, np.linalg.norm(vectors, axis=1), strict=True):
        expected = 1.0 if any(map(str.isalnum, document)) or "_" in document else 0.0
        assert length == pytest.approx(expected, abs=1e-5)


@given(texts, texts)
def test_a_vector_depends_on_its_text_alone(before: list[str], documents: list[str]) -> None:
    used = HashingEmbedder()
    used.embed_code(before)
    fresh = [HashingEmbedder().embed_query([document])[0] for document in documents]
    assert np.allclose(used.embed_code(documents), np.array(fresh).reshape(-1, DIM), atol=1e-6)


def test_emptying_the_table_changes_no_vector(monkeypatch: pytest.MonkeyPatch) -> None:
    documents = [f"alpha{number} beta{number}" for number in range(1500)]
    expected = HashingEmbedder().embed_code(documents)
    monkeypatch.setattr(hashing, "_MAX_TABLE_ROWS", 50)
    assert np.allclose(HashingEmbedder().embed_code(documents), expected, atol=1e-6)


def test_similar_words_have_similar_vectors() -> None:
    query, same, like, other = HashingEmbedder().embed_code(
        ["retry the request", "request_retry", "retries of requests", "draw a circle"]
    )
    assert query @ same > query @ like > query @ other
    assert query @ other < 0.2
