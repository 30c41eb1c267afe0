"""Every tool, as the SDK's client sees it: listed, described, answered in text and in data as its schema says."""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp_types import CallToolResult
from talking import complaint, content, in_process, text

from sage_code import Project, __version__
from sage_code.text.tokens import count_tokens
from sage_mcp.schemas import answer_schema
from sage_mcp.server import INSTRUCTIONS, TOOL_MODULES

# The names and parameters that agents were promised; each also takes `max_tokens`, and where it lists, `offset`.
PARAMETERS = {
    "sage_index_code": {"path", "name", "incremental"},
    "sage_search_code": {
        "query",
        "project",
        "limit",
        "language",
        "under",
        "kind",
        "mode",
        "all_projects",
        "explain",
        "offset",
    },
    "sage_grep_symbol": {"name", "project", "offset"},
    "sage_analyze_function": {"name", "project", "offset"},
    "sage_find_references": {"name", "project", "relation", "depth", "min_confidence", "offset"},
    "sage_outline": {"file", "project", "offset"},
    "sage_map": {"under", "project"},
    "sage_similar": {"where", "project", "limit"},
    "sage_debug_query": {"query", "project", "limit"},
    "sage_mark_core": {"file", "summary", "project"},
    "sage_list_core": {"project", "offset"},
    "team_memory_search": {"query", "kind", "project", "offset"},
    "team_memory_save": {"name", "content", "kind", "visibility", "project"},
    "sage_unmark_core": {"file", "project"},
    "sage_save_checkpoint": {
        "core_question",
        "thesis",
        "confidence",
        "open_questions",
        "sources",
        "tensions",
        "unique_contributions",
        "action_goal",
        "action_type",
        "key_evidence",
        "reasoning_trace",
        "template",
        "auto_code_context",
        "code_refs",
        "fields",
        "skill",
        "parent",
        "allow_secret",
        "project",
    },
    "sage_autosave_check": {
        "trigger_event",
        "core_question",
        "current_thesis",
        "confidence",
        "open_questions",
        "sources",
        "tensions",
        "unique_contributions",
        "key_evidence",
        "reasoning_trace",
        "message_count",
        "token_estimate",
        "project",
    },
    "sage_load_checkpoint": {"checkpoint_id", "project"},
    "sage_list_checkpoints": {"limit", "skill", "project", "offset"},
    "sage_search_checkpoints": {"query", "limit", "project"},
    "sage_save_knowledge": {
        "knowledge_id",
        "content",
        "keywords",
        "skill",
        "source",
        "item_type",
        "code_refs",
        "due",
        "allow_secret",
        "project",
    },
    "sage_recall_knowledge": {"query", "skill", "project"},
    "sage_list_knowledge": {"skill", "project", "offset"},
    "sage_remove_knowledge": {"knowledge_id", "project"},
    "sage_still_true": {"memory_id", "project"},
    "memory_blocks": {"offset"},
    "memory_replace": {"block", "old", "new"},
    "memory_append": {"block", "content"},
    "memory_insert": {"block", "content", "line"},
    "conversation_search": {"query", "limit", "project", "session", "role", "since", "until"},
    "archival_insert": {"content", "tags", "code_refs"},
    "archival_search": {"query", "top_k", "tags"},
    "channel_summary": {"channel", "summarise"},
    "channel_context": {"channel", "participant"},
    "user_profile": {"participant"},
    "sage_continuity_status": {"project", "offset"},
    "sage_health": {"project", "offset"},
    "sage_version": set(),
}
REQUIRED = {
    "sage_search_code": {"query"}, "sage_grep_symbol": {"name"}, "sage_analyze_function": {"name"},
    "sage_find_references": {"name"}, "sage_outline": {"file"}, "sage_similar": {"where"},
    "sage_debug_query": {"query"}, "sage_mark_core": {"file"}, "sage_unmark_core": {"file"},
    "sage_save_checkpoint": {"core_question", "thesis", "confidence"},
    "sage_autosave_check": {"trigger_event", "core_question", "current_thesis", "confidence"},
    "sage_load_checkpoint": {"checkpoint_id"}, "sage_search_checkpoints": {"query"},
    "sage_save_knowledge": {"knowledge_id", "content"}, "sage_recall_knowledge": {"query"},
    "sage_remove_knowledge": {"knowledge_id"}, "sage_still_true": {"memory_id"},
    "memory_replace": {"block", "old", "new"}, "memory_append": {"block", "content"},
    "memory_insert": {"block", "content"}, "conversation_search": {"query"}, "archival_insert": {"content"},
    "archival_search": {"query"}, "team_memory_save": {"name", "content"},
}  # fmt: skip
SAID_BY_THEIR_NAMES = {"project", "offset", "max_tokens", "limit", "name", "query", "skill", "language"}
SAID_BY_THEIR_NAMES |= {"checkpoint_id", "knowledge_id", "content", "source", "action_goal", "new"}
# The listing cost 12,024 tokens and 28,235 characters in 23 tools; half of that a tool.
MOST_TOKENS_A_TOOL, MOST_CHARACTERS_A_TOOL = 12_024 / 2 / 23, 28_235 / 2 / 23
MOST_OUTPUT_CHARACTERS_A_TOOL = 55_436 / 2 / 23
WRITERS = {"sage_index_code": False, "sage_mark_core": False, "sage_unmark_core": True}  # and which of them destroy
WRITERS |= {"sage_save_checkpoint": False, "sage_autosave_check": False, "sage_save_knowledge": False}
WRITERS |= {"sage_remove_knowledge": True, "sage_still_true": False}
WRITERS |= {"memory_replace": False, "memory_append": False, "memory_insert": False, "archival_insert": False}
WRITERS |= {"channel_summary": False, "team_memory_save": False}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("sage_search_code", {"query": "reach a host", "explain": True}),
    ("sage_search_code", {"query": "connect", "all_projects": True}),
    ("sage_search_code", {"query": "def connect(", "mode": "exact"}),
    ("sage_search_code", {"query": r"conn\w+\(", "mode": "regex"}),
    ("sage_search_code", {"query": "not there", "mode": "exact", "all_projects": True}),
    ("sage_grep_symbol", {"name": "connect"}),
    ("sage_grep_symbol", {"name": "conect"}),
    ("sage_analyze_function", {"name": "Server"}),
    ("sage_analyze_function", {"name": "conect"}),
    ("sage_find_references", {"name": "start"}),
    ("sage_find_references", {"name": "start", "relation": "callers", "depth": 2}),
    ("sage_find_references", {"name": "main", "relation": "callees"}),
    ("sage_find_references", {"name": "start", "relation": "impact"}),
    ("sage_find_references", {"name": "server.py", "relation": "impact"}),
    ("sage_find_references", {"name": "strat"}),
    ("sage_outline", {"file": "server.py"}),
    ("sage_map", {}),
    ("sage_similar", {"where": "connect"}),
    ("sage_similar", {"where": "server.py:9"}),
    ("sage_similar", {"where": "conect"}),
    ("sage_debug_query", {"query": "open the `port` lang:python path:server", "limit": 2}),
    ("sage_mark_core", {"file": "server.py", "summary": "Listens."}),
    ("sage_list_core", {}),
    ("sage_unmark_core", {"file": "server.py"}),
    ("sage_unmark_core", {"file": "server.py"}),
    ("sage_save_checkpoint", {"core_question": "Which port?", "thesis": "Port 80, for now.", "confidence": 0.8}),
    (
        "sage_autosave_check",
        {"trigger_event": "manual", "core_question": "q", "current_thesis": "Port 80, for now.", "confidence": 0.8},
    ),
    ("sage_load_checkpoint", {"checkpoint_id": "which-port"}),
    ("sage_list_checkpoints", {}),
    ("sage_search_checkpoints", {"query": "which port do we use"}),
    ("sage_save_knowledge", {"knowledge_id": "ports", "content": "The server listens on 80.", "keywords": ["port"]}),
    ("sage_recall_knowledge", {"query": "on which port does the server listen"}),
    ("sage_recall_knowledge", {"query": "what did the port authority decide"}),
    ("sage_save_knowledge", {"knowledge_id": "lists", "content": "Hosts in lists.", "code_refs": ["connect"]}),
    ("sage_still_true", {"memory_id": "lists"}),
    ("sage_list_knowledge", {}),
    ("sage_debug_query", {"query": "which port", "limit": 1}),
    ("sage_remove_knowledge", {"knowledge_id": "ports"}),
    ("team_memory_save", {"name": "ports", "content": "The server listens on 80."}),
    ("team_memory_search", {"query": "ports of the server"}),
    ("memory_append", {"block": "human", "content": "Name: Ann"}),
    ("memory_replace", {"block": "human", "old": "Ann", "new": "Anna"}),
    ("memory_insert", {"block": "human", "content": "Likes tea.", "line": 1}),
    ("memory_blocks", {}),
    ("conversation_search", {"query": "which port did we choose"}),
    ("archival_insert", {"content": "Port 80 is for the demo.", "tags": "ports, demo", "code_refs": ["connect"]}),
    ("archival_search", {"query": "what is port 80 for", "tags": ["demo"]}),
    ("user_profile", {}),
    ("channel_summary", {"summarise": True}),
    ("channel_context", {}),
    ("sage_continuity_status", {}),
    ("sage_health", {}),
    ("sage_version", {}),
]


