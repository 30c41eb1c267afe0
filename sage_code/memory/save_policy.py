"""Decides whether a checkpoint is worth saving: by the confidence of its thesis and the length of the conversation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from sage_code.errors import UsageError
from sage_code.settings.table import Settings

Verdict: TypeAlias = Literal["save", "unsure", "shallow", "duplicate"]

# The confidence that a thesis needs, by trigger. It is 0 where state would be lost otherwise.
MIN_CONFIDENCE = {
    "synthesis": 0.5,
    "web_search_complete": 0.3,
    "topic_shift": 0.4,
    "branch_point": 0.4,
    "constraint_discovered": 0.4,
    "context_threshold": 0.0,
    "precompact": 0.0,
    "research_start": 0.0,
    "session_end": 0.0,
    "manual": 0.0,
}
# Saved however short the conversation was: the user asked, or the state is about to be lost.
EXEMPT_FROM_DEPTH = frozenset({"manual", "precompact", "context_threshold", "research_start"})
_OTHER_NAMES = {"constraint": "constraint_discovered", "pre-compact": "precompact", "pre_compact": "precompact"}


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a checkpoint is saved, and why, in words for the agent that asked."""

    verdict: Verdict
    why: str


def trigger_named(name: str) -> str:
    """The trigger with this name or alias; UsageError if there is none."""
    known = _OTHER_NAMES.get(name.lower(), name.lower())
    if known not in MIN_CONFIDENCE:
        raise UsageError(f"there is no trigger {name[:60]!r}", f"one of {', '.join(MIN_CONFIDENCE)}")
    return known


def refusal_for_confidence(trigger: str, confidence: float) -> Judgement | None:
    """Why a thesis is not confident enough for its trigger, or None."""
    wanted = MIN_CONFIDENCE[trigger_named(trigger)]
    if confidence >= wanted:
        return None
    return Judgement("unsure", f"a {trigger} is kept from confidence {wanted:.2f} on, this one has {confidence:.2f}")


def refusal_for_depth(trigger: str, messages: int, tokens: int, settings: Settings) -> Judgement | None:
    """Why a conversation is too short for a checkpoint, or None. A count of 0 means not given, and is not checked."""
    if trigger_named(trigger) in EXEMPT_FROM_DEPTH:
        return None
    if 0 < messages < settings.depth_min_messages:
        return Judgement("shallow", f"{messages} messages of at least {settings.depth_min_messages}")
    if 0 < tokens < settings.depth_min_tokens:
        return Judgement("shallow", f"about {tokens} tokens of at least {settings.depth_min_tokens}")
    return None
