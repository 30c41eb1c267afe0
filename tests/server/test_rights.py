"""What an agent may index and read: its own project and what the user has indexed, nothing else, and no secrets."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ListRootsResult, Root
from talking import HttpServer, complaint, content, in_process, over_stdio, text

from sage_code import Project
from sage_code.index.manifest import load_manifest

_NOT_YOURS = "neither the project you work in nor indexed by the user"
_KEY = "\n".join(f"MIIEowIBAAKCAQEA7bq0c1xYz9kQ2mN8vB3tR5wL6pJ4hG1fD{number}sA" for number in range(8))
_TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
_CALLS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("sage_outline", {"path": "private.py"}, "project_path"),
    ("sage_search_code", {"query": "private thing"}, "project"),
    ("sage_map", {}, "project_path"),
    ("sage_grep_symbol", {"name": "private_thing"}, "project_path"),
    ("sage_analyze_function", {"name": "private_thing"}, "project_path"),
    ("sage_find_references", {"name": "private_thing"}, "project_path"),
    ("sage_similar", {"where": "private.py:1"}, "project_path"),
    ("sage_list_core", {}, "project"),
    ("sage_list_checkpoints", {}, "project"),
    ("sage_index_code", {}, "path"),
)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A folder of the user's that no agent was given."""
    root = tmp_path / "other"
    root.mkdir()
    (root / "private.py").write_text("def private_thing():\n    return 1\n")
    return root


async def _refused(client: Client, root: Path | str, words: str = _NOT_YOURS) -> None:
    for tool, arguments, which in _CALLS:
        said = complaint(await client.call_tool(tool, {**arguments, which: str(root)}))
        assert words in said, (tool, said)
        assert "return 1" not in said


def test_an_agent_reads_and_indexes_no_folder_that_the_user_has_not_indexed(
    sample: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sample)
    # An index that came with the files is not one that the user has made.
    (other / ".sage" / "codebase").mkdir(parents=True)
    (other / ".sage" / "codebase" / "index_meta.json").write_text("{}")

    async def conversation(client: Client) -> None:
        await _refused(client, other)
        await _refused(client, "../other")
        assert [path.name for path in (other / ".sage" / "codebase").iterdir()] == ["index_meta.json"]
        content(await client.call_tool("sage_index_code", {}))
        assert content(await client.call_tool("sage_grep_symbol", {"name": "connect"}))["matches"]

    in_process(conversation)


def test_what_the_user_has_indexed_is_read(sample: Path, other: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Project.open(other).index()
    monkeypatch.chdir(sample)

    async def conversation(client: Client) -> None:
        for given in (str(other), "other", str(other / "private.py")):
            arguments = {"name": "private_thing", "project_path": given}
            assert content(await client.call_tool("sage_grep_symbol", arguments))["matches"]
        assert content(await client.call_tool("sage_index_code", {"path": str(other)}))["files_unchanged"] == 1

    in_process(conversation)


def test_the_home_folder_and_sages_own_are_never_read_or_indexed_over_mcp(
    sample: Path, sage_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(os.environ["HOME"])
    (home / "private.py").write_text("def private_thing():\n    return 1\n")
    Project.open(sample).index()  # from here on there is a list of projects in the home
    (sage_home / "mcp-token").write_text(_TOKEN)

    async def conversation(client: Client) -> None:
        for tool, arguments, which in _CALLS:
            if tool.startswith(("sage_list",)):
                continue  # memories of the home folder are the user's own
            said = complaint(await client.call_tool(tool, {**arguments, which: str(home)}))
            assert "is no project" in said, (tool, said)
        for folder in (sage_home, sage_home / "codebase", "/", "/etc", home.parent):
            for tool, arguments, which in _CALLS:
                said = complaint(await client.call_tool(tool, {**arguments, which: str(folder)}))
                assert "is no project" in said, (tool, folder, said)
                assert _TOKEN not in said

    monkeypatch.chdir(sample)
    in_process(conversation)
    (home / "unlisted").mkdir()
    (home / "unlisted" / "private.py").write_text("def private_thing():\n    return 1\n")

    async def started_at_home(client: Client) -> None:
        for tool, arguments, which in (*_CALLS[:7], _CALLS[-1]):
            assert complaint(await client.call_tool(tool, {**arguments, which: "."}))
            assert complaint(await client.call_tool(tool, {**arguments, which: str(home / "unlisted")}))
        content(await client.call_tool("sage_list_knowledge", {}))

    over_stdio(started_at_home, home)


def test_a_home_folder_that_the_user_has_indexed_is_not_searched_by_agents(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAGE_HOME", str(tmp_path / "sage"))  # beside the home's own index
    home = Path(os.environ["HOME"])
    (home / "private.py").write_text("def private_thing():\n    return 1\n")
    for root in (sample, home):
        Project.open(root).index(anywhere=True)
    monkeypatch.chdir(sample)

    async def conversation(client: Client) -> None:
        query = "private_thing"
        for arguments in ({"query": query, "all_projects": True}, {"query": f"{query} in:{home.name}"}):
            found = content(await client.call_tool("sage_search_code", arguments))
            assert not [row for row in found["results"] if row["file"] == "private.py"]
        assert "is no project" in complaint(
            await client.call_tool("sage_grep_symbol", {"name": query, "project_path": home.name})
        )

    in_process(conversation)


def test_the_roots_of_a_client_that_started_the_server_are_its_own(sample: Path, other: Path) -> None:
    async def roots(_context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=sample.as_uri()), Root(uri=other.as_uri()), Root(uri="file:///")])

    async def conversation(client: Client) -> None:
        for root in (sample, other):
            assert content(await client.call_tool("sage_index_code", {"path": str(root)}))["files_indexed"]
        assert "is no project" in complaint(await client.call_tool("sage_index_code", {"path": "/etc"}))

    in_process(conversation, list_roots_callback=roots, mode="legacy")


def test_an_http_client_gets_no_rights_from_the_roots_that_it_names(
    http_server: HttpServer, sample: Path, other: Path
) -> None:
    async def roots(_context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=other.as_uri())])

    async def run() -> None:
        headers = {"Authorization": f"Bearer {http_server.token}"}
        with anyio.fail_after(120):
            async with httpx2.AsyncClient(headers=headers, timeout=60) as connection:
                transport = streamable_http_client(http_server.url, http_client=connection)
                async with Client(transport, mode="legacy", list_roots_callback=roots) as client:
                    await _refused(client, other)
                    assert _NOT_YOURS in complaint(await client.call_tool("sage_search_code", {"query": "private"}))
                    assert "opening" not in content(await client.call_tool("sage_version", {}))
                    assert content(await client.call_tool("sage_index_code", {"path": str(sample)}))["files_indexed"]

    anyio.run(run)
    assert not (other / ".sage").exists()


