"""The margin of a file: memories where their code is now, with their state."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sage_code import Project
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.views.code.margin import MarginNote

Write = Callable[[Path, dict[str, str | bytes]], Path]
CODE = '''def holds():
    """Stays."""
    return "the same text"


def moves():
    """Goes down."""
    return "some distinctive text"


def changes(limit):
    """Will be another."""
    return limit + 1


def leaves():
    """Goes to another file."""
    return ["one", "two", "three"]


def ends():
    """Will be gone."""
    raise NotImplementedError("nobody needs this any more")
'''


@pytest.fixture
def remembered(tmp_path: Path, write: Write) -> Project:
    """A project with a memory about each function, of which most have changed since."""
    project = Project.open(write(tmp_path / "p", {"a.py": CODE, "b.py": "x = 1\n", ".sage/.keep": ""}))
    project.index()
    for name in ("holds", "moves", "changes", "leaves", "ends"):
        project.memory.save_knowledge(KnowledgeItem(f"about-{name}", f"What {name} does matters."), refs=[name])
    blocks = CODE.split("\n\n\n")
    changed = blocks[2].replace("limit + 1", "limit + 2")
    Path(project.root, "a.py").write_text(
        "\n\n\n".join(["import os", blocks[0], "y = 1\n\n\n" + blocks[1], changed]) + "\n"
    )
    Path(project.root, "b.py").write_text("x = 1\n\n\n" + blocks[3] + "\n")
    return project


def test_each_memory_is_where_its_code_is(remembered: Project) -> None:
    found = {note.id: note for note in remembered.views.margin("a.py")}
    states = {name.removeprefix("about-"): note.state for name, note in found.items()}
    assert states == {"holds": "moved", "moves": "moved", "changes": "changed", "leaves": "moved", "ends": "gone"}
    lines = Path(remembered.root, "a.py").read_text().split("\n")
    for name in ("holds", "moves", "changes"):
        assert lines[found[f"about-{name}"].first - 1] == f"def {name}({'limit' if name == 'changes' else ''}):"
    assert found["about-changes"].diff.split("\n")[1:] == [
        '     """Will be another."""',
        "-    return limit + 1",
        "+    return limit + 2",
    ]
    assert (found["about-leaves"].elsewhere, found["about-leaves"].elsewhere_line) == ("b.py", 4)
    gone = found["about-ends"]
    assert (gone.first, gone.last, gone.was) == (0, 0, "a.py:21-23")
    assert gone.title == "What ends does matters."


def test_code_that_came_from_another_file_is_beside_its_lines(remembered: Project) -> None:
    (note,) = remembered.views.margin("b.py")
    assert (note.id, note.state, note.first, note.last) == ("about-leaves", "moved", 4, 6)


def test_secrets_in_a_difference_are_masked(tmp_path: Path, write: Write) -> None:
    key = "AKIA" + "QWERTYUIOPASDFGH"
    project = Project.open(write(tmp_path / "p", {"a.py": "def f():\n    return 1\n", ".sage/.keep": ""}))
    project.index()
    project.memory.save_knowledge(KnowledgeItem("k", "f returns one"), refs=["a.py:1-2"])
    Path(project.root, "a.py").write_text(f'def f():\n    return "{key}"\n')
    (note,) = project.views.margin("a.py")
    assert note.state == "changed"
    assert key not in note.diff
    assert "[masked" in note.diff


def test_a_file_without_memories_has_an_empty_margin(sample: Path) -> None:
    notes: tuple[MarginNote, ...] = Project.open(sample).views.margin("server.py")
    assert notes == ()
