"""Finds the files that tool calls read and changed, in Codex transcripts (`~/.codex/sessions/…/rollout-*.jsonl`).

A line is `{"timestamp", "type", "payload"}`. Codex reads with shell commands and writes with patches. A command or a
patch counts if its result says that it succeeded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sage_code.text.light_json import loads
from sage_code.transcripts.lines import is_whole
from sage_code.transcripts.shell import file_uses
from sage_code.transcripts.touches import Call, Touch, absolute, decode, string_or_empty

_NEEDLES = (b'"function_call"', b'"custom_tool_call"', b'"local_shell_call"', b'"turn_context"', b'"session_meta"')
_OUTPUTS = (b'"function_call_output"', b'"custom_tool_call_output"')
_CALL_ID = re.compile(rb'"call_id"\s*:\s*"([^"\\]{1,200})"')
_PATCHED = re.compile(
    r"^\*\*\* (Add|Update) File: (.{1,4096}?)\r?(?:\n\*\*\* Move to: (.{1,4096}?)\r?)?$", re.MULTILINE
)
# The exit code of a command, as different versions of Codex write it.
_FAILED = re.compile(r"(?:Exit code:|Process exited with code|\"exit_code\":) ?(-?\d{1,10})")
_MAX_PENDING = 4096
_MAX_FILES = 1000
# The exit code is in the first or the last lines of a result.
_HEAD_CHARS = 400
# The key of the turn's folder among the pending calls, so that it is resumed with them.
_FOLDER = "cwd"


class CodexRecords:
    """Pairs tool calls with their results, line by line."""

    def __init__(self, pending: Mapping[str, Call] | None = None) -> None:
        self.pending: dict[str, Call] = dict(pending or {})

    def touches(self, line: bytes) -> Iterable[Touch]:
        """The touches of the results in a line; ValueError for a damaged line."""
        if not is_whole(line):
            raise ValueError("no record")
        is_result = any(needle in line for needle in _OUTPUTS)
        if is_result:
            is_wanted = any(found[1].decode("ascii", "replace") in self.pending for found in _CALL_ID.finditer(line))
        else:
            is_wanted = any(needle in line for needle in _NEEDLES)
        record = (decode(line) if is_wanted else None) or {}
        payload = record.get("payload")
        if not isinstance(payload, dict):
            return ()
        if is_result:
            return self._result(payload, string_or_empty(record.get("timestamp")))
        self._call(payload, record.get("type"))
        return ()

    def _call(self, payload: Mapping[str, Any], kind: object) -> None:
        """Remember a call, or the folder of the turn."""
        if kind in ("turn_context", "session_meta"):
            if folder := absolute(payload.get("cwd"), None):
                self.pending[_FOLDER] = Call(_FOLDER, folder=folder)
            return
        call_id = payload.get("call_id")
        folder = self.pending[_FOLDER].folder if _FOLDER in self.pending else ""
        uses = tuple(_uses(payload, folder))[:_MAX_FILES]
        if isinstance(call_id, str) and call_id != _FOLDER and uses:
            self.pending[call_id] = Call(str(payload.get("name") or "shell"), uses=uses)
        while len(self.pending) > _MAX_PENDING:
            del self.pending[next(call_id for call_id in self.pending if call_id != _FOLDER)]

    def _result(self, payload: Mapping[str, Any], timestamp: str) -> Iterable[Touch]:
        """The touches of a call, if its result is a success."""
        call_id = payload.get("call_id")
        call = self.pending.pop(call_id, None) if isinstance(call_id, str) and call_id != _FOLDER else None
        if call is None or not _succeeded(payload.get("output")):
            return ()
        return [use._replace(timestamp=timestamp) for use in call.uses]


def _uses(payload: Mapping[str, Any], cwd: str) -> Iterator[Touch]:
    """The files that a call uses, from its patch or its shell command."""
    kind, name = payload.get("type"), payload.get("name")
    if kind == "custom_tool_call" and name == "apply_patch":
        yield from _patched(payload.get("input"), cwd)
        return
    given = payload.get("action") if kind == "local_shell_call" else _arguments(payload.get("arguments"))
    if not isinstance(given, dict):
        return
    if name == "apply_patch":
        yield from _patched(given.get("input"), cwd)
        return
    folder = absolute(given.get("workdir") or given.get("working_directory") or ".", cwd)
    command = given.get("cmd") or given.get("command")
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        if command[:1] == ["apply_patch"]:
            yield from _patched(command[-1], folder)
            return
        # `["bash", "-lc", SCRIPT]`: the script is the command.
        is_script = len(command) == 3 and command[1] in ("-lc", "-c")
        command = command[2] if is_script else " ".join(f"'{word}'" for word in command if "'" not in word)
    if isinstance(command, str) and folder:
        if "*** Begin Patch" in command:
            yield from _patched(command, folder)
        else:
            yield from file_uses(command, folder)


def _patched(patch: object, cwd: str) -> Iterator[Touch]:
    """The files of a patch in Codex's own format, without deleted ones."""
    for action, path, target in _PATCHED.findall(patch) if isinstance(patch, str) else ():
        if file := absolute(target or path, cwd):
            yield Touch(file, "write" if action == "Add" else "edit")


def _arguments(text: object) -> object:
    """The arguments of a function call, which are JSON in a string."""
    try:
        return loads(text.strip().encode()) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def _succeeded(output: object) -> bool:
    """Whether the result of a call is a success, in the formats of all versions."""
    if isinstance(output, dict):  # older: {"content", "success"}
        return output.get("success") is not False and _succeeded(output.get("content", ""))
    if isinstance(output, list):
        output = next((part["text"] for part in output if isinstance(part, dict) and "text" in part), "")
    if not isinstance(output, str):
        return True
    head = output[:_HEAD_CHARS]
    if found := _FAILED.search(head.replace('\\"', '"')) or _FAILED.search(output[-_HEAD_CHARS:]):
        return int(found[1]) == 0
    return not head.startswith(("apply_patch verification failed", "failed", "execution error", "exec_command failed"))
