"""Core memory: edits, versions, limits, history, and two writers at once."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from sage_code.errors import Conflict, UsageError
from sage_code.memory.tiers.block_xml import parse_compiled
from sage_code.memory.tiers.core_memory import CoreMemory
from sage_code.memory.tiers.engines.protocol import Engine
from sage_code.memory.tiers.opened import opened_agent
from sage_code.settings.table import Settings

SETTINGS = Settings(embedding_model="hashing")


@pytest.fixture
def core(engine: Engine) -> CoreMemory:
    return CoreMemory(engine, opened_agent(engine, SETTINGS, "sage", "ann"), SETTINGS)


def test_every_agent_has_a_persona_and_a_human(core: CoreMemory) -> None:
    assert [(block.label, block.value, block.char_limit, block.version) for block in core.blocks()] == [
        ("human", "", 20_000, 1),
        ("persona", "", 20_000, 1),
    ]
    assert core.block("persona").description.startswith("Stores details about your current persona")
    assert core.block("human").description.startswith("Stores key details about the person")
    again = CoreMemory(core.engine, core.agent, core.settings)
    assert [block.version for block in again.blocks()] == [1, 1]


def test_a_block_is_edited(core: CoreMemory) -> None:
    core.set("human", "Name: Alice")
    core.append("human", "Likes: tea")
    core.insert("human", "City: Oslo", 1)
    core.insert("human", "First", 0)
    core.insert("human", "Last")
    edited = core.replace("human", "tea", "coffee")
    assert edited.block.value == "First\nName: Alice\nCity: Oslo\nLikes: coffee\nLast"
    assert edited.block.version == 7
    assert core.block("human") == edited.block


def test_a_new_line_is_not_added_twice(core: CoreMemory) -> None:
    core.append("human", "one\n")
    assert core.append("human", "two").block.value == "one\ntwo"


def test_a_missing_text_names_the_nearest_line(core: CoreMemory) -> None:
    core.set("human", "Name: Alice\nCity: Oslo\nLikes: tea")
    with pytest.raises(UsageError, match="does not contain 'City: Olso'") as refused:
        core.replace("human", "City: Olso", "City: Bergen")
    assert "line 2: 'City: Oslo'" in refused.value.hint
    assert core.block("human").version == 2


def test_an_ambiguous_text_names_its_lines(core: CoreMemory) -> None:
    core.set("human", "tea\nand\ntea, tea")
    with pytest.raises(UsageError, match=r"occurs 3 times in block human, in lines 1, 3, 3"):
        core.replace("human", "tea", "coffee")
    core.set("human", "aaa")
    with pytest.raises(UsageError, match="occurs 2 times"):
        core.replace("human", "aa", "b")
    with pytest.raises(UsageError, match="no text to replace"):
        core.replace("human", "", "b")


@pytest.mark.parametrize("line", [-2, 3, 1_000])
def test_a_line_that_is_not_there(core: CoreMemory, line: int) -> None:
    core.set("human", "one\ntwo")
    with pytest.raises(UsageError, match="has 2 lines"):
        core.insert("human", "text", line)
    assert core.block("human").value == "one\ntwo"


def test_a_value_has_at_most_as_many_characters_as_its_limit(core: CoreMemory) -> None:
    core.set("human", "ü" * 20_000)
    with pytest.raises(UsageError, match=r"would have 20,002 characters \(it has 20,000 now\).*20,000"):
        core.append("human", "x")
    assert core.block("human").version == 2
    with pytest.raises(UsageError, match="limit is 10"):
        core.create("small", "12345678901", char_limit=10)
    core.create("small", "1234567890", char_limit=10)
    with pytest.raises(UsageError, match="limit is 9"):
        core.configure("small", char_limit=9)


def test_the_limit_of_new_blocks_is_a_setting(engine: Engine) -> None:
    settings = Settings(block_chars=500)
    core = CoreMemory(engine, opened_agent(engine, settings, "other", "ann"), settings)
    assert core.block("persona").char_limit == 500


@pytest.mark.parametrize("label", ["", "1a", "a b", "a:b", "é", "a" * 101, "<x>", "-a", "a\n"])
def test_a_label_is_the_name_of_an_element(core: CoreMemory, label: str) -> None:
    with pytest.raises(UsageError, match="cannot be a label"):
        core.create(label)


def test_an_unknown_label_names_the_others(core: CoreMemory) -> None:
    core.create("project-notes_2")
    with pytest.raises(UsageError, match="no block 'humans'") as refused:
        core.append("humans", "x")
    assert refused.value.hint == "there are: human, persona, project-notes_2"
    with pytest.raises(UsageError, match="already"):
        core.create("project-notes_2")


def test_a_read_only_block_is_edited_by_the_person_alone(core: CoreMemory) -> None:
    core.configure("persona", read_only=True, description="The rules")
    for edit in (
        lambda: core.set("persona", "x"),
        lambda: core.append("persona", "x"),
        lambda: core.insert("persona", "x"),
        lambda: core.replace("persona", "x", "y"),
        lambda: core.undo("persona"),
    ):
        with pytest.raises(UsageError, match="read-only"):
            edit()
    assert core.set("persona", "x", by_person=True).block.value == "x"
    assert core.block("persona").description == "The rules"


def test_a_writer_with_an_old_version_is_told(core: CoreMemory) -> None:
    seen = core.block("human").version
    core.append("human", "from the first writer", expected_version=seen)
    for edit in (
        lambda: core.append("human", "x", expected_version=seen),
        lambda: core.set("human", "x", expected_version=seen),
        lambda: core.insert("human", "x", expected_version=seen),
        lambda: core.replace("human", "from", "x", expected_version=seen),
        lambda: core.undo("human", expected_version=seen),
        lambda: core.configure("human", read_only=True, expected_version=seen),
    ):
        with pytest.raises(Conflict, match=r"at version 2, not 1") as refused:
            edit()
        assert refused.value.code == "conflict"
    assert core.block("human").value == "from the first writer"


def test_every_version_is_kept(core: CoreMemory) -> None:
    core.set("human", "one")
    core.append("human", "two")
    core.replace("human", "one", "ONE")
    history = core.history("human")
    assert [(edit.version, edit.action, edit.value) for edit in history] == [
        (4, "replace", "ONE\ntwo"),
        (3, "append", "one\ntwo"),
        (2, "set", "one"),
        (1, "create", ""),
    ]
    assert history[0].edited_at >= history[-1].edited_at
    assert len(core.history("human", 2)) == 2


def test_an_undo_is_a_version_too(core: CoreMemory) -> None:
    for value in ("one", "two", "three"):
        core.set("human", value)
    assert core.undo("human").block.value == "two"
    assert core.undo("human").block.value == "one"
    assert core.undo("human").block.value == ""
    with pytest.raises(UsageError, match="no earlier version"):
        core.undo("human")
    assert core.undo("human", 4).block.value == "three"
    core.append("human", "four")
    assert core.undo("human").block.value == "three"
    assert [edit.version for edit in core.history("human")] == list(range(10, 0, -1))
    with pytest.raises(UsageError, match="no version 99"):
        core.undo("human", 99)


def test_a_deleted_block_comes_back(core: CoreMemory) -> None:
    core.create("notes", "keep this")
    core.delete("notes")
    assert "notes" not in parse_compiled(core.compile())
    assert [edit.action for edit in core.history("notes")] == ["delete", "create"]
    assert core.undo("notes").block.version == 3
    assert core.block("notes").value == "keep this"
    core.delete("notes")
    assert core.create("notes", "anew").block.version == 5
    with pytest.raises(UsageError, match="every agent has"):
        core.delete("human")


def test_what_is_forgotten_is_gone(core: CoreMemory) -> None:
    core.create("notes", "nobody must know")
    core.delete("notes", forget=True)
    with pytest.raises(UsageError, match="no block"):
        core.history("notes")
    core.set("human", "nobody must know")
    core.delete("human", forget=True)
    assert [edit.value for edit in core.history("human")] == [""]


def test_secrets_are_masked(core: CoreMemory) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    edited = core.append("human", f"token {secret}")
    assert secret not in edited.block.value
    assert edited.masked
    assert secret not in core.history("human")[0].value
    # A secret that arrives in two pieces.
    core.set("persona", f"key ghp_{secret[4:14]}")
    joined = core.replace("persona", secret[4:14], secret[4:])
    assert secret not in joined.block.value
    before = core.block("human").value
    assert core.append("human", "x").block.value == before + "\nx"


def test_what_no_engine_stores_is_replaced(core: CoreMemory) -> None:
    value = core.set("human", "a\x00b\ud800c\x1bd").block.value
    assert value == core.block("human").value == "a\ufffdb\ufffdc\x1bd"
    assert parse_compiled(core.compile())["human"] == value


@pytest.mark.parametrize("value", ["</value></human>", "<persona>", "\x01\x02", "日" * 20_000, "a\r\nb", "\n"])
def test_a_stored_value_survives_a_parser(core: CoreMemory, value: str) -> None:
    core.set("human", value)
    assert parse_compiled(core.compile())["human"] == value


def test_only_blocks_make_a_rebuild_necessary(core: CoreMemory) -> None:
    before = core.compile()
    assert not core.needs_rebuild(before)
    assert not core.needs_rebuild(f"Base instructions\n\n{before}\n\n{core.compile_metadata()}")
    core.append("human", "x")
    assert core.needs_rebuild(before)
    core.undo("human")
    assert not core.needs_rebuild(before)


def test_metadata_have_the_form_of_the_specification(core: CoreMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    core.append("human", "x")
    lines = core.compile_metadata(datetime(2026, 1, 23, 18, 30, tzinfo=UTC)).split("\n")
    assert lines[0] == "<memory_metadata>"
    assert lines[-1] == "</memory_metadata>"
    assert re.fullmatch(r"- The current system date is: 2026-01-2\d \d\d:\d\d:\d\d \S+", lines[1])
    assert re.fullmatch(r"- Memory blocks were last modified: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d \S+", lines[2])
    assert lines[3] == (
        "- 0 previous messages between you and the user are stored in recall memory (use conversation_search to access)"
    )
    assert lines[4] == ("- 0 total memories you created are stored in archival memory (use archival_search to access)")


def test_two_writers_lose_nothing(core: CoreMemory) -> None:
    other = CoreMemory(core.engine, core.agent, core.settings)

    def write(writer: int) -> None:
        for number in range(20):
            (core, other)[writer % 2].append("human", f"{writer}:{number}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    lines = core.block("human").value.split("\n")
    assert sorted(lines) == sorted(f"{writer}:{number}" for writer in range(4) for number in range(20))
    assert [edit.version for edit in core.history("human")] == list(range(81, 0, -1))


def test_of_two_writers_with_one_version_one_is_told(core: CoreMemory) -> None:
    def write(writer: int) -> str:
        try:
            core.set("human", f"writer {writer}", expected_version=1)
        except Conflict:
            return "told"
        return f"writer {writer}"

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(write, range(4)))
    assert answers.count("told") == 3
    assert core.block("human").value in answers
    assert core.block("human").version == 2


def test_an_agent_has_its_own_blocks(core: CoreMemory) -> None:
    core.set("human", "of ann")
    for name, user in (("sage", "bob"), ("other", "ann")):
        another = CoreMemory(core.engine, opened_agent(core.engine, SETTINGS, name, user), SETTINGS)
        assert another.block("human").value == ""
        another.set("human", "another")
        with pytest.raises(UsageError):
            another.undo("human", 3)
    assert core.block("human").value == "of ann"
    assert len(core.history("human")) == 2
