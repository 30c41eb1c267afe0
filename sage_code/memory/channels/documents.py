"""Channels, summaries and profiles as plain data for the faces, in the shapes of `compiled_schema/`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sage_code.memory.tiers.documents import stamp
from sage_code.memory.tiers.tables.profiles import BY_HAND

if TYPE_CHECKING:
    from sage_code.memory.channels.scheduler import Tick
    from sage_code.memory.channels.user_profiles import UserProfile
    from sage_code.memory.tiers.tables.channels import Channel, StoredSummary
    from sage_code.memory.tiers.tables.profiles import StoredFact


def channel_row(channel: Channel) -> dict[str, Any]:
    """A channel in a list."""
    return {
        "name": channel.name,
        "sessions": channel.sessions,
        "messages": channel.messages,
        "waiting": channel.waiting,
        "last_at": stamp(channel.last_at),
    }


def version_row(stored: StoredSummary) -> dict[str, Any]:
    """A version of a summary or a profile."""
    return {
        "version": stored.version,
        "made_at": stamp(stored.made_at),
        "messages": stored.messages,
        "summary": dict(stored.summary),
    }


def channel_document(channel: Channel, summary: StoredSummary | None, profile: StoredSummary | None) -> dict[str, Any]:
    """A channel with its summary and its profile."""
    return {
        "channel": channel.name,
        "waiting": channel.waiting,
        "summary": None if summary is None else version_row(summary),
        "profile": None if profile is None else version_row(profile),
    }


def fact_row(fact: StoredFact) -> dict[str, Any]:
    """A fact, with the message that it comes from and the one that took it back."""
    return {
        "id": fact.id,
        "text": fact.text,
        "said_at": stamp(fact.said_at),
        "message_id": "" if fact.message_id == BY_HAND else fact.message_id,
        "by_hand": fact.message_id == BY_HAND,
        "score": round(fact.score, 3),
        "retired": bool(fact.retired_by),
        "retired_by": "" if fact.retired_by == BY_HAND else fact.retired_by,
    }


def profile_document(profile: UserProfile, facts: tuple[StoredFact, ...] | None = None) -> dict[str, Any]:
    """What is known about a person; `facts` are others than the current ones."""
    shown = profile.facts if facts is None else facts
    return {
        "participant": profile.participant,
        "text": profile.text,
        "chars": len(profile.text),
        "facts": [fact_row(fact) for fact in shown],
    }


def tick_document(tick: Tick) -> dict[str, Any]:
    """What a tick of the scheduler has done."""
    return {
        "leads": tick.leads,
        "summarised": [
            {"channel": step.channel, "version": step.summary.version, "read": step.read, "waiting": step.waiting}
            for step in tick.steps
        ],
        "failed": [{"channel": name, "problem": problem} for name, problem in tick.failed],
        "left": tick.left,
    }
