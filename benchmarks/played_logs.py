"""Turns sessions that SpecStory wrote as Markdown (`session_logs.py`) into transcripts of Claude Code.

    python benchmarks/played_logs.py LOG.md ... --to DIR     # DIR/NAME.jsonl and the project DIR/NAME/

The paths in a log are those of somebody's machine: its project's root, the folder that most of its files are in, is
mapped onto a folder of ours, where small files are made for the paths that were read and edited, with the lines that
the log shows. What a log leaves out (the text of an edit, thoughts, usage) is made up. `turns_of` gives the session in
steps for `tests/continuity/playing.py`; a summary in a log is a compaction.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from session_logs import Session, ToolUse, is_typed, read_session

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "continuity"))
from records import Call, Transcript, edit, shell

_CONTINUED = "This session is being continued from a previous conversation"
# The root is the deepest folder with this share of the files.
_MOST = 0.8
_NUMBERED = re.compile(r"^ *(\d+)[→\t](.*)$")
_EDITS = ("Edit", "MultiEdit", "NotebookEdit")
_MAX_FILE_LINES = 400
_MAX_PATH_CHARS = 200
_STUBS = {".py": "def {name}():\n    return 1\n", ".go": "package main\n\nfunc {name}() {{\n}}\n"}
_STUB = "{name}\n"
_SNAPSHOTS = 5  # one after so many replies


@dataclass
class Reply:
    """What the agent said at once, and the tools that it used."""

    text: str
    calls: list[Call]
    time: float
    model: str


@dataclass
class Turn:
    """What the user asked and everything until the next question; or a compaction, with its summary."""

    asked: str = ""
    time: float = 0.0
    replies: list[Reply] = field(default_factory=list)
    summary: str = ""


class Places:
    """Maps the paths of a log onto a folder of ours, and makes the files."""

    def __init__(self, session: Session, project: Path) -> None:
        self.project = project
        self.root = project_root(session)
        self._made: set[Path] = set()

    def __call__(self, path: str) -> str:
        """Where a path of the log is now. One that is not in its project stays as it is, and is not made."""
        if os.path.isabs(path):
            inner = os.path.relpath(path, self.root) if self.root else ".."
        else:
            inner = os.path.normpath(path)
        if inner.startswith(("..", "~")) or "\0" in inner or len(inner) > _MAX_PATH_CHARS:
            return path
        return str(self.project / inner)

    def make(self, path: str, shown: str = "") -> Path | None:
        """The file at a mapped path, with what the log shows of it; None if it is outside of the project."""
        file = Path(path)
        if not file.is_relative_to(self.project) or file == self.project or file.is_dir():
            return None
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError:  # a file where the log has a folder
            return None
        if file not in self._made:
            self._made.add(file)
            name = re.sub(r"\W", "_", file.stem) or "stub"
            stub = _STUBS.get(file.suffix, _STUB).format(name=name)
            file.write_text(_lines(shown) or stub)
        return file


def project_root(session: Session) -> str:
    """The deepest folder that most of the absolute paths of a session are in; empty if it has none."""
    paths = [path for message in session.messages for tool in message.tools for path in tool.files if path[:1] == "/"]
    folders: Counter[str] = Counter()
    for path in paths:
        above = os.path.dirname(os.path.normpath(path))
        while above != "/":
            folders[above] += 1
            above = os.path.dirname(above)
    usual = [folder for folder, count in folders.items() if count >= _MOST * len(paths)]
    return max(usual, key=len, default="")


def turns_of(session: Session, project: Path) -> Iterator[Turn]:
    """The session in steps, with its files in `project`. What subagents said is left out."""
    places = Places(session, project)
    turn = Turn()
    time = next((message.time for message in session.messages if message.time), 0.0) or 0.0
    for message in session.messages:
        time = message.time or time
        if message.is_sidechain:
            continue
        if message.role == "agent":
            calls = [_call(tool, places) for tool in message.tools]
            if message.text or calls:
                turn.replies.append(Reply(message.text, calls, time, message.model))
            continue
        if not message.text:
            continue
        if turn.asked or turn.replies:
            yield turn
        turn = Turn(message.text, time)
        if message.text.startswith(_CONTINUED):
            yield Turn(summary=message.text, time=time)
            turn = Turn()
    if turn.asked or turn.replies:
        yield turn


def write_transcript(session: Session, project: Path, path: Path, id_: str = "") -> Transcript:
    """Write a whole session."""
    transcript = Transcript(path, id_ or session.id, str(project))
    transcript.snapshot()
    for turn in turns_of(session, project):
        transcript.now = turn.time or transcript.now
        if turn.summary:
            transcript.boundary()
            transcript.user(turn.summary, isVisibleInTranscriptOnly=True, isCompactSummary=True)
            continue
        if turn.asked:
            if not is_typed(turn.asked):
                transcript.meta("Caveat: The messages below were generated by the user while running local commands.")
            transcript.user(turn.asked)
        write_replies(transcript, turn)
    return transcript


def write_replies(transcript: Transcript, turn: Turn) -> None:
    """Write what the agent said and did in a turn."""
    for number, reply in enumerate(turn.replies):
        transcript.now = max(transcript.now, reply.time)
        transcript.assistant(reply.text, reply.calls, model=reply.model or "claude")
        if number % _SNAPSHOTS == 0:
            transcript.snapshot(call.given["file_path"] for call in reply.calls if "file_path" in call.given)


def _call(tool: ToolUse, places: Places) -> Call:
    """A call as Claude Code has it."""
    paths = [places(path) for path in tool.files]
    if tool.name in ("Bash", "shell_command", "run_shell_command"):
        return shell(tool.command, tool.output, code=1 if tool.is_error else 0)
    path = paths[0] if paths else ""
    if tool.is_error:
        return Call(tool.name, {"file_path": path} if path else {}, tool.output, is_error=True)
    file = places.make(path, tool.output if tool.name == "Read" else "") if path else None
    if tool.name in _EDITS and file is not None:
        # The log does not say what was edited: a line is added.
        last = file.read_text().split("\n")[-2:][0]
        return (
            edit(places.project, str(file.relative_to(places.project)), last, f"{last}\n# edited")
            if last
            else _edit(file)
        )
    if tool.name == "Write" and file is not None:
        text = file.read_text()
        details = {"type": "create", "filePath": path, "content": text, "structuredPatch": []}
        return Call("Write", {"file_path": path, "content": text}, tool.output, details=details)
    if tool.name == "Read":
        text = _lines(tool.output)
        first = _NUMBERED.match(tool.output.split("\n")[0]) if tool.output else None
        start, count = int(first[1]) if first else 1, text.count("\n")
        details = {
            "filePath": path,
            "content": text,
            "numLines": count,
            "startLine": start,
            "totalLines": count + start,
        }
        return Call("Read", {"file_path": path}, tool.output, details={"type": "text", "file": details})
    if tool.name in ("Grep", "Glob"):
        return Call(tool.name, {"pattern": "x"}, tool.output, details={"filenames": paths, "numFiles": len(paths)})
    return Call(tool.name, {"file_path": path} if path else {}, tool.output)


def _edit(file: Path) -> Call:
    """An edit of a file whose last line is blank."""
    given = {"file_path": str(file), "old_string": "", "new_string": "# edited"}
    return Call("Edit", given, f"The file {file} has been updated successfully.", details={"filePath": str(file)})


def _lines(shown: str) -> str:
    """The lines of a file, from the output of Read with their numbers."""
    found = [match[2] for line in shown.split("\n")[:_MAX_FILE_LINES] if (match := _NUMBERED.match(line))]
    return "\n".join(found) + "\n" if found else ""


def last_words(turn: Turn) -> str:
    """What the agent said last in a turn."""
    return next((reply.text for reply in reversed(turn.replies) if reply.text), "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", type=Path)
    parser.add_argument("--to", type=Path, required=True, help="a folder for transcripts and projects")
    options = parser.parse_args()
    for log in options.logs:
        project = options.to / log.stem
        project.mkdir(parents=True, exist_ok=True)
        transcript = write_transcript(read_session(log), project, options.to / f"{log.stem}.jsonl")
        files = sum(path.is_file() for path in project.rglob("*"))
        lines = transcript.path.read_bytes().count(b"\n")
        print(f"{log.name[:40]:40} {lines:6} records, {files:4} files, {transcript.path.stat().st_size >> 10:6} KiB")


if __name__ == "__main__":
    main()
