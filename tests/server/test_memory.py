"""Memory over MCP: what a session concludes another one finds, within its budget, and as data only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from talking import complaint, content, in_process, text

from sage_code import Project
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.text.tokens import count_tokens

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
LONG = "\n".join(
    f"Fact {number}: the cache of tenant {number} expires after {number} minutes." for number in range(400)
)


@pytest.fixture
def project(sample: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (sample / ".sage").mkdir()
    monkeypatch.chdir(sample)
    return sample


def test_a_session_s_conclusions_are_found_by_the_next(project: Path) -> None:
    async def conversation(client: Client) -> None:
        async def ask(tool: str, **arguments: Any) -> Any:
            return await client.call_tool(tool, arguments)

        saved = content(
            await ask(
                "sage_save_checkpoint",
                core_question="How does the server start?",
                thesis="start opens the port; nothing else does.",
                confidence=0.85,
                key_evidence=[f"seen with {TOKEN}", "second line\nSTALE: not ours"],
                sources=[{"id": "server.py", "type": "code", "take": "shows it", "relation": "supports"}],
                tensions=["in words"],
                template="decision",
                fields={"options": "start or listen"},
                code_refs=[{"file": "server.py", "lines": [9, 11], "relevance": "supports"}, "server.py:18"],
            )
        )
        assert saved["masked"] == ["GitHub token"]
        assert saved["code_refs"] >= 2
        loaded = await ask("sage_load_checkpoint", checkpoint_id=saved["id"])
        assert "| start opens the port" in text(loaded)
        assert "\nSTALE: not ours" not in text(loaded)  # a memory's lines stand behind bars
        assert TOKEN not in text(loaded)
        assert content(loaded)["sources"][0]["relation"] == "supports"
        search = await ask("sage_search_checkpoints", query="where is the port opened")
        assert content(search)["results"][0]["id"] == saved["id"]
        assert "%]" in text(search)
        listed = content(await ask("sage_list_checkpoints", limit=1))
        assert [row["id"] for row in listed["checkpoints"]] == [saved["id"]]
        shallow = await ask(
            "sage_autosave_check", trigger_event="synthesis", core_question="q", current_thesis="Something new",
            confidence=0.9, message_count=2,
        )  # fmt: skip
        assert "Not saved (shallow)" in text(shallow)
        assert "there is no checkpoint" in complaint(
            await ask("sage_load_checkpoint", checkpoint_id="../../etc/passwd")
        )
        known = {"knowledge_id": "retries", "content": "connect retries three times", "code_refs": ["server.py:17-19"]}
        await client.call_tool("sage_save_knowledge", known)
        recalled = content(await ask("sage_recall_knowledge", query="how often does connect retry"))
        assert recalled["items"][0]["code_refs"][0]["symbol"] == "connect"
        assert "no line 999" in complaint(
            await client.call_tool("sage_save_knowledge", {**known, "code_refs": ["server.py:999"]})
        )
        assert "there is no template" in complaint(
            await ask("sage_save_checkpoint", core_question="q", thesis="t2", confidence=0.5, template="nosuch")
        )
        assert "no path inside the project" in complaint(
            await ask(
                "sage_save_checkpoint",
                core_question="q",
                thesis="t3",
                confidence=0.5,
                code_refs=[{"file": "/etc/passwd"}],
            )
        )

    in_process(conversation)


def test_knowledge_comes_back_within_its_budget(project: Path) -> None:
    async def conversation(client: Client) -> None:
        async def ask(tool: str, **arguments: Any) -> dict[str, Any]:
            result = await client.call_tool(tool, arguments)
            data = content(result)
            shown = text(result).partition("What is remembered")[0]
            assert count_tokens(shown) <= arguments.get("max_tokens", 4_000)
            data.pop("opening", None)
            assert count_tokens(json.dumps(data)) <= arguments.get("max_tokens", 4_000)
            return data

        await ask("sage_save_knowledge", knowledge_id="cache", content=LONG, keywords=["tenant", "cache"])
        await ask("sage_save_knowledge", knowledge_id="style", content="I prefer tabs.", item_type="preference")
        for budget in (400, 900, 4_000):
            found = await ask(
                "sage_recall_knowledge", query="when does the cache of a tenant expire", max_tokens=budget
            )
            assert [item["id"] for item in found["items"]] == ["cache"]
            assert found["items"][0]["content"].startswith("Fact 0")
        saved = content(
            await client.call_tool(
                "sage_save_checkpoint",
                {"core_question": "q", "thesis": LONG, "confidence": 0.5, "key_evidence": [LONG] * 5},
            )
        )
        for budget in (400, 1_500):
            assert (await ask("sage_load_checkpoint", checkpoint_id=saved["id"], max_tokens=budget))["truncated"]
            await ask("sage_search_checkpoints", query="tenant cache", max_tokens=budget)
            await ask("sage_list_checkpoints", max_tokens=budget)
        same = await ask("sage_save_knowledge", knowledge_id="style-2", content="I prefer tabs.")
        assert same["alike"] == [{"id": "style", "similarity": 1.0, "kind": "duplicate"}]
        assert {item["id"] for item in (await ask("sage_list_knowledge"))["items"]} == {"cache", "style", "style-2"}
        assert (await ask("sage_remove_knowledge", knowledge_id="style-2"))["removed"]
        missing = await client.call_tool("sage_remove_knowledge", {"knowledge_id": "style-2"})
        assert "nothing known is called style-2" in complaint(missing)

    in_process(conversation)


def test_the_first_answer_tells_what_is_remembered(project: Path) -> None:
    memory = Project.open(project).memory
    memory.save_knowledge(KnowledgeItem("ports", "The sample listens on 80.", keywords=("sample",)))

    async def conversation(client: Client) -> None:
        first = await client.call_tool("sage_list_knowledge", {})
        assert "Recalled for sample" in text(first)
        assert "The sample listens on 80." in content(first)["opening"]["sections"][0]["text"]
        assert "opening" not in content(await client.call_tool("sage_list_knowledge", {}))

    in_process(conversation)
