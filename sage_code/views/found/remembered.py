"""What is remembered about a question: checkpoints, knowledge and what was said, as a page shows it beside code."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sage_code.errors import SageError, UsageError
from sage_code.memory.tiers.engines.opening import default_path, is_there, open_engine
from sage_code.memory.tiers.opened import user_of
from sage_code.settings.loading import load_settings
from sage_code.text.lexemes import lexemes
from sage_code.text.masking import mask
from sage_code.text.stems import STOP_WORDS, stem

if TYPE_CHECKING:
    from sage_code.memory.memory import Memory
    from sage_code.memory.tiers.recall_memory import RecallMemory

RememberedKind = Literal["checkpoint", "knowledge", "said"]
# A probability below which a memory is about something else; a list of memories alone shows more of them.
_LEAST, _LEAST_ALONE = 0.3, 0.05
_TITLE_CHARS, _TEXT_CHARS = 240, 600
# Of a long text only the beginning is read.
_READ_CHARS = 20_000


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory that is about a question; its texts are masked."""

    kind: RememberedKind
    id: str
    root: str  # of the project that it was found in, or said in; empty if that was none
    title: str
    text: str
    score: float
    when: str
    session: str = ""  # of what was said


class MemoryFinding:
    """Searches what is remembered; what was said is opened once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._recall: tuple[object, RecallMemory | None] | None = None

    def search(
        self, question: str, memories: Mapping[str, Memory], limit: int, *, said_in: str = "", alone: bool = False
    ) -> tuple[Remembered, ...]:
        """The best memories of each kind, of the projects whose memories are given by their root.

        What was said counts wherever that was, unless `said_in` is the root of a project.
        `alone`: nothing else is shown, so weaker ones are shown too. A memory that cannot be read is left out; the
        page of the project's memory says why.
        """
        least = _LEAST_ALONE if alone else _LEAST
        found: dict[tuple[str, str], Remembered] = {}
        for root, memory in memories.items():
            for one in _of_project(question, root, memory, limit, is_everything=alone):
                if one.score >= least:  # those of the user's home are found in every project
                    found.setdefault((one.kind, one.id), one)
        for one in self._said(question, said_in, limit):
            # Its score compares messages with each other: in a short history even the best may be about something else.
            if one.score >= least and (alone or _shares_a_word(question, one)):
                found.setdefault((one.kind, one.id), one)
        kinds: tuple[RememberedKind, ...] = ("checkpoint", "knowledge", "said")
        by_score = sorted(found.values(), key=lambda one: -one.score)
        return tuple(one for kind in kinds for one in [each for each in by_score if each.kind == kind][:limit])

    def _said(self, question: str, root: str, limit: int) -> Iterator[Remembered]:
        """What was said in the sessions of one project, or in all."""
        with self._lock:
            recall = self._opened()
            try:
                found = recall.search(question, limit, project=root) if recall else []
            except UsageError:  # a question without words
                return
        for one in found:
            yield Remembered(
                kind="said",
                id=str(one.message.id),
                root=one.message.project,
                title=_cut(one.passage, _TITLE_CHARS),
                text=_cut(one.before.content if one.before else "", _TITLE_CHARS),
                score=one.score,
                when=one.message.created_at.isoformat(timespec="seconds"),
                session=str(one.message.session),
            )

    def _opened(self) -> RecallMemory | None:
        """What was said to the agent of the settings; None if nothing was, because looking must not make a database."""
        settings = load_settings(None)
        key = (settings, default_path())
        if self._recall is None or self._recall[0] != key or self._recall[1] is None:
            self._recall = (key, None)
            if is_there(settings.memory_uri):
                from sage_code.memory.tiers.recall_memory import RecallMemory  # lazy: only where something was said
                from sage_code.memory.tiers.tables import agents

                engine = open_engine(settings.memory_uri)
                with engine.reading() as rows:
                    agent = agents.agent_of(rows, user_of(settings), settings.memory_agent)
                self._recall = (key, RecallMemory(engine, agent, settings) if agent else None)
        return self._recall[1]


def _shares_a_word(question: str, one: Remembered) -> bool:
    """Whether a message, or the one before it, has a telling word of the question."""
    asked = {stem(word) for word in lexemes(question) if word not in STOP_WORDS and len(word) > 1}
    return not asked.isdisjoint(stem(word) for word in lexemes(f"{one.title} {one.text}"))


def _of_project(question: str, root: str, memory: Memory, limit: int, *, is_everything: bool) -> Iterator[Remembered]:
    """The checkpoints and the knowledge of one project."""
    try:
        for found in memory.checkpoints.search(question, limit):
            thesis, asked = str(found.shown.get("thesis") or ""), str(found.shown.get("core_question") or "")
            when = str(found.shown.get("ts") or "")
            yield _remembered("checkpoint", found.id, root, thesis, asked, found.score, when)
        threshold = 0.0 if is_everything else None
        for item, score in memory.recaller.recall(question, skill=None, threshold=threshold, limit=limit):
            title, _, rest = item.content.strip().partition("\n")
            yield _remembered("knowledge", item.id, root, title, rest, score.score, item.added)
    except SageError:  # a question without words, or a damaged memory
        return
    finally:
        memory.notices.take()


def _remembered(
    kind: RememberedKind, id_: str, root: str, title: str, text: str, score: float, when: str
) -> Remembered:
    return Remembered(kind, id_, root, _cut(title, _TITLE_CHARS), _cut(text, _TEXT_CHARS), score, when)


def _cut(text: str, most: int) -> str:
    """A text without its secrets, on one line that is not too long."""
    # Masked before it is cut: half of a secret may not look like one.
    line = " ".join(mask(text[:_READ_CHARS])[0].split())
    return line if len(line) <= most else line[: most - 1] + "…"
