"""What is read from a question: words, names of code, kinds, and spans of time relative to a fixed day."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code.memory.tiers.ranking.question import MAX_TERMS, read_question

NOW = datetime(2024, 6, 12, 15, 30, tzinfo=UTC)  # a Wednesday


def _span(text: str) -> tuple[str, str] | None:
    window = read_question(text, NOW).window
    return window and (_day(window.start), _day(window.end))


def _day(seconds: float) -> str:
    return "" if math.isinf(seconds) else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("what did we say about retries in March", "2024-03-01", "2024-04-01"),
        ("what happened in December?", "2023-12-01", "2024-01-01"),
        ("in March 2022", "2022-03-01", "2022-04-01"),
        ("on 3 May 2024", "2024-05-03", "2024-05-04"),
        ("on the 3rd of May", "2024-05-03", "2024-05-04"),
        ("on May 3rd, 2023", "2023-05-03", "2023-05-04"),
        ("on July 4", "2023-07-04", "2023-07-05"),
        ("2024-05-03", "2024-05-03", "2024-05-04"),
        ("on 05/03/2024", "2024-05-03", "2024-05-04"),
        ("on 25/03/2024", "2024-03-25", "2024-03-26"),
        ("yesterday", "2024-06-11", "2024-06-12"),
        ("the day before yesterday", "2024-06-10", "2024-06-11"),
        ("today", "2024-06-12", "2024-06-13"),
        ("last week", "2024-06-03", "2024-06-10"),
        ("this week", "2024-06-10", "2024-06-17"),
        ("last weekend", "2024-06-08", "2024-06-10"),
        ("last month", "2024-05-01", "2024-06-01"),
        ("last year", "2023-01-01", "2024-01-01"),
        ("in 2022", "2022-01-01", "2023-01-01"),
        ("on Monday", "2024-06-10", "2024-06-11"),
        ("last Wednesday", "2024-06-05", "2024-06-06"),
        ("two weeks ago", "2024-05-26", "2024-06-02"),
        ("3 days ago", "2024-06-09", "2024-06-10"),
        ("in the last 3 days", "2024-06-09", "2024-06-13"),
        ("since 2024-05-03", "2024-05-03", ""),
        ("since March", "2024-03-01", ""),
        ("before June 2023", "", "2023-06-01"),
        ("until March 2024", "", "2024-04-01"),
        ("between March 3 and April 10, 2024", "2024-03-03", "2024-04-11"),
    ],
)
def test_time_words(text: str, start: str, end: str) -> None:
    assert _span(text) == (start, end)


@pytest.mark.parametrize(
    "text",
    ["may I ask", "march on", "version 3.11 of it", "on 31 November", "99999 years ago", "since the release", ""],
)
def test_other_words_are_no_time(text: str) -> None:
    assert _span(text) is None


def test_a_day_is_one_of_the_time_zone_of_the_question() -> None:
    zone = timezone(timedelta(hours=-8))
    window = read_question("yesterday", datetime(2024, 6, 12, 1, tzinfo=zone)).window
    assert window is not None
    assert window.start == datetime(2024, 6, 11, tzinfo=zone).timestamp()


@given(st.text(max_size=500), st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)))
def test_any_text_can_be_asked(text: str, now: datetime) -> None:
    question = read_question(text, now.replace(tzinfo=UTC))
    assert len(question.terms) <= MAX_TERMS
    assert len(set(question.stems())) == len(question.stems())


WORDS = [
    "last",
    "week",
    "3",
    "May",
    "since",
    "31",
    "February",
    "0",
    "-",
    "ago",
    "years",
    "999",
    "2024-99-99",
    "1/1/1999",
]


@given(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join))
def test_any_time_words_can_be_asked(text: str) -> None:
    window = read_question(text, NOW).window
    assert window is None or window.start < window.end


def test_words_of_the_topic_and_words_about_talking() -> None:
    question = read_question("In what order did I mention the retry policies?", NOW)
    assert {term.word: term.about_talking for term in question.terms} == {
        "order": True, "mention": True, "retry": False, "policies": False,
    }  # fmt: skip
    assert ("retri", "polici") in question.pairs


def test_a_question_of_stop_words_keeps_them() -> None:
    assert read_question("what is it?", NOW).terms


def test_names_of_code_and_quotes() -> None:
    question = read_question('Does `run_all` in src/app/main.py call Client.send for "hello world"?', NOW)
    assert question.code_names == ("run_all", "src/app/main.py", "Client.send")
    assert question.phrases == ("run_all", "hello world")


def test_names_and_numbers() -> None:
    terms = read_question("Did Ann pay 85 dollars in Paris?", NOW).terms
    special = {term.word for term in terms if term.is_name or term.is_number}
    assert special == {"ann", "85", "paris"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("What did you recommend for the cache?", "said_by_you"),
        ("Which database did I choose?", "said_by_me"),
        ("How can I speed up the query?", "request"),
        ("Can you summarize the migration?", "summary"),
        ("List the order in which these came up.", "order"),
        ("What is the current limit?", "latest"),
        ("When is the deadline?", "when"),
        ("How many retries are there?", "count"),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    assert kind in read_question(text, NOW).kinds


def test_a_question_about_the_past_is_no_request() -> None:
    assert "request" not in read_question("How did I speed up the query?", NOW).kinds
