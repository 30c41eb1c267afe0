"""What pages show of an agent's memory: opened without a trace, paged, masked, compared, and undone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from sage_code.errors import UsageError
from sage_code.memory.channels.channel_memory import ChannelMemory
from sage_code.memory.tiers.engines.opening import default_path
from sage_code.memory.tiers.manager import MemoryManager
from sage_code.memory.tiers.tables import channels
from sage_code.memory.tiers.upkeep import forget_agent
from sage_code.memory.tiers.values import NewMessage
from sage_code.views.agents import conversations
from sage_code.views.agents import people as agent_people
from sage_code.views.agents.blocks import block_history, block_list, difference, version_change
from sage_code.views.agents.conversations import Asked
from sage_code.views.agents.opened import AgentMemories, AgentMemory, overview_of
from sage_code.views.agents.passages import passage_list, passage_page

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
KEY = "AKIAIOSFODNN7EXAMPLX"


@pytest.fixture
def memory() -> Iterator[AgentMemory]:
    """The memory of the user's agent, which was just made."""
    made = AgentMemories().made()
    yield made
    made.engine.close()


def said(memory: AgentMemory, session: str, *texts: str, role: str = "user", project: str = "") -> list[str]:
    """Store messages, a minute after each other."""
    new = [
        NewMessage(role, text, session=session, created_at=START + timedelta(minutes=number))
        for number, text in enumerate(texts)
    ]
    return memory.recall.add(new, project=project, title=f"About {session}")


def test_looking_makes_neither_a_database_nor_an_agent() -> None:
    memories = AgentMemories()
    assert memories.existing() is None
    assert not Path(default_path()).exists()
    with MemoryManager("another"):
        pass
    assert memories.existing() is None  # the database is there, the agent of the settings is not
    another = memories.existing("another")
    assert another is not None
    another.core().view()
    with pytest.raises(UsageError):
        memories.made("nobody")
    made = memories.made()
    assert not made.core().blocks()  # who only reads makes no default blocks
    assert made.engine is another.engine


def test_a_database_that_was_replaced_is_opened_anew(memory: AgentMemory) -> None:
    said(memory, "a", "one")
    memories = AgentMemories()
    first = memories.existing()
    assert first is not None
    assert memories.existing() is first
    forget_agent(first.engine, first.agent)
    assert memories.existing() is None
    first.engine.close()
    for path in Path(default_path()).parent.glob("memory.db*"):
        if path.is_file():
            path.rename(path.with_name(f"old-{path.name}"))
    assert memories.existing() is None
    assert memories.made().engine is not first.engine


def test_the_overview_counts_and_names_what_waits(memory: AgentMemory) -> None:
    said(memory, "a", "I live in Lisbon.", "Second", project="/work/shop")
    said(memory, "b", "Third")
    memory.core(only_reads=False).set("human", f"key {KEY}", by_person=True)
    shown = overview_of(memory)
    assert shown.counts == {"messages": 3, "sessions": 2, "passages": 0, "facts": 0}
    assert [one.id for one in shown.sessions] == ["a", "b"]
    assert {one.name: one.waiting for one in shown.channels} == {"/work/shop": 2, "main": 1}
    assert [one.label for one in shown.blocks] == ["persona", "human"]
    assert KEY not in shown.blocks[1].value


def test_sessions_and_messages_come_in_pages(memory: AgentMemory) -> None:
    for number in range(conversations.SESSIONS_A_PAGE + 3):
        memory.recall.add([NewMessage("user", "x", session=f"s{number}", created_at=START + timedelta(days=number))])
    first, last = (conversations.session_list(memory, Asked(), page) for page in (1, 99))
    assert (first.paging.total, first.paging.pages, last.paging.page) == (43, 2, 2)
    assert [one.id for one in last.sessions] == ["s2", "s1", "s0"]
    in_span = Asked(since=START + timedelta(days=1), until=START + timedelta(days=2))
    assert [one.id for one in conversations.session_list(memory, in_span, 1).sessions] == ["s1"]
    ids = said(memory, "long", *(f"line {number}" for number in range(120)), role="assistant")
    assert conversations.transcript(memory, "long", 2).messages[0].message.content == "line 50"
    around = conversations.transcript(memory, "long", message_id=ids[119])
    assert (around.paging.page, around.messages[-1].message.id) == (3, ids[119])
    newest = conversations.newest_messages(memory, Asked(role="assistant"), 3)
    assert [one.message.content for one in newest.messages][:2] == ["line 19", "line 18"]
    assert not newest.has_more
    with pytest.raises(UsageError):
        conversations.transcript(memory, "unknown")


