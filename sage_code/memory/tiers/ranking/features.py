"""The signals of the messages of a pool for one question, as a matrix: one row a message, one column a signal.

Everything comes from the pool and a few numbers about all messages, so that the cost depends on the size of the pool
only. Signals are about 0 to 1 whatever the conversation is like, so that one set of weights serves all. `GROUPS` says
which columns belong to which signal of the tables in `benchmarks/recall.py`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sage_code.memory.tiers.ranking.meanings import Meanings
from sage_code.memory.tiers.ranking.pool import Floats, Ints, Pool, Statistics, moved
from sage_code.memory.tiers.ranking.question import Question
from sage_code.text.stems import stem

# A small collection says little about how rare a word is, so more messages are assumed, some of them with the word.
_ASSUMED, _ASSUMED_WITH_WORD = 50.0, 0.5
# The weight of a word that speaks about the conversation ("mention", "in order") beside one of the topic.
_TALKING = 0.15
# The cosine of words that are unrelated, and what a word of the same meaning counts beside the word itself.
_UNRELATED, _SYNONYM = 0.25, 0.7
# Saturation and length in BM25, as everywhere.
_K1, _B = 1.2, 0.75
# The same for messages that all are short: a second occurrence adds little, and length hardly matters.
_SHORT_K1, _SHORT_B = 0.3, 0.2
_PART_K1 = 0.5
# What words of neighbours count for a message: one and two steps away.
_NEAR, _FAR = 0.8, 0.6
# Widths of a region of a session, in messages.
_REGION, _WIDE = 3.0, 8.0
# Days in which a span of time fades away: people say "last week" of nine days ago.
_FADING_DAYS = 3.0
# Answers that are four times as long as questions are those of an assistant; then the roles are worth something.
_MUCH_LONGER = 4.0
# What a message is, is said at its beginning.
_HEAD_CHARS = 800
_DAY = 86_400.0

# Phrases that are looked for in the beginning of a message in lower case; a search for each is faster than a pattern.
_STANDING = (
    "always", "never ", "from now on", "whenever", "every time", "each time", "going forward", "make sure",
    "keep in mind", "when i ask", "if i ask", "do not ", "don't use", "don't include", "be sure to", "please use",
    "please include", "please avoid", "please keep", "remember to",
)  # fmt: skip
_PREFERENCE = (
    "prefer", "favorite", "favourite", "rather than", "instead of", "i'd rather", "i would rather", "i'd like",
    "i would like", "i'd love", "i like", "i love", "i really like", "i really love", "i enjoy", "i hate", "i dislike",
    "i usually", "works best for me", "comfortable with",
)  # fmt: skip
_DONE = (
    "i've ", "i have ", "i just ", "i recently ", "i was ", "i had ", "i got ", "i went ", "i made ", "i did ", "i am ",
    "i'm ", "we've ", "we went ", "we had ", "i started ", "i decided ", "i finished ",
)  # fmt: skip
_PHRASES = {"standing": _STANDING, "preference": _PREFERENCE, "done": _DONE}
# One pattern is faster than a search for each phrase that begins with "i"; none of them is inside of another one.
_BEGINNING_WITH_I = re.compile(
    "i(?:"
    + "|".join(
        f"(?P<{kind}>{'|'.join(re.escape(phrase[1:]) for phrase in phrases if phrase[0] == 'i')})"
        for kind, phrases in _PHRASES.items()
    )
    + ")"
)
_OTHER_PHRASES = tuple(
    (kind, tuple(phrase for phrase in phrases if phrase[0] != "i")) for kind, phrases in _PHRASES.items()
)
_OWN = ("i ", "i'", "my ", "we ")
_PROPER = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_MERE_ROLES = frozenset(("user", "assistant", "human", "ai", "system", "tool"))
_PREFIX = re.compile(r"([A-Z][\w.' -]{0,30}?): ")
_TIME_WORDS = """
    yesterday today tomorrow tonight ago last next since week weeks weekend month months year years day days hour hours
    minute minutes monday tuesday wednesday thursday friday saturday sunday january february march april june july
    august september october november december recently deadline morning evening
