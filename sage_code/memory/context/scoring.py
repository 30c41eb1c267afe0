"""How much each sentence of a conversation says about it: a linear model over a few features.

The features are counts and cues, none knows a data set. The weights were learned by `benchmarks/summary_weights.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from sage_code.memory.context.terms import overlap, rarity
from sage_code.memory.context.utterances import Utterance
from sage_code.memory.context.weights import WEIGHTS
from sage_code.text.lexemes import words_of

_FIRST_PERSON = frozenset(("i", "my", "we", "our", "me", "us"))
_SECOND_PERSON = frozenset(("you", "your"))
_PLANS = re.compile(
    r"\b(?:will|'ll|going to|gonna|wants?|need|would like|'d like|should|must|plan(?:s|ning)?|hop(?:e|ing)|let's|"
    r"let us|thinking (?:of|about)|considering|next|tomorrow|soon|looking forward|can you|could you|please)\b",
)
_PLEASANTRY = re.compile(
    r"\b(?:thank(?:s| you)|welcome|nice to|good to (?:see|hear)|great to (?:see|hear)|how are you|how have you|"
    r"take care|bye|see you|congrat\w*|awesome|amazing|glad|sounds? (?:good|great|like|fun)|love that|that's (?:so |"
    r"really )?(?:great|cool|nice|good|awesome|amazing)|no problem|sorry|excuse me|hello|good (?:morning|afternoon|"
    r"evening|luck)|proud of you|so cool|keep it up|i agree|you're right|what's up)\b",
)
_NAMED = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]{2,}")
_NUMBER = re.compile(r"\d")
_DEICTIC = frozenset(("it", "that", "this", "they", "he", "she", "these", "those", "which"))

FEATURES = (
    "early", "position", "late", "opens its message", "length", "short", "long", "central", "content", "names",
    "numbers", "question", "answer", "first person", "second person", "plan", "pleasantry",
    "deictic", "echoed", "echoes", "frequent", "message length", "first of speaker",
    "question early", "words of the budget",
)  # fmt: skip


def scores_of(said: Sequence[Utterance], max_words: int) -> list[float]:
    """How much each sentence says, for a summary of so many words."""
    weights = [WEIGHTS[name] for name in FEATURES]
    return [
        sum(weight * value for weight, value in zip(weights, row, strict=True))
        for row in features_of(said, max(max_words, 1))
    ]


def features_of(said: Sequence[Utterance], max_words: int) -> list[list[float]]:
    """The features of each sentence, in the order of `FEATURES`."""
    if not said:
        return []
    rare = rarity((one.term_set for one in said), len(said))
    whole: dict[str, float] = {}
    for one in said:
        for term in one.term_set:
            whole[term] = whole.get(term, 0.0) + rare[term]
    size = math.sqrt(sum(weight * weight for weight in whole.values())) or 1.0
    most = max(whole.values(), default=1.0) or 1.0
    of_message = _of_messages(said)
    last = max(said[-1].message, 1)
    seen: set[str] = set()
    rows = []
    for one in said:
        text = one.text
        own = math.sqrt(sum(rare[term] ** 2 for term in one.term_set)) or 1.0
        lower = text.lower()
        words = words_of(lower)
        before, behind = of_message.get(one.message - 1), of_message.get(one.message + 1)
        is_first = one.speaker not in seen and one.words >= 4
        if is_first:
            seen.add(one.speaker)
        early = 1 / (1 + one.message)
        rows.append([
            early,
            one.message / last,
            1 / (1 + last - one.message),
            float(one.place == 0),
            math.log(one.words) / 4,
            float(one.words < 6),
            float(one.words > 24),
            sum(whole[term] * rare[term] for term in one.term_set) / (size * own),
            len(one.terms) / one.words,
            min(len(_NAMED.findall(text)), 3) / 3,
            float(bool(_NUMBER.search(text))),
            float(one.asks),
            float(before is not None and before[1] and not one.asks),
            float(not _FIRST_PERSON.isdisjoint(words)),
            float(not _SECOND_PERSON.isdisjoint(words)),
            float(bool(_PLANS.search(lower))),
            float(bool(_PLEASANTRY.search(lower))),
            float(bool(words) and words[0] in _DEICTIC),
            overlap(one.term_set, behind[0]) if behind else 0.0,
            overlap(one.term_set, before[0]) if before else 0.0,
            sum(whole[term] for term in one.term_set) / (most * (len(one.term_set) or 1)),
            min(of_message[one.message][2] / 60, 1.0),
            float(is_first),
            early * one.asks,
            min(one.words / max_words, 2.0),
        ])  # fmt: skip
    return rows


def _of_messages(said: Sequence[Utterance]) -> dict[int, tuple[frozenset[str], bool, int]]:
    """Of each message its terms, whether it ends with a question, and its words."""
    terms: dict[int, set[str]] = {}
    asks: dict[int, bool] = {}
    words: dict[int, int] = {}
    for one in said:
        terms.setdefault(one.message, set()).update(one.term_set)
        asks[one.message] = one.asks
        words[one.message] = words.get(one.message, 0) + one.words
    return {number: (frozenset(found), asks[number], words[number]) for number, found in terms.items()}
