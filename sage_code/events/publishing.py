"""What Sage publishes about itself, apart from the hooks: one function for each type, with the fields that it has.

Nothing imports this module unless `paths.anybody_listens` says so, and a function returns at once if nothing on the bus
listens to its type:

    if anybody_listens():
        from sage_code.events import publishing  # lazy: most of the time there is no listener

        publishing.memory_saved("knowledge", item.id, scope, root)

A memory is named, never quoted: a listener that wants its text asks Sage for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from sage_code.events.events import Event, EventType
from sage_code.events.listening import bus_for
from sage_code.events.session_events import CheckpointCreated, CompactionDetected

# What was published about stale memories: each finding is news once.
_findings: set[tuple[Any, ...]] = set()


def publish(event_type: str, source: str, **metadata: Any) -> None:
    """Publish an event that has no fields but its metadata."""
    if (bus := bus_for(event_type)) is not None:
        bus.publish_sync(Event(event_type, source=source, metadata=metadata))


def memory_saved(kind: str, id_: str, scope: str, root: str | None) -> None:
    """A memory is new or has another text.

    `kind` is checkpoint, knowledge, todo, core, block or passage; `scope` user, project or agent; `root` that of the
    project, empty if there is none.
    """
    publish(EventType.MEMORY_SAVED, "memory", kind=kind, id=id_, scope=scope, root=root or "")


def memory_warning(warning: Any, session_id: str | None) -> None:
    """A context has become so full that something should be done; `warning` is the `TokenWarning`."""
    publish(
        EventType.MEMORY_WARNING,
        "memory",
        warning=warning,
        level=str(warning.level),
        message=warning.message,
        session_id=session_id,
    )


def checkpoint_created(id_: str, type_: str, session: str, root: str | None, source: str = "memory") -> None:
    """A checkpoint was saved."""
    if (bus := bus_for(EventType.SESSION_CHECKPOINT)) is not None:
        about = {"session": session, "root": root or ""}
        event = CheckpointCreated(source=source, metadata=about, checkpoint_id=id_, checkpoint_type=type_)
        bus.publish_sync(event)


def compaction_detected(transcript: str, session: str, root: str, compaction: str) -> None:
    """A hook says that a context was compacted, or is about to be."""
    if (bus := bus_for(EventType.COMPACTION_DETECTED)) is not None:
        event = CompactionDetected(
            source="hook", transcript_path=transcript, session=session, root=root, compaction=compaction
        )
        bus.publish_sync(event)


def staleness_found(root: str, kind: str, id_: str, title: str, refs: Iterable[tuple[str, int, str, str]]) -> None:
    """Code that a memory is about has changed or gone; `refs` have file, line (0: the whole file), symbol and state.

    A process publishes the same finding once.
    """
    finding = (root, kind, id_, *refs)
    if finding in _findings or (bus := bus_for(EventType.STALENESS_FOUND)) is None:
        return
    _findings.add(finding)
    named = [
        {"file": file, "line": line, "symbol": symbol, "reason": state} for file, line, symbol, state in finding[3:]
    ]
    about = {"kind": kind, "id": id_, "title": title, "refs": named, "root": root}
    bus.publish_sync(Event(EventType.STALENESS_FOUND, source="memory", metadata=about))


def index_started(root: str) -> None:
    """A run of the index begins; it may have to wait for another one."""
    publish(EventType.INDEX_STARTED, "index", root=root)


def index_finished(root: str, stats: dict[str, Any]) -> None:
    """A run has ended; `stats` are those of `sage index --json`."""
    publish(EventType.INDEX_FINISHED, "index", root=root, stats=stats)


def index_failed(root: str, error: BaseException) -> None:
    """A run was given up or interrupted."""
    message = getattr(error, "message", "") or str(error)
    publish(EventType.INDEX_FAILED, "index", root=root, error=type(error).__name__, message=message)


def file_publisher(root: str) -> Callable[[str, str, str], None] | None:
    """What publishes a file that a run has indexed, removed or skipped, and why; None if there is no listener."""
    bus = bus_for(EventType.FILE_INDEXED)
    if bus is None:
        return None

    def publish_file(file: str, change: str, reason: str) -> None:
        about = {"root": root, "file": file, "change": change, **({"reason": reason} if reason else {})}
        bus.publish_sync(Event(EventType.FILE_INDEXED, source="index", metadata=about))

    return publish_file
