"""`knowledge/index.yaml`: the facts of all knowledge items of a home, one item per line.

Each line is JSON inside YAML, so that ten thousand items are read and replaced in milliseconds; a list in another YAML
style is read too. A line carries the hash of the item's file it was made from: if the file has changed, the file wins.
The parsed list is cached until the file changes, and for at most `ttl_seconds`. A list that cannot be read raises
MemoryDamaged; the knowledge store then calls `rebuild` with the facts from the items' files and from the lines that are
still readable (`sound_entries`).
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection
from contextlib import suppress
from threading import Lock
from typing import Any

import orjson

from sage_code.errors import MemoryDamaged
from sage_code.memory.files import frontmatter
from sage_code.memory.files.homes import MemoryHome

FOLDER = "knowledge"
FILE = "index.yaml"
# History of the format: 1: first version.
_HEAD = "# Written by Sage, one item a line; `sage knowledge` changes it.\nformat: 1\nitems:\n"
_MAX_BYTES = 50_000_000  # a hundred thousand items
_ITEM = '- {"id":"'
_ID = re.compile(r"[a-zA-Z0-9_-]{1,120}")  # as `homes.safe_id` makes them


class KnowledgeList:
    """The list of one home; safe to share between threads."""

    def __init__(self, home: MemoryHome, ttl_seconds: float) -> None:
        self._home, self._ttl = home, ttl_seconds
        self._entries: dict[str, dict[str, Any]] = {}
        self._state: object = None
        self._read_at = 0.0
        self._guard = Lock()

    def entries(self) -> dict[str, dict[str, Any]]:
        """The facts of every item, by id."""
        with self._guard:
            state = self._stat()
            if state != self._state or time.monotonic() - self._read_at > self._ttl:
                self._entries = self._parse(self._text())
                self._state, self._read_at = state, time.monotonic()
            return self._entries

    def written_at(self) -> int:
        """When the list was last written, in nanoseconds; 0 if there is none."""
        return self._stat()[0]

    def put(self, entry: dict[str, Any]) -> None:
        """Add or replace an item; the caller holds the home's lock."""
        self._change({entry["id"]: entry}, ())

    def remove(self, *ids: str) -> None:
        """Remove items; the caller holds the home's lock."""
        self._change({}, ids)

    def sound_entries(self) -> dict[str, dict[str, Any]]:
        """The entries of a damaged list that can still be read, line by line."""
        found: dict[str, dict[str, Any]] = {}
        with suppress(MemoryDamaged):
            for line in self._text().split("\n"):
                with suppress(ValueError):
                    entry = orjson.loads(line.removeprefix("- ")) if line.startswith(_ITEM) else {}
                    if isinstance(entry.get("id"), str) and _ID.fullmatch(entry["id"]):
                        found[entry["id"]] = entry
        return found

    def rebuild(self, entries: dict[str, dict[str, Any]]) -> None:
        """Use these entries, and write them if the home can be written to; the caller holds the home's lock."""
        with suppress(OSError):
            self._home.write(_whole(entries), FOLDER, FILE)
        with self._guard:
            self._entries, self._state, self._read_at = dict(entries), self._stat(), time.monotonic()

    def _change(self, new: dict[str, dict[str, Any]], gone: Collection[str]) -> None:
        """Write the list with new and without removed items, replacing single lines."""
        text = self._text() or _HEAD
        if not text.startswith(_HEAD) or text.count(f"\n{_ITEM}") != text.count("\n") - _HEAD.count("\n"):
            text = _whole(self._parse(text))  # it was written in another style
        for id_ in {*new, *gone}:
            text = _replaced(text, id_, _line(new[id_]) if id_ in new else "")
        was = self._stat()
        self._home.write(text, FOLDER, FILE)
        with self._guard:
            if self._state == was:  # unchanged since it was read
                kept = {id_: entry for id_, entry in self._entries.items() if id_ not in gone}
                self._entries, self._state = {**kept, **new}, self._stat()

    def _text(self) -> str:
        try:
            return self._home.read(FOLDER, FILE, max_bytes=_MAX_BYTES)
        except FileNotFoundError:
            return ""

    def _parse(self, text: str) -> dict[str, dict[str, Any]]:
        """The entries by id, from our own lines or from any other YAML."""
        where = self._home.path(FOLDER, FILE)
        try:
            if not text.startswith(_HEAD):
                raise ValueError
            found = [orjson.loads(line[2:]) for line in text.removeprefix(_HEAD).split("\n") if line]
        except ValueError:
            items = frontmatter.load(text, where).get("items") or []
            try:
                pairs = [] if isinstance(items, list) else items.items()
                found = [*items] if not pairs else [{**(value or {}), "id": key} for key, value in pairs]
            except (AttributeError, TypeError) as error:
                raise MemoryDamaged(f"{where} lists no items", "they are listed again from their files") from error
        entries = {}
        for entry in found:
            if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
                raise MemoryDamaged(f"{where} lists an item without an id", "correct it by hand")
            if _ID.fullmatch(entry["id"]):
                entries[entry["id"]] = entry
        return entries

    def _stat(self) -> tuple[int, int, int]:
        try:
            found = os.stat(self._home.path(FOLDER, FILE))
        except OSError:
            return 0, 0, 0
        return found.st_mtime_ns, found.st_size, found.st_ino


def _replaced(text: str, id_: str, line: str) -> str:
    """The list with the line of one item replaced, in order of ids; an empty line removes the item."""
    start = f'{_ITEM}{id_}"'
    low, high = len(_HEAD), len(text)
    while low < high:
        middle = (low + high) // 2
        begin = text.rfind("\n", 0, middle) + 1
        if text[begin : begin + len(start)] < start:
            low = text.find("\n", middle) + 1
        else:
            high = begin
    end = text.find("\n", low) + 1 if text.startswith(start, low) else low
    return f"{text[:low]}{line}{text[end:]}"


def _whole(entries: dict[str, dict[str, Any]]) -> str:
    return _HEAD + "".join(_line(entry) for _, entry in sorted(entries.items()))


def _line(entry: dict[str, Any]) -> str:
    return f"- {orjson.dumps({'id': entry['id'], **entry}).decode()}\n"
