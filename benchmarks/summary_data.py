"""The conversations on which summaries are measured, each as messages with its reference.

DialogSum (`dialogsum.dev.jsonl` of cylnlp/dialogsum), the sessions of LoCoMo (`locomo10.json` of snap-research/LoCoMo),
and labelled coding sessions (`session_labels.txt`). None of the data is in this repository. Of each set one half was
tuned on: dialogues with an even number, the conversations 0, 2, 4 …, part A of the sessions.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from played_logs import write_transcript
from session_labels import LabelledSession, find_sentence, read_labels
from session_logs import sessions_of
from survival import changed_files

from sage_code.memory.context.summary import Spoken

TUNED, UNSEEN = "tuned on", "unseen"
_BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
_AGENT = str(UUID(int=1))
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of a dialogue."""

    id: str
    content: str
    speaker: str
    role: str = "user"
    created_at: datetime = _BEGINNING


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A dialogue with the summary that a person, or for LoCoMo a model, wrote of it."""

    turns: tuple[Turn, ...]
    reference: str
    half: str

    @property
    def words(self) -> int:
        """The budget of a summary."""
        return len(self.reference.split())


@dataclass(frozen=True, slots=True)
class WorkSession:
    """A labelled coding session up to its cut, and what a summary of it should say."""

    id: str
    half: str
    messages: tuple[Spoken, ...]
    files: frozenset[str]
    instructions: tuple[str, ...]
    decisions: tuple[str, ...]


def dialogsum(path: Path) -> list[Dialogue]:
    """The dialogues of a file of DialogSum."""
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
        given = json.loads(line)
        said = [row.partition(":") for row in given["dialogue"].split("\n")]
        turns = tuple(Turn(str(at), text.strip(), who.strip()) for at, (who, _, text) in enumerate(said))
        found.append(Dialogue(turns, given["summary"], UNSEEN if number % 2 else TUNED))
    return found


def locomo(path: Path) -> list[Dialogue]:
    """The sessions of LoCoMo that have a summary."""
    found = []
    for number, given in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        for name, reference in given["session_summary"].items():
            said = given["conversation"].get(name.removesuffix("_summary"), [])
            turns = tuple(Turn(one["dia_id"], one["text"], one["speaker"]) for one in said)
            found.append(Dialogue(turns, reference, UNSEEN if number % 2 else TUNED))
    return found


def work_sessions(source: Path, parity: str = "even") -> Iterator[WorkSession]:
    """The labelled sessions, as Sage stores their messages."""
    logs = {one.id: one for one in sessions_of(source, parity)}
    for labelled in read_labels():
        log = replace(logs[labelled.id], messages=logs[labelled.id].messages[: labelled.cut])
        with tempfile.TemporaryDirectory() as scratch:
            root, path = Path(scratch) / "app", Path(scratch) / "transcript.jsonl"
            root.mkdir()
            write_transcript(log, root, path, "s")
            messages = _stored(path)
        texts = [one.text for one in log.messages]
        yield WorkSession(
            labelled.id,
            TUNED if labelled.part == "A" else UNSEEN,
            messages,
            frozenset(os.path.basename(file) for file in changed_files(log)),
            _labelled(labelled, texts, "i"),
            _labelled(labelled, texts, "d"),
        )


def sentences_of(turns: Sequence[Spoken]) -> list[tuple[str, str]]:
    """The sentences of messages with their speakers, as a baseline splits them."""
    return [(turn.speaker, one) for turn in turns for one in _SENTENCE_END.split(turn.content.strip()) if one]


def _labelled(labelled: LabelledSession, texts: Sequence[str], kind: str) -> tuple[str, ...]:
    return tuple(find_sentence(texts[one.message], one.key) for one in labelled.labels if one.kind == kind)


def _stored(path: Path) -> tuple[Spoken, ...]:
    from sage_code.memory.tiers.transcript_messages import TranscriptMessages

    reader = TranscriptMessages(_AGENT, str(path))
    found = [one for line in path.read_bytes().splitlines(keepends=True) for one in reader.messages(line)]
    return tuple(Turn(one.id, one.content, one.speaker, one.role, one.created_at or _BEGINNING) for one in found)
