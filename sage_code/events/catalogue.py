"""What each of Sage's events means and has: for `sage events list` and docs/PLUGINS.md."""

from __future__ import annotations

from typing import Any, NamedTuple

from sage_code.events.adapter import TYPES
from sage_code.events.events import CHANNELS, EventType


class Entry(NamedTuple):
    """What an event means, in a sentence, and what it has besides type, id, timestamp and source."""

    about: str
    fields: tuple[str, ...] = ()  # attributes of the event
    metadata: tuple[str, ...] = ()  # keys of its metadata


CATALOGUE = {
    EventType.PRE_LOAD: Entry("a text of memory is about to be loaded", ("layer", "path")),
    EventType.POST_LOAD: Entry("a text of memory was loaded", ("layer", "path", "content", "modified_content")),
    EventType.LOAD_ERROR: Entry("a text of memory could not be loaded", ("layer", "path"), ("error",)),
    EventType.TIMEOUT: Entry(
        "a text of memory was not loaded in time",
        ("layer", "operation", "elapsed_ms", "timeout_ms", "fallback_content"),
    ),
    EventType.TIMEOUT_WARNING: Entry(
        "loading has taken most of its time", ("layer", "operation", "elapsed_ms", "timeout_ms")
    ),
    EventType.PRE_SEARCH: Entry("a search is asked", ("where", "query", "filters", "changed_by")),
    EventType.POST_SEARCH: Entry("a search is answered", ("where", "query", "results_found", "changed_by")),
    EventType.PRE_FORMAT: Entry("an answer is about to be laid out", ("command", "document", "changed_by")),
    EventType.POST_FORMAT: Entry("an answer is about to be shown", ("command", "text", "changed_by")),
    EventType.PLUGIN_LOADED: Entry("a plugin was loaded", (), ("name", "version", "origin", "hooks")),
    EventType.PLUGIN_UNLOADED: Entry("a plugin was unloaded", (), ("name", "version", "origin", "hooks")),
    EventType.MEMORY_SAVED: Entry("a memory is new or has another text", (), ("kind", "id", "scope", "root")),
    EventType.MEMORY_WARNING: Entry("a context is nearly full", (), ("level", "message", "session_id")),
    EventType.SESSION_CHECKPOINT: Entry(
        "a checkpoint was saved", ("checkpoint_id", "checkpoint_type"), ("session", "root")
    ),
    EventType.INDEX_STARTED: Entry("a run of the index begins", (), ("root",)),
    EventType.INDEX_FINISHED: Entry("a run of the index has ended", (), ("root", "stats")),
    EventType.INDEX_FAILED: Entry("a run of the index was given up", (), ("root", "error", "message")),
    EventType.FILE_INDEXED: Entry("a file was indexed, removed or skipped", (), ("root", "file", "change", "reason")),
    EventType.STALENESS_FOUND: Entry(
        "the code of a memory has changed or is gone", (), ("kind", "id", "title", "refs", "root")
    ),
    EventType.COMPACTION_DETECTED: Entry(
        "the context of an agent was compacted", ("summary", "transcript_path", "session", "root", "compaction")
    ),
    EventType.WATCHER_STARTED: Entry("the watcher has started", ("pid", "transcript_path")),
    EventType.WATCHER_STOPPING: Entry("the watcher is about to end", ("reason",)),
    EventType.CHECKPOINT_FILE: Entry("the watcher has seen a new checkpoint", ("file_path", "checkpoint_id")),
}
_HOOKS = {event_type: hook for hook, event_type in TYPES.items()}


def channel_of(event_type: str) -> str:
    """The channel of a type, or an empty text for a type that is not Sage's."""
    family = event_type.partition(".")[0]
    return next((channel for channel, families in CHANNELS.items() if family in families), "")


def rows() -> list[dict[str, Any]]:
    """Every type of Sage with its channel, the hook that is called for it, what it means and what it has."""
    return [
        {
            "type": str(one),
            "channel": channel_of(one),
            "hook": _HOOKS.get(one),
            "about": entry.about,
            "fields": list(entry.fields),
            "metadata": list(entry.metadata),
        }
        for one, entry in CATALOGUE.items()
    ]


def table() -> str:
    """The rows as Markdown."""
    lines = ["| type | channel | what | fields |", "|---|---|---|---|"]
    for row in rows():
        own, more = ", ".join(row["fields"]), ", ".join(row["metadata"])
        has = " ".join(part for part in (f"({own})" if own else "", more) if part)
        lines.append(f"| `{row['type']}` | {row['channel']} | {row['about']} | {has} |")
    return "\n".join(lines)
