"""The memory tools of an agent: name, description, parameters as JSON Schema, and a function that answers in text.

A program gives them to a model as they are, and calls `Tool.call` with the arguments that the model chose. The answer
is always text: an error says what is wrong and what to do next, and text from memory has a `|` before each line, so
that nothing in it looks like an answer of the tool.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sage_code.errors import SageError, UsageError
from sage_code.text.escaping import one_line, visible

if TYPE_CHECKING:
    from sage_code.memory.code.check import RefState
    from sage_code.memory.tiers.archival_memory import ArchivalMemory, FoundPassage
    from sage_code.memory.tiers.core_memory import CoreMemory, Edited
    from sage_code.memory.tiers.message_search import FoundMessage
    from sage_code.memory.tiers.recall_memory import RecallMemory
    from sage_code.memory.tiers.values import Message

MAX_RESULTS = 50
# Of the messages around a found one; they only say what it belongs to.
_NEAR_CHARS = 200
_MAX_SHOWN_CHARS = 4_000
_TYPES: Mapping[str, tuple[type, ...]] = {"string": (str,), "integer": (int,)}


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call."""

    name: str
    description: str
    parameters: Mapping[str, Any]  # a JSON Schema
    run: Callable[..., str]

    def call(self, **arguments: Any) -> str:
        """Run the tool; an error comes as text that says what to do next."""
        try:
            return self.run(**self._checked(arguments))
        except SageError as error:
            return f"Error: {one_line(error.message)}" + (f" ({one_line(error.hint)})" if error.hint else "")

    def _checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments with the right names and types; models write numbers as texts, and null for nothing."""
        known: Mapping[str, Any] = self.parameters["properties"]
        given = {name: value for name, value in arguments.items() if value is not None}
        wrong = [name for name in given if name not in known]
        missing = [name for name in self.parameters["required"] if name not in given]
        if wrong or missing:
            what = f"has no argument {wrong[0][:80]}" if wrong else f"needs the argument {missing[0]}"
            raise UsageError(f"{self.name} {what}", f"its arguments are {', '.join(known)}")
        for name, value in given.items():
            kind = known[name]["type"]
            if kind == "integer" and isinstance(value, str) and value.strip().lstrip("-").isdecimal():
                given[name] = int(value)
            elif kind == "string" and isinstance(value, list) and all(isinstance(one, str) for one in value):
                given[name] = ",".join(value)
            elif not isinstance(value, _TYPES[kind]) or isinstance(value, bool):
                raise UsageError(f"{name} must be of type {kind}", f"{name}: {known[name]['description']}")
        return given


def memory_tools(core: CoreMemory, recall: RecallMemory, archive: ArchivalMemory) -> list[Tool]:
    """The six tools over the memory of one agent."""
    block = _text("The label of the block, such as persona or human.")
    return [
        Tool(
            "memory_replace",
            "Replace text in a block of your core memory, to correct or to remove what it says. The old text must occur"
            " exactly once.",
            _schema(
                {
                    "block": block,
                    "old": _text("The text to find, exactly as it stands in the block."),
                    "new": _text("The text to put in its place; empty to remove it."),
                }
            ),
            lambda block, old, new: _edited(core.replace(block, old, new)),
        ),
        Tool(
            "memory_append",
            "Add text on a new line at the end of a block of your core memory, to remember it in every context.",
            _schema({"block": block, "content": _text("The text to add.")}),
            lambda block, content: _edited(core.append(block, content)),
        ),
        Tool(
            "memory_insert",
            "Insert text at a line of a block of your core memory.",
            _schema(
                {
                    "block": block,
                    "content": _text("The text to insert."),
                    "line": _number("The line to insert it after: 0 for the beginning, -1 for the end.", -1),
                }
            ),
            lambda block, content, line=-1: _edited(core.insert(block, content, line)),
        ),
        Tool(
            "conversation_search",
            "Search everything that was said in your conversations, also what has left your context. Ask in words;"
            " times such as 'last week' or 'in March' count.",
            _schema({"query": _text("What to look for."), "limit": _number(f"Most results, 1 to {MAX_RESULTS}.", 5)}),
            lambda query, limit=5: messages_text(recall.search(query, _bounded("limit", limit))),
        ),
        Tool(
            "archival_insert",
            "Store information in your long-term memory, where archival_search finds it. Write it so that it can be"
            " understood alone.",
            _schema({"content": _text("The text to store."), "tags": _text("Tags, separated by commas.", "")}),
            lambda content, tags="": _stored(archive, content, tags),
        ),
        Tool(
            "archival_search",
            "Search your long-term memory by words and meaning.",
            _schema(
                {
                    "query": _text("What to look for."),
                    "top_k": _number(f"Most results, 1 to {MAX_RESULTS}.", 5),
                    "tags": _text("Only passages with all of these tags, separated by commas.", ""),
                }
            ),
            lambda query, top_k=5, tags="": passages_text(archive.search(query, _bounded("top_k", top_k), tags)),
        ),
    ]


def messages_text(found: Sequence[FoundMessage]) -> str:
    """Found messages for a model: who said what and when, with what was said before and after."""
    if not found:
        return "Nothing was said about that."
    entries = []
    for rank, one in enumerate(found, 1):
        message = one.message
        who = message.speaker or message.role
        head = f"{rank}. {message.created_at.astimezone():%Y-%m-%d %H:%M} {one_line(who)}"
        lines = [f"{head}, session {one_line(message.session)}" if message.session else head]
        lines += [f"   | (before) {_said(one.before)}"] if one.before is not None else []
        lines += _fenced(one.passage)
        lines += [f"   | (after) {_said(one.after)}"] if one.after is not None else []
        entries.append("\n".join(lines))
    return "\n".join(entries)


def passages_text(found: Sequence[FoundPassage]) -> str:
    """Found passages for a model, with what has become of their code."""
    if not found:
        return "Nothing in the archive is about that."
    entries = []
    for rank, one in enumerate(found, 1):
        passage = one.passage
        tags = f" [{one_line(', '.join(passage.tags))}]" if passage.tags else ""
        head = f"{rank}. {passage.created_at.astimezone():%Y-%m-%d %H:%M}{tags} {passage.id}"
        entries.append("\n".join([head, *_staleness(one.states), *_fenced(passage.content)]))
    return "\n".join(entries)


def _edited(edited: Edited) -> str:
    block = edited.block
    text = f"{block.label} is at version {block.version}: {len(block.value):,} of {block.char_limit:,} characters."
    return "\n".join([text, *_masked(edited.masked)])


def _stored(archive: ArchivalMemory, content: str, tags: str) -> str:
    """Store a passage, and say what resembles it."""
    saved = archive.insert(content, tags)
    lines = [f"Stored as {saved.passage.id}.", *_masked(saved.masked)]
    for one in saved.similar:
        lines += [f"This may say the same ({one.similarity:.0%}): {one.passage.id}", *_fenced(one.passage.content)]
    return "\n".join(lines)


def _masked(kinds: Sequence[str]) -> list[str]:
    return [f"Masked before it was written: {one_line(', '.join(sorted(set(kinds))))}."] if kinds else []


def _staleness(states: Sequence[RefState]) -> list[str]:
    return [
        f"   STALE: {one_line(f'{state.ref.file} {state.ref.symbol}'.strip())} has {state.state} since"
        for state in states
        if state.is_stale
    ]


def _fenced(text: str) -> list[str]:
    """Foreign text, each line behind a bar."""
    cut = text if len(text) <= _MAX_SHOWN_CHARS else f"{text[:_MAX_SHOWN_CHARS]}…"
    return [f"   | {visible(line)}" for line in cut.replace("\r\n", "\n").split("\n")]


def _said(message: Message) -> str:
    line = one_line(" ".join(message.content.split()))
    return f"{message.role}: {line if len(line) <= _NEAR_CHARS else f'{line[:_NEAR_CHARS]}…'}"


def _bounded(name: str, value: int) -> int:
    if not 1 <= value <= MAX_RESULTS:
        raise UsageError(f"{name} cannot be {value}", f"give a number from 1 to {MAX_RESULTS}")
    return value


def _schema(properties: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    required = [name for name, one in properties.items() if "default" not in one]
    return {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}


def _text(description: str, default: str | None = None) -> dict[str, Any]:
    return {"type": "string", "description": description, **({} if default is None else {"default": default})}


def _number(description: str, default: int) -> dict[str, Any]:
    return {"type": "integer", "description": description, "default": default}
