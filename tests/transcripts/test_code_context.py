"""Lines are those of the file as the session left it."""

from __future__ import annotations

import pytest

from sage_code.transcripts.code_context import build_session_code_context, interactions_of
from sage_code.transcripts.touches import Hunk, Touch


@pytest.mark.parametrize(
    ("hunk", "expected"),
    [
        (Hunk(5, 0, 5, 3), (23, 33)),  # three lines more, above
        (Hunk(5, 4, 5, 1), (17, 27)),  # three lines less, above
        (Hunk(40, 2, 40, 9), (20, 30)),  # below
        (Hunk(25, 1, 25, 4), (20, 33)),  # inside
        (Hunk(18, 4, 18, 6), (18, 32)),  # over the first line
        (Hunk(29, 5, 29, 5), (20, 30)),  # over the last line
        (Hunk(1, 60, 1, 0), (1, 1)),  # everything is gone
    ],
    ids=str,
)
def test_an_edit_shifts_the_ranges_that_were_read_before(hunk: Hunk, expected: tuple[int, int]) -> None:
    touches = [
        Touch("/a", "read", "1", (20, 30)),
        Touch("/b", "read", "1", (20, 30)),
        Touch("/a", "edit", "2", None, (hunk,)),
    ]
    found = interactions_of(touches)
    assert found[0].lines == expected
    assert found[1].lines == (20, 30)


def test_names_that_a_search_listed_were_not_read() -> None:
    context = build_session_code_context(
        interactions_of([Touch("/a", "grep", "1"), Touch("/b", "glob", "2"), Touch("/c", "read", "3")])
    )
    assert context.files_read | context.files_changed == {"/c"}
    assert len(context.interactions) == 3
