"""The MCP server as an agent meets it: a child process, the SDK's own client, standard input and output."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp
import pytest
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent
from referencing import Registry, Resource

import sage_mcp.server
from sage_code import __version__
from sage_code.paths import assets_dir

TOOLS = {"sage_index_code", "sage_search_code", "sage_grep_symbol", "sage_analyze_function", "sage_health"}
TOOLS |= {"sage_version"}


def _talk(conversation: Callable[[Client], Awaitable[None]]) -> None:
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {"PYTHONPATH": paths, "SAGE_HOME": os.environ["SAGE_HOME"], "HOME": os.environ["HOME"]}
    command = StdioServerParameters(
        command=sys.executable, args=["-P", "-m", "sage_mcp.server"], env=environment, cwd=os.environ["HOME"]
    )

    async def run() -> None:
        with anyio.fail_after(240):
            async with Client(stdio_client(command)) as client:
                await conversation(client)

    anyio.run(run)


def _content(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def _complaint(result: CallToolResult) -> str:
    assert result.is_error
    assert isinstance(result.content[0], TextContent)
    return result.content[0].text


def _validate(name: str, document: dict[str, Any]) -> None:
    def load(uri: str) -> Resource[Any]:
        return Resource.from_contents(_schema(uri))

    Draft202012Validator(_schema(name), registry=Registry(retrieve=load)).validate(document)  # type: ignore[call-arg]


def _schema(name: str) -> Any:
    return json.loads((Path(assets_dir("compiled_schema")) / name).read_bytes())


def test_index_grep_and_analyze_in_one_conversation(sample: Path) -> None:
    reports: list[tuple[float, str | None]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, message))

    async def conversation(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert tools.keys() == TOOLS
        assert all(tool.description and tool.output_schema for tool in tools.values())
        assert set(tools["sage_index_code"].input_schema["properties"]) == {"path", "project", "incremental"}

        path = str(sample)
        not_yet = await client.call_tool("sage_grep_symbol", {"name": "connect", "project_path": path})
        assert f"run `sage index {path}` first" in _complaint(not_yet)

        arguments = {"path": path, "project": "demo"}
        stats = _content(await client.call_tool("sage_index_code", arguments, progress_callback=heard))
        _validate("index.json", stats)
        assert (stats["project"], stats["files_indexed"]) == ("demo", 2)

        found = _content(await client.call_tool("sage_grep_symbol", {"name": "connect", "project_path": path}))
        _validate("grep.json", found)
        assert [match["file"] for match in found["matches"]] == ["server.py", "web/client.ts"]

        missed = _content(await client.call_tool("sage_grep_symbol", {"name": "conect", "project_path": path}))
        assert missed == {"name": "conect", "matches": [], "nearest": ["connect"]}

        source = _content(await client.call_tool("sage_analyze_function", {"name": "start", "project_path": path}))
        _validate("analyze.json", source)
        assert source["matches"][0]["source"].startswith("    def start(self, port: int)")

        health = _content(await client.call_tool("sage_health", {}))
        assert [entry["name"] for entry in health["projects"]] == ["demo"]
        assert health["home"] == os.environ["SAGE_HOME"]
        assert _content(await client.call_tool("sage_version", {})) == {"version": __version__}

        nowhere = await client.call_tool("sage_index_code", {"path": f"{path}/nowhere"})
        assert "there is no" in _complaint(nowhere)
        assert "give the path of a project's folder" in _complaint(nowhere)

    _talk(conversation)
    figures = [done for done, _ in reports]
    assert figures == sorted(set(figures))
    assert {"looking for changes", "publishing"} <= {message for _, message in reports}


def test_search_within_a_budget_and_with_its_errors(sample: Path) -> None:
    async def conversation(client: Client) -> None:
        path = str(sample)

        async def ask(**arguments: object) -> CallToolResult:
            return await client.call_tool("sage_search_code", arguments)

        assert f"run `sage index {path}` first" in _complaint(await ask(query="connect", project=path))
        _content(await client.call_tool("sage_index_code", {"path": path, "project": "demo"}))
        for project in (path, "demo"):
            found = _content(await ask(query="reach a host", project=project, explain=True))
            _validate("search.json", found)
            assert found["project"] == "demo"
            assert found["results"][0]["file"] == "server.py"
            assert found["results"][0]["explain"]
        narrow = _content(await ask(query="connect", project=path, language="typescript", limit=1, kind="function"))
        assert [hit["file"] for hit in narrow["results"]] == ["web/client.ts"]
        cut = _content(await ask(query="connect", project=path, max_tokens=30))
        _validate("search.json", cut)
        assert cut["truncated"]
        everywhere = _content(await ask(query="connect", all_projects=True))
        assert {hit["project"] for hit in everywhere["results"]} == {"demo"}
        assert "the question has no words" in _complaint(await ask(query="?!", project=path))
        assert "no indexed project is called" in _complaint(await ask(query="x", project="nosuch"))
        # A file that has changed since is brought in before the answer.
        (sample / "retry.py").write_text("def backoff_jitter(attempt):\n    return attempt * 2\n")
        await anyio.sleep(2.1)  # a project that was found fresh is taken to be so for two seconds
        fresh = _content(await ask(query="backoff_jitter", project=path))
        assert fresh["results"][0]["file"] == "retry.py"

    _talk(conversation)


def test_the_server_answers_while_a_project_is_indexed(sample: Path) -> None:
    async def conversation(client: Client) -> None:
        order: list[str] = []

        async def index() -> None:
            _content(await client.call_tool("sage_index_code", {"path": str(sample)}))
            order.append("index")

        async with anyio.create_task_group() as group:
            group.start_soon(index)
            await anyio.sleep(0.05)  # the request is on its way; its run imports LanceDB, which takes a second
            _content(await client.call_tool("sage_version", {}))
            order.append("version")
        assert order == ["version", "index"]

    _talk(conversation)


def test_the_folder_mcp_never_shadows_the_sdk() -> None:
    top = Path(__file__).parents[2]
    assert not (top / "mcp" / "__init__.py").exists()
    assert "site-packages" in str(mcp.__file__)
    assert Path(sage_mcp.server.__file__).is_relative_to(top / "mcp")


@pytest.mark.parametrize("answers", [3, 60])
def test_long_answers_are_cut_and_say_so(answers: int) -> None:
    matches = [{"name": "run"}] * answers
    answer = sage_mcp.server._answer(None, "run", matches, 50)  # type: ignore[arg-type]  # never asked for a miss
    assert len(answer["matches"]) + answer.get("truncated", 0) == answers
    assert ("truncated" in answer) == (answers > 50)
