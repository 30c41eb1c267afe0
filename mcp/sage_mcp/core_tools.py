"""Tools for core files, the list in `.sage/core.md` of files that everybody who works in a project should know."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from mcp.server.mcpserver import Context
from pydantic import Field

from sage_code.memory.files.core_files import MAX_SUMMARY_CHARS
from sage_code.text.escaping import one_line
from sage_mcp import projects
from sage_mcp.answers import Answer, Row, listing
from sage_mcp.tooling import READS, REMOVES, TOKENS, WRITES, AskedProject, MaxTokens, Offset, OneFile, ToolSpec


def sage_mark_core(
    context: Context,
    file: OneFile,
    summary: Annotated[str, Field(max_length=MAX_SUMMARY_CHARS, description="What it is about, in a line.")] = "",
    project: AskedProject = None,
    max_tokens: MaxTokens = TOKENS,  # noqa: ARG001 - every tool takes it; this answer is always short
) -> Answer:
    """Mark one of the few files that one must know to work here: shown with its summary at the beginning of every
    session, to everybody who shares `.sage/core.md`."""
    found = projects.find(context, project)
    marked = found.mark_core(file, summary)
    text = f"{one_line(marked.path)} is core; commit .sage/core.md to share it"
    if summary and marked.is_masked:
        text += f"\nMasked before it was written: {one_line(marked.summary)}"
    return Answer(text, asdict(marked), found.root)


def sage_list_core(
    context: Context, project: AskedProject = None, offset: Offset = 0, max_tokens: MaxTokens = TOKENS
) -> Answer:
    """The core files of a project with their summaries."""
    found = projects.find(context, project)
    rows = []
    for one in found.core_files():
        gone = "" if one.exists else " (not there any more)"
        summary = f": {one_line(one.summary)}" if one.summary else ""
        rows.append(Row(f"- {one_line(one.path)}{gone}{summary}", asdict(one)))
    head = f"{len(rows)} core files" if rows else "No core files yet; sage_mark_core adds one"
    return listing(head, "files", rows, {"root": found.root}, root=found.root, max_tokens=max_tokens, offset=offset)


def sage_unmark_core(
    context: Context,
    file: OneFile,
    project: AskedProject = None,
    max_tokens: MaxTokens = TOKENS,  # noqa: ARG001 - every tool takes it; this answer is always short
) -> Answer:
    """Take the core mark from a file."""
    found = projects.find(context, project)
    removed = found.unmark_core(file)
    text = f"{one_line(removed or file)} is {'no longer' if removed else 'not'} core"
    return Answer(text, {"path": removed or file, "removed": removed is not None}, found.root)


TOOLS = (
    ToolSpec(sage_mark_core, "core_add", WRITES),
    ToolSpec(sage_list_core, "core_list", READS),
    ToolSpec(sage_unmark_core, "core_rm", REMOVES),
)
