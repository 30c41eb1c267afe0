"""The treemap: areas are as the weights are, rectangles are disjoint and inside their parent, small ones are joined."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_web.drawing.treemap import Item, Look, Rect, Tile, squarified, treemap

FRAME = Rect(10.0, 20.0, 1200.0, 700.0)
WEIGHTS = st.lists(st.floats(0.5, 5_000), min_size=1, max_size=60)


def _is_inside(inner: Rect, outer: Rect, slack: float = 1e-6) -> bool:
    return (
        inner.x >= outer.x - slack
        and inner.y >= outer.y - slack
        and inner.x + inner.width <= outer.x + outer.width + slack
        and inner.y + inner.height <= outer.y + outer.height + slack
    )


def _overlap(one: Rect, other: Rect) -> float:
    wide = min(one.x + one.width, other.x + other.width) - max(one.x, other.x)
    high = min(one.y + one.height, other.y + other.height) - max(one.y, other.y)
    return max(wide, 0.0) * max(high, 0.0)


@given(WEIGHTS)
def test_areas_are_as_the_weights_are(weights: list[float]) -> None:
    rects = squarified(weights, FRAME)
    whole = FRAME.width * FRAME.height
    for weight, rect in zip(weights, rects, strict=True):
        assert rect.width * rect.height == pytest.approx(whole * weight / sum(weights), rel=1e-6)


@given(WEIGHTS)
def test_rectangles_are_disjoint_and_inside(weights: list[float]) -> None:
    rects = squarified(weights, FRAME)
    assert all(_is_inside(rect, FRAME, 1e-3) for rect in rects)
    assert all(_overlap(one, other) < 1e-2 for one, other in combinations(rects, 2))


@st.composite
def trees(draw: st.DrawFn, depth: int = 3, path: str = "") -> tuple[Item, ...]:
    """Folders and files."""
    items = []
    for number in range(draw(st.integers(1, 6))):
        name = f"{path}/{number}"
        inner = draw(trees(depth - 1, name)) if depth and draw(st.booleans()) else ()
        weight = sum(one.weight for one in inner) if inner else draw(st.floats(1, 900))
        items.append(Item(name, weight, inner))
    return tuple(items)


@given(trees())
def test_every_tile_lies_in_its_folder_and_beside_its_siblings(items: tuple[Item, ...]) -> None:
    tiles = treemap(items, FRAME)
    of = {tile.item.name: tile for tile in tiles if not tile.rest}
    families: dict[str, list[Tile]] = {}
    for tile in tiles:
        above = of[tile.parent.name].rect if tile.parent else FRAME
        assert _is_inside(tile.rect, above)
        families.setdefault(tile.parent.name if tile.parent else "", []).append(tile)
    for family in families.values():
        assert all(_overlap(one.rect, other.rect) < 1e-2 for one, other in combinations(family, 2))
    assert len(tiles) <= Look().most


@given(trees())
def test_nothing_is_lost(items: tuple[Item, ...]) -> None:
    tiles = treemap(items, FRAME)
    top = [tile for tile in tiles if tile.parent is None]
    assert sum(tile.item.weight for tile in top) == pytest.approx(sum(item.weight for item in items))


def test_many_small_files_become_one_tile_that_counts_them() -> None:
    items = [Item("large", 10_000), *(Item(f"small{number:05}", 1) for number in range(20_000))]
    tiles = treemap(items, FRAME, Look(most=100))
    assert len(tiles) <= 100
    (rest,) = (tile for tile in tiles if tile.rest)
    assert len(rest.rest) + len(tiles) - 1 == 20_001
    assert rest.item.weight == sum(item.weight for item in rest.rest)


def test_squares_are_squares() -> None:
    assert {(rect.width, rect.height) for rect in squarified([1, 1, 1, 1], Rect(0, 0, 10, 10))} == {(5.0, 5.0)}
