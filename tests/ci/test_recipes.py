"""The recipes for CI: the shell script runs, the others have the fields that their systems expect."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

TOP = Path(__file__).parents[2]
SCRIPT = TOP / "ci" / "index.sh"


def _run(project: Path, home: Path, file: Path, **more: str) -> str:
    sage = Path(sys.executable).parent / "sage"
    environment = {**os.environ, "SAGE": str(sage), "SAGE_HOME": str(home), **more}
    command = ["sh", str(SCRIPT), str(file), str(project)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_each_run_starts_from_the_last(sample: Path, tmp_path: Path) -> None:
    """Every run is a machine of its own: another home, another folder, and nothing but the file of the last."""
    file = tmp_path / "out" / "index.sageindex"
    file.parent.mkdir()
    cold = _run(sample, tmp_path / "home1", file)
    assert not re.search(r"^  0 chunks embedded", cold, re.MULTILINE)
    moved = sample.rename(tmp_path / "checkout2")
    (moved / ".sage" / "codebase").rename(tmp_path / "gone")
    (moved / "new.py").write_text("def added(value):\n    return value + 1\n")
    warm = _run(moved, tmp_path / "home2", tmp_path / "next.sageindex", LAST_INDEX=str(file))
    assert re.search(r"^  1 chunks embedded", warm, re.MULTILINE), warm
    file.write_bytes(file.read_bytes()[:-9])
    (moved / ".sage" / "codebase").rename(tmp_path / "gone too")
    again = _run(moved, tmp_path / "home3", file)
    assert "starting from scratch" in again
    assert not re.search(r"^  0 chunks embedded", again, re.MULTILINE)
    assert abs(file.stat().st_size - (tmp_path / "next.sageindex").stat().st_size) < 200


def _load(name: str) -> Any:
    return yaml.safe_load((TOP / name).read_text())


def test_the_action() -> None:
    action = _load("action.yml")
    assert action["runs"]["using"] == "composite"
    assert {"name", "description", "inputs", "outputs", "runs"} <= action.keys()
    used = set(re.findall(r"\$\{\{ inputs\.([a-z-]+) \}\}", (TOP / "action.yml").read_text()))
    assert used == action["inputs"].keys()
    assert all(given["description"] for given in action["inputs"].values())
    steps = action["runs"]["steps"]
    ids = {step["id"] for step in steps if "id" in step}
    assert set(re.findall(r"steps\.(\w+)\.outputs", (TOP / "action.yml").read_text())) == ids
    for step in steps:
        if "run" in step:
            assert step["shell"] == "bash"
            # What is typed into an input is never part of a script: it goes in as a variable.
            assert "${{" not in step["run"]
            subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True)
        else:
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@v\d+", step["uses"])


def test_the_template_for_gitlab() -> None:
    template = _load("ci/gitlab.yml")
    job = template["sage-index"]
    assert job["artifacts"]["paths"] == ["index.sageindex"]
    for line in job["before_script"] + job["script"]:
        subprocess.run(["sh", "-n"], input=line, text=True, check=True)
    assert [line for line in job["script"] if "sage index export" in line]
    assert job.keys() <= {"image", "stage", "rules", "variables", "before_script", "script", "artifacts"}


def test_the_workflow_and_pre_commit_run_what_make_runs() -> None:
    job = _load(".github/workflows/ci.yml")["jobs"]["test"]
    assert job["strategy"]["matrix"] == {"os": ["ubuntu-latest", "macos-latest"], "python": ["3.11", "3.12", "3.13"]}
    assert job["steps"][-1] == {"run": "make test"}
    lint = (TOP / "Makefile").read_text().partition("\nlint:")[2].partition("\n\n")[0]
    for hook in _load(".pre-commit-config.yaml")["repos"][0]["hooks"]:
        command = hook["entry"].removeprefix(".venv/bin/").removesuffix(" --force-exclude")
        assert f"$(BIN)/{command}" in lint


def test_scripts_are_executable_and_sound() -> None:
    assert os.access(SCRIPT, os.X_OK)
    subprocess.run(["sh", "-n", str(SCRIPT)], check=True)
