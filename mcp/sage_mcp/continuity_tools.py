"""The tool about continuity: what was saved of this session, and the brief that it waits for."""

from __future__ import annotations

from mcp.server.mcpserver import Context

from sage_code.text.escaping import one_line
from sage_mcp import projects
from sage_mcp.answers import Answer, Row, listing
from sage_mcp.tooling import READS, TOKENS, AskedProject, MaxTokens, Offset, ToolSpec


def sage_continuity_status(
    context: Context, project: AskedProject = None, offset: Offset = 0, max_tokens: MaxTokens = TOKENS
) -> Answer:
    """What Sage has saved of the sessions in this project, and whether each has its notes back after a compaction.
    Notes that this session waits for come with the answer, once."""
    from sage_code.continuity.log import last_lines
    from sage_code.continuity.overview import sessions
    from sage_code.settings.loading import load_settings

    found = projects.find(context, project)
    rows = [
        Row(
            f"- {one_line(one.session)}: {len(one.checkpoints)} checkpoints, {one.compactions} compactions, "
            f"notes {one.state}",
            one.document(),
        )
        for one in sessions(found.root)
    ]
    enabled, log = load_settings(found.root).continuity_enabled, last_lines(5)
    head = f"{len(rows)} sessions of agents in this project:" if enabled else "Continuity is switched off"
    head += "".join(f"\nwent wrong: {one_line(line)}" for line in log)
    data = {"enabled": enabled, "log": log}
    return listing(head, "sessions", rows, data, root=found.root, max_tokens=max_tokens, offset=offset)


TOOLS = (ToolSpec(sage_continuity_status, "continuity_status", READS),)
