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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sage_code.memory.context.builder import ContextBuilder
from sage_code.memory.context.components import BuiltContext, Component, Priority
from sage_code.memory.context.exchanges import exchanges
from sage_code.memory.context.git_hints import project_hints
from sage_code.memory.context.hints import hints, may_hint

if TYPE_CHECKING:
    from sage_code.memory.context.summary import StructuredSummary
    from sage_code.memory.tiers.values import Message
    from sage_code.settings.table import Settings

# The most that each may take of what the instructions leave; the transcript gets the rest.
_PROFILE_SHARE, _SUMMARY_SHARE, _HINTS_SHARE = 0.25, 0.25, 0.10
# Messages that are looked at; the budget says how many are shown.
TRANSCRIPT_MESSAGES = 2_000
_MESSAGE_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class KnownInChannel:
    """Everything that a context may be made of."""

    instructions: str
    asking: str  # the name of the person who asks; empty: the person whose agent it is
    user_profile: str
    profile: StructuredSummary | None
    summary: StructuredSummary | None
    messages: Sequence[Message]  # oldest first


def people_in(messages: Sequence[Message]) -> list[str]:
    """The people who spoke, the last one first."""
    return list(dict.fromkeys(message.speaker for message in reversed(messages) if message.role == "user"))


def channel_context(known: KnownInChannel, settings: Settings, max_tokens: int) -> BuiltContext:
    """The context for an answer."""
    builder = ContextBuilder(max_tokens)
    own = [known.instructions] if known.instructions else []
    builder.add(Component("instructions", Priority.CRITICAL, own, is_foreign=False))
    builder.add(
        Component(
            "user_profile",
            Priority.HIGH,
            known.user_profile.splitlines(),
            title=f"What {known.asking or 'the user'} has said about themselves",
            max_share=_PROFILE_SHARE,
        )
    )
    profile = known.profile.lines() if known.profile else []
    summary = known.summary.lines() if known.summary else []
    builder.add(Component("channel_profile", Priority.HIGH, profile, title="Lasting", max_share=_PROFILE_SHARE))
    relations = _relationships(known.messages, settings)
    builder.add(Component("relationships", Priority.MEDIUM, relations, max_share=_HINTS_SHARE))
    builder.add(Component("rolling_summary", Priority.MEDIUM, summary, title="Lately", max_share=_SUMMARY_SHARE))
    pieces = exchanges(known.messages, max_chars=_MESSAGE_CHARS)
    return builder.add(Component("transcript", Priority.LOW, pieces, keep="end")).build()


def _relationships(messages: Sequence[Message], settings: Settings) -> list[str]:
    """Who answers whom, and who works on what in a project; nothing where several people have not agreed to it."""
    found = hints(messages) if may_hint(len(people_in(messages)), settings) else []
    root = next((message.project for message in reversed(messages) if message.project), "")
    return [*found, *(project_hints(root, settings) if root else [])]
