"""Memories as plain data for the faces, in the shapes of `compiled_schema/`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sage_code.errors import SageError
from sage_code.memory.files import templates
from sage_code.memory.files.checkpoint import Checkpoint
from sage_code.memory.files.knowledge import KnowledgeItem, facts_of
from sage_code.memory.files.maintenance import MaintenanceResult
from sage_code.memory.files.templates import Template
from sage_code.memory.knowledge_recall import Recalled
from sage_code.memory.knowledge_store import SavedKnowledge
from sage_code.memory.memory import SavedCheckpoint

if TYPE_CHECKING:
    from sage_code.memory.code.check import RefState, State
    from sage_code.memory.code.staleness import CheckedMemory
    from sage_code.memory.confirming import Confirmed
    from sage_code.memory.files.code_ref import CodeRef
    from sage_code.memory.recall.memory_search import FoundMemory

# What may have become of the code of a reference.
STATES: tuple[State, ...] = ("unchanged", "moved", "changed", "gone")

_ROW = ("id", "ts", "trigger", "confidence", "core_question", "thesis", "skill", "project")


def checkpoint_row(checkpoint: Checkpoint, scope: str) -> dict[str, Any]:
    """A row in a list of checkpoints."""
    return {**{name: getattr(checkpoint, name) for name in _ROW}, "scope": scope}


def checkpoint_document(checkpoint: Checkpoint, states: Sequence[RefState] = ()) -> dict[str, Any]:
    """A whole checkpoint, with the states of its references."""
    record = asdict(checkpoint)
    for name in ("files_explored", "files_changed"):
        record[name] = sorted(record[name])
    record["notes"] = [{"heading": heading, "text": text} for heading, text in checkpoint.notes]
    record["fields"] = dict(checkpoint.fields)
    record["code_refs"] = _refs(checkpoint.code_refs, states)
    return _lists(record)


def saved_document(saved: SavedCheckpoint) -> dict[str, Any]:
    """The result of saving a checkpoint."""
    kept = saved.checkpoint
    return {
        "saved": kept is not None,
        "id": kept.id if kept else "",
        "verdict": saved.judgement.verdict,
        "why": saved.judgement.why,
        "masked": list(saved.masked),
        "similar": asdict(saved.similar) if saved.similar else None,
        **{name: len(getattr(kept, name)) if kept else 0 for name in ("files_explored", "files_changed", "code_refs")},
        **_maintenance(saved.maintenance),
    }


def found_row(found: FoundMemory) -> dict[str, Any]:
    """A row in the results of a search."""
    shown = {name: found.shown.get(name, "") for name in ("core_question", "thesis", "confidence", "trigger", "ts")}
    row = {"id": found.id, "score": round(found.score, 4), **shown, "scope": found.scope, "explain": found.explain}
    return {**row, **noted(found.plugins)}


def noted(plugins: Sequence[str]) -> dict[str, Any]:
    """What plugins have changed about a result, if they have."""
    return {"plugins": list(plugins)} if plugins else {}


def knowledge_row(item: KnowledgeItem, scope: str) -> dict[str, Any]:
    """A row in a list of knowledge."""
    facts = {"skill": "", "source": "", "added": "", "status": "", "due": "", "done": "", **facts_of(item)}
    return {**facts, "is_due": item.is_due, "scope": scope}


def knowledge_document(item: KnowledgeItem, scope: str, states: Sequence[RefState] = ()) -> dict[str, Any]:
    """A whole knowledge item, with the states of its references."""
    return {**knowledge_row(item, scope), "content": item.content, "code_refs": _refs(item.code_refs, states)}


def saved_knowledge(saved: SavedKnowledge, masked: Sequence[str]) -> dict[str, Any]:
    """The result of saving a knowledge item."""
    return {
        "id": saved.item.id,
        "type": saved.item.type,
        "scope": saved.scope,
        "replaced": saved.replaced,
        "masked": list(masked),
        "alike": [asdict(one) for one in saved.alike],
        **_maintenance(saved.maintenance),
    }


def _maintenance(done: MaintenanceResult) -> dict[str, Any]:
    return {"archived": list(done.archived), "notice": done.notice}


def maintenance_lines(done: MaintenanceResult, kind: str) -> list[str]:
    """What was archived, in lines for the user; `kind` is the command that restores it."""
    lines = [done.notice] if done.notice else []
    if done.archived:
        some = ", ".join(done.archived[:3]) + (" ..." if len(done.archived) > 3 else "")
        lines.append(
            f"archived {len(done.archived)} beyond the limits ({some}): `sage {kind} restore ID` takes one back"
        )
    return lines


def alike_lines(saved: SavedKnowledge) -> list[str]:
    """Lines about items that say the same as one that was saved, or perhaps the opposite: how to merge the two."""
    return [
        f"{one.id} {'says the same' if one.kind == 'duplicate' else 'may say otherwise'} "
        f"({one.similarity:.0%}): sage knowledge merge {saved.item.id} {one.id}"
        for one in saved.alike
    ]


def checked_document(found: Sequence[CheckedMemory], root: str, query: str = "") -> dict[str, Any]:
    """Memories with what has become of their code, and how many references are in each state."""
    states = [state.state for one in found for state in one.states]
    return {
        **({"query": query} if query else {}),
        "root": root,
        "memories": [_checked(one) for one in found],
        "counts": {state: states.count(state) for state in STATES},
    }


def _checked(one: CheckedMemory) -> dict[str, Any]:
    """A memory with the state of each of its references."""
    refs = [
        {
            **_where(state.ref),
            "relevance": "stale" if state.is_stale else state.ref.relevance,
            "state": state.state,
            "now": _where(state.now) if state.now else None,
            "diff": state.diff,
        }
        for state in one.states
    ]
    facts = {name: getattr(one.memory, name) for name in ("id", "kind", "title", "ts", "scope")}
    return {**facts, "stale": one.is_stale, "refs": refs}


def _where(ref: CodeRef) -> dict[str, Any]:
    return {"file": ref.file, "lines": list(ref.lines) if ref.lines else None, "symbol": ref.symbol}


def confirmed_document(done: Confirmed) -> dict[str, Any]:
    """A memory that is still true, with its references to the code as it is now."""
    return {**asdict(done), "refs": [_where(ref) for ref in done.refs]}


def score_row(one: Recalled) -> dict[str, Any]:
    """The score of an item, and how it was calculated."""
    row = {**asdict(one), "recalled": one.is_recalled}
    del row["plugins"]
    return {**row, **noted(one.plugins)}


def template_rows() -> list[dict[str, Any]]:
    """All templates in a list; one that cannot be used has a `problem`."""
    rows = []
    for name in templates.names():
        row = {"name": name, "description": "", "built_in": False, "problem": ""}
        try:
            found = templates.load(name)
            rows.append({**row, "description": found.description, "built_in": found.built_in})
        except SageError as error:
            rows.append({**row, "problem": error.message})
    return rows


def template_document(template: Template) -> dict[str, Any]:
    """A template."""
    return _lists(asdict(template))


def _refs(refs: Sequence[Any], states: Sequence[RefState]) -> list[dict[str, Any]]:
    """References as rows, with the states that are known."""
    rows = []
    for number, ref in enumerate(refs):
        state = states[number] if number < len(states) else None
        lines = state.now.lines if state and state.now else None
        rows.append(
            {
                **_where(ref),
                "relevance": ref.relevance,
                "state": state.state if state else "",
                "now": f"{state.now.file}:{lines[0] if lines else 1}" if state and state.now else "",
                "diff": state.diff if state else "",
            }
        )
    return rows


def _lists(record: dict[str, Any]) -> dict[str, Any]:
    """The record with its tuples as lists, as JSON has them."""
    return {
        key: [_lists(one) if isinstance(one, dict) else one for one in value]
        if isinstance(value, tuple | list)
        else value
        for key, value in record.items()
    }
