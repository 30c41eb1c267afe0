"""Limits take memories off the memory_index without losing one, and only those that Sage may take."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sage_code.errors import UsageError
from sage_code.memory.documents import maintenance_lines, saved_document
from sage_code.memory.files import maintenance
from sage_code.memory.files.checkpoint import Checkpoint
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.memory.files.maintenance import Limits
from sage_code.memory.memory import Memory
from sage_code.settings.loading import load_settings
from sage_code.settings.table import TABLE
from sage_code.values import Scope

LIMITS = {"checkpoint_max_count": 3, "checkpoint_max_age_days": 30}


def _memory(root: Path, **limits: Any) -> Memory:
    return Memory(str(root), load_settings(str(root), {**LIMITS, **limits}))


def _fill(memory: Memory, ages: tuple[int, ...], *, trigger: str = "synthesis", scope: Scope | None = None) -> None:
    for age in ages:
        ts = (datetime.now(UTC) - timedelta(days=age)).strftime("%Y-%m-%dT%H:%M:%SZ")
        memory.checkpoints.save(Checkpoint("", ts, "", f"thesis {age}", trigger=trigger), scope=scope)


def _save(memory: Memory, thesis: str = "thesis 0", **more: Any) -> Any:
    given = {"thesis": thesis, "confidence": 0.9, "trigger": "synthesis"}
    return memory.save_checkpoint(given, auto_code_context=False, **more)


def _theses(memory: Memory) -> list[str]:
    return [found.thesis for found, _ in memory.checkpoints.newest()]


def _git(root: Path, *words: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=root, check=True)


def test_memories_beyond_a_limit_are_archived_said_and_restored_for_good(root: Path) -> None:
    memory = _memory(root)
    _fill(memory, (40, 34, 28, 22, 16, 10, 4, 3))
    saved = _save(memory)
    assert [len(saved.maintenance.by_age), len(saved.maintenance.by_count)] == [2, 4]
    assert _theses(memory) == ["thesis 0", "thesis 3", "thesis 4"]
    assert len(memory.checkpoints.memory_indexes[0].passages()) == 3  # the search knows, too
    assert len(saved_document(saved)["archived"]) == 6
    assert "sage checkpoint restore" in maintenance_lines(saved.maintenance, "checkpoint")[0]
    assert {one.thesis for one, _ in memory.checkpoints.archived()} == {f"thesis {n}" for n in (40, 34, 28, 22, 16, 10)}
    oldest = saved.maintenance.by_age[0]
    before = (root / ".sage" / "archive" / "checkpoints" / f"{oldest}.md").read_bytes()
    assert memory.checkpoints.restore(oldest) == (oldest, "project")
    assert (root / ".sage" / "checkpoints" / f"{oldest}.md").read_bytes() == before
    assert _memory(root).checkpoints.search("thesis 40")[0].id == oldest
    assert memory.tidy_checkpoints().archived == ()  # what a person took back stays
    with pytest.raises(UsageError, match="nothing archived is called"):
        memory.checkpoints.restore(oldest)


def test_archiving_the_same_id_twice_keeps_both(root: Path) -> None:
    memory = _memory(root)
    for thesis in ("first", "second"):
        memory.checkpoints.save(
            Checkpoint("2026-01-01T00-00-00_same", "2026-01-01T00:00:00Z", "", thesis, trigger="synthesis")
        )
        memory.tidy_checkpoints(None, Limits(1, is_asked=True))
    assert {one.thesis for one, _ in memory.checkpoints.archived()} == {"first", "second"}


def test_saving_for_the_user_never_touches_the_project(root: Path) -> None:
    memory = _memory(root)
    _fill(memory, (12, 10, 8, 6, 4, 2))
    _fill(memory, (5, 3, 1), scope="user")
    keys = "The signing keys rotate once a week"
    assert _save(memory, keys, scope="user", autosave=True).maintenance.by_count[0].endswith("thesis-5")
    assert len(os.listdir(root / ".sage" / "checkpoints")) == 6
    # Repeats are looked for where it is saved: the project does not know this thesis.
    assert _save(memory, keys, scope="user", autosave=True).judgement.verdict == "duplicate"
    assert _save(memory, keys, scope="project", autosave=True).checkpoint is not None


def test_what_a_person_saved_is_never_archived_by_itself(root: Path) -> None:
    memory = _memory(root)
    _fill(memory, (40, 35, 30, 25, 20, 15, 10, 5, 1), trigger="manual")
    assert _save(memory).maintenance.archived == ()
    assert len(memory.tidy_checkpoints(None, Limits(30, is_asked=True)).archived) == 0
    assert len(memory.tidy_checkpoints(None, Limits(29, is_asked=True, everything=True)).archived) == 3


def test_what_git_tracks_is_left_alone_unless_asked(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = _memory(root)
    _fill(memory, (12, 10, 8))
    _git(root, "init", "-q")
    _git(root, "add", ".sage/checkpoints")
    _fill(memory, (6, 4, 3, 2))
    done = _save(memory).maintenance
    assert [id_[-1] for id_ in done.archived] == ["6", "4"]  # three untracked ones stay, however many the team has
    assert len(_theses(memory)) == 6
    assert len(memory.tidy_checkpoints(None, Limits(0, 1, is_asked=True, everything=True)).archived) == 5
    _fill(memory, (5, 4, 3, 2))
    monkeypatch.setenv("PATH", "")
    refused = memory.tidy_checkpoints()
    assert refused.archived == ()
    assert "git does not say" in refused.notice


@pytest.mark.parametrize("years", [1, 10, 100])
def test_a_clock_that_jumps_ahead_archives_nothing(root: Path, monkeypatch: pytest.MonkeyPatch, years: int) -> None:
    memory = _memory(root, checkpoint_max_count=0)
    _fill(memory, tuple(range(29, 0, -2)))
    jumped = datetime.now(UTC) + timedelta(days=365 * years)

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return jumped.astimezone(tz)

    monkeypatch.setattr(maintenance, "datetime", Clock)
    for second in range(3):  # the second save sees the first one's time
        ts = (jumped + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%SZ")
        memory.checkpoints.save(Checkpoint("", ts, "", f"later {second}", trigger="synthesis"))
        assert memory.tidy_checkpoints().archived == ()
    monkeypatch.undo()
    back = _save(_memory(root)).maintenance  # set right again, three of the future remain
    assert back.archived == ()
    assert "in the future" in back.notice


def test_a_repository_cannot_set_a_limit_that_takes_memories_away(root: Path) -> None:
    names = ("checkpoint_max_age_days", "checkpoint_max_count", "knowledge_max_age_days", "maintenance_on_save")
    assert all(TABLE[name].user_only for name in names)
    (root / ".sage" / "tuning.yaml").write_text("checkpoint_max_count: 1\nknowledge_max_age_days: 1\n")
    settings = load_settings(str(root))
    assert (settings.checkpoint_max_count, settings.knowledge_max_age_days) == (200, 0)
    assert [warning for warning in settings.warnings if "for the user to decide" in warning] == list(settings.warnings)
    assert len(settings.warnings) == 2
    memory = Memory(str(root), settings)
    _fill(memory, (6, 4, 2))
    assert _save(memory).maintenance.archived == ()


def test_knowledge_beyond_its_age_is_archived_and_restored(root: Path) -> None:
    memory = _memory(root, knowledge_max_age_days=30)
    for age in (40, 34, 28, 22, 16, 10, 4):
        added = (datetime.now(UTC) - timedelta(days=age)).strftime("%Y-%m-%d")
        memory.knowledge.save(KnowledgeItem(f"known-{age}", f"fact {age}", added=added, skill="s" if age == 40 else ""))
    saved, _ = memory.save_knowledge(KnowledgeItem("new", "recent"))
    assert saved.maintenance.archived == ("known-40", "known-34")
    assert {one.item.id for one in memory.knowledge.archived()} == {"known-40", "known-34"}
    assert "known-40" not in {one.item.id for one in memory.knowledge.items()}
    memory.knowledge.restore("known-40")
    assert memory.knowledge.load("known-40").skill == "s"
    assert memory.knowledge.prune(30).archived == ()


def test_an_archive_that_is_a_link_is_not_written_through(root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (root / ".sage" / "archive").symlink_to(tmp_path / "elsewhere")
    memory = _memory(root)
    _fill(memory, (6, 4, 3, 2))
    saved = _save(memory)
    assert saved.checkpoint is not None
    assert saved.maintenance.archived == ()
    assert "could not be archived" in saved.maintenance.notice
    assert os.listdir(tmp_path / "elsewhere") == []
