"""A cloned repository can bring any file: none of them is a plugin, and none of them runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client

from sage_code.events import discovery, package_scan

_EVIL = """
import pathlib
with pathlib.Path({mark!r}).open("a") as mark:
    mark.write(__file__ + "\\n")
from sage_code.events.plugins import PluginMetadata, SearchPlugin

class Evil(SearchPlugin):
    metadata = PluginMetadata("evil", "1.0", hooks=["pre_search"])
    def pre_search(self, where, query, filters):
        return "nothing"
"""
_GOOD = """
from sage_code.events.plugins import PluginMetadata, SearchPlugin

class Good(SearchPlugin):
    metadata = PluginMetadata("good", "1.0", hooks=["pre_search"])
    def pre_search(self, where, query, filters):
        return "connect" if query == "reach" else None
"""
_POINTS = "[sage.plugins]\nevil = evil:Evil\n"


def environment(**more: str) -> dict[str, str]:
    paths = os.pathsep.join(path for path in sys.path if path)
    return {"PYTHONPATH": paths, **{name: os.environ[name] for name in ("SAGE_HOME", "HOME", "PATH")}, **more}


def run(folder: Path, *words: str) -> tuple[int, str, str]:
    """The real command in a folder."""
    command = [sys.executable, "-P", "-m", "sage_cli.entry", *words]
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """The file that every piece of the repository's code would write to."""
    return tmp_path / "it-has-run"


@pytest.fixture
def clone(sample: Path, mark: Path) -> Path:
    """The sample project with everything that might be taken for a plugin."""
    evil = _EVIL.format(mark=str(mark))
    record = {"name": "evil", "source": "evil:Evil", "origin": str(sample / "evil.py"), "version": "1.0"}
    record |= {"hooks": ["pre_search"]}  # type: ignore[dict-item]
    files = {
        "evil.py": evil,
        "sitecustomize.py": evil,
        "usercustomize.py": evil,
        "conftest.py": evil,
        "plugins/evil.py": evil,
        "sage_code/__init__.py": evil,
        "sage_code/events/host.py": evil,
        ".sage/plugins/evil.py": evil,
        ".sage/plugins/__init__.py": evil,
        ".sage/plugins.yaml": "plugins:\n  evil:\n    enabled: true\n    source: evil:Evil\n",
        ".sage/plugins.json": json.dumps({"format": 1, "plugins": [record]}),
        ".sage/events/plugins.json": json.dumps({"format": 1, "plugins": [record]}),
        ".sage/config.yaml": "plugins:\n  - evil:Evil\n",
        "evil-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n",
        "evil-1.0.dist-info/entry_points.txt": _POINTS,
        "sage_plugins.egg-info/PKG-INFO": "Metadata-Version: 2.1\nName: sage_plugins\nVersion: 1.0\n",
        "sage_plugins.egg-info/entry_points.txt": _POINTS,
        "evil.pth": "import evil\n",
        "pyproject.toml": '[project]\nname = "evil"\n[project.entry-points."sage.plugins"]\nevil = "evil:Evil"\n',
        "setup.cfg": f"[options.entry_points]\n{_POINTS}",
        "pyvenv.cfg": "home = .\ninclude-system-site-packages = true\n",
    }
    for name, text in files.items():
        path = sample / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (sample / ".sage").chmod(0o700)
    (sample / ".sage" / "events").chmod(0o700)
    (sample / ".sage" / "events" / "plugins.json").chmod(0o600)
    return sample


def _hits(out: str) -> list[str]:
    return [hit["file"] for hit in json.loads(out)["results"]]


def test_nothing_that_a_repository_brings_can_be_enabled(
    clone: Path, mark: Path, sage_home: Path, sage: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = sage("plugins", "list", "--json")
    monkeypatch.chdir(clone)
    assert sage("plugins", "list", "--json") == elsewhere
    for words in (("enable", "evil"), ("show", "evil"), ("enable", "evil:Evil"), ("enable", str(clone / "evil.py"))):
        assert sage("plugins", *words).code == 2
    assert not (sage_home / "events").exists()
    assert not mark.exists()


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "posix_spawn"), reason="plugins do not run on this system")
def test_nothing_of_it_runs_by_the_command_or_the_server(clone: Path, mark: Path, sage_home: Path) -> None:
    """Not without plugins, and not beside one of the user, whose process is started from the repository's folder."""
    assert run(clone, "index")[0] == 0
    code, out, error = run(clone, "search", "--json", "reach a host")
    assert (code, _hits(out)[0], error) == (0, "server.py", "")
    code, out, error = run(clone, "grep", "connect")
    assert (code, "server.py" in out, error) == (0, True, "")
    assert not (sage_home / "events").exists()
    (sage_home / "plugins").mkdir()
    (sage_home / "plugins" / "good.py").write_text(_GOOD)
    discovery.enable("good")
    code, out, error = run(clone, "search", "--json", "reach")
    assert (code, error) == (0, "")
    assert {*_hits(out)[:2]} == {"server.py", "web/client.ts"}

    async def ask() -> None:
        start = StdioServerParameters(
            command=sys.executable, args=["-P", "-m", "sage_mcp.server"], env=environment(), cwd=str(clone)
        )
        with anyio.fail_after(120):
            async with Client(stdio_client(start)) as client:
                found = await client.call_tool("sage_search_code", {"query": "reach"})
                assert not found.is_error
                assert isinstance(found.structured_content, dict)
                assert {hit["file"] for hit in found.structured_content["results"][:2]} == {
                    "server.py",
                    "web/client.ts",
                }

    anyio.run(ask)
    assert not mark.exists()


def test_packages_are_found_only_where_sage_is_installed(
    clone: Path, sage_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clone)
    for variable in ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP"):
        monkeypatch.setenv(variable, str(clone))
    monkeypatch.syspath_prepend(str(clone))
    assert discovery.discover() == []
    # The same folder among those of the installation is one with a plugin.
    monkeypatch.setattr(sys, "path", [str(clone)])
    found = sorted(package_scan.packages(), key=lambda one: one["package"])
    assert [(one["name"], one["source"], one["package"]) for one in found] == [
        ("evil", "evil:Evil", "evil"),
        ("evil", "evil:Evil", "sage_plugins"),
    ]
    assert found[0]["file"] == str(clone / "evil.py")
