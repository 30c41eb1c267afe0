"""The layered layout: boxes do not overlap, lines end at their boxes, everything is inside, the same is drawn alike."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from sage_web.drawing.layers import Box, Layout, Spacing, layered

SIZES = st.floats(20, 240)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Box], list[tuple[str, str]]]:
    """Boxes in layers, with edges between any of them, loops and edges to nowhere too."""
    layers = draw(st.lists(st.integers(-3, 3), min_size=1, max_size=24))
    boxes = [Box(f"b{number}", layer, draw(SIZES), draw(SIZES)) for number, layer in enumerate(layers)]
    ends = st.sampled_from([*(box.id for box in boxes), "nowhere"])
    return boxes, draw(st.lists(st.tuples(ends, ends), max_size=40))


def _drawn(graph: tuple[list[Box], list[tuple[str, str]]]) -> Layout:
    return layered(*graph)


@given(graphs())
def test_boxes_are_placed_once_and_do_not_overlap(graph: tuple[list[Box], list[tuple[str, str]]]) -> None:
    drawn = _drawn(graph)
    assert sorted(one.box.id for one in drawn.boxes) == sorted(box.id for box in graph[0])
    for one, other in combinations(drawn.boxes, 2):
        is_beside = one.x + one.box.width <= other.x + 1e-6 or other.x + other.box.width <= one.x + 1e-6
        is_above = one.y + one.box.height <= other.y + 1e-6 or other.y + other.box.height <= one.y + 1e-6
        assert is_beside or is_above


@given(graphs())
def test_layers_go_from_left_to_right(graph: tuple[list[Box], list[tuple[str, str]]]) -> None:
    drawn = _drawn(graph)
    for one, other in combinations(sorted(drawn.boxes, key=lambda placed: placed.box.layer), 2):
        if one.box.layer < other.box.layer:
            assert one.x + one.box.width <= other.x


@given(graphs())
def test_every_line_ends_at_its_boxes_and_nothing_leaves_the_picture(
    graph: tuple[list[Box], list[tuple[str, str]]],
) -> None:
    drawn = _drawn(graph)
    places = {one.box.id: one for one in drawn.boxes}
    known = [edge for edge in graph[1] if set(edge) <= set(places)]
    assert [(line.source, line.target) for line in drawn.lines] == known
    for line in drawn.lines:
        for point, id_ in ((line.points[0], line.source), (line.points[-1], line.target)):
            at = places[id_]
            assert point[0] in (at.x, at.x + at.box.width)
            assert at.y <= point[1] <= at.y + at.box.height
        # A curve lies within the hull of its points.
        assert all(0 <= x <= drawn.width and 0 <= y <= drawn.height for x, y in line.points)
    for one in drawn.boxes:
        assert one.x >= 0
        assert one.x + one.box.width <= drawn.width
        assert one.y >= 0
        assert one.y + one.box.height <= drawn.height


@given(graphs())
def test_the_same_graph_is_drawn_alike(graph: tuple[list[Box], list[tuple[str, str]]]) -> None:
    assert _drawn(graph) == _drawn(graph)


def test_lines_do_not_cross_where_they_need_not() -> None:
    left = [Box(f"l{number}", 0, 50, 20) for number in range(4)]
    right = [Box(f"r{number}", 1, 50, 20) for number in range(4)]
    drawn = layered([*left, *right], [("l0", "r3"), ("l1", "r2"), ("l2", "r1"), ("l3", "r0")])
    ends = sorted((line.points[0][1], line.points[-1][1]) for line in drawn.lines)
    assert [end for _, end in ends] == sorted(end for _, end in ends)


def test_a_box_lies_at_the_height_of_its_only_neighbour() -> None:
    drawn = layered(
        [Box("a", 0, 60, 20), Box("b", 1, 60, 20), Box("c", 2, 60, 20)], [("a", "b"), ("b", "c")], Spacing()
    )
    assert len({round(one.middle, 3) for one in drawn.boxes}) == 1
