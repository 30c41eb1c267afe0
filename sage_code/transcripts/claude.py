"""Claude Code's records: which files did the calls of a line touch?

Most of a transcript is tool output that says nothing about files. A line is decoded only when its bytes hold a call,
or the result of a call that is waited for; the rest is looked at with two searches. The format is internal to Claude
Code and changes: what is unknown is passed over, and nothing is expected to be there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from sage_code.transcripts.shell import file_uses
from sage_code.transcripts.touches import Call, Hunk, Touch, absolute, decode, hunk, line_range

_CALL = b'"tool_use"'
_RESULT = b'"tool_use_id"'
_RESULT_ID = re.compile(rb'"tool_use_id"\s*:\s*"([^"\\]{1,200})"')
_FAILED_KEY = b'"is_error"'
_FAILED = re.compile(rb'"is_error"\s*:\s*(?!false\b)')
_NUMBER = re.compile(rb'"[A-Za-z]+"\s*:\s*(\d{1,8})\b')
_TIMESTAMP = re.compile(rb'"timestamp"\s*:\s*"([0-9T:.Z+-]{10,40})"')
# Calls that are waited for; a hostile file could make more of them than fit.
_MAX_PENDING = 4096
_MAX_FILES = 1000
_MAX_HUNKS = 200

_EDITS = {"Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path"}
_READS = {"Read": "file_path", "NotebookRead": "notebook_path"}
# `  40→def f` and `40\tdef f`: how Read numbers the lines it shows.
_NUMBERED = re.compile(r"^\s*(\d{1,7})[→\t]", re.MULTILINE)
# `src/a.py:12:text`, and `src/a.py-11-text` for the lines around a hit.
_FOUND = re.compile(r"^(.{1,4096}?)[:-]\d{1,7}[:-]", re.MULTILINE)
_COUNTED = re.compile(r"^(.{1,4096}):\d{1,9}$", re.MULTILINE)


class ClaudeRecords:
    """Pairs calls with their results, line by line."""

    def __init__(self, pending: Mapping[str, Call] | None = None) -> None:
        self.pending: dict[str, Call] = dict(pending or {})

    def touches(self, line: bytes) -> Iterable[Touch]:
        """What the results in a line did; raises ValueError for a damaged line."""
        if line[:1] != b"{":
            raise ValueError("no record")
        waited = self._waited_for(line)
        if waited:
            if len(waited) == 1 and (read := self._read_result(line, waited[0])):
                return (read,)
            record = decode(line)
            return list(self._results(record)) if record else ()
        if _CALL in line:
            record = decode(line)
            if record:
                self._calls(record)
        return ()

    def _waited_for(self, line: bytes) -> list[str]:
        """The results in a line whose calls are known."""
        found, position = [], line.find(_RESULT)
        while position >= 0:
            number = _RESULT_ID.match(line, position)
            if number is not None:
                found.append(number[1].decode("ascii", "replace"))
            position = line.find(_RESULT, position + len(_RESULT))
        return found if any(number in self.pending for number in found) else []

    def _read_result(self, line: bytes, number: str) -> Touch | None:
        """The result of a plain Read, off the bytes: it holds a whole file twice, and three numbers that matter.

        A key cannot stand inside a string, where its quotes are escaped. What looks unusual is left to the decoder.
        """
        call = self.pending[number]
        if call.tool != "Read" or _FAILED.match(line, max(line.find(_FAILED_KEY), 0)):
            return None
        first, count, total = (_number(line, key) for key in (b'"startLine"', b'"numLines"', b'"totalLines"'))
        at = line.rfind(b'"timestamp"')
        timestamp = _TIMESTAMP.match(line, at) if at >= 0 else None
        lines = line_range(first, count)
        if lines is None or timestamp is None or not line.rstrip().endswith(b"}"):
            return None
        del self.pending[number]
        return Touch(call.file, "read", timestamp[1].decode(), None if lines == (1, total) else lines)

    def _calls(self, record: Mapping[str, Any]) -> None:
        for block in _blocks(record):
            given, tool, number = block.get("input"), block.get("name"), block.get("id")
            if block.get("type") == "tool_use" and isinstance(given, dict) and isinstance(number, str):
                call = _call(str(tool), given, record)
                if call is not None:
                    self.pending[number] = call
        while len(self.pending) > _MAX_PENDING:
            del self.pending[next(iter(self.pending))]

    def _results(self, record: Mapping[str, Any]) -> Iterator[Touch]:
        blocks = [block for block in _blocks(record) if block.get("type") == "tool_result"]
        timestamp = _string(record.get("timestamp"))
        for block in blocks:
            call = self.pending.pop(_string(block.get("tool_use_id")), None)
            # The structured result stands beside the message, and speaks of its only block.
            details = record.get("toolUseResult") if len(blocks) == 1 else None
            if call is None or block.get("is_error") or (isinstance(details, str) and details.startswith("Error")):
                continue
            yield from _touched(call, details if isinstance(details, dict) else {}, _text(block), timestamp)


def _call(tool: str, given: Mapping[str, Any], record: Mapping[str, Any]) -> Call | None:
    cwd = record.get("cwd")
    if key := _READS.get(tool) or _EDITS.get(tool) or ("file_path" if tool == "Write" else ""):
        file = absolute(given.get(key), cwd)
        return Call(tool, file, line_range(given.get("offset"), given.get("limit"))) if file else None
    if tool in ("Grep", "Glob"):
        return Call(tool, absolute(given.get("path") or ".", cwd), folder=absolute(".", cwd))
    command = given.get("command")
    if tool == "Bash" and isinstance(command, str) and isinstance(cwd, str):
        uses = tuple(Touch(use.path, use.action, "", use.lines) for use in file_uses(command, cwd)[:_MAX_FILES])
        return Call(tool, uses=uses) if uses else None
    return None


def _touched(call: Call, details: Mapping[str, Any], text: str, timestamp: str) -> Iterator[Touch]:
    if call.tool in _READS:
        file = details.get("file")
        yield Touch(call.file, "read", timestamp, _lines_read(call, file if isinstance(file, dict) else {}, text))
    elif call.tool in _EDITS:
        yield Touch(call.file, "edit", timestamp, None, _hunks(details))
    elif call.tool == "Write":
        yield Touch(call.file, "write", timestamp, None, _hunks(details))
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
    """The files of a Grep or Glob: those in its result, not the path it was given."""
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
        yield call.file  # one file was searched: its lines stand without its name


def _blocks(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def _text(block: Mapping[str, Any]) -> str:
    content = block.get("content")
    if isinstance(content, list):
        content = "\n".join(_string(part.get("text")) for part in content if isinstance(part, dict))
    return _string(content)


def _number(line: bytes, key: bytes) -> int | None:
    at = line.rfind(key)  # after the text of the file: near the end
    found = _NUMBER.match(line, at) if at >= 0 else None
    return int(found[1]) if found else None


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
