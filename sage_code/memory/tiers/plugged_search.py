"""Where plugins change a search in an agent's messages. They can add only what is this agent's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sage_code.errors import UsageError
from sage_code.memory.recall.plugged import Results, asked
from sage_code.memory.tiers.message_search import FoundMessage, found_message
from sage_code.memory.tiers.storable import storable
from sage_code.memory.tiers.values import ROLES, Message, Scope

# What a plugin gets of a long text.
_SHOWN_CHARS = 2_000


def plugged_messages(
    search: Callable[[str, int, Scope], list[FoundMessage]],
    get: Callable[[Sequence[str]], list[Message]],
    query: str,
    limit: int,
    scope: Scope,
) -> list[FoundMessage]:
    """The messages that `search` finds with what plugins change; `get` gives those of this agent by their ids."""
    filters = {
        "project": scope.project,
        "session": scope.session,
        "role": scope.role,
        "since": scope.since.isoformat() if scope.since else "",
        "until": scope.until.isoformat() if scope.until else "",
    }

    def wanted(filters: Mapping[str, Any]) -> Scope:
        if filters["role"] and filters["role"] not in ROLES:
            raise UsageError(f"there is no role {filters['role'][:80]!r}", f"one of {', '.join(ROLES)}")
        since, until = (datetime.fromisoformat(filters[name]) if filters[name] else None for name in ("since", "until"))
        for when in (since, until):
            if when is not None and when.tzinfo is None:
                raise ValueError(f"{when} has no time zone")
        return Scope(
            scope.agent, storable(filters["project"]), storable(filters["session"]), filters["role"], since, until
        )

    def find(id_: str) -> FoundMessage | None:
        try:
            found = get([str(UUID(id_))])
        except ValueError:
            return None
        return found_message(found[0]) if found else None

    plugged = asked("messages", query, filters, limit, lambda text, given: _check(text, wanted(given)))
    found = search(storable(plugged.question), plugged.limit, wanted(plugged.filters))
    results = Results[FoundMessage](
        "messages",
        lambda one: one.message.id,
        _message_row,
        lambda one, score, notes: replace(one, score=score, plugins=notes),
        find,
    )
    return results.answered(plugged, found, limit)


def _check(question: str, _filters: object) -> None:
    """UsageError if a question has no words; its filters were checked while they were read."""
    if not any(letter.isalnum() for letter in question):
        raise UsageError("the question has no words", "ask in words")


def _message_row(one: FoundMessage) -> dict[str, Any]:
    message = one.message
    facts = {"role": message.role, "speaker": message.speaker, "session": message.session, "project": message.project}
    return {"score": one.score, "text": one.passage[:_SHOWN_CHARS], **facts, "time": message.created_at.isoformat()}
