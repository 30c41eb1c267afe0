"""What an agent sees before it answers in a channel, in the order and with the priorities of the specification.

| component | priority | what it is |
|---|---|---|
| instructions | critical | the agent's blocks, or a text of the caller's |
| user_profile | high | what is known about the person who asks |
| channel_profile | high | what stays true of the channel |
| relationships | medium | who answers whom; with several people only if a setting allows it |
| rolling_summary | medium | what was going on lately |
| transcript | low | the last exchanges, word for word |

What changes seldom comes first, so that a prompt cache keeps it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sage_code.memory.context.builder import ContextBuilder
from sage_code.memory.context.components import BuiltContext, Component, Priority
from sage_code.memory.context.exchanges import exchanges
from sage_code.memory.context.git_hints import project_hints
from sage_code.memory.context.hints import hints, may_hint
from sage_code.memory.context.summary import StructuredSummary
from sage_code.memory.tiers.core_memory import CoreMemory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sage_code.memory.channels.channel_memory import ChannelMemory
    from sage_code.memory.tiers.values import Message

# The most that each may take of what the instructions leave; the transcript gets the rest.
_PROFILE_SHARE, _SUMMARY_SHARE, _HINTS_SHARE = 0.25, 0.25, 0.10
# Messages that are looked at; the budget says how many are shown.
_TRANSCRIPT_MESSAGES = 2_000
_MESSAGE_CHARS = 4_000


def channel_context(
    memory: ChannelMemory, max_tokens: int, *, participant: str | None = None, system: str | None = None
) -> BuiltContext:
    """The context for an answer to `participant`: the last one who spoke, if none is named."""
    said = memory.messages(_TRANSCRIPT_MESSAGES)
    people = list(dict.fromkeys(message.speaker for message in reversed(said) if message.role == "user"))
    asking = participant if participant is not None else people[0] if people else ""
    core = CoreMemory(memory.engine, memory.agent, memory.settings)
    builder = ContextBuilder(max_tokens)
    instructions = core.compile() if system is None else system
    builder.add(Component("instructions", Priority.CRITICAL, [instructions] if instructions else [], is_foreign=False))
    builder.add(
        Component(
            "user_profile",
            Priority.HIGH,
            memory.user_profile(asking).text.splitlines(),
            title=f"What {asking or 'the user'} has said about themselves:",
            max_share=_PROFILE_SHARE,
        )
    )
    profile = _lines(memory.profile())
    builder.add(Component("channel_profile", Priority.HIGH, profile, title="Lasting:", max_share=_PROFILE_SHARE))
    builder.add(
        Component("relationships", Priority.MEDIUM, _relationships(memory, said, people), max_share=_HINTS_SHARE)
    )
    lately = _lines(memory.summary())
    builder.add(Component("rolling_summary", Priority.MEDIUM, lately, title="Lately:", max_share=_SUMMARY_SHARE))
    pieces = exchanges(said, max_chars=_MESSAGE_CHARS, has_counts=True)
    return builder.add(Component("transcript", Priority.LOW, pieces, keep="end")).build()


def _relationships(memory: ChannelMemory, said: Sequence[Message], names: Sequence[str]) -> list[str]:
    """Who answers whom, and who works on what in a project; nothing where several people have not agreed to it."""
    found = hints(said) if may_hint(len(names), memory.settings) else []
    root = next((message.project for message in reversed(said) if message.project), "")
    return [*found, *(project_hints(root, memory.settings) if root else [])]


def _lines(summary: StructuredSummary | None) -> list[str]:
    """A summary as lines: its text, and what the text had no room for."""
    if summary is None:
        return []
    shown = summary.text.lower()
    more = [("Decided", summary.decisions), ("Open", summary.unresolved)]
    rest = [f"{name}: {point.text}" for name, points in more for point in points if point.text.lower() not in shown]
    return [*summary.text.splitlines(), *rest]
