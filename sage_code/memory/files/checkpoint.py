"""The checkpoint: what was concluded at one moment, why, and what is still open. Values only, no files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sage_code.memory.files.code_ref import CodeRef


@dataclass(frozen=True, slots=True)
class Source:
    """Where something was learned, and what it means for the thesis."""

    id: str
    type: str = ""
    take: str = ""
    relation: str = ""  # supports, contradicts, nuances, or the author's own word


@dataclass(frozen=True, slots=True)
class Tension:
    """A point on which credible sources disagree."""

    between: tuple[str, ...]
    nature: str = ""
    resolution: str = ""


@dataclass(frozen=True, slots=True)
class Contribution:
    """A finding that comes from this work and from no source."""

    type: str
    content: str


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One state of understanding. A field that was not given is empty."""

    id: str
    ts: str  # ISO 8601, UTC
    core_question: str
    thesis: str
    confidence: float = 0.0
    trigger: str = "manual"
    key_evidence: tuple[str, ...] = ()
    reasoning_trace: str = ""
    open_questions: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    tensions: tuple[Tension, ...] = ()
    unique_contributions: tuple[Contribution, ...] = ()
    action_goal: str = ""
    action_type: str = ""  # decision, implementation, learning, exploration, or the author's own word
    skill: str = ""
    project: str = ""
    parent: str = ""  # the id of the checkpoint that this one continues
    message_count: int = 0
    token_estimate: int = 0
    files_explored: frozenset[str] = frozenset()
    files_changed: frozenset[str] = frozenset()
    code_refs: tuple[CodeRef, ...] = ()
    template: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)  # further fields that a user's template asks for
    notes: tuple[tuple[str, str], ...] = ()  # sections that a person added to the file: heading, text
