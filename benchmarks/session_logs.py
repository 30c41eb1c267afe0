"""Reads sessions of coding agents that SpecStory wrote as Markdown: who said what and when, and which tools ran.

    python benchmarks/session_logs.py DIR_OR_GIT [--parity even|odd]      # lists the sessions

A session is a file with a head comment that names it (`<!-- Claude Code Session ID (TIME) -->`) and blocks below lines
such as `_**User (TIME)**_` and `_**Agent (MODEL TIME)**_`. Tool calls are `<tool-use …>` blocks; everything else of a
block is prose, without what the model thought. `sessions_of` reads a folder of such files, or the folders
`.specstory/history/` of a bare git repository; several files of one session give the longest one. Parity is that of
the minute in a file's name, so that half of the sessions can be kept for judging.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

_HEAD = re.compile(r"<!-- (?P<agent>[^<>\n]*?) Session (?P<id>\S+)(?: \([^()\n]*\))? -->")
_SPEAKER = re.compile(r"_\*\*(?P<who>User|Agent)(?P<side> - sidechain)?(?: \((?P<what>[^()\n]*)\))?\*\*_\s*")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:\.\d+)?Z")
_TOOL = re.compile(r'<tool-use data-tool-type="(?P<kind>[^"]*)" data-tool-name="(?P<name>[^"]*)"><details>')
_TOOL_END = "</details></tool-use>"
_THOUGHT, _THOUGHT_END = "<think><details>", "</details></think>"
_NAME_TIME = re.compile(r"\d{4}-\d\d-\d\d_\d\d-(?P<minute>\d\d)-\d\dZ")
_CODE = re.compile(r"`([^`\n]+)`")
_FENCE = re.compile(r"\s*(`{3,})")
# A path as tools print it: with a folder or an extension of letters, and no blanks.
_PATH = re.compile(
    r"(?:\.{0,2}/)?(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,7}|(?:\.{0,2}/)?(?:[\w.@+-]+/)+[\w.@+-]+"
)
_UPDATED = re.compile(r"(?:The file|File created successfully at:) ?(\S+)(?: has been (?:updated|created))?")
_ERROR = ("<tool_use_error>", "Exit code ", "Error: ", "The user doesn't want to proceed")


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One call of a tool; what the log leaves out is empty."""

    name: str
    files: tuple[str, ...]
    command: str
    output: str
    is_error: bool


@dataclass(slots=True)
class Message:
    """What one side said without a break, and the tools it used there."""

    role: str  # "user" or "agent"
    time: float | None
    text: str = ""
    tools: list[ToolUse] = field(default_factory=list)
    model: str = ""
    is_sidechain: bool = False  # said by or to a subagent


@dataclass(slots=True)
class Session:
    """A whole session, in order."""

    id: str
    agent: str
    name: str  # the name of its file
    messages: list[Message]


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a user asked and everything that the agent said and did until the next question."""

    user: str
    agent: str
    files: tuple[str, ...]
    time: float | None  # of the question
    ended: float | None  # of the last that the agent said or did
    web_searches: int
    committed: bool


def read_session(path: str | Path) -> Session:
    """The session in a Markdown file."""
    path = Path(path)
    return parse_session(path.read_text(encoding="utf-8", errors="replace"), path.name)


def parse_session(text: str, name: str = "") -> Session:
    """The session in a Markdown text."""
    head = _HEAD.search(text[:2000])
    session = Session(head["id"] if head else name, head["agent"] if head else "", name, [])
    message: Message | None = None
    prose: list[str] = []
    lines = iter(text.split("\n"))
    for line in lines:
        if speaker := _SPEAKER.fullmatch(line):
            _close(message, prose)
            what = speaker["what"] or ""
            time = _TIME.search(what)
            message = Message(
                "user" if speaker["who"] == "User" else "agent",
                _epoch(time[0]) if time else None,
                model=what[: time.start()].strip() if time else what,
                is_sidechain=bool(speaker["side"]),
            )
            session.messages.append(message)
        elif message is None:
            continue
        elif tool := _TOOL.match(line):
            message.tools.append(_tool(tool["name"], list(_until(lines, _TOOL_END))))
        elif line.startswith(_THOUGHT):
            if _THOUGHT_END not in line:
                for _ in _until(lines, _THOUGHT_END):
                    pass
        else:
            prose.append(line)
    _close(message, prose)
    return session


def sessions_of(source: str | Path, parity: str | None = None) -> list[Session]:
    """The sessions of a folder or of a bare git repository, each once, ordered by id."""
    found: dict[str, Session] = {}
    for name, text in _texts(Path(source), parity):
        session = parse_session(text, name)
        known = found.get(session.id)
        if known is None or (len(session.messages), name) > (len(known.messages), known.name):
            found[session.id] = session
    return [found[one] for one in sorted(found)]


def exchanges_of(session: Session) -> list[Exchange]:
    """The exchanges of a session: a user's messages with words of their own, each with the agent's answer."""
    found: list[Exchange] = []
    said: list[str] = []
    answered: list[str] = []
    files: dict[str, None] = {}
    time: float | None = None
    ended: float | None = None
    searches, committed = 0, False

    def close() -> None:
        if said and (answered or files):
            text = "\n".join(said), "\n\n".join(answered)
            found.append(Exchange(*text, tuple(files), time, ended, searches, committed))

    for message in session.messages:
        if message.is_sidechain:
            continue
        if message.role == "user":
            if not is_typed(message.text):
                continue
            if answered or files:
                close()
                said, answered, files, searches, committed = [], [], {}, 0, False
            if not said:
                time = message.time
            said.append(message.text)
        elif said:
            ended = message.time or ended
            if message.text:
                answered.append(message.text)
            for tool in message.tools:
                files.update(dict.fromkeys(tool.files))
                searches += tool.name in ("WebSearch", "WebFetch")
                committed |= "git commit" in tool.command
    close()
    return found


def is_typed(text: str) -> bool:
    """Whether a user's message holds words of the user, and not only what a client put there."""
    text = re.sub(r"<([a-z][\w-]*)>.*?</\1>", "", text, flags=re.DOTALL)
    text = re.sub(r"\[(?:Request interrupted by user|Image)[^\]]*\]", "", text)
    return any(character.isalpha() for character in text)


