"""What was said before, in bounded memory: terms and files that fade with every message, and the message before.

A message is compared with the context before it twice: by itself, and one message later together with its answer. The
features of that second comparison decide whether a topic began with it (`weights.py`). Everything is rounded when it is
stored, so that a context that was written as JSON and read again goes on exactly as one that stayed in memory.
"""

from __future__ import annotations

import math

from sage_code.continuity.triggers.terms import DIGITS, cosine, overlap, vector_of, words_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# What is left of a term's weight after a message. Of 0, 0.5, 0.7, 0.85 and 0.95, these two compare best: AUROC 0.86
# (near) and 0.88 (far) on spliced sessions, 0.83 and 0.82 on DialSeg711.
NEAR, FAR = 0.5, 0.7
# Terms kept, the heaviest; what has faded below the least weight is forgotten.
MAX_KNOWN = 240
_LEAST = 0.04
# Files are compared by their names: the last ones of about three exchanges.
MAX_FILES = 40
_FILE_FADES = 0.8
_LEAST_FILE = 0.25
_MAX_FILE_CHARS = 40
# The part of a message in which cue words count: its beginning, and for the message before its end.
CUE_WORDS = 40
# Longer messages are worked answers, not turns of a talk; their single words are no cues.
TALK_WORDS = 60
# Above this usual length a session is work, in which topics begin with the user: an agent answers what it was asked.
# Talk has 10 to 20 words a message, work 50 to 100. Some features weigh differently there: with these F1 on spliced
# sessions is 0.68 instead of 0.65.
WORK_WORDS = 25
# How much one message moves the usual length of the messages of a session.
_USUAL_MOVES = 0.3

USER = "user"
FEATURES = (
    "near cosine alone", "near overlap alone", "far overlap alone", "no terms alone",
    "near cosine", "near overlap", "far overlap", "seen", "no terms",
    "file overlap", "no files",
    "user", "user at length", "length", "length before", "length after", "length usual",
    "question", "question before", "question after",
    "work", "near cosine in work", "near overlap in work", "far overlap in work", "seen in work", "length in work",
    "length after in work", "question in work",
)  # fmt: skip


class Said:
    """A message, in the form in which it is compared and kept."""

    __slots__ = ("asks", "count", "files", "first", "last", "role", "vector")

    def __init__(self, text: str, role: str, files: Sequence[str] = ()) -> None:
        words = words_of(text)
        self.role = role
        self.vector = vector_of(words)
        self.count = len(words)
        self.asks = "?" in text
        is_talk = len(words) <= TALK_WORDS
        self.first = " ".join(words[:CUE_WORDS])[:400] if is_talk else ""
        self.last = " ".join(words[-CUE_WORDS:])[-400:] if is_talk else ""
        names = dict.fromkeys(name[-_MAX_FILE_CHARS:] for path in files if (name := path.rpartition("/")[2]))
        self.files = list(names)[-MAX_FILES:]

    def state(self) -> list[Any]:
        """The message as values of JSON."""
        return [self.role, self.count, self.asks, self.first, self.last, self.files, self.vector]

    @classmethod
    def restored(cls, state: list[Any]) -> Said:
        """The message of such values."""
        made = cls.__new__(cls)
        made.role, made.count, made.asks, made.first, made.last, made.files, made.vector = state
        return made


class Context:
    """The conversation before the last message, and the last message itself."""

    __slots__ = ("before", "far", "files", "last", "near", "usual")

    def __init__(self, state: dict[str, Any] | None = None) -> None:
        state = state or {}
        self.near: dict[str, float] = state.get("near", {})
        self.far: dict[str, float] = state.get("far", {})
        self.files: dict[str, float] = state.get("files", {})
        self.usual: float = state.get("usual", 0.0)  # logarithm of the usual number of words
        self.before: list[Any] = state.get("before", [])  # words, question and last words of the message before `last`
        self.last: Said | None = Said.restored(state["last"]) if state.get("last") else None

    def state(self) -> dict[str, Any]:
        """The context as a value of JSON."""
        return {
            "near": self.near,
            "far": self.far,
            "files": self.files,
            "usual": self.usual,
            "before": self.before,
            "last": self.last.state() if self.last else None,
        }

    def features(self, answer: Said | None) -> list[float] | None:
        """How the last message, with the answer that follows it, differs from what was before.

        None if no topic can begin with it: it is the first, or an agent's answer in a session of work.
        """
        last = self.last
        if last is None or not self.before or (self.is_work and last.role != USER):
            return None
        both = dict(last.vector)
        files = set(last.files)
        if answer is not None:
            for term, weight in answer.vector.items():
                both[term] = both.get(term, 0.0) + weight
            files.update(answer.files)
        is_user = float(last.role == USER)
        known = bool(files and self.files)
        near, overlapping, faint = cosine(both, self.near), overlap(both, self.near), overlap(both, self.far)
        seen = sum(term in self.far for term in both) / len(both) if both else 0.0
        length, length_after = math.log1p(last.count), math.log1p(answer.count) if answer is not None else 0.0
        asks = float(last.asks)
        found = [
            cosine(last.vector, self.near),
            overlap(last.vector, self.near),
            overlap(last.vector, self.far),
            float(not last.vector),
            near,
            overlapping,
            faint,
            seen,
            float(not both),
            sum(name in self.files for name in files) / len(files) if known else 0.0,
            float(not known),
            is_user,
            is_user * self.usual,
            length,
            math.log1p(self.before[0]),
            length_after,
            self.usual,
            asks,
            float(self.before[1]),
            float(answer is not None and answer.asks),
        ]
        in_work = [1.0, near, overlapping, faint, seen, length, length_after, asks]
        return found + (in_work if self.is_work else [0.0] * len(in_work))

    @property
    def is_work(self) -> bool:
        """Whether the messages are as long as those of a session of work."""
        return self.usual > math.log1p(WORK_WORDS)

    def cues(self, answer: Said | None) -> tuple[set[str], set[str], set[str]]:
        """The words of the last message, of the end of the one before it, and of its answer; none in work."""
        if self.last is None or not self.before or self.is_work:
            return set(), set(), set()
        after = answer.first.split() if answer is not None else ()
        return set(self.last.first.split()), set(self.before[2].split()), set(after)

    def add(self, message: Said) -> None:
        """Let the last message fade into the context, and make `message` the last one."""
        last = self.last
        if last is not None:
            self.near = _faded(self.near, NEAR, last.vector)
            self.far = _faded(self.far, FAR, last.vector)
            files = {name: weight * _FILE_FADES for name, weight in self.files.items()}
            files.update(dict.fromkeys(last.files, 1.0))
            kept = sorted(files.items(), key=lambda entry: -entry[1])[:MAX_FILES]
            self.files = {name: round(weight, DIGITS) for name, weight in kept if weight > _LEAST_FILE}
            self.before = [last.count, last.asks, last.last]
            share = _USUAL_MOVES if self.usual else 1.0
            self.usual = round(self.usual + share * (math.log1p(last.count) - self.usual), DIGITS)
        self.last = message


def _faded(known: dict[str, float], share: float, new: dict[str, float]) -> dict[str, float]:
    """The known terms with less weight, and the new ones."""
    mixed = {term: weight * share for term, weight in known.items()}
    for term, weight in new.items():
        mixed[term] = mixed.get(term, 0.0) + weight
    kept = [(term, round(weight, DIGITS)) for term, weight in mixed.items() if weight > _LEAST]
    if len(kept) > MAX_KNOWN:
        kept = sorted(kept, key=lambda entry: -entry[1])[:MAX_KNOWN]
    return dict(kept)
