"""The relay: real pipes between a bus and its readers; no reader can hold up or break a publisher."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sage_code.events import relay
from sage_code.events.bus import EventBus
from sage_code.events.events import Event, EventType, FormatEvent, LoadEvent, SearchEvent
from sage_code.paths import anybody_listens, listeners_dir

_READER = """
import sys
from sage_code.events.relay import tail
with tail(sys.argv[1:]) as events:
    print("listening", flush=True)
    for event in events:
        print(event["type"], flush=True)
"""


@pytest.fixture
def bus() -> EventBus:
    return EventBus()


def _reader(*patterns: str) -> subprocess.Popen[str]:
    """A reader in a process of its own, once it listens."""
    process = subprocess.Popen([sys.executable, "-c", _READER, *patterns], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "listening\n"
    return process


def test_a_bus_is_relayed_only_while_somebody_reads(bus: EventBus) -> None:
    relay.sync(bus)
    assert not bus.has_listeners("my.event")
    with relay.tail() as events:
        relay.sync(bus)
        relay.sync(bus)
        bus.publish_sync(Event("my.event", metadata={"answer": 42}))
        found = next(events)
        assert (found["type"], found["metadata"]) == ("my.event", {"answer": 42})
    relay.sync(bus)
    assert not bus.has_listeners("my.event")
    assert not os.path.exists(listeners_dir())


def test_every_reader_gets_what_it_asked_for(bus: EventBus) -> None:
    with relay.tail(["search.*"]) as searches, relay.tail(["evolve.*", "my.own"]) as others:
        relay.sync(bus)
        for event_type in (EventType.PRE_SEARCH, EventType.MEMORY_SAVED, "my.own", EventType.POST_SEARCH, "your.own"):
            bus.publish_sync(Event(event_type))
        assert [next(searches)["type"] for _ in range(2)] == ["search.pre_search", "search.post_search"]
        assert [next(others)["type"] for _ in range(2)] == ["memory.saved", "my.own"]


def test_a_reader_ends_after_its_time() -> None:
    with relay.tail(seconds=0.01) as events:
        assert list(events) == []


def test_the_reader_sees_what_plugins_have_made_of_an_event(bus: EventBus) -> None:
    def other_words(event: Event) -> None:
        assert isinstance(event, SearchEvent)
        event.query, event.changed_by = "authentication login", ["synonyms"]

    with relay.tail() as events:
        relay.sync(bus)
        bus.subscribe("search.*", other_words, priority=5_000, timeout_ms=0)
        bus.publish_sync(SearchEvent(EventType.PRE_SEARCH, where="code", query="auth"))
        assert next(events)["query"] == "authentication login"


def test_contents_are_sizes() -> None:
    events = [
        LoadEvent("loader.post_load", layer="core", path="a.md", content="secret" * 9, modified_content="secret"),
        SearchEvent("search.post_search", query="q", results_found=[{"id": 1, "text": "secret"}] * 3),
        FormatEvent("format.post_format", command="search", document={"secret": "secret"}, text="secret"),
        Event("my.own", metadata={"text": "secret" * 2, "deep": {"secret": "secret"}, "rows": [{"secret": 1}]}),
    ]
    lines = [json.loads(relay.line_of(event)) for event in events]
    assert (lines[0]["content"], lines[0]["modified_content"], lines[0]["path"]) == (54, 6, "a.md")
    assert lines[1]["results_found"] == 3
    assert (lines[2]["document"], lines[2]["text"]) == (1, 6)
    assert lines[3]["metadata"] == {"text": 12, "deep": 1, "rows": 1}
    assert "secret" not in str(lines)


def test_a_secret_is_not_cut_into_a_piece_that_cannot_be_known() -> None:
    token = "ghp_" + "aB3dE6gH9k" * 4
    line = json.loads(relay.line_of(SearchEvent("search.pre_search", query="x" * 390 + " " + token + " y")))
    assert "ghp_" not in line["query"]


_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.just(Path("a/b")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.tuples(inner),
)


@settings(max_examples=40)
@given(st.text(), st.text(), st.dictionaries(st.text(), _values))
def test_any_event_is_one_short_line_of_json(event_type: str, source: str, metadata: dict[str, Any]) -> None:
    line = relay.line_of(Event(event_type, source=source, metadata=metadata), dropped=7)
    assert len(line) <= relay.MAX_LINE
    assert line.isascii()
    assert line.index(b"\n") == len(line) - 1
    assert json.loads(line)["dropped"] == 7


def test_a_huge_event_keeps_what_identifies_it() -> None:
    metadata = {f"key {number}" + "\x00" * 50: "\U0001f600" * 10_000 for number in range(1_000)}
    line = relay.line_of(Event("t" * 9_999, source="s" * 9_999, metadata=metadata))
    assert len(line) <= relay.MAX_LINE
    assert json.loads(line)["type"].startswith("ttt")


def test_a_full_pipe_drops_events_and_the_next_says_how_many(bus: EventBus) -> None:
    with relay.tail() as events:
        relay.sync(bus)
        sent = 0
        while not relay._dropped:
            bus.publish_sync(Event("my.event", metadata={"filling": "x" * 390, "number": sent}))
            sent += 1
        bus.publish_sync(Event("my.event", metadata={"filling": "x" * 390}))
        arrived = [next(events)["metadata"]["number"] for _ in range(sent - 1)]
        assert arrived == list(range(sent - 1))
        bus.publish_sync(Event("last"))
        last = next(events)
        assert (last["type"], last["dropped"]) == ("last", 2)
        bus.publish_sync(Event("after"))
        assert "dropped" not in next(events)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_reader_that_is_ended_leaves_nothing(number: signal.Signals) -> None:
    reader = _reader("*")
    reader.send_signal(number)
    reader.communicate()
    assert not os.path.exists(listeners_dir())


def test_what_a_killed_reader_leaves_is_removed_by_the_next_publisher(bus: EventBus) -> None:
    reader = _reader("*")
    relay.sync(bus)
    reader.kill()
    reader.communicate()
    assert len(os.listdir(listeners_dir())) == 1
    bus.publish_sync(Event("my.event"))
    assert not os.path.exists(listeners_dir())
    relay.sync(bus)
    assert not bus.has_listeners("my.event")


def test_what_killed_readers_leave_is_removed_by_the_next_reader() -> None:
    folder = Path(listeners_dir())
    folder.mkdir(parents=True)
    for name in ("1-1.fifo", "2-1.new", "3-1.new"):
        os.mkfifo(folder / name)
    long_ago = time.time() - 3_600
    os.utime(folder / "2-1.new", (long_ago, long_ago))
    with relay.tail():
        left = sorted(path.name for path in folder.iterdir())
        assert "3-1.new" in left  # perhaps a reader that is about to open it
        assert len(left) == 2
    assert [path.name for path in folder.iterdir()] == ["3-1.new"]


def test_events_of_other_processes_arrive() -> None:
    reader = _reader("index.*")
    code = (
        "from sage_code.events.bus import get_event_bus\nfrom sage_code.events.events import Event\n"
        "from sage_code.events.relay import sync\nsync(get_event_bus())\n"
        "get_event_bus().publish_sync(Event('search.asked'))\nget_event_bus().publish_sync(Event('index.file'))\n"
    )
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], check=True)
    assert reader.stdout is not None
    assert [reader.stdout.readline() for _ in range(2)] == ["index.file\n"] * 2
    reader.terminate()
    reader.communicate()


def test_a_file_that_is_no_pipe_is_not_written_to(bus: EventBus, tmp_path: Path) -> None:
    folder = Path(listeners_dir())
    folder.mkdir(parents=True)
    (folder / "1-1.fifo").write_text("mine")
    relay.sync(bus)
    bus.publish_sync(Event("my.event"))
    assert (folder / "1-1.fifo").read_text() == "mine"


def test_what_no_publisher_wrote_is_not_shown(bus: EventBus) -> None:
    with relay.tail() as events:
        relay.sync(bus)
        (pipe,) = Path(listeners_dir()).glob("*.fifo")
        writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        for foreign in (b"no json", b"[" * 9_000, b"[]", b'{"type": 7}', b'{"type": "a", "timestamp": 1e300}', b"\xff"):
            os.write(writer, foreign + b"\n")
        os.close(writer)
        bus.publish_sync(Event("my.event"))
        assert next(events)["type"] == "my.event"


def test_only_the_user_can_read_along() -> None:
    with relay.tail():
        assert os.stat(listeners_dir()).st_mode & 0o777 == 0o700
        (pipe,) = Path(listeners_dir()).glob("*.fifo")
        assert pipe.stat().st_mode & 0o777 == 0o600
        assert anybody_listens()
