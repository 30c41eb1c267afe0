"""Chooses from a conversation what its continuation must know, in the speakers' own words, without a language model.

Events of a transcript go in one by one; at any time the notes hold a bounded number of sentences of each kind: what the
user asked for and insisted on, what was decided, ruled out and found out, errors that were met, questions that are
open, commits. Sentences are chosen by cues and never rewritten. What people type counts more than what agents say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from sage_code.memory.context.cues import (
    CHATTER,
    DECIDES,
    LEAST_WORTH,
    NARRATION,
    RULES_OUT,
    worth_of_agent,
    worth_of_person,
)
from sage_code.memory.context.sentences import MARK_UP, clipped, prose_lines, split_line
from sage_code.transcripts.conversation import AGENT, CALL, COMPACTION, ERROR, PLACE, SUMMARY, USER, Said

# Sentences of each kind that are kept.
MAX_KEPT = 24
_MAX_REQUESTS = 12
_MAX_ERRORS = 12
_MAX_COMMITS = 8
# A shorter sentence says nothing by itself, a longer one is cut.
_MIN_CHARS, _MAX_CHARS = 14, 320
_MAX_REQUEST_CHARS = 1_200
_MAX_ERROR_CHARS = 180
# A message beyond this is a paste: its first sentences say what is wanted.
_MAX_SENTENCES = 60

_BOLD = re.compile(r"\*\*|__")
# Where the user pasted a picture.
_PICTURE = re.compile(r"\[Image[^\]\n]{0,500}\]")
# Errors of the agent's own tools that say nothing about the project.
_TOOL_TALK = re.compile(
    r"sibling tool call|doesn't want to proceed|has not been read yet|string to replace|interrupted by|file has been "
    r"(?:modified|unexpectedly)|user rejected|was blocked|permission to use|exceeds? (?:the )?maximum|too large|"
    r"requested permissions|no changes to make|tool_use_error>cancel|denied by|invalid pages|inputvalidation|timed out",
    re.IGNORECASE,
)
_ERROR_LINE = re.compile(
    r"(?:\b[A-Z]\w*(?:Error|Exception|Warning|Failure)\b|\berror(?:\[\w+\])?:|\bfatal:|\bpanic:|\bFAILED?\b|--- FAIL|"
    r"No such file|not found|undefined|cannot |can't |failed|denied|refused|AssertionError|assert )",
    re.IGNORECASE,
)
_EXIT_CODE = re.compile(r"^(?:Error: )?Exit code \d+$")
_COMMIT = re.compile(r"git commit\b[^\n]*?-m\s+(?:\"\$\(cat <<'?\w+'?\n)?[\"']?([^\"'\n]{3,120})")
_STRESSED = re.compile(r"\*\*([^*\n]{3,200})\*\*")


class Note(NamedTuple):
    """A sentence that was chosen."""

    text: str
    score: float
    order: int  # the number of the message that it is from
    by_user: bool = False


class Notes:
    """The notes of a part of a conversation."""

    def __init__(self) -> None:
        self.requests: list[Note] = []
        self.instructions: list[Note] = []
        self.decisions: list[Note] = []
        self.ruled_out: list[Note] = []
        self.findings: list[Note] = []
        self.errors: dict[str, int] = {}  # the line that says most, and how often it came
        self.commits: list[str] = []
        self.messages = 0
        self.characters = 0
        self.branch = ""
        self.last_time = 0.0
        self._spoken: list[tuple[str, bool]] = []  # the agent's last message: sentences, and which it stressed
        self._asked: list[str] = []

    def add(self, event: Said) -> None:
        """Take one event of the transcript into account."""
        if event.kind in (USER, AGENT, CALL, ERROR):  # a compaction is no work: before and after it the same was done
            self.last_time = max(self.last_time, event.time)
        if event.kind == USER:
            self._hear(is_answer=True)
            self._user(event.text)
        elif event.kind == AGENT:
            self._hear(is_answer=False)
            self._agent(event.text)
        elif event.kind == ERROR:
            if line := error_line(event.text):
                self.errors[line] = self.errors.pop(line, 0) + 1  # the latest comes last
                while len(self.errors) > _MAX_ERRORS * 4:
                    del self.errors[min(self.errors, key=lambda one: self.errors[one])]
        elif event.kind == CALL:
            subject = _COMMIT.search(str(event.detail.get("command", "")))
            if subject:
                self.commits = [*self.commits, subject[1].strip()][-_MAX_COMMITS:]
        elif event.kind == PLACE:
            self.branch = str(event.detail.get("gitBranch") or self.branch)
        elif event.kind in (COMPACTION, SUMMARY):
            self._asked = self._asked[-2:]

    def close(self) -> None:
        """Say that the events are complete: the agent's last message is its answer."""
        self._hear(is_answer=True)

    @property
    def thesis(self) -> str:
        """The sentence that says best what came out: a conclusion, a decision, or the last request."""
        pool = [*self.decisions, *self.findings]
        if pool:
            return max(pool, key=lambda note: (note.score + 0.1 * note.order / max(self.messages, 1), note.order)).text
        return self.requests[-1].text if self.requests else ""

    @property
    def open_questions(self) -> list[str]:
        """The questions of the agent's last message, which nobody has answered."""
        return self._asked[-6:]

    @property
    def common_errors(self) -> list[tuple[str, int]]:
        """The errors, latest last, with their counts."""
        return list(self.errors.items())[-_MAX_ERRORS:]

    @property
    def is_empty(self) -> bool:
        """Whether nobody has said anything."""
        return not self.requests and not self.decisions and not self.findings

    def _user(self, text: str) -> None:
        """Choose from a message of the user."""
        self.messages += 1
        self.characters += len(text)
        text = _PICTURE.sub("", text)
        if CHATTER.match(text.strip()):
            return
        self._asked = []
        found = sentences(text)
        request = clipped(" ".join(found) or text, _MAX_REQUEST_CHARS)
        if not request:
            return
        self.requests.append(Note(request, 1, self.messages, True))
        if len(self.requests) > _MAX_REQUESTS:
            del self.requests[1]  # the first one says what the session is about
        # A short message is the user's own words throughout; of a long one only the sentences that insist.
        own = len(found) <= 6
        for sentence in found:
            worth = worth_of_person(sentence, is_own=own)
            if worth and not sentence.endswith("?"):
                _keep(self.instructions, Note(sentence, worth, self.messages, True))

    def _agent(self, text: str) -> None:
        self.messages += 1
        self.characters += len(text)
        found = sentences(text)
        stressed = {clipped(words, _MAX_CHARS)[:40] for words in _STRESSED.findall(text)}
        self._spoken = [(one, any(words and words in one for words in stressed)) for one in found]
        if questions := [one for one in found if one.endswith("?") and len(one) > 2 * _MIN_CHARS]:
            self._asked = questions

    def _hear(self, *, is_answer: bool) -> None:
        """Choose from the agent's last message. What it says at the end of its work counts more than on the way."""
        for sentence, is_stressed in self._spoken:
            if sentence.endswith(("?", ":")) or NARRATION.match(sentence):
                continue
            score, kind = worth_of_agent(sentence, is_stressed=is_stressed, is_answer=is_answer)
            if score >= LEAST_WORTH:
                _keep(self._of_kind(kind), Note(sentence, score, self.messages))
        self._spoken = []

    def _of_kind(self, kind: str) -> list[Note]:
        return {RULES_OUT: self.ruled_out, DECIDES: self.decisions}.get(kind, self.findings)


