"""Rolling summaries and profiles of channels: what makes one due, windows, merging, each message read once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sage_code.memory.channels.channel_memory import ChannelMemory
from sage_code.memory.channels.scheduler import Scheduler, status_of
from sage_code.memory.context.extractive import ExtractiveSummariser
from sage_code.memory.context.summary import Point, Spoken, StructuredSummary
from sage_code.memory.tiers.engines.protocol import Engine
from sage_code.memory.tiers.opened import opened_agent, user_of
from sage_code.memory.tiers.recall_memory import RecallMemory
from sage_code.memory.tiers.tables import channels
from sage_code.memory.tiers.values import NewMessage
from sage_code.settings.loading import load_settings
from sage_code.settings.table import Settings

START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


class Listing:
    """A summariser that says what it was given."""

    def __init__(self, name: str = "extractive") -> None:
        self.name = name
        self.calls: list[tuple[list[str], StructuredSummary | None]] = []

    def summarise(
        self, messages: Sequence[Spoken], max_words: int = 100, previous: StructuredSummary | None = None
    ) -> StructuredSummary:
        if messages[0].role != "summary":
            self.calls.append(([message.content for message in messages], previous))
        before = previous.decisions if previous else ()
        new = [Point(one.content, (one.id,)) for one in messages if "decided" in one.content]
        decisions = tuple({point.text: point for point in (*before, *new)}.values())
        return StructuredSummary(f"{len(messages)} messages", self.name, decisions=decisions)


@pytest.fixture
def settings() -> Settings:
    return replace(load_settings(None), summary_window=20)


def _memory(engine: Engine, settings: Settings, name: str = "#team", summariser: object = None) -> ChannelMemory:
    return ChannelMemory(engine, opened_agent(engine, settings), settings, name, summariser)  # type: ignore[arg-type]


def _say(memory: ChannelMemory, count: int, start: int = 0, speaker: str = "Ana") -> None:
    memory.add_all(
        [
            NewMessage("user", f"message {number} about the queue", session="room", speaker=speaker)
            for number in range(start, start + count)
        ]
    )


def _scheduler(engine: Engine, settings: Settings, summariser: object = None, **more: object) -> Scheduler:
    return Scheduler(engine, user_of(settings), settings, summariser or Listing(), **more)  # type: ignore[arg-type]


def test_a_channel_waits_for_ten_messages_or_a_quarter_of_an_hour(engine: Engine, settings: Settings) -> None:
    memory = _memory(engine, settings)
    _say(memory, 9)
    assert memory.channel().waiting == 9
    dirty = memory.channel().dirty_at
    assert dirty is not None
    scheduler = _scheduler(engine, settings, clock=lambda: dirty + timedelta(minutes=14))
    assert scheduler.tick().steps == ()
    later = replace_clock(scheduler, dirty + timedelta(minutes=15, seconds=1))
    assert [step.read for step in later.tick().steps] == [9]
    assert memory.channel().dirty_at is None
    _say(memory, 10, 9)
    assert [step.read for step in replace_clock(scheduler, dirty).tick().steps] == [10]


def replace_clock(scheduler: Scheduler, moment: datetime) -> Scheduler:
    scheduler.clock = lambda: moment
    return scheduler


def test_a_channel_is_a_project_a_name_or_the_rest(engine: Engine, settings: Settings) -> None:
    recall = RecallMemory(engine, opened_agent(engine, settings), settings)
    recall.add([NewMessage("user", "in a project", session="a")], project="/work/shop")
    recall.add([NewMessage("assistant", "later, without saying where", session="a")])
    recall.add([NewMessage("user", "in a room", session="b")], project="/work/shop", channel="#room")
    recall.add([NewMessage("user", "nowhere", session="c")])
    recall.add([NewMessage("tool", "a result is no talk", session="c")])
    with engine.reading() as rows:
        found = {one.name: (one.waiting, one.messages) for one in channels.channels_of(rows, recall.agent.id)}
    assert found == {"/work/shop": (2, 2), "#room": (1, 1), "main": (1, 2)}


def test_what_comes_at_once_is_read_in_windows_and_nothing_decided_falls_out(
    engine: Engine, settings: Settings
) -> None:
    listing = Listing()
    memory = _memory(engine, settings, summariser=listing)
    _say(memory, 5)
    memory.add("user", "we decided on Kafka", speaker="Ben")
    _say(memory, 59, 5)
    summary = memory.summarise()
    assert summary is not None
    assert [point.text for point in summary.decisions] == ["we decided on Kafka"]
    read = [text for texts, _ in listing.calls for text in texts]
    assert sorted(set(read)) == sorted([f"message {n} about the queue" for n in range(64)] + ["we decided on Kafka"])
    assert [len(texts) for texts, _ in listing.calls] == [20, 20, 20, 20]  # the last with messages from before
    assert listing.calls[0][1] is None
    assert all(previous is not None for _, previous in listing.calls[1:])
    assert memory.channel().waiting == 0
    assert [one.version for one in memory.summaries.versions("#team")] == [4, 3, 2, 1]
    assert memory.summaries.newest("#team").messages == 65  # type: ignore[union-attr]


def test_a_service_is_asked_for_the_last_windows_only(engine: Engine, settings: Settings) -> None:
    asked = Listing("a service")
    memory = _memory(engine, settings, summariser=asked)
    _say(memory, 200)
    memory.summarise()
    read = [text for texts, _ in asked.calls for text in texts]
    assert len(asked.calls) == 3
    assert read[-1] == "message 199 about the queue"
    assert memory.channel().waiting == 0


def test_nothing_new_makes_no_version(engine: Engine, settings: Settings) -> None:
    memory = _memory(engine, settings, summariser=Listing())
    assert memory.summarise() is None
    _say(memory, 3)
    first = memory.summarise()
    assert memory.summarise() == first
    assert len(memory.summaries.versions("#team")) == 1


def test_two_that_summarise_at_once_make_one_version(engine: Engine, settings: Settings) -> None:
    class Slow(Listing):
        """While it writes, another process does the same."""

        def summarise(self, *given: object, **named: object) -> StructuredSummary:
            if not self.calls:
                self.calls.append(([], None))
                assert other.summaries.step("#team") is not None
            return Listing().summarise(*given, **named)  # type: ignore[arg-type]

    other = _memory(engine, settings, summariser=Listing())
    memory = _memory(engine, settings, summariser=Slow())
    _say(memory, 12)
    assert memory.summaries.step("#team") is None
    assert [one.version for one in memory.summaries.versions("#team")] == [1]
    assert memory.channel().waiting == 0


def test_messages_that_come_while_it_is_written_wait_for_the_next(engine: Engine, settings: Settings) -> None:
    class Interrupted(Listing):
        def summarise(self, *given: object, **named: object) -> StructuredSummary:
            if len(self.calls) == 0:
                _say(memory, 2, 100)
            return super().summarise(*given, **named)  # type: ignore[arg-type]

    memory = _memory(engine, settings)
    memory.summaries.summariser = Interrupted()
    _say(memory, 12)
    step = memory.summaries.step("#team")
    assert step is not None
    assert (step.read, step.waiting) == (12, 2)
    assert memory.channel().waiting == 2
    assert memory.channel().dirty_at is not None


def test_a_failing_channel_waits_and_does_not_keep_others_waiting(engine: Engine, settings: Settings) -> None:
    from sage_code.errors import StoreError

    class Failing(Listing):
        def summarise(self, *given: object, **named: object) -> StructuredSummary:
            if "bad" in given[0][0].content:  # type: ignore[index]
                raise StoreError("it cannot be read", "")
            return super().summarise(*given, **named)  # type: ignore[arg-type]

    scheduler = _scheduler(engine, settings, Failing())
    for name in ("#bad", "#good"):
        _memory(engine, settings, name).add_all(
            [NewMessage("user", f"{name[1:]} {number}", session=name) for number in range(10)]
        )
    tick = scheduler.tick()
    assert tick.failed == (("#bad", "it cannot be read"),)
    assert [step.channel for step in tick.steps] == ["#good"]
    tries = sum(bool(scheduler.tick().failed) for _ in range(20))
    assert 3 <= tries <= 6  # after 1, 2, 4, 8 … ticks


def test_clocks_that_jump_lose_nothing(engine: Engine, settings: Settings) -> None:
    memory = _memory(engine, settings)
    _say(memory, 3)
    dirty = memory.channel().dirty_at
    assert dirty is not None
    scheduler = _scheduler(engine, settings)
    # Set back by an hour: the channel has become dirty in the future, and would wait for more than an hour.
    assert len(replace_clock(scheduler, dirty - timedelta(hours=1)).tick().steps) == 1
    _say(memory, 3, 3)
    # A year ahead, and back again.
    assert len(replace_clock(scheduler, dirty + timedelta(days=365)).tick().steps) == 1
    _say(memory, 10, 6)
    assert len(replace_clock(scheduler, dirty).tick().steps) == 1
    assert [one.version for one in memory.summaries.versions("#team")] == [3, 2, 1]


def test_one_process_leads(engine: Engine, settings: Settings) -> None:
    _say(_memory(engine, settings), 12)
    scheduler = _scheduler(engine, settings)
    assert status_of(engine, user_of(settings), settings) == {"leads": False, "waiting": 12, "dirty": 1, "due": 1}
    with engine.leading("other-job") as other, engine.leading("a-job") as first, engine.leading("a-job") as second:
        assert other()
        assert first()
        assert first()
        assert not second()
    from sage_code.memory.channels.scheduler import job_of

    with engine.leading(job_of(user_of(settings))) as is_leader:
        assert is_leader()
        assert not scheduler.once().leads
        assert status_of(engine, user_of(settings), settings)["leads"]
    assert len(scheduler.once().steps) == 1


def test_forgetting_takes_summaries_and_facts_along(engine: Engine, settings: Settings) -> None:
    memory = _memory(engine, settings, summariser=ExtractiveSummariser())
    memory.add("user", "I live in Zanzibar and I work as a nurse.", speaker="Ana", session="one")
    memory.add("user", "We decided to use Kafka for the billing queue.", speaker="Ben", session="two")
    memory.summarise()
    assert "Zanzibar" in memory.user_profile("Ana").text
    memory.recall.forget(session="one")
    assert memory.user_profile("Ana").text == ""
    assert memory.summary() is None
    assert memory.channel().dirty_at is not None
    again = memory.summarise()
    assert again is not None
    assert "Zanzibar" not in str(again.to_json())
    assert "Kafka" in again.text


def test_a_channel_profile_keeps_decisions_and_drops_talk(engine: Engine, settings: Settings) -> None:
    memory = _memory(engine, replace(settings, profile_minutes=0), summariser=ExtractiveSummariser())
    memory.add("user", "We decided to use Kafka for the billing queue.", speaker="Ben")
    memory.summarise()
    first = memory.profile()
    assert first is not None
    assert any("Kafka" in point.text for point in first.decisions)
    for number in range(60):
        memory.add("user", f"Lunch number {number} was nice, thanks!", speaker="Ana")
    memory.summarise()
    later = memory.profile()
    assert later is not None
    assert any("Kafka" in point.text for point in later.decisions)
    assert not later.unresolved
    assert not later.threads
