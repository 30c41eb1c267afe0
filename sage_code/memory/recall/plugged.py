"""Where plugins change a search in memory: question and filters before, results after.

`where` is checkpoints, knowledge, messages or passages. The place that searches says what a row shows and how a memory
is found by its id, so that a plugin can add only what that search may see.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from sage_code.events.adapter import notes_about
from sage_code.events.asking import ask
from sage_code.events.events import EventType, SearchEvent
from sage_code.events.listening import bus_for

_Found = TypeVar("_Found")
# Plugins that lift results need candidates beyond those that are shown.
_TIMES, _LEAST_MORE = 3, 20


class Asked(NamedTuple):
    """A question after the plugins."""

    question: str
    filters: Mapping[str, Any]
    limit: int  # how many results they want to see
    notes: tuple[str, ...] = ()  # what they have changed, in words


def asked(
    where: str,
    question: str,
    filters: Mapping[str, Any],
    limit: int,
    check: Callable[[str, Mapping[str, Any]], None],
) -> Asked:
    """The question as the plugins want it; `check` raises if it cannot be asked with these filters."""
    more = max(limit * _TIMES, limit + _LEAST_MORE) if bus_for(EventType.POST_SEARCH) is not None else limit
    bus = bus_for(EventType.PRE_SEARCH)
    if bus is None:
        return Asked(question, filters, more)

    def settle(event: SearchEvent) -> None:
        for name, value in event.filters.items():
            if value != filters[name] and type(value) is not type(filters[name]):
                raise ValueError(f"the filter {name} is no {type(filters[name]).__name__}")
        if (event.query, event.filters) != (question, filters):
            check(event.query, event.filters)

    event = SearchEvent(EventType.PRE_SEARCH, where=where, query=question, filters=dict(filters))
    event = ask(bus, event, settle)
    return Asked(event.query, event.filters, more, notes_about(event))


class Results(Generic[_Found]):
    """How the results of one search are shown to plugins, and how theirs are understood."""

    def __init__(
        self,
        where: str,
        id_of: Callable[[_Found], str],
        row: Callable[[_Found], dict[str, Any]],
        changed: Callable[[_Found, float, tuple[str, ...]], _Found],
        find: Callable[[str], _Found | None],
    ) -> None:
        """`changed` gives a result another score and the notes about it, `find` the memory with an id, if it may be
        seen here."""
        self._where, self._id_of, self._row, self._changed, self._find = where, id_of, row, changed, find

    def answered(self, question: Asked, found: Sequence[_Found], limit: int) -> list[_Found]:
        """The results as plugins want them."""
        bus = bus_for(EventType.POST_SEARCH)
        known = {self._id_of(one): one for one in found}
        rows = {id_: {"id": id_, **self._row(one)} for id_, one in known.items()}
        scores = {id_: row["score"] for id_, row in rows.items()}
        if bus is None:
            return [self._noted(one, None, question.notes) for one in found[:limit]]

        def settle(event: SearchEvent) -> None:
            settled: dict[str, dict[str, Any]] = {}
            for given in event.results_found:
                id_ = given.get("id", "")
                if id_ not in known:
                    added = self._find(id_) if id_ else None
                    if added is None:
                        raise ValueError(f"an added result is {id_[:200]!r}, and there is no such memory here")
                    id_ = self._id_of(added)
                    known.setdefault(id_, added)
                    rows.setdefault(id_, {"id": id_, **self._row(added)})
                score = round(min(max(float(given.get("score", 0.0)), 0.0), 1.0), 4)
                # An unchanged score keeps its digits.
                score = scores[id_] if id_ in scores and round(scores[id_], 4) == score else score
                settled.setdefault(id_, {**rows[id_], "score": score})
            event.results_found = list(settled.values())

        event = SearchEvent(
            EventType.POST_SEARCH, where=self._where, query=question.question, results_found=list(rows.values())
        )
        event = ask(bus, event, settle)
        return [
            self._noted(known[row["id"]], row["score"], (*question.notes, *notes_about(event, row["id"])))
            for row in event.results_found[:limit]
        ]

    def _noted(self, one: _Found, score: float | None, notes: tuple[str, ...]) -> _Found:
        """A result with another score and notes, or itself if it has none of them."""
        before = self._row(one)["score"]
        return (
            one
            if score in (None, before) and not notes
            else self._changed(one, before if score is None else score, notes)
        )
