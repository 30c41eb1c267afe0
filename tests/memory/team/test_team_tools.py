"""The tools for a team's memory: for one person on their machine, and for the users of a server for many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from sage_code import Project
from sage_code.errors import SageError
from sage_code.memory.team import opened
from sage_code.memory.team.team_memory import TeamMemory
from sage_code.serving.requester import MEMORY_READ, MEMORY_WRITE, Requester, acting_as
from sage_mcp import projects, rights, team_tools

HERE: Any = None  # the context of a call, which tells only where a client of one's own machine works


@pytest.fixture
def served(
    team_server: Callable[..., str], sample: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Requester]]:
    """A user of a server that serves one project."""
    monkeypatch.setenv("SAGE_TEAM_DATABASE_URL", team_server("webserver"))
    monkeypatch.setenv("SAGE_TEAM_NAME", "core")
    Project.open(sample).index()
    projects._open.clear()
    yield lambda name, *scopes: Requester(name, frozenset(scopes or (MEMORY_READ, MEMORY_WRITE)), (str(sample),))
    for one in opened._servers.values():
        one.close()
    opened._servers.clear()


def _names(answer: Any) -> set[str]:
    return {item["name"] for item in answer.data["items"]}


def test_a_user_of_a_server_sees_and_saves_what_the_database_allows(
    served: Callable[..., Requester], of: Callable[..., TeamMemory]
) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    with acting_as(served("ada")):
        mine = team_tools.team_memory_save(HERE, "plan", f"The plan: {secret}", visibility="me")
        team_tools.team_memory_save(HERE, "rule", "Pay once.", visibility="team")
        assert (mine.data["outcome"], mine.data["masked"] != []) == ("stored", True)
        assert _names(team_tools.team_memory_search(HERE)) == {"plan", "rule"}
        assert secret not in team_tools.team_memory_search(HERE, "plan").text
    with acting_as(served("ben")):
        assert _names(team_tools.team_memory_search(HERE)) == {"rule"}
        assert _names(team_tools.team_memory_search(HERE, "plan")) == set()
        assert team_tools.team_memory_save(HERE, "plan", "Of ben.").data["item"] != mine.data["item"]
    for name in ("dan", "erin"):
        with acting_as(served(name)):
            assert _names(team_tools.team_memory_search(HERE)) == set()
            with pytest.raises(SageError, match="no team's memory is open to you"):
                team_tools.team_memory_save(HERE, "plan", "taken")
    for name in ("stranger", "postgres", "9", "ada--ada"):
        with acting_as(served(name)), pytest.raises(SageError, match="no team's memory is open to you"):
            team_tools.team_memory_search(HERE)
    assert {line.login for line in of("ada").audit()} == {"webserver", "postgres"}


def test_the_scopes_of_a_user_count_first(served: Callable[..., Requester]) -> None:
    with acting_as(served("ada", MEMORY_READ)):
        rights.check("team_memory_search")
        with pytest.raises(ToolError, match="memory:write"):
            rights.check("team_memory_save")
    with acting_as(served("ada", "search")), pytest.raises(ToolError, match="memory:read"):
        rights.check("team_memory_search")


def test_a_server_that_is_away_is_said_without_its_address(
    served: Callable[..., Requester], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAGE_TEAM_DATABASE_URL", "postgresql://webserver@127.0.0.1:9/none")
    monkeypatch.setattr(opened, "_USERS_PATIENCE_S", 0.1)
    with acting_as(served("ada")), pytest.raises(SageError, match="cannot be reached now") as caught:
        team_tools.team_memory_search(HERE)
    assert "127.0.0.1" not in f"{caught.value.message} {caught.value.hint}"
