"""Where plugins change a search for code: its query and filters before, its results after.

What a plugin changes is checked as if it had been typed. An addition is a line of an indexed file; Sage reads what is
there itself. `response.query` stays what was typed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from sage_code.compiled.inventory import reading
from sage_code.events.adapter import notes_about
from sage_code.events.asking import ask
from sage_code.events.events import EventType, SearchEvent
from sage_code.events.listening import bus_for
from sage_code.files.inside import is_inside
from sage_code.search.query import Filters, Query, parse_query
from sage_code.search.results import Hit, SearchResponse
from sage_code.search.snippets import SearchOptions
from sage_code.search.wanted import check_paths, wanted_kinds, wanted_language

WHERE = "code"
# Plugins that lift results need candidates beyond those that are shown: so many times the limit, at least so many more.
_TIMES, _LEAST_MORE = 3, 20
_MAX_VALUES, _MAX_VALUE_CHARS = 100, 4_096
# What a plugin gets of a hit.
_SHOWN = ("file", "line", "start_line", "end_line", "kind", "name", "qualname", "language", "signature", "snippet")

# The hit at a line of a file of a project, with a score; None if there is no such line.
HitAt = Callable[[str, str, int, float], Hit | None]
# Raises UsageError unless there is a project of this name.
FindProject = Callable[[str], object]


class Asked(NamedTuple):
    """A query after the plugins."""

    query: Query
    notes: tuple[str, ...] = ()  # what they have changed, in words
    more: int = 0  # the candidates beyond the limit that they want to see


def asked(query: Query, limit: int, find_project: FindProject) -> Asked:
    """The query as the plugins want it."""
    more = max(limit * (_TIMES - 1), _LEAST_MORE) if bus_for(EventType.POST_SEARCH) is not None else 0
    bus = bus_for(EventType.PRE_SEARCH)
    if bus is None:
        return Asked(query, (), more)

    def settle(event: SearchEvent) -> None:
        _reparsed(query, event, find_project)

    given = {name: list(values) for name, values in query.filters._asdict().items()}
    event = ask(bus, SearchEvent(EventType.PRE_SEARCH, where=WHERE, query=query.text, filters=given), settle)
    return Asked(_reparsed(query, event, find_project), notes_about(event), more)


def _reparsed(query: Query, event: SearchEvent, find_project: FindProject) -> Query:
    """The query that an event asks for; UsageError or ValueError if it cannot be asked."""
    filters = Filters(**{name: _values(name, values) for name, values in event.filters.items()})
    if event.query == query.text and filters == query.filters:
        return query
    read = parse_query(event.query, filters)
    own = read.filters
    wanted_kinds(own.kinds)
    check_paths(own.paths)
    for name in own.languages:
        wanted_language(name, query.filters.languages)
    for name in set(own.projects).difference(query.filters.projects):
        find_project(name)
    return read._replace(asked=query.asked)


def _values(name: str, values: object) -> tuple[str, ...]:
    """The values of a filter."""
    several = [values] if isinstance(values, str) else values
    if not isinstance(several, list | tuple) or not all(isinstance(value, str) for value in several):
        raise ValueError(f"the filter {name} is no list of texts")
    if len(several) > _MAX_VALUES or any(len(value) > _MAX_VALUE_CHARS for value in several):
        raise ValueError(f"the filter {name} has more than {_MAX_VALUES} values, or one that is too long")
    return tuple(several)


def answered(
    response: SearchResponse, asked: Asked, options: SearchOptions, root: str, hit_at: HitAt
) -> SearchResponse:
    """The response as the plugins want it; `root` is that of the project which an addition is in unless it says so."""
    found, event = response.results, None
    if (bus := bus_for(EventType.POST_SEARCH)) is not None:
        rows = _Rows(response, root, hit_at)
        event = SearchEvent(EventType.POST_SEARCH, where=WHERE, query=asked.query.text, results_found=rows.all())
        event = ask(bus, event, rows.settle)
        found = rows.hits(event.results_found)
    shown = [
        _completed(hit, rank, response, notes_about(event, _id(hit)) if event and options.explain else ())
        for rank, hit in enumerate(found[: options.limit], 1)
    ]
    most = options.limit + options.more
    shown += [replace(hit, rank=rank) for rank, hit in enumerate(found[options.limit : most], options.limit + 1)]
    return replace(
        response,
        results=tuple(shown),
        good=response.good and bool(shown),
        truncated=response.truncated or len(found) > most,
        plugins=asked.notes if options.explain else (),
    )


def _completed(hit: Hit, rank: int, response: SearchResponse, plugins: tuple[str, ...]) -> Hit:
    """The hit with its lines, its rank and what was changed about it."""
    if hit.whole is None and hit.rank == rank and not plugins:
        return hit  # nearly all of them, and making another one of each takes as long as the plugin
    if hit.whole is not None:
        with reading(hit.root or response.root):
            hit = replace(hit.whole(), score=hit.score, project=hit.project, root=hit.root)
    return replace(hit, rank=rank, plugins=plugins)


def _id(hit: Hit) -> str:
    """What names a hit among the results of a search."""
    where = f"{hit.file}:{hit.line}"
    return f"{hit.root}/{where}" if hit.root else where


class _Rows:
    """The results as rows for plugins, and back."""

    def __init__(self, response: SearchResponse, root: str, hit_at: HitAt) -> None:
        self._known = {_id(hit): hit for hit in response.results}
        self._roots = {hit.root: hit.project for hit in response.results if hit.root}
        self._root, self._hit_at = response.root or root, hit_at
        self._given = [(id_, hit.score) for id_, hit in self._known.items()]

    def all(self) -> list[dict[str, Any]]:
        """The rows as Sage has found them."""
        return [_row(id_, hit, hit.score) for id_, hit in self._known.items()]

    def settle(self, event: SearchEvent) -> None:
        """Complete the rows of an event: of a known one its order and score count; others are additions."""
        if [(row.get("id"), row.get("score")) for row in event.results_found] == self._given:
            return
        settled: dict[str, dict[str, Any]] = {}
        for row in event.results_found:
            score = round(min(max(float(row.get("score", 0.0)), 0.0), 1.0), 4)
            id_ = row.get("id", "")
            if id_ not in self._known:
                added = self._added(row, score)
                id_ = _id(added)
                self._known.setdefault(id_, added)
            settled.setdefault(id_, _row(id_, self._known[id_], score))
        event.results_found = list(settled.values())

    def hits(self, rows: list[dict[str, Any]]) -> tuple[Hit, ...]:
        """The hits of settled rows."""
        found = ((self._known[row["id"]], row["score"]) for row in rows)
        return tuple(hit if hit.score == score else replace(hit, score=score) for hit, score in found)

    def _added(self, row: dict[str, Any], score: float) -> Hit:
        """The hit of an addition; ValueError unless it is a line of an indexed file."""
        file, line, root = row.get("file"), row.get("line"), row.get("root", self._root)
        if not isinstance(file, str) or isinstance(line, bool) or not isinstance(line, int):
            raise ValueError("an added result needs `file`, from the project's root, and `line`")
        if root != self._root and root not in self._roots:
            raise ValueError(f"an added result is in {root!r}, which was not searched")
        hit = self._hit_at(root, file, line, score) if is_inside(file) else None
        if hit is None:
            raise ValueError(f"an added result is {file[:200]}:{line}, and the index has no such line")
        return replace(hit, project=self._roots[root], root=root) if root in self._roots else hit


def _row(id_: str, hit: Hit, score: float) -> dict[str, Any]:
    row: dict[str, Any] = {"id": id_, "score": score}
    row.update((name, getattr(hit, name)) for name in _SHOWN)
    if hit.root:
        row |= {"project": hit.project, "root": hit.root}
    return row
