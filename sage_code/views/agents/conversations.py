"""What was said, as a page shows it: sessions, search results with what answers in them, transcripts, and what an
erasure would take.

Lists are read a page at a time. Texts are masked and, where a page shows many of them, cut.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from sage_code.errors import UsageError
from sage_code.memory.tiers.tables import channels, messages, profiles, sessions
from sage_code.memory.tiers.values import Message, Scope, Session, now
from sage_code.views.agents.opened import Paging, as_uuid, masked, masked_session

if TYPE_CHECKING:
    from sage_code.memory.tiers.message_search import FoundMessage
    from sage_code.views.agents.opened import AgentMemory

SESSIONS_A_PAGE, MESSAGES_A_PAGE = 40, 50
# A longer message is cut on a page that shows many; the rest is a click away.
SHOWN_CHARS = 6_000
# What is shown of a message before and behind the passage that answers, and of the messages around it.
_AROUND_CHARS = 240
_NEAR_CHARS = 200
# So much behind a cut is searched for secrets, too: the longest private keys have that.
_BEHIND_CUT = 8_000
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Asked:
    """Which messages are looked for."""

    text: str = ""
    project: str = ""
    session: str = ""
    role: str = ""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class SessionList:
    """A page of sessions, the last used first."""

    paging: Paging
    sessions: tuple[Session, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text; one that is marked has words of the question."""

    text: str
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message with as much of its text as a page shows."""

    message: Message  # its content is masked and perhaps cut
    chars: int  # of the whole text
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Answering:
    """A message that answers a question: the passage that does, in pieces, and what is around it."""

    message: Message
    score: float
    lead: str  # the end of what comes before the passage in the message
    pieces: tuple[Piece, ...]
    rest: str  # the beginning of what comes behind it
    before: Message | None  # with short texts
    after: Message | None
    plugins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MessageList:
    """A page of messages, newest first; how many there are is not counted."""

    messages: tuple[ShownMessage, ...]
    page: int
    has_more: bool


@dataclass(frozen=True, slots=True)
class Transcript:
    """A page of what was said in a session."""

    session: Session
    paging: Paging
    messages: tuple[ShownMessage, ...]


@dataclass(frozen=True, slots=True)
class Erasure:
    """What would be erased: messages, and what was made of them."""

    messages: int
    summaries: int  # of these messages, stored among them
    facts: int
    channels: tuple[str, ...]  # whose summaries go
    first: datetime | None = None
    last: datetime | None = None


def session_list(memory: AgentMemory, asked: Asked, page: int) -> SessionList:
    """A page of the sessions of a project and a span of time."""
    project, since, until = asked.project, asked.since, asked.until
    with memory.engine.reading() as rows:
        total = sessions.count_of_sessions(rows, memory.agent.id, project=project, since=since, until=until)
        paging = Paging.at(page, SESSIONS_A_PAGE, total)
        found = sessions.sessions_of(
            rows,
            memory.agent.id,
            project=project,
            since=since,
            until=until,
            limit=paging.size,
            skip=paging.skip,
        )
    return SessionList(paging, tuple(map(masked_session, found)))


def projects_talked_about(memory: AgentMemory) -> list[str]:
    """The roots of the projects that something was said in, the last used first."""
    with memory.engine.reading() as rows:
        return sessions.projects_of(rows, memory.agent.id)


def newest_messages(memory: AgentMemory, asked: Asked, page: int) -> MessageList:
    """A page of the messages that fit, newest first."""
    page = max(page, 1)
    scope = Scope(memory.agent, asked.project, asked.session, asked.role, asked.since, asked.until)
    with memory.engine.reading() as rows:
        found = messages.newest_in(rows, scope, MESSAGES_A_PAGE + 1, (page - 1) * MESSAGES_A_PAGE)
    return MessageList(tuple(map(shown, found[:MESSAGES_A_PAGE])), page, len(found) > MESSAGES_A_PAGE)


def answers_to(memory: AgentMemory, asked: Asked, limit: int) -> list[Answering]:
    """The messages that answer a question best."""
    from sage_code.memory.tiers.ranking.question import read_question  # lazy: the rules for questions

    found = memory.recall.search(
        asked.text,
        limit,
        project=asked.project,
        session=asked.session,
        role=asked.role,
        since=asked.since,
        until=asked.until,
    )
    terms = read_question(asked.text, now()).terms
    telling = {term.stem for term in terms if not term.about_talking} or {term.stem for term in terms}
    return [_answering(one, telling) for one in found]


def transcript(memory: AgentMemory, session_id: str, page: int = 1, message_id: str = "") -> Transcript:
    """A page of a session: the one with this number, or the one that a message is on."""
    message_id = as_uuid(message_id)
    with memory.engine.reading() as rows:
        session = sessions.session_of(rows, memory.agent.id, session_id)
        if session is None:
            raise UsageError(f"there is no session {session_id[:100]}", "it was forgotten, or the address is wrong")
        if message_id:
            known = messages.messages_with_ids(rows, memory.agent.id, [message_id]).get(message_id)
            if known is not None and known.session == session.id:
                page = messages.place_in_session(rows, memory.agent.id, known) // MESSAGES_A_PAGE + 1
        paging = Paging.at(page, MESSAGES_A_PAGE, session.messages)
        found = messages.page_of_session(rows, memory.agent.id, session.number, paging.skip, paging.size)
    return Transcript(masked_session(session), paging, tuple(map(shown, found)))


def title_of_session(memory: AgentMemory, session_id: str) -> str:
    """The title of a session; empty if it has none."""
    with memory.engine.reading() as rows:
        session = sessions.session_of(rows, memory.agent.id, session_id)
    return masked(session.title) if session is not None else ""


def message_with_id(memory: AgentMemory, message_id: str) -> Message:
    """One message with its whole text; UsageError if there is none."""
    known = as_uuid(message_id)
    found = memory.recall.get([known]) if known else []
    if not found:
        raise UsageError("there is no such message", "it was forgotten, or the address is wrong")
    return replace(found[0], content=masked(found[0].content))


def erasure_of(
    memory: AgentMemory,
    *,
    session: str = "",
    project: str = "",
    before: datetime | None = None,
    message: str = "",
) -> Erasure:
    """What `RecallMemory.forget` would delete. Nothing is changed."""
    if not (session or project or before or message):
        raise UsageError("nothing says what to erase", "name a session, a project, a time or a message")
    if message and not as_uuid(message):
        raise UsageError("there is no such message", "it was forgotten, or the address is wrong")
    scope = Scope(memory.agent, project, session, until=before)
    with memory.engine.reading() as rows:
        doomed = messages.sequences_in(rows, scope, message)
        facts = messages.facts_at(rows, memory.agent.id, doomed)
        times = [one.created_at for one in facts]
        return Erasure(
            len(doomed),
            sum(one.role == "summary" for one in facts),
            profiles.count_facts_of(rows, memory.agent.id, [one.id for one in facts]),
            tuple(channels.names_of(rows, memory.agent.id, doomed)),
            min(times, default=None),
            max(times, default=None),
        )


def shown(message: Message, limit: int = SHOWN_CHARS) -> ShownMessage:
    """A message, masked and cut behind a line or a word."""
    chars = len(message.content)
    # What looks like a secret may begin before the cut and end behind it.
    text = masked(message.content[: limit + _BEHIND_CUT])
    is_cut = chars > limit
    return ShownMessage(replace(message, content=_cut(text, limit) if is_cut else text), chars, is_cut)


def marked(text: str, stems: Collection[str]) -> tuple[Piece, ...]:
    """A text in pieces: those that are marked are words with one of the stems."""
    from sage_code.text.lexemes import split_word
    from sage_code.text.stems import stem  # lazy: the stemmer

    found: list[Piece] = []
    done = 0
    for match in _WORD.finditer(text):
        if any(stem(lexeme) in stems for lexeme in split_word(match[0])):
            if match.start() > done:
                found.append(Piece(text[done : match.start()]))
            found.append(Piece(match[0], is_marked=True))
            done = match.end()
    return (*found, Piece(text[done:])) if done < len(text) else tuple(found)


def _answering(found: FoundMessage, stems: Collection[str]) -> Answering:
    """A result as a page shows it. If masking changes the message, only its passage is shown."""
    content = found.message.content
    whole, passage = masked(content), masked(content[found.start : found.end])
    lead, rest = (content[: found.start], content[found.end :]) if whole == content else ("", "")
    return Answering(
        replace(found.message, content=""),
        found.score,
        _tail(lead.rstrip(), _AROUND_CHARS),
        marked(passage.strip(), stems),
        _cut(rest.lstrip(), _AROUND_CHARS),
        _near(found.before),
        _near(found.after),
        found.plugins,
    )


def _near(message: Message | None) -> Message | None:
    if message is None:
        return None
    line = " ".join(masked(message.content)[: 4 * _NEAR_CHARS].split())
    return replace(message, content=line if len(line) <= _NEAR_CHARS else f"{_cut(line, _NEAR_CHARS)} …")


def _cut(text: str, limit: int) -> str:
    """The beginning of a text, up to a blank if there is one near the limit."""
    if len(text) <= limit:
        return text
    at = max(text.rfind(" ", limit - limit // 8, limit), text.rfind("\n", limit - limit // 8, limit))
    return text[: at if at > 0 else limit].rstrip()


def _tail(text: str, limit: int) -> str:
    """The end of a text, from a blank on if there is one near the limit."""
    if len(text) <= limit:
        return text
    start = len(text) - limit
    at = text.find(" ", start, start + limit // 8)
    return text[at + 1 if at > 0 else start :]
