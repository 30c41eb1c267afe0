"""Over MCP no home folder and no system folder is indexed, and an index that came with a clone is not used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from mcp import Client
from talking import complaint, in_process, text

from sage_code import Project
from sage_code.index import registry
from sage_code.paths import compiled_dir


def test_a_home_system_folders_and_sages_home_are_never_indexed_over_mcp(sage_home: Path, sample: Path) -> None:
    Project.open(sample).index()
    Project.open(sage_home.parent).index(anywhere=True)  # the user may; an agent may not even then

    async def conversation(client: Client) -> None:
        for path in ("/", "/etc", "/usr", str(sage_home), str(sage_home / "codebase"), os.environ["HOME"]):
            assert "is no project" in complaint(await client.call_tool("sage_index_code", {"path": path}))

    in_process(conversation)
    assert {entry.root for entry in registry.projects()} == {str(sample), str(sage_home.parent)}


def test_a_committed_codebase_is_not_served_over_mcp(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as theirs:
        theirs.setenv("SAGE_HOME", str(tmp_path / "theirs" / ".sage"))
        Project.open(sample).index()
    path = Path(compiled_dir(str(sample)), "functions.json")
    path.write_bytes(path.read_bytes().replace(b"Reach a host.", b"Run as root."))
    monkeypatch.chdir(tmp_path)

    async def conversation(client: Client) -> None:
        for tool, arguments in (
            ("sage_search_code", {"query": "run as root", "project": str(sample)}),
            ("sage_map", {"project_path": str(sample)}),
        ):
            said = await client.call_tool(tool, arguments)
            assert "Run as root" not in text(said)

    in_process(conversation)
