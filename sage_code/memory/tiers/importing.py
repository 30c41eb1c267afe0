"""Brings files of conversations into recall memory: transcripts of Claude Code and Codex, and plain JSON lines.

A file is read in batches. The batch and the place behind it are stored in one transaction, so a process that is killed
loses nothing and doubles nothing, and the next one goes on there. A file that has not changed is not opened again; one
that was replaced is read from its beginning, and messages that are known already are stored once. One bad line or file
never ends a run: it is counted. Links are not followed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from sage_code.errors import SageError, UsageError
from sage_code.memory.tiers.plain_messages import PLAIN, PlainMessages, is_record
from sage_code.memory.tiers.storable import storable
from sage_code.memory.tiers.tables import imports
from sage_code.memory.tiers.transcript_messages import TranscriptMessages
from sage_code.memory.tiers.values import NewMessage, now
from sage_code.text.light_json import loads
from sage_code.text.masking import mask
from sage_code.transcripts.find import all_transcripts, find_transcripts, parts_of
from sage_code.transcripts.lines import MAX_LINE_BYTES, Cursor, LineReader, is_text, is_whole, open_regular

if TYPE_CHECKING:
    from sage_code.memory.tiers.engines.protocol import Transaction
    from sage_code.memory.tiers.recall_memory import RecallMemory
    from sage_code.progress import Progress

# A batch is stored when it has so many messages or characters: enough that a transaction costs little, and few enough
# that memory stays small.
_BATCH_MESSAGES, _BATCH_CHARS = 1_000, 4 << 20
# The lines at the beginning of a file that may say what it is.
_HEAD_LINES = 50
_MAX_TITLE_CHARS = 160
_MEGABYTE = 1 << 20
_TRANSCRIPT = "transcript"
# What a file says about itself in its records, whichever agent wrote it.
_OF_AGENTS = ("payload", "sessionId", "parentUuid", "leafUuid", "messageId", "snapshot", "isSidechain")
# History of the notes about files in the database: 1: first version.
_FORMAT = 1


@dataclass(slots=True)
class ImportReport:
    """What an import read and stored."""

    files: int = 0  # that were read
    unchanged: int = 0  # that were read before and have not changed
    messages: int = 0  # that were new
    known: int = 0  # that were read again
    bytes: int = 0
    bad_lines: int = 0  # damaged, or longer than a transcript's lines can be
    seconds: float = 0.0
    left_out: int = 0  # files of projects that do not want it
    failed: dict[str, str] = field(default_factory=dict)  # path → why
    interrupted: bool = False


def import_path(path: str, recall: RecallMemory, progress: Progress, *, again: bool = False) -> ImportReport:
    """Import a file, or all `*.jsonl` files below a folder; with `again` also what was read before."""
    return import_files(files_in(path), recall, progress, again=again)


def import_files(
    paths: Iterable[str],
    recall: RecallMemory,
    progress: Progress,
    *,
    again: bool = False,
    is_wanted: Callable[[str], bool] | None = None,
) -> ImportReport:
    """Import files, the oldest first: of a session that was forked, the first one keeps what both have.

    `is_wanted` is asked about each file that has changed. Ctrl-C ends it after the last batch that was stored; the
    report says so.
    """
    report, started = ImportReport(), time.perf_counter()
    found = _oldest_first(paths)
    progress.stage("importing (MB)", max(1, sum(size for _, size in found) // _MEGABYTE))
    try:
        for path, size in found:
            before = report.bytes
            try:
                import_file(path, recall, report, again=again, is_wanted=is_wanted, progress=progress)
            except (UsageError, OSError) as error:  # not ours to read, a link, deleted meanwhile
                report.failed[path] = error.message if isinstance(error, SageError) else str(error)
            progress.advance((size - (report.bytes - before)) // _MEGABYTE if report.bytes - before < size else 0)
    except KeyboardInterrupt:
        report.interrupted = True
    report.seconds = time.perf_counter() - started
    return report


def import_file(
    path: str,
    recall: RecallMemory,
    report: ImportReport,
    *,
    again: bool = False,
    embed: bool = True,
    max_bytes: int | None = None,
    is_wanted: Callable[[str], bool] | None = None,
    progress: Progress | None = None,
) -> None:
    """Import what is new in a file, at most `max_bytes` of it. UsageError if it cannot be read, or is none of ours."""
    state = os.stat(path, follow_symlinks=False)
    if not state.st_size:
        return  # a session that has just begun
    key = storable(os.path.abspath(path))
    with recall.engine.reading() as rows:
        known = imports.read_until(rows, recall.agent.id, key)
    if again or known.get("format") != _FORMAT:
        known = {}
    stamp = [state.st_size, state.st_mtime_ns]
    if known and known.get("stamp") == stamp:
        report.unchanged += 1
        return
    if is_wanted is not None and not is_wanted(path):
        report.left_out += 1
        return
    kind = known.get("kind") or kind_of(path)
    if not kind:
        raise UsageError(f"{path} holds no conversation", "give a transcript, or JSON lines with role and content")
    batch = _Batch(path, key, kind, recall, report, known, stamp, embed=embed)
    batch.read(max_bytes, progress)
    report.files += 1


class _Batch:
    """The messages of a file that are not stored yet, and how far it was read."""

    def __init__(
        self,
        path: str,
        key: str,
        kind: str,
        recall: RecallMemory,
        report: ImportReport,
        known: dict[str, Any],
        stamp: list[int],
        *,
        embed: bool,
    ) -> None:
        self._path, self._key, self._kind, self._recall, self._report = path, key, kind, recall, report
        self._stamp, self._embed = stamp, embed
        self._parser = self._new_parser(known.get("parser"))
        self._is_titled = set(known.get("titled") or ())
        # Equal texts of a plain file are numbered from its beginning.
        self._lines = LineReader(path, _cursor(known.get("cursor")) if kind != PLAIN else None)
        self._known = known
        self._messages: dict[str, list[NewMessage]] = {}
        self._count = self._chars = 0

    def _new_parser(self, state: Any = None) -> TranscriptMessages | PlainMessages:
        if self._kind == PLAIN:
            return PlainMessages(self._recall.agent.id, self._path)
        return TranscriptMessages(self._recall.agent.id, self._path, state if isinstance(state, dict) else None)

    def read(self, max_bytes: int | None, progress: Progress | None) -> None:
        """Read the file and store its messages, batch by batch."""
        report, stats = self._report, self._lines.stats
        is_begun, shown, counted = False, 0, 0
        try:
            for line in self._lines:
                if not is_begun and stats.restarted:  # another file has its name
                    self._parser, self._is_titled = self._new_parser(), set()
                is_begun = True
                try:
                    self._take(self._parser.messages(line))
                except (ValueError, OverflowError):
                    stats.corrupt += 1
                if self._count >= _BATCH_MESSAGES or self._chars >= _BATCH_CHARS:
                    self._store(is_end=False)
                if progress is not None and stats.bytes - shown >= _MEGABYTE:
                    progress.advance((stats.bytes - shown) // _MEGABYTE)
                    shown += (stats.bytes - shown) // _MEGABYTE * _MEGABYTE
                report.bytes, counted = report.bytes + stats.bytes - counted, stats.bytes
                if max_bytes is not None and stats.bytes >= max_bytes:
                    self._store(is_end=False)
                    return
            self._take_unended()
            self._store(is_end=True)
        finally:
            report.bytes += stats.bytes - counted
            report.bad_lines += stats.corrupt + stats.too_long

    def _take_unended(self) -> None:
        """Take the last line of a plain file, which may have no end; one of a transcript is still being written."""
        if self._kind == PLAIN:
            with open_regular(self._path) as file, suppress(ValueError):
                file.seek(self._lines.offset)
                self._take(self._parser.messages(file.read(MAX_LINE_BYTES)))

    def _take(self, messages: Iterable[NewMessage]) -> None:
        for message in messages:
            self._messages.setdefault(message.session, []).append(message)
            self._count += 1
            self._chars += len(message.content)

    def _store(self, *, is_end: bool) -> None:
        """Store the messages, and with the last of them how far the file was read."""
        sessions = list(self._messages.items())
        titles = {session: self._title(session, messages) for session, messages in sessions}
        note = self._note(is_end)
        for number, (session, messages) in enumerate(sessions):
            parser = self._parser
            new = self._recall.add(
                messages,
                project=storable(parser.projects.get(session, "")) if isinstance(parser, TranscriptMessages) else "",
                channel=storable(parser.channels.get(session, "")) if isinstance(parser, PlainMessages) else "",
                title=titles[session],
                source=parser.source,
                embed=self._embed,
                also=note if number == len(sessions) - 1 else None,
            )
            self._report.messages += len(new)
            self._report.known += len(messages) - len(new)
        if not sessions:
            with self._recall.engine.writing() as rows:
                note(rows)
        self._messages, self._count, self._chars = {}, 0, 0

    def _note(self, is_end: bool) -> partial[None]:
        """Writes down, in the transaction of the batch, how far the file was read; no text of it."""
        state = self._parser.state() if isinstance(self._parser, TranscriptMessages) else {}
        cursor = {
            "format": _FORMAT, "kind": self._kind, "cursor": list(self._lines.cursor()), "parser": state,
            "titled": sorted(self._is_titled)[-_HEAD_LINES:], "stamp": self._stamp if is_end else [],
        }  # fmt: skip
        return partial(_write_note, self._recall.agent.id, self._key, cursor)

    def _title(self, session: str, messages: Iterable[NewMessage]) -> str:
        """The first request of a session, the first time that one is seen."""
        if session in self._is_titled:
            return ""
        for message in messages:
            if message.role == "user":
                self._is_titled.add(session)
                # Masked before it is cut: half of a secret is not recognised.
                line = " ".join(storable(mask(message.content[: 20 * _MAX_TITLE_CHARS])[0]).split())
                return line if len(line) <= _MAX_TITLE_CHARS else f"{line[: _MAX_TITLE_CHARS - 1].rstrip()}…"
        return ""


def files_in(path: str) -> list[str]:
    """A file itself, or all `*.jsonl` files below a folder; links in it are not followed."""
    path = os.path.realpath(os.path.expanduser(path))  # the user may name a link
    if os.path.isfile(path):
        return [path]
    if not os.path.isdir(path):
        raise UsageError(f"there is no file or folder {path}", "give a transcript, or a folder of transcripts")
    return list(_below(path))


def followed_files(root: str = "") -> list[str]:
    """The transcripts of all agents of this user, or of one project, with those of subagents."""
    if not root:
        return list(all_transcripts())
    return [part for path in find_transcripts(root) for part in parts_of(path)]


def kind_of(path: str) -> str:
    """What the first lines of a file say it is: a transcript of an agent, plain messages, or neither (empty)."""
    seen = ""
    for number, line in enumerate(LineReader(path)):
        if number >= _HEAD_LINES:
            break
        line = line.strip()
        if not is_whole(line) or not is_text(line):
            continue
        try:
            record = loads(line)
        except (ValueError, RecursionError):
            continue
        if any(name in record for name in _OF_AGENTS):
            return _TRANSCRIPT
        if is_record(record):
            return PLAIN
        # A transcript may begin with records about itself: titles, summaries, modes.
        seen = seen or (_TRANSCRIPT if isinstance(record.get("type"), str) else "")
    return seen


def _below(folder: str) -> Iterator[str]:
    for inner, folders, names in os.walk(folder):  # does not follow links
        folders.sort()
        for name in sorted(names):
            path = os.path.join(inner, name)
            if name.endswith(".jsonl") and not os.path.islink(path) and os.path.isfile(path):
                yield path


def _oldest_first(paths: Iterable[str]) -> list[tuple[str, int]]:
    """The files with their sizes, each once."""
    dated = []
    for path in dict.fromkeys(paths):
        with suppress(OSError):  # deleted meanwhile
            state = os.stat(path, follow_symlinks=False)
            dated.append((state.st_mtime_ns, path, state.st_size))
    return [(path, size) for _, path, size in sorted(dated)]


def _cursor(known: Any) -> Cursor | None:
    """The place in a file, as the database has it."""
    return Cursor(*known) if isinstance(known, list) and len(known) == len(Cursor._fields) else None


def _write_note(agent_id: str, key: str, cursor: dict[str, Any], rows: Transaction) -> None:
    imports.note_read(rows, agent_id, key, cursor, now())
