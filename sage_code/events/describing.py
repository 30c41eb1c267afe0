"""An event that a `tail` has brought, for people: what it is about and who published it, each in one line.

Every process of the user can write to the pipes, so a value may be anything that JSON can hold. Secrets are masked, and
characters that cannot be seen are written out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sage_code.events.adapter import NOTES
from sage_code.text.escaping import one_line
from sage_code.text.masking import mask, mask_all

# Fields that need no name in a line, in the order of a sentence.
_PLAIN = ("where", "layer", "command", "operation", "path")
_ELSEWHERE = {*_PLAIN, "type", "id", "timestamp", "source", "pid", "program", "dropped", "query", "metadata"}


class Described(NamedTuple):
    """One event in words."""

    type: str
    about: str
    who: str


def described(event: dict[str, Any]) -> Described:
    """What to show of an event."""
    event = mask_all(event, [])
    parts = [str(event[name]) for name in _PLAIN if event.get(name)]
    if event.get("query"):
        parts.append(f'"{event["query"]}"')
    own = [(name, value) for name, value in event.items() if name not in _ELSEWHERE]
    metadata = event.get("metadata")
    more = [(name, value) for name, value in metadata.items() if name != NOTES] if isinstance(metadata, dict) else []
    parts += [f"{name}={text}" for name, value in (*own, *more) if (text := _shown(value))]
    source = event.get("source")
    who = f"{event.get('program', '?')} {event.get('pid', '?')}"
    who += f", {source}" if source and source != "system" else ""
    about, _ = mask("  ".join(map(one_line, parts)))
    return Described(one_line(str(event["type"])), about, one_line(who))


def _shown(value: Any) -> str:
    """A value of a line; empty if there is nothing to show."""
    if isinstance(value, dict):
        return ",".join(f"{name}:{text}" for name, one in value.items() if (text := _shown(one)))
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "" if value is None else f"{value:,}" if type(value) is int else str(value)
