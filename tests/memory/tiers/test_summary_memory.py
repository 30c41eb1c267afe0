"""Summary memory: compaction keeps what is new and loses nothing, tool calls stay with their results, undo works."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code.errors import Conflict, UsageError
from sage_code.memory.context.extractive import ExtractiveSummariser
from sage_code.memory.context.summary import SUMMARY_WORDS, StructuredSummary, Summariser, words_in
from sage_code.memory.tiers.engines.protocol import Engine
from sage_code.memory.tiers.opened import opened_agent
from sage_code.memory.tiers.recall_memory import RecallMemory
from sage_code.memory.tiers.summary_memory import LEAST_KEPT, SummaryMemory, cut_of
from sage_code.memory.tiers.values import Message, NewMessage, now
from sage_code.settings.table import Settings

WINDOW = 1_000
SETTINGS = Settings(memory_window=WINDOW, embedding_model="hashing")


def summary_of(engine: Engine, summariser: Summariser | None = None, settings: Settings = SETTINGS) -> SummaryMemory:
    agent = opened_agent(engine, settings, "sage", "ann")
    return SummaryMemory(engine, agent, settings, RecallMemory(engine, agent, settings), summariser)


def talk(count: int, tokens: int = 50, start: int = 0) -> list[NewMessage]:
    return [
        NewMessage(("user", "assistant")[number % 2], f"We decided point {number} of the plan.", tokens=tokens)
        for number in range(start, start + count)
    ]


def stored(*given: tuple[str, int] | tuple[str, int, dict[str, object]]) -> list[Message]:
    """Messages of a role and so many tokens, perhaps with metadata, that are in no database."""
    return [
        Message(number, str(number), one[0], "text", now(), "s", tokens=one[1], metadata=one[2] if len(one) > 2 else {})
        for number, one in enumerate(given)
    ]


def test_compaction_is_due_at_the_threshold(engine: Engine) -> None:
    memory = summary_of(engine)
    assert not memory.needs_compaction(799)
    assert memory.needs_compaction(800)
    assert not memory.needs_compaction()
    memory.add(talk(16))
    assert memory.tokens() == 800
    assert memory.needs_compaction()
    default = summary_of(engine, settings=Settings())
    assert (default.needs_compaction(204_799), default.needs_compaction(204_800)) == (False, True)


def test_the_system_part_and_the_newest_messages_stay(engine: Engine) -> None:
    memory = summary_of(engine)
    system = memory.add([NewMessage("system", "You are Sage.", tokens=10)])
    ids = memory.add(talk(16))
    summary = memory.compact()
    assert summary is not None
    assert memory.message_ids() == (*system, summary.id, *ids[-4:])  # 200 tokens are not quite 30 % of the context
    assert summary.metadata["summary_of"] == ids[:-4]
    assert summary.metadata["previous_ids"] == [*system, *ids]
    assert summary.metadata["summariser"] == "extractive"
    assert summary.role == "summary"
    assert words_in(summary.content) <= SUMMARY_WORDS
    assert "point 0" in summary.content  # the first request
    assert [message.id for message in memory.recall.get(ids)] == ids
    assert not memory.needs_compaction()


def test_nothing_to_replace(engine: Engine) -> None:
    memory = summary_of(engine)
    assert memory.compact() is None
    memory.add(talk(4))
    assert memory.compact() is None
    assert len(memory.message_ids()) == 4
    memory.add(talk(12, start=4))
    assert memory.compact() is not None
    assert memory.compact() is None  # a summary alone is not summarised again


def test_an_undo_restores_the_context_with_what_came_since(engine: Engine) -> None:
    memory = summary_of(engine)
    ids: list[str] = []
    states = []
    for turn in range(4):
        ids += memory.add(talk(20, start=20 * turn))
        states.append(memory.message_ids())
        assert memory.compact() is not None
    late = memory.add(talk(1, start=999))
    for state in reversed(states):
        memory.undo()
        late = [id_ for id_ in memory.message_ids() if id_ not in state]
        assert memory.message_ids()[: len(state)] == state
    assert memory.message_ids()[:20] == tuple(ids[:20])
    assert late == [id_ for id_ in memory.message_ids() if id_ not in states[0]]
    assert set(ids) <= set(memory.message_ids())
    with pytest.raises(UsageError, match="no compaction to undo"):
        memory.undo()
    assert memory.compact() is not None


def test_the_summary_before_is_merged(engine: Engine) -> None:
    memory = summary_of(engine)
    memory.add([NewMessage("user", "Please add retries to the payment client in billing/client.py.", tokens=50)])
    memory.add([NewMessage("assistant", "Done: I fixed the timeout in send_payment() with a backoff.", tokens=50)])
    memory.add(talk(16))
    for turn in range(5):
        summary = memory.compact()
        assert summary is not None
        assert "billing/client.py" in summary.content
        assert "I fixed the timeout in send_payment()" in summary.content
        assert [message.role for message in memory.context()].count("summary") == 1
        memory.add(talk(20, start=100 * turn))


def test_the_structure_is_stored_and_merged(engine: Engine) -> None:
    memory = summary_of(engine)
    memory.add([NewMessage("user", "We decided to keep SQLite as the default engine.", tokens=50)])
    memory.add([NewMessage("user", "Which port does the staging server listen on?", tokens=50)])
    filler = [NewMessage("user", f"The chapter {number} reads well now.", tokens=50) for number in range(20)]
    memory.add(filler)
    for turn in range(4):
        summary = memory.compact()
        assert summary is not None
        stored = StructuredSummary.from_json(summary.metadata["summary"])
        assert stored.text == summary.content
        assert "We decided to keep SQLite as the default engine." in [one.text for one in stored.decisions]
        assert "Which port does the staging server listen on?" in [one.text for one in stored.unresolved]
        memory.add(
            [NewMessage("user", f"The page {turn}-{number} needs a picture.", tokens=50) for number in range(20)]
        )
    memory.add([NewMessage("assistant", "The staging server listens on port 8443.", tokens=50), *talk(20)])
    summary = memory.compact()
    assert summary is not None
    assert not StructuredSummary.from_json(summary.metadata["summary"]).unresolved


class _Failing:
    name = "broken"

    def __init__(self, answer: str | None) -> None:
        self._answer = answer

    def summarise(
        self, messages: Sequence[Message], max_words: int = SUMMARY_WORDS, previous: StructuredSummary | None = None
    ) -> StructuredSummary:
        if self._answer is None:
            raise ConnectionError("no server")
        return StructuredSummary(self._answer, self.name)


@pytest.mark.parametrize(
    ("answer", "problem"),
    [(None, "ConnectionError: no server"), ("  ", "wrote nothing"), ("word " * 5_000, "5,000 words instead of 100")],
)
def test_a_summariser_that_fails_is_replaced(engine: Engine, answer: str | None, problem: str) -> None:
    memory = summary_of(engine, _Failing(answer))
    memory.add(talk(16))
    summary = memory.compact()
    assert summary is not None
    assert summary.metadata["summariser"] == "extractive"
    assert summary.metadata["problem"].startswith("broken failed: ")
    assert problem in summary.metadata["problem"]
    assert words_in(summary.content) <= SUMMARY_WORDS


class _Meanwhile:
    """Does something while it summarises."""

    name = "slow"

    def __init__(self, memory: SummaryMemory, compacts: bool) -> None:
        self._memory, self._compacts = memory, compacts
        self.added: list[str] = []

    def summarise(
        self, messages: Sequence[Message], max_words: int = SUMMARY_WORDS, previous: StructuredSummary | None = None
    ) -> StructuredSummary:
        self.added = self._memory.add(talk(1, start=500))
        if self._compacts:
            assert self._memory.compact() is not None
        return StructuredSummary("A summary.", self.name)


def test_what_is_added_while_it_summarises_stays(engine: Engine) -> None:
    slow = _Meanwhile(summary_of(engine), compacts=False)
    memory = summary_of(engine, slow)
    memory.add(talk(16))
    summary = memory.compact()
    assert summary is not None
    assert summary.metadata["summariser"] == "slow"
    assert memory.message_ids()[-1] == slow.added[0]


def test_of_two_compactions_at_once_one_is_told(engine: Engine) -> None:
    memory = summary_of(engine, _Meanwhile(summary_of(engine), compacts=True))
    memory.add(talk(16))
    with pytest.raises(Conflict):
        memory.compact()
    assert [message.role for message in memory.context()].count("summary") == 1


def test_only_own_messages_get_into_the_context(engine: Engine) -> None:
    memory = summary_of(engine)
    ids = memory.add(talk(3))
    other_agent = opened_agent(engine, SETTINGS, "sage", "bob")
    other = SummaryMemory(engine, other_agent, SETTINGS, RecallMemory(engine, other_agent, SETTINGS))
    theirs = other.add(talk(1))
    memory.set_message_ids([ids[2], ids[0], ids[2]])
    assert memory.message_ids() == (ids[2], ids[0])
    for foreign in (theirs, ["nonsense"], [ids[0].replace("-", "x")]):
        with pytest.raises(UsageError):
            memory.set_message_ids(foreign)
    assert memory.message_ids() == (ids[2], ids[0])
    other.add([NewMessage("user", "stolen", ids[0])])  # the id of another agent's message
    assert ids[0] not in other.message_ids()


def test_forgotten_messages_do_not_come_back(engine: Engine) -> None:
    memory = summary_of(engine)
    first = memory.add([NewMessage("user", "The launch code is zebra.", session="private", tokens=50)])
    ids = memory.add(talk(30))
    assert memory.compact() is not None
    memory.add(talk(30, start=30))
    assert memory.compact() is not None
    memory.recall.forget(session="private")
    with pytest.raises(UsageError):
        memory.undo()  # the summaries that were made of it are gone as well
    assert not any("zebra" in message.content for message in memory.context())
    assert len(memory.recall.get([*first, *ids])) == 30


def test_a_tool_call_stays_with_its_result() -> None:
    calls = {"tool_calls": ["a", {"id": "b"}]}
    context = stored(
        ("user", 400), ("assistant", 100, calls), ("tool", 100, {"tool_call_id": "a"}), ("assistant", 10),
        ("user", 10), ("tool", 10, {"tool_call_id": "b"}), ("assistant", 10), ("user", 10),
    )  # fmt: skip
    assert cut_of(context, WINDOW) == 1  # the result of b came late, and all of it fits
    assert cut_of(context, 300) == 6
    plain = stored(("user", 100), ("assistant", 100), ("tool", 100), ("tool", 100), ("assistant", 100), ("user", 10))
    assert cut_of(plain, 600) == 4
    assert cut_of(plain, 1_000) == 1


def test_huge_messages_are_cut_all_the_same() -> None:
    assert cut_of(stored(("user", 9_000), ("assistant", 9_000), ("user", 9_000)), WINDOW) == 2
    assert cut_of(stored(("user", 9_000)), WINDOW) == 0
    assert cut_of([], WINDOW) == 0
    # The last exchanges stay although they are more than a third of the window.
    assert cut_of(stored(*[("user", 140)] * 8), WINDOW) == 8 - LEAST_KEPT


_TURNS = st.lists(
    st.one_of(
        st.just(["user"]), st.just(["system"]), st.just(["assistant"]),
        st.integers(1, 4).map(lambda results: ["assistant", *["tool"] * results]),
    ),
    max_size=40,
)  # fmt: skip


@given(_TURNS, st.data(), st.booleans())
def test_no_cut_separates_a_call_from_its_result(turns: list[list[str]], data: st.DataObject, named: bool) -> None:
    given: list[tuple[str, int, dict[str, object]]] = []
    pairs = []
    for turn in turns:
        call = len(given)
        ids = [f"{call}-{number}" for number in range(1, len(turn))]
        for number, role in enumerate(turn):
            metadata: dict[str, object] = {}
            if named and number:
                metadata = {"tool_call_id": ids[number - 1]}
                if data.draw(st.booleans()) and number == 1:  # the person says something before the result is there
                    given.append(("user", 1, {}))
            elif named and ids:
                metadata = {"tool_calls": ids}
            if number:
                pairs.append((call, len(given)))
            given.append((role, data.draw(st.integers(0, 600)), metadata))
    context = stored(*given)
    cut = cut_of(context, WINDOW)
    assert 0 <= cut < max(len(context), 1)
    assert all((call < cut) == (result < cut) for call, result in pairs)


def test_the_extractive_summary_keeps_to_its_length() -> None:
    texts = [
        "",
        "x" * 5_000,
        "東京の天気を教えてください。" * 200,
        "word " * 3_000,
        "Fixed `a_b()` in src/x.py. " * 99,
        "ok",
    ]
    for first in texts:
        for second in texts:
            for words in (1, 10, 100, 300):
                context = [
                    Message(1, "1", "summary", second, now(), "s"),
                    Message(2, "2", "user", first, now(), "s"),
                    Message(3, "3", "assistant", second, now(), "s"),
                ]
                summary = ExtractiveSummariser().summarise(context, words)
                assert summary.text.strip()
                assert words_in(summary.text) <= max(words, 8)
                assert summary == ExtractiveSummariser().summarise(context, words)


def test_the_extractive_summary_says_what_a_successor_must_know() -> None:
    said = (
        ("user", "Please add retries to the payment client in billing/client.py. It times out under load."),
        ("assistant", "Let me look at the client. I found that `send_payment` has no timeout, the root cause."),
        ("user", "Use exponential backoff, at most five attempts."),
        ("assistant", "I added retry_policy() to billing/retry.py with five attempts. All 42 tests pass now."),
        ("user", "Great. Next we must document it in docs/payments.md, then release."),
    )
    context = [Message(n, str(n), role, text, now(), "s") for n, (role, text) in enumerate(said)]
    lines = ExtractiveSummariser().summarise(context).text.split("\n")
    assert lines[0] == "Request: Please add retries to the payment client in billing/client.py."
    assert "Done: I found that `send_payment` has no timeout, the root cause." in lines
    assert "State: I added retry_policy() to billing/retry.py with five attempts." in lines
    assert "Next: Next we must document it in docs/payments.md, then release." in lines
    assert lines[-1].startswith("Names: ")
    assert all(path in lines[-1] for path in ("billing/client.py", "billing/retry.py", "docs/payments.md"))


@pytest.mark.slow
def test_ten_thousand_messages_through_ten_compactions(engine: Engine, seed: int) -> None:
    chance = random.Random(seed)
    words = [
        f"{first}{second}" for first in "bdfgklmnprst" for second in ("amo", "elu", "ivo", "oka", "uri", "aste", "ento")
    ]
    settings = Settings(memory_window=30_000)
    memory = summary_of(engine, settings=settings)
    every: list[str] = []
    contents: dict[str, str] = {}
    summaries: list[str] = []
    states = []
    while len(every) < 10_000:
        some = [
            NewMessage(
                ("user", "assistant")[number % 2],
                f"Item {number}: the {' '.join(chance.choices(words, k=6))} of {chance.choice(words)}{number}.",
                session=f"s{number // 500}",
                tokens=24,
            )
            for number in range(len(every), len(every) + 200)
        ]
        ids = memory.add(some)
        contents |= {id_: message.content for id_, message in zip(ids, some, strict=True)}
        every += ids
        if memory.needs_compaction():
            states.append(memory.message_ids())
            summary = memory.compact()
            assert summary is not None
            assert not memory.needs_compaction()
            summaries.append(summary.id)
    assert len(summaries) >= 10
    assert len(memory.recall.get(every)) == 10_000
    assert memory.recall.count() == 10_000 + len(summaries)
    memory.recall.catch_up()
    for id_ in chance.sample(every, 200):
        found = memory.recall.search(contents[id_])
        assert id_ in [one.message.id for one in found], contents[id_]
    for state in reversed(states):
        memory.undo()
        assert memory.message_ids()[: len(state)] == state
    assert memory.message_ids() == tuple(every)