"""
_TIME_STEMS = frozenset(map(stem, _TIME_WORDS.split()))
_NUMBER_WORDS = "two three four five six seven eight nine ten dozen twice couple several half"
_NUMBER_STEMS = frozenset(map(stem, _NUMBER_WORDS.split()))


class Signals(NamedTuple):
    """The signals of the messages of a pool, and the best part of each."""

    columns: dict[str, Floats]
    best_parts: Ints


class _Words(NamedTuple):
    """How the words of a question occur in a pool."""

    rarity: Floats  # of each word
    weights: Floats  # of each word, in all 1: rarity, less for words about the conversation
    in_parts: Floats  # occurrences, part by word
    in_messages: Floats
    of_tokens: Ints  # the word that each token of the pool is, or -1


def signals(question: Question, pool: Pool, statistics: Statistics, meanings: Meanings) -> Signals:
    """The signals of every message of a pool that is not empty."""
    speakers = _speakers(pool)
    words = _words(question, pool, statistics, meanings, {name for speaker in speakers for name in speaker.split()})
    out: dict[str, Floats] = {}
    _by_words(out, question, pool, words, statistics)
    soft_parts = _by_meaning(out, question, pool, words, meanings)
    _by_vector(out, pool)
    _by_neighbours(out, pool, pool.best_of_parts(soft_parts), words)
    roles = _by_role(out, question, pool)
    _by_text(out, question, pool, roles, meanings)
    _by_speaker(out, question, speakers)
    _by_time(out, question, pool)
    _by_kind(out, question)
    best = np.zeros(len(pool), np.int64)
    by_part = soft_parts @ words.weights
    for row in np.flatnonzero(pool.part_counts > 1):
        start = pool.first_parts[row]
        best[row] = np.argmax(by_part[start : start + pool.part_counts[row]])
    return Signals(out, best)


def _relative(values: Floats) -> Floats:
    """Values as shares of the best one."""
    top = float(values.max())
    return values / np.float32(top) if top > 0 else values


def _speakers(pool: Pool) -> list[str]:
    """Who speaks, in lower case: a name that is given, or one that begins the text if most texts begin so."""
    names = [one.speaker for one in pool.candidates]
    if not any(names):
        begins = [_PREFIX.match(one.text) for one in pool.candidates]
        if 2 * sum(match is not None for match in begins) > len(pool):  # not only a "Note:" here and there
            names = [match[1] if match else "" for match in begins]
    return ["" if name.lower() in _MERE_ROLES else name.lower() for name in names]


def _words(question: Question, pool: Pool, statistics: Statistics, meanings: Meanings, speakers: set[str]) -> _Words:
    """Count the words of the question; the name of a speaker says who, not what, so it does not count."""
    total = statistics.documents + _ASSUMED
    frequencies = [min(statistics.frequency.get(term.stem, 0), statistics.documents) for term in question.terms]
    rarity = np.array([math.log(1 + (total - seen) / (seen + _ASSUMED_WITH_WORD)) for seen in frequencies], np.float32)
    factors = [0.0 if term.word in speakers else _TALKING if term.about_talking else 1.0 for term in question.terms]
    weights = rarity * np.array(factors if any(factors) else [1.0] * len(factors), np.float32)
    size, parts = len(question.terms), len(pool.part_sizes)
    numbers = np.array([meanings[term.stem] for term in question.terms], np.int64)
    of_number = np.full(len(meanings), -1, np.int64)
    of_number[numbers] = np.arange(size)
    of_tokens = of_number[pool.tokens]
    hits = of_tokens >= 0
    counts = np.bincount(pool.part_of_token[hits] * size + of_tokens[hits], minlength=parts * size)
    in_parts = counts.reshape(parts, size).astype(np.float32)
    return _Words(rarity, weights / max(float(weights.sum()), 1e-6), in_parts, pool.sum_of_parts(in_parts), of_tokens)


def _by_words(out: dict[str, Floats], question: Question, pool: Pool, words: _Words, statistics: Statistics) -> None:
    """Signals of words that occur literally."""
    counts, weights = words.in_messages, words.weights
    length: Floats = pool.lengths / np.float32(max(statistics.average_words, 1.0))
    bm25, short = _saturated(counts, length, _K1, _B), _saturated(counts, length, _SHORT_K1, _SHORT_B)
    has = (counts > 0).astype(np.float32)
    parts = words.in_parts
    out["bm25"] = _relative(bm25 @ words.rarity)
    out["words"] = _relative(bm25 @ weights)
    out["share"] = np.minimum(short @ weights, np.float32(1))
    out["cover"] = has @ weights
    out["part"] = pool.best_of_parts((parts * np.float32(_PART_K1 + 1) / (parts + np.float32(_PART_K1))) @ weights)
    out["rarest"] = has[:, np.argsort(-weights, kind="stable")[:2]].mean(axis=1, dtype=np.float32)
    topical = (weights > 0.5 / len(weights)).astype(np.float32)
    # Four words at least, so that a message of one word is not all about it.
    out["density"] = np.asarray(np.minimum(counts @ topical / np.maximum(pool.lengths, 4), 1), np.float32)
    out["pairs"] = _pairs(question, pool, words)
    special = np.array([term.is_name or term.is_number for term in question.terms], np.float32) * weights
    out["names"] = np.asarray(has @ special / max(float(special.sum()), 1e-6), np.float32)
    verbatim = [*question.phrases, *(name.lower() for name in question.code_names)]
    texts = [one.text.lower() for one in pool.candidates] if verbatim else []
    found = [sum(phrase in text for phrase in verbatim) for text in texts] or [0] * len(pool)
    out["verbatim"] = np.array(found, np.float32) / np.float32(len(verbatim) or 1)


def _saturated(counts: Floats, length: Floats, k1: float, b: float) -> Floats:
    """The share of BM25 that each word has; `length` is compared with the average length."""
    norm = (np.float32(1 - b) + np.float32(b) * length)[:, None]
    return np.asarray(counts * (k1 + 1) / (counts + k1 * norm), np.float32)


def _pairs(question: Question, pool: Pool, words: _Words) -> Floats:
    """The share of the question's neighbouring words that are neighbours, or next but one, in a part of a message."""
    size = len(question.terms)
    at = {term.stem: number for number, term in enumerate(question.terms)}
    wanted = [(at[one], at[other]) for one, other in question.pairs if one in at and other in at]
    weights = np.array(
        [math.sqrt(float(words.weights[one] * words.weights[other])) for one, other in wanted], np.float32
    )
    if not len(weights) or not weights.any():
        return np.zeros(len(pool), np.float32)
    column = np.full(size * size, -1, np.int64)
    column[[one * size + other for one, other in wanted]] = np.arange(len(wanted))
    seen = np.zeros((len(pool.part_sizes), len(wanted)), np.float32)
    places = np.flatnonzero(words.of_tokens >= 0)
    for gap in (1, 2):
        first = places[places < len(words.of_tokens) - gap]
        first = first[words.of_tokens[first + gap] >= 0]
        part = pool.part_of_token[first]
        pair = column[words.of_tokens[first] * size + words.of_tokens[first + gap]]
        good = (pair >= 0) & (part == pool.part_of_token[first + gap])
        seen[part[good], pair[good]] = 1
    return pool.best_of_parts(seen @ (weights / weights.sum()))


