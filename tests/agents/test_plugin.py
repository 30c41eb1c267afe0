"""The plugin for Claude Code: every file where it is looked for, with the fields that are documented."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from sage_code import __version__
from sage_code.agents.hook_table import EVENTS, SHARED_COMMAND, groups
from sage_code.agents.install import is_sage_entry
from sage_code.agents.notes import SUBAGENT
from sage_mcp.server import make_server

TOP = Path(__file__).parents[2]
PLUGIN = TOP / "plugin"
SKILLS = sorted((PLUGIN / "skills").iterdir())
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
# Fields of a skill that every agent reads; others make an upload elsewhere fail.
PORTABLE = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}


def _json(path: Path) -> Any:
    return json.loads(path.read_text())


def test_the_marketplace_leads_to_the_plugin() -> None:
    market = _json(TOP / ".claude-plugin" / "marketplace.json")
    assert market.keys() <= {"name", "owner", "metadata", "plugins"}
    assert NAME.fullmatch(market["name"])
    assert market["owner"]["name"]
    (entry,) = market["plugins"]
    assert entry.keys() <= {"name", "source", "description", "version", "author", "category", "keywords", "license"}
    assert (TOP / entry["source"]).resolve() == PLUGIN.resolve()
    assert entry["name"] == _json(PLUGIN / ".claude-plugin" / "plugin.json")["name"]


def test_the_manifest() -> None:
    manifest = _json(PLUGIN / ".claude-plugin" / "plugin.json")
    assert manifest.keys() <= {"name", "version", "description", "author", "license", "keywords"}
    assert NAME.fullmatch(manifest["name"])
    assert manifest["version"] == __version__
    assert [path.name for path in (PLUGIN / ".claude-plugin").iterdir()] == ["plugin.json"]


def test_the_server() -> None:
    ((name, entry),) = _json(PLUGIN / ".mcp.json")["mcpServers"].items()
    assert name == "sage"
    assert is_sage_entry(entry)


def test_the_hooks_are_those_that_install_writes() -> None:
    document = _json(PLUGIN / "hooks" / "hooks.json")
    assert document.keys() == {"description", "hooks"}
    assert document["hooks"] == groups(SHARED_COMMAND)
    assert list(document["hooks"]) == list(EVENTS)


@pytest.mark.parametrize("folder", SKILLS, ids=lambda folder: folder.name)
def test_a_skill(folder: Path) -> None:
    _, front, body = (folder / "SKILL.md").read_text().split("---\n", 2)
    fields = yaml.safe_load(front)
    assert fields.keys() <= PORTABLE
    assert fields["name"] == folder.name
    assert NAME.fullmatch(fields["name"])
    assert len(fields["name"]) <= 64
    assert 0 < len(fields["description"]) <= 1024
    assert len(body.splitlines()) < 500


@pytest.mark.anyio
async def test_tools_and_commands_that_the_texts_name_exist() -> None:
    from typer.main import get_command

    from sage_cli.app import app

    text = "\n".join(path.read_text() for path in PLUGIN.rglob("*.md"))
    tools = {tool.name for tool in await make_server().list_tools()}
    assert set(re.findall(r"`(sage_[a-z_]+)`", text)) <= tools
    commands = set(get_command(app).commands)  # type: ignore[attr-defined]
    named = set(re.findall(r"`sage ([a-z]+(?: (?:import|export))?)", text))
    assert {name.split()[0] for name in named} <= {name.split()[0] for name in commands}


def test_the_helper_is_the_one_that_install_writes() -> None:
    assert (PLUGIN / "agents" / "sage-search.md").read_text() == SUBAGENT
