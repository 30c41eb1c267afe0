"""Which scope a user needs for each tool, in a server for many users. A tool that is not listed is only for admins."""

from __future__ import annotations

from mcp.server.mcpserver.exceptions import ToolError

from sage_code.serving.requester import ADMIN, INDEX, MEMORY_READ, MEMORY_WRITE, SEARCH, current

# Blocks, archives, conversations, channels and profiles are the server account's own and know no projects: they need
# `admin`, as everything that is not in this table.
TOOL_SCOPES = {
    "sage_search_code": SEARCH,
    "sage_grep_symbol": SEARCH,
    "sage_analyze_function": SEARCH,
    "sage_find_references": SEARCH,
    "sage_outline": SEARCH,
    "sage_map": SEARCH,
    "sage_similar": SEARCH,
    "sage_health": SEARCH,
    "sage_version": SEARCH,
    "sage_index_code": INDEX,
    "sage_debug_query": MEMORY_READ,  # it shows the scores of memories, too
    "sage_load_checkpoint": MEMORY_READ,
    "sage_list_checkpoints": MEMORY_READ,
    "sage_search_checkpoints": MEMORY_READ,
    "sage_recall_knowledge": MEMORY_READ,
    "sage_list_knowledge": MEMORY_READ,
    "sage_list_core": MEMORY_READ,
    "team_memory_search": MEMORY_READ,  # and of it only what the database shows to this user
    "sage_save_checkpoint": MEMORY_WRITE,
    "sage_autosave_check": MEMORY_WRITE,
    "sage_save_knowledge": MEMORY_WRITE,
    "sage_remove_knowledge": MEMORY_WRITE,
    "sage_still_true": MEMORY_WRITE,
    "sage_mark_core": MEMORY_WRITE,
    "sage_unmark_core": MEMORY_WRITE,
    "team_memory_save": MEMORY_WRITE,
}


def is_allowed(tool: str) -> bool:
    """Whether the user of this request may call a tool."""
    asking = current()
    return asking is None or asking.may(TOOL_SCOPES.get(tool, ADMIN))


def check(tool: str) -> None:
    """Refuse a call that the user of this request may not make."""
    if not is_allowed(tool):
        scope = TOOL_SCOPES.get(tool, ADMIN)
        raise ToolError(f"{tool} needs the scope {scope}, which you do not have; the server's owner gives scopes")
