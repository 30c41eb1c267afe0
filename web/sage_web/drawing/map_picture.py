"""The picture of a project's map: its tiles with what they say, their colours and where they lead.

The area of a tile is the number of its lines; its colour is the measure that was asked for. A narrow screen gets a map
of its own, taller and with fewer tiles, so that the names in it stay readable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sage_code.text.escaping import one_line
from sage_web.drawing.treemap import Item, Look, Rect, Tile, treemap
from sage_web.templating import address, plural, quoted_path

if TYPE_CHECKING:
    from sage_code.views.graph.measures import FolderMeasures, Measure

_WIDE, _TALL = Rect(0.0, 0.0, 1200.0, 700.0), Rect(0.0, 0.0, 340.0, 540.0)
_WIDE_LOOK = Look()
_TALL_LOOK = Look(most=160, least_area=220.0, heading=17.0, levels=4, least_side=40.0)
# Widths of the characters in the type that treemap.css sets.
_CHAR, _HEAD_CHAR = 6.7, 6.9
_LINE, _TWO_LINES = 15.0, 34.0
# Fewer letters of a name say nothing.
_LEAST_CHARS = 4
_MAX_LANGUAGES = 7
_DAY = 86_400
# A file that was changed within so many days has the colour of its place here.
_AGES = (7, 30, 90, 365, 3 * 365)
_AGE_LABELS = ("a week", "a month", "3 months", "a year", "3 years", "older")
# A file that so many files use has the colour of its place here.
_USES = (1, 3, 8, 20, 60)
_USE_LABELS = ("nobody", "1 or 2 files", "3 to 7", "8 to 19", "20 to 59", "60 and more")


@dataclass(frozen=True, slots=True)
class MapTile:
    """A rectangle of the map with what is written in it."""

    x: float
    y: float
    width: float
    height: float
    kind: str  # folder file rest
    colour: str  # a class of treemap.css
    label: str
    detail: str
    title: str
    href: str
    is_open: bool
    depth: int


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of the legend."""

    colour: str
    label: str


@dataclass(frozen=True, slots=True)
class MapPicture:
    """A map for wide screens, one for narrow ones, and what the colours mean."""

    wide: tuple[MapTile, ...]
    tall: tuple[MapTile, ...]
    keys: tuple[Key, ...]
    wide_size: tuple[int, int] = (int(_WIDE.width), int(_WIDE.height))
    tall_size: tuple[int, int] = (int(_TALL.width), int(_TALL.height))


def map_picture(slug: str, shown: FolderMeasures, by: Measure, now: float, only: str = "") -> MapPicture:
    """The map of a folder of the project of an address, coloured by a measure."""
    made = _MapPicture(slug, shown, by, now, only)
    return MapPicture(made.tiles(_WIDE, _WIDE_LOOK), made.tiles(_TALL, _TALL_LOOK), made.keys())


