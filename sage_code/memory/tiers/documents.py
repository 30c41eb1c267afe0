"""Blocks, passages, messages and agents as plain data for the faces, in the shapes of `compiled_schema/`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sage_code.memory.files.code_ref import CodeRef
from sage_code.memory.tiers.values import Agent, Block, BlockEdit, Passage

if TYPE_CHECKING:
    from sage_code.memory.code.check import RefState
    from sage_code.memory.tiers.archival_memory import FoundPassage, SavedPassage
    from sage_code.memory.tiers.core_memory import Edited
    from sage_code.memory.tiers.message_search import FoundMessage
    from sage_code.memory.tiers.values import Message

# What is shown of the messages before and after the one that was found.
NEAR_CHARS = 200


def stamp(when: datetime | None) -> str:
    """A time in ISO 8601 and UTC, to the second; empty for none."""
    return "" if when is None else when.isoformat(timespec="seconds").replace("+00:00", "Z")


def block_row(block: Block) -> dict[str, Any]:
    """A block with its text."""
    return {
        "label": block.label,
        "description": block.description,
        "value": block.value,
        "chars": len(block.value),
        "char_limit": block.char_limit,
        "read_only": block.read_only,
        "version": block.version,
        "updated_at": stamp(block.updated_at),
    }


def edited_document(edited: Edited) -> dict[str, Any]:
    """What an edit has made of a block, without its text."""
    row = block_row(edited.block)
    kept = {name: row[name] for name in ("label", "version", "chars", "char_limit", "updated_at")}
    return {**kept, "masked": sorted(set(edited.masked))}


def history_row(edit: BlockEdit) -> dict[str, Any]:
    """A version of a block."""
    return {
        "version": edit.version,
        "action": edit.action,
        "edited_at": stamp(edit.edited_at),
        "chars": len(edit.value),
        "value": edit.value,
    }


def found_message_row(found: FoundMessage) -> dict[str, Any]:
    """A message that answers a question: its best passage and what was said around it."""
    message = found.message
    return {
        "id": message.id,
        "time": stamp(message.created_at),
        "role": message.role,
        "speaker": message.speaker,
        "session": message.session,
        "project": message.project,
        "score": round(found.score, 4),
        "passage": found.passage,
        "chars": len(message.content),
        "before": _near(found.before),
        "after": _near(found.after),
        **_noted(found.plugins),
    }


def passage_row(passage: Passage, states: Sequence[RefState] = ()) -> dict[str, Any]:
    """A passage of the archive, with the states of its code that are known."""
    return {
        "id": passage.id,
        "content": passage.content,
        "tags": list(passage.tags),
        "created_at": stamp(passage.created_at),
        "project": passage.project,
        "code_refs": _refs([CodeRef.from_dict(ref) for ref in passage.code_refs], states),
    }


def found_passage_row(found: FoundPassage) -> dict[str, Any]:
    """A passage that answers a question."""
    row = passage_row(found.passage, found.states)
    numbers = {"score": found.score, "words": round(found.words, 4), "cosine": round(found.cosine, 4)}
    return {**row, **numbers, **_noted(found.plugins)}


def _noted(plugins: Sequence[str]) -> dict[str, Any]:
    """What plugins have changed about a result, if they have."""
    return {"plugins": list(plugins)} if plugins else {}


def saved_passage(saved: SavedPassage) -> dict[str, Any]:
    """The result of storing a passage."""
    return {
        "id": saved.passage.id,
        "tags": list(saved.passage.tags),
        "code_refs": len(saved.passage.code_refs),
        "masked": sorted(set(saved.masked)),
        "similar": [
            {"id": one.passage.id, "similarity": one.similarity, "content": _short(one.passage.content)}
            for one in saved.similar
        ],
    }


def agent_row(agent: Agent) -> dict[str, Any]:
    """An agent with the number of its messages."""
    return {
        "name": agent.name,
        "messages": agent.message_count,
        "in_context": len(agent.message_ids),
        "last_memory_update": stamp(agent.last_memory_update),
        "created_at": stamp(agent.created_at),
    }


def _near(message: Message | None) -> dict[str, str] | None:
    return None if message is None else {"role": message.role, "text": _short(message.content)}


def _short(text: str) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text[: 4 * NEAR_CHARS].split())
    return line if len(line) <= NEAR_CHARS else line[: NEAR_CHARS - 1].rstrip() + "…"


def _refs(refs: Sequence[CodeRef], states: Sequence[RefState]) -> list[dict[str, Any]]:
    """References to code, each with its state if that is known."""
    rows = []
    for number, ref in enumerate(refs):
        state = states[number] if number < len(states) else None
        now = state.now if state else None
        rows.append(
            {
                "file": ref.file,
                "lines": list(ref.lines) if ref.lines else None,
                "symbol": ref.symbol,
                "state": state.state if state else "",
                "now": f"{now.file}:{now.lines[0] if now.lines else 1}" if now else "",
            }
        )
    return rows
