"""The neighbourhood of a definition: callers and callees in layers, opened step by step, within limits."""

from __future__ import annotations

from pathlib import Path

import pytest

from sage_code import Project
from sage_code.views.graph.neighbourhood import FIRST_NODES, Neighbourhood, Opened, node_id, parse_opened

FILES = {
    "low.py": "def low():\n    pass\n\n\ndef twice():\n    low()\n    low()\n",
    "middle.py": "from low import low, twice\n\n\ndef middle():\n    low()\n    twice()\n\n\nmiddle()\n",
    "high.py": "from middle import middle\n\n\nclass High:\n    def run(self):\n        middle()\n        self.run()\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "calls"
    root.mkdir()
    for name, text in FILES.items():
        (root / name).write_text(text)
    made = Project.open(root)
    made.index()
    return made


def _around(project: Project, name: str, *opened: Opened) -> Neighbourhood:
    (centre,) = project.views.centres(name)
    return project.views.neighbourhood(centre, opened)


def _layers(found: Neighbourhood) -> dict[str, int]:
    return {node.qualname or node.file: node.layer for node in found.nodes}


def test_callers_are_on_the_left_and_callees_on_the_right(project: Project) -> None:
    found = _around(project, "middle")
    assert _layers(found) == {"High.run": -1, "middle.py": -1, "middle": 0, "low": 1, "twice": 1}
    names = {node.id: node.qualname or node.file for node in found.nodes}
    edges = {(names[edge.source], names[edge.target]) for edge in found.edges}
    assert edges == {("High.run", "middle"), ("middle.py", "middle"), ("middle", "low"), ("middle", "twice")}
    assert found.is_complete
    assert not found.is_full


def test_an_edge_counts_its_calls_and_says_why(project: Project) -> None:
    found = _around(project, "low")
    edge = next(one for one in found.edges if one.source == node_id("low.py", "twice"))
    assert (edge.kind, edge.count, edge.line, edge.why) == ("call", 2, 6, "scope")
    assert 0.4 <= edge.confidence <= 1


def test_opening_a_node_adds_its_callers_and_keeps_what_is_known(project: Project) -> None:
    middle = node_id("middle.py", "middle")
    found = _around(project, "low", Opened(middle, "callers"))
    assert _layers(found) == {"low": 0, "twice": -1, "middle": -1, "High.run": -2, "middle.py": -2}
    again = _around(project, "low", Opened(middle, "callers"), Opened(node_id("low.py", "twice"), "callers"))
    assert _layers(again) == _layers(found), "the caller of `twice` is there already: only a line is new"
    assert len(again.edges) == len(found.edges) + 1


def test_a_call_of_itself_is_a_line_to_itself_and_an_end_is_known(project: Project) -> None:
    run = node_id("high.py", "High.run")
    found = _around(project, "middle", Opened(run, "callers"))
    assert any((edge.source, edge.target) == (run, run) for edge in found.edges)
    leaf = _around(project, "low", Opened(node_id("middle.py", "middle"), "callers"), Opened(run, "callers"))
    assert next(node for node in leaf.nodes if node.id == run).open_sides == ("callers",)
    assert next(node for node in leaf.nodes if node.qualname == "low").ends == ("callees",)


def test_what_is_not_shown_is_counted_and_can_be_asked_for(tmp_path: Path) -> None:
    root = tmp_path / "hub"
    root.mkdir()
    (root / "hub.py").write_text("def hub():\n    pass\n")
    users = "".join(f"def user{number}():\n    hub()\n\n\n" for number in range(230))
    (root / "users.py").write_text("from hub import hub\n\n\n" + users)
    project = Project.open(root)
    project.index()
    first = _around(project, "hub")
    assert len(first.nodes) == 1 + FIRST_NODES
    assert [(more.side, more.count) for more in first.more] == [("callers", 230 - FIRST_NODES)]
    whole = _around(project, "hub", Opened(first.centre, "callers", is_whole=True))
    assert len(whole.nodes) == 200
    assert whole.is_full
    assert [(more.side, more.count) for more in whole.more] == [("callers", 31)]


def test_an_address_says_what_is_opened() -> None:
    opened = (Opened("12ab", "callers"), Opened("34cd", "callees", is_whole=True))
    assert parse_opened(".".join(map(str, opened))) == opened
    assert parse_opened("x1.c.<script>.c../..") == ()


def test_a_name_with_several_definitions_has_several_centres(sample: Path) -> None:
    project = Project.open(sample)
    project.index()
    assert [one.file for one in project.views.centres("connect")] == ["server.py", "web/client.ts"]
    assert [one.file for one in project.views.centres("connect", "web/client.ts")] == ["web/client.ts"]
    assert project.views.centres("nothing_is_called_so") == []