def ago(then: float, now: float) -> str:
    """How long ago something was, in the unit that says most."""
    days = int(max(now - then, 0) // _DAY)
    for size, unit in ((365, "year"), (30, "month"), (7, "week"), (1, "day")):
        if days >= size:
            return f"{plural(days // size, unit)} ago"
    return "today"


class _MapPicture:
    """A map while it is made."""

    def __init__(self, slug: str, shown: FolderMeasures, by: Measure, now: float, only: str) -> None:
        self._base, self._shown, self._by, self._now, self._only = f"/p/{slug}", shown, by, now, only
        self._known: dict[str, FolderMeasures] = {}
        self._items = tuple(self._item(one, _WIDE_LOOK.levels) for one in shown.children)
        self._languages = _by_lines(shown)[:_MAX_LANGUAGES] if by == "size" else []

    def tiles(self, frame: Rect, look: Look) -> tuple[MapTile, ...]:
        """The tiles in a frame."""
        return tuple(self._tile(one) for one in treemap(self._items, frame, look))

    def keys(self) -> tuple[Key, ...]:
        """What the colours mean."""
        if self._by == "use":
            return tuple(Key(f"heat-{at}", label) for at, label in enumerate(_USE_LABELS))
        if self._by == "age":
            last = len(_AGE_LABELS) - 1
            keys = [Key(f"heat-{last - at}", label) for at, label in enumerate(_AGE_LABELS)]
            return (*keys, Key("none", "unknown"))
        if self._by == "stale":
            return (Key("none", "no memory"), Key("holds", "memories that hold"), Key("stale-1", "one is stale"),
                    Key("stale-2", "several are stale"))  # fmt: skip
        keys = [Key(f"lang-{at}", name or "text") for at, name in enumerate(self._languages)]
        return (*keys, Key("none", "other")) if len(_by_lines(self._shown)) > len(keys) else tuple(keys)

    def _item(self, one: FolderMeasures, levels: int) -> Item:
        self._known[one.path] = one
        deeper = tuple(self._item(child, levels - 1) for child in one.children) if levels > 1 else ()
        return Item(one.path, max(one.lines, 1), deeper)

    def _tile(self, tile: Tile) -> MapTile:
        """A tile with its words, its colour and its link."""
        rect = tile.rect
        place = (rect.x, rect.y, rect.width, rect.height)
        if tile.rest:
            above = tile.parent.name if tile.parent is not None else self._shown.path
            label = f"{len(tile.rest):,} more"
            title = f"{label} in {one_line(above) or 'the project'}\n{plural(int(tile.item.weight), 'line')}"
            href = "#parts" if above == self._shown.path else self._zoom(above)
            return MapTile(*place, "rest", "none", _fit(label, rect, _CHAR), "", title, href, False, tile.depth)
        one = self._known[tile.item.name]
        name, title = one_line(one.name), f"{one_line(one.path)}\n{self.facts(one)}"
        if one.file is not None:
            href = f"{self._base}/code/{quoted_path(one.path)}"
            label = _fit(name, rect, _CHAR)
            detail = self._detail(one) if label and rect.height >= _TWO_LINES else ""
            words = (self._colour(one), label, _whole(detail, rect), title, href)
            return MapTile(*place, "file", *words, False, tile.depth)
        colour = "" if tile.is_open else self._colour(one)
        label = _fit(name, rect, _HEAD_CHAR)
        detail = self._detail(one) if label and not tile.is_open and rect.height >= _TWO_LINES else ""
        where = (title, self._zoom(one.path), tile.is_open, tile.depth)
        return MapTile(*place, "folder", colour, label, _whole(detail, rect), *where)

    def _zoom(self, path: str) -> str:
        return address("", below=path, by=self._by if self._by != "size" else "", only=self._only)

    def facts(self, one: FolderMeasures) -> str:
        """What is known about a file or a folder, in one line."""
        facts = [plural(one.lines, "line")]
        if one.file is None:
            facts.insert(0, plural(one.files, "file"))
        facts.append(one.language)
        used = f"used by {plural(one.users, 'file')}" if one.file else f"its most used file by {one.users:,}"
        facts.append(used if one.users else "")
        facts.append(f"changed {ago(one.committed, self._now)}" if one.committed else "")
        if one.memories:
            facts.append(f"{plural(one.memories, 'memory', 'memories')}, {one.stale or 'none'} stale")
        return ", ".join(filter(None, facts))

    def _detail(self, one: FolderMeasures) -> str:
        """The measure of a tile in a few words."""
        if self._by == "use":
            return plural(one.users, "user") if one.users else ""
        if self._by == "age":
            return ago(one.committed, self._now) if one.committed else ""
        if self._by == "stale":
            return f"{one.stale} of {one.memories} stale" if one.memories else ""
        return f"{one.lines:,}"

    def _colour(self, one: FolderMeasures) -> str:
        """The class of a tile's colour."""
        if self._by == "use":
            return f"heat-{sum(one.users >= least for least in _USES)}"
        if self._by == "age":
            days = (self._now - one.committed) / _DAY
            return f"heat-{sum(days <= most for most in _AGES)}" if one.committed else "none"
        if self._by == "stale":
            return f"stale-{min(one.stale, 2)}" if one.stale else "holds" if one.memories else "none"
        return f"lang-{self._languages.index(one.language)}" if one.language in self._languages else "none"


def _by_lines(shown: FolderMeasures) -> list[str]:
    """The languages below a folder, that of most lines first."""
    lines: dict[str, int] = {}
    waiting: list[FolderMeasures] = [shown]
    while waiting:
        one = waiting.pop()
        waiting += one.children
        if one.file is not None:
            lines[one.language] = lines.get(one.language, 0) + one.lines
    return sorted(lines, key=lambda name: (-lines[name], name))


def _fit(text: str, rect: Rect, char: float) -> str:
    """As much of a text as fits into a tile: nothing rather than a stump."""
    room = math.floor((rect.width - 8) / char)
    if rect.height < _LINE or room < _LEAST_CHARS:
        return ""
    if len(text) <= room:
        return text
    stem = text.rpartition(".")[0]
    return stem if stem and len(stem) <= room else f"{text[: room - 1]}…"


def _whole(text: str, rect: Rect) -> str:
    """A number is not cut."""
    return text if len(text) * _CHAR <= rect.width - 8 else ""


def crumbs(path: str) -> Sequence[tuple[str, str]]:
    """The folders on the way to a folder, each with its name and its path."""
    steps = path.split("/") if path else []
    return [(step, "/".join(steps[: at + 1])) for at, step in enumerate(steps)]
