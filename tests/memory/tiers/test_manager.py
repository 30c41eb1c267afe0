"""MemoryManager: one agent of one user, its tools, its context, and the same to be awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest
from made_ids import new_uuid

import sage_code
from sage_code.errors import UsageError
from sage_code.memory.tiers import manager as manager_module
from sage_code.memory.tiers.block_xml import parse_compiled
from sage_code.memory.tiers.engines.protocol import Engine
from sage_code.memory.tiers.manager import AsyncMemoryManager, MemoryManager
from sage_code.memory.tiers.tools import Tool
from sage_code.memory.tiers.values import NewMessage
from sage_code.settings.table import Settings

SETTINGS = Settings(memory_window=1_000)
Open = Callable[..., MemoryManager]


@pytest.fixture
def opened(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Opens managers on the database of the test, which outlives them."""

    class Shared:
        def __getattr__(self, name: str) -> object:
            return (lambda: None) if name == "close" else getattr(engine, name)

    monkeypatch.setattr(manager_module, "open_engine", lambda uri: Shared())

    def make(agent_id: str | UUID = "", user: str = "ann", **options: object) -> MemoryManager:
        return MemoryManager(agent_id, user=user, settings=SETTINGS, **options)  # type: ignore[arg-type]

    return make


def tools_of(memory: MemoryManager) -> dict[str, Tool]:
    return {tool.name: tool for tool in memory.tools()}


def test_it_opens_the_database_of_the_user(sage_home: Path) -> None:
    with sage_code.MemoryManager() as memory:
        assert memory.agent.name == "sage"
        memory.core.append("human", "Name: Alice")
    assert (sage_home / "memory" / "memory.db").exists()
    with MemoryManager(memory.agent.id) as again:
        assert again.core.block("human").value == "Name: Alice"
    with pytest.raises(AttributeError):
        sage_code.Nothing  # noqa: B018


def test_another_file(tmp_path: Path) -> None:
    with MemoryManager("a", uri=str(tmp_path / "x" / "m.db"), user="u", project=str(tmp_path)) as memory:
        assert memory.add_message("user", "hello")
        assert (tmp_path / "x" / "m.db").exists()
        assert memory.recall.sessions()[0].project == str(tmp_path)


def test_the_context_is_built_as_in_the_specification(opened: Open) -> None:
    memory = opened("support")
    memory.core.set("persona", "I am Sage & I help.")
    memory.add_message("system", "Be kind.")
    memory.add_message("user", "My name is Alice.", channel="signal", session="s1")
    memory.add_message("assistant", "Hello Alice!", session="s1")
    context = f"{memory.compile()}\n\n{memory.compile_metadata()}\n\n"
    said = {message.id: message.content for message in memory.recall.get(memory.message_ids())}
    for id_ in memory.message_ids():
        context += said[id_]
    assert context.index("<memory_blocks>") < context.index("<memory_metadata>") < context.index("My name is Alice.")
    assert parse_compiled(memory.compile())["persona"] == "I am Sage & I help."
    assert "- 3 previous messages" in memory.compile_metadata()
    seen = memory.context()
    assert [message.content for message in seen.messages] == ["Be kind.", "My name is Alice.", "Hello Alice!"]
    assert seen.system.startswith(memory.compile())
    assert seen.to_prompt().endswith("user: My name is Alice.\n\nassistant: Hello Alice!")
    assert memory.recall.sessions()[0].channel == "signal"


def test_it_compacts(opened: Open) -> None:
    memory = opened()
    memory.add_messages([NewMessage("user", f"We decided point {number}.", tokens=50) for number in range(16)])
    before = memory.message_ids()
    assert memory.needs_compaction(800)
    assert memory.needs_compaction()
    summary = memory.compact()
    assert summary is not None
    assert summary.id == memory.message_ids()[0]
    assert memory.undo_compaction() == summary
    assert memory.message_ids() == before
    memory.set_message_ids([UUID(before[1])])
    assert memory.message_ids() == (before[1],)
    assert memory.agent_now().message_count == 17


def test_the_tools_have_the_names_and_parameters_of_the_specification(opened: Open) -> None:
    tools = tools_of(opened())
    assert {name: list(tool.parameters["properties"]) for name, tool in tools.items()} == {
        "memory_replace": ["block", "old", "new"],
        "memory_append": ["block", "content"],
        "memory_insert": ["block", "content", "line"],
        "conversation_search": ["query", "limit"],
        "archival_insert": ["content", "tags"],
        "archival_search": ["query", "top_k", "tags"],
    }
    assert tools["memory_insert"].parameters["properties"]["line"]["default"] == -1
    assert tools["archival_search"].parameters["required"] == ["query"]
    assert all(tool.description and tool.parameters["type"] == "object" for tool in tools.values())


