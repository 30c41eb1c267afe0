"""Finds the files that tool calls read and changed, in Claude Code's transcripts.

Most lines of a transcript say nothing about files. A line is decoded only if its bytes contain a tool call or the
result of a pending call; the others cost two searches for bytes. The format is internal to Claude Code and changes:
unknown records are skipped, and no field is required.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from sage_code.transcripts.lines import is_whole
from sage_code.transcripts.shell import file_uses
from sage_code.transcripts.touches import Call, Hunk, Touch, absolute, decode, hunk, line_range, string_or_empty

_CALL = b'"tool_use"'
_RESULT = b'"tool_use_id"'
_RESULT_ID = re.compile(rb'"tool_use_id"\s*:\s*"([^"\\]{1,200})"')
_FAILED_KEY = b'"is_error"'
_FAILED = re.compile(rb'"is_error"\s*:\s*(?!false\b)')
_NUMBER = re.compile(rb'"[A-Za-z]+"\s*:\s*(\d{1,8})\b')
_TIMESTAMP = re.compile(rb'"timestamp"\s*:\s*"([0-9T:.Z+-]{10,40})"')
# Bounds the memory for calls without a result, in a hostile file.
_MAX_PENDING = 4096
_MAX_FILES = 1000
_MAX_HUNKS = 200

_CHANGES = {"Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
_READS = {"Read": "file_path", "NotebookRead": "notebook_path"}
# `  40→def f` and `40\tdef f`: the line numbers in the output of Read.
_NUMBERED = re.compile(r"^\s*(\d{1,7})[→\t]", re.MULTILINE)
# `src/a.py:12:text`, and `src/a.py-11-text` for context lines.
_FOUND = re.compile(r"^(.{1,4096}?)[:-]\d{1,7}[:-]", re.MULTILINE)
_COUNTED = re.compile(r"^(.{1,4096}):\d{1,9}$", re.MULTILINE)


class ClaudeRecords:
    """Pairs tool calls with their results, line by line."""

    def __init__(self, pending: Mapping[str, Call] | None = None) -> None:
        self.pending: dict[str, Call] = dict(pending or {})

    def touches(self, line: bytes) -> Iterable[Touch]:
        """The touches of the results in a line; ValueError for a damaged line."""
        if not is_whole(line):
            raise ValueError("no record")
        answered = self._answered_calls(line)
        if answered:
            if len(answered) == 1 and (read := self._read_result(line, answered[0])):
                return (read,)
            record = decode(line)
            return list(self._results(record)) if record else ()
        if _CALL in line:
            record = decode(line)
            if record:
                self._calls(record)
        return ()

    def _answered_calls(self, line: bytes) -> list[str]:
        """The ids of the calls whose results are in a line; empty if none of them is pending."""
        found, offset = [], line.find(_RESULT)
        while offset >= 0:
            call_id = _RESULT_ID.match(line, offset)
            if call_id is not None:
                found.append(call_id[1].decode("ascii", "replace"))
            offset = line.find(_RESULT, offset + len(_RESULT))
        return found if any(call_id in self.pending for call_id in found) else []

    def _read_result(self, line: bytes, call_id: str) -> Touch | None:
        """The result of a plain Read, found in the bytes: the line holds a whole file twice, and three numbers.

        A quoted key cannot be inside a string, where its quotes are escaped. Unusual lines are left to the decoder.
        """
        call = self.pending[call_id]
        if call.tool != "Read" or _FAILED.match(line, max(line.find(_FAILED_KEY), 0)):
            return None
        first, count, total = (_number(line, key) for key in (b'"startLine"', b'"numLines"', b'"totalLines"'))
        offset = line.rfind(b'"timestamp"')
        timestamp = _TIMESTAMP.match(line, offset) if offset >= 0 else None
        lines = line_range(first, count)
        if lines is None or timestamp is None:
            return None
        del self.pending[call_id]
        return Touch(call.file, "read", timestamp[1].decode(), None if lines == (1, total) else lines)

    def _calls(self, record: Mapping[str, Any]) -> None:
        for block in _blocks(record):
            given, tool, call_id = block.get("input"), block.get("name"), block.get("id")
            if block.get("type") == "tool_use" and isinstance(given, dict) and isinstance(call_id, str):
                call = _call(str(tool), given, record)
                if call is not None:
                    self.pending[call_id] = call
        while len(self.pending) > _MAX_PENDING:
            del self.pending[next(iter(self.pending))]

    def _results(self, record: Mapping[str, Any]) -> Iterator[Touch]:
        """The touches of the successful results in a record."""
        blocks = [block for block in _blocks(record) if block.get("type") == "tool_result"]
        timestamp = string_or_empty(record.get("timestamp"))
        for block in blocks:
            call = self.pending.pop(string_or_empty(block.get("tool_use_id")), None)
            # The structured result is outside of the message, and belongs to its block if there is only one.
            details = record.get("toolUseResult") if len(blocks) == 1 else None
            if call is None or block.get("is_error") or (isinstance(details, str) and details.startswith("Error")):
                continue
            yield from _touched(call, details if isinstance(details, dict) else {}, _text(block), timestamp)


def _call(tool: str, given: Mapping[str, Any], record: Mapping[str, Any]) -> Call | None:
    """The pending call of a tool that works with files; None for other tools."""
    cwd = record.get("cwd")
    if key := _READS.get(tool) or _CHANGES.get(tool):
        file = absolute(given.get(key), cwd)
        return Call(tool, file, line_range(given.get("offset"), given.get("limit"))) if file else None
    if tool in ("Grep", "Glob"):
        return Call(tool, absolute(given.get("path") or ".", cwd), folder=absolute(".", cwd))
    command = given.get("command")
    if tool == "Bash" and isinstance(command, str) and isinstance(cwd, str):
        uses = tuple(file_uses(command, cwd)[:_MAX_FILES])
        return Call(tool, uses=uses) if uses else None
    return None


def _touched(call: Call, details: Mapping[str, Any], text: str, timestamp: str) -> Iterator[Touch]:
    """The touches of a call, from its structured result or else from its text."""
    if call.tool in _READS:
        file = details.get("file")
        yield Touch(call.file, "read", timestamp, _lines_read(call, file if isinstance(file, dict) else {}, text))
    elif call.tool in _CHANGES:
        yield Touch(call.file, "write" if call.tool == "Write" else "edit", timestamp, None, _hunks(details))
    elif call.tool in ("Grep", "Glob"):
        names = list(islice(_names(call, details, text), _MAX_FILES))
        yield from (Touch(file, call.tool.lower(), timestamp) for file in dict.fromkeys(names) if file)
    else:
        yield from (use._replace(timestamp=timestamp) for use in call.uses)


def _lines_read(call: Call, file: Mapping[str, Any], text: str) -> tuple[int, int] | None:
    lines = line_range(file.get("startLine"), file.get("numLines"))
    if lines is None:
        shown = _NUMBERED.findall(text)
        lines = (int(shown[0]), int(shown[-1])) if call.lines is None and shown else call.lines
        return lines if lines and lines[0] > 1 else call.lines
    return None if lines == (1, file.get("totalLines")) else lines


def _hunks(details: Mapping[str, Any]) -> tuple[Hunk, ...]:
    patch = details.get("structuredPatch")
    found = (hunk(one) for one in patch[:_MAX_HUNKS]) if isinstance(patch, list) else ()
    return tuple(one for one in found if one is not None)


def _names(call: Call, details: Mapping[str, Any], text: str) -> Iterator[str]:
    """The files in the result of a Grep or Glob."""
    names = details.get("filenames")
    if isinstance(names, list) and names:
        yield from (absolute(name, call.folder) for name in names)
        return
    content = details.get("content")
    shown = content if isinstance(content, str) else text
    if call.tool == "Glob" or shown.startswith("Found "):
        yield from (absolute(name, call.folder) for name in shown.split("\n") if "/" in name or "." in name)
        return
    pattern = _COUNTED if details.get("mode") == "count" else _FOUND
    found = [name for name in pattern.findall(shown) if not name.isdecimal()]
    if found:
        yield from (absolute(name, call.folder) for name in found)
    elif re.match(r"\d{1,7}[:-]", shown):
        yield call.file  # one file was searched, so the lines are shown without its name


def _blocks(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _text(block: Mapping[str, Any]) -> str:
    content = block.get("content")
    if isinstance(content, list):
        content = "\n".join(string_or_empty(part.get("text")) for part in content if isinstance(part, dict))
    return string_or_empty(content)


def _number(line: bytes, key: bytes) -> int | None:
    offset = line.rfind(key)  # from the end, since it comes after the text of the file
    found = _NUMBER.match(line, offset) if offset >= 0 else None
    return int(found[1]) if found else None
