"""Writes a session of `session_logs` as Claude Code would have: one record a line, calls paired with results.

The logs name files by their paths on somebody's machine: the folder that most of them are in becomes the project's
root, and files that were edited are made there, so that references to code have something to refer to.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from session_logs import Message, ToolUse

_FIRST_TIME = 1_770_000_000.0
_SECONDS_BETWEEN = 5.0
_EDITS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
# A project holds at least this share of the files of its session.
_MOST = 0.6
_MAX_DEPTH = 8
_MAX_OUTPUT_CHARS = 4_000


def root_of(messages: Sequence[Message]) -> str:
    """The folder of the project that a session worked in, as the log names it."""
    files = [file for message in messages for tool in message.tools for file in tool.files if file.startswith("/")]
    folders: Counter[str] = Counter()
    for file in files:
        parts = file.split("/")
        folders.update("/".join(parts[:depth]) for depth in range(3, min(len(parts), _MAX_DEPTH)))
    return max((one for one, count in folders.items() if count >= _MOST * len(files)), key=len, default="/nowhere")


def changed_files(messages: Sequence[Message], root: str) -> set[str]:
    """The files of the project that were edited, as the log names them."""
    return {
        file
        for message in messages
        for tool in message.tools
        if tool.name in _EDITS and not tool.is_error and not message.is_sidechain
        for file in tool.files
        if file.startswith(f"{root}/")
    }


def records(messages: Sequence[Message], log_root: str, root: Path, session: str) -> Iterator[dict[str, Any]]:
    """The records of a session whose project is now at `root`."""
    time, number = _FIRST_TIME, 0
    for at, message in enumerate(messages):
        time = max(time, message.time or 0.0)
        for record in _of_message(message, at, log_root, root):
            number, time = number + 1, time + _SECONDS_BETWEEN
            yield {
                "uuid": f"u{number}",
                "parentUuid": f"u{number - 1}" if number > 1 else None,
                "sessionId": session,
                "timestamp": datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
                "cwd": str(root),
                "gitBranch": "main",
                "isSidechain": message.is_sidechain,
                **record,
            }


def write(path: Path, lines: Sequence[dict[str, Any]]) -> None:
    """Append records to a transcript."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)


def make_files(messages: Sequence[Message], log_root: str, root: Path) -> None:
    """Make small files where the session edited some."""
    for file in changed_files(messages, log_root):
        path = root / file.removeprefix(f"{log_root}/")
        if ".." not in path.parts:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# {path.name}\n" * 3, encoding="utf-8")


def _of_message(message: Message, at: int, log_root: str, root: Path) -> Iterator[dict[str, Any]]:
    if message.role == "user":
        yield {"type": "user", "message": {"role": "user", "content": message.text}}
        return
    head = {"id": f"msg_{at}", "role": "assistant", "model": message.model or "m"}
    usage = {"input_tokens": 5, "cache_read_input_tokens": 1_000 * at, "cache_creation_input_tokens": 500}
    if message.text.strip():
        content = [{"type": "text", "text": message.text}]
        yield {"type": "assistant", "message": {**head, "content": content, "usage": usage}}
    for number, tool in enumerate(message.tools):
        call = {"type": "tool_use", "id": f"toolu_{at}_{number}", "name": tool.name}
        call["input"] = _input(tool, log_root, root)
        yield {"type": "assistant", "message": {**head, "content": [call], "usage": usage}}
        result = {"type": "tool_result", "tool_use_id": call["id"], "content": tool.output[:_MAX_OUTPUT_CHARS]}
        yield {"type": "user", "message": {"role": "user", "content": [{**result, "is_error": tool.is_error}]}}


def _input(tool: ToolUse, log_root: str, root: Path) -> dict[str, str]:
    given = {"file_path": tool.files[0].replace(log_root, str(root), 1)} if tool.files else {}
    return {**given, "command": tool.command} if tool.command else given
