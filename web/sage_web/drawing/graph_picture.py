"""The picture of a neighbourhood: what its boxes and lines say, where they lie and where they lead.

Everything is plain text and numbers; a template writes it as SVG, and the same as a nested list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sage_code.text.escaping import one_line
from sage_web.drawing.layers import Box, Layout, Spacing, layered
from sage_web.templating import address, plural, quoted_path

if TYPE_CHECKING:
    from sage_code.views.graph.neighbourhood import Edge, Neighbourhood, Node, Opened, Side

# The widths of characters in the type that graph.css sets, with a little to spare.
_NAME_CHAR, _PLACE_CHAR = 7.6, 6.7
_NAME_CHARS, _PLACE_CHARS = 32, 36
_PADDING, _LEAST_WIDTH = 30.0, 110.0
_HEIGHT, _MORE_HEIGHT = 44.0, 30.0
# How far a button on the left edge reaches before it.
_BUTTON = 11.0
# A line that is less certain is dashed.
SURE = 0.8
_MOST_STROKE = 4.0


@dataclass(frozen=True, slots=True)
class Button:
    """What opens or closes a side of a node."""

    href: str
    label: str
    sign: str  # + or -
    side: str  # left or right


@dataclass(frozen=True, slots=True)
class Shape:
    """A box: a definition, or (`is_more`) how many more there are."""

    id: str
    number: int
    x: float
    y: float
    width: float
    height: float
    name: str
    place: str
    title: str
    kind: str
    href: str
    centre_href: str = ""
    button: Button | None = None
    is_centre: bool = False
    is_more: bool = False
    is_end: bool = False  # it was opened, and nobody is there


@dataclass(frozen=True, slots=True)
class Curve:
    """A line between two boxes."""

    path: str
    source: int
    target: int
    title: str
    is_sure: bool
    is_value: bool
    stroke: float


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of the list: a shape, how it is related to the row above it, and what is below it."""

    shape: Shape
    relation: str
    entries: tuple[Entry, ...] = ()
    is_above: bool = False  # it is listed above, with what belongs to it


@dataclass(frozen=True, slots=True)
class Picture:
    """A neighbourhood, drawn and listed."""

    width: float
    height: float
    shapes: tuple[Shape, ...]
    curves: tuple[Curve, ...]
    callers: tuple[Entry, ...]
    callees: tuple[Entry, ...]


def picture(slug: str, shown: Neighbourhood) -> Picture:
    """The picture of a neighbourhood in the project of an address."""
    made = _Picture(slug, shown)
    return made.result()


