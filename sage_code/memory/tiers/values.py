"""The values that travel between the tiers and their tables. Nothing here reads or writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

# The agent that transcripts of coding agents belong to, and that tools use unless a setting names another.
DEFAULT_AGENT = "sage"
ROLES = ("system", "user", "assistant", "tool", "summary")
# What an agent knows itself and the person by; every agent has these blocks.
PERSONA, HUMAN = "persona", "human"
BLOCK_CHARS = 20_000


def now() -> datetime:
    """The present moment, in UTC and whole microseconds, as every engine stores it."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent of a user; every other row belongs to one."""

    id: str
    number: int  # the same agent in files of fixed width
    user: str
    name: str
    message_ids: tuple[str, ...] = ()  # the messages in its context, oldest first
    message_count: int = 0  # all messages that are stored of it
    word_count: int = 0  # and their words, without stop words
    last_memory_update: datetime | None = None
    created_at: datetime = field(default_factory=now)


@dataclass(frozen=True, slots=True)
class Session:
    """A run of an agent: a transcript, a chat, a task. A channel is the stream of sessions that it belongs to."""

    number: int
    id: str
    project: str = ""
    channel: str = ""
    title: str = ""
    source: str = ""  # claude, codex, jsonl, api
    started_at: datetime = field(default_factory=now)
    last_at: datetime = field(default_factory=now)
    messages: int = 0
    state: Mapping[str, Any] | None = None  # of a task that is continued in another session


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message before it is stored. The same id is stored once, however often it is added."""

    role: str
    content: str
    id: str = ""  # empty: a new one
    session: str = ""
    created_at: datetime | None = None  # None: now
    speaker: str = ""
    tool_name: str = ""
    tokens: int | None = None  # None: counted
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Message:
    """A stored message."""

    sequence: int  # the order in which messages were stored
    id: str
    role: str
    content: str
    created_at: datetime
    session: str
    project: str = ""
    channel: str = ""
    speaker: str = ""
    tool_name: str = ""
    tokens: int = 0
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scope:
    """Which messages may answer: those of one agent, and of these only what the other fields allow."""

    agent: Agent
    project: str = ""
    session: str = ""
    role: str = ""
    since: datetime | None = None
    until: datetime | None = None

    @property
    def is_whole(self) -> bool:
        """Whether every message of the agent may answer."""
        return not (self.project or self.session or self.role or self.since or self.until)


@dataclass(frozen=True, slots=True)
class Block:
    """A text that is always in the agent's context, and that the agent edits."""

    label: str
    value: str = ""
    description: str = ""
    char_limit: int = BLOCK_CHARS
    read_only: bool = False
    version: int = 1
    created_at: datetime = field(default_factory=now)
    updated_at: datetime = field(default_factory=now)


@dataclass(frozen=True, slots=True)
class BlockEdit:
    """A version of a block in its history."""

    label: str
    version: int
    value: str
    action: str  # create, set, replace, append, insert, configure, delete, `undo to N`
    edited_at: datetime


@dataclass(frozen=True, slots=True)
class Passage:
    """A text in the archive, with the code that it is about."""

    id: str
    content: str
    tags: tuple[str, ...] = ()
    created_at: datetime = field(default_factory=now)
    project: str = ""
    code_refs: tuple[Mapping[str, Any], ...] = ()
