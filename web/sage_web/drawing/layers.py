"""Places a graph in layers, from left to right: no two boxes overlap, and lines cross as little as a few sweeps can do.

The order within a layer is that of the mean of the neighbours (barycentres), swept back and forth. The height of a box
is then the nearest one to its neighbours that keeps the order and the distances. The same graph is always drawn alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

# More sweeps change nothing in graphs of this size.
_SWEEPS = 8
_ALIGNMENTS = 6
# A line leaves a box levelly and turns in the gap between two layers.
_BEND = 0.5
_LOOP = 22.0


@dataclass(frozen=True, slots=True)
class Box:
    """What is to be placed: a node of a layer with its size."""

    id: str
    layer: int
    width: float
    height: float
    before: float = 0.0  # lines end so far before it, if something sits on its left edge


@dataclass(frozen=True, slots=True)
class Spacing:
    """The distances of a drawing."""

    between_layers: float = 96.0
    between_boxes: float = 10.0
    margin: float = 24.0


@dataclass(frozen=True, slots=True)
class Placed:
    """A box and its upper left corner."""

    box: Box
    x: float
    y: float

    @property
    def middle(self) -> float:
        """The height of its middle."""
        return self.y + self.box.height / 2


@dataclass(frozen=True, slots=True)
class Line:
    """A curve from one box to another: its ends and the two points that bend it."""

    source: str
    target: str
    points: tuple[tuple[float, float], ...]  # start, bend, bend, end

    @property
    def path(self) -> str:
        """The curve as an SVG path."""
        (x, y), *rest = self.points
        return f"M{x:.0f} {y:.0f}C" + " ".join(f"{a:.0f} {b:.0f}" for a, b in rest)


@dataclass(frozen=True, slots=True)
class Layout:
    """A drawing: its size, its boxes in reading order, its lines."""

    width: float
    height: float
    boxes: tuple[Placed, ...]
    lines: tuple[Line, ...]


def layered(boxes: Sequence[Box], edges: Sequence[tuple[str, str]], spacing: Spacing | None = None) -> Layout:
    """Place boxes and lines; an edge to a box that is not there is left out."""
    spacing = spacing or Spacing()
    by_id = {box.id: box for box in boxes}
    edges = [(source, target) for source, target in edges if source in by_id and target in by_id]
    columns = _columns(list(by_id.values()))
    neighbours = _neighbours(by_id, edges)
    for sweep in range(_SWEEPS):
        _sort_by_neighbours(columns, neighbours, forwards=sweep % 2 == 0)
    heights = _heights(columns, neighbours, spacing)
    placed: dict[str, Placed] = {}
    x = spacing.margin
    for column in columns:
        width = max(box.width for box in column)
        for box in column:
            # Boxes lean towards the side on which their lines are: callers to the right, callees to the left.
            shift = width - box.width if box.layer < 0 else 0.0
            placed[box.id] = Placed(box, x + shift, heights[box.id])
        x += width + spacing.between_layers
    wide = x - spacing.between_layers + spacing.margin if columns else 2 * spacing.margin
    lines = tuple(_line(placed[source], placed[target], spacing) for source, target in edges)
    tall = max((one.y + one.box.height for one in placed.values()), default=spacing.margin) + spacing.margin
    return Layout(wide, tall, tuple(placed.values()), lines)


def _columns(boxes: Sequence[Box]) -> list[list[Box]]:
    layers = sorted({box.layer for box in boxes})
    return [[box for box in boxes if box.layer == layer] for layer in layers]


def _neighbours(by_id: Mapping[str, Box], edges: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """By box, those in other layers that it has lines to."""
    found: dict[str, list[str]] = {id_: [] for id_ in by_id}
    for source, target in edges:
        if by_id[source].layer != by_id[target].layer:
            found[source].append(target)
            found[target].append(source)
    return found


def _sort_by_neighbours(columns: list[list[Box]], neighbours: Mapping[str, list[str]], *, forwards: bool) -> None:
    """Sort every column by the mean place of its neighbours in the columns that were sorted before it."""
    places = {box.id: number / max(len(column), 1) for column in columns for number, box in enumerate(column)}
    layers = {box.id: box.layer for column in columns for box in column}
    for column in columns if forwards else reversed(columns):
        means = {}
        for number, box in enumerate(column):
            before = [one for one in neighbours[box.id] if (layers[one] < box.layer) == forwards]
            known = before or neighbours[box.id]
            mean = sum(places[one] for one in known) / len(known) if known else places[box.id]
            means[box.id] = (mean, number)
        column.sort(key=lambda box: means[box.id])
        for number, box in enumerate(column):
            places[box.id] = number / max(len(column), 1)


def _heights(
    columns: Sequence[Sequence[Box]], neighbours: Mapping[str, list[str]], spacing: Spacing
) -> dict[str, float]:
    """The upper edge of each box: as near to its neighbours as the order in its column lets it be."""
    sizes = {box.id: box.height for column in columns for box in column}
    middles: dict[str, float] = {}
    for column in columns:
        y = -(sum(box.height for box in column) + spacing.between_boxes * (len(column) - 1)) / 2
        for box in column:
            middles[box.id] = y + box.height / 2
            y += box.height + spacing.between_boxes
    for turn in range(_ALIGNMENTS):
        for column in columns if turn % 2 == 0 else reversed(columns):
            wanted = [
                sum(middles[one] for one in near) / len(near) if (near := neighbours[box.id]) else middles[box.id]
                for box in column
            ]
            gaps = [(above.height + below.height) / 2 + spacing.between_boxes for above, below in pairwise(column)]
            middles.update(zip((box.id for box in column), _apart(wanted, gaps), strict=True))
    top = min((middles[id_] - size / 2 for id_, size in sizes.items()), default=0.0)
    return {id_: middles[id_] - size / 2 - top + spacing.margin for id_, size in sizes.items()}


def _apart(wanted: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The places nearest to the wanted ones, by squares, that are in order and at least the gaps apart."""
    offsets = [0.0]
    for gap in gaps:
        offsets.append(offsets[-1] + gap)
    blocks: list[tuple[float, int]] = []  # the mean of what its members want, and how many they are
    for place, offset in zip(wanted, offsets, strict=False):
        mean, count = place - offset, 1
        while blocks and blocks[-1][0] > mean:
            before, members = blocks.pop()
            mean, count = (before * members + mean * count) / (members + count), members + count
        blocks.append((mean, count))
    means = [mean for mean, count in blocks for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=False)]


def _line(source: Placed, target: Placed, spacing: Spacing) -> Line:
    """The curve between two boxes; one that runs back, or stays in its layer, bends into the gap beside it."""
    ends = (source.box.id, target.box.id)
    right, left = (source.x + source.box.width, source.middle), (target.x - target.box.before, target.middle)
    if source.box.layer < target.box.layer:
        bend = max((left[0] - right[0]) * _BEND, 0.0)
        return Line(*ends, (right, (right[0] + bend, right[1]), (left[0] - bend, left[1]), left))
    if source.box.layer > target.box.layer:
        start, end = (source.x, source.middle), (target.x + target.box.width, target.middle)
        bend = max((start[0] - end[0]) * _BEND, 0.0)
        return Line(*ends, (start, (start[0] - bend, start[1]), (end[0] + bend, end[1]), end))
    reach = min(_LOOP, spacing.margin)
    into = (target.x + target.box.width, target.middle + (target.box.height / 4 if source is target else 0.0))
    out = (right[0], right[1] - (source.box.height / 4 if source is target else 0.0))
    beyond = max(out[0], into[0]) + reach
    return Line(*ends, (out, (beyond, out[1]), (beyond, into[1]), into))
