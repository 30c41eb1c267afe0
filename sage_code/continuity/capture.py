"""Saves a checkpoint from the transcript of a session, without asking anybody and without a language model.

A checkpoint covers what happened since the last one of its session, in the words of those who said it (`notes.py`),
with the files that were read and changed, references to their code, branch and commit. It is private: it goes into the
user's home, with secrets masked. Its id comes from the transcript alone, so that reading the same lines again, also
after the state was lost, saves nothing new.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from sage_code.continuity import places
from sage_code.continuity.notes import Note, Notes, best
from sage_code.continuity.queue import add_to_queue
from sage_code.continuity.session import Session
from sage_code.discover.roots import why_unusual
from sage_code.errors import SageError, UsageError
from sage_code.files.atomic import sweep
from sage_code.files.locks import locked
from sage_code.memory.code.line_refs import inside, line_refs
from sage_code.memory.context.sentences import clipped
from sage_code.memory.files.checkpoint import Checkpoint, Contribution
from sage_code.memory.files.checkpoint_text import to_markdown
from sage_code.memory.files.homes import home_to_write, safe_id
from sage_code.paths import anybody_listens
from sage_code.transcripts.claude import ClaudeRecords
from sage_code.transcripts.code_context import (
    MAX_INTERACTIONS,
    SessionCodeContext,
    build_session_code_context,
    interactions_of,
)
from sage_code.transcripts.codex import CodexRecords
from sage_code.transcripts.conversation import clock, said
from sage_code.transcripts.find import parts_of
from sage_code.transcripts.lines import Cursor, LineReader, cursor_near_end
from sage_code.transcripts.reader import is_codex
from sage_code.transcripts.touches import Touch

FOLDER = "checkpoints"
# What one capture reads at most: the records of ten full contexts. Only a transcript that Sage has not followed has
# more that is new; reading 64 MB of it took 1.6 s.
_MAX_BYTES = 16 << 20
_WAIT_S = 20.0
# Subagents of one session whose files are followed.
_MAX_PARTS = 100
_MAX_FILES = 200
_MAX_QUESTION_CHARS = 300
# Of each kind in one checkpoint. A brief chooses from them again, within its budget.
_INSTRUCTIONS, _DECISIONS, _RULED_OUT, _FINDINGS, _REQUESTS = 16, 12, 8, 8, 8
# A session that ends without a change or a decision is worth a checkpoint if the user asked for something twice.
_MIN_REQUESTS = 2
_CHARACTERS_A_TOKEN = 4
# The limits of the settings are applied after so many saves, since that loads the memory index.
_TIDY_AFTER = 40


def capture(
    session: str,
    root: str,
    trigger: str,
    *,
    confidence: float = 0.0,
    end: int | None = None,
    publishes: bool = True,
) -> str:
    """Save what the session did since its last checkpoint; returns the new id, empty if there is nothing to save.

    `end` is the offset in the transcript at which a new topic begins, which the checkpoint leaves out. One capture of
    a session runs at a time. A caller that publishes the checkpoint itself says so with `publishes`.
    """
    if why_unusual(root):
        return ""
    path = places.session_file(session, root)
    with locked(f"{path}.capture.lock", timeout_s=_WAIT_S):
        with Session(session, root, _WAIT_S) as state:
            transcript = state.transcript
            known, begun = _captured(state.data.get("captured")), _captured(state.data.get("saving"))
            share = bool((state.data.get("dials") or {}).get("share_worktrees"))
        if not transcript or not os.path.exists(transcript):
            return ""
        if begun["checkpoints"] and _is_of(session, begun["checkpoints"][-1]):
            known = begun  # a capture was killed after it had written its checkpoint
            add_to_queue(root, known["checkpoints"][-1], session, known["since"], share_worktrees=share)
        elif not known["cursors"] and not known["checkpoints"]:
            known = _from_files(session)
        before, is_new = known, False
        notes, context, known = _read(transcript, known, end)
        checkpoint = _checkpoint(session, root, trigger, confidence, notes, context, known)
        if checkpoint is not None:
            checkpoint = _named(checkpoint, session)
            ids = dict.fromkeys([*known["checkpoints"], checkpoint.id])
            known = {**known, "checkpoints": list(ids), "since": notes.last_time}
            with Session(session, root, _WAIT_S) as state:
                state.data["saving"] = known
            is_new = _save(checkpoint, root)
            add_to_queue(root, checkpoint.id, session, notes.last_time, share_worktrees=share)
        elif notes.messages:
            known = before  # what was said is too little by itself, and belongs to the next checkpoint
        with Session(session, root, _WAIT_S) as state:
            state.data["captured"] = known
            state.data.pop("saving", None)
            if checkpoint is not None:
                state.data["captured_exchanges"] = int(state.data.get("exchanges") or 0)
    if checkpoint is None:
        return ""
    if is_new and anybody_listens():
        from sage_code.events import publishing  # lazy: most of the time there is no listener

        publishing.memory_saved("checkpoint", checkpoint.id, "user", root)
        if publishes:
            publishing.checkpoint_created(checkpoint.id, trigger, session, root)
    return checkpoint.id


def _captured(known: Any) -> dict[str, Any]:
    """What was captured, as the state has it; nothing if the state is damaged."""
    found: dict[str, Any] = {"checkpoints": [], "cursors": {}, "since": 0.0}
    if isinstance(known, dict):
        kinds: dict[str, Any] = {"checkpoints": list, "cursors": dict, "since": (int, float)}
        found |= {key: known[key] for key, kind in kinds.items() if isinstance(known.get(key), kind)}
    return {**found, "checkpoints": [id_ for id_ in found["checkpoints"] if isinstance(id_, str)]}


def _from_files(session: str) -> dict[str, Any]:
    """What was captured of a session whose state is lost: its checkpoints name it."""
    found, since = [], 0.0
    home = home_to_write(None)
    for name in sorted(_names(home.path(FOLDER))):
        try:
            text = home.read(FOLDER, name)
        except (OSError, SageError):
            continue
        if _names_session(text, session):
            found.append(name.removesuffix(".md"))
            stamp = next((line[4:].strip(" '\"") for line in text.split("\n") if line.startswith("ts: ")), "")
            since = max(since, clock(stamp))
    return {"checkpoints": found, "since": since, "cursors": {}}


def _read(transcript: str, known: dict[str, Any], end: int | None) -> tuple[Notes, SessionCodeContext, dict[str, Any]]:
    """The notes and touched files of the new lines, and what will be known after them."""
    notes, cursors = Notes(), {}
    touches: list[Touch] = []
    # The time of a checkpoint has whole seconds.
    since = float(known.get("since") or 0) + 1 if known.get("checkpoints") and not known["cursors"] else 0.0
    for part in parts_of(transcript)[: _MAX_PARTS + 1]:
        is_main = part == transcript
        before = known["cursors"].get(part)
        cursor = Cursor(*before) if isinstance(before, list) and len(before) == 3 else None
        reader = LineReader(part, cursor_near_end(part, cursor, _MAX_BYTES), end=end if is_main else None)
        records = (CodexRecords if is_codex(part) else ClaudeRecords)()
        try:
            for line in reader:
                touches += _touches(records, line, since)
                for event in _events(line) if is_main else ():
                    if not since or event.time >= since:
                        notes.add(event)
            cursors[part] = list(reader.cursor())
        except UsageError:  # deleted meanwhile
            continue
        touches = touches[-MAX_INTERACTIONS:]
    notes.close()
    context = build_session_code_context(interactions_of(sorted(touches, key=lambda touch: touch.timestamp)))
    return notes, context, {**known, "cursors": cursors}


def _touches(records: ClaudeRecords | CodexRecords, line: bytes, since: float) -> Iterable[Touch]:
    try:
        return [touch for touch in records.touches(line) if not since or clock(touch.timestamp) >= since]
    except ValueError:
        return ()


def _events(line: bytes) -> Iterable[Any]:
    try:
        return said(line, errors=True)
    except ValueError:
        return ()


def _checkpoint(
    session: str,
    root: str,
    trigger: str,
    confidence: float,
    notes: Notes,
    context: SessionCodeContext,
    known: dict[str, Any],
) -> Checkpoint | None:
    """The checkpoint of the new lines; None if they say nothing that is worth one."""
    changed = _inside(root, context.files_changed)
    is_more = changed or notes.decisions or len(notes.requests) >= _MIN_REQUESTS
    if notes.is_empty or (trigger == "session_end" and not is_more):
        return None
    thesis = notes.thesis
    if not thesis:
        return None
    branch, commit = places.branch_and_commit(root)
    fields = {"session": session, "branch": notes.branch or branch, "commit": commit[:12]}
    when = datetime.fromtimestamp(notes.last_time, UTC) if notes.last_time else datetime.now(UTC)
    return Checkpoint(
        id="",
        ts=when.strftime("%Y-%m-%dT%H:%M:%SZ"),
        core_question=clipped(notes.requests[0].text, _MAX_QUESTION_CHARS) if notes.requests else "",
        thesis=thesis,
        confidence=confidence,
        trigger=trigger,
        key_evidence=_texts(notes.findings, _FINDINGS, thesis),
        open_questions=tuple(notes.open_questions),
        unique_contributions=tuple(_contributions(notes, thesis)),
        project=root,
        parent=known["checkpoints"][-1] if known.get("checkpoints") else "",
        message_count=notes.messages,
        token_estimate=notes.characters // _CHARACTERS_A_TOKEN,
        files_explored=frozenset(sorted(_inside(root, context.files_read) - changed)[:_MAX_FILES]),
        files_changed=frozenset(sorted(changed)[:_MAX_FILES]),
        code_refs=line_refs(root, context),
        fields={key: value for key, value in fields.items() if value},
    )


def _contributions(notes: Notes, thesis: str) -> Iterator[Contribution]:
    """What was said, by kind; `brief.py` reads these kinds."""
    yield from (Contribution("request", note.text) for note in notes.requests[1:][-_REQUESTS:])
    yield from (Contribution("instruction", text) for text in _texts(notes.instructions, _INSTRUCTIONS))
    yield from (Contribution("decision", text) for text in _texts(notes.decisions, _DECISIONS, thesis))
    yield from (Contribution("ruled out", text) for text in _texts(notes.ruled_out, _RULED_OUT, thesis))
    for line, count in notes.common_errors:
        yield Contribution("error", f"{line} ({count} times)" if count > 1 else line)
    yield from (Contribution("commit", subject) for subject in notes.commits)


def _texts(notes: Iterable[Note], count: int, thesis: str = "") -> tuple[str, ...]:
    return tuple(note.text for note in best(notes, count) if note.text != thesis)


def _inside(root: str, files: Iterable[str]) -> frozenset[str]:
    """The files that are inside of the project, relative to its root; a transcript may name any path."""
    real = os.path.realpath(root)
    found = (path for file in files if (path := inside(real, root, file)))
    return frozenset(path for path in found if not path.startswith("~"))  # of somebody's home


def _named(checkpoint: Checkpoint, session: str) -> Checkpoint:
    """The checkpoint without secrets and with its id. Two sessions may have asked the same in the same second."""
    from dataclasses import replace

    from sage_code.memory.files.checkpoint_id import new_id
    from sage_code.text.masking import mask_all

    masked = mask_all(checkpoint, [])
    id_ = new_id(masked)
    if not _is_free(id_) and not _is_of(session, id_):
        id_ = f"{id_}-{places.short_name(session)}"
    return replace(masked, id=safe_id(id_))


def _is_free(id_: str) -> bool:
    """Whether no checkpoint of the user has this id."""
    home = home_to_write(None)
    return not any(os.path.lexists(home.path(*folders, f"{id_}.md")) for folders in ((FOLDER,), ("archive", FOLDER)))


def _is_of(session: str, id_: str) -> bool:
    """Whether there is a checkpoint with this id that was captured from the session."""
    home = home_to_write(None)
    for folders in ((FOLDER,), ("archive", FOLDER)):
        try:
            return _names_session(home.read(*folders, f"{id_}.md"), session)
        except (OSError, SageError):
            continue
    return False


def _names_session(text: str, session: str) -> bool:
    """Whether the head of a checkpoint's file says that it was captured from the session."""
    head = text.partition("\n---")[0]
    return any(f"  session: {said}" in head.split("\n") for said in (session, f"'{session}'"))


def _save(checkpoint: Checkpoint, root: str) -> bool:
    """Write the checkpoint into the user's home; whether it was not there before. The memory index finds it itself."""
    home = home_to_write(None)
    home.prepare(FOLDER)
    with home.locked():
        if not _is_free(checkpoint.id):
            return False
        sweep(home.path(FOLDER))  # what killed writers left
        home.write(to_markdown(checkpoint), FOLDER, f"{checkpoint.id}.md")
    _tidy(root, len(_names(home.path(FOLDER))))
    return True


def _tidy(root: str, count: int) -> None:
    """Archive what is beyond the limits of the settings, now and then: it needs the memory index, which takes long."""
    if count % _TIDY_AFTER:
        return
    from sage_code.memory.memory import Memory
    from sage_code.settings.loading import load_settings

    settings = load_settings(root)
    if settings.maintenance_on_save:
        Memory(root, settings).tidy_checkpoints("user")


def _names(folder: str) -> list[str]:
    try:
        return [name for name in os.listdir(folder) if name.endswith(".md")]
    except OSError:
        return []
