"""`sage models`: changing the model and changing back, and what is refused before anything is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sage_code import Project
from sage_code.settings.loading import load_settings

Run = Callable[..., Any]


@pytest.fixture
def project(sample: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    Project.open(sample, overrides={"code_embedding_model": "hashing"}).index()
    monkeypatch.chdir(sample)
    return sample


def _use(sage: Run, *words: str) -> Any:
    result = sage("models", "use", *words, "--json")
    assert result.code == 0, result.err
    return json.loads(result.out)


def test_going_back_embeds_nothing(project: Path, sage: Run) -> None:
    there = _use(sage, "bundled")
    assert there["index"]["chunks_created"] > 0
    assert there["index"]["model"].startswith("bundled@")
    back = _use(sage, "hashing")
    assert (back["index"]["model"], back["index"]["chunks_created"]) == ("hashing", 0)
    again = _use(sage, "bundled")
    assert (again["index"]["model"], again["index"]["chunks_created"]) == (there["index"]["model"], 0)
    listed = json.loads(sage("models", "list", "--json").out)
    assert len(listed["tables"]) == 2
    assert {model["name"]: model["projects"] for model in listed["models"]} == {
        "bundled": [str(project)],
        "hashing": [],
    }


def test_the_setting_goes_where_it_was_asked_for(project: Path, sage: Run) -> None:
    assert _use(sage, "hashing", "--scope", "project")["where"].startswith(str(project))
    assert load_settings(str(project)).code_embedding_model == "hashing"
    assert load_settings(None).code_embedding_model == "bundled"
    result = sage("models", "use", "bundled", "--no-index")  # for the user: the project's own still wins here
    assert result.code == 0
    assert "sets the model too" in result.err
    assert load_settings(None).origin("code_embedding_model").kind == "user"


def test_a_folder_that_is_not_indexed_stays_so(tmp_path: Path, sage: Run) -> None:
    assert _use(sage, "hashing", "--path", str(tmp_path))["index"] is None
    assert not (tmp_path / ".sage" / "codebase").exists()


@pytest.mark.parametrize("name", ["no such model", "./nowhere"])
def test_a_model_that_cannot_be_had_changes_nothing(project: Path, sage: Run, name: str) -> None:
    result = sage("models", "use", name)
    assert result.code == 2
    assert result.err.startswith("sage: ")
    assert load_settings(str(project)).origin("code_embedding_model").kind == "default"


def test_a_project_cannot_choose_a_model_from_elsewhere(
    project: Path, sage: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sage_code.index.models.load_embedder", lambda *_: None)  # as if it were on this machine
    result = sage("models", "use", "acme/unheard-of", "--scope", "project")
    assert result.code == 2
    assert "neither configured nor trusted" in result.err
    assert not (project / ".sage" / "tuning.yaml").exists()


def test_info_describes_without_loading(project: Path, sage: Run) -> None:
    shown = sage("models", "info", "BAAI/bge-base-en-v1.5")
    assert shown.code == 0
    assert "not downloaded" in shown.out
    assert "hub" in shown.out
    text = sage("models", "info", "hashing").out
    assert "no weights" in text
    assert str(project) in text
