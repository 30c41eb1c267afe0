"""The memories of a project as plain data: lists, filters, the health of their code, the queue of stale ones."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from sage_code import Project
from sage_code.errors import UsageError
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.memory.memory import Memory
from sage_code.views.remembered import memory_states
from sage_code.views.remembered.memories import MemoryQuery, memory_health, memory_page
from sage_code.views.remembered.memory_detail import memory_view
from sage_code.views.remembered.memory_states import states_of
from sage_code.views.remembered.stale_queue import END, stale_queue

SECRET = "ghp_" + "a8Kd03mXq7Zr1Tn5Wb2Ys6Vc9Lp4Hg0Jf3Ee"


@pytest.fixture
def memory(sample: Path) -> Memory:
    """Memories of every kind, about three definitions."""
    opened = Project.open(sample)
    opened.index()
    made = opened.memory
    made.save_checkpoint(
        {"core_question": "Why?", "thesis": f"Because of {SECRET} in it.", "code_refs": ["Server.start"],
         "ts": "2026-03-01T10:00:00Z"},
        auto_code_context=False,
    )  # fmt: skip
    made.save_knowledge(KnowledgeItem("tries", "Three times.\nNot more.", keywords=("net",), added="2026-03-02"),
                        refs=["server.py:17"])  # fmt: skip
    made.save_knowledge(KnowledgeItem("plain", "No code here.", "preference", added="2026-02-01"))
    made.add_todo("Look again", id_="look", due="2026-01-01")
    return made


def _change(sample: Path, old: str, new: str) -> None:
    file = sample / "server.py"
    file.write_text(file.read_text().replace(old, new))


def test_a_list_is_by_day_and_says_how_its_code_is_doing(memory: Memory) -> None:
    found = memory_page(memory, MemoryQuery())
    assert [row.id for row in found.rows][1:] == ["tries", found.rows[2].id, "plain"]
    assert [day for day, _ in found.days][1:] == ["2026-03-02", "2026-03-01", "2026-02-01"]
    assert found.counts == {"all": 4, "checkpoints": 1, "knowledge": 2, "todos": 1}
    rows = {row.id: row for row in found.rows}
    assert rows["tries"].title == "Three times."
    assert rows["tries"].keywords == ("net",)
    assert memory_health(memory, "knowledge", "tries") == "holds"
    assert rows["plain"].health is None
    assert not any(SECRET in row.title for row in found.rows)
    assert "[masked: " in found.rows[2].title


def test_filters_and_search(memory: Memory, sample: Path) -> None:
    _change(sample, "retries=3", "retries=5")
    assert [row.id for row in memory_page(memory, MemoryQuery(keyword="net")).rows] == ["tries"]
    assert [row.id for row in memory_page(memory, MemoryQuery(state="changed")).rows] == ["tries"]
    assert [row.kind for row in memory_page(memory, MemoryQuery(state="holds")).rows] == ["checkpoint"]
    found = memory_page(memory, MemoryQuery("knowledge", "how many times is it tried"))
    assert found.rows[0].id == "tries"
    assert memory_page(memory, MemoryQuery(text="!?")).rows == ()


def test_a_damaged_file_is_in_the_list_and_says_why(memory: Memory, sample: Path) -> None:
    path = sample / ".sage" / "checkpoints" / "2026-04-01T10-00-00_bad.md"
    path.write_text("---\na: &x 1\n---\n")
    row = next(row for row in memory_page(memory, MemoryQuery()).rows if row.id.endswith("_bad"))
    assert "anchor" in row.problem


def test_a_page_reads_only_its_own_files(memory: Memory, sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = sample / ".sage" / "checkpoints"
    for number in range(70):
        (folder / f"2025-01-{1 + number % 28:02d}T10-{number % 60:02d}-00_n{number}.md").write_text(
            "# Q\n\n## Thesis\nT\n"
        )
    read: list[str] = []
    load = memory.checkpoints.load
    monkeypatch.setattr(memory.checkpoints, "load", lambda id_: (read.append(id_), load(id_))[1])
    last = memory_page(memory, MemoryQuery("checkpoints", page=99))
    assert (last.page, last.pages, len(last.rows), len(read)) == (3, 3, 11, 11)


def test_states_follow_the_code_and_the_memories(memory: Memory, sample: Path) -> None:
    states = states_of(memory.root or "")
    assert states.stale() == []
    _change(sample, "retries=3", "retries=5")
    assert [one.memory.id for one in states.stale()] == ["tries"]
    _change(sample, "retries=5", "retries=3")
    assert states.stale() == []
    _change(sample, "LIMIT = 10\n", "LIMIT = 10\nMORE = 11\n")
    assert {state.state for one in states.all() for state in one.states} == {"moved"}


def test_what_is_looked_for_elsewhere_is_looked_for_again_after_a_while(
    memory: Memory, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    states = states_of(memory.root or "")
    text = (sample / "server.py").read_text()
    (sample / "server.py").unlink()
    assert {state.state for one in states.stale() for state in one.states} == {"gone"}
    (sample / "moved.py").write_text(text)
    monkeypatch.setattr(memory_states, "time", Later())
    assert states.stale() == []
    (sample / "server.py").write_text(text)
    assert {state.state for one in states.all() for state in one.states} == {"unchanged"}


class Later:
    """A clock that is a minute ahead."""

    def monotonic(self) -> float:
        """The time in a minute."""
        return time.monotonic() + 60


def test_one_memory_with_its_code_then_and_now(memory: Memory, sample: Path) -> None:
    _change(sample, "retries=3", "retries=5")
    view = memory_view(memory, "knowledge", "tries")
    [ref] = view.refs
    assert (view.health, ref.health, ref.file, ref.first) == ("changed", "changed", "server.py", 17)
    assert "-def connect(host, retries=3):" in ref.diff
    with pytest.raises(UsageError):
        memory_view(memory, "knowledge", "trie")


def test_the_queue_keeps_its_count_while_it_is_worked_off(memory: Memory, sample: Path) -> None:
    assert stale_queue(memory).view is None
    _change(sample, "retries=3", "retries=5")
    _change(sample, "self.port = port", "self.port = int(port)")
    first = stale_queue(memory)
    assert (first.number, first.total, first.left, len(first.near)) == (1, 2, 2, 2)
    memory.knowledge.remove("tries") if first.key.endswith("tries") else memory.checkpoints.remove(first.view.id)  # type: ignore[union-attr]
    second = stale_queue(memory, first.after, 1)
    assert (second.number, second.total, second.after) == (2, 2, END)
    end = stale_queue(memory, END, 1)
    assert (end.view, end.done, end.left) == (None, 1, 1)
    assert stale_queue(memory, "knowledge/none").was_missed