def _by_meaning(out: dict[str, Floats], question: Question, pool: Pool, words: _Words, meanings: Meanings) -> Floats:
    """Signals of words with a near meaning; the nearness of each part to each word of the question."""
    near = (words.in_parts > 0).astype(np.float32)
    is_used = np.zeros(len(meanings), dtype=bool)
    is_used[pool.tokens] = True
    used = np.flatnonzero(is_used)
    filled = np.flatnonzero(pool.part_sizes)
    # Words without weight are not compared.
    asked = np.flatnonzero(words.weights > 0)
    if len(used) and len(asked):
        numbers = np.array([meanings[question.terms[number].stem] for number in asked], np.int64)
        cosines = meanings.nearness(numbers, used)
        scaled = np.maximum(cosines - np.float32(_UNRELATED), 0) * np.float32(_SYNONYM / (1 - _UNRELATED))
        column = (np.cumsum(is_used) - 1)[pool.tokens]
        starts = (np.cumsum(pool.part_sizes) - pool.part_sizes)[filled]
        for number, row in zip(asked, scaled, strict=True):
            near[filled, number] = np.maximum(near[filled, number], np.maximum.reduceat(row[column], starts))
    out["soft"] = pool.best_of_parts(near) @ words.weights
    out["soft_part"] = pool.best_of_parts(near @ words.weights)
    return near


