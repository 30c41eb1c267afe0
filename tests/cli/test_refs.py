"""`sage refs-check`, `stale` and `why`, from the command line to the exit code."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sage_code import Project
from sage_code.memory.checkpoint_store import CheckpointStore
from sage_code.memory.code.capture import capture
from sage_code.memory.files.checkpoint import Checkpoint
from sage_code.transcripts.code_context import FileInteraction, build_session_code_context

Run = Callable[..., Any]


@pytest.fixture
def project(sample: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with one memory about `connect`, and no index."""
    (sample / ".sage").mkdir()
    opened = Project.open(sample)
    read = FileInteraction(os.path.join(opened.root, "server.py"), "read", "t", (17, 19))
    refs = capture(opened.root, build_session_code_context([read]))
    checkpoint = Checkpoint(
        "reach", "2026-08-01T10:00:00Z", "How?", "Hosts are reached\x1b[2J in lists.", code_refs=refs
    )
    CheckpointStore(opened.root, opened.settings).save(checkpoint)
    monkeypatch.chdir(sample)
    return sample


def test_a_check_that_finds_nothing_stale_exits_with_0(project: Path, sage: Run) -> None:
    assert sage("refs-check").code == 0
    quiet = sage("stale")
    assert (quiet.code, quiet.out) == (0, "")
    assert "no memory is stale" in quiet.err
    found = sage("why", "connect")
    assert found.code == 0
    assert "reach" in found.out
    assert "\x1b" not in found.out
    assert sage("why", "nobody").code == 1


def test_changed_code_is_shown_with_its_difference(project: Path, sage: Run) -> None:
    server = project / "server.py"
    server.write_text(server.read_text().replace("[host] * retries", "[host] * 2"))
    found = sage("stale")
    assert found.code == 0
    assert "(stale)" in found.out
    assert "+    return [host] * 2" in found.out
    assert "1 changed" in found.err
    document = json.loads(sage("stale", "--json").out)
    assert document["counts"] == {"unchanged": 0, "moved": 0, "changed": 1, "gone": 0}
    assert document["memories"][0]["refs"][0]["relevance"] == "stale"


def test_a_stale_memory_that_is_still_true_is_confirmed(project: Path, sage: Run) -> None:
    server = project / "server.py"
    server.write_text(server.read_text().replace("[host] * retries", "[host] * 2"))
    (file,) = (project / ".sage" / "checkpoints").glob("*.md")
    before = file.read_text()
    assert "(stale)" in sage("stale").out
    done = sage("still-true", "reach")
    assert (done.code, "1 renewed" in done.out) == (0, True)
    assert sage("stale").out == ""
    assert file.read_text().partition("\n---\n")[2] == before.partition("\n---\n")[2]  # what it says stays
    assert "Hosts are reached" in sage("checkpoint", "show", "reach").out
    server.write_text(server.read_text().replace("[host] * 2", "[host] * 3"))
    assert "(stale)" in sage("stale").out  # and it is watched again
    assert sage("still-true", "nothing-of-that-name").code == 2


def test_a_path_outside_the_project_is_an_error(project: Path, sage: Run) -> None:
    assert sage("why", "../../etc/passwd:3").code == 2


def test_a_project_without_memories(sample: Path, monkeypatch: pytest.MonkeyPatch, sage: Run) -> None:
    monkeypatch.chdir(sample)
    assert sage("refs-check").code == 0
    assert sage("stale").code == 0
    assert sage("why", "connect").code == 1
