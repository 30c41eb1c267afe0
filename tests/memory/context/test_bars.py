"""Bars: what was kept, what was cut and why, within the width of a terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sage_code.memory.context.bars import bar
from sage_code.memory.context.components import BuiltContext, Kept, Priority


def test_a_context_in_bars() -> None:
    built = BuiltContext(
        "…", 90, 100,
        (
            Kept("persona", Priority.CRITICAL, 20, 20, 1, 1, ""),
            Kept("profile", Priority.HIGH, 30, 40, 3, 4, "over its share of 30 %"),
            Kept("transcript", Priority.LOW, 40, 100, 4, 10, "the budget was full"),
            Kept("hints", Priority.MEDIUM, 0, 0, 0, 0, ""),
        ),
    )  # fmt: skip
    assert bar(built, 60) == [
        "budget           ██████████████████████████████░░░ 90 of 100",
        "persona critical ███████                            20 of 20",
        "profile high     ██████████░░░                      30 of 40",
        "                 3 of 4 items: over its share of 30 %",
        "transcript low   █████████████░░░░░░░░░░░░░░░░░░░░ 40 of 100",
        "                 4 of 10 items: the budget was full",
        "hints medium                                          0 of 0",
    ]


COUNTS = st.integers(0, 10**6)


@given(
    st.lists(st.tuples(COUNTS, COUNTS, st.text("abc", min_size=1, max_size=64)), max_size=5),
    COUNTS,
    st.integers(0, 200),
)
def test_bars_fit_and_show_that_something_was_kept_or_cut(
    parts: list[tuple[int, int, str]], budget: int, width: int
) -> None:
    kept = [Kept(name, Priority.HIGH, tokens, tokens + more, 1, 2, "why") for tokens, more, name in parts]
    lines = bar(BuiltContext("", min(budget, 10), budget, tuple(kept)), width)
    assert all(len(line) <= max(width, 40) for line in lines)
    for line, part in zip(lines[1::2], kept, strict=True):
        assert ("█" in line) >= (part.tokens > 0 and part.tokens == part.wanted_tokens)
        assert ("░" in line) == (part.wanted_tokens > part.tokens)