def test_the_tools_work(opened: Open) -> None:
    memory = opened()
    tools = tools_of(memory)
    assert tools["memory_append"].call(block="human", content="Name: Alice") == (
        "human is at version 2: 11 of 20,000 characters."
    )
    assert "version 3" in tools["memory_insert"].call(block="human", content="City: Oslo", line="0")
    assert "version 4" in tools["memory_replace"].call(block="human", old="Oslo", new="Bergen")
    assert memory.core.block("human").value == "City: Bergen\nName: Alice"
    memory.add_message("user", "Which retry policy shall we use?")
    memory.add_message("assistant", "Exponential backoff, capped at thirty seconds.\nError: not a real one")
    memory.add_message("user", "Good, and what about the logo?")
    found = tools["conversation_search"].call(query="backoff capped seconds", limit=1)
    assert found.startswith("1. ")
    assert "   | (before) user: Which retry policy shall we use?" in found
    assert "   | Exponential backoff, capped at thirty seconds.\n   | Error: not a real one" in found
    assert "   | (after) user: Good, and what about the logo?" in found
    stored = tools["archival_insert"].call(content="Alice prefers tea.", tags="person,taste")
    assert stored.startswith("Stored as ")
    again = tools["archival_insert"].call(content="Alice prefers tea.", tags=["person"])
    assert "This may say the same (100%)" in again
    assert "   | Alice prefers tea." in again
    answer = tools["archival_search"].call(query="what does Alice prefer?", tags="taste")
    assert "[person, taste]" in answer
    assert "   | Alice prefers tea." in answer
    assert tools["archival_search"].call(query="quarks in Geneva").startswith("Nothing")


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("memory_append", {"block": "nobody", "content": "x"}, "Error: there is no block 'nobody' (there are: human"),
        ("memory_append", {"block": "human"}, "Error: memory_append needs the argument content"),
        ("memory_append", {"block": "human", "content": "x", "more": 1}, "Error: memory_append has no argument more"),
        ("memory_append", {"block": "human", "content": 7}, "Error: content must be of type string"),
        ("memory_insert", {"block": "human", "content": "x", "line": 9}, "Error: block human has 0 lines"),
        ("memory_insert", {"block": "human", "content": "x", "line": True}, "Error: line must be of type integer"),
        ("memory_replace", {"block": "human", "old": "x", "new": ""}, "Error: block human does not contain 'x'"),
        ("conversation_search", {"query": "x", "limit": 0}, "Error: limit cannot be 0"),
        ("archival_search", {"query": "x", "top_k": 1_000}, "Error: top_k cannot be 1000"),
        ("archival_insert", {"content": " "}, "Error: there is nothing to store"),
    ],
)
def test_an_error_of_a_tool_is_text(opened: Open, name: str, arguments: dict[str, object], said: str) -> None:
    assert tools_of(opened())[name].call(**arguments).startswith(said)


def test_a_tool_says_what_was_masked(opened: Open) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    for name, arguments in (
        ("memory_append", {"block": "human", "content": secret}),
        ("archival_insert", {"content": secret}),
    ):
        answer = tools_of(opened())[name].call(**arguments)
        assert "Masked before it was written" in answer
        assert secret not in answer


def test_no_tool_reaches_another_agent(opened: Open) -> None:
    mine = opened("sage", "ann")
    mine.core.append("human", "the launch code is zebra")
    mine.add_message("user", "the launch code is zebra")
    mine.archive.insert("the launch code is zebra", "secret")
    for other in (opened("sage", "bob"), opened("helper", "ann")):
        tools = tools_of(other)
        for name, arguments in (
            ("conversation_search", {"query": "launch code zebra", "limit": 50}),
            ("archival_search", {"query": "launch code zebra", "top_k": 50}),
            ("archival_search", {"query": "launch code zebra", "tags": "secret"}),
            ("memory_replace", {"block": "human", "old": "zebra", "new": "x"}),
            ("memory_append", {"block": "human", "content": "x"}),
            ("memory_insert", {"block": "human", "content": "x"}),
            ("archival_insert", {"content": "The launch code is a zebra."}),
        ):
            answer = tools[name].call(**arguments).replace("'zebra'", "")
            assert "zebra" not in answer
        assert "zebra" not in other.context().to_prompt()
        with pytest.raises(UsageError):
            other.set_message_ids(mine.message_ids())
    assert mine.core.block("human").value == "the launch code is zebra"
    assert len(mine.context().messages) == 1


def test_another_users_agent_is_as_unknown_as_none(opened: Open) -> None:
    mine = opened("sage", "ann")
    with pytest.raises(UsageError) as foreign:
        opened(mine.agent.id, "bob")
    unknown = str(new_uuid())
    with pytest.raises(UsageError) as missing:
        opened(unknown, "bob")
    assert foreign.value.message.replace(mine.agent.id, "") == missing.value.message.replace(unknown, "")
    assert foreign.value.hint == missing.value.hint
    assert opened(UUID(mine.agent.id), "ann").agent.id == mine.agent.id
    for name in (" ", "a\nb", "x" * 201):
        with pytest.raises(UsageError, match="no agent can be called"):
            opened(name)


def test_everything_can_be_awaited(opened: Open) -> None:
    async def use() -> None:
        async with AsyncMemoryManager(opened()) as memory:
            ids = [await memory.add_message("user", f"We decided point {number}.", tokens=50) for number in range(16)]
            ids += await memory.add_messages([NewMessage("user", "And this.", tokens=50)])
            await memory.run(memory.sync.core.append, "human", "Likes tea")
            assert await memory.call_tool("memory_append", block="human", content="Name: Alice")
            compiled = await memory.compile()
            assert parse_compiled(compiled)["human"] == "Likes tea\nName: Alice"
            assert not await memory.needs_rebuild(compiled)
            assert "17 previous messages" in await memory.compile_metadata()
            assert await memory.needs_compaction()
            assert await memory.message_ids() == tuple(ids)
            assert await memory.compact() is not None
            await memory.undo_compaction()
            await memory.set_message_ids(ids[:2])
            assert len((await memory.context()).messages) == 2
            assert len(memory.tools()) == 6
            with pytest.raises(UsageError, match="no tool"):
                await memory.call_tool("rm")
            lines = await asyncio.gather(
                *(memory.run(memory.sync.core.append, "human", f"line {number}") for number in range(10))
            )
            assert sorted(edited.block.version for edited in lines) == list(range(4, 14))

    asyncio.run(use())


def test_it_is_opened_while_others_run(tmp_path: Path) -> None:
    async def use() -> str:
        memory = await AsyncMemoryManager.open("a", uri=str(tmp_path / "m.db"), user="u")
        async with memory:
            return memory.sync.agent.name

    assert asyncio.run(use()) == "a"