def test_an_answer_shows_its_passage_with_the_words_of_the_question(memory: AgentMemory) -> None:
    filler = "\n\n".join(f"Paragraph {number} speaks about gardens, rain and long walks." * 12 for number in range(4))
    said(memory, "a", f"{filler}\n\nThe payment service retries five times.\n\n{filler}", "And then?")
    [answer] = conversations.answers_to(memory, Asked("how often do payments retry?"), 1)
    marked = [piece.text for piece in answer.pieces if piece.is_marked]
    assert {"payment", "retries"} <= set(marked)
    assert answer.lead
    assert answer.rest
    assert answer.after is not None
    assert answer.after.content == "And then?"


def test_long_messages_are_cut_and_no_secret_survives_the_cut(memory: AgentMemory) -> None:
    [message_id] = said(memory, "a", "word " * 4_000)
    [one] = conversations.transcript(memory, "a").messages
    assert one.is_cut
    assert one.chars == len(conversations.message_with_id(memory, message_id).content) == 20_000
    cut = conversations.shown(conversations.message_with_id(memory, message_id), 100)
    assert len(cut.message.content) <= 100
    with memory.engine.writing() as rows:  # as a version of Sage with fewer rules has stored it
        rows.run("UPDATE messages SET content = ?", ("x" * 5_990 + f" {KEY} " + "y" * 100,))
    [one] = conversations.transcript(memory, "a").messages
    assert "AKIA" not in one.message.content


def test_what_an_erasure_takes_is_what_is_forgotten(memory: AgentMemory) -> None:
    ids = said(memory, "a", "I live in Lisbon.", "We decided to use Postgres.", project="/work/shop")
    said(memory, "b", "Something else", project="/work/shop")
    ChannelMemory(memory.engine, memory.agent, memory.settings, "/work/shop").summarise()
    found = conversations.erasure_of(memory, session="a")
    assert (found.messages, found.facts, found.channels) == (2, 1, ("/work/shop",))
    assert (found.first, found.last) == (START, START + timedelta(minutes=1))
    assert conversations.erasure_of(memory, message=ids[1]).messages == 1
    assert conversations.erasure_of(memory, project="/work/shop").messages == 3
    assert memory.recall.forget(session="a").messages == found.messages
    for wrong in ("", "no id"):
        with pytest.raises(UsageError):
            conversations.erasure_of(memory, message=wrong)


def test_versions_of_a_block_and_what_lies_between_them(memory: AgentMemory) -> None:
    core = memory.core(only_reads=False)
    core.set("human", "one\ntwo\nthree", by_person=True)
    core.set("human", "one\n2\nthree", by_person=True)
    core.create("notes", "something")
    core.delete("notes")
    listed = block_list(memory)
    assert [one.label for one in listed.blocks] == ["persona", "human"]
    assert [one.label for one in listed.deleted] == ["notes"]
    history = block_history(memory, "human")
    assert [one.version for one in history.versions] == [3, 2, 1]
    assert not history.can_be_deleted
    assert block_history(memory, "notes").block is None
    changed = [(one.kind, one.text) for one in version_change(memory, "human", 3).lines]
    assert changed == [("same", "one"), ("removed", "two"), ("added", "2"), ("same", "three")]
    back = [(one.kind, one.text) for one in version_change(memory, "human", 2, to_now=True).lines]
    assert back == [("same", "one"), ("removed", "2"), ("added", "two"), ("same", "three")]
    core.undo("notes")
    assert not block_list(memory).deleted
    with pytest.raises(UsageError):
        version_change(memory, "human", 9)


