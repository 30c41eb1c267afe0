"""`analyze` shows the source as it is now, even when the index is older."""

from __future__ import annotations

from pathlib import Path

import pytest

from sage_code import Project
from sage_code.errors import IndexCorrupt, NotIndexed


@pytest.fixture
def project(sample: Path) -> Project:
    project = Project.open(sample)
    project.index()
    return project


def _change(project: Project, old: str, new: str) -> None:
    path = Path(project.root, "server.py")
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_the_whole_source_comes_with_the_symbol(project: Project) -> None:
    (found,) = project.analyze("Server.start")
    assert found["source"] == (
        '    def start(self, port: int) -> None:\n        """Open the port."""\n        self.port = port'
    )
    assert (found["kind"], found["file"], found["line"], found["docstring"]) == (
        "method",
        "server.py",
        9,
        "Open the port.",
    )


def test_a_moved_definition_is_found_at_its_new_line(project: Project) -> None:
    _change(project, "LIMIT = 10\n", "LIMIT = 10\nMORE = 11\n\n")
    (found,) = project.analyze("Server.start")
    assert (found["line"], found["start_line"], found["end_line"]) == (11, 11, 13)
    assert found["source"].startswith("    def start(self")


def test_a_changed_definition_is_shown_as_it_is_now(project: Project) -> None:
    _change(project, "def connect(host, retries=3):", "def connect(host, *, retries=5):")
    python = next(match for match in project.analyze("connect") if match["language"] == "python")
    assert python["signature"] == "def connect(host, *, retries=5)"
    assert "retries=5" in python["source"]


def test_the_definition_nearest_to_the_old_line_is_taken(project: Project) -> None:
    _change(project, "LIMIT = 10\n", "def connect():\n    pass\n\n\nLIMIT = 10\n")
    python = next(match for match in project.analyze("connect", refresh=False) if match["language"] == "python")
    assert "retries" in python["source"]


def test_a_definition_that_is_gone_is_left_out(project: Project) -> None:
    _change(project, "def connect(host, retries=3):", "def other(host, retries=3):")
    assert [match["language"] for match in project.analyze("connect")] == ["typescript"]
    Path(project.root, "web", "client.ts").unlink()
    assert project.analyze("connect") == []


def test_a_link_that_replaces_a_file_is_not_followed(project: Project, tmp_path: Path) -> None:
    secret = tmp_path / "secret.py"
    secret.write_text("def connect():\n    return 'secret'\n")
    source = Path(project.root, "server.py")
    source.unlink()
    source.symlink_to(secret)
    assert all("secret" not in match["source"] for match in project.analyze("connect"))


def test_compiled_files_cannot_lead_out_of_the_project(project: Project, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("def connect():\n    return 'secret'\n")
    functions = Path(project.root, ".sage", "codebase", "compiled", "functions.json")
    functions.write_bytes(functions.read_bytes().replace(b'"file":"server.py"', b'"file":"../secret.py"'))
    with pytest.raises(IndexCorrupt):
        project.analyze("connect", refresh=False)  # a refresh may make it again
    project.index()  # made again from the store
    assert {match["file"] for match in project.grep("connect")} == {"server.py", "web/client.ts"}


def test_without_an_index_it_raises_not_indexed(sample: Path) -> None:
    with pytest.raises(NotIndexed):
        Project.open(sample).analyze("connect")