def _by_vector(out: dict[str, Floats], pool: Pool) -> None:
    """Signals of the cosine of the best part; the cosine of a mere neighbour is not known, so it gets the mean."""
    cosines = np.array([one.cosine for one in pool.candidates], np.float32)
    known = np.array([one.in_pool for one in pool.candidates])
    mean = float(cosines[known].mean()) if known.any() else 0.0
    spread = max(float(cosines[known].std()), 1e-3) if known.any() else 1.0
    standing_out = np.clip((np.where(known, cosines, mean) - mean) / (3 * spread), -1, 1.5).astype(np.float32)
    out["cosine"] = np.where(known, cosines, np.float32(mean))
    out["standing_out"] = standing_out


def _by_neighbours(out: dict[str, Floats], pool: Pool, near: Floats, words: _Words) -> None:
    """Signals of the messages before and after, and of the region of the session."""
    base: Floats = (out["soft_part"] + out["share"]) / np.float32(2)
    out["base"] = base
    rows = {step: pool.beside(step) for step in (-2, -1, 1, 2)}
    out["before"], out["after"] = moved(base, rows[-1]), moved(base, rows[1])
    out["before_2"], out["after_2"] = moved(base, rows[-2]), moved(base, rows[2])
    above = np.maximum(out["standing_out"], 0)
    out["vector_beside"] = (moved(above, rows[-1]) + moved(above, rows[1])) / np.float32(2)
    together = near
    for step, row in rows.items():
        together = np.maximum(together, moved(near, row) * np.float32(_NEAR if abs(step) == 1 else _FAR))
    out["context"] = together @ words.weights
    out["region"], out["region_wide"] = _region(base, pool, _REGION), _region(base, pool, _WIDE)


def _region(base: Floats, pool: Pool, width: float) -> Floats:
    """The mean of the messages around, weighted by their distance in the session."""
    total, weight = np.zeros(len(pool), np.float32), np.full(len(pool), 1e-6, np.float32)
    for step in range(1, int(2.5 * width) + 1):
        share = np.float32(math.exp(-0.5 * (step / width) ** 2))
        for row in (pool.beside(-step), pool.beside(step)):
            total += share * moved(base, row)
            weight += share * (row >= 0)
    return total / weight


class _Roles(NamedTuple):
    """Who said what, where an assistant answers a person."""

    user: Floats
    assistant: Floats
    apart: float  # how much the roles say, 0 to 1: 0 among people


