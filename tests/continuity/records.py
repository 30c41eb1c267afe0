"""Writes transcripts as Claude Code does: one JSON record a line, in its order of keys, with its noise around them.

A `Transcript` is a growing file. What an API reply says goes into several lines, one for each block, which share the
id of the message while the usage grows; a tool's result is a user's line. `held` keeps lines back, since Claude Code
writes its file later than it calls its hooks. Times are the transcript's own: its clock goes on with each record.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

VERSION = "2.1.240"
MODEL = "claude-opus-4-5-20251101"
# A made-up session goes on by this much with each record.
_STEP_S = 0.2


class Call(NamedTuple):
    """A call of a tool, with what it gave."""

    tool: str
    given: dict[str, Any]
    output: Any = "ok"
    is_error: bool = False
    details: Any = None  # `toolUseResult`


class Transcript:
    """The file of one session, and where the next record goes."""

    def __init__(self, path: Path, session: str, cwd: str, *, branch: str = "main", now: float | None = None) -> None:
        self.path, self.session, self.cwd, self.branch = path, session, cwd, branch
        self.now = time.time() if now is None else now
        self.last: str | None = None  # the uuid of the last message record
        self.fill = 14_000  # tokens of the context
        self._count = self._messages = 0
        self._held: list[bytes] | None = None
        path.parent.mkdir(parents=True, exist_ok=True)

    def id(self) -> str:
        """A new uuid, always the same for the same session."""
        self._count += 1
        return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{self.session}/{self._count}"))

    def stamp(self) -> str:
        """The time of the next record."""
        self.now += _STEP_S
        return datetime.fromtimestamp(self.now, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def write(self, data: bytes) -> None:
        """Append bytes as they are, unless lines are held back."""
        if self._held is not None:
            self._held.append(data)
            return
        with open(self.path, "ab") as file:
            file.write(data)

    def append(self, record: dict[str, Any]) -> None:
        """Append a record."""
        self.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n")

    @contextmanager
    def held(self) -> Iterator[None]:
        """A block in which the file lags: the lines come after it."""
        self._held = []
        try:
            yield
        finally:
            lines, self._held = self._held, None
            self.write(b"".join(lines))

    def message(self, kind: str, message: dict[str, Any] | None = None, **more: Any) -> str:
        """A record of the conversation; returns its uuid."""
        number = self.id()
        record: dict[str, Any] = {
            "parentUuid": more.pop("parentUuid", self.last),
            "isSidechain": False,
            "userType": "external",
            "cwd": self.cwd,
            "sessionId": self.session,
            "version": VERSION,
            "gitBranch": self.branch,
        }
        # Claude Code has the type of an agent's record behind the message.
        record |= {"message": message, "type": kind} if kind == "assistant" else {"type": kind, "message": message}
        record = {key: value for key, value in record.items() if key != "message" or value is not None}
        self.append({**record, **more, "uuid": number, "timestamp": self.stamp()})
        self.last = number
        return number

    def user(self, content: Any, **more: Any) -> str:
        """What a user typed, or what stands in a user's line."""
        return self.message("user", {"role": "user", "content": content}, **more)

    def meta(self, text: str) -> str:
        """A line that the client wrote in the user's name."""
        return self.user(text, isMeta=True)

    def assistant(self, text: str = "", calls: Sequence[Call] = (), *, thought: str = "", model: str = MODEL) -> None:
        """A reply: one line for each block, then the results of its calls."""
        self._messages += 1
        blocks: list[dict[str, Any]] = []
        if thought:
            blocks.append({"type": "thinking", "thinking": thought, "signature": "c2ln"})
        if text:
            blocks.append({"type": "text", "text": text})
        numbers = [f"toolu_{self._messages:04}{at:02}" for at in range(len(calls))]
        for number, call in zip(numbers, calls, strict=True):
            blocks.append({"type": "tool_use", "id": number, "name": call.tool, "input": call.given})
        self.fill += 400 + sum(len(str(block)) for block in blocks) // 4
        for at, block in enumerate(blocks):
            usage = {
                "input_tokens": 4,
                "cache_creation_input_tokens": 300,
                "cache_read_input_tokens": self.fill,
                "output_tokens": 8 * (at + 1),
            }
            message = {
                "model": model,
                "id": f"msg_{self.session[:8]}{self._messages:05}",
                "type": "message",
                "role": "assistant",
                "content": [block],
                "stop_reason": None,
                "usage": usage,
            }
            self.message("assistant", message, requestId=f"req_{self._messages:05}")
        for number, call in zip(numbers, calls, strict=True):
            self._result(number, call)

    def _result(self, number: str, call: Call) -> None:
        self.fill += len(str(call.output)) // 4
        block = {"tool_use_id": number, "type": "tool_result", "content": call.output}
        block |= {"is_error": True} if call.is_error else {}
        details = call.details if not call.is_error else f"Error: {call.output}"
        self.user([block], **({} if details is None else {"toolUseResult": details}))

    def attachment(self, attachment: dict[str, Any]) -> None:
        """Something that the client gives to the model besides the messages."""
        self.message("attachment", attachment=attachment)

    def hook_context(self, event: str, matcher: str, text: str) -> None:
        """The context that a hook has added, as Claude Code records it."""
        self.attachment(
            {
                "type": "hook_additional_context",
                "content": [text],
                "hookName": f"{event}:{matcher}" if matcher else event,
                "toolUseID": f"hook-{self._count}",
                "hookEvent": event,
            }
        )

    def snapshot(self, files: Iterable[str] = ()) -> None:
        """A record that is no message: the files that Claude Code could restore."""
        backups = {file: {"backupFileName": None, "version": 1, "backupTime": self.stamp()} for file in files}
        number = self.id()
        inner = {"messageId": number, "trackedFileBackups": backups, "timestamp": self.stamp()}
        self.append(
            {"type": "file-history-snapshot", "messageId": number, "snapshot": inner, "isSnapshotUpdate": False}
        )

    def boundary(self, trigger: str = "auto") -> str:
        """A compaction: the file goes on, the chain of messages begins anew."""
        more = {
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "isMeta": False,
            "level": "info",
            "compactMetadata": {"trigger": trigger, "preTokens": self.fill},
            "logicalParentUuid": self.last,
        }
        number = self.message("system", parentUuid=None, **more)
        self.fill = 9_000
        return number

    def summary(self, text: str, *, as_blocks: bool = False) -> None:
        """What the model wrote about the conversation so far."""
        whole = f"This session is being continued from a previous conversation that ran out of context. {text}"
        content = [{"type": "text", "text": whole}] if as_blocks else whole
        self.user(content, isVisibleInTranscriptOnly=True, isCompactSummary=True)


