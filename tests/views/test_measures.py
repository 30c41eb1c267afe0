"""The measures of a map: lines and use from the index, age from git, staleness from memories; added up by folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sage_code import Project
from sage_code.views.graph.measures import FileMeasures, FolderMeasures, folder

FILES = {
    "app/core/base.py": "def base():\n    return 1\n",
    "app/core/more.py": "from app.core.base import base\n\n\ndef more():\n    return base()\n",
    "app/main.py": "from app.core.base import base\n\nbase()\n",
    "README.md": "# Read me\n\nWords.\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "measured"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    made = Project.open(root)
    made.index()
    return made


def _files(found: FolderMeasures) -> dict[str, FileMeasures]:
    inside = {name: one for child in found.children for name, one in _files(child).items()}
    return inside | ({found.path: found.file} if found.file else {})


def test_lines_languages_and_users_come_from_the_index(project: Project) -> None:
    files = _files(project.views.measures())
    assert {name: (one.lines, one.language) for name, one in files.items()} == {
        name: (text.count("\n"), "markdown" if name.endswith(".md") else "python") for name, text in FILES.items()
    }
    assert files["app/core/base.py"].users == 2
    assert files["app/main.py"].users == 0


def test_a_deleted_file_leaves_the_map(project: Project) -> None:
    os.unlink(Path(project.root) / "app/main.py")
    project.refresh()
    assert set(_files(project.views.measures())) == set(FILES) - {"app/main.py"}


def test_folders_add_up_what_is_in_them(project: Project) -> None:
    whole = project.views.measures()
    assert (whole.files, whole.lines) == (4, sum(text.count("\n") for text in FILES.values()))
    app = next(one for one in whole.children if one.name == "app")
    assert (app.files, app.users, app.language) == (3, 2, "python")
    inner = project.views.measures(below="app/core")
    assert [one.path for one in inner.children] == ["app/core/more.py", "app/core/base.py"]
    assert project.views.measures(below="app/co").files == 0, "a part of a name is no folder"
    assert project.views.measures(only_code=True).files == 3


def test_age_is_the_last_commit_and_unknown_without_git(project: Project) -> None:
    assert {one.committed for one in _files(project.views.measures("age")).values()} == {0}
    _commit(project, "2020-01-01T00:00:00Z", *FILES)
    with open(Path(project.root) / "app/main.py", "a") as file:
        file.write("base()\n")
    _commit(project, "2024-01-01T00:00:00Z", "app/main.py")
    files = _files(project.views.measures("age"))
    assert (files["app/main.py"].committed, files["README.md"].committed) == (1704067200, 1577836800)
    assert next(one for one in project.views.measures("age").children if one.name == "app").committed == 1704067200


def _commit(project: Project, when: str, *files: str) -> None:
    names = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    environment = {**os.environ, "GIT_COMMITTER_DATE": when, "GIT_AUTHOR_DATE": when}
    for words in (("init", "-q"), ("add", *files), ("commit", "-qm", "change")):
        subprocess.run(["git", *names, *words], cwd=project.root, check=True, capture_output=True, env=environment)


def test_staleness_counts_memories_and_those_that_no_longer_hold(project: Project) -> None:
    for name, line in (("base", 1), ("more", 4)):
        project.memory.add_todo(f"About {name}", id_=name, refs=[f"app/core/{name}.py:{line}"], scope="project")
    (Path(project.root) / "app/core/base.py").write_text("def base():\n    return 2\n")
    project.refresh()
    files = _files(project.views.measures("stale"))
    assert (files["app/core/base.py"].memories, files["app/core/base.py"].stale) == (1, 1)
    assert (files["app/core/more.py"].memories, files["app/core/more.py"].stale) == (1, 0)


def test_tens_of_thousands_of_files_are_added_up() -> None:
    files = [FileMeasures(f"d{number % 50}/e{number % 7}/f{number}.py", "python", 10) for number in range(30_000)]
    found = folder(files)
    assert (found.files, found.lines, len(found.children)) == (30_000, 300_000, 50)