def _texts(source: Path, parity: str | None) -> Iterator[tuple[str, str]]:
    if list(source.glob("*.md")):
        for path in sorted(source.glob("*.md")):
            # The name of a file may be a hash: then the caller has chosen the files of the folder.
            if not _NAME_TIME.search(path.name) or _has_parity(path.name, parity):
                yield path.name, path.read_text(encoding="utf-8", errors="replace")
        return
    git = ["git", "-C", str(source)]
    listed = subprocess.run([*git, "ls-tree", "-r", "-z", "HEAD"], capture_output=True, check=True).stdout.decode()
    for entry in filter(None, listed.split("\0")):
        facts, path_name = entry.split("\t", 1)
        name = path_name.rpartition("/")[2]
        is_log = "/.specstory/history/" in f"/{path_name}" and "/fixtures/" not in path_name and name.endswith(".md")
        if is_log and _has_parity(name, parity):
            blob = subprocess.run([*git, "cat-file", "blob", facts.split()[2]], capture_output=True, check=True).stdout
            yield name, blob.decode("utf-8", "replace")


def _has_parity(name: str, parity: str | None) -> bool:
    """Whether the minute in a name is even or odd as asked; a name without a time is neither."""
    time = _NAME_TIME.search(name)
    return parity is None or (time is not None and int(time["minute"]) % 2 == (parity == "odd"))


def _until(lines: Iterator[str], end: str) -> Iterator[str]:
    """The lines before one that closes the block. A log shown inside of a fence may close a block that it opened."""
    for line in lines:
        if line.startswith(end):
            return
        yield line


def _tool(name: str, lines: list[str]) -> ToolUse:
    """A call from the lines of its block: what was asked, then the output in a fence."""
    asked: list[str] = []
    output: list[str] = []
    fence = ""
    for line in lines[1:] if lines and lines[0].startswith("<summary>") else lines:
        opened = _FENCE.match(line)
        if fence and opened and len(opened[1]) >= len(fence) and not line.strip("` "):
            fence = ""
        elif fence:
            output.append(line)
        elif opened:
            fence = opened[1]
        else:
            asked.append(line)
    question, answer = "\n".join(asked), "\n".join(output)
    is_shell = name in ("Bash", "shell_command", "run_shell_command")
    codes = _CODE.findall(question)
    command = max(codes, key=len, default="") if is_shell else ""
    return ToolUse(name, _files(name, question, answer, is_shell), command, answer, answer.lstrip().startswith(_ERROR))


def _files(name: str, question: str, answer: str, is_shell: bool) -> tuple[str, ...]:
    """The files that a call names: of an edit those that the answer says are changed, else those in the question."""
    if name.startswith("Web"):
        return ()
    found = dict.fromkeys(_UPDATED.findall(answer[:400]) if not is_shell else ())
    for code in _CODE.findall(question):
        found.update(dict.fromkeys(_PATH.findall(code)))
    return tuple(path.rstrip(".,:") for path in found if not path.endswith("/"))


def _close(message: Message | None, prose: list[str]) -> None:
    if message is not None:
        message.text = "\n".join(line for line in prose if line != "---").strip()
    prose.clear()


def _epoch(time: str) -> float:
    return datetime.fromisoformat(time.replace("Z", "")).replace(tzinfo=UTC).timestamp()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", help="a folder of Markdown files, or a bare git repository")
    parser.add_argument("--parity", choices=["even", "odd"])
    options = parser.parse_args()
    for session in sessions_of(options.source, options.parity):
        tools = sum(len(message.tools) for message in session.messages)
        failed = sum(tool.is_error for message in session.messages for tool in message.tools)
        exchanges = len(exchanges_of(session))
        print(f"{session.id:36} {len(session.messages):5} messages {exchanges:4} exchanges {tools:5} tools", end="")
        print(f" {failed:4} failed  {session.name}")


if __name__ == "__main__":
    main()
