"""The figures of a project's health."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from sage_code import Project, __version__
from sage_code.errors import SageError
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.views.state import apart
from sage_code.views.state.health import MemoryFigures, beside, store_figures


def test_what_was_left_out_is_grouped_by_reason(sample: Path) -> None:
    (sample / "empty.py").write_text("")
    (sample / "also-empty.py").write_text("")
    views = Project.open(sample).views
    groups = [(one.reason, one.count, [file.path for file in one.files]) for one in views.skipped()]
    assert groups == [("empty", 2, ["also-empty.py", "empty.py"]), ("binary", 1, ["logo.bin"])]
    assert [(one.reason, one.count) for one in views.skipped("ALSO")] == [("empty", 1)]
    cut = views.skipped(most=1)[0]
    assert (cut.count, len(cut.files)) == (2, 1)


def test_the_store_is_measured_without_opening_it(sample: Path) -> None:
    assert store_figures(str(sample)) is None
    Project.open(sample).index()
    figures = store_figures(str(sample))
    assert figures is not None
    assert (figures.dim, figures.chunks, figures.imported) == (256, 2, False)
    assert figures.compiled_bytes > 0 < figures.store_bytes
    assert figures.store.endswith("lancedb")


def test_memories_are_counted_and_their_stale_share(sample: Path) -> None:
    project = Project.open(sample)
    project.index()
    nothing = MemoryFigures(0, 0, 0, 0, 0, 0, (), 0)
    assert project.views.memory_figures() == nothing
    assert nothing.stale_share == 0
    project.memory.save_knowledge(KnowledgeItem("retries", "Three retries"), refs=["server.py:17-19"])
    project.memory.save_knowledge(KnowledgeItem("url", "An address"), refs=["web/client.ts:3-5"])
    project.memory.add_todo("Write it down")
    project.memory.save_checkpoint({"core_question": "Why?", "thesis": "Because", "confidence": 0.9})
    project.mark_core("server.py")
    (sample / "web" / "client.ts").unlink()
    figures = project.views.memory_figures()
    assert (figures.checkpoints, figures.knowledge, figures.todos_open, figures.core_files) == (1, 2, 1, 1)
    assert (figures.referring, figures.stale, figures.stale_share) == (2, 1, 0.5)
    assert dict(figures.states) == {"unchanged": 1, "gone": 1}


def test_what_runs_beside_is_nothing_at_first(sample: Path) -> None:
    found = beside(str(sample))
    assert (found.watcher.running, found.hooks.is_installed, found.plugins) == (False, False, ())


def test_usage_comes_from_a_child(sample: Path, sage_home: Path) -> None:
    folder = sage_home.parent / ".claude" / "projects" / "-w"
    folder.mkdir(parents=True)
    message = {"id": "m", "role": "assistant", "model": "claude-sonnet-4-6", "usage": {"input_tokens": 7}}
    record = {"type": "assistant", "cwd": "/w", "timestamp": "2026-08-01T12:00:00Z", "message": message}
    (folder / "s.jsonl").write_text(json.dumps(record) + "\n")
    report = apart.used_by_day(date(2026, 7, 1))
    assert [(row.keys, row.tokens.input) for row in report.rows] == [(("2026-08-01",), 7)]
    assert report.total.replies == 1
    assert apart.used_by_day(date(2026, 7, 1), "/elsewhere").rows == ()


def test_the_doctor_works_in_a_child_and_leaves_the_server_small(sample: Path) -> None:
    asks = (
        "import sys; from sage_code.views.state import apart\n"
        f"found = apart.findings({str(sample)!r}, {__version__!r})\n"
        "print(*(f'{one.check}={one.level}' for one in found), *({'lance', 'numpy', 'mcp'} & {*sys.modules}))"
    )
    out = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, check=True).stdout.split()
    assert "index=warning" in out
    assert "mcp=ok" in out
    assert not {"lance", "numpy", "mcp"} & {*out}


def test_a_child_that_dies_is_an_error_that_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(SageError, match="ended without an answer"):
        apart.findings("/", "1")
