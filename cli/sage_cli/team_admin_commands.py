"""`sage team init`, `login`, `members` and `audit`: what the administrator of a team does."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sage_cli.dates import when
from sage_cli.index_commands import open_project
from sage_cli.options import JsonOption, PositiveLimitOption, ProjectOption
from sage_cli.output import answer, exit_if_nothing, one_line, print_json, say
from sage_cli.tables import answer_table

if TYPE_CHECKING:
    from sage_code.memory.team.connecting import TeamDatabase
    from sage_code.memory.team.team_memory import TeamMemory

members_app = typer.Typer(name="members", help="List the members of the team, add and drop them.", no_args_is_help=True)
_SHORT_ID = 8
_ONCE = "passwords are shown once and kept nowhere; a password goes into ~/.pgpass or PGPASSWORD"

AddressOption = Annotated[
    str,
    typer.Option(
        "--address",
        metavar="URI",
        help="The database, with a role that may administer it; the setting team_database_url unless said.",
    ),
]
MemberArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of their role in the database.")]


def init(
    admin: Annotated[
        list[str] | None,
        typer.Option("--admin", metavar="NAME", help="Make a login for NAME, an administrator of the team."),
    ] = None,
    address: AddressOption = "",
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Make the tables of the team's memory in a PostgreSQL database, or bring them up to date.

    Everybody has a login of their own there; the database itself decides who sees what.

    Example:  sage team init --address postgresql://postgres@db.example.org/team --admin ada
    """
    from sage_code.memory.team.schema import checked_member, initialise, make_login

    names = [checked_member(name) for name in admin or ()]
    database, name = _database(project, address)
    logins = []
    try:
        version = initialise(database)
        for one in names:
            logins.append(_login(one, make_login(database, one), is_server=False))
            _memory(database, name).set_member(one, is_admin=True)
        shown = database.address.shown
    finally:
        database.close()
    if as_json:
        print_json({"team": name, "address": shown, "version": version, "logins": logins})
        return
    say(one_line(f"team {name} is ready in {shown}, tables of version {version}"))
    _say_logins(logins)
    if not logins:
        say("`sage team login NAME` makes a login, `sage team members add NAME` a member")


