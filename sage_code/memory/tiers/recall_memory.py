"""Recall memory: every message of an agent's conversations, stored once, searched by words and meaning, forgotten.

A message is masked and made storable on its way in. Its words are indexed at once; its vectors too, or later
(`embed=False`), for a process that must not load NumPy. A search first makes up for a bounded number of vectors.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from sage_code.errors import Busy, UsageError
from sage_code.memory.tiers.engines.protocol import Engine, Part, Transaction
from sage_code.memory.tiers.message_ids import new_id
from sage_code.memory.tiers.ranking.parts import parts, words_of_text
from sage_code.memory.tiers.storable import storable, storable_all
from sage_code.memory.tiers.tables import agents, channels, messages, profiles, sessions
from sage_code.memory.tiers.values import ROLES, Agent, Message, NewMessage, Scope, Session, now
from sage_code.paths import anybody_listens
from sage_code.settings.table import Settings
from sage_code.text.masking import mask, mask_all
from sage_code.text.tokens import count_tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sage_code.memory.tiers.message_search import FoundMessage

# Longer messages carry data; a caller with such a text cuts it into several.
MAX_CHARS = 1_000_000
# Vectors that a search makes before it answers: about a tenth of a second.
_MAKE_UP = 1_000
_BATCH = 1_000
_MAX_NAME_CHARS = 1_000
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was deleted, or would be."""

    messages: int = 0
    sessions: int = 0


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A message on its way in, with what is derived from it."""

    message: NewMessage
    created: datetime
    words: str
    is_given: bool  # whether the caller has chosen its id, so that it may be stored already


class RecallMemory:
    """The conversations of one agent; no method reads or changes rows of another one."""

    def __init__(self, engine: Engine, agent: Agent, settings: Settings) -> None:
        self.engine, self.agent, self.settings = engine, agent, settings
        self._has_model = False

    def add(
        self,
        new: Sequence[NewMessage],
        *,
        project: str = "",
        channel: str = "",
        title: str = "",
        source: str = "api",
        embed: bool = True,
        also: Callable[[Transaction], None] | None = None,
    ) -> list[str]:
        """Store messages in one transaction; returns the ids of those that were new.

        Project, channel, title and source are noted with their sessions. `also` runs in the same transaction.
        """
        given = [message.id for message in new if message.id]
        if wrong := [id_ for id_ in given if _UUID.fullmatch(id_) is None]:
            raise UsageError(f"{wrong[0][:80]!r} is no id of a message", "give a UUID in lower case, or none")
        with self.engine.reading() as rows:
            known = messages.known_ids(rows, given) if given else set()
        prepared = [self._prepared(message) for message in new if message.id not in known]
        vectors = self._vectors(prepared) if embed else {}
        facts = {"project": project, "channel": channel, "title": title, "source": source}
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            stored = self._store(rows, prepared, vectors, facts)
            if also is not None:
                also(rows)
        return [one.message.id for one in stored]

    def _prepared(self, message: NewMessage) -> _Prepared:
        """A message with everything that a row needs; UsageError for one that cannot be stored."""
        if message.role not in ROLES:
            raise UsageError(f"there is no role {message.role[:80]!r}", f"one of {', '.join(ROLES)}")
        if len(message.content) > MAX_CHARS:
            raise UsageError(f"a message has at most {MAX_CHARS:,} characters", "cut it into several")
        content = storable(mask(message.content)[0])
        created = message.created_at or now()
        complete = NewMessage(
            message.role,
            content,
            message.id or new_id(),
            storable(message.session)[:_MAX_NAME_CHARS],
            created,
            storable(message.speaker)[:_MAX_NAME_CHARS],
            storable(message.tool_name)[:_MAX_NAME_CHARS],
            count_tokens(content) if message.tokens is None else message.tokens,
            storable_all(mask_all(dict(message.metadata), [])) if message.metadata else {},
        )
        return _Prepared(complete, created, words_of_text(content), bool(message.id))

    def _store(
        self,
        rows: Transaction,
        prepared: Sequence[_Prepared],
        vectors: dict[str, NDArray[np.float32]],
        facts: dict[str, str],
    ) -> list[messages.Stored]:
        """Store rows, words and vectors, and count them."""
        given = [one.message.id for one in prepared if one.is_given]
        known = messages.known_ids(rows, given)
        new = {one.message.id: one for one in prepared if one.message.id not in known}
        times: dict[str, list[datetime]] = {}
        for one in new.values():
            times.setdefault(one.message.session, []).append(one.created)
        made = sessions.make_sessions(rows, self.agent.id, {name: min(all_) for name, all_ in times.items()}, **facts)
        every = messages.insert_messages(
            rows, self.agent.id, [(made[one.message.session].number, one.message) for one in new.values()]
        )
        sessions.count_sessions(rows, {made[name].number: some for name, some in times.items()})
        words = {id_: one.words for id_, one in new.items()}
        self._wait_for_summaries(rows, every, made)
        if every:
            self.engine.add_words(rows, "message", [(one.sequence, words[one.message.id]) for one in every])
            self._add_vectors(rows, [(one.sequence, self.agent.number, vectors.get(one.message.id)) for one in every])
            counted = sum(words[one.message.id].count(" ") + 1 for one in every)
            agents.count_messages(rows, self.agent.id, len(every), counted)
        return every

    def _wait_for_summaries(
        self, rows: Transaction, every: Sequence[messages.Stored], made: Mapping[str, sessions.MadeSession]
    ) -> None:
        """Note in the channels of sessions that something was said there."""
        said: Counter[str] = Counter()
        for one in every:
            if one.message.role in channels.SAID:
                session = made[one.message.session]
                said[channels.channel_name(session.channel, session.project)] += 1
        for name, count in said.items():
            channels.add_waiting(rows, self.agent.id, name, count, now())

    def _vectors(self, prepared: Sequence[_Prepared]) -> dict[str, NDArray[np.float32]]:
        """The vectors of the parts of each message, by its id."""
        vectors = self._embedded([one.message.content for one in prepared])
        return {one.message.id: found for one, found in zip(prepared, vectors, strict=True)}

    def _embedded(self, contents: Sequence[str]) -> Iterator[NDArray[np.float32]]:
        """The vectors of the parts of each text."""
        from sage_code.memory.index.prose_embedder import prose_embedder  # lazy: NumPy, perhaps a large model

        embedder = prose_embedder(self.settings)
        if not self._has_model:
            self.engine.use_model(embedder.name, embedder.dim)
            self._has_model = True
        spans = [parts(content) for content in contents]
        vectors = embedder.embed_code(
            [content[a:b] for content, of in zip(contents, spans, strict=True) for a, b in of]
        )
        start = 0
        for of in spans:
            yield vectors[start : start + len(of)]
            start += len(of)

    def _add_vectors(self, rows: Transaction, some: Sequence[tuple[int, int, NDArray[np.float32] | None]]) -> None:
        """Index the vectors of rows (sequence, number of the agent, vectors), or note that they have none yet."""
        if missing := [sequence for sequence, _, vectors in some if vectors is None]:
            messages.mark_unembedded(rows, missing)
        found = [(sequence, agent, vectors) for sequence, agent, vectors in some if vectors is not None]
        if found:
            import numpy as np  # lazy: see the module docstring

            of = [Part(sequence, agent) for sequence, agent, vectors in found for _ in vectors]
            self.engine.add_vectors(rows, "message", of, np.concatenate([vectors for _, _, vectors in found]))

    def catch_up(self, limit: int | None = None, progress: Callable[[int], None] | None = None) -> int:
        """Make vectors for messages that have none yet, of all agents; returns how many."""
        done = 0
        while limit is None or done < limit:
            with self.engine.reading() as rows:
                waiting = messages.unembedded(rows, min(_BATCH, (limit or _BATCH) - (done if limit else 0)))
            if not waiting:
                break
            vectors = list(self._embedded([content for _, _, content in waiting]))
            with self.engine.writing() as rows:
                # Another process may have made some of them, or deleted their messages.
                own = messages.claim_unembedded(rows, [sequence for sequence, _, _ in waiting])
                pairs = zip(waiting, vectors, strict=True)
                self._add_vectors(rows, [(one, agent, found) for (one, agent, _), found in pairs if one in own])
            done += len(waiting)
            if progress is not None:
                progress(done)
        return done

    def search(
        self,
        query: str,
        limit: int = 5,
        *,
        project: str = "",
        session: str = "",
        role: str = "",
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[FoundMessage]:
        """The messages that answer a question best, each with its best passage and what was said around it."""
        if limit < 1:
            raise UsageError("the limit must be at least 1", "ask for one result or more")
        if role and role not in ROLES:
            raise UsageError(f"there is no role {role[:80]!r}", f"one of {', '.join(ROLES)}")
        scope = Scope(self.agent, storable(project), storable(session), role, since, until)
        if not anybody_listens():
            return self._search(storable(query), limit, scope)
        from sage_code.memory.tiers.plugged_search import plugged_messages  # lazy: most users have no plugins

        return plugged_messages(self._search, self.get, storable(query), limit, scope)

    def _search(self, query: str, limit: int, scope: Scope) -> list[FoundMessage]:
        """The answer without plugins."""
        from sage_code.memory.index.prose_embedder import prose_embedder  # lazy: NumPy, perhaps a large model
        from sage_code.memory.tiers.message_search import search_messages

        embedder = prose_embedder(self.settings)
        with suppress(Busy):  # another process writes: what has no vectors yet is found by its words
            if not self._has_model:
                self.engine.use_model(embedder.name, embedder.dim)
                self._has_model = True
        with self.engine.reading() as rows:
            if not messages.unembedded(rows, 1):  # nearly always: then one transaction is enough
                return search_messages(self.engine, rows, scope, query, embedder, limit, now())
        with suppress(Busy):
            self.catch_up(_MAKE_UP)
        with self.engine.reading() as rows:
            return search_messages(self.engine, rows, scope, query, embedder, limit, now())

    def count(self) -> int:
        """How many messages are stored."""
        with self.engine.reading() as rows:
            agent = agents.agent_with_id(rows, self.agent.id)
        return agent.message_count if agent is not None else 0

    def sessions(self, *, project: str = "", since: datetime | None = None, limit: int = 50) -> list[Session]:
        """The sessions, the last used first."""
        with self.engine.reading() as rows:
            return sessions.sessions_of(rows, self.agent.id, project=project, since=since, limit=limit)

    def messages(self, session: str, *, limit: int | None = None, newest: bool = False) -> list[Message]:
        """The messages of a session, oldest first; with `newest` the last ones."""
        with self.engine.reading() as rows:
            return messages.messages_of_session(rows, self.agent.id, session, limit=limit, newest=newest)

    def get(self, ids: Sequence[str]) -> list[Message]:
        """The messages with these ids, in this order; unknown ones are left out."""
        with self.engine.reading() as rows:
            found = messages.messages_with_ids(rows, self.agent.id, ids)
        return [found[id_] for id_ in ids if id_ in found]

    def forget(
        self,
        *,
        session: str = "",
        project: str = "",
        before: datetime | None = None,
        message: str = "",
        everything: bool = False,
        dry_run: bool = False,
    ) -> Forgotten:
        """Delete messages for good: rows, words, vectors, summaries that were made of them, and facts about people.

        Whole sessions (one, those of a project, or all) go with their entries and the state of their task.
        """
        if not (session or project or before or message or everything):
            raise UsageError(
                "nothing says what to forget", "name a session, a project, a time, a message, or everything"
            )
        scope = Scope(self.agent, project, session, until=before)
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            doomed = messages.sequences_in(rows, scope, message)
            done = Forgotten(len(doomed), 0)
            if not dry_run:
                channels.forget_summaries(rows, self.agent.id, doomed, now())
                profiles.forget_facts_of(rows, self.agent.id, doomed)
                self.engine.remove(rows, "message", doomed)
                agent = agents.agent_with_id(rows, self.agent.id) or self.agent
                done = replace(done, sessions=messages.delete_messages(rows, agent, doomed))
                if not (before or message):
                    done = replace(done, sessions=done.sessions + sessions.delete_whole(rows, scope))
        if (done.messages or done.sessions) and not dry_run:
            self.engine.erase()
        return done
