"""What a summary is, and what makes one: the values that every summariser returns, and the protocol that it follows.

A summary has a text for a reader and the same as data: topics, threads, decisions, open questions, code. Whatever is
quoted names the messages that it comes from. Summaries are stored and sent as JSON (`to_json`, `from_json`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, Protocol, TypeAlias, get_args

# The specification's length of a summary.
SUMMARY_WORDS = 100
# The summariser that needs no service.
EXTRACTIVE = "extractive"
# A text without blanks (Chinese, a long path) counts as one word for so many characters.
CHARS_A_WORD = 12

ThreadState: TypeAlias = Literal["open", "decided", "done"]


class Spoken(Protocol):
    """A message as summarisers see it; `tiers.values.Message` is one."""

    @property
    def id(self) -> str:
        """What a summary names it by."""

    @property
    def role(self) -> str:
        """One of `system`, `user`, `assistant`, `tool`, `summary`."""

    @property
    def content(self) -> str:
        """What was said."""

    @property
    def speaker(self) -> str:
        """The name of the author; empty where the role says enough."""

    @property
    def created_at(self) -> datetime:
        """When it was said."""


@dataclass(frozen=True, slots=True)
class Point:
    """A sentence or a name of a summary, with the messages that it comes from."""

    text: str
    message_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Thread:
    """Something that is being talked about: by whom, what, and how far it has come."""

    what: str
    who: tuple[str, ...] = ()
    state: ThreadState = "open"
    message_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StructuredSummary:
    """What is left of messages."""

    text: str
    by: str  # the name of the summariser
    topics: tuple[str, ...] = ()
    threads: tuple[Thread, ...] = ()
    decisions: tuple[Point, ...] = ()
    unresolved: tuple[Point, ...] = ()
    code_refs: tuple[Point, ...] = ()  # files and names of code
    quotes: tuple[Point, ...] = ()  # the sentences of `text`, where they are somebody's own
    problem: str = ""  # why the summariser that was asked for did not make it

    def to_json(self) -> dict[str, Any]:
        """The summary as JSON knows it."""
        return {
            "text": self.text,
            "by": self.by,
            "topics": list(self.topics),
            "threads": [
                {"what": one.what, "who": list(one.who), "state": one.state, "message_ids": list(one.message_ids)}
                for one in self.threads
            ],
            **{name: [_of_point(one) for one in getattr(self, name)] for name in _POINTS},
            "problem": self.problem,
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> StructuredSummary:
        """A summary that was stored or that a model wrote. What has another shape is left out."""
        return cls(
            text=str(value.get("text") or ""),
            by=str(value.get("by") or ""),
            topics=_texts(value.get("topics")),
            threads=tuple(one for one in map(_thread, _items(value.get("threads"))) if one is not None),
            **{name: tuple(filter(None, map(_point, _items(value.get(name))))) for name in _POINTS},
            problem=str(value.get("problem") or ""),
        )

    def lines(self) -> list[str]:
        """The text by lines, and behind it the decisions and open questions that it has no room for."""
        shown = self.text.lower()
        kinds = (("Decided", self.decisions), ("Open", self.unresolved))
        rest = [
            f"{name}: {point.text}" for name, points in kinds for point in points if point.text.lower() not in shown
        ]
        return [*self.text.splitlines(), *rest]

    def because(self, problem: str) -> StructuredSummary:
        """The same summary, with what went wrong before it was made."""
        return replace(self, problem=problem)


_STATES: tuple[ThreadState, ...] = get_args(ThreadState)
_POINTS = ("decisions", "unresolved", "code_refs", "quotes")


class Summariser(Protocol):
    """Writes summaries. It may take long and may raise anything: the caller has another one."""

    @property
    def name(self) -> str:
        """What a summary says that it was made by."""

    def summarise(
        self, messages: Sequence[Spoken], max_words: int = SUMMARY_WORDS, previous: StructuredSummary | None = None
    ) -> StructuredSummary:
        """The summary of messages, oldest first, merged with what was summarised before them.

        A message of role `summary` among them is an earlier summary, of which only the text is known.
        """


def words_in(text: str) -> int:
    """How many words a text counts as, also in a language without blanks."""
    return max(len(text.split()), -(-len(text) // CHARS_A_WORD))


def _of_point(point: Point) -> dict[str, Any]:
    return {"text": point.text, "message_ids": list(point.message_ids)}


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, list | tuple) else ()


def _texts(value: object) -> tuple[str, ...]:
    return tuple(str(item) for item in _items(value) if isinstance(item, str | int | float))


def _point(value: object) -> Point | None:
    if isinstance(value, str):
        return Point(value) if value.strip() else None
    if isinstance(value, Mapping) and isinstance(text := value.get("text"), str) and text.strip():
        return Point(text, _texts(value.get("message_ids")))
    return None


def _thread(value: object) -> Thread | None:
    if isinstance(value, str):
        return Thread(value) if value.strip() else None
    if not isinstance(value, Mapping) or not isinstance(what := value.get("what"), str) or not what.strip():
        return None
    given = value.get("state")
    state: ThreadState = next((known for known in _STATES if known == given), "open")
    who = value.get("who")
    return Thread(what, (who,) if isinstance(who, str) else _texts(who), state, _texts(value.get("message_ids")))
