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


def test_the_source_comes_whole_with_what_is_known_about_it(project: Project) -> None:
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


def test_a_definition_that_moved_is_found_where_it_is(project: Project) -> None:
    _change(project, "LIMIT = 10\n", "LIMIT = 10\nMORE = 11\n\n")
    (found,) = project.analyze("Server.start")
    assert (found["line"], found["start_line"], found["end_line"]) == (11, 11, 13)
    assert found["source"].startswith("    def start(self")


def test_a_definition_that_changed_is_shown_as_it_is(project: Project) -> None:
    _change(project, "def connect(host, retries=3):", "def connect(host, *, retries=5):")
    python = next(match for match in project.analyze("connect") if match["language"] == "python")
    assert python["signature"] == "def connect(host, *, retries=5)"
    assert "retries=5" in python["source"]


def test_of_two_with_one_name_the_nearer_is_taken(project: Project) -> None:
    _change(project, "LIMIT = 10\n", "def connect():\n    pass\n\n\nLIMIT = 10\n")
    python = next(match for match in project.analyze("connect") if match["language"] == "python")
    assert "retries" in python["source"]


def test_what_is_gone_is_left_out(project: Project) -> None:
    _change(project, "def connect(host, retries=3):", "def other(host, retries=3):")
    assert [match["language"] for match in project.analyze("connect")] == ["typescript"]
    Path(project.root, "web", "client.ts").unlink()
    assert project.analyze("connect") == []


def test_a_link_in_a_file_s_place_is_not_followed(project: Project, tmp_path: Path) -> None:
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
        project.analyze("connect")
    project.index()  # made again from the store
    assert {match["file"] for match in project.grep("connect")} == {"server.py", "web/client.ts"}


def test_without_an_index_it_says_so(sample: Path) -> None:
    with pytest.raises(NotIndexed):
        Project.open(sample).analyze("connect")
