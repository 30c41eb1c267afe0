"""The neighbourhood of a definition: who calls it and what it calls, further where somebody asks for more.

Nodes lie in layers: callers on the left of what they call, callees on its right. A node is opened towards one side at a
time, and the first answer opens the centre to both. Only stored references are read, so that an answer takes
milliseconds: what the text of the files adds (functions handed on in macros, and the like) is part of `related`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sage_code.compiled.inventory import reading
from sage_code.languages.kinds import TEXT_KINDS
from sage_code.views.graph.kept_resolver import kept_resolver
from sage_code.xref import answers
from sage_code.xref.compiled_graph import CompiledGraph
from sage_code.xref.graph import Definition
from sage_code.xref.resolve import DEFAULT_CONFIDENCE, Resolver
from sage_code.xref.views import FUNCTION_LIKE

Side: TypeAlias = Literal["callers", "callees"]
# A picture with more is not read any more.
MAX_NODES = 200
# What a side shows at first; the rest is one step away.
FIRST_NODES = 16
# People wait so long for a picture.
DEFAULT_SECONDS = 2.0
_ID_CHARS = 10
_SIDE_OF = {"c": "callers", "e": "callees"}
_LETTER_OF: dict[Side, str] = {"callers": "c", "callees": "e"}


@dataclass(frozen=True, slots=True)
class Opened:
    """A side of a node that somebody has opened: the first nodes of it, or as many as there is room for."""

    node: str
    side: Side
    is_whole: bool = False

    def __str__(self) -> str:
        letter = _LETTER_OF[self.side]
        return f"{letter.upper() if self.is_whole else letter}{self.node}"


@dataclass(frozen=True, slots=True)
class Node:
    """A definition, or the top of a file (its qualified name is empty)."""

    id: str  # of file and qualified name: the same in every answer
    file: str
    line: int
    kind: str
    qualname: str
    layer: int  # 0: the centre, negative: it calls, positive: it is called
    open_sides: tuple[Side, ...] = ()
    ends: tuple[Side, ...] = ()  # the opened sides on which there is nothing


@dataclass(frozen=True, slots=True)
class Edge:
    """One node calls another one, or hands it on as a value."""

    source: str
    target: str
    kind: str  # call value
    confidence: float
    count: int  # in how many lines
    line: int  # the first of them, in the file of the source
    why: str


@dataclass(frozen=True, slots=True)
class More:
    """What an opened side has beyond the nodes that are shown."""

    node: str
    side: Side
    layer: int
    count: int


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The nodes around a centre, their edges, and what is left out."""

    centre: str  # the id of its node
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    more: tuple[More, ...]
    opened: tuple[Opened, ...]  # what was asked for and found
    is_full: bool  # there are as many nodes as fit, so that some are not shown even if asked for
    is_complete: bool  # False: the time was over


@dataclass(frozen=True, slots=True)
class _Neighbour:
    """A definition beside another one, before it is known whether there is room for it."""

    definition: Definition | None  # None: the top of a file
    file: str
    line: int
    qualname: str
    kind: str
    relation: str  # call value
    confidence: float
    count: int
    first_line: int
    why: str


def parse_opened(text: str) -> tuple[Opened, ...]:
    """What an address says is opened; what is not understood is left out."""
    found = {}
    for word in text.split("."):
        side, node = _SIDE_OF.get(word[:1].lower()), word[1:]
        if side is not None and node.isalnum():
            found[side, node] = Opened(node, "callers" if side == "callers" else "callees", word[0].isupper())
    return tuple(found.values())


def node_id(file: str, qualname: str) -> str:
    """A short name of a definition for addresses."""
    return hashlib.sha256(f"{file}\0{qualname}".encode("utf-8", "surrogatepass")).hexdigest()[:_ID_CHARS]


def centres(root: str, name: str, file: str = "") -> list[Definition]:
    """The definitions in code that a bare or qualified name may mean, each once; all of them, or those of a file."""
    with reading(root):
        found = CompiledGraph(root).definitions(name)
    kept = {one.key: one for one in reversed(found) if one.symbol.kind not in TEXT_KINDS}
    return [one for key, one in reversed(kept.items()) if not file or key[0] == file]


def neighbourhood(
    root: str,
    centre: Definition,
    opened: Iterable[Opened] = (),
    *,
    min_confidence: float = DEFAULT_CONFIDENCE,
    seconds: float = DEFAULT_SECONDS,
    most: int = MAX_NODES,
) -> Neighbourhood:
    """The neighbourhood of a definition, with what was opened, in the order in which it was opened."""
    with reading(root):
        asked = {(one.node, one.side): one for one in opened}
        with kept_resolver(root, seconds) as resolver:
            walk = _Walk(resolver, centre, min_confidence, most)
            both: tuple[Side, ...] = ("callers", "callees")
            first = {(walk.centre, side): Opened(walk.centre, side) for side in both}
            for one in (first | asked).values():
                walk.open(one)
            return walk.result()


