"""Reads server-sent events: lines that end with any of the three line ends, comments, several lines of data.

Bytes are cut into lines before they are decoded, so that a letter may arrive in two chunks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# A carriage return at the very end may be the first half of a line end.
_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")


class Event(NamedTuple):
    """One event; services of OpenAI's kind name none."""

    name: str
    data: str


def events(chunks: Iterable[bytes]) -> Iterator[Event]:
    """The events of a stream as they become whole. One that the end of the stream cuts off is left out."""
    name = ""
    data: list[str] = []
    for line in _lines(chunks):
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not line:
            if data:
                yield Event(name, "\n".join(data))
            name, data = "", []
        elif field == "data":
            data.append(value)
        elif field == "event":
            name = value
        elif field == "error" and value:  # llama.cpp writes errors so
            yield Event("error", value)


def _lines(chunks: Iterable[bytes]) -> Iterator[str]:
    """The whole lines of a stream."""
    pending = b""
    looked_at = 0  # a long line that arrives in pieces is searched once
    for chunk in chunks:
        pending += chunk
        start = 0
        for end in _LINE_END.finditer(pending, looked_at):
            yield pending[start : end.start()].decode("utf-8", "replace")
            start = end.end()
        pending = pending[start:]
        looked_at = max(len(pending) - 1, 0)
    if pending.endswith(b"\r"):
        yield pending[:-1].decode("utf-8", "replace")
