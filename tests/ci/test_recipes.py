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

from sage_code import Project

TOP = Path(__file__).parents[2]
SCRIPT = TOP / "ci" / "index.sh"
REVIEW = TOP / "ci" / "review.sh"


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


def test_a_review_compares_a_merge_commit_with_its_first_parent_and_sees_no_token(sample: Path, tmp_path: Path) -> None:
    def git(*words: str) -> None:
        names = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *names, *words], cwd=sample, check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "first")
    git("checkout", "-qb", "work")
    (sample / "new.py").write_text("def added(value):\n    return value + 1\n")
    git("add", ".")
    git("commit", "-qm", "work")
    git("checkout", "-q", "main")
    git("merge", "-q", "--no-ff", "-m", "merge", "work")
    Project.open(sample).index()
    # What stands for `sage` keeps what it was given to see.
    seen, real = tmp_path / "seen", Path(sys.executable).parent / "sage"
    (tmp_path / "sage").write_text(f'#!/bin/sh\nenv > "{seen}"\nexec "{real}" "$@"\n')
    (tmp_path / "sage").chmod(0o755)
    given = {"GITHUB_TOKEN": "hidden1", "SAGE_REVIEW_TOKEN": "hidden2", "SAGE_SIGNING_KEY": "hidden3"}
    environment = {**os.environ, **given, "SAGE": str(tmp_path / "sage"), "GITHUB_EVENT_NAME": "pull_request"}
    file = tmp_path / "review.md"
    command = ["sh", str(REVIEW), str(file), str(sample)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "- added to `new.py`: `added`" in file.read_text()
    assert "1 file changed" in file.read_text()
    assert "hidden" not in seen.read_text()


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


def test_the_step_that_reads_a_pull_request_has_no_token() -> None:
    steps = {step.get("name"): step for step in _load("action.yml")["runs"]["steps"]}
    assert not [name for name in steps["Review"]["env"] if "TOKEN" in name]
    assert not [name for name in steps["Comment"]["env"] if name != "GITHUB_TOKEN"]
    # A module that a pull request brings along is not run in place of Python's.
    assert "python -I -m venv" in steps["Install Sage"]["run"]


def test_the_template_for_gitlab() -> None:
    template = _load("ci/gitlab.yml")
    for name, file, command in (
        ("sage-index", "index.sageindex", "sage index export"),
        ("sage-review", "review.md", "env -u SAGE_REVIEW_TOKEN sage review"),
    ):
        job = template[name]
        assert job["artifacts"]["paths"] == [file]
        for line in job["before_script"] + job["script"]:
            subprocess.run(["sh", "-n"], input=line, text=True, check=True)
        assert [line for line in job["script"] if command in line]
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
    for script in (SCRIPT, REVIEW):
        assert os.access(script, os.X_OK)
        subprocess.run(["sh", "-n", str(script)], check=True)
