"""Scores become probabilities: with the shipped weights, and properties that hold for any scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code.search.features import NAMES
from sage_code.search.ranking import learned

sums = st.lists(st.floats(-40, 60, width=32), min_size=1, max_size=30)


def _row(**values: float) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array([values.get(name, 0.0) for name in NAMES], np.float32)


@given(sums)
def test_the_probabilities_of_the_margins_add_up_to_at_most_one(scores: list[float]) -> None:
    margins = learned().margins(np.array(scores, np.float32))
    shares = 1 / (1 + np.exp(-margins))
    assert np.isfinite(margins).all()
    assert 0 < shares.sum() <= 1 + 1e-6
    assert (
        margins[np.argmax(np.array(scores, np.float32))] == margins.max()
    )  # scores that hardly differ have equal margins
    # More candidates never raise the margin of a file.
    assert margins[0] <= learned().margins(np.array(scores[:1], np.float32))[0] + 1e-6


def test_a_single_file_needs_a_good_score_to_be_probable() -> None:
    ranking = learned()
    weak, strong = (ranking.margins(np.array([ranking.none + away], np.float32))[0] for away in (-6, 6))
    assert ranking.probability(weak) < 0.05
    assert ranking.probability(strong) > 0.95


def test_a_query_about_something_else_is_not_relevant() -> None:
    ranking = learned()
    assert ranking.relevance(_row(file_cover=1.0, dense_relative=0.8, file_dense=0.7), 3.0)[1]
    assert not ranking.relevance(_row(file_cover=0.1, dense_relative=0.3, file_dense=0.1), -3.0)[1]


def test_without_a_model_words_decide_the_relevance() -> None:
    ranking = learned()
    assert ranking.relevance(_row(file_cover=1.0), 3.0)[1]
    assert not ranking.relevance(_row(file_cover=0.1), -3.0)[1]


features = st.lists(st.floats(-1, 1, width=32), min_size=len(NAMES), max_size=len(NAMES))


@given(features)
def test_the_shares_of_an_explanation_add_up_to_the_score(values: list[float]) -> None:
    ranking = learned()
    row = np.array(values, np.float32)
    total = float(ranking.scores(row[None, :])[0])
    usual, shares = ranking.shares(row)
    assert usual + sum(shares.values()) == pytest.approx(total, abs=1e-4)


@given(st.lists(features, min_size=1, max_size=40), st.integers(0, 39))
def test_a_score_does_not_depend_on_what_is_scored_with_it(rows: list[list[float]], number: int) -> None:
    matrix = np.array(rows, np.float32)
    row = number % len(matrix)
    assert learned().scores(matrix)[row] == learned().scores(matrix[row : row + 1])[0]
