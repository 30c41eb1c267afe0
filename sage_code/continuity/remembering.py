"""Brings the messages of followed sessions into recall memory, in the processes that save checkpoints.

What is new since the last time is stored without vectors, which need NumPy; a search makes them. The database knows how
far each transcript was read, so nothing is stored twice, and nothing is lost if a process is killed. The state of a
session notes under
    remembered      the size of its transcript when it was last read for this, which a hook compares with the file's
    remembered_at   when that was
A project may switch it off (`remember_conversations`). What fails goes into the log and breaks no save.
"""

from __future__ import annotations

import os
import time

from sage_code.continuity.dials import dials_of
from sage_code.continuity.log import note
from sage_code.continuity.session import Session, sessions_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sage_code.memory.tiers.recall_memory import RecallMemory

# What one process reads of a transcript at most: two seconds of work. The next one goes on there.
_MAX_BYTES = 64 << 20
_WAIT_S = 20.0
# Loading the database takes half as long as a save: saves that follow each other leave it to the next one.
SELDOM_S = 600.0
# Subagents of one session whose files are read, and sessions of a project that one process makes up for.
_MAX_PARTS, _MAX_SESSIONS = 100, 20
# A session that was not heard of for so long does not remember by itself.
_QUIET_S = 60.0


def remember(session: str, root: str, *, seldom: bool = False) -> int:
    """Remember what is new in a session, and in sessions here that ended unseen; how many messages were new.

    With `seldom` nothing is done if that was done a few minutes ago. What fails is said in the log.
    """
    try:
        return _remember(session, root, seldom)
    except Exception as error:
        note("remembering", f"{type(error).__name__}: {error}")
        return 0


def is_behind(data: dict[str, Any]) -> bool:
    """Whether the transcript of a session has grown since it was last remembered."""
    try:
        return os.stat(str(data.get("transcript") or "")).st_size != data.get("remembered")
    except (OSError, ValueError):
        return False


def left_behind(session: str, root: str) -> list[dict[str, Any]]:
    """The states of other sessions here that are over, or crashed, and were not remembered to their end."""
    now = time.time()
    return [
        data
        for data in sessions_of(root)
        if data.get("session") != session and now - float(data.get("used") or 0) > _QUIET_S and is_behind(data)
    ][:_MAX_SESSIONS]


def _remember(session: str, root: str, seldom: bool) -> int:
    """Remember, unless a switch or the time says not to."""
    state = Session(session, root, _WAIT_S)
    data = state.loaded()
    dials = dials_of(root, data)
    if not (dials["continuity_enabled"] and dials["remember_conversations"]):
        return 0
    if seldom and time.time() - float(data.get("remembered_at") or 0) < SELDOM_S:
        return 0
    behind = [*([data] if is_behind(data) else []), *left_behind(session, root)]
    if not behind:
        return 0
    from sage_code.errors import ConfigError
    from sage_code.memory.tiers.opened import opened_recall  # lazy: the database, the masker
    from sage_code.settings.loading import load_settings

    try:
        settings = load_settings(root)
    except ConfigError:
        return 0  # where the database is cannot be known; the hooks say what is wrong with the file
    recall = opened_recall(settings)
    try:
        return sum(_read(recall, one, root) for one in behind)
    finally:
        recall.engine.close()


def _read(recall: RecallMemory, data: dict[str, Any], root: str) -> int:
    """Store what is new in the transcript of a session and in those of its subagents."""
    from sage_code.errors import UsageError
    from sage_code.memory.tiers.importing import ImportReport, import_file
    from sage_code.transcripts.find import parts_of

    transcript, report = str(data["transcript"]), ImportReport()
    size = os.stat(transcript).st_size
    for part in parts_of(transcript)[: _MAX_PARTS + 1]:
        try:
            import_file(part, recall, report, embed=False, max_bytes=_MAX_BYTES)
        except (UsageError, OSError) as error:  # deleted meanwhile, no regular file, nothing said yet
            if os.path.exists(part) and os.stat(part).st_size > 0:
                note("remembering", str(error))
    with Session(str(data["session"]), root, _WAIT_S) as state:
        state.data["remembered"] = size if report.bytes < _MAX_BYTES else 0
        state.data["remembered_at"] = time.time()
    return report.messages