def read(cwd: str | Path, name: str, *, start: int = 1) -> Call:
    """Reads a file of a project."""
    path = Path(cwd, name)
    lines = path.read_text().split("\n")[start - 1 :]
    shown = "\n".join(f"{number:6}→{line}" for number, line in enumerate(lines, start))
    file = {"filePath": str(path), "content": "\n".join(lines), "numLines": len(lines), "startLine": start}
    given = {"file_path": str(path)} | ({"offset": start} if start > 1 else {})
    details = {"type": "text", "file": {**file, "totalLines": start - 1 + len(lines)}}
    return Call("Read", given, shown, details=details)


def edit(cwd: str | Path, name: str, old: str, new: str) -> Call:
    """Edits a file of a project, really."""
    path = Path(cwd, name)
    before = path.read_text()
    assert old in before, f"{old!r} is not in {path}"
    path.write_text(before.replace(old, new, 1))
    first = before[: before.index(old)].count("\n") + 1
    removed, added = old.split("\n"), new.split("\n")
    patch = {
        "oldStart": first,
        "oldLines": len(removed),
        "newStart": first,
        "newLines": len(added),
        "lines": [*(f"-{line}" for line in removed), *(f"+{line}" for line in added)],
    }
    details = {
        "filePath": str(path),
        "oldString": old,
        "newString": new,
        "originalFile": before,
        "structuredPatch": [patch],
        "userModified": False,
        "replaceAll": False,
    }
    given = {"file_path": str(path), "old_string": old, "new_string": new}
    return Call("Edit", given, f"The file {path} has been updated successfully.", details=details)


def create(cwd: str | Path, name: str, text: str) -> Call:
    """Writes a new file of a project, really."""
    path = Path(cwd, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    details = {"type": "create", "filePath": str(path), "content": text, "structuredPatch": []}
    output = f"File created successfully at: {path}"
    return Call("Write", {"file_path": str(path), "content": text}, output, details=details)


def shell(command: str, output: str = "", *, code: int = 0) -> Call:
    """Runs a command, seemingly."""
    if code:
        return Call("Bash", {"command": command}, f"Exit code {code}\n{output}", is_error=True)
    details = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
    return Call("Bash", {"command": command, "description": "Run it"}, output, details=details)
