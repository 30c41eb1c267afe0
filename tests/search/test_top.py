"""Orders and runs are what NumPy's general functions say, only faster."""

from __future__ import annotations

import numpy as np
import pytest

from sage_code.search.top import distinct, ordered_in_groups, runs_of


@pytest.mark.parametrize("last_group", [0, 7, 1 << 13])
def test_rows_are_ordered_in_their_groups_as_by_lexsort(last_group: int) -> None:
    random = np.random.default_rng(last_group)
    for size in (0, 1, 2, 500):
        groups = np.sort(random.integers(0, last_group + 1, size))
        values = np.float32(random.integers(-3, 4, size)) * np.float32(0.37)  # with equal values and both zeros
        assert ordered_in_groups(values, groups).tolist() == np.lexsort((-values, groups)).tolist()


@pytest.mark.parametrize("values", [[], [4], [1, 1, 1], [3, 3, 5, 9, 9]])
def test_runs_are_found(values: list[int]) -> None:
    rows = np.array(values, np.int64)
    starts, sizes = runs_of(rows)
    assert np.repeat(rows[starts], sizes).tolist() == values
    assert rows[starts].tolist() == distinct(rows[::-1].copy()).tolist() == sorted(set(values))
