"""The checkpoint store: no save is lost, ids stay inside the home, the index follows the files."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sage_code.errors import MemoryDamaged, UsageError
from sage_code.memory.checkpoint_store import CheckpointStore
from sage_code.memory.files.checkpoint import Checkpoint
from sage_code.memory.files.checkpoint_text import to_markdown
from sage_code.memory.files.homes import MemoryHome, safe_id
from sage_code.settings.loading import load_settings
from sage_code.settings.table import Settings

LEGACY = Path(__file__).parents[2] / "fixtures" / "memory" / "2025-11-02T09-15-00_legacy.yaml"


def _new(thesis: str, question: str = "Which cache?", **more: object) -> Checkpoint:
    return Checkpoint("", "2026-01-16T12:00:00Z", question, thesis, **more)  # type: ignore[arg-type]


@pytest.fixture
def store(root: Path) -> CheckpointStore:
    return CheckpointStore(str(root), load_settings(str(root)))


def test_a_checkpoint_is_saved_loaded_listed_searched_and_removed(store: CheckpointStore, root: Path) -> None:
    saved = store.save(_new("Redis, because keys expire by themselves.", confidence=0.8))
    assert saved.id == "2026-01-16T12-00-00_which-cache"
    assert (root / ".sage" / "checkpoints" / f"{saved.id}.md").is_file()
    store.save(_new("Postgres full-text is enough.", "How do we search documents?"))
    assert store.load(saved.id) == saved
    assert store.load("which-cache") == saved
    assert [found.id for found, _ in store.newest()] == [saved.id, "2026-01-16T12-00-00_how-do-we-search-documents"]
    found = store.search("expiring keys in redis")
    assert found[0].id == saved.id
    assert found[0].score > found[1].score
    assert found[0].shown["confidence"] == 0.8
    assert store.remove(saved.id) == saved.id
    assert [one.id for one in store.search("redis")] == ["2026-01-16T12-00-00_how-do-we-search-documents"]
    with pytest.raises(UsageError, match="there is no checkpoint"):
        store.load(saved.id)


def test_one_name_is_never_used_twice(store: CheckpointStore) -> None:
    ids = [store.save(_new(f"thesis {n}")).id for n in range(3)]
    base = "2026-01-16T12-00-00_which-cache"
    assert ids == [base, f"{base}-2", f"{base}-3"]
    assert store.load(base).thesis == "thesis 0"
    with pytest.raises(UsageError, match="3 checkpoints are called like"):
        store.load("which-cache-")


def test_without_a_project_home_the_users_home_is_used(tmp_path: Path, sage_home: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    store = CheckpointStore(str(plain), Settings())
    saved = store.save(_new("kept at home"))
    file = sage_home / "checkpoints" / f"{saved.id}.md"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((sage_home / "checkpoints").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (sage_home / "embeddings").iterdir()} == {0o600}
    (plain / ".sage").mkdir()
    assert [scope for _, scope in store.newest()] == ["user"]
    store.save(_new("kept here", "Where?"))
    assert {scope for _, scope in store.newest()} == {"project", "user"}
    assert {found.scope for found in store.search("kept")} == {"project", "user"}


def test_memories_are_shared_in_git_and_derived_files_are_not(store: CheckpointStore, root: Path) -> None:
    saved = store.save(_new("x"))
    file = root / ".sage" / "checkpoints" / f"{saved.id}.md"
    assert stat.S_IMODE(file.stat().st_mode) & 0o044
    assert stat.S_IMODE((root / ".sage" / "local").stat().st_mode) == 0o700
    assert {
        stat.S_IMODE(path.stat().st_mode) for path in Path(MemoryHome("project", str(root), ".sage").derived).iterdir()
    } == {0o600}
    assert "local/" in (root / ".sage" / ".gitignore").read_text()


def test_edits_by_others_are_noticed(store: CheckpointStore, root: Path) -> None:
    saved = store.save(_new("about caches"))
    assert store.search("zebra stripes")[0].explain["words"] == 0
    file = root / ".sage" / "checkpoints" / f"{saved.id}.md"
    changed = root / "changed"
    changed.write_text(file.read_text().replace("about caches", "about zebra stripes"))
    os.replace(changed, file)
    assert store.search("zebra stripes")[0].explain["words"] > 0.9
    (file.parent / "by-hand.md").write_text("# Elephants\n\n## Thesis\nThey remember.\n")
    assert store.search("do elephants remember")[0].id == "by-hand"
    file.unlink()
    assert [found.id for found in store.search("zebra stripes")] == ["by-hand"]


def test_another_process_s_saves_are_noticed(store: CheckpointStore, root: Path) -> None:
    store.save(_new("first"))
    store.search("first")
    other = CheckpointStore(str(root), load_settings(str(root)))
    other.save(_new("second thing", "Something else?"))
    assert "second" in store.search("second thing")[0].shown["thesis"]


def test_the_index_is_made_again_from_the_files(store: CheckpointStore, root: Path) -> None:
    for number in range(300):
        store.save(_new(f"thesis about topic{number}", f"question {number}"))
    derived = Path(MemoryHome("project", str(root), ".sage").derived)
    fresh = CheckpointStore(str(root), load_settings(str(root)))
    before = [found.score for found in fresh.search("topic17 thesis")]
    assert (derived / "checkpoints.npz").is_file()  # the log was packed
    assert not (derived / "checkpoints.log").exists()
    assert not np.load(derived / "checkpoints.npz", allow_pickle=False)["vectors"].dtype.hasobject
    for damage in (b"", b"PK\x03\x04 nonsense", None):
        if damage is None:
            (derived / "checkpoints.npz").unlink()
        else:
            (derived / "checkpoints.npz").write_bytes(damage)
        (derived / "checkpoints.log").write_bytes(b'{"id": "half a li')
        fresh = CheckpointStore(str(root), load_settings(str(root)))
        found = fresh.search("topic17 thesis")
        assert found[0].id.endswith("question-17")
        assert [one.score for one in found] == before


def test_an_index_that_came_with_a_repository_is_not_used(store: CheckpointStore, root: Path) -> None:
    folder = root / ".sage" / "checkpoints"
    folder.mkdir()
    (folder / "x.md").write_text("# Elephants\n\n## Thesis\nThey remember.\n")
    derived = Path(MemoryHome("project", str(root), ".sage").derived)
    derived.mkdir(parents=True)
    np.savez_compressed(derived / "checkpoints.npz", head=np.zeros(50_000_000, np.uint8))
    lines = [
        {"id": "x", "stamp": "1-1", "terms": {}, "follows": "", "names": [], "shown": {"thesis": "lie"}, "vector": ""}
    ]
    lines += [{**lines[0], "shown": 3}, {**lines[0], "names": 7}, {**lines[0], "id": "../../x"}]  # type: ignore[list-item]
    name = store.memory_indexes[0]._opened()._model
    text = "".join(json.dumps({**line, "model": name}) + "\n" for line in lines) + "[1]\nnull\n"
    (derived / "checkpoints.log").write_text(text)
    found = store.search("elephants")
    assert [(one.id, one.shown["thesis"]) for one in found] == [("x", "They remember.")]


def test_another_model_embeds_all_memories_again(store: CheckpointStore, root: Path) -> None:
    store.save(_new("redis expires keys"))
    other = CheckpointStore(str(root), load_settings(str(root), {"embedding_model": "hashing"}))
    assert other.search("redis keys")[0].score > 0
    assert store.search("redis keys")[0].score > 0
    assert [memory_index.rebuild() for memory_index in store.memory_indexes] == [1, 0]


def test_a_folder_that_cannot_be_written_is_searched(store: CheckpointStore, root: Path) -> None:
    folder = root / ".sage" / "checkpoints"
    folder.mkdir()
    (folder / "x.md").write_text("# Elephants\n\n## Thesis\nThey remember.\n")
    (root / ".sage" / "local").symlink_to(root)  # a link is not written through
    assert store.search("elephants")[0].id == "x"
    assert not (root / "embeddings").exists()


def test_the_legacy_format_is_read(store: CheckpointStore, root: Path) -> None:
    folder = root / ".sage" / "checkpoints"
    folder.mkdir()
    (folder / LEGACY.name).write_bytes(LEGACY.read_bytes())
    found = store.load("legacy")
    assert found.core_question == "Should the importer stream?"
    assert found.confidence == 0.75
    assert found.key_evidence == ("A 2 GB file needs 9 GB of memory today", "The parser has an iterator")
    assert found.sources[0].relation == "supports"
    assert found.tensions[0].between == ("profiling", "ops-runbook")
    assert (found.skill, found.message_count, found.action_type) == ("performance", 22, "decision")
    assert store.search("does the importer stream large files")[0].id == found.id
    # If a checkpoint is there in both formats, its Markdown file counts.
    (folder / f"{found.id}.md").write_text(to_markdown(found))
    assert store.load(found.id) == found
    assert len(list(store.newest())) == len(store.search("importer")) == 1


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("../../.bashrc", "bashrc"),
        ("a/b\\c", "a-b-c"),
        ("..", None),
        ("", None),
        ("x" * 500, "x" * 120),
        ("a\0b\n", "a-b"),
    ],
    ids=["climb", "slashes", "dots", "empty", "long", "control"],
)
def test_ids_cannot_lead_out_of_the_home(store: CheckpointStore, root: Path, name: str, safe: str | None) -> None:
    if safe is None:
        with pytest.raises(UsageError, match="is no id"):
            safe_id(name)
        return
    assert safe_id(name) == safe
    saved = store.save(Checkpoint(name, "", "q", "t"))
    assert saved.id == safe
    assert {path.parent for path in root.rglob("*.md")} == {root / ".sage" / "checkpoints"}


def test_links_are_not_followed(store: CheckpointStore, root: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("# private\n\n## Thesis\nsecret\n")
    folder = root / ".sage" / "checkpoints"
    folder.mkdir()
    (folder / "link.md").symlink_to(secret)
    with pytest.raises(UsageError, match="there is no checkpoint"):
        store.load("nolink")
    with pytest.raises(MemoryDamaged, match="cannot be read"):
        store.load("link")
    assert not list(store.newest())
    assert not store.search("private secret")
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="writes through none"):
        store.save(_new("x"))


def test_damaged_files_are_reported_and_the_others_still_found(store: CheckpointStore, root: Path) -> None:
    saved = store.save(_new("sound"))
    folder = root / ".sage" / "checkpoints"
    (folder / "bomb.md").write_text("---\na: &a [x]\nb: *a\n---\n# Q\n")
    (folder / "binary.md").write_bytes(b"\xff\xfe\x00")
    (folder / "huge.md").write_bytes(b"x" * 1_000_001)
    assert [found.id for found, _ in store.newest()] == [saved.id]
    assert len(store.notices.take()) == 3
    assert [found.id for found in store.search("sound")] == [saved.id]
    assert set(store.memory_indexes[0].damaged) == {"bomb", "binary", "huge"}


def _save_many(root: str, name: str, count: int) -> None:
    store = CheckpointStore(root, load_settings(root))
    for number in range(count):
        store.save(_new(f"{name} says {number}"))


def test_processes_that_save_at_once_lose_nothing(root: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_save_many, args=(str(root), f"writer{n}", 4)) for n in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    store = CheckpointStore(str(root), load_settings(str(root)))
    theses = {found.thesis for found, _ in store.newest()}
    assert theses == {f"writer{n} says {k}" for n in range(3) for k in range(4)}
    assert len(store.memory_indexes[0].passages()) == 12


KILLED = """
import sys
from sage_code.memory.files.checkpoint import Checkpoint
from sage_code.memory.checkpoint_store import CheckpointStore
from sage_code.settings.table import Settings
store = CheckpointStore(sys.argv[1], Settings())
n = 0
while True:
    store.save(Checkpoint("", "2026-01-16T12:00:00Z", "q", f"thesis {n} " + "x" * 100_000))
    n += 1
    print(n, flush=True)
"""


def test_a_kill_in_the_middle_leaves_whole_files(root: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(root)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert process.stdout is not None
    for _ in range(3):
        assert process.stdout.readline()
    time.sleep(0.013)
    process.send_signal(signal.SIGKILL)
    said = 3 + len(process.stdout.read().splitlines())
    process.wait()
    store = CheckpointStore(str(root), Settings())
    whole = [found for found, _ in store.newest()]
    assert len(whole) in (said, said + 1)
    assert all(found.thesis.endswith("x" * 100_000) for found in whole)
    assert len(store.memory_indexes[0].passages()) == len(whole)
    store.save(_new("and on it goes"))