def _by_role(out: dict[str, Floats], question: Question, pool: Pool) -> _Roles:
    """Signals of role and length. Two people who chat have roles too, which say nothing: their turns are alike."""
    user = np.array([one.role == "user" for one in pool.candidates], np.float32)
    assistant = np.array([one.role == "assistant" for one in pool.candidates], np.float32)
    apart = 0.0
    if user.any() and assistant.any():
        asked, answered = float(pool.lengths[user > 0].mean()), float(pool.lengths[assistant > 0].mean())
        apart = min(max(math.log((answered + 5) / (asked + 5)) / math.log(_MUCH_LONGER), 0.0), 1.0)
    mine, yours = bool(question.kinds & {"mine", "said_by_me"}), "said_by_you" in question.kinds
    out["user"] = (user - np.float32(0.5)) * np.float32(apart)
    out["user_mine"] = out["user"] * np.float32(mine)
    out["user_yours"] = out["user"] * np.float32(yours)
    length: Floats = np.log1p(pool.lengths).astype(np.float32) / np.float32(5)
    out["length"] = length
    out["length_user"] = length * user * np.float32(apart)
    out["length_apart"] = length * np.float32(apart)
    out["short"] = np.maximum(0, 1 - pool.lengths / 8).astype(np.float32)
    out["reply"] = out["after"] * user * np.float32(apart)
    out["prompt"] = out["before"] * assistant * np.float32(apart)
    for name in _OF_ANSWERS:
        out[f"answer_{name}"] = out[name] * assistant * np.float32(apart)
    for name in _OF_CHATS:
        out[f"apart_{name}"] = out[name] * np.float32(apart)
    return _Roles(user, assistant, apart)


def _by_text(out: dict[str, Floats], question: Question, pool: Pool, roles: _Roles, meanings: Meanings) -> None:
    """Signals of what a message is: an instruction, a preference, a fact about the speaker, a date, a number."""
    is_read = [not roles.apart or one.role == "user" for one in pool.candidates]
    heads = [one.text[:_HEAD_CHARS].lower() if read else "" for one, read in zip(pool.candidates, is_read, strict=True)]
    own = np.array([min(sum(map(text.count, _OWN)), 3) / 3 for text in heads], np.float32)
    asks = np.array([text.rstrip().endswith("?") for text in heads], np.float32)
    standing, preference, done = _with_phrases(heads)
    out["standing"], out["preference"], out["done"], out["own"] = standing, preference, done, own
    out["asks"] = asks * np.float32(1 - roles.apart)
    out["answers"] = moved(out["base"] * out["asks"], pool.beside(-1))
    out["standing_topic"] = standing * out["soft"]
    out["preference_topic"] = preference * out["soft"]
    digits = np.frombuffer(bytes(meanings.digits), dtype=np.bool_)
    times, numbers = digits.copy(), digits.copy()
    times[[meanings[word] for word in _TIME_STEMS if word in meanings]] = True
    numbers[[meanings[word] for word in _NUMBER_STEMS if word in meanings]] = True
    none = np.zeros(len(pool), np.float32)
    out["figures"] = _up_to(3, pool.count(digits)) * np.float32(roles.apart) * roles.user
    out["when"] = _up_to(2, pool.count(times)) if "when" in question.kinds else none
    out["count"] = _up_to(2, pool.count(numbers)) if "count" in question.kinds else none
    out["proper"] = none
    if question.kinds & {"who", "where"}:
        found = [min(len(_PROPER.findall(one.text[:_HEAD_CHARS])), 2) / 2 for one in pool.candidates]
        out["proper"] = np.array(found, np.float32)


def _with_phrases(texts: Sequence[str]) -> tuple[Floats, Floats, Floats]:
    """For each kind of phrases, 1 for each text with one of them. All texts are searched as one, with fewer steps in
    Python."""
    joined = "\n".join(texts)
    starts = np.cumsum([0, *map(len, texts[:-1])]) + np.arange(len(texts))
    places: dict[str, list[int]] = {"standing": [], "preference": [], "done": []}
    for match in _BEGINNING_WITH_I.finditer(joined):
        places[match.lastgroup or ""].append(match.start())
    for kind, phrases in _OTHER_PHRASES:
        found = places[kind]
        for phrase in phrases:
            place = joined.find(phrase)
            while place >= 0:
                found.append(place)
                place = joined.find(phrase, place + 1)
    standing, preference, done = (np.zeros(len(texts), np.float32) for _ in places)
    for signal, of_kind in zip((standing, preference, done), places.values(), strict=True):
        signal[np.searchsorted(starts, of_kind, side="right") - 1] = 1
    return standing, preference, done


def _up_to(most: int, counts: Floats) -> Floats:
    """Counts as shares of the most that counts."""
    return np.asarray(np.minimum(counts, most) / most, np.float32)


