"""Explains the score of a hit: what each feature adds to its sum, and how the sum becomes a probability.

The shares of the features and the bias add up to `total`. The margin says how far the best chunk of the file is ahead
of all other files and of no answer; it gives the probability that this file answers a question that is about the
project. Times the probability that the question is about the project at all, that is the score.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from sage_code.search.literals import VERBATIM

if TYPE_CHECKING:
    from sage_code.search.engine import Ranked
    from sage_code.search.ranking import Ranking

# Smaller shares are not listed by name but summed up.
_SMALL_SHARE = 0.1


class Explanation(NamedTuple):
    """How the score of a hit comes about."""

    shares: Mapping[str, float]  # by feature, with its sign, largest first
    bias: float  # what a candidate has that is usual in everything
    file_total: float  # the sum of the file's best chunk, which is another one where a name is asked for
    margin: float  # of the file, as log odds
    answers: float  # the probability that this file answers, made of the margin
    relevance: float  # the probability that the question is about the project

    @property
    def total(self) -> float:
        """The sum of the hit."""
        return self.bias + sum(self.shares.values())

    @property
    def score(self) -> float:
        """The probability of the hit."""
        return self.answers * self.relevance

    def listed(self, most: int | None = None) -> tuple[list[tuple[str, float]], list[float]]:
        """The shares to list, largest first, and those that are only summed up."""
        large = [(name, share) for name, share in self.shares.items() if abs(share) >= _SMALL_SHARE][:most]
        names = {name for name, _ in large}
        return large, [share for name, share in self.shares.items() if name not in names]

    def arithmetic(self) -> dict[str, float]:
        """The sums as the documents have them."""
        names = ("bias", "total", "file_total", "margin", "answers", "relevance")
        return {name: round(getattr(self, name), 4) for name in names}


def steps(explanation: Explanation) -> list[str]:
    """The way from the total to the score, in words."""
    one = explanation
    lines = [f"{one.total:+6.2f}  total"]
    if abs(one.file_total - one.total) >= 0.005:
        lines[0] += f"; the best of the file has {one.file_total:+.2f}"
    lines.append(
        f"{one.margin:+6.2f}  ahead of all other files and of no answer: {one.answers:.3f} that this file answers"
    )
    lines.append(f"{one.score:6.3f}  = {one.answers:.3f} x {one.relevance:.3f}, that the question is about the project")
    return lines


def explain(ranking: Ranking, found: Ranked) -> Explanation:
    """How the score of a ranked chunk comes about."""
    bias, shares = ranking.shares(found.features)
    if found.lift:
        shares = {VERBATIM: float(found.lift), **shares}
    answers = ranking.probability(found.margin)
    return Explanation(shares, bias, found.file_total, found.margin, answers, found.relevance)
