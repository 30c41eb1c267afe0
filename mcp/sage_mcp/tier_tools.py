"""Tools for an agent's own memory: its blocks, what was said in earlier sessions, and its archive.

They work on the agent of the user's settings (`memory_agent`, `memory_user`); no argument names another one. Over HTTP
the client has the user's token, so it is the same user. The memory is opened by the first call and kept open. Text of
blocks, messages and passages may come from anybody: each of its lines follows a `|`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp_types import ToolAnnotations
from pydantic import Field

from sage_code.text.escaping import one_line, visible
from sage_mcp import projects
from sage_mcp.answers import FOOT_TOKENS, Answer, Row, cost, listing, quoted, shortened
from sage_mcp.memory_tools import CodeRefs, masked_lines, quoted_lines, staleness_lines
from sage_mcp.tooling import READS, TOKENS, AskedProject, MaxTokens, Offset, ToolSpec

if TYPE_CHECKING:
    from sage_code.memory.tiers.archival_memory import ArchivalMemory, FoundPassage
    from sage_code.memory.tiers.core_memory import Edited
    from sage_code.memory.tiers.manager import MemoryManager
    from sage_code.memory.tiers.message_search import FoundMessage
    from sage_code.memory.tiers.recall_memory import RecallMemory
    from sage_code.memory.tiers.values import Block

# The same text may be added twice on purpose; every edit can be undone, so none destroys.
_EDITS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
_MOST_RESULTS = 50
# The names of sessions and speakers come from a transcript, which anybody may have written.
_NAME_CHARS = 80
_INDENT = "   "
_KEPT_ARCHIVES = 8

Label = Annotated[str, Field(max_length=100, description="Its label: persona, human …")]
Content = Annotated[str, Field(max_length=200_000)]
Query = Annotated[str, Field(max_length=10_000)]
Limit = Annotated[int, Field(ge=1, le=_MOST_RESULTS)]
Moment = Annotated[str, Field(max_length=200, description="2026-03-01, last week, March …")]
Role = Literal["", "system", "user", "assistant", "tool", "summary"]
Tags = Annotated[str | list[str] | None, Field(description="A list, or a text with commas.")]

_lock = threading.Lock()
_opened: dict[object, MemoryManager] = {}  # at most one, under the settings that it was opened with
_archives: dict[str, ArchivalMemory] = {}  # by the root of the project that asks


def memory_blocks(context: Context, offset: Offset = 0, max_tokens: MaxTokens = TOKENS) -> Answer:
    """Your core memory: blocks of text about you and the user that last from session to session, with line numbers.
    Edit them with memory_replace, memory_append and memory_insert."""
    from sage_code.memory.tiers.block_view import block_view
    from sage_code.memory.tiers.block_xml import in_order
    from sage_code.memory.tiers.documents import block_row, stamp
    from sage_code.settings.loading import load_settings

    view = block_view(lambda: opened_memory().core.view(), load_settings(None))
    changed = stamp(view.last_update)
    head = (
        f"{len(view.blocks)} blocks, last edited {changed or 'never'}; {view.messages} messages "
        f"(conversation_search), {view.passages} passages (archival_search)"
    )
    counts = {"messages": view.messages, "passages": view.passages, "last_memory_update": changed}
    rows = [Row(_block_text(block), block_row(block)) for block in in_order(view.blocks)]
    return _listed(context, head, "blocks", rows, {"agent": view.agent, **counts}, max_tokens=max_tokens, offset=offset)


def memory_replace(
    context: Context,
    block: Label,
    old: Annotated[str, Field(max_length=200_000, description="Occurs once in the block.")],
    new: Annotated[str, Field(max_length=200_000)],
    max_tokens: MaxTokens = TOKENS,  # noqa: ARG001 - every tool takes it; this answer is always short
) -> Answer:
    """Replace text in a memory block. memory_blocks shows what is there."""
    return _edited(context, opened_memory().core.replace(block, old, new))


def memory_append(
    context: Context,
    block: Label,
    content: Content,
    max_tokens: MaxTokens = TOKENS,  # noqa: ARG001 - every tool takes it; this answer is always short
) -> Answer:
    """Append text to a memory block, on a line of its own: what you learn about the user or about how to work."""
    return _edited(context, opened_memory().core.append(block, content))


def memory_insert(
    context: Context,
    block: Label,
    content: Content,
    line: Annotated[int, Field(ge=-1, description="After this line; 0: before the first, -1: at the end.")] = -1,
    max_tokens: MaxTokens = TOKENS,  # noqa: ARG001 - every tool takes it; this answer is always short
) -> Answer:
    """Insert text at a line of a memory block."""
    return _edited(context, opened_memory().core.insert(block, content, line))


def conversation_search(
    context: Context,
    query: Query,
    limit: Limit = 5,
    project: AskedProject = None,
    session: Annotated[str, Field(max_length=1_000, description="Only this one, by its id.")] = "",
    role: Annotated[Role, Field(description="Only what this one said.")] = "",
    since: Moment = "",
    until: Moment = "",
    max_tokens: MaxTokens = TOKENS,
) -> Answer:
    """Search what was said in all earlier sessions of the user with agents: decisions, reasons, errors. Of all
    projects, unless you name one. Each result has what was said before and after."""
    from sage_code.memory.tiers.documents import found_message_row
    from sage_code.memory.tiers.spans import since_of, until_of

    recall = opened_memory().recall
    found = recall.search(
        query,
        limit,
        project=_root_of(context, recall, project),
        session=session,
        role=role,
        since=since_of(since),
        until=until_of(until),
    )
    rows = [
        Row(_message_text(rank, one, data), data)
        for rank, one in enumerate(found, 1)
        for data in [found_message_row(one)]
    ]
    head = f"Said about {one_line(query[:200])}:" if rows else "Nothing was said about that here"
    return _listed(context, head, "results", rows, {"query": query[:1_000]}, max_tokens=max_tokens)


def archival_insert(
    context: Context,
    content: Content,
    tags: Tags = None,
    code_refs: CodeRefs = None,
    max_tokens: MaxTokens = TOKENS,  # noqa: ARG001 - every tool takes it; this answer is always short
) -> Answer:
    """Store information in your long-term memory, for archival_search. Names what says the same already; nothing is
    merged. Secrets are masked."""
    from sage_code.memory.tiers.documents import saved_passage

    root = projects.find(context).root if code_refs else projects.folder_root(context)
    saved = _archive(root).insert(content, tags or (), code_refs or ())
    lines = [f"Stored {saved.passage.id}", *masked_lines(saved.masked)]
    document = saved_passage(saved)
    for one in document["similar"]:
        lines += [f"Says about the same ({one['similarity']:.0%}): {one['id']}", f"   | {visible(one['content'])}"]
    return Answer("\n".join(lines), document, projects.folder_root(context))


def archival_search(
    context: Context,
    query: Query,
    top_k: Annotated[Limit, Field(description="Most results.")] = 5,
    tags: Tags = None,
    max_tokens: MaxTokens = TOKENS,
) -> Answer:
    """Search your long-term memory, best first; with tags only what has all of them. What is marked STALE is about code
    that has changed since."""
    from sage_code.memory.tiers.documents import found_passage_row

    found = _archive(projects.folder_root(context)).search(query, top_k, tags)
    rows = [
        Row(_passage_text(rank, one, data), data)
        for rank, one in enumerate(found, 1)
        for data in [found_passage_row(one)]
    ]
    head = f"Remembered about {one_line(query[:200])}:" if rows else "Nothing in the archive is about that"
    return _listed(context, head, "results", rows, {"query": query[:1_000]}, max_tokens=max_tokens)


def opened_memory() -> MemoryManager:
    """The memory of the agent of the settings, opened once; again when the settings have changed."""
    from sage_code.memory.tiers.engines.opening import default_path
    from sage_code.memory.tiers.manager import MemoryManager
    from sage_code.settings.loading import load_settings

    settings = load_settings(None)
    key = (settings, default_path())
    with _lock:
        if key not in _opened:
            manager = MemoryManager(settings=settings)
            # The last one is not closed: another call may be using it.
            _opened.clear()
            _archives.clear()
            _opened[key] = manager
        return _opened[key]


def _archive(root: str) -> ArchivalMemory:
    """The archive, seen from a project. It is kept: the first question to it looks for passages without vectors."""
    memory = opened_memory()
    with _lock:
        if root not in _archives or _archives[root].engine is not memory.engine:
            _archives[root] = memory.archive_of(root or None)
            if len(_archives) > _KEPT_ARCHIVES:
                del _archives[next(iter(_archives))]
        return _archives[root]


def _root_of(context: Context, recall: RecallMemory, project: str | None) -> str:
    """The root of the project whose sessions are asked for, which may be gone: it was talked about all the same."""
    if not project:
        return ""
    from sage_code.memory.tiers.finding import project_named
    from sage_code.paths import find_root

    folder = os.path.join(projects.folder_of(context), os.path.expanduser(project))
    return find_root(folder) if os.path.isdir(folder) else project_named(recall, project)


def _edited(context: Context, edited: Edited) -> Answer:
    """What an edit has done."""
    from sage_code.memory.tiers.documents import edited_document

    block = edited.block
    text = f"{block.label} is at version {block.version}: {len(block.value):,} of {block.char_limit:,} characters"
    lines = [one_line(text), *masked_lines(edited.masked)]
    return Answer("\n".join(lines), edited_document(edited), projects.folder_root(context))


def _listed(
    context: Context,
    head: str,
    key: str,
    rows: Sequence[Row],
    data: dict[str, Any],
    *,
    max_tokens: int,
    offset: int | None = None,
) -> Answer:
    """An answer with all rows if they fit; otherwise long ones lose their ends, so that each has its share."""
    room = max_tokens - cost(Row(head, data)) - FOOT_TOKENS
    asked = list(rows[offset or 0 :])
    costs = [cost(row) + 1 for row in asked]
    share = room // len(asked) if sum(costs) > room else room
    long = [number for number, one in enumerate(costs) if one > share]
    for number in long:  # what the short ones leave is for the long ones
        left = room - sum(one for other, one in enumerate(costs) if other not in long)
        asked[number] = shortened(asked[number], left // len(long) - 1)
    answer = listing(
        head, key, [*rows[: offset or 0], *asked], data, root=projects.folder_root(context), max_tokens=max_tokens,
        offset=offset,
    )  # fmt: skip
    if long and not answer.truncated:
        return replace(answer, truncated=True, next="long texts are cut: ask again with a larger max_tokens")
    return answer


def _block_text(block: Block) -> str:
    """A block as lines with numbers."""
    facts = f"version {block.version}, {len(block.value):,} of {block.char_limit:,} characters"
    head = f"{block.label} ({facts}{', read-only' if block.read_only else ''}): {one_line(block.description)}"
    return f"{head}\n{quoted(block.value, 1)}" if block.value else f"{head}\n   (empty)"


def _message_text(rank: int, found: FoundMessage, data: dict[str, Any]) -> str:
    """A message with what was said around it."""
    about = [f"{name} {one_line(data[name][:_NAME_CHARS])}" for name in ("project", "session") if data[name]]
    who = f"{data['role']} {one_line(data['speaker'][:_NAME_CHARS])}".rstrip()
    lines = [f"{rank}. [{data['score']:.2f}] {who}, {data['time']}, {', '.join([*about, 'id ' + data['id']])}"]
    if near := data["before"]:
        lines.append(f"   before, {near['role']} | {visible(near['text'])}")
    lines.append(quoted_lines(found.passage, _INDENT))
    if near := data["after"]:
        lines.append(f"   after, {near['role']} | {visible(near['text'])}")
    return "\n".join(lines)


def _passage_text(rank: int, found: FoundPassage, data: dict[str, Any]) -> str:
    """A passage with what has become of its code."""
    tags = f", tags {one_line(', '.join(data['tags']))}" if data["tags"] else ""
    lines = [f"{rank}. [{found.score:.0%}] {found.passage.id}, {data['created_at']}{tags}"]
    lines += [f"   {line}" for line in staleness_lines(found.states)]
    return "\n".join([*lines, quoted_lines(found.passage.content, _INDENT)])


TOOLS = (
    ToolSpec(memory_blocks, "memory_blocks", READS),
    ToolSpec(memory_replace, "memory_edit", _EDITS),
    ToolSpec(memory_append, "memory_edit", _EDITS),
    ToolSpec(memory_insert, "memory_edit", _EDITS),
    ToolSpec(conversation_search, "conversations_search", READS),
    ToolSpec(archival_insert, "archival_insert", _EDITS),
    ToolSpec(archival_search, "archival_search", READS),
)