def _by_speaker(out: dict[str, Floats], question: Question, speakers: list[str]) -> None:
    """Signals of who speaks, if the question names them; a name that all have distinguishes none."""
    asked = {term.word for term in question.terms}
    named = np.array([any(name in asked for name in speaker.split()) for speaker in speakers], np.float32)
    out["speaker"] = named - named.mean()
    out["speaker_own"] = out["speaker"] * out["own"]


def _by_time(out: dict[str, Floats], question: Question, pool: Pool) -> None:
    """Signals of when a message was said."""
    created = np.array([one.created for one in pool.candidates], np.float64)
    order = np.zeros(len(pool), np.float32)
    keys = np.array([one.key for one in pool.candidates], np.float64)
    order[np.lexsort((keys, created))] = np.linspace(-0.5, 0.5, len(pool), dtype=np.float32)
    out["latest"] = order * np.float32("latest" in question.kinds)
    out["earliest"] = order * np.float32("earliest" in question.kinds)
    window = np.zeros(len(pool), np.float32)
    if question.window is not None:
        gap = np.maximum(np.maximum(question.window.start - created, created - question.window.end), 0) / _DAY
        window = np.where(created > 0, np.exp(-gap / _FADING_DAYS), 0).astype(np.float32)
        if window.min() > 0.5:  # all of them: the span does not distinguish them
            window[:] = 0
    out["window"] = window


def _by_kind(out: dict[str, Floats], question: Question) -> None:
    """Signals that count more, or less, for some kinds of questions."""
    for kind, names in _OF_KIND.items():
        holds = np.float32(kind in question.kinds)
        for name in names:
            out[f"{kind}_{name}"] = out[name] * holds


# Signals that count differently for the long answers of an assistant, in chats with an assistant at all, and for kinds
# of questions.
_OF_ANSWERS = ("part", "cover", "bm25", "words", "standing_out")
_OF_CHATS = ("base", "standing_out", "density", "words", "region", "pairs")
_OF_KIND = {
    "order": ("base", "density", "region", "region_wide", "user", "length_user", "standing_out"),
    "summary": ("base", "bm25", "density", "context", "region", "region_wide", "user", "length_user", "standing_out"),
    "request": ("base", "density", "region", "user", "length_user", "own", "standing", "preference", "standing_topic",
                "preference_topic"),
}  # fmt: skip

GROUPS: dict[str, tuple[str, ...]] = {
    "words": ("bm25", "words", "share", "cover", "rarest", "density", "answer_cover", "answer_bm25", "answer_words",
              "apart_words", "apart_density", "summary_bm25", "order_density", "summary_density", "request_density"),
    "passages": ("part", "answer_part"),
    "phrases": ("pairs", "apart_pairs", "names", "verbatim"),
    "meaning": ("soft", "soft_part", "base", "apart_base", "order_base", "summary_base", "request_base"),
    "vector": ("cosine", "standing_out", "vector_beside", "answer_standing_out", "apart_standing_out",
               "order_standing_out", "summary_standing_out"),
    "neighbours": ("before", "after", "before_2", "after_2", "context", "summary_context", "reply", "prompt",
                   "answers"),
    "region": ("region", "region_wide", "apart_region", "order_region", "order_region_wide", "summary_region",
               "summary_region_wide", "request_region"),
    "role": ("user", "user_mine", "user_yours", "order_user", "summary_user", "request_user"),
    "length": ("length", "length_user", "length_apart", "short", "order_length_user", "summary_length_user",
               "request_length_user"),
    "instructions": ("standing", "preference", "standing_topic", "preference_topic", "request_standing",
                     "request_preference", "request_standing_topic", "request_preference_topic"),
    "own facts": ("own", "done", "request_own", "asks"),
    "answer": ("figures", "when", "count", "proper"),
    "speaker": ("speaker", "speaker_own"),
    "time": ("latest", "earliest", "window"),
}  # fmt: skip
NAMES: tuple[str, ...] = tuple(name for names in GROUPS.values() for name in names)
