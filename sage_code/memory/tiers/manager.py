"""The memory of an agent, for a program that embeds Sage: blocks, conversations, archive and summaries in one place.

    with MemoryManager("support") as memory:
        memory.add_message("user", "My name is Alice.")
        prompt = memory.context().to_prompt()
        for tool in memory.tools():
            ...

`MemoryManager` belongs to one agent of one user, and reaches nothing of another one. It may be shared between threads.
`AsyncMemoryManager` has the same methods to be awaited: each runs in a thread, so that a server's loop goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, ParamSpec, Self, TypeVar
from uuid import UUID

from sage_code.errors import UsageError
from sage_code.memory.context.summary import SUMMARY_WORDS, Summariser
from sage_code.memory.tiers.archival_memory import ArchivalMemory
from sage_code.memory.tiers.core_memory import CoreMemory
from sage_code.memory.tiers.engines.opening import open_engine
from sage_code.memory.tiers.engines.protocol import Engine
from sage_code.memory.tiers.opened import opened_agent, user_of
from sage_code.memory.tiers.recall_memory import RecallMemory
from sage_code.memory.tiers.summary_memory import SummaryMemory
from sage_code.memory.tiers.tables import agents
from sage_code.memory.tiers.tools import Tool, memory_tools
from sage_code.memory.tiers.values import Agent, Message, NewMessage
from sage_code.settings.loading import load_settings
from sage_code.settings.table import Settings

_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")
_MAX_NAME_CHARS = 200


@dataclass(frozen=True, slots=True)
class AgentContext:
    """What an agent sees: its blocks and what is known about its memory, then the messages in its context."""

    blocks: str
    metadata: str
    messages: tuple[Message, ...] = ()

    @property
    def system(self) -> str:
        """The part for the system prompt."""
        return f"{self.blocks}\n\n{self.metadata}"

    def to_prompt(self) -> str:
        """Everything as one text."""
        return "\n\n".join([self.system, *(f"{message.role}: {message.content}" for message in self.messages)])


class MemoryManager:
    """The memory of one agent."""

    def __init__(
        self,
        agent_id: str | UUID = "",
        *,
        user: str = "",
        uri: str | None = None,
        settings: Settings | None = None,
        project: str | None = None,
        summariser: Summariser | None = None,
    ) -> None:
        """Open the memory of an agent: by its name, which is made if there is none, or by its id.

        The user is that of the settings, the database that of the setting `memory_uri`, unless they are given. The
        root of a project is needed for references to its code.
        """
        self.settings = load_settings(project) if settings is None else settings
        self.project = project or ""
        self.engine: Engine = open_engine(self.settings.memory_uri if uri is None else uri)
        try:
            self.agent = _opened(self.engine, self.settings, str(agent_id), user)
            self.core = CoreMemory(self.engine, self.agent, self.settings)
        except BaseException:
            self.engine.close()
            raise
        self.recall = RecallMemory(self.engine, self.agent, self.settings)
        self.archive = self.archive_of(project)
        self.summary = SummaryMemory(self.engine, self.agent, self.settings, self.recall, summariser)

    def archive_of(self, project_root: str | None) -> ArchivalMemory:
        """The archive, for passages about the code of this project."""
        return ArchivalMemory(self.engine, self.agent, self.settings, project_root)

    def agent_now(self) -> Agent:
        """The agent with its present counts and times; `agent` has those from when it was opened."""
        with self.engine.reading() as rows:
            return agents.agent_with_id(rows, self.agent.id) or self.agent

    def compile(self) -> str:
        """The blocks as they stand in the system prompt."""
        return self.core.compile()

    def compile_metadata(self, when: datetime | None = None) -> str:
        """The time, the last change of the blocks, and how much is stored."""
        return self.core.compile_metadata(when)

    def needs_rebuild(self, previous_compiled: str) -> bool:
        """Whether a system prompt with this compiled text is out of date."""
        return self.core.needs_rebuild(previous_compiled)

    def tools(self) -> list[Tool]:
        """The tools by which the agent edits and searches its memory."""
        return memory_tools(self.core, self.recall, self.archive)

    def needs_compaction(self, current_tokens: int | None = None) -> bool:
        """Whether a context of so many tokens should be compacted."""
        return self.summary.needs_compaction(current_tokens)

    def compact(self, max_words: int = SUMMARY_WORDS) -> Message | None:
        """Replace the oldest messages of the context by a summary; None if there is nothing to replace."""
        return self.summary.compact(max_words)

    def undo_compaction(self) -> Message:
        """Put the context back to what it was before the last compaction."""
        return self.summary.undo()

    def message_ids(self) -> tuple[str, ...]:
        """The messages in the context, oldest first."""
        return self.summary.message_ids()

    def set_message_ids(self, ids: Sequence[str | UUID]) -> None:
        """Say which messages are in the context; they must be this agent's."""
        self.summary.set_message_ids([str(id_) for id_ in ids])

    def add_message(
        self,
        role: str,
        content: str,
        *,
        id: str = "",  # noqa: A002 - the name of the field
        session: str = "",
        channel: str = "",
        speaker: str = "",
        tool_name: str = "",
        tokens: int | None = None,
        created_at: datetime | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> str:
        """Store a message and append it to the context; returns its id.

        An assistant's message with tool calls has metadata `tool_calls`, a result `tool_call_id`: a compaction never
        separates them.
        """
        message = NewMessage(
            role, content, id, session, created_at, speaker, tool_name, tokens, metadata if metadata is not None else {}
        )
        return self.summary.add([message], project=self.project, channel=channel)[0]

    def add_messages(self, messages: Sequence[NewMessage], *, channel: str = "") -> list[str]:
        """Store messages and append them to the context, in one transaction; returns their ids."""
        return self.summary.add(messages, project=self.project, channel=channel)

    def context(self) -> AgentContext:
        """What the agent sees now."""
        return AgentContext(self.compile(), self.compile_metadata(), tuple(self.summary.context()))

    def close(self) -> None:
        """Close the database."""
        self.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncMemoryManager:
    """The memory of one agent, for a program that awaits. `sync` is the manager underneath.

    `run` awaits any of its methods, also those of the single memories: `await memory.run(memory.sync.core.append,
    "human", "Likes tea")`. An edit that has begun is finished even if its task is cancelled.
    """

    def __init__(self, sync: MemoryManager) -> None:
        self.sync = sync

    @classmethod
    async def open(cls, agent_id: str | UUID = "", **options: Any) -> Self:
        """Open the memory of an agent, with the options of `MemoryManager`."""
        return cls(await asyncio.to_thread(MemoryManager, agent_id, **options))

    async def run(
        self, method: Callable[_Arguments, _Answer], *arguments: _Arguments.args, **named: _Arguments.kwargs
    ) -> _Answer:
        """Call a method in a thread."""
        return await asyncio.to_thread(method, *arguments, **named)

    async def compile(self) -> str:
        """See `MemoryManager.compile`."""
        return await self.run(self.sync.compile)

    async def compile_metadata(self, when: datetime | None = None) -> str:
        """See `MemoryManager.compile_metadata`."""
        return await self.run(self.sync.compile_metadata, when)

    async def needs_rebuild(self, previous_compiled: str) -> bool:
        """See `MemoryManager.needs_rebuild`."""
        return await self.run(self.sync.needs_rebuild, previous_compiled)

    def tools(self) -> list[Tool]:
        """The tools; `call_tool` awaits one."""
        return self.sync.tools()

    async def call_tool(self, name: str, **arguments: Any) -> str:
        """Call a tool by its name."""
        tool = next((one for one in self.tools() if one.name == name), None)
        if tool is None:
            raise UsageError(f"there is no tool {name[:80]}", ", ".join(one.name for one in self.tools()))
        return await asyncio.to_thread(tool.call, **arguments)

    async def needs_compaction(self, current_tokens: int | None = None) -> bool:
        """See `MemoryManager.needs_compaction`."""
        return await self.run(self.sync.needs_compaction, current_tokens)

    async def compact(self, max_words: int = SUMMARY_WORDS) -> Message | None:
        """See `MemoryManager.compact`."""
        return await self.run(self.sync.compact, max_words)

    async def undo_compaction(self) -> Message:
        """See `MemoryManager.undo_compaction`."""
        return await self.run(self.sync.undo_compaction)

    async def message_ids(self) -> tuple[str, ...]:
        """See `MemoryManager.message_ids`."""
        return await self.run(self.sync.message_ids)

    async def set_message_ids(self, ids: Sequence[str | UUID]) -> None:
        """See `MemoryManager.set_message_ids`."""
        await self.run(self.sync.set_message_ids, ids)

    async def add_message(self, role: str, content: str, **more: Any) -> str:
        """See `MemoryManager.add_message`."""
        return await asyncio.to_thread(self.sync.add_message, role, content, **more)

    async def add_messages(self, messages: Sequence[NewMessage], *, channel: str = "") -> list[str]:
        """See `MemoryManager.add_messages`."""
        return await self.run(self.sync.add_messages, messages, channel=channel)

    async def context(self) -> AgentContext:
        """See `MemoryManager.context`."""
        return await self.run(self.sync.context)

    async def close(self) -> None:
        """See `MemoryManager.close`."""
        await self.run(self.sync.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _opened(engine: Engine, settings: Settings, agent_id: str, user: str) -> Agent:
    """The agent of this user with this name or id; another user's is as unknown as one that does not exist."""
    owner = user or user_of(settings)
    try:
        wanted = str(UUID(agent_id)) if agent_id else ""
    except ValueError:
        wanted = ""
    if not wanted:
        if agent_id and (not agent_id.strip() or not agent_id.isprintable() or len(agent_id) > _MAX_NAME_CHARS):
            raise UsageError(
                f"no agent can be called {agent_id[:80]!r}",
                f"a name is printable, with up to {_MAX_NAME_CHARS} characters",
            )
        return opened_agent(engine, settings, agent_id, owner)
    with engine.reading() as rows:
        agent = agents.agent_with_id(rows, wanted)
    if agent is None or agent.user != owner:
        raise UsageError(f"you have no agent {wanted}", "open it by its name, or check the id and the user")
    return agent
