"""`sage events`: real tails in processes of their own, and what they print."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sage_code.events import relay
from sage_code.events.bus import EventBus
from sage_code.events.catalogue import CATALOGUE, table
from sage_code.events.events import Event, EventType, SearchEvent
from sage_code.paths import listeners_dir

Run = Callable[..., Any]
TOP = Path(__file__).parents[2]


@contextmanager
def _tail(*words: str) -> Iterator[subprocess.Popen[str]]:
    """`sage events tail` in a process of its own, once it listens."""
    path = os.pathsep.join(map(str, (TOP, TOP / "cli", TOP / "mcp")))
    process = subprocess.Popen(
        [sys.executable, "-m", "sage_cli.entry", "events", "tail", *words],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while not list(Path(listeners_dir()).glob("*.fifo")):
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def publish() -> Callable[..., None]:
    """Publishes events as any process of Sage does."""
    bus = EventBus()

    def send(*events: Event) -> None:
        relay.sync(bus)
        for event in events:
            bus.publish_sync(event)

    return send


def test_lines_for_people(publish: Callable[..., None]) -> None:
    secret = "ghp_" + "aB3dE6gH9k" * 4
    with _tail("search.*", "index.finished", "--count", "3") as tail:
        publish(
            SearchEvent(EventType.PRE_SEARCH, where="code", query=f"where \x1b[31m is {secret}"),
            Event("index.started"),
            SearchEvent(EventType.POST_SEARCH, where="code", results_found=[{"id": "a"}] * 1_234, changed_by=["mine"]),
            Event("index.finished", source="index", metadata={"root": "/shop", "stats": {"files": 12_000}}),
        )
        out, err = tail.communicate()
    assert (tail.returncode, err) == (0, "")
    lines = [re.sub(r"^\d\d:\d\d:\d\d |\(\S+ \d+(, \w+)?\)$", "", line) for line in out.splitlines()]
    assert lines == [
        'search.pre_search  code  "where \\x1b[31m is [masked: GitHub token]"  ',
        "search.post_search  code  results_found=1,234  changed_by=mine  ",
        "index.finished  root=/shop  stats=files:12,000  ",
    ]
    assert out.splitlines()[2].endswith(", index)")


def test_lines_of_json(publish: Callable[..., None]) -> None:
    with _tail("--json", "--count", "2") as tail:
        publish(Event("my.event", metadata={"text\u202e": "a\nb"}), SearchEvent(EventType.PRE_SEARCH, query="\ud800"))
        out, _ = tail.communicate()
    first, second = out.splitlines()
    assert json.loads(first)["metadata"] == {"text\u202e": "a\nb"}
    assert json.loads(second)["query"] == "\ud800"
    assert out.isascii()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_tail_that_is_ended_leaves_nothing_and_exits_with_0(number: signal.Signals) -> None:
    with _tail() as tail:
        tail.send_signal(number)
        assert tail.communicate() == ("", "")
        assert tail.returncode == 0
    assert not Path(listeners_dir()).exists()


def test_a_tail_ends_when_the_reader_of_its_output_is_gone() -> None:
    with _tail() as tail:
        assert tail.stdout is not None
        tail.stdout.close()
        assert tail.wait() == 0
    assert not Path(listeners_dir()).exists()


def test_nothing_in_time_is_exit_code_1(sage: Run) -> None:
    ended = sage("events", "tail", "--seconds", "0.01")
    assert (ended.code, ended.out, ended.err) == (1, "", "")
    assert not Path(listeners_dir()).exists()


def test_a_pattern_that_names_nothing_has_a_nearest_one(sage: Run) -> None:
    said = sage("events", "tail", "serch.*", "memory.saved", "evolve.*", "*", "--seconds", "0.01").err
    assert said.count("no event of Sage") == 1
    assert "search.*" in said


def test_on_a_terminal_it_says_that_it_listens(sage: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert sage("events", "tail", "index.*", "--seconds", "0.01").err == "listening to index.*; Ctrl-C ends it\n"


def test_every_type_is_listed_with_what_it_means(sage: Run) -> None:
    assert list(CATALOGUE) == list(EventType)
    listed = sage("events", "list").out.splitlines()
    assert len(listed) == len(EventType)
    assert listed[5] == "search.pre_search  analyze  pre_search  a search is asked"


def test_the_document_for_authors_has_the_same_table() -> None:
    assert table() in (TOP / "docs" / "PLUGINS.md").read_text()
