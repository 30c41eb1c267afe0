"""Answers about references stop at the time limit and give what they have found."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sage_code import Project
from sage_code.xref import answers
from sage_code.xref.compiled_graph import CompiledGraph
from sage_code.xref.resolve import Resolver


def test_without_time_the_answer_is_partial_and_says_so(sample: Path) -> None:
    (sample / "many.py").write_text(
        "from server import connect\n\n\n" + "".join(f"def f{n}():\n    connect({n})\n\n\n" for n in range(300))
    )
    project = Project.open(sample)
    project.index()
    graph = CompiledGraph(project.root)
    [definition] = [found for found in graph.definitions("connect") if found.file == "server.py"]
    patient, hasty = Resolver(graph), Resolver(graph, 0)
    assert len(answers.callers(patient, definition)) == 300
    assert not patient.ran_out
    time.sleep(0.001)
    assert answers.callers(hasty, definition) == []
    assert answers.references(hasty, definition) == []
    assert answers.callees(hasty, definition) == []
    assert answers.impact(hasty, "server.py") is not None
    assert hasty.ran_out


def test_the_command_says_what_it_left_out(
    sample: Path, sage: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    (sample / "client.py").write_text("from server import connect\n\n\ndef main():\n    connect(1)\n")
    Project.open(sample).index()
    monkeypatch.chdir(sample)
    hasty = sage("callers", "connect", "--seconds", "0.000001")
    assert (hasty.code, hasty.out) == (1, "")
    assert "nothing calls it so far" in hasty.err
    assert "--seconds 0" in hasty.err
    patient = sage("callers", "connect", "--seconds", "0")
    assert (patient.code, patient.err) == (0, "")
    assert "client.py:5  main" in patient.out


def test_a_reference_behind_files_that_import_each_other_whole_stops_at_the_limit(tmp_path: Path) -> None:
    """One reference of rubocop, whose files require each other, took a quarter of a second after its time was over."""
    names = [f"part_{number}" for number in range(12)]
    for name in names:
        others = "".join(f"from {other} import *\n" for other in names if other != name)
        (tmp_path / f"{name}.py").write_text(f"{others}\n\ndef own_{name}():\n    return 1\n")
    (tmp_path / "use.py").write_text("from part_0 import *\n\n\ndef go():\n    return nobody.has_it()\n")
    project = Project.open(tmp_path)
    project.index()
    graph = CompiledGraph(project.root)
    [(file, reference)] = graph.references("has_it")
    hasty = Resolver(graph, 0)
    time.sleep(0.001)
    assert hasty.targets(file, reference) == []
    assert hasty.ran_out
    assert len(hasty._imports._imported) <= 1