def login(
    name: MemberArgument,
    server: Annotated[
        bool, typer.Option("--server", help="For `sage serve`, which acts for its users by their names.")
    ] = False,
    address: AddressOption = "",
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Give a person, or a server, a login of the database; the password is shown once.

    Example:  sage team login ben --address postgresql://postgres@db.example.org/team

    Example:  sage team login sage-server --server --address postgresql://postgres@db.example.org/team
    """
    from sage_code.memory.team.schema import make_login

    database, _ = _database(project, address)
    try:
        made = _login(name, make_login(database, name, is_server=server), is_server=server)
    finally:
        database.close()
    if as_json:
        print_json(made)
    else:
        _say_logins([made])
        if not server:
            say(one_line(f"`sage team members add {name}` makes them a member"))


@members_app.command("list")
def members(address: AddressOption = "", project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """List the members of the team and the projects they work on. Exits with 1 if you belong to none.

    Example:  sage team members list
    """
    database, name = _database(project, address)
    try:
        found = _memory(database, name).members()
    finally:
        database.close()
    cells = (
        (one.name, "administrator" if one.is_admin else "member", ", ".join(one.projects), when(one.added_at))
        for one in found
    )
    headings = ("name", "rights", "projects", "added")
    rows = ({**asdict(one), "projects": list(one.projects)} for one in found)
    answer_table("members", rows, headings, cells, as_json, team=name)
    exit_if_nothing(found, one_line(f"you are no member of team {name}, or there is no such team"))


@members_app.command("add")
def add(
    name: MemberArgument,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="PROJECT", help="Works only on this project; may be repeated. None: all."),
    ] = None,
    admin: Annotated[bool, typer.Option("--admin", help="May add members, and sees the whole audit.")] = False,
    address: AddressOption = "",
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Add a member, or change what they may see. `sage team status` says what a project is called.

    Example:  sage team members add ben --only git.example.org/payments
    """
    from sage_code.memory.team.values import EVERY_PROJECT

    projects = tuple(only or (EVERY_PROJECT,))
    database, team = _database(project, address)
    try:
        _memory(database, team).set_member(name, projects, is_admin=admin)
    finally:
        database.close()
    where = "all projects" if projects == (EVERY_PROJECT,) else ", ".join(projects)
    document = {"team": team, "name": name, "projects": list(projects), "is_admin": admin}
    rights = "an administrator" if admin else "a member"
    answer(document, as_json, one_line(f"{name} is {rights} of team {team}, for {where}"), show=say)


@members_app.command("drop")
def drop(
    name: MemberArgument, address: AddressOption = "", project: ProjectOption = ".", as_json: JsonOption = False
) -> None:
    """Take a member out of the team: from now on they see nothing. What they shared stays. Exits with 1 if none.

    Example:  sage team members drop ben
    """
    database, team = _database(project, address)
    try:
        gone = _memory(database, team).drop_member(name)
    finally:
        database.close()
    line = f"{name} is no longer a member of team {team}" if gone else f"{name} was no member of team {team}"
    answer({"team": team, "name": name, "dropped": gone}, as_json, one_line(line), show=say)
    exit_if_nothing(gone)


def audit(
    item: Annotated[str, typer.Argument(metavar="[ITEM]", help="Only this item, by its name or id.")] = "",
    limit: PositiveLimitOption = 50,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Show who read and wrote what, the last one first: your own lines; an administrator sees everybody's.

    Example:  sage team audit retries --limit 20
    """
    from sage_code.memory.team.opened import Team

    opened = open_project(project)
    with Team(opened.root, opened.settings) as team:
        id_ = team.row(item).item.item if item else ""
        lines = team.server().audit(id_, limit)
    cells = (
        (
            one.at, one.member, one.action, ", ".join(id_[:_SHORT_ID] for id_ in one.items[:3]),
            one.detail + (f" (by {one.login})" if one.login != one.member else ""),
        )
        for one in lines
    )  # fmt: skip
    headings = ("at", "member", "action", "items", "detail")
    rows = ({**asdict(one), "items": list(one.items)} for one in lines)
    answer_table("audit", rows, headings, cells, as_json)
    exit_if_nothing(lines, "no line that you may see")


def add_to(app: typer.Typer) -> None:
    """Add these commands to those of every member."""
    app.command("init")(init)
    app.command("login")(login)
    app.command("audit")(audit)
    app.add_typer(members_app)


def _database(project: str, address: str) -> tuple[TeamDatabase, str]:
    """The database that answers, and the name of the team."""
    from sage_code.errors import StoreError
    from sage_code.memory.team.connecting import Unreachable
    from sage_code.memory.team.opened import database_of
    from sage_code.memory.team.schema import checked_team

    settings = open_project(project).settings
    name, database = checked_team(settings.team_name), database_of(settings, address)
    try:
        database.probe()
    except Unreachable as error:
        raise StoreError(error.message, "check that the server runs and that the address names it") from error
    return database, name


def _memory(database: TeamDatabase, team: str) -> TeamMemory:
    from sage_code.memory.team.team_memory import TeamMemory

    return TeamMemory("", team, database=database)


def _login(name: str, password: str | None, *, is_server: bool) -> dict[str, Any]:
    return {"name": name, "password": password, "is_server": is_server}


def _say_logins(logins: list[dict[str, Any]]) -> None:
    for one in logins:
        said = f"password {one['password']}" if one["password"] else "had a login already; its password is unchanged"
        say(one_line(f"{one['name']}: {said}"))
    if any(one["password"] for one in logins):
        say(_ONCE)
