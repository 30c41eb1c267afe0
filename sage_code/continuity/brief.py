"""The brief: what an agent whose context is new is told about the work so far, as facts, within a budget of tokens.

It is made from checkpoints as their files are now, so that what a person corrected or deleted holds. The text is the
same as long as they are: no clock, no counter but its own. Everything in it is quoted from somebody: each item is one
line, and no item can close the element around the brief or open another one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from sage_code.continuity.queue import queued
from sage_code.errors import SageError
from sage_code.memory.context.builder import ContextBuilder
from sage_code.memory.context.components import Component, Priority
from sage_code.memory.context.sentences import clipped
from sage_code.memory.files.checkpoint import Checkpoint
from sage_code.memory.files.checkpoint_text import from_markdown
from sage_code.memory.files.core_files import CoreFile, core_files
from sage_code.memory.files.homes import homes
from sage_code.text.lexemes import lexemes
from sage_code.transcripts.conversation import BRIEF_TAG

# Claude Code puts longer text into a file and shows its beginning.
MAX_CHARS = 9_500
_MAX_OWN, _MAX_OTHERS = 20, 6
_REQUEST_CHARS, _LINE_CHARS = 420, 300
_MAX_CORE, _MAX_TODOS = 12, 8
_FOLDER = "checkpoints"

_ABOUT = {
    "compact": "Sage's notes of this session before its context was compacted",
    "resume": "Sage's notes of this session",
    "startup": "Sage's notes of recent sessions in this project",
    "subagent": "Sage's notes of the session that started this task",
}
_SOURCE = ", in the words of user and agent. `sage checkpoint show ID` has more."

# The shares of the budget that each kind may always use; what is left goes to the first kinds. Chosen on part A of
# `benchmarks/session_labels.txt` (benchmarks/survival.py).
_SHARES = {
    "opening": 0.10,
    "asked": 0.16,
    "instructions": 0.20,
    "decided": 0.18,
    "ruled-out": 0.06,
    "changed": 0.12,
    "errors": 0.06,
    "open": 0.04,
    "found": 0.04,
    "commits": 0.02,
    "where": 0.02,
    "read": 0.02,
    "before": 0.0,
    "core": 0.06,
    "todos": 0.03,
    "stale": 0.04,
    "others": 0.05,
}
# A session without checkpoints of its own reads about other sessions only.
_SHARE_OF_OTHERS_ALONE = 0.5
# The first item of a kind with a larger share is told even if it is longer than the share.
_SMALL_SHARE = 0.05


class Brief(NamedTuple):
    """The text, and the checkpoints that it was made from."""

    text: str
    checkpoints: tuple[str, ...]


def make_brief(
    root: str,
    session: str,
    own: list[str],
    *,
    max_tokens: int,
    number: int,
    purpose: str = "compact",
    task: str = "",
    share_worktrees: bool = False,
) -> Brief:
    """The brief for a session whose own checkpoints are `own`; its text is empty if there is nothing to say.

    `purpose` is `compact`, `resume`, `startup` or `subagent`; for a subagent `task` orders what is told.
    """
    if max_tokens <= 0:
        return Brief("", ())
    asked = queued(root, session, own, share_worktrees=share_worktrees)
    mine = _loaded(root, (id_ for id_, is_own in asked if is_own), _MAX_OWN)
    others = _loaded(root, (id_ for id_, is_own in asked if not is_own), _MAX_OTHERS)
    builder = ContextBuilder(
        max_tokens, max_chars=MAX_CHARS, element=f"{BRIEF_TAG} n={number}", about=f"{_ABOUT[purpose]}{_SOURCE}"
    )
    for component in (*_of_session(mine, task), *_of_project(root, mine, others, purpose)):
        builder.add(component)
    text = builder.build().text
    return Brief(text, tuple(one.id for one in (*mine, *others)) if text else ())


def _section(name: str, title: str, items: Iterable[str], share: float | None = None) -> Component:
    """Items of one kind, the most important first, and the share of the budget that they may always use."""
    least = _SHARES[name] if share is None else share
    return Component(
        name, Priority.HIGH, list(items), title, least, bullet="- ", keeps_first=least >= _SMALL_SHARE,
        drops_repeats=True,
    )  # fmt: skip


def _loaded(root: str, ids: Iterable[str], count: int) -> list[Checkpoint]:
    """The first checkpoints that can be read."""
    return list(islice((found for id_ in ids if (found := load_checkpoint(root, id_)) is not None), count))


def load_checkpoint(root: str, id_: str) -> Checkpoint | None:
    """The checkpoint with this id, from the project's home or the user's; None if it is gone or damaged."""
    for home in homes(root):
        try:
            return from_markdown(home.read(_FOLDER, f"{id_}.md"), home.path(_FOLDER, f"{id_}.md"), id_)
        except (OSError, SageError):
            continue
    return None


def _of_session(mine: Sequence[Checkpoint], task: str) -> list[Component]:
    """What the session itself did; `mine` are its checkpoints, newest first."""
    if not mine:
        return []

    def said(kind: str) -> list[str]:
        return [text for checkpoint in mine for text in reversed(_kind(checkpoint, kind))]

    requests = [text for one in mine for text in (*reversed(_kind(one, "request")), one.core_question)]
    opening, latest = requests[-1:], requests[:-1]
    decided = [text for one in mine for text in (one.thesis, *reversed(_kind(one, "decision")))]
    found = [text for one in mine for text in reversed(one.key_evidence)]
    ordered = _by_task(task)
    newest = mine[0]
    where = [f"branch {newest.fields['branch']}"] if newest.fields.get("branch") else []
    where += [f"at commit {newest.fields['commit']}"] if newest.fields.get("commit") else []
    return [
        _section("opening", "The session began with", _clipped(opening, _REQUEST_CHARS)),
        _section("asked", "Asked last (newest first)", _clipped(latest[:4], _REQUEST_CHARS)),
        _section("instructions", "The user's instructions", ordered(_clipped(said("instruction")))),
        _section("decided", "Decided", ordered(_clipped(decided))),
        _section("ruled-out", "Ruled out", ordered(_clipped(said("ruled out")))),
        _section("changed", "Files changed", grouped(_union(one.files_changed for one in mine))),
        _section("errors", "Errors met", _clipped(said("error"))),
        _section("open", "Open", _clipped(newest.open_questions)),
        _section("found", "Found out", ordered(_clipped(found))),
        _section("commits", "Commits", _clipped(said("commit"))),
        _section("where", "Where", [", ".join(where)] if where else []),
        _section("read", "Files read", grouped(_union(one.files_explored for one in mine))),
        _section("before", "Asked before", _clipped(latest[4:])),
    ]


def _of_project(root: str, mine: Sequence[Checkpoint], others: Sequence[Checkpoint], purpose: str) -> list[Component]:
    """What is known of the project besides: other sessions, core files, todos, and memories whose code has changed."""
    shown = [*others] if purpose == "compact" else [*mine, *others]
    core = [f"{file.path}: {file.summary}" if file.summary else file.path for file in _core(root)]
    stale = _stale(root, shown) if purpose != "subagent" else []
    told = [_in_a_line(one) for one in others]
    return [
        _section("core", "Core files", _clipped(core)),
        _section("todos", "Open todos", _clipped(_todos(root))),
        _section("stale", "Changed since it was written down", _clipped(stale)),
        _section("others", "Other sessions here", _clipped(told), None if mine else _SHARE_OF_OTHERS_ALONE),
    ]


def grouped(files: Sequence[str]) -> list[str]:
    """The files by folder, a folder with few or many files as one item, in the order of the first of each."""
    folders: dict[str, list[str]] = {}
    for file in files:
        folder, _, name = file.rpartition("/")
        folders.setdefault(folder, []).append(name)
    return [_in_folder(folder, names) for folder, names in folders.items()]


def _in_folder(folder: str, names: Sequence[str]) -> str:
    if not folder:
        return ", ".join(names)
    return f"{folder}/{names[0]}" if len(names) == 1 else f"{folder}/: {', '.join(names)}"


def _clipped(items: Iterable[str], limit: int = _LINE_CHARS) -> list[str]:
    return list(dict.fromkeys(clipped(item, limit) for item in items if item.strip()))


def _kind(checkpoint: Checkpoint, kind: str) -> list[str]:
    return [one.content for one in checkpoint.unique_contributions if one.type == kind]


def _union(sets: Iterable[frozenset[str]]) -> list[str]:
    """The members of all sets, those of the first set first."""
    return list(dict.fromkeys(member for one in sets for member in sorted(one)))


def _by_task(task: str) -> Callable[[list[str]], list[str]]:
    """Orders items by the words that they have in common with a task; without one, as they are."""
    wanted = {word for word in lexemes(task) if len(word) > 2}
    if not wanted:
        return lambda items: items
    return lambda items: sorted(items, key=lambda item: -len(wanted.intersection(lexemes(item))))


def _in_a_line(checkpoint: Checkpoint) -> str:
    question = f"{clipped(checkpoint.core_question, 120)} → " if checkpoint.core_question else ""
    return f"{checkpoint.id}: {question}{checkpoint.thesis}"


def _core(root: str) -> list[CoreFile]:
    try:
        return [file for file in core_files(root) if file.exists][:_MAX_CORE]
    except (OSError, SageError):
        return []


def _todos(root: str) -> list[str]:
    """The open todos; nothing is loaded if there is no knowledge at all."""
    if not any(os.path.isdir(home.path("knowledge")) for home in homes(root)):
        return []
    from sage_code.memory.knowledge_store import KnowledgeStore  # lazy: most projects have none
    from sage_code.settings.loading import load_settings

    try:
        todos = [known.item for known in KnowledgeStore(root, load_settings(root)).todos()]
    except (OSError, SageError):
        return []
    open_ones = [todo for todo in todos if todo.status != "done"][:_MAX_TODOS]
    return [f"{todo.id}{f' (due {todo.due})' if todo.due else ''}: {clipped(todo.content, 160)}" for todo in open_ones]


def _stale(root: str, checkpoints: Sequence[Checkpoint]) -> list[str]:
    """The checkpoints whose code has changed since, with the places."""
    if not any(one.code_refs for one in checkpoints):
        return []
    from sage_code.memory.code.check import Checker  # lazy: the parser
    from sage_code.memory.code.referring_memories import title_of

    found, checker = [], Checker(root)
    for one in checkpoints:
        states = checker.judge("checkpoint", one.id, title_of(one.thesis), one.code_refs)
        changed = [state for state in states if state.is_stale]
        if changed:
            names = dict.fromkeys(state.ref.symbol or state.ref.file for state in changed)
            found.append(f"{one.id}: {', '.join(list(names)[:5])}")
    return found