def sentences(text: str) -> list[str]:
    """The sentences of a message, without code, tables, headings, quotations and marks of Markdown."""
    found: list[str] = []
    for line in prose_lines(text):
        found += [
            clipped(sentence, _MAX_CHARS)
            for sentence in split_line(_BOLD.sub("", line).strip())
            if len(sentence) >= _MIN_CHARS and " " in sentence and not MARK_UP.search(sentence)
        ]
        if len(found) >= _MAX_SENTENCES:
            break
    return found


def error_line(text: str) -> str:
    """The line of a tool's error that says most; empty if it says nothing about the project."""
    lines = [line.strip() for line in text.split("\n")[:400]]
    lines = [line for line in lines if line and not _EXIT_CODE.match(line)]
    telling = [line for line in lines if _ERROR_LINE.search(line)]
    # Tracebacks and test runs say at their end what happened.
    chosen = (telling[-1] if telling else lines[0]) if lines else ""
    chosen = MARK_UP.sub("", chosen).strip()
    return "" if _TOOL_TALK.search(chosen) or len(chosen) < 8 else clipped(chosen, _MAX_ERROR_CHARS)


def best(notes: Iterable[Note], count: int) -> list[Note]:
    """The best notes in the order in which they were said."""
    chosen = sorted(notes, key=lambda note: (-note.score, -note.order))[:count]
    return sorted(chosen, key=lambda note: note.order)


def _keep(kept: list[Note], note: Note) -> None:
    """Add a note, unless it was said before; the weakest ones go when there are too many."""
    if any(one.text == note.text for one in kept):
        return
    kept.append(note)
    if len(kept) > 2 * MAX_KEPT:
        kept[:] = best(kept, MAX_KEPT)
