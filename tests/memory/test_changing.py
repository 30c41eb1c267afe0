"""Changes that can be taken back, edits by a form, and who wins when two change the same memory."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code import Project
from sage_code.errors import Conflict, MemoryDamaged, UsageError
from sage_code.memory import changing
from sage_code.memory.editing import as_sent, draft_of, edit
from sage_code.memory.files import kept
from sage_code.memory.files.head_edits import with_values
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.memory.memory import Memory

SECRET = "ghp_" + "a8Kd03mXq7Zr1Tn5Wb2Ys6Vc9Lp4Hg0Jf3Ee"


@pytest.fixture
def memory(sample: Path) -> Memory:
    """The memory of a project with one item about its code."""
    opened = Project.open(sample)
    opened.index()
    opened.memory.save_knowledge(KnowledgeItem("port", "The port is kept.", keywords=("net",)), refs=["server.py:9"])
    return opened.memory


def _file(memory: Memory, id_: str = "port") -> Path:
    return Path(changing.stored(memory, "knowledge", id_).where)


def test_an_edit_keeps_what_a_person_has_added_to_the_head(memory: Memory) -> None:
    file = _file(memory)
    file.write_text(file.read_text().replace("type: knowledge", "# why\nreviewed: by Ana\ntype: knowledge"))
    before = changing.stored(memory, "knowledge", "port")
    shown = draft_of(memory, before)
    done = edit(memory, before, replace(shown, content="The port is forgotten.", keywords="net, port"))
    text = file.read_text()
    assert "# why\nreviewed: by Ana\n" in text
    assert memory.knowledge.load("port").keywords == ("net", "port")
    changing.undo(memory, done.change.key)
    assert file.read_text() == before.text


def test_a_form_that_comes_back_as_it_was_shown_changes_no_byte(memory: Memory) -> None:
    content = f"key {SECRET}\r\nwith\0 odd\rends"
    memory.knowledge.save(KnowledgeItem("odd", content))
    before = changing.stored(memory, "knowledge", "odd")
    shown = draft_of(memory, before)
    assert SECRET not in shown.content
    sent = replace(shown, content=as_sent(shown.content).replace("\n", "\r\n"))
    assert edit(memory, before, sent).change.key == ""
    assert _file(memory, "odd").read_bytes() == before.text.encode()


@given(content=st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda text: text.strip()))
def test_what_is_typed_is_what_is_remembered(content: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.mktemp("typed")
    (root / ".sage").mkdir()
    memory = Project(str(root)).memory
    memory.knowledge.save(KnowledgeItem("one", "before"))
    stored = changing.stored(memory, "knowledge", "one")
    edit(memory, stored, replace(draft_of(memory, stored), content=content))
    assert memory.knowledge.load("one").content == as_sent(content)


def test_two_who_edit_the_same_do_not_overwrite_each_other(memory: Memory) -> None:
    before = changing.stored(memory, "knowledge", "port")
    shown = draft_of(memory, before)
    edit(memory, before, replace(shown, content="Mine."))
    with pytest.raises(Conflict):
        edit(memory, before, replace(shown, content="Yours."))
    assert memory.knowledge.load("port").content == "Mine."
    assert len(changing.earlier(memory, "knowledge", "port")) == 1  # nothing is kept of what did not happen
    with pytest.raises(Conflict):
        changing.delete(memory, "knowledge", "port", before.version)


def test_an_undo_does_not_undo_what_came_after_unless_asked(memory: Memory) -> None:
    before = changing.stored(memory, "knowledge", "port")
    first = edit(memory, before, replace(draft_of(memory, before), content="Second.")).change
    file = _file(memory)
    file.write_text(file.read_text().replace("Second.", "Third."))
    with pytest.raises(Conflict):
        changing.undo(memory, first.key)
    changing.undo(memory, first.key, is_forced=True)
    assert file.read_text() == before.text
    [latest, *_] = changing.earlier(memory, "knowledge", "port")
    changing.undo(memory, latest.key)
    assert "Third." in file.read_text()


def test_what_is_deleted_can_be_restored_once_and_not_over_another(memory: Memory) -> None:
    before = _file(memory).read_bytes()
    change = changing.delete(memory, "knowledge", "port")
    assert [one.id for one in changing.recently_deleted(memory)] == ["port"]
    memory.save_knowledge(KnowledgeItem("port", "Another."))
    assert changing.recently_deleted(memory) == []
    with pytest.raises(Conflict):
        changing.undo(memory, change.key)
    memory.knowledge.remove("port")
    changing.undo(memory, change.key)
    assert _file(memory).read_bytes() == before
    assert memory.knowledge.load("port").keywords == ("net",)
    with pytest.raises(UsageError):
        changing.undo(memory, change.key)


def test_todos_are_finished_and_opened_again(memory: Memory) -> None:
    memory.add_todo("Look at it", id_="look")
    before = _file(memory, "look").read_text()
    done = changing.finish(memory, "look", is_done=True)
    assert memory.knowledge.load("look").status == "done"
    changing.finish(memory, "look", is_done=False)
    assert memory.knowledge.load("look").status == "pending"
    assert memory.knowledge.load("look").done == ""
    changing.undo(memory, done.key)  # the text is that before again
    assert _file(memory, "look").read_text() == before
    with pytest.raises(UsageError):
        changing.finish(memory, "port", is_done=True)


def test_a_checkpoint_of_a_template_gets_the_usual_layout_when_it_is_edited(memory: Memory) -> None:
    fields = {"options": "A or B"}
    given = {"core_question": "A or B?", "thesis": "A.", "template": "decision", "fields": fields}
    saved = memory.save_checkpoint(given).checkpoint
    assert saved is not None
    stored = changing.stored(memory, "checkpoint", saved.id)
    shown = draft_of(memory, stored)
    edit(memory, stored, replace(shown, content=shown.content.replace("A.", "B, after all.")))
    edited = memory.checkpoints.load(saved.id)
    assert (edited.thesis, edited.template, dict(edited.fields)) == ("B, after all.", "", fields)


def test_references_that_stay_keep_what_their_code_said(memory: Memory, sample: Path) -> None:
    [ref] = memory.knowledge.load("port").code_refs
    file = sample / "server.py"
    file.write_text(file.read_text().replace("self.port = port", "self.port = int(port)"))
    stored = changing.stored(memory, "knowledge", "port")
    shown = draft_of(memory, stored)
    edit(memory, stored, replace(shown, refs=f"{shown.refs}\nserver.py:13\n"))
    kept_ref, new = memory.knowledge.load("port").code_refs
    assert kept_ref == ref
    assert new.symbol == "Server.stop"
    stored = changing.stored(memory, "knowledge", "port")
    edit(memory, stored, draft_of(memory, stored), renew=True)
    assert "int(port)" in (memory.knowledge.load("port").code_refs[0].snippet or "")
    with pytest.raises(UsageError):
        edit(memory, stored, replace(shown, refs="nowhere.py:3"))


def test_core_files_come_back_as_they_were(memory: Memory, sample: Path) -> None:
    core = sample / ".sage" / "core.md"
    core.write_text("# Ours\n\nRead these.\n\n- `server.py`: Listens\n")
    before = core.read_bytes()
    renamed = changing.mark_core(memory, "server.py", "Answers")
    assert "Answers" in core.read_text()
    changing.undo(memory, renamed.key)
    assert core.read_bytes() == before
    gone = changing.unmark_core(memory, "server.py")
    changing.undo(memory, gone.key)
    assert core.read_bytes() == before


def test_kept_versions_are_private_named_safely_and_not_for_ever(
    memory: Memory, sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "_MAX_VERSIONS", 3)
    for number in range(5):
        before = changing.stored(memory, "knowledge", "port")
        edit(memory, before, replace(draft_of(memory, before), content=f"Number {number}."))
    assert len(changing.earlier(memory, "knowledge", "port")) == 3
    [folder] = (sample / ".sage" / "local").glob("kept-*")
    if os.name != "nt":
        assert all(one.stat().st_mode & 0o077 == 0 for one in [folder, *folder.iterdir()])
    for key in ("", "../../../etc/passwd", "1234567890123456789-knowledge-../x", "1234567890123456789-knowledge-port"):
        with pytest.raises(UsageError):
            changing.undo(memory, key)


def test_single_values_of_a_head_change_and_nothing_else() -> None:
    text = "---\n# first\na: 1\nb: [x,   y]\nc: |\n  long\n  text\n---\n\nbody\n"
    assert with_values(text, {"a": "2"}, "f") == text.replace("a: 1", "a: '2'")
    assert with_values(text, {"b": None}, "f") == text.replace("b: [x,   y]\n", "")
    assert with_values(text, {"d": "new"}, "f") == text.replace("  text\n---", "  text\nd: new\n---")
    assert with_values("only text\n", {"a": ""}, "f") == "only text\n"
    with pytest.raises(MemoryDamaged):
        with_values("---\n{a: 1, b: 2}\n---\n", {"a": "3"}, "f")
