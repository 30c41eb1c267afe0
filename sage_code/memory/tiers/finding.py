"""Finds a session, a message or a project by what a person types: an id, the beginning of one, a name, a path."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from sage_code.errors import UsageError
from sage_code.paths import find_root
from sage_code.settings.loading import load_settings
from sage_code.transcripts.find import cwd_of

if TYPE_CHECKING:
    from sage_code.memory.tiers.recall_memory import RecallMemory
    from sage_code.memory.tiers.values import Message, Session

# More sessions than this have no beginnings that a person tells apart.
_MAX_SESSIONS = 100_000
_HEX = re.compile(r"[0-9a-f]+", re.IGNORECASE)
_UUID_DIGITS = 32
_SHOWN = 5


def session_named(recall: RecallMemory, name: str) -> Session:
    """The session with this id, or the only one whose id begins so."""
    found = recall.sessions(limit=_MAX_SESSIONS)
    for one in found:
        if one.id == name:
            return one
    begun = [one for one in found if name and one.id.startswith(name)]
    if len(begun) == 1:
        return begun[0]
    if begun:
        some = ", ".join(one.id for one in begun[:_SHOWN])
        raise UsageError(f"{len(begun)} sessions begin with {name[:100]}", f"write more of it: {some}")
    raise UsageError(f"there is no session {name[:100]}", "`sage conversations list --limit 0` lists them")


def message_named(recall: RecallMemory, name: str) -> Message:
    """The message with this id, or the only one whose id begins so."""
    digits = name.replace("-", "").lower()
    if not _HEX.fullmatch(digits) or len(digits) > _UUID_DIGITS:
        raise UsageError(f"{name[:100]} is no id of a message", "`sage conversations search` and `show` print them")
    first, last = (_spelled(digits.ljust(_UUID_DIGITS, end)) for end in "0f")
    with recall.engine.reading() as rows:
        found = rows.all(
            "SELECT id FROM messages WHERE agent_id = ? AND id >= ? AND id <= ? ORDER BY id LIMIT 2",
            (recall.agent.id, first, last),
        )
    messages = recall.get([str(row[0]) for row in found])
    if len(messages) != 1:
        what = "several messages begin" if messages else "there is no message whose id begins"
        raise UsageError(f"{what} with {name[:100]}", "`sage conversations search` and `show` print ids")
    return messages[0]


def project_named(recall: RecallMemory, name: str) -> str:
    """The root of a project: around a path, with a registered name, or with this last part and remembered sessions."""
    path = os.path.expanduser(name)
    if os.path.isdir(path):
        return find_root(path)
    from sage_code.index import registry  # lazy: a path needs no list of projects

    roots = [entry.root for entry in registry.projects() if entry.name == name]
    if not roots:
        # The folder may be gone, and what was said in it not.
        wanted = os.path.normpath(path)
        projects = dict.fromkeys(one.project for one in recall.sessions(limit=_MAX_SESSIONS))
        roots = [root for root in projects if root and (root == wanted or os.path.basename(root) == name)]
    if len(roots) != 1:
        hint = f"give a path: {', '.join(roots[:_SHOWN])}" if roots else "give a path, or the name of its folder"
        raise UsageError(f"{'several projects are' if roots else 'no project is'} called {name[:200]}", hint)
    return roots[0]


def wants_memory() -> Callable[[str], bool]:
    """Tells of a transcript whether its project wants it to be remembered; each project is asked once."""
    known: dict[str, bool] = {}

    def is_wanted(transcript: str) -> bool:
        cwd = cwd_of(transcript)
        if cwd is None or not os.path.isdir(cwd):
            return True
        root = find_root(cwd)
        if root not in known:
            known[root] = load_settings(root).remember_conversations
        return known[root]

    return is_wanted


def _spelled(digits: str) -> str:
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
