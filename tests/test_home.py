"""Sage's home and the projects around it: one file, one meaning."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from sage_code import Project
from sage_code.discover.roots import why_unusual
from sage_code.errors import UsageError
from sage_code.index import registry
from sage_code.index.manifest import load_manifest
from sage_code.paths import codebase_dir, dot_sage_dir, find_root, registry_path, sage_home


def test_home_and_registry_are_two_files(sample: Path, sage_home: Path, sage: Any) -> None:
    """A home folder that is a project: indexing and forgetting it leaves the list and the store of the others alone."""
    home = sage_home.parent
    Project.open(sample).index()
    (home / "dotfile.py").write_text("def shell():\n    return 'zsh'\n")
    subprocess.run(["git", "init", "-q", str(home)], check=True)
    assert sage("index", "--yes", str(home)).code == 0
    assert {entry.root for entry in registry.projects()} == {str(sample), str(home)}
    assert Project.open(home).grep("shell")
    assert Project.open(sample).search("reach a host").results
    assert not Path(codebase_dir(str(home))).is_relative_to(sage_home / "codebase")
    assert sage("projects", "forget", str(home)).code == 0
    assert [entry.root for entry in registry.projects()] == [str(sample)]
    assert Project.open(sample).search("reach a host").results
    assert Project.open(sample).index(full=True).chunks_created == 0
    assert not Path(codebase_dir(str(home))).exists()


def test_the_old_registry_is_migrated(sample: Path, sage_home: Path) -> None:
    Project.open(sample).index()
    old = sage_home / "codebase" / "index_meta.json"
    os.rename(registry_path(), old)
    assert [entry.root for entry in registry.projects()] == [str(sample)]
    other = sample.parent / "other"
    other.mkdir()
    (other / "a.py").write_text("def one():\n    return 1\n")
    Project.open(other).index()
    assert [entry.root for entry in registry.projects()] == [str(other), str(sample)]
    assert not old.exists()
    assert os.stat(registry_path()).st_mode & 0o777 == 0o600


def test_a_manifest_is_never_taken_for_the_registry_nor_the_other_way_round(sample: Path, sage_home: Path) -> None:
    Project.open(sample).index()
    manifest = Path(codebase_dir(str(sample)), "index_meta.json").read_bytes()
    os.unlink(registry_path())
    (sage_home / "codebase" / "index_meta.json").write_bytes(manifest)
    assert registry.load() == []
    home = str(sage_home.parent)
    assert load_manifest(home) is None
    registry.record(registry.ProjectEntry(home, "home", "m", 1, "", 0, 0, "now"))
    assert load_manifest(home) is None
    assert [entry.name for entry in registry.projects()] == ["home"]


@pytest.mark.parametrize("below", ["", "codebase", "codebase/deep", "mine"])
def test_a_sage_home_inside_a_project_is_not_shared_with_it(
    sample: Path, below: str, monkeypatch: pytest.MonkeyPatch, sage: Any
) -> None:
    monkeypatch.setenv("SAGE_HOME", str(sample / ".sage" / below))
    Project.open(sample).index()
    assert Project.open(sample).grep("connect")
    own = Path(dot_sage_dir(str(sample)))
    assert own.parent == Path(sage_home())
    assert json.loads(Path(registry_path()).read_bytes())["projects"]
    assert sage("projects", "forget", str(sample)).code == 0
    assert not own.exists()
    assert Path(sage_home(), "codebase", "lancedb").is_dir()
    assert (sample / "server.py").exists()


def test_a_sage_home_among_the_sources_is_not_indexed(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = sample / "sage-home"
    home.mkdir()
    (home / "mcp-token").write_text("token\n")
    monkeypatch.setenv("SAGE_HOME", str(home))
    assert not [file for file in Project.open(sample).preview().to_index if "sage-home" in file.path]


def test_a_linked_home_folder_makes_no_project_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real" / ".sage").mkdir(parents=True)
    (tmp_path / "real" / "work").mkdir()
    (tmp_path / "link").symlink_to("real")
    monkeypatch.setenv("SAGE_HOME", str(tmp_path / "link" / ".sage"))
    assert find_root(str(tmp_path / "real" / "work")) == str(tmp_path / "real" / "work")
    assert dot_sage_dir(str(tmp_path / "real")).endswith("project-around-home")


def test_the_root_of_the_disk_system_folders_and_the_home_want_a_yes(sage_home: Path, sage: Any) -> None:
    home = sage_home.parent
    (home / "a.py").write_text("def one():\n    return 1\n")
    for folder, words in {home: "your home folder", Path("/"): "the root", Path("/etc"): "a system folder"}.items():
        refused = sage("index", str(folder))
        assert refused.code == 2
        assert words in refused.err
        assert "--yes" in refused.err
        assert not (folder / ".sage" / "codebase" / "compiled").exists()
    with pytest.raises(UsageError, match="home folder"):
        Project.open(home).index()
    assert registry.projects() == []
    assert sage("index", "--yes", str(home)).code == 0
    assert sage("index", str(home)).code == 0  # the user has said so once


@pytest.mark.parametrize(
    ("folder", "what"),
    [
        ("/", "root"), ("/etc/nginx", "system"), ("/proc/self", "system"), ("/usr", "system"), ("/var", "system"),
        ("/usr/src/linux", ""), ("/var/www/shop", ""), ("/dev/shm/build", ""), ("/opt/app", ""),
    ],
)  # fmt: skip
def test_what_is_a_system_folder(folder: str, what: str) -> None:
    assert what in (why := why_unusual(folder))
    assert bool(why) == bool(what)


def test_sages_own_home_and_what_is_above_the_users_home_are_unusual(sage_home: Path) -> None:
    assert "above" in why_unusual(str(sage_home.parent.parent))
    assert "Sage's own home" in why_unusual(str(sage_home / "codebase"))
    assert why_unusual(str(sage_home.parent / "src")) == ""


def test_an_import_does_not_go_into_the_home_folder(sample: Path, sage_home: Path, tmp_path: Path) -> None:
    Project.open(sample).index()
    Project.open(sample).export_index(tmp_path / "a.sageindex")
    with pytest.raises(UsageError, match="home folder"):
        Project.import_index(tmp_path / "a.sageindex", sage_home.parent)