class _Picture:
    """A picture while it is made."""

    def __init__(self, slug: str, shown: Neighbourhood) -> None:
        self._base, self._shown = f"/p/{slug}", shown
        self._nodes = {node.id: node for node in shown.nodes}
        self._centre = self._nodes[shown.centre]
        self._shapes = {node.id: self._shape(node) for node in shown.nodes}
        for more in shown.more:
            self._shapes[_more_id(more.node, more.side)] = self._more(more.node, more.side, more.count)

    def result(self) -> Picture:
        """Place everything."""
        layers = {node.id: node.layer for node in self._shown.nodes}
        layers |= {_more_id(more.node, more.side): more.layer for more in self._shown.more}
        widest: dict[int, float] = {}
        for id_, shape in self._shapes.items():
            widest[layers[id_]] = max(widest.get(layers[id_], _LEAST_WIDTH), shape.width)
        boxes = [
            Box(id_, layers[id_], widest[layers[id_]], one.height, _BUTTON if _has_left_button(one) else 0.0)
            for id_, one in self._shapes.items()
        ]
        lines = [(edge.source, edge.target) for edge in self._shown.edges]
        tied = [_tie(more.node, more.side) for more in self._shown.more]
        layout = layered(boxes, [*lines, *tied], Spacing())
        self._place(layout)
        curves = [self._curve(edge, line.path) for edge, line in zip(self._shown.edges, layout.lines, strict=False)]
        centre = self._centre.id
        return Picture(
            layout.width,
            layout.height,
            tuple(self._shapes.values()),
            tuple(curves),
            self._entries(centre, "callers", {centre}),
            self._entries(centre, "callees", {centre}),
        )

    def _place(self, layout: Layout) -> None:
        """Give each shape its place; shapes are numbered in the order of the layers, as one reads them."""
        placed = sorted(layout.boxes, key=lambda one: (one.box.layer, one.y))
        self._shapes = {
            one.box.id: replace(self._shapes[one.box.id], number=number, x=one.x, y=one.y, width=one.box.width)
            for number, one in enumerate(placed)
        }

    def _shape(self, node: Node) -> Shape:
        """The box of a node, not placed yet."""
        is_centre = node.id == self._centre.id
        name = one_line(node.qualname or "top of the file")
        place = f"{one_line(node.file)}:{node.line}"
        title = f"{node.kind} {name}\n{place}" if node.kind not in ("file", "scope") else f"{name}\n{place}"
        width = max(min(len(name), _NAME_CHARS) * _NAME_CHAR, min(len(place), _PLACE_CHARS) * _PLACE_CHAR) + _PADDING
        is_definition = node.kind not in ("file", "scope")
        side: Side = "callers" if node.layer < 0 else "callees"
        return Shape(
            id=node.id,
            number=0,
            x=0.0,
            y=0.0,
            width=width,
            height=_HEIGHT,
            name=_shortened(name, _NAME_CHARS),
            place=_shortened(place, _PLACE_CHARS),
            title=title,
            kind=node.kind,
            href=f"{self._base}/code/{quoted_path(node.file)}#L{node.line}",
            centre_href=address("", name=node.qualname, file=node.file) if is_definition and not is_centre else "",
            button=self._button(node, side) if is_definition and node.layer else None,
            is_centre=is_centre,
            is_end=side in node.ends and bool(node.layer),
        )

    def _button(self, node: Node, side: Side) -> Button:
        """What opens the outer side of a node, or closes it again."""
        is_open = side in node.open_sides
        kept = [one for one in self._shown.opened if (one.node, one.side) != (node.id, side)]
        token = f"{side[0] if side == 'callers' else 'e'}{node.id}"
        href = self._address(kept) if is_open else self._address(kept, token)
        verb = "Hide the" if is_open else "Show the"
        label = f"{verb} {side} of {one_line(node.qualname)}"
        return Button(href, label, "-" if is_open else "+", "left" if side == "callers" else "right")

    def _more(self, node: str, side: Side, count: int) -> Shape:
        """The box that says how many neighbours are not shown."""
        kept = [one for one in self._shown.opened if (one.node, one.side) != (node, side)]
        token = f"{'C' if side == 'callers' else 'E'}{node}"
        is_whole = any(one.is_whole for one in self._shown.opened if (one.node, one.side) == (node, side))
        noun = side.removesuffix("s")
        name = f"{count:,} more {noun if count == 1 else side}"
        title = f"{plural(count, noun)} of {one_line(self._nodes[node].qualname)}"
        title += ": there is no room for more" if is_whole else ": show as many as there is room for"
        return Shape(
            id=_more_id(node, side),
            number=0,
            x=0.0,
            y=0.0,
            width=len(name) * _NAME_CHAR + _PADDING,
            height=_MORE_HEIGHT,
            name=name,
            place="",
            title=title,
            kind="more",
            href="" if is_whole else self._address(kept, token),
            is_more=True,
        )

    def _address(self, opened: Sequence[Opened], token: str = "") -> str:
        """The address of this graph with something else opened. What the centre opens by itself is not written."""
        own = self._centre.id
        tokens = [str(one) for one in opened if one.node != own or one.is_whole]
        words = ".".join([*tokens, *([token] if token else [])])
        return address("", name=self._centre.qualname, file=self._centre.file, open=words)

    def _curve(self, edge: Edge, path: str) -> Curve:
        source, target = self._shapes[edge.source], self._shapes[edge.target]
        title = f"{source.name} {_relation(edge)} {target.name}"
        stroke = min(1.2 + 0.5 * (edge.count - 1), _MOST_STROKE)
        is_value = edge.kind == "value"
        return Curve(path, source.number, target.number, title, edge.confidence >= SURE, is_value, stroke)

    def _entries(self, id_: str, side: Side, above: set[str]) -> tuple[Entry, ...]:
        """What an opened side of a node has, as rows; a row that was listed already is not opened again."""
        found: list[tuple[float, int, Edge, str]] = []
        for edge in self._shown.edges:
            end, other = (edge.target, edge.source) if side == "callers" else (edge.source, edge.target)
            if end == id_:
                found.append((-edge.confidence, self._shapes[other].number, edge, other))
        entries = []
        for _, _, edge, other in sorted(found, key=lambda one: one[:2]):
            is_known = other in above
            above.add(other)
            is_open = not is_known and side in self._nodes[other].open_sides
            inner = self._entries(other, side, above) if is_open else ()
            entries.append(Entry(self._shapes[other], _relation(edge), inner, is_known))
        more = self._shapes.get(_more_id(id_, side))
        return (*entries, *([Entry(more, "")] if more is not None else []))


def _relation(edge: Edge) -> str:
    """How two nodes are related, in words."""
    times = f" {edge.count} times" if edge.count > 1 else ""
    verb = "hands on" if edge.kind == "value" else "calls"
    return f"{verb}{times}, {edge.confidence:.0%} certain ({edge.why})"


def _has_left_button(shape: Shape) -> bool:
    return shape.button is not None and shape.button.side == "left" and not shape.is_end


def _more_id(node: str, side: Side) -> str:
    return f"more-{side}-{node}"


def _tie(node: str, side: Side) -> tuple[str, str]:
    """The line that keeps the box of what is left out beside its node; it is not drawn."""
    other = _more_id(node, side)
    return (other, node) if side == "callers" else (node, other)


def _shortened(text: str, most: int) -> str:
    """The text, or its end: names differ there."""
    return text if len(text) <= most else "…" + text[1 - most :]
