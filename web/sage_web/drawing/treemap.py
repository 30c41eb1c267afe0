"""Divides a rectangle by weights into rectangles that are as square as can be (a squarified treemap), in levels.

Areas within one parent are proportional to the weights. What would be too small to see becomes one rectangle, `n more`,
so that a project of a hundred thousand files is as quick to draw as one of a hundred.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Rect:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    def within(self, side: float, top: float) -> Rect:
        """The rectangle without a border, and without a heading at the top."""
        width, height = max(self.width - 2 * side, 0.0), max(self.height - side - top, 0.0)
        return Rect(self.x + side, self.y + top, width, height)


@dataclass(frozen=True, slots=True)
class Item:
    """What has an area: a file, or a folder with what is in it."""

    name: str
    weight: float
    children: tuple[Item, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Tile:
    """A rectangle of the map: an item, or (`rest`) several that are too small."""

    rect: Rect
    item: Item
    depth: int
    is_open: bool = False  # a folder whose contents are drawn in it
    rest: tuple[Item, ...] = ()
    parent: Item | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """How a map is divided."""

    most: int = 600  # rectangles
    least_area: float = 90.0  # smaller ones become one
    heading: float = 18.0  # height of a folder's name
    border: float = 3.0
    least_side: float = 34.0  # a folder that is narrower is not opened
    levels: int = 6
    least_shown: float = 0.5  # a folder is opened if this share of it can be shown


def treemap(items: Sequence[Item], frame: Rect, look: Look | None = None) -> list[Tile]:
    """The tiles of a map, folders before what is in them. Larger folders are opened first, while there is room."""
    look = look or Look()
    tiles: list[Tile] = []
    waiting = _placed(items, frame, 0, look, look.most, None)
    drawn = len(waiting)
    while waiting:
        # The largest first: when the number of rectangles is used up, only small folders stay closed.
        at = max(range(len(waiting)), key=lambda number: _area(waiting[number].rect))
        tile = waiting.pop(at)
        inner = tile.rect.within(look.border, look.heading)
        can_open = bool(tile.item.children) and not tile.rest and tile.depth + 1 < look.levels
        if can_open and min(inner.width, inner.height) >= look.least_side and drawn < look.most:
            inside = _placed(tile.item.children, inner, tile.depth + 1, look, look.most - drawn, tile.item)
            if inside:
                tile = Tile(tile.rect, tile.item, tile.depth, True, parent=tile.parent)
                waiting += inside
                drawn += len(inside)
        tiles.append(tile)
    return sorted(tiles, key=lambda tile: (tile.depth, tile.rect.y, tile.rect.x))


def _area(rect: Rect) -> float:
    return rect.width * rect.height


def _placed(items: Sequence[Item], frame: Rect, depth: int, look: Look, room: int, parent: Item | None) -> list[Tile]:
    """The tiles of one folder: its large items, and one for all that would be too small or too many."""
    ranked = sorted((item for item in items if item.weight > 0), key=lambda item: (-item.weight, item.name))
    total = sum(item.weight for item in ranked)
    if not ranked or _area(frame) <= 0 or room < 1:
        return []
    least = look.least_area * total / _area(frame)
    shown = [item for item in ranked if item.weight >= least]
    if parent is not None and (len(shown) >= room or sum(item.weight for item in shown) < look.least_shown * total):
        return []  # a closed folder says more than one in which nearly everything is left out
    shown = shown[: room - 1]
    if len(ranked) <= room and len(ranked) - len(shown) <= 1:
        shown = ranked  # one that is small is better than `1 more`
    rest = tuple(ranked[len(shown) :])
    weights = [item.weight for item in shown] + ([sum(item.weight for item in rest)] if rest else [])
    rects = squarified(weights, frame)
    tiles = [Tile(rect, item, depth, parent=parent) for rect, item in zip(rects, shown, strict=False)]
    if rest:
        whole = Item("", sum(item.weight for item in rest))
        tiles.append(Tile(rects[-1], whole, depth, rest=rest, parent=parent))
    return tiles


def squarified(weights: Sequence[float], frame: Rect) -> list[Rect]:
    """A rectangle for each weight, in their order; they fill the frame, and best are weights that fall."""
    scale = _area(frame) / sum(weights) if weights else 0.0
    areas = [weight * scale for weight in weights]
    rects: list[Rect] = []
    left, at = frame, 0
    while at < len(areas):
        short = min(left.width, left.height)
        row, size = [areas[at]], areas[at]
        while at + len(row) < len(areas):
            following = areas[at + len(row)]
            if _worst(row, size, short) < _worst([*row, following], size + following, short):
                break
            row.append(following)
            size += following
        at += len(row)
        rects += _row(row, size, left)
        left = _beyond(size, left)
    return rects


def _worst(row: Sequence[float], size: float, short: float) -> float:
    """How far the least square rectangle of a row is from a square; 1 is a square."""
    if size <= 0 or short <= 0:
        return float("inf")
    largest, smallest = max(row), min(row)
    return max(short * short * largest / (size * size), size * size / (short * short * max(smallest, 1e-12)))


def _row(row: Sequence[float], size: float, left: Rect) -> list[Rect]:
    """The rectangles of one row, along the shorter side of what is left."""
    is_tall = left.width >= left.height  # then the row is a column
    short = left.height if is_tall else left.width
    deep = size / short if short > 0 else 0.0
    rects, along = [], 0.0
    for area in row:
        length = area / deep if deep > 0 else 0.0
        rects.append(
            Rect(left.x, left.y + along, deep, length) if is_tall else Rect(left.x + along, left.y, length, deep)
        )
        along += length
    return rects


def _beyond(size: float, left: Rect) -> Rect:
    """What is left after a row."""
    if left.width >= left.height:
        deep = size / left.height if left.height > 0 else 0.0
        return Rect(left.x + deep, left.y, max(left.width - deep, 0.0), left.height)
    deep = size / left.width if left.width > 0 else 0.0
    return Rect(left.x, left.y + deep, left.width, max(left.height - deep, 0.0))
