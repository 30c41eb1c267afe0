"""The order of a small pool: scores are probabilities, the input's order does not matter, each signal does its work."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from sage_code.memory.tiers.ranking.features import GROUPS, NAMES
from sage_code.memory.tiers.ranking.parts import words_of_text
from sage_code.memory.tiers.ranking.question import read_question
from sage_code.memory.tiers.ranking.ranker import WEIGHTS_VERSION, Candidate, Ranked, Statistics, rank, read_model

NOW = datetime(2024, 6, 12, tzinfo=UTC)
DAY = 86_400.0
LONG = " It depends on the load, on the network and on what the other side promises." * 20
TALK = [
    ("user", "I'm building a payment service in Go and I am not sure how to call the bank."),
    ("assistant", "Use a client with a deadline for every call." + LONG),
    ("user", "We decided that the retry policy is five attempts with exponential backoff."),
    ("assistant", "Five attempts are sensible; add jitter so that clients do not retry together." + LONG),
    ("user", "Always show Go examples when I ask about error handling."),
    ("assistant", "I will show examples in Go." + LONG),
    ("user", "My sister visits me in Lisbon next week, which museums are good?"),
    ("assistant", "The museum of tiles is a favourite of many visitors." + LONG),
]


def _candidates(talk: list[tuple[str, str]], speakers: tuple[str, ...] = ("",)) -> list[Candidate]:
    return [
        Candidate(
            key=number,
            role=role,
            speaker=speakers[number % len(speakers)],
            text=text,
            words=words_of_text(text),
            created=NOW.timestamp() - DAY * (100 - 10 * number),
            session="one",
            order=number,
            cosine=0.2,
            in_pool=True,
        )
        for number, (role, text) in enumerate(talk)
    ]


def _rank(asked: str, pool: list[Candidate]) -> list[Ranked]:
    question = read_question(asked, NOW)
    seen = Counter(stem for one in pool for stem in set(one.words.split()))
    average = sum(len(one.words.split()) for one in pool) / max(len(pool), 1)
    return rank(question, pool, Statistics(len(pool), average, {stem: seen[stem] for stem in question.stems()}))


def _keys(asked: str, pool: list[Candidate]) -> list[int]:
    return [one.key for one in _rank(asked, pool)]


def test_the_message_that_says_it_is_first() -> None:
    pool = _candidates(TALK)
    assert _keys("What retry policy did I choose?", pool)[0] == 2
    assert _keys("Which city does my sister visit?", pool)[0] == 6


def test_an_instruction_comes_back_for_its_topic() -> None:
    assert 4 in _keys("How can I handle errors of the bank?", _candidates(TALK))[:3]


def test_what_the_assistant_recommended() -> None:
    assert _keys("Which museum did you recommend?", _candidates(TALK))[0] in (6, 7)


def test_who_speaks_counts() -> None:
    talk = [("user", "I adopted a cat."), ("user", "Lovely! I adopted a cat too, last year.")]
    pool = _candidates(talk, ("Ann", "Bea"))
    assert _keys("When did Ann adopt a cat?", pool)[0] == 0
    assert _keys("When did Bea adopt a cat?", pool)[0] == 1


def test_a_span_of_time_raises_what_was_said_then() -> None:
    talk = [("user", "The build is slow."), *TALK[:4], ("user", "The build is slow.")]
    pool = _candidates(talk)
    assert _keys("What did I say about the build in March?", pool)[0] == 0
    assert _keys("What did I say about the build last month?", pool)[0] == 5


def test_without_times_nothing_breaks() -> None:
    pool = [Candidate(one, "user", "", "The build is slow.", "build slow", 0.0, "", one, 0.0, True) for one in range(3)]
    assert sorted(_keys("What about the build last week?", pool)) == [0, 1, 2]


def test_the_best_passage_is_named() -> None:
    text = LONG + "\n\nThe zebra crossing is closed." + LONG
    found = _rank("Is the zebra crossing closed?", _candidates([("user", text)]))[0]
    line = words_of_text(text).split("\n")[found.best_part]
    assert "zebra" in line


def test_neighbours_are_ranked_only_if_they_are_allowed() -> None:
    pool = _candidates(TALK)
    rest = [
        Candidate(9, "user", "", "The retry policy again.", "retri polici", 0.0, "two", 0, 0.0, False, allowed)
        for allowed in (True, False)
    ]
    assert 9 in _keys("What retry policy did I choose?", [*pool, rest[0]])
    assert 9 not in _keys("What retry policy did I choose?", [*pool, rest[1]])


def test_nothing_found_and_nothing_asked() -> None:
    assert _rank("anything", []) == []
    assert _keys("", _candidates(TALK)) == list(range(7, -1, -1))
    assert _rank("?", [Candidate(1, "user", "", "", "", 0.0, "", 0, 0.0, True)])[0].score == 0.0


@given(st.permutations(range(len(TALK))), st.sampled_from(["retry policy in March", "the order of topics", "museum"]))
def test_the_order_of_the_input_does_not_matter(order: list[int], asked: str) -> None:
    pool = _candidates(TALK)
    assert _rank(asked, [pool[number] for number in order]) == _rank(asked, pool)


@given(st.lists(st.text(max_size=80), min_size=1, max_size=12), st.text(max_size=80), st.randoms())
def test_scores_of_any_text_are_probabilities(texts: list[str], asked: str, chance: random.Random) -> None:
    talk = [(chance.choice(["user", "assistant", "tool"]), text) for text in texts]
    found = _rank(asked, _candidates(talk))
    assert sorted(one.key for one in found) == list(range(len(texts)))
    assert all(0 <= one.score <= 1 for one in found)
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_a_limit_keeps_the_best() -> None:
    pool = _candidates(TALK)
    question = read_question("What retry policy did I choose?", NOW)
    statistics = Statistics(8, 20.0, {})
    assert rank(question, pool, statistics, limit=3) == rank(question, pool, statistics)[:3]


def test_every_signal_has_a_weight_and_a_group() -> None:
    assert len(set(NAMES)) == len(NAMES)
    assert len(read_model().weights) == len(NAMES)
    assert WEIGHTS_VERSION == 1
    assert set(_rank("retry", _candidates(TALK))[0].signals) == set(GROUPS)
