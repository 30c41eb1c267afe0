"""Tools for what a team knows together: search it, and save something for it.

An agent of one person works on this machine's replica, as `sage team` does: it answers without the server, and what is
saved is sent at once or waits. In a server for many users the database answers in the name of the user who asks, and
what that user may not see is not there.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Annotated, Literal

from mcp.server.mcpserver import Context
from pydantic import Field

from sage_code.errors import SageError, StoreError, UsageError
from sage_code.serving.requester import current
from sage_code.text.escaping import one_line
from sage_mcp import projects
from sage_mcp.answers import FOOT_TOKENS, Answer, Row, listing, shortened
from sage_mcp.memory_tools import masked_lines, quoted_lines
from sage_mcp.tooling import READS, TOKENS, WRITES, AskedProject, MaxTokens, Offset, ToolSpec

if TYPE_CHECKING:
    from sage_code.memory.team.opened import Row as TeamRow
    from sage_code.project import Project

Kind = Annotated[Literal["", "checkpoint", "knowledge", "core", "block"], Field(description="Only this kind.")]
SavedKind = Literal["knowledge", "checkpoint", "block"]
Visibility = Annotated[Literal["me", "project", "team"], Field(description="Who sees it.")]
_MOST_FOUND = 100
_log = logging.getLogger(__name__)


def team_memory_search(
    context: Context,
    query: Annotated[str, Field(max_length=2_000)] = "",
    kind: Kind = "",
    project: AskedProject = None,
    offset: Offset = 0,
    max_tokens: MaxTokens = TOKENS,
) -> Answer:
    """What colleagues have shared about this project and with the team: conclusions, facts, core files, blocks. Without
    a query, the newest."""
    found = projects.find(context, project)
    asking = current()
    data: dict[str, object]
    if asking is None:
        from sage_code.memory.team.opened import Team
        from sage_code.memory.team.opened import listing as as_listing

        with Team(found.root, found.settings) as team:
            rows = team.rows(query, kind=kind)[:_MOST_FOUND]
            data = dict(as_listing(team, rows))
        data.pop("items")
        state = f"as of {data['synced_at']}" if data["synced_at"] else "never synced: the user runs `sage team sync`"
    else:
        rows = _rows_for(found, asking.name, query, kind)
        data = {"team": found.settings.team_name, "project": _key(found), "synced_at": "", "waiting": 0}
        state = "now"
    head = f"Team memory, {state}:" if rows else f"Nothing in the team's memory, {state}"
    shown = [shortened(_shown(row), max_tokens - 2 * FOOT_TOKENS) for row in rows]
    return listing(head, "items", shown, data, root=found.root, max_tokens=max_tokens, offset=offset)


def team_memory_save(
    context: Context,
    name: Annotated[str, Field(max_length=120, description="An id: letters, digits, - and _.")],
    content: Annotated[str, Field(max_length=200_000)],
    kind: Annotated[SavedKind, Field(description="checkpoint: a conclusion; knowledge: a fact.")] = "knowledge",
    visibility: Visibility = "project",
    project: AskedProject = None,
    max_tokens: MaxTokens = TOKENS,  # noqa: ARG001 - every tool takes it; this answer is always short
) -> Answer:
    """Share something with the user's colleagues, or replace what this user shared by that name. Ask the user first.
    Secrets are masked."""
    from sage_code.memory.files.homes import safe_id
    from sage_code.memory.files.knowledge import KnowledgeItem, to_markdown
    from sage_code.memory.team.opened import Sent, Team, memory_of
    from sage_code.text.masking import mask

    found = projects.find(context, project)
    id_ = safe_id(name)
    if not content.strip():
        raise UsageError("there is no text to share", "give it as content")
    text = to_markdown(KnowledgeItem(id_, content))
    asking = current()
    if asking is None:
        with Team(found.root, found.settings) as team:
            sent = team.share(kind, id_, text, visibility)
    else:
        masked, kinds = mask(text)
        try:
            done = memory_of(found.settings, asking.name).save(_key(found), kind, id_, masked, visibility)
        except SageError as error:
            raise _refusal(error) from error
        sent = Sent(done.item, kind, id_, visibility, done.outcome, done.number, 0, "", kinds)
    data = {**{field: getattr(sent, field) for field in _SENT}, "masked": list(sent.masked)}
    lines = [f"{one_line(id_)}, for {visibility}: {sent.outcome}", *masked_lines(sent.masked)]
    if sent.problem:
        lines.append(one_line(sent.problem) if asking is None else "")
    return Answer("\n".join(lines), data, found.root)


_SENT = ("item", "kind", "name", "visibility", "outcome", "number", "waiting", "problem")


def _rows_for(project: Project, user: str, query: str, kind: str) -> list[TeamRow]:
    """What the database shows to a user of this server."""
    from sage_code.memory.team.opened import Row as TeamRow
    from sage_code.memory.team.opened import memory_of

    try:
        memory = memory_of(project.settings, user)
        return [TeamRow(item) for item in memory.find(query, project=_key(project), kind=kind, limit=_MOST_FOUND)]
    except SageError as error:
        raise _refusal(error) from error


def _refusal(error: SageError) -> SageError:
    """An error for somebody who must not read the address of the database in it."""
    from sage_code.memory.team.connecting import Unreachable

    _log.warning("team's memory: %s", one_line(error.message))
    if isinstance(error, Unreachable):
        return StoreError("the team's memory cannot be reached now", "try again later")
    return UsageError("no team's memory is open to you here", "the server's owner sets one up and adds you to the team")


def _key(project: Project) -> str:
    from sage_code.memory.team.project_key import project_key

    return project_key(project.root)


def _shown(row: TeamRow) -> Row:
    """An item as text and as data."""
    item = row.item
    facts = [item.kind, f"by {item.author}", f"for {item.visibility}", item.changed_at or "not sent yet"]
    conflict = ["in conflict: the user runs `sage team conflicts`"] if row.conflicts else []
    head = f"- {one_line(item.name)} [{one_line(', '.join([*facts, *conflict]))}]"
    return Row(f"{head}\n{quoted_lines(item.text.strip(chr(10)), '   ')}", row.document())


TOOLS = (
    ToolSpec(team_memory_search, "team_list", READS),
    ToolSpec(team_memory_save, "team_sent", WRITES),
)
