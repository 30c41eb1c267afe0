"""Recall memory on every engine: messages are stored once, found by words, meaning and time, and really forgotten."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sage_code.errors import UsageError
from sage_code.memory.tiers.engines.protocol import Engine
from sage_code.memory.tiers.opened import opened_agent
from sage_code.memory.tiers.recall_memory import MAX_CHARS, RecallMemory
from sage_code.memory.tiers.values import NewMessage
from sage_code.settings.table import Settings

SETTINGS = Settings(memory_user="ada")
START = datetime(2026, 3, 2, 9, tzinfo=UTC)
TALK = (
    ("user", "How should the payment client retry when the gateway times out?"),
    ("assistant", "I suggest exponential backoff with jitter, at most five attempts, and no retry after a refusal."),
    ("user", "Agreed. The cap is thirty seconds, our finance team insists on it."),
    ("assistant", "Done: the retry policy is in billing/retry.py, capped at thirty seconds."),
    ("user", "Now let us talk about the logo: should it be blue or green?"),
    ("assistant", "Blue fits the rest of the page."),
)


def talk(session: str = "s1", start: datetime = START) -> list[NewMessage]:
    return [
        NewMessage(role, text, session=session, created_at=start + timedelta(minutes=number))
        for number, (role, text) in enumerate(TALK)
    ]


def recall_of(engine: Engine, user: str = "ada", agent: str = "sage") -> RecallMemory:
    return RecallMemory(engine, opened_agent(engine, SETTINGS, agent, user), SETTINGS)


@pytest.fixture
def recall(engine: Engine) -> RecallMemory:
    return recall_of(engine)


def test_a_question_finds_what_was_said_with_its_neighbours(recall: RecallMemory) -> None:
    recall.add(talk(), project="/work/payments")
    found = recall.search("what did we say about the retry policy?")
    assert {one.message.content for one in found[:2]} & {TALK[1][1], TALK[3][1]}
    first = next(one for one in found if one.message.content == TALK[3][1])
    assert first.before is not None
    assert first.before.content == TALK[2][1]
    assert first.after is not None
    assert first.after.content == TALK[4][1]
    assert (first.message.session, first.message.project) == ("s1", "/work/payments")
    assert all(0 <= one.score <= 1 for one in found)
    assert found == sorted(found, key=lambda one: -one.score)


def test_a_message_is_stored_once_however_often_it_is_added(recall: RecallMemory) -> None:
    new = [NewMessage("user", "The same words", id="6f1b1a1e-0000-4000-8000-000000000001", session="s")] * 2
    assert len(recall.add(new)) == 1
    assert recall.add(new) == []
    assert recall.count() == len(recall.messages("s")) == 1
    assert recall.sessions()[0].messages == 1


def test_filters_leave_out_everything_else(recall: RecallMemory) -> None:
    recall.add(talk("old", START), project="/work/payments")
    recall.add(talk("new", START + timedelta(days=60)), project="/work/website")

    def sessions(**filters: object) -> set[str]:
        return {one.message.session for one in recall.search("retry policy backoff", 20, **filters)}  # type: ignore[arg-type]

    assert sessions() == {"old", "new"}
    assert sessions(project="/work/website") == {"new"}
    assert sessions(session="old") == {"old"}
    assert sessions(since=START + timedelta(days=30)) == {"new"}
    assert sessions(until=START + timedelta(days=30)) == {"old"}
    assert sessions(project="/elsewhere") == set()
    assert {one.message.role for one in recall.search("retry policy", 20, role="user")} == {"user"}


def test_a_time_in_the_question_prefers_what_was_said_then(recall: RecallMemory) -> None:
    for month in (1, 3, 5):
        recall.add(talk(f"month-{month}", START.replace(month=month)))
    found = recall.search("what did we say about the retry policy in March?", 3)
    assert found[0].message.session == "month-3"


def test_nothing_of_another_agent_or_user_is_ever_found(engine: Engine, recall: RecallMemory) -> None:
    for other in (recall_of(engine, "ada", "helper"), recall_of(engine, "bob", "sage")):
        other.add(talk(f"secret of {other.agent.user}"), project="/work/payments")
    assert recall.search("retry policy") == []
    assert recall.messages("secret of bob") == []
    assert recall.sessions() == []
    theirs = recall_of(engine, "bob", "sage")
    ids = [message.id for message in theirs.messages("secret of bob")]
    assert recall.get(ids) == []
    assert recall.forget(session="secret of bob").messages == 0
    assert recall.forget(message=ids[0]).messages == 0
    assert recall.forget(everything=True).messages == 0
    assert theirs.count() == len(TALK)


def test_another_agents_message_id_is_not_taken_over(engine: Engine, recall: RecallMemory) -> None:
    theirs = recall_of(engine, "bob", "sage")
    (id_,) = theirs.add([NewMessage("user", "Bob's own words", session="s")])
    assert recall.add([NewMessage("user", "Ada overwrites", id=id_, session="s")]) == []
    assert theirs.get([id_])[0].content == "Bob's own words"


def test_secrets_are_masked_on_the_way_in(recall: RecallMemory) -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    recall.add([NewMessage("user", f"my token is {key}", session="s", metadata={"note": f"token {key}"})])
    (message,) = recall.messages("s")
    assert key not in message.content
    assert key not in str(message.metadata)
    assert "masked" in message.content


def test_vectors_can_come_later(recall: RecallMemory) -> None:
    recall.add(talk(), embed=False)
    assert recall.catch_up() == len(TALK)
    assert recall.catch_up() == 0
    assert recall.engine.verify() == []
    assert recall.search("backoff with jitter")[0].message.content == TALK[1][1]


def test_the_best_passage_of_a_long_message_is_shown(recall: RecallMemory) -> None:
    filler = "\n\n".join(
        f"Paragraph {number} is about the weather and nothing else, at some length." * 6 for number in range(8)
    )
    wanted = "The deployment key rotates every ninety days, on the first Monday."
    recall.add([NewMessage("assistant", f"{filler}\n\n{wanted}\n\n{filler}", session="s")])
    (found,) = recall.search("how often does the deployment key rotate", 1)
    assert wanted in found.passage
    assert len(found.passage) < 2_000
    assert found.message.content[found.start : found.end].strip() == found.passage


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.text(max_size=300), min_size=1, max_size=4), st.text(max_size=100))
def test_any_text_can_be_stored_and_any_question_asked(recall: RecallMemory, texts: list[str], question: str) -> None:
    ids = recall.add([NewMessage("user", text, session=question[:20]) for text in texts])
    stored = [message.content for message in recall.get(ids)]
    assert len(stored) == len(texts)
    with suppress(UsageError):  # a question without words is refused
        recall.search(question, 3)


@pytest.mark.parametrize(
    "query", ['"', "NEAR(a b)", "a AND", "*", "words:x", "'; DROP TABLE messages; --", "(", "^a", "a\0b"]
)
def test_hostile_questions_are_only_words(recall: RecallMemory, query: str) -> None:
    recall.add(talk())
    with suppress(UsageError):  # it has no words
        recall.search(query)
    assert recall.count() == len(TALK)


def test_wrong_calls_are_refused(recall: RecallMemory) -> None:
    for wrong in (NewMessage("king", "x"), NewMessage("user", "x" * (MAX_CHARS + 1)), NewMessage("user", "x", id="7")):
        with pytest.raises(UsageError):
            recall.add([wrong])
    for call in (lambda: recall.search("x", 0), lambda: recall.search("x", role="king"), recall.forget):
        with pytest.raises(UsageError):
            call()  # type: ignore[operator]
    assert recall.count() == 0


@pytest.mark.parametrize(
    ("forget", "left"),
    [
        (lambda recall, ids: recall.forget(session="a"), 6),
        (lambda recall, ids: recall.forget(project="/work/b"), 6),
        (lambda recall, ids: recall.forget(before=START + timedelta(days=1)), 6),
        (lambda recall, ids: recall.forget(message=ids[0]), 11),
        (lambda recall, ids: recall.forget(everything=True), 0),
    ],
)
def test_what_is_forgotten_is_not_found(
    recall: RecallMemory, forget: Callable[[RecallMemory, list[str]], object], left: int
) -> None:
    ids = recall.add(talk("a"), project="/work/a")
    recall.add(talk("b", START + timedelta(days=2)), project="/work/b")
    forget(recall, ids)
    assert recall.count() == left
    assert recall.engine.verify() == []
    found = {one.message.id for one in recall.search("retry policy backoff jitter logo", 20)} if left else set()
    assert ids[0] not in found or left == 6
    assert sum(session.messages for session in recall.sessions()) == left


def test_a_dry_run_forgets_nothing(recall: RecallMemory) -> None:
    recall.add(talk())
    assert recall.forget(everything=True, dry_run=True).messages == len(TALK)
    assert recall.count() == len(TALK)


def test_a_summary_goes_with_the_messages_that_it_is_made_of(recall: RecallMemory) -> None:
    (first, *_) = recall.add(talk())
    recall.add([NewMessage("summary", "They spoke of retries.", session="other", metadata={"summary_of": [first]})])
    recall.forget(message=first)
    assert recall.messages("other") == []


def test_threads_that_add_at_once_lose_nothing(engine: Engine) -> None:
    def add(number: int) -> int:
        return len(recall_of(engine).add(talk(f"thread-{number}")))

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(add, range(12))) == 12 * len(TALK)
    recall = recall_of(engine)
    assert recall.count() == 12 * len(TALK)
    assert engine.verify() == []


def test_threads_that_make_up_for_vectors_at_once_make_each_once(engine: Engine) -> None:
    recall_of(engine).add([one for number in range(20) for one in talk(f"s{number}")], embed=False)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: recall_of(engine).catch_up(), range(4)))
    assert engine.verify() == []
    with engine.reading() as rows:
        counted = rows.one("SELECT count(*), count(DISTINCT sequence) FROM message_parts")
    assert counted == (20 * len(TALK), 20 * len(TALK))


def test_what_has_nothing_to_do_with_the_question_is_not_shown(recall: RecallMemory) -> None:
    recall.add(talk())
    recall.add([NewMessage("user", "Let us paint the bike shed green", session="shed")])
    found = recall.search("exponential backoff with jitter", 20)
    assert found[0].message.content == TALK[1][1]
    assert all(one.message.session != "shed" for one in found)
