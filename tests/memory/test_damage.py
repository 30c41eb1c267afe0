"""Damaged files of memory: the items' own files are the truth, and everything that was made from them comes back."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from sage_code.memory.code.attached import _Map, refresh
from sage_code.memory.files.homes import homes
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.memory.memory import Memory
from sage_code.memory.session_opening import session_opening
from sage_code.settings.loading import load_settings

FACTS = {
    "gdpr": "Consent under the GDPR must be easy to withdraw.",
    "queue": "Kafka keeps the order of messages within a key.",
    "stripe": "Use PaymentIntents for payments.",
}


def _memory(root: Path) -> Memory:
    return Memory(str(root), load_settings(str(root)))


@pytest.fixture
def listed(root: Path) -> Path:
    memory = _memory(root)
    for id_, text in FACTS.items():
        memory.save_knowledge(KnowledgeItem(id_, text, keywords=(id_,)))
    return root / ".sage" / "knowledge" / "index.yaml"


def _conflicted(text: str) -> str:
    lines = text.splitlines(keepends=True)
    return "".join([*lines[:4], "<<<<<<< HEAD\n", lines[4], "=======\n", lines[5], ">>>>>>> theirs\n"])


@pytest.mark.parametrize(
    "damage",
    [
        _conflicted,
        lambda text: text[:-40],
        lambda text: "items: 7\n",
        lambda text: "items: {a: b}\n",
        lambda text: "\x00\x01" + text,
        lambda text: "- {\n" * 100,
        lambda text: text.replace("items:", "items"),
    ],
)
def test_a_damaged_list_of_knowledge_is_rebuilt_from_the_items_and_said_once(root: Path, listed: Path, damage) -> None:  # type: ignore[no-untyped-def]
    listed.write_text(damage(listed.read_text()))
    memory = _memory(root)
    assert {one.item.id for one in memory.knowledge.items()} == set(FACTS)
    assert [item.id for item, _ in memory.recaller.recall("which queue keeps the order of messages")] == ["queue"]
    (said,) = memory.notices.take()
    assert "index.yaml" in said
    assert "rebuilt from the 3 items" in said
    again = _memory(root)
    assert again.knowledge.load("gdpr").keywords == ("gdpr",)
    assert again.notices.take() == []


def test_a_damaged_list_does_not_keep_from_saving_removing_or_the_first_answer(root: Path, listed: Path) -> None:
    for change in (
        lambda memory: memory.save_knowledge(KnowledgeItem("new", "Something else.")),
        lambda memory: memory.knowledge.remove("new"),
    ):
        listed.write_text("<<<<<<< HEAD\n" + listed.read_text())
        memory = _memory(root)
        change(memory)
        assert memory.notices.take()
    assert {one.item.id for one in _memory(root).knowledge.items()} == set(FACTS)
    listed.write_bytes(b"\xff\xfe")
    opening = session_opening(str(root), 500)
    assert "stripe" in opening  # `payments-api` calls it up
    assert "rebuilt from" in opening


def test_a_list_that_is_a_link_or_a_folder_does_not_keep_from_answering(root: Path, listed: Path) -> None:
    listed.unlink()
    listed.symlink_to("/dev/zero")
    assert {one.item.id for one in _memory(root).knowledge.items()} == set(FACTS)
    listed.unlink(missing_ok=True)
    listed.mkdir()
    memory = _memory(root)
    assert {one.item.id for one in memory.knowledge.items()} == set(FACTS)
    assert memory.notices.take()


def test_a_damaged_item_is_named_and_the_others_still_answer(root: Path, listed: Path) -> None:
    damaged = root / ".sage" / "knowledge" / "global" / "gdpr.md"
    damaged.write_bytes(b"---\ntype: [\n---\n\xff\xfe")
    memory = _memory(root)
    assert {one.item.id for one in memory.knowledge.items()} == {"queue", "stripe"}
    assert [item.id for item, _ in memory.recaller.recall("which queue keeps the order of messages")] == ["queue"]
    assert any("gdpr.md" in said for said in memory.notices.take())


def test_flipped_bytes_in_the_index_of_memories_are_noticed_and_mended(root: Path, listed: Path) -> None:
    _memory(root).rebuild()
    _memory(root).save_knowledge(KnowledgeItem("late", "The build needs Node 22."))
    folder = Path(homes(str(root))[0].derived)
    source = random.Random(3)
    every = {folder / name: (folder / name).read_bytes() for name in ("knowledge.npz", "knowledge.log")}
    for path, whole in every.items():
        for _ in range(15):
            broken = bytearray(whole)
            broken[source.randrange(len(broken))] ^= 1 << source.randrange(8)
            path.write_bytes(broken[: source.choice([len(broken), len(broken) // 2])])
            memory = _memory(root)
            assert [item.id for item, _ in memory.recaller.recall("which queue keeps the order")] == ["queue"]
            assert {one.item.id for one in memory.knowledge.items()} == {*FACTS, "late"}
            for each, content in every.items():
                each.write_bytes(content)
    (folder / "knowledge.npz").write_bytes(b"no zip")
    _memory(root).recaller.recall("which queue")
    assert (folder / "knowledge.npz").read_bytes()[:2] == b"PK"  # written again


@pytest.mark.parametrize("name", ["knowledge.npz", "knowledge.log"])
def test_a_pipe_or_an_endless_device_in_place_of_the_index_never_blocks(root: Path, listed: Path, name: str) -> None:
    path = Path(homes(str(root))[0].derived) / name
    expected = [(item.id, found) for item, found in _memory(root).recaller.recall("which queue keeps the order")]
    for make in (os.mkfifo, lambda where: os.symlink("/dev/zero", where), os.mkdir):
        path.unlink(missing_ok=True)
        make(path)
        recalled = _memory(root).recaller.recall("which queue keeps the order")
        assert [(item.id, found) for item, found in recalled] == expected
        assert name.endswith(".npz") or path.is_file()  # a new one has replaced it


def test_a_memory_that_goes_and_comes_back_scores_as_before(root: Path, listed: Path) -> None:
    question = "which queue keeps the order"
    before = [(item.id, found) for item, found in _memory(root).recaller.recall(question)]
    path = listed.parent / "global" / "queue.md"
    text = path.read_text()
    path.unlink()
    assert "queue" not in {item.id for item, _ in _memory(root).recaller.recall(question)}
    path.write_text(text)
    assert [(item.id, found) for item, found in _memory(root).recaller.recall(question)] == before


def test_packing_never_writes_through_a_linked_local_folder(root: Path, listed: Path, tmp_path: Path) -> None:
    local, elsewhere = root / ".sage" / "local", tmp_path / "elsewhere"
    local.rename(elsewhere)
    (elsewhere / "memory.lock").unlink()
    local.symlink_to(elsewhere)
    packed = Path(homes(str(root))[0].derived) / "knowledge.npz"
    packed.write_bytes(b"damaged, which asks for packing")
    assert [item.id for item, _ in _memory(root).recaller.recall("which queue keeps the order")] == ["queue"]
    assert packed.read_bytes() == b"damaged, which asks for packing"
    assert not (elsewhere / "memory.lock").exists()


def test_flipped_bytes_in_the_map_of_attached_memories_are_noticed_and_mended(root: Path) -> None:
    (root / "auth.py").write_text("def sign():\n    return 1\n")
    _memory(root).save_knowledge(KnowledgeItem("sign", "Keys rotate."), refs=["auth.py:1"])
    home = homes(str(root))[0]
    refresh(home)
    expected = list(_Map(home).rows("auth.py"))
    assert expected
    source = random.Random(4)
    for name in ("attached.jsonl", "attached_rows.json"):
        path = Path(home.derived) / name
        whole = path.read_bytes()
        for _ in range(40):
            broken = bytearray(whole)
            broken[source.randrange(len(broken))] ^= 1 << source.randrange(8)
            path.write_bytes(broken)
            list(_Map(home).rows("auth.py"))  # a reader never fails
            refresh(home)
            assert list(_Map(home).rows("auth.py")) == expected
            path.write_bytes(whole)