def test_a_difference_leaves_out_what_is_far_away() -> None:
    old = [f"line {number}" for number in range(40)]
    new = [*old[:20], "new", *old[21:]]
    kinds = [one.kind for one in difference("\n".join(old), "\n".join(new))]
    assert kinds == ["gap", "same", "same", "same", "removed", "added", "same", "same", "same", "gap"]
    assert difference("same", "same") == ()
    assert [one.kind for one in difference("", "a")] == ["added"]


def test_passages_by_tags_and_words(memory: AgentMemory, tmp_path: Path) -> None:
    kept = memory.archive.insert("Kafka was rejected because of its operations.", "decision, queues").passage
    for number in range(35):
        memory.archive.insert(f"Note number {number} about gardening", "notes")
    page = passage_list(memory, "", (), 2)
    assert (page.paging.total, len(page.passages), page.passages[-1].passage.id) == (36, 6, kept.id)
    assert [(one.tag, one.count) for one in page.facets] == [("notes", 35), ("decision", 1), ("queues", 1)]
    tagged = passage_list(memory, "", ("queues",), 1)
    assert [(one.tag, one.is_chosen) for one in tagged.facets] == [("queues", True), ("decision", False)]
    [found] = passage_list(memory, "why not Kafka?", (), 1).passages
    assert [piece.text for piece in found.pieces if piece.is_marked] == ["Kafka"]
    (tmp_path / "queue.py").write_text("def send():\n    return 1\n")
    about = memory.archive_of(str(tmp_path)).insert("How it sends", (), ["queue.py:1"]).passage
    assert passage_page(memory, about.id, ()).refs[0].state == ""
    assert passage_page(memory, about.id, {str(tmp_path)}).refs[0].state == "unchanged"


def test_a_channel_with_its_summaries(memory: AgentMemory) -> None:
    said(memory, "a", "We decided to keep retries in retry.py.", "How many retries are enough?", project="/work/shop")
    [channel] = agent_people.channel_list(memory, 1).channels
    assert (channel.name, channel.waiting) == ("/work/shop", 2)
    assert agent_people.channel_page(memory, channel.name).shown is None
    assert agent_people.summarise(memory, channel.name)
    page = agent_people.channel_page(memory, channel.name)
    assert page.channel.waiting == 0
    assert page.shown is not None
    assert "retry.py" in page.shown.summary.text
    assert agent_people.channel_page(memory, channel.name, "profile").shown is not None
    with pytest.raises(UsageError):
        agent_people.channel_page(memory, "nowhere")


def test_people_with_what_was_taken_back(memory: AgentMemory) -> None:
    said(memory, "a", "I live in Lisbon. I have two dogs.")
    ChannelMemory(memory.engine, memory.agent, memory.settings).summarise()
    assert [(one.name, one.facts) for one in agent_people.people_list(memory)] == [("", 2)]
    fact = next(one for one in memory.people.facts() if "Lisbon" in one.text)
    memory.people.retire("", fact.id)
    shown = agent_people.person_page(memory, "")
    assert [one.was_erased for one in shown.taken_back] == [True]
    assert "Lisbon" not in " ".join([shown.text, *(one.fact.text for one in (*shown.facts, *shown.taken_back))])
    assert (shown.rows, shown.paging.total) == (2, 1)


def test_what_a_model_wrote_instead_of_an_id_becomes_no_link(memory: AgentMemory) -> None:
    [message_id] = said(memory, "a", "We decided to meet on Mondays.")
    made = {
        "text": f"Key {KEY}",
        "by": "model",
        "decisions": [{"text": "Mondays", "message_ids": [message_id, "../x"]}],
    }
    with memory.engine.writing() as rows:
        new = channels.StoredSummary("main", "rolling", 1, made, 1, START)
        channels.add_summary(rows, memory.agent.id, new, 5)
    shown = agent_people.channel_page(memory, "main").shown
    assert shown is not None
    assert shown.summary.decisions[0].message_ids == (message_id,)
    assert KEY not in shown.summary.text
