"""How a team's memory stands on this machine: what is known and waits here, and whether the server answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sage_code.errors import SageError

if TYPE_CHECKING:
    from sage_code.memory.team.opened import Team


@dataclass(frozen=True, slots=True)
class TeamStatus:
    """The state of a team's memory here."""

    team: str
    address: str  # without a password
    member: str  # who this person is; empty if nothing says it
    is_member: bool  # as the server says; false without it
    is_admin: bool
    project: str  # what the project here is called in the team
    reachable: bool
    problem: str  # why it is not
    synced_at: str  # empty: never
    items: int
    waiting: int
    refused: int
    conflicts: int


def team_status(team: Team) -> TeamStatus:
    """The state now; the server is asked once, and not for longer than seconds."""
    queued = team.replica.queued()
    problem, member, mine = "", team.database.user or team.replica.member(), None
    try:
        server = team.server()
        member = server.me()
        mine = next((one for one in server.members() if one.name == member), None)
    except SageError as error:
        problem = error.message
    return TeamStatus(
        team.name,
        team.database.address.shown,
        member,
        mine is not None,
        mine is not None and mine.is_admin,
        team.project,
        not problem,
        problem,
        team.replica.synced_at(),
        len(team.replica.items()),
        len(queued),
        sum(bool(why) for _, why in queued),
        len(team.replica.conflicts()),
    )