class _Walk:
    """One neighbourhood while it is made."""

    def __init__(self, resolver: Resolver, centre: Definition, least: float, most: int) -> None:
        self._graph, self._resolver = resolver.graph, resolver
        self._least, self._most = least, most
        self.centre = node_id(*centre.key)
        symbol = centre.symbol
        self._nodes = {self.centre: Node(self.centre, centre.file, symbol.line, symbol.kind, symbol.qualname, 0)}
        self._definitions: dict[str, Definition] = {self.centre: centre}
        self._edges: dict[tuple[str, str], Edge] = {}
        self._more: list[More] = []
        self._opened: list[Opened] = []
        self._empty: set[tuple[str, Side]] = set()
        self._is_full = False

    def open(self, asked: Opened) -> None:
        """Add the neighbours of a node on one side, as far as there is room and time."""
        definition = self._definitions.get(asked.node)
        if definition is None:
            return  # its own neighbour was closed, or it is the top of a file
        self._opened.append(asked)
        found = self._callers(definition) if asked.side == "callers" else self._callees(definition)
        if not found:
            self._empty.add((asked.node, asked.side))
        layer = self._nodes[asked.node].layer + (-1 if asked.side == "callers" else 1)
        shown, left = 0, 0
        for one in found:
            id_ = node_id(one.file, one.qualname)
            if id_ not in self._nodes:
                if not asked.is_whole and shown >= FIRST_NODES:
                    left += 1
                    continue
                if len(self._nodes) >= self._most:
                    self._is_full, left = True, left + 1
                    continue
                shown += 1
                self._nodes[id_] = Node(id_, one.file, one.line, one.kind, one.qualname, layer)
                if one.definition is not None:
                    self._definitions[id_] = one.definition
            source, target = (id_, asked.node) if asked.side == "callers" else (asked.node, id_)
            how = (one.relation, one.confidence, one.count, one.first_line, one.why)
            self._edges[source, target] = Edge(source, target, *how)
        if left:
            self._more.append(More(asked.node, asked.side, layer, left))

    def result(self) -> Neighbourhood:
        """What was found: nodes by layer, in the order in which they were found."""
        sides: dict[str, list[Side]] = {id_: [] for id_ in self._nodes}
        for one in self._opened:
            sides[one.node].append(one.side)
        nodes = [
            Node(
                node.id, node.file, node.line, node.kind, node.qualname, node.layer, tuple(sides[node.id]),
                tuple(side for side in sides[node.id] if (node.id, side) in self._empty),
            )
            for node in self._nodes.values()
        ]  # fmt: skip
        nodes.sort(key=lambda node: node.layer)
        edges = tuple(self._edges.values())
        more, opened = tuple(self._more), tuple(self._opened)
        complete = not self._resolver.ran_out
        return Neighbourhood(self.centre, tuple(nodes), edges, more, opened, self._is_full, complete)

    def _callers(self, definition: Definition) -> list[_Neighbour]:
        """The definitions and files that call it, the most certain first."""
        by_scope: dict[tuple[str, str], list[answers.Usage]] = {}
        for usage in answers.references(self._resolver, definition, self._least):
            is_value = usage.kind == "use" and definition.symbol.kind in FUNCTION_LIKE
            if usage.kind == "call" or is_value:
                by_scope.setdefault((usage.file, usage.scope), []).append(usage)
        return _sorted(self._caller(file, scope, usages) for (file, scope), usages in by_scope.items())

    def _caller(self, file: str, scope: str, usages: Sequence[answers.Usage]) -> _Neighbour:
        best = max(usages, key=lambda usage: (usage.kind == "call", usage.confidence))
        relation = "call" if best.kind == "call" else "value"
        first = min(usage.line for usage in usages)
        symbol = next((one for one in self._graph.file_symbols(file) if one.qualname == scope), None) if scope else None
        definition = Definition(file, self._graph.file_language(file), symbol) if symbol else None
        line, what = (symbol.line, symbol.kind) if symbol else (first, "file" if not scope else "scope")
        how = (relation, best.confidence, len(usages), first, best.why)
        return _Neighbour(definition, file, line, scope, what, *how)

    def _callees(self, definition: Definition) -> list[_Neighbour]:
        """The definitions that are called in it or in what it defines, the most certain first."""
        qualname = definition.symbol.qualname
        calls: dict[tuple[str, str], list[tuple[int, float, str, Definition]]] = {}
        for reference in self._graph.file_references(definition.file):
            is_inside = reference.scope == qualname or reference.scope.startswith(f"{qualname}.")
            if reference.kind != "call" or not is_inside:
                continue
            if not self._resolver.in_time():
                break
            for target in self._resolver.targets(definition.file, reference):
                if target.confidence >= self._least:
                    row = (reference.line, target.confidence, target.why, target.definition)
                    calls.setdefault(target.definition.key, []).append(row)
        found = []
        for (file, name), rows in calls.items():
            _, confidence, why, called = max(rows, key=lambda row: row[1])
            first, symbol = min(row[0] for row in rows), called.symbol
            how = ("call", confidence, len(rows), first, why)
            found.append(_Neighbour(called, file, symbol.line, name, symbol.kind, *how))
        return _sorted(found)


def _sorted(found: Iterable[_Neighbour]) -> list[_Neighbour]:
    """The most certain first, then by place: with too many, the same ones are always left out."""
    return sorted(found, key=lambda one: (-one.confidence, one.file, one.line, one.qualname))
