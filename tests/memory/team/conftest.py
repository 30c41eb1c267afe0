"""A database with two teams, on the real server of the other tests; each member has a role of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from postgres_server import PostgresServer

from sage_code.memory.team.connecting import TeamDatabase
from sage_code.memory.team.schema import initialise, make_login
from sage_code.memory.team.team_memory import TeamMemory

# In the team core: ada administers it, ben works on every project, cleo on one only. dan is in another team.
MEMBERS = {"ada": ("*",), "ben": ("*",), "cleo": ("git.example/other",)}
PROJECT = "git.example/payments"


@pytest.fixture
def team_server(postgres: PostgresServer) -> Iterator[Callable[..., str]]:
    """The address of a fresh team database for a role."""
    name = postgres.empty()
    database = TeamDatabase(postgres.uri(name))
    initialise(database)
    for member in (*MEMBERS, "dan", "erin"):
        make_login(database, member)
    make_login(database, "webserver", is_server=True)
    admin = TeamMemory("", "core", database=database)
    for member, projects in MEMBERS.items():
        admin.set_member(member, projects, is_admin=member == "ada")
    TeamMemory("", "other", database=database).set_member("dan")
    database.close()
    yield lambda role="postgres": postgres.uri(name, role)
    postgres.drop(name)


@pytest.fixture
def of(team_server: Callable[..., str]) -> Iterator[Callable[..., TeamMemory]]:
    """The memory of the team core, or of another one, as a role sees it."""
    opened: list[TeamMemory] = []

    def open_(role: str, team: str = "core") -> TeamMemory:
        opened.append(TeamMemory(team_server(role), team, patience_s=3))
        return opened[-1]

    yield open_
    for one in opened:
        one.close()