@pytest.fixture
def project(sample: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (sample / "client.py").write_text(
        "from server import Server\n\n\ndef start():\n    return Server().start(80)\n\n\ndef main():\n    start()\n"
    )
    Project.open(sample).index(name="demo")
    monkeypatch.chdir(sample)
    # Of a server that is away: what is saved waits, and is found all the same.
    monkeypatch.setenv("SAGE_TEAM_DATABASE_URL", "postgresql://ann@127.0.0.1:9/none")
    return sample


def test_the_tools_are_the_promised_ones_and_well_described() -> None:
    async def conversation(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools.keys() == PARAMETERS.keys()
        for name, tool in tools.items():
            assert 0 < len(tool.description or "") < 1_000
            assert set(tool.input_schema["properties"]) == PARAMETERS[name] | {"max_tokens"}
            assert set(tool.input_schema.get("required", ())) == REQUIRED.get(name, set())
            unsaid = {key for key, value in tool.input_schema["properties"].items() if "description" not in value}
            assert unsaid <= SAID_BY_THEIR_NAMES or name == "sage_autosave_check", name  # which names the other tool
            assert not tool.input_schema["additionalProperties"]
            for schema in (tool.input_schema, tool.output_schema):
                assert schema is not None
                Draft202012Validator.check_schema(schema)
                assert "$ref" not in json.dumps(schema)
                assert schema["type"] == "object"
            assert tool.annotations is not None
            assert tool.annotations.read_only_hint is (name not in WRITERS)
            assert tool.annotations.open_world_hint is False
            assert tool.annotations.destructive_hint is WRITERS.get(name)

    in_process(conversation)
    assert len(INSTRUCTIONS.encode()) < 2_048
    assert "grep" in INSTRUCTIONS


def test_the_listing_costs_half_of_what_it_did() -> None:
    async def conversation(client: Client) -> None:
        tools = (await client.list_tools()).tools
        sent = [tool.model_dump(by_alias=True, exclude_none=True, mode="json") for tool in tools]
        read = [json.dumps({key: tool[key] for key in ("name", "description", "inputSchema")}) for tool in sent]
        read = [line.replace(", ", ",").replace(": ", ":") for line in read]
        assert sum(map(count_tokens, read)) / len(read) <= MOST_TOKENS_A_TOOL
        assert sum(map(len, read)) / len(read) <= MOST_CHARACTERS_A_TOOL
        output = [json.dumps(tool["outputSchema"]) for tool in sent]
        assert sum(map(len, output)) / len(output) <= MOST_OUTPUT_CHARACTERS_A_TOOL

    in_process(conversation)


def _whole_schemas() -> dict[str, dict[str, Any]]:
    modules = [import_module(f"sage_mcp.{name}") for name in TOOL_MODULES]
    specs = [spec for module in modules for spec in module.TOOLS]
    return {spec.function.__name__: answer_schema(spec.schema, spec.leave_out) for spec in specs}


def test_unknown_arguments_are_refused_by_name(project: Path) -> None:
    async def conversation(client: Client) -> None:
        for name, arguments, words in (
            ("sage_search_code", {"query": "x", "langauge": "go"}, "no argument 'langauge' (did you mean 'language'?)"),
            ("sage_search_code", {"query": "x", "zzz": 1}, "no argument 'zzz'; it takes query, project, limit"),
            ("sage_version", {"a\x1b": 1, "b": 2}, "no argument 'a\\\\x1b', 'b'; it takes max_tokens"),
            ("sage_index_code", {"project": "demo"}, "no argument 'project'"),
        ):
            assert words in complaint(await client.call_tool(name, arguments)), name
        wrong = complaint(await client.call_tool("sage_search_code", {"query": "x", "limit": "many"}))
        assert "limit: Input should be a valid integer" in wrong
        assert "pydantic" not in wrong

    in_process(conversation)


def test_project_under_and_file_mean_one_thing_each_and_former_names_are_understood(project: Path) -> None:
    async def conversation(client: Client) -> None:
        for arguments in ({"name": "connect", "project": "demo"}, {"name": "connect", "project_path": str(project)}):
            assert len(content(await client.call_tool("sage_grep_symbol", arguments))["matches"]) == 2
        for arguments in ({"query": "connect", "under": "web"}, {"query": "connect", "path": "web"}):
            results = content(await client.call_tool("sage_search_code", arguments))["results"]
            assert {hit["file"] for hit in results} == {"web/client.ts"}
        for arguments in ({"file": "server.py"}, {"path": "server.py"}):
            assert content(await client.call_tool("sage_outline", arguments))["file"] == "server.py"
        assert not content(await client.call_tool("sage_map", {"under": "web/nowhere"}))["entries"]

    in_process(conversation)


def test_every_tool_answers_in_text_and_as_its_schema_says(project: Path) -> None:
    async def conversation(client: Client) -> None:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
        whole = _whole_schemas()
        answers: dict[str, list[CallToolResult]] = {}
        for name, arguments in CALLS:
            result = await client.call_tool(name, arguments)
            for schema in (schemas[name], whole[name]):
                assert schema
                Draft202012Validator(schema).validate(content(result))
            assert text(result)
            assert content(result)["truncated"] == bool(content(result)["next"])
            answers.setdefault(name, []).append(result)
        assert answers.keys() | {"sage_index_code"} == PARAMETERS.keys()
        found = {name: [content(result) for result in results] for name, results in answers.items()}
        assert found["sage_search_code"][0]["results"][0]["file"] == "server.py"
        assert {hit["project"] for hit in found["sage_search_code"][1]["results"]} == {"demo"}
        assert [match["file"] for match in found["sage_grep_symbol"][0]["matches"]] == ["server.py", "web/client.ts"]
        assert found["sage_grep_symbol"][1]["nearest"] == ["connect"]
        assert found["sage_analyze_function"][0]["matches"][0]["source"].startswith("class Server:")
        uses = [{use["scope"] for use in answer["uses"]} for answer in found["sage_find_references"][:4]]
        assert "main" in uses[0] & uses[1] & uses[3]
        assert found["sage_find_references"][2]["uses"][0]["symbol"]["qualname"] == "start"
        assert "   9 | start()" in text(answers["sage_find_references"][1])
        assert found["sage_find_references"][4]["uses"]
        assert found["sage_find_references"][5]["nearest"]
        assert [item["name"] for item in found["sage_outline"][0]["symbols"]][:3] == ["LIMIT", "Server", "start"]
        assert found["sage_map"][0]["entries"]
        assert found["sage_similar"][0]["similar"]
        reading = found["sage_debug_query"][0]["reading"]
        assert reading["names"] == ["port"]
        empty = {key: [] for key in ("kinds", "projects", "repositories", "owners")}
        assert reading["filters"] == {"languages": ["python"], "paths": ["server"], **empty}
        assert found["sage_debug_query"][0]["code"][0]["features"]
        assert found["sage_debug_query"][1]["knowledge"][0]["id"] == "ports"
        assert found["sage_debug_query"][1]["checkpoints"][0]["meaning"] > 0
        assert found["sage_autosave_check"][0]["verdict"] == "duplicate"
        assert [item["id"] for item in found["sage_recall_knowledge"][0]["items"]] == ["ports"]
        assert found["sage_list_core"][0]["files"] == [{"path": "server.py", "summary": "Listens.", "exists": True}]
        assert found["team_memory_save"][0]["outcome"] == "waiting"
        assert [item["name"] for item in found["team_memory_search"][0]["items"]] == ["ports"]
        assert [answer["removed"] for answer in found["sage_unmark_core"]] == [True, False]
        health = found["sage_health"][0]
        assert health["project"]["root"] == str(project)
        assert health["project"]["indexed"]
        assert [entry["name"] for entry in health["projects"]] == ["demo"]
        assert health["home"] == os.environ["SAGE_HOME"]
        assert found["sage_version"][0]["version"] == __version__
        assert " 9 |     def start(self, port: int) -> None:" in text(answers["sage_analyze_function"][0])

    in_process(conversation)


def test_answers_keep_to_their_budget_and_say_how_to_go_on(project: Path) -> None:
    body = "\n".join(f"    value{number} = compute(port, {number})" for number in range(300))
    for number in range(60):
        (project / f"part{number:02}.py").write_text(f"def handle(port):\n    '''Handles {number}.'''\n{body}\n")
    Project.open(project).index()

    async def conversation(client: Client) -> None:
        async def ask(tool: str, **arguments: Any) -> dict[str, Any]:
            result = await client.call_tool(tool, arguments)
            budget = arguments.get("max_tokens", 4_000)
            data = content(result)
            assert count_tokens(text(result)) <= budget, tool
            assert count_tokens(json.dumps(data)) <= budget, tool
            return data

        for name, arguments, key in (
            ("sage_grep_symbol", {"name": "handle"}, "matches"),
            ("sage_search_code", {"query": "handle the port", "limit": 40}, "results"),
            ("sage_find_references", {"name": "connect"}, ""),
            ("sage_outline", {"file": "part00.py"}, ""),
            ("sage_analyze_function", {"name": "handle"}, "matches"),
            ("sage_map", {}, ""),
        ):
            for budget in (400, 800, 1_500):
                data = await ask(name, **arguments, max_tokens=budget)
                if key:
                    assert data["truncated"]
                    assert 0 < len(data[key]) < 60
            await ask(name, **arguments)
        seen: list[str] = []
        page: dict[str, Any] = {"truncated": True}
        while page["truncated"]:
            page = await ask("sage_grep_symbol", name="handle", max_tokens=600, offset=len(seen))
            seen += [match["file"] for match in page["matches"]]
            assert not page["truncated"] or f"offset={len(seen)}" in page["next"]
        assert len(seen) == len(set(seen)) == 60
        cut = await ask("sage_analyze_function", name="part07.handle", max_tokens=400)
        assert not cut["matches"]
        cut = await ask("sage_analyze_function", name="handle", max_tokens=400)
        shown = cut["matches"][0]["source"].count("\n") + 1
        assert f"read part00.py:{1 + shown}-302" in cut["next"]

    in_process(conversation)


def test_failures_are_tool_errors_that_say_what_to_do(project: Path) -> None:
    async def conversation(client: Client) -> None:
        for name, arguments, words in (
            ("sage_search_code", {"query": "?!"}, "ask in words, or by a name"),
            ("sage_search_code", {"query": "x", "project": "nosuch"}, "there are: demo"),
            ("sage_index_code", {"path": "nowhere"}, "give the path of a project's folder"),
            ("sage_outline", {"file": "nowhere.py"}, "give a path inside the project"),
            ("sage_similar", {"where": "server.py:9000"}, "give FILE:LINE of an indexed file"),
            ("sage_mark_core", {"file": "../x"}, "give a path inside the project"),
            ("sage_search_code", {"query": "x", "limit": 0}, "greater than or equal to 1"),
            ("sage_grep_symbol", {}, "required"),
            ("sage_grep_symbol", {"name": "x", "max_tokens": 1}, "max_tokens"),
        ):
            assert words in complaint(await client.call_tool(name, arguments)), name

    in_process(conversation)
