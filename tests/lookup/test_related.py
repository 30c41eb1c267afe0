"""The uses of all definitions of a name come in one list, bounded in time and number."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from sage_code import Project
from sage_code.lookup.related import Relation, as_row


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Two definitions of `load`, each called once."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text("def load():\n    return helper()\n\n\ndef helper():\n    return 1\n")
        (tmp_path / f"use_{name}.py").write_text(f"from {name} import load\n\n\ndef run_{name}():\n    load()\n")
    opened = Project.open(tmp_path)
    opened.index()
    return opened


def test_the_answers_of_all_definitions_are_joined(project: Project) -> None:
    found = project.related("load", "callers")
    assert (found.targets, found.is_complete) == (2, True)
    assert {use.scope for use in found.uses} == {"run_one", "run_two"}
    assert {use.scope for use in project.related("helper", "callers").uses} == {"load"}


def test_impact_takes_a_file_too(project: Project) -> None:
    found = project.related("one.py", "impact")
    assert found.targets == 1
    assert {use.file for use in found.uses} == {"use_one.py"}


@pytest.mark.parametrize("relation", get_args(Relation))
def test_a_name_without_a_definition_has_no_targets(project: Project, relation: Relation) -> None:
    found = project.related("no_such_name", relation)
    assert (found.uses, found.targets, found.is_complete) == ((), 0, True)


def test_enough_uses_or_no_time_end_the_question(project: Project) -> None:
    assert not project.related("load", "references", most=1).is_complete
    hasty = project.related("load", "callers", seconds=0)
    assert (hasty.uses, hasty.targets, hasty.is_complete) == ((), 2, False)


def test_a_check_is_called_before_each_definition_and_may_raise(project: Project) -> None:
    calls: list[None] = []

    def cancelled_at_the_second() -> None:
        calls.append(None)
        if len(calls) > 1:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        project.related("load", "callers", check=cancelled_at_the_second)


def test_a_row_names_definitions_by_location_and_name(project: Project) -> None:
    row = as_row(project.related("load", "callees").uses[0])
    assert row["definition"] == {"file": "one.py", "line": 5, "kind": "function", "qualname": "helper"}
    assert (row["file"], row["scope"]) == ("one.py", "load")
