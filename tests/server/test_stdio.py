"""The server as an agent uses it: a child process, the SDK's own client, standard input and output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp
import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp_types import ListRootsResult, Root
from talking import complaint, content, environment, in_process, over_stdio, text

import sage_mcp.server
from sage_code import Project

SAGE = [sys.executable, "-P", "-m", "sage_cli.entry", "mcp", "serve"]
LIGHT = """
import json, sys
from sage_mcp.server import make_server
make_server()
print(json.dumps(sorted(sys.modules)))
"""


def test_a_session_from_the_first_question_to_the_last(sample: Path, tmp_path: Path) -> None:
    reports: list[tuple[float, str | None]] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        reports.append((progress, message))

    async def conversation(client: Client) -> None:
        schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}

        async def ask(name: str, /, **arguments: Any) -> dict[str, Any]:
            data = content(await client.call_tool(name, arguments, progress_callback=heard))
            Draft202012Validator(schemas[name] or {}).validate(data)
            return data

        # Nothing is indexed: the first question is answered all the same, and the index is made meanwhile.
        first = await ask("sage_search_code", query="reach a host")
        assert first["results"][0]["file"] == "server.py"
        # An index run reports itself, and the server answers while it is under way.
        order: list[str] = []

        async def index() -> None:
            stats = await ask("sage_index_code", path=str(sample), name="demo", incremental=False)
            assert (stats["project"], stats["files_indexed"]) == ("demo", 2)
            order.append("index")

        async with anyio.create_task_group() as group:
            group.start_soon(index)
            await anyio.sleep(0.05)
            await ask("sage_version")
            order.append("version")
        assert order == ["version", "index"]
        assert (await ask("sage_search_code", query="reach a host", project="demo"))["project"] == "demo"
        # A file that has changed since is brought in before the answer.
        (sample / "retry.py").write_text("def backoff_jitter(attempt):\n    return attempt * 2\n")
        await anyio.sleep(2.1)  # a project that was found fresh is taken to be so for two seconds
        assert (await ask("sage_search_code", query="backoff_jitter"))["results"][0]["file"] == "retry.py"

    over_stdio(conversation, tmp_path, SAGE, CLAUDE_PROJECT_DIR=str(sample))
    figures = [done for done, _ in reports]
    assert figures == sorted(set(figures))
    assert {"looking for changes", "publishing"} <= {message for _, message in reports}


def test_a_run_can_be_cancelled_and_leaves_the_last_good_index(sample: Path) -> None:
    Project.open(sample).index()

    async def conversation(client: Client) -> None:
        stages: list[str | None] = []
        started = anyio.Event()

        async def heard(_progress: float, _total: float | None, message: str | None) -> None:
            stages.append(message)
            started.set()

        async with anyio.create_task_group() as group:

            async def index() -> None:
                await client.call_tool("sage_index_code", {"incremental": False}, progress_callback=heard)
                stages.append("came to its end")

            group.start_soon(index)
            await started.wait()
            group.cancel_scope.cancel()
        seen = len(stages)
        assert "came to its end" not in stages
        assert content(await client.call_tool("sage_grep_symbol", {"name": "connect"}))["matches"]
        await anyio.sleep(1)
        assert "publishing" not in stages[seen:]
        assert content(await client.call_tool("sage_index_code", {}))["files_unchanged"] == 2

    over_stdio(conversation, sample)


@pytest.mark.parametrize("source", ["roots", "environment", "folder"])
def test_the_project_at_hand_is_the_clients(
    sample: Path, tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (sample / ".git").mkdir()
    Project.open(sample).index()
    monkeypatch.chdir(sample if source == "folder" else tmp_path)
    options: dict[str, Any] = {}
    if source == "environment":
        monkeypatch.setenv("CLAUDE_PROJECT_DIR", str(sample))
    if source == "roots":

        async def roots(_context: Any) -> ListRootsResult:
            return ListRootsResult(roots=[Root(uri=(sample / "web").as_uri())])

        options = {"list_roots_callback": roots, "mode": "legacy"}  # the newest protocol has no roots any more

    async def conversation(client: Client) -> None:
        for given in ({}, {"project": "."}, {"project": str(sample / "web")}, {"project": "sample"}):
            found = content(await client.call_tool("sage_search_code", {"query": "connect", **given}))
            assert found["root"] == str(sample)

    in_process(conversation, **options)


def test_core_files_come_with_the_first_answer_of_a_session(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = Project.open(sample)
    project.index()
    project.mark_core("server.py", "Listens.")
    for number in range(150):
        (sample / f"extra{number}.py").write_text("x = 1\n")
        project.mark_core(f"extra{number}.py", "One of many, with a rather long summary that costs some tokens.")
    monkeypatch.chdir(sample)

    async def conversation(client: Client) -> None:
        failed = await client.call_tool("sage_outline", {"path": "nowhere.py"})
        assert "Core files" not in complaint(failed)
        first = await client.call_tool("sage_grep_symbol", {"name": "connect"})
        [section] = content(first)["opening"]["sections"]
        assert section["title"] == "Core files of this project (.sage/core.md)"
        assert section["text"] in text(first)
        assert 10 < section["text"].count("\n") < 60
        assert "more: sage_list_core" in section["text"]
        second = await client.call_tool("sage_grep_symbol", {"name": "connect"})
        assert "opening" not in content(second)
        assert "Core files" not in text(second)

    in_process(conversation)


def test_nothing_heavy_is_loaded_before_the_handshake() -> None:
    ended = subprocess.run(
        [sys.executable, "-P", "-c", LIGHT], capture_output=True, text=True, env=environment(), timeout=60, check=True
    )
    loaded = set(json.loads(ended.stdout))
    assert not loaded & {"numpy", "lance", "pyarrow", "tree_sitter", "yaml", "orjson", "xxhash", "typer"}
    ours = {name for name in loaded if name.startswith("sage_code.")}
    few = {"paths", "errors", "text", "text.tokens", "text.escaping", "text.light_json", "memory", "memory.files"}
    few |= {"memory.files.core_files", "files", "files.atomic", "files.locks", "files.inside", "files.contained"}
    few |= {"files.private", "files.dot_sage", "files.provenance", "serving", "serving.requester"}
    assert ours <= {f"sage_code.{name}" for name in few}


def test_the_folder_mcp_never_shadows_the_sdk() -> None:
    top = Path(__file__).parents[2]
    assert not (top / "mcp" / "__init__.py").exists()
    assert "site-packages" in str(mcp.__file__)
    assert Path(sage_mcp.server.__file__).is_relative_to(top / "mcp")


def test_a_hostile_folder_cannot_bring_its_own_server(tmp_path: Path) -> None:
    """An agent starts the server in a project, which may contain modules with our names: they are not imported."""
    for name in ("mcp", "sage_mcp", "sage_code"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"open({str(tmp_path / 'owned')!r}, 'w').close()\n")

    async def conversation(client: Client) -> None:
        content(await client.call_tool("sage_version", {}))

    over_stdio(conversation, tmp_path, SAGE)
    assert not (tmp_path / "owned").exists()
    assert os.path.isdir(tmp_path / "mcp")
