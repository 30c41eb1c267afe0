"""Folders of the index: what is in them, and that nothing else can be looked at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sage_code import Project
from sage_code.errors import UsageError

Write = Callable[[Path, dict[str, str | bytes]], Path]


def test_a_folder_lists_its_folders_and_files(tmp_path: Path, write: Write) -> None:
    files: dict[str, str | bytes] = {
        "README.md": "# Hello\n", "b.py": "x = 1\ny = 2\n", "A.py": "x = 1\n",
        "src/one.py": "x = 1\n", "src/deep/two.py": "x = 1\n", "src/deep/three.ts": "let a = 1\n",
    }  # fmt: skip
    project = Project.open(write(tmp_path / "p", files))
    project.index()
    root = project.views.folder()
    assert [(one.name, one.files) for one in root.folders] == [("src", 3)]
    assert [one.name for one in root.files] == ["A.py", "b.py", "README.md"]
    assert root.readme == "README.md"
    b = root.files[1]
    assert (b.language, b.size, b.lines) == ("python", 12, 2)
    deep = project.views.folder("src/deep")
    assert [(one.path, one.language) for one in deep.files] == [
        ("src/deep/three.ts", "typescript"),
        ("src/deep/two.py", "python"),
    ]
    Path(project.root, "src/new.py").write_text("z = 1\n")
    project.index()
    assert [one.name for one in project.views.folder("src").files] == ["new.py", "one.py"]
    for path in ("..", "nowhere", ".git", "src/one.py"):
        with pytest.raises(UsageError):
            project.views.folder(path)
