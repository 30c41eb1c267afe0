"""Summary memory: which messages are in an agent's context, and how the oldest of them become a summary.

A compaction keeps the system messages and the newest messages, and puts one summary in the place of the rest. It
deletes nothing: recall memory keeps every message, and the summary's metadata name the context from before
(`previous_ids`) and the messages that it stands for (`summary_of`), so that it can be undone, one compaction after
another, and hold its structure (`summary`), which the next compaction merges. A summary is a message of its own
session, so that it is nobody's neighbour in a conversation.

A tool call and its result stay together. A message of an assistant names its calls as metadata `tool_calls` (ids, or
mappings with an `id`), a result names its call as `tool_call_id`; messages of role `tool` directly behind one of an
assistant belong to it, named or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

from sage_code.errors import Conflict, UsageError
from sage_code.memory.context.choosing import summariser_of, with_fallback
from sage_code.memory.context.summary import SUMMARY_WORDS, StructuredSummary, Summariser
from sage_code.memory.tiers.storable import storable, storable_all
from sage_code.memory.tiers.tables import agents, messages, summaries
from sage_code.memory.tiers.values import Agent, Message, NewMessage
from sage_code.settings.table import Settings
from sage_code.text.masking import mask

if TYPE_CHECKING:
    from sage_code.memory.tiers.engines.protocol import Engine, Transaction
    from sage_code.memory.tiers.recall_memory import RecallMemory

# The session that summaries belong to, and where they come from.
SUMMARIES = "summaries"
# The newest messages that stay, as a share of the context, or of the window if that is smaller: a compaction frees
# more than half of the window, so it is rare, and what the agent works on right now is still there word for word.
KEPT_SHARE = 0.30
# At least the last two exchanges stay, unless they alone fill more than this share of the window.
LEAST_KEPT, _MOST_SHARE = 4, 0.60


class SummaryMemory:
    """The context of one agent, and its compaction."""

    def __init__(
        self,
        engine: Engine,
        agent: Agent,
        settings: Settings,
        recall: RecallMemory,
        summariser: Summariser | None = None,
    ) -> None:
        self.engine, self.agent, self.settings, self.recall = engine, agent, settings, recall
        self.summariser = with_fallback(summariser) if summariser is not None else summariser_of(settings)

    def message_ids(self) -> tuple[str, ...]:
        """The messages in the context, oldest first."""
        with self.engine.reading() as rows:
            return self._ids(rows)

    def set_message_ids(self, ids: Sequence[str]) -> None:
        """Say which messages are in the context; UsageError unless all are messages of this agent."""
        wanted = tuple(dict.fromkeys(_checked(id_) for id_ in ids))
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            known = messages.messages_with_ids(rows, self.agent.id, wanted)
            missing = [id_ for id_ in wanted if id_ not in known]
            if missing:
                raise UsageError(f"this agent has no message {missing[0]}", "add the message first")
            agents.set_message_ids(rows, self.agent.id, wanted)

    def add(self, new: Sequence[NewMessage], *, project: str = "", channel: str = "") -> list[str]:
        """Store messages and append them to the context, in one transaction; returns their ids.

        A message that is stored already is not stored again, and not added twice to the context.
        """
        named = [_with_id(message) for message in new]

        def append(rows: Transaction) -> None:
            before = self._ids(rows)
            present = set(before)
            wanted = [message.id for message in named if message.id not in present]
            own = messages.messages_with_ids(rows, self.agent.id, wanted)  # an id may be another agent's
            agents.set_message_ids(rows, self.agent.id, (*before, *(id_ for id_ in wanted if id_ in own)))

        self.recall.add(named, project=project, channel=channel, also=append)
        return [message.id for message in named]

    def context(self) -> list[Message]:
        """The messages in the context, oldest first."""
        with self.engine.reading() as rows:
            return self._loaded(rows, self._ids(rows))

    def tokens(self) -> int:
        """The tokens of the messages in the context."""
        return sum(message.tokens for message in self.context())

    def needs_compaction(self, current_tokens: int | None = None) -> bool:
        """Whether a context of so many tokens, or the messages in it, reaches the setting `compaction_threshold`."""
        tokens = self.tokens() if current_tokens is None else current_tokens
        return tokens >= self.settings.compaction_threshold * self.settings.memory_window

    def compact(self, max_words: int = SUMMARY_WORDS) -> Message | None:
        """Replace the oldest messages of the context by a summary; returns it, or None if there is nothing to replace.

        Messages that are added meanwhile stay. If another process compacts meanwhile, Conflict, and nothing is changed.
        """
        with self.engine.reading() as rows:
            ids = self._ids(rows)
            known = self._loaded(rows, ids)
        cut = cut_of(known, self.settings.memory_window)
        replaced = [message for message in known[:cut] if message.role != "system"]
        if all(message.role == "summary" for message in replaced):
            return None
        previous = _summary_in(replaced)
        told = [message for message in replaced if previous is None or message.id != previous[0]]
        summary = self.summariser.summarise(told, max_words, previous[1] if previous is not None else None)
        metadata: dict[str, Any] = {
            "summary_of": [message.id for message in replaced],
            "previous_ids": list(ids),
            "summariser": summary.by,
            # What the next compaction merges: decisions and open questions outlive the text.
            "summary": _masked(storable_all(summary.to_json())),
        }
        if summary.problem:
            metadata["problem"] = storable(summary.problem)
        new = NewMessage("summary", summary.text, str(uuid4()), SUMMARIES)
        system = [message.id for message in known[:cut] if message.role == "system"]
        kept = [message.id for message in known[cut:]]

        def swap(rows: Transaction) -> None:
            present = self._ids(rows)
            if present[: len(ids)] != ids:
                raise Conflict("the context was changed meanwhile; nothing was compacted", "look at it and try again")
            agents.set_message_ids(rows, self.agent.id, (*system, new.id, *kept, *present[len(ids) :]))
            # Here and not with the message: masking looks at each of thousands of ids, which takes seconds.
            summaries.set_metadata(rows, self.agent.id, new.id, metadata)

        self.recall.add([new], source="summary", embed=False, also=swap)
        return self.recall.get([new.id])[0]

    def undo(self) -> Message:
        """Put the context back to what it was before the last compaction, with what was added since.

        Returns the summary that has left the context; it stays stored.
        """
        with self.engine.writing() as rows:
            rows.lock_agent(self.agent.id)
            present = self._ids(rows)
            known = self._loaded(rows, present)
            summary = next((one for one in reversed(known) if one.role == "summary" and _previous(one)), None)
            if summary is None:
                raise UsageError("the context has no compaction to undo", "it holds no summary")
            before = _previous(summary)
            still = messages.messages_with_ids(rows, self.agent.id, before)  # some may be forgotten
            known_before = {summary.id, *before}
            added = [id_ for id_ in present if id_ not in known_before]
            agents.set_message_ids(rows, self.agent.id, (*(id_ for id_ in before if id_ in still), *added))
        return summary

    def _ids(self, rows: Transaction) -> tuple[str, ...]:
        agent = agents.agent_with_id(rows, self.agent.id)
        return agent.message_ids if agent is not None else ()

    def _loaded(self, rows: Transaction, ids: Sequence[str]) -> list[Message]:
        found = messages.messages_with_ids(rows, self.agent.id, ids)
        return [found[id_] for id_ in ids if id_ in found]


def cut_of(context: Sequence[Message], window: int) -> int:
    """Where a context is cut: the messages from there on stay. 0 if it cannot be cut."""
    inseparable = _inseparable(context)
    places = [place for place in range(1, len(context)) if place not in inseparable]
    if not places:
        return 0
    tokens = {len(context): 0}  # from each place to the end
    for place in range(len(context) - 1, -1, -1):
        tokens[place] = tokens[place + 1] + context[place].tokens
    room = KEPT_SHARE * min(window, tokens[0])
    cut = min((place for place in places if tokens[place] <= room), default=places[-1])
    least = max(place for place in [0, *places] if place <= max(len(context) - LEAST_KEPT, 0))
    return least if least < cut and tokens[least] <= _MOST_SHARE * window else cut


def _inseparable(context: Sequence[Message]) -> set[int]:
    """The places where a cut would separate a tool call from its result."""
    found: set[int] = set()
    calls: dict[str, int] = {}
    in_group = False
    for place, message in enumerate(context):
        if message.role == "tool":
            if in_group:
                found.add(place)
            call = calls.get(str(message.metadata.get("tool_call_id") or ""))
            if call is not None:
                found.update(range(call + 1, place + 1))
        else:
            in_group = message.role == "assistant"
            calls.update(dict.fromkeys(_calls(message), place))
    return found


def _calls(message: Message) -> list[str]:
    """The ids of the tool calls in a message."""
    given = message.metadata.get("tool_calls")
    items = given if isinstance(given, list | tuple) else []
    return [str(item.get("id", "")) if isinstance(item, Mapping) else str(item) for item in items]


def _summary_in(replaced: Sequence[Message]) -> tuple[str, StructuredSummary] | None:
    """The last message that is a summary with its structure: its id, and the structure."""
    for message in reversed(replaced):
        given = message.metadata.get("summary")
        if message.role == "summary" and isinstance(given, Mapping):
            return message.id, StructuredSummary.from_json(given)
    return None


def _masked(value: Any) -> Any:
    """A value of JSON with masked texts. Ids are left as they are: there are many, and they are no words."""
    if isinstance(value, str):
        return mask(value)[0]
    if isinstance(value, Mapping):
        return {key: item if key == "message_ids" else _masked(item) for key, item in value.items()}
    return [_masked(item) for item in value] if isinstance(value, list) else value


def _previous(summary: Message) -> list[str]:
    given = summary.metadata.get("previous_ids")
    return [str(id_) for id_ in given] if isinstance(given, list) else []


def _with_id(message: NewMessage) -> NewMessage:
    return replace(message, id=_checked(message.id) if message.id else str(uuid4()))


def _checked(id_: str) -> str:
    try:
        return str(UUID(id_))
    except (ValueError, AttributeError, TypeError):
        raise UsageError(f"{str(id_)[:80]!r} is no id of a message", "an id is a UUID") from None
