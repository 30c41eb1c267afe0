"""What breaks: by file, tests apart; and with the uncommitted changes, also what they have removed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sage_code import Project
from sage_code.discover.gitstate import GitState
from sage_code.errors import UsageError
from sage_code.views.graph.breakage import AffectedFile
from sage_code.views.graph.uncommitted import ChangedFile, Uncommitted

PRICE = "RATE = 2\n\n\ndef net(value):\n    return value * RATE\n\n\ndef gross(value):\n    return net(value) + 1\n"
CART = "from shop.price import gross\n\n\ndef total(items):\n    return sum(gross(one) for one in items)\n"
FILES = {
    "shop/price.py": PRICE,
    "shop/cart.py": CART,
    "tests/test_price.py": "from shop.price import net\n\n\ndef test_net():\n    assert net(1) == 2\n",
    "notes.md": "# Notes\n",
}


def _git(root: Path, *words: str) -> None:
    names = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *names, *words], cwd=root, check=True, capture_output=True)


@pytest.fixture
def shop(tmp_path: Path) -> Project:
    root = tmp_path / "shop-project"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    project = Project.open(root)
    project.index()
    return project


@pytest.fixture
def committed(shop: Project) -> Project:
    root = Path(shop.root)
    _git(root, "init", "-q")
    (root / ".gitignore").write_text(".sage/\n")
    _git(root, "add", ".")
    _git(root, "commit", "-qm", "first")
    return shop


def _places(files: tuple[AffectedFile, ...]) -> dict[str, list[tuple[str, int]]]:
    return {one.file: [(place.scope, place.distance) for place in one.places] for one in files}


def test_a_symbol_breaks_its_users_and_theirs_and_tests_are_apart(shop: Project) -> None:
    found = shop.views.breakage("net")
    assert [one.qualname for one in found.subjects] == ["net"]
    assert _places(found.files) == {"shop/price.py": [("gross", 1)], "shop/cart.py": [("", 2), ("total", 2)]}
    assert set(_places(found.tests)) == {"tests/test_price.py"}
    assert found.files[0].places[0].why == "calls net"
    assert found.is_complete


def test_a_line_means_the_definition_around_it_and_a_file_everything_in_it(shop: Project) -> None:
    assert [one.qualname for one in shop.views.breakage("shop/price.py:9").subjects] == ["gross"]
    whole = shop.views.breakage("shop/price.py")
    assert (whole.subjects[0].kind, whole.subjects[0].file) == ("file", "shop/price.py")
    assert "shop/cart.py" in _places(whole.files)
    for unknown in ("nothing_is_called_so", "shop/gone.py:3", "../outside.py"):
        with pytest.raises(UsageError):
            shop.views.breakage(unknown)


def test_without_git_nothing_is_known(shop: Project) -> None:
    assert shop.views.uncommitted() == Uncommitted(has_git=False)


def test_nothing_has_changed_after_a_commit_also_if_a_file_was_only_touched(committed: Project) -> None:
    assert committed.views.uncommitted() == Uncommitted(has_git=True)
    os.utime(Path(committed.root) / "shop/cart.py", (10, 10))
    assert committed.views.uncommitted() == Uncommitted(has_git=True)


def _changed(project: Project) -> tuple[dict[str, ChangedFile], Uncommitted]:
    project.refresh()
    found = project.views.uncommitted()
    return {one.file: one for one in found.files}, found


def test_an_edit_is_told_with_its_definitions_and_what_it_breaks(committed: Project) -> None:
    price = Path(committed.root) / "shop/price.py"
    price.write_text(PRICE.replace("def net(value):", "def net(value, rate):"))
    files, found = _changed(committed)
    assert list(files) == ["shop/price.py"]
    edit = files["shop/price.py"].difference
    assert edit is not None
    assert (edit.added, edit.removed) == (1, 1)
    assert [(one.symbol.qualname, one.change) for one in edit.definitions] == [("net", "signature")]
    shown = [(line.kind, line.text) for line in edit.lines if line.kind in "+-"]
    assert shown == [("-", "def net(value):"), ("+", "def net(value, rate):")]
    assert [line.new for line in edit.lines if line.kind == "+"] == [4]
    assert found.breakage is not None
    assert {*_places(found.breakage.files)} == {"shop/price.py", "shop/cart.py"}
    assert {*_places(found.breakage.tests)} == {"tests/test_price.py"}


def test_a_removed_definition_breaks_who_imports_it(committed: Project) -> None:
    price = Path(committed.root) / "shop/price.py"
    price.write_text(PRICE.partition("def gross")[0])
    (Path(committed.root) / "other.py").write_text("def show(gross):\n    gross()\n")
    files, found = _changed(committed)
    edit = files["shop/price.py"].difference
    assert edit is not None
    assert [(one.symbol.qualname, one.change) for one in edit.definitions] == [("gross", "removed")]
    assert found.breakage is not None
    assert set(_places(found.breakage.files)) == {"shop/cart.py"}, "the parameter of another file means something else"
    assert all("which is gone" in place.why for one in found.breakage.files for place in one.places)


def test_new_deleted_staged_and_secret_files(committed: Project) -> None:
    root = Path(committed.root)
    (root / "shop/new.py").write_text("def fresh():\n    pass\n")
    (root / "shop/staged.py").write_text("def staged():\n    pass\n")
    _git(root, "add", "shop/staged.py")
    (root / "notes.md").unlink()
    (root / ".env").write_text("PASSWORD=correct-horse-battery\n")
    key = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
    (root / "shop/cart.py").write_text(CART + f"API_KEY = '{key}'\n")
    files, _ = _changed(committed)
    changes = {name: one.change for name, one in files.items()}
    assert changes == {
        ".env": "untracked", "notes.md": "deleted", "shop/cart.py": "modified", "shop/new.py": "untracked",
        "shop/staged.py": "added",
    }  # fmt: skip
    assert files[".env"].difference is None
    assert files[".env"].note
    assert key not in repr(files)
    assert "[masked:" in repr(files["shop/cart.py"])
    new = files["shop/new.py"].difference
    assert new is not None
    assert [one.change for one in new.definitions] == ["added"]


def test_memories_about_changed_code_are_told(committed: Project) -> None:
    committed.memory.add_todo("Net is twice the value", id_="net-twice", refs=["shop/price.py:4"], scope="project")
    committed.memory.add_todo("Carts are summed", id_="carts", refs=["shop/cart.py:4"], scope="project")
    price = Path(committed.root) / "shop/price.py"
    price.write_text(PRICE.replace("value * RATE", "value * RATE + 1"))
    _, found = _changed(committed)
    assert [(one.memory.id, [state.state for state in one.states]) for one in found.stale] == [
        ("net-twice", ["changed"])
    ]


def test_no_filter_of_the_repository_is_run(committed: Project, tmp_path: Path) -> None:
    root, mark = Path(committed.root), tmp_path / "ran"
    program = tmp_path / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    for key in ("filter.evil.clean", "filter.evil.process", "diff.evil.textconv", "diff.external", "core.fsmonitor"):
        _git(root, "config", key, str(program))
    (root / ".git/info/attributes").write_text("* filter=evil diff=evil\n")
    (root / "shop/cart.py").write_text("changed = True\n")
    files, _ = _changed(committed)
    state = GitState.of(committed.root)
    assert state is not None
    assert state.last_commits()["shop/cart.py"] > 0
    assert files["shop/cart.py"].change == "modified"
    assert not mark.exists()
