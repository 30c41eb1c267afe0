"""Server-sent events, cut anywhere and ended in any of the three ways."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code.memory.context.clients.event_stream import events

TEXT = (
    'retry: 3\n: a comment\ndata: {"ü": "🦉"}\n\nevent: named\nid: 7\ndata:first\ndata: second\n\n\n'
    "event: empty\n\ndata:  x\n\n"
)
EXPECTED = [("", '{"ü": "🦉"}'), ("named", "first\nsecond"), ("", " x")]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@given(cuts=st.lists(st.integers(0, 120), max_size=30))
def test_events_are_the_same_wherever_they_are_cut(end: str, cuts: list[int]) -> None:
    data = TEXT.replace("\n", end).encode()
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    chunks = [data[start:stop] for start, stop in itertools.pairwise(edges)]
    assert list(events(chunks)) == EXPECTED


def test_an_event_that_is_cut_off_is_left_out() -> None:
    assert list(events([b"data: whole\n\ndata: half"])) == [("", "whole")]
    assert list(events([b"data: half\n"])) == []


def test_an_error_of_llama_cpp_is_an_event() -> None:
    assert list(events([b'error: {"code": 500}\n\n'])) == [("error", '{"code": 500}')]
