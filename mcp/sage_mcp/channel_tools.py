"""Tools for what is going on in a channel and who takes part: its summary, a context for an answer, a profile.

A channel is all that was said to agents in a project, or a room. They work on the agent of the user's settings, as all
tools of memory do. Every text in an answer comes from somebody: each of its lines follows a `|`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from mcp.server.mcpserver import Context
from pydantic import Field

from sage_code.text.escaping import one_line
from sage_mcp import projects
from sage_mcp.answers import FOOT_TOKENS, Answer, Row, cost, listing
from sage_mcp.memory_tools import quoted_lines
from sage_mcp.tier_tools import opened_memory
from sage_mcp.tooling import READS, TOKENS, WRITES, MaxTokens, ToolSpec

if TYPE_CHECKING:
    from sage_code.memory.channels.channel_memory import ChannelMemory
    from sage_code.memory.channels.user_profiles import UserProfiles
    from sage_code.memory.context.summary import StructuredSummary

Channel = Annotated[str, Field(max_length=1_000, description="A name or a project's folder; without it this project.")]
Participant = Annotated[str, Field(max_length=1_000, description="Somebody in a channel; without it the user.")]


def channel_summary(
    context: Context,
    channel: Channel = "",
    summarise: Annotated[bool, Field(description="Summarise what waits now, however little.")] = False,
    max_tokens: MaxTokens = TOKENS,
) -> Answer:
    """What is going on in this project's agent sessions, or in a room: the rolling summary with decisions, threads and
    open questions, and the profile that lasts."""
    from sage_code.memory.channels.documents import channel_document, version_row
    from sage_code.memory.context.summary import StructuredSummary

    memory = _channel(context, channel)
    if summarise:
        memory.summarise()
    newest = memory.summaries.newest
    stored = {"summary": newest(memory.name), "profile": newest(memory.name, "profile")}
    known = memory.channel()
    lines = [f"Channel {one_line(memory.name)}, {known.waiting} messages wait for the next summary"]
    titles = {"summary": "Lately", "profile": "Lasting"}
    document = channel_document(known, None, None)
    room = max_tokens - cost(Row("\n".join(lines), document)) - FOOT_TOKENS
    truncated = False
    for name, one in stored.items():
        if one is None:
            continue
        made = StructuredSummary.from_json(one.summary)
        text = "\n".join([f"{titles[name]} (version {one.version}, {one.messages} messages):", _quoted(made)])
        row = Row(text, version_row(one))
        room -= cost(row)
        if room < 0:
            truncated = True
            break
        lines.append(text)
        document[name] = row.data
    if not stored["summary"]:
        lines.append("No summary was made yet: ask with summarise=true")
    more = "ask again with a larger max_tokens" if truncated else ""
    return Answer("\n".join(lines), document, projects.folder_root(context), truncated=truncated, next=more)


def channel_context(
    context: Context,
    channel: Channel = "",
    participant: Annotated[str | None, Field(max_length=1_000, description="Who asks.")] = None,
    max_tokens: MaxTokens = TOKENS,
) -> Answer:
    """All that an agent should know before it answers here, within max_tokens: blocks, the person's and the channel's
    profile, the summary, the last exchanges."""
    memory = _channel(context, channel)
    # The text is in the answer twice, as text and as data, and the parts take some room.
    built = memory.context(max(max_tokens // 2 - _PARTS_TOKENS, 1), participant=participant)
    document = {"channel": memory.name, **built.to_json()}
    return Answer(built.text, document, projects.folder_root(context))


def user_profile(context: Context, participant: Participant = "", max_tokens: MaxTokens = TOKENS) -> Answer:
    """What is known about the user, or about somebody in a channel, from what they said: lasting facts and
    preferences, each with its message."""
    from sage_code.memory.channels.documents import fact_row, profile_document

    profile = _people().profile(participant)
    head = f"Known about {one_line(participant) or 'the user'}:" if profile.text else "Nothing is known yet"
    data = {key: value for key, value in profile_document(profile, ()).items() if key != "facts"}
    rows = [Row(quoted_lines(fact.text, "   "), fact_row(fact)) for fact in reversed(profile.facts)]
    return listing(head, "facts", rows, data, root=projects.folder_root(context), max_tokens=max_tokens)


# Names, counts and reasons of six parts, and the frame of an answer.
_PARTS_TOKENS = 250


def _channel(context: Context, name: str) -> ChannelMemory:
    """The channel that an agent names, or that of its project."""
    from sage_code.memory.channels.channel_memory import ChannelMemory
    from sage_code.memory.channels.finding import channel_named
    from sage_code.paths import find_root

    memory = opened_memory()
    folder = projects.folder_of(context)
    # A project in which nothing was said yet has an empty channel, and no error.
    found = channel_named(memory.engine, memory.agent, name, folder).name if name else find_root(folder)
    return ChannelMemory(memory.engine, memory.agent, memory.settings, found)


def _people() -> UserProfiles:
    from sage_code.memory.channels.user_profiles import UserProfiles

    memory = opened_memory()
    return UserProfiles(memory.engine, memory.agent, memory.settings)


def _quoted(made: StructuredSummary) -> str:
    """A summary as quoted lines."""
    threads = [f"Thread ({thread.state}): {thread.what}" for thread in made.threads]
    return quoted_lines("\n".join([*made.lines(), *threads]), "   ")


TOOLS = (
    ToolSpec(channel_summary, "channel", WRITES),
    ToolSpec(channel_context, "context", READS),
    ToolSpec(user_profile, "profile", READS),
)
