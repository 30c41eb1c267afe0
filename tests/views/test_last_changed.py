"""A page knows that it is old: every change of the index and of the memories moves a time, and nothing else does."""

from __future__ import annotations

import os
from pathlib import Path

from sage_code import Project
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.views.state.last_changed import LastChanged, last_changed


def _age(sample: Path) -> None:
    """Let everything look old, so that two changes within one tick of the clock can be told apart."""
    own, knowledge = sample / ".sage", sample / ".sage" / "knowledge"
    for path in (own / "codebase" / "compiled", own / "core.md", knowledge, *knowledge.rglob("*")):
        if os.path.lexists(path):
            os.utime(path, (1_000_000_000, 1_000_000_000), follow_symlinks=False)


def test_only_what_changes_something_moves_the_times(sample: Path) -> None:
    project = Project.open(sample)
    assert last_changed(project.root) == LastChanged()
    project.index()
    assert last_changed(project.root).index > 0
    project.memory.save_knowledge(KnowledgeItem("port", "The port is 80"))
    _age(sample)
    before = last_changed(project.root)
    assert before == LastChanged(1_000_000_000, 1_000_000_000)

    project.index()  # finds nothing to do
    assert last_changed(project.root) == before
    (sample / "new.py").write_text("x = 1\n")
    project.index()
    assert last_changed(project.root).index > before.index
    assert last_changed(project.root).memory == before.memory

    project.memory.save_knowledge(KnowledgeItem("port", "The port is 81"))
    assert last_changed(project.root).memory > before.memory
    _age(sample)
    project.memory.knowledge.remove("port")
    assert last_changed(project.root).memory > before.memory
    _age(sample)
    project.mark_core("server.py")
    assert last_changed(project.root).memory > before.memory
