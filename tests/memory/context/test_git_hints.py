"""Hints from commits: who works on what with whom, and only what may be said."""

from __future__ import annotations

import subprocess
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from sage_code.discover.gitlog import Commit
from sage_code.memory.context.git_hints import git_hints, project_hints
from sage_code.settings.table import Settings

WORK = [
    *[Commit("Ana", ("src/a.py", "src/b.py", "tests/a.py"))] * 5,
    *[Commit("Ben", ("src/a.py", "src/b.py", "tests/a.py", "docs/x.md"))] * 4,
    *[Commit("Cara", ("docs/x.md", "README.md"))] * 3,
    *[Commit("renovate[bot]", ("package.json",))] * 9,
    Commit("Dan", ("src/a.py",)),
]


def test_who_works_on_what_with_whom() -> None:
    assert git_hints(WORK) == [
        "Ana works on src/ and tests/ (5 commits)",
        "Ben works on docs/ and src/ (4 commits)",
        "Cara works on docs/ and the top folder (3 commits)",
        "Ana and Ben change the same files (3 files)",
    ]
    assert len(git_hints(WORK, 2)) == 2
    assert git_hints([]) == []


def test_mass_changes_say_nothing() -> None:
    files = tuple(f"src/{number}.py" for number in range(500))
    assert git_hints([Commit("Ana", files), Commit("Ben", files)] * 5) == []


def test_several_people_must_be_allowed(tmp_path: Path) -> None:
    def commit(author: str, number: int) -> None:
        (tmp_path / "a.py").write_text(f"{number}")
        name = ["-c", f"user.name={author}", "-c", "user.email=a@b"]
        for words in (["add", "-A"], [*name, "commit", "-qm", "x"]):
            subprocess.run(["git", "-C", str(tmp_path), *words], check=True, capture_output=True)

    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert project_hints(str(tmp_path), Settings()) == []
    for number in range(3):
        commit("Ana", number)
    assert project_hints(str(tmp_path), Settings()) == ["Ana works on the top folder (3 commits)"]
    commit("Ben", 9)
    assert project_hints(str(tmp_path), Settings()) == []
    assert project_hints(str(tmp_path), Settings(relationship_hints=True)) == [
        "Ana works on the top folder (3 commits)"
    ]


NAMES = st.text(max_size=10) | st.sampled_from(["</x>", "Ana", "\u202e", "a/b", "[bot]"])


@given(st.lists(st.tuples(NAMES, st.lists(NAMES, max_size=4)), max_size=8), st.integers(0, 6))
def test_any_names(made: list[tuple[str, list[str]]], limit: int) -> None:
    found = git_hints([Commit(author, tuple(files)) for author, files in made * 3], limit)
    assert len(found) <= limit
    assert all("\n" not in line and "</" not in line and "\u202e" not in line for line in found)
