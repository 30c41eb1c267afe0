"""The wheel, installed where nothing of the checkout is to be seen, does the main job; its assets are found.

The fresh environment borrows the dependencies of the one that runs the tests through a path file, which is read
after its own packages and does not bring the editable install along.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from sage_code.agents.skills import DEFAULT

pytestmark = pytest.mark.slow

TOP = Path(__file__).parents[1]
ASSETS = {"grammars": TOP / "grammars", "compiled_schema": TOP / "compiled_schema", "skills": TOP / "plugin" / "skills"}
WHERE = """
import json, os, sage_code
from sage_code.paths import assets_dir
found = {}
for name in ("grammars", "compiled_schema", "skills"):
    folder = assets_dir(name)
    paths = (os.path.join(top, file) for top, _, files in os.walk(folder) for file in files)
    found[name] = [folder, sorted(os.path.relpath(path, folder) for path in paths)]
print(json.dumps([sage_code.__file__, found]))
"""
# Asks the page for its first screen, without a port.
_PAGE = """
import sage_web.site as s
from starlette.testclient import TestClient
from sage_web.application import make_application
site = s.Site("t" * 20, 80)
app, _ = make_application(site)
with TestClient(app, base_url="http://127.0.0.1:80", headers={"authorization": "Bearer " + site.token}) as client:
    print(s.__file__, client.get("/", headers={"host": "127.0.0.1:80"}).text)
"""


def _run(*command: str | Path, cwd: Path, **variables: str) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")} | variables
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _environment(folder: Path) -> Path:
    """A new virtual environment; gives back its folder of commands."""
    _run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    scheme = {"base": str(folder), "platbase": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", scheme))
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Path(sysconfig.get_path("scripts", "venv", scheme))


def _pip(commands: Path, *words: str | Path) -> None:
    python = commands / "python"
    _run(sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", *words, cwd=commands)


def _assets_in_checkout() -> dict[str, list[str]]:
    return {
        name: sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
        for name, folder in ASSETS.items()
    }


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, TOP, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def shipped(wheel: Path) -> dict[str, list[str]]:
    """The assets of the checkout that the wheel was built from."""
    assert wheel.exists()
    return _assets_in_checkout()


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    commands = _environment(tmp_path_factory.mktemp("installed") / "venv")
    _pip(commands, wheel)
    return commands


def test_the_wheel_holds_packages_and_assets_and_nothing_else(wheel: Path) -> None:
    names = [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name]
    assert {name.partition("/")[0] for name in names} == {"sage_code", "sage_cli", "sage_mcp", "sage_serve", "sage_web"}
    assert {"sage_code/_assets/grammars/languages.toml", "sage_code/_assets/compiled_schema/symbol.json"} <= set(names)
    prompts = TOP / "sage_code" / "memory" / "context" / "prompts"
    assert {path.relative_to(TOP).as_posix() for path in prompts.glob("*.md")} <= set(names)
    assert len([*prompts.glob("*.md")]) == 2
    for kind in ("templates", "static"):
        shipped = {path for path in (TOP / "web" / "sage_web" / kind).rglob("*") if path.is_file()}
        assert {path.relative_to(TOP / "web").as_posix() for path in shipped} <= set(names)
    assert not [name for name in names if "/tests/" in name or "/fixtures/" in name]


def test_index_and_grep_from_the_wheel(installed: Path, sample: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    home = {"SAGE_HOME": str(tmp_path / "home")}
    stats = json.loads(_run(installed / "sage", "index", sample, "--json", cwd=elsewhere, **home))
    assert (stats["files_indexed"], stats["languages"]) == (2, ["python", "typescript"])
    found = json.loads(
        _run(installed / "sage", "grep", "Server.start", "--json", "--path", sample, cwd=elsewhere, **home)
    )
    assert [match["signature"] for match in found["matches"]] == ["def start(self, port: int) -> None"]
    module = _run(installed / "python", "-c", "import sage_mcp.server as s; print(s.__file__)", cwd=elsewhere)
    assert str(TOP) not in module
    assert (installed / "sage-mcp").exists()
    page = _run(installed / "python", "-c", _PAGE, cwd=elsewhere, **home)
    assert str(TOP) not in page
    assert "<h1" in page
    skills = json.loads(_run(installed / "sage", "skills", "list", "--json", cwd=elsewhere, **home))["skills"]
    assert [skill["name"] for skill in skills if skill["is_default"]] == list(DEFAULT)


def _located(python: Path | str, cwd: Path, **variables: str) -> tuple[Path, dict[str, list[str]], set[Path]]:
    module, found = json.loads(_run(python, "-c", WHERE, cwd=cwd, **variables))
    return (
        Path(module),
        {name: files for name, (_, files) in found.items()},
        {Path(folder) for folder, _ in found.values()},
    )


def test_one_function_finds_the_assets_everywhere(
    installed: Path, shipped: dict[str, list[str]], tmp_path: Path
) -> None:
    module, files, folders = _located(installed / "python", tmp_path)
    assert module.is_relative_to(installed.parent)
    assert all(folder.is_relative_to(installed.parent) for folder in folders)
    assert files == shipped

    editable = _environment(tmp_path / "editable")
    _pip(editable, "--no-build-isolation", "--editable", TOP)
    borrowed = {"PYTHONPATH": str(TOP)}
    for python, variables in ((editable / "python", {}), (sys.executable, borrowed)):
        module, files, folders = _located(python, tmp_path, **variables)
        assert module.is_relative_to(TOP)
        assert folders == set(ASSETS.values())
        assert files == _assets_in_checkout()