def test_no_tool_reads_what_is_ignored_or_kept_by_sage(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (sample / ".gitignore").write_text("local/\n")
    (sample / "local").mkdir()
    (sample / "local" / "private.py").write_text("def private_thing():\n    return 1\n")
    (sample / ".env").write_text("API_WORD=hunter22\n")
    Project.open(sample).index()
    monkeypatch.chdir(sample)

    async def conversation(client: Client) -> None:
        for path in ("local/private.py", ".sage/codebase/index_meta.json", ".sage/codebase/compiled/functions.json"):
            assert "not among the files" in complaint(await client.call_tool("sage_outline", {"path": path}))
        assert "secret" in complaint(await client.call_tool("sage_outline", {"path": ".env"}))
        (sample / "new.py").write_text("def brand_new():\n    return 2\n")  # a file of the project all the same
        assert content(await client.call_tool("sage_outline", {"path": "new.py"}))["symbols"]

    in_process(conversation)


def test_values_that_look_like_keys_are_masked_in_text_and_data(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        f'def deploy(target):\n    """Deploys with {_TOKEN}."""\n    token = "{_TOKEN}"\n'
        f'    key = """-----BEGIN RSA PRIVATE KEY-----\n{_KEY}\n-----END RSA PRIVATE KEY-----"""\n'
        f"    return target, token, key\n"
    )
    (sample / "deploy.py").write_text(source)
    Project.open(sample).index()
    monkeypatch.chdir(sample)

    async def conversation(client: Client) -> None:
        for tool, arguments in (
            ("sage_analyze_function", {"name": "deploy"}),
            ("sage_search_code", {"query": "deploy token private key"}),
            ("sage_grep_symbol", {"name": "deploy"}),
            ("sage_outline", {"path": "deploy.py"}),
            ("sage_save_knowledge", {"knowledge_id": "k", "content": f"the token is {_TOKEN}"}),
            ("sage_list_knowledge", {}),
            ("sage_mark_core", {"path": "deploy.py", "summary": f"uses {_TOKEN}"}),
            ("sage_list_core", {}),
        ):
            result = await client.call_tool(tool, arguments)
            whole = text(result) + json.dumps(content(result))
            assert _TOKEN not in whole, tool
            assert not [line for line in _KEY.split("\n") if line in whole], tool
        found = content(result := await client.call_tool("sage_analyze_function", {"name": "deploy"}))
        match = found["matches"][0]
        assert match["source"].count("\n") == match["end_line"] - match["start_line"]
        last = f"{match['end_line']} |     return target, token, key"
        assert last in text(result)
        assert "[masked: private key]" in text(result)

    in_process(conversation)
    assert load_manifest(str(sample)) is not None
