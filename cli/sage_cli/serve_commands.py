"""`sage serve`: agents and the page behind one port for many users, and who these users are."""

from __future__ import annotations

from typing import Annotated

import typer

from sage_cli.becoming import become
from sage_cli.options import JsonOption
from sage_cli.output import EXIT_NOTHING, print_json
from sage_code.serving import users
from sage_code.serving.requester import SCOPES
from sage_code.text.escaping import one_line

app = typer.Typer(name="serve", help="Serve agents and the page to many users.", invoke_without_command=True)
user_app = typer.Typer(name="user", help="Add, list, revoke users and rotate their tokens.", no_args_is_help=True)
app.add_typer(user_app)

_SERVER = "sage_serve.server"
_ONCE = "It is shown once and kept nowhere; `sage serve user rotate` makes another."


@app.callback()
def serve(
    context: typer.Context,
    host: Annotated[str, typer.Option("--host", help="The address to listen on; others than 127.0.0.1 need TLS.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 takes a free one.")] = 7245,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME|PATH", help="Serve only this project; may be repeated."),
    ] = None,
    allowed_host: Annotated[
        list[str] | None, typer.Option("--allowed-host", help="A name that clients may use in Host; may be repeated.")
    ] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option("--trusted-proxy", help="An address or network whose X-Forwarded-* is believed."),
    ] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, max=64, help="Processes that answer.")] = 1,
    rate: Annotated[float, typer.Option("--rate", help="Requests a second of one user, for each worker.")] = 50.0,
    burst: Annotated[float, typer.Option("--burst", help="Requests of one user at once, for each worker.")] = 200.0,
    max_searches: Annotated[int, typer.Option("--max-searches", min=1, help="Requests that run at once.")] = 4,
    queue: Annotated[int, typer.Option("--queue", min=1, help="Requests that wait; more are answered with 503.")] = 256,
    grace: Annotated[float, typer.Option("--grace", help="Seconds that requests have to finish at the end.")] = 20.0,
    drain_delay: Annotated[
        float, typer.Option("--drain-delay", help="Seconds between readiness 503 and the closed port.")
    ] = 0.0,
    log_format: Annotated[str, typer.Option("--log-format", help="json or text, on stderr.")] = "json",
    log_queries: Annotated[bool, typer.Option("--log-queries", help="Also log what is asked.")] = False,
) -> None:
    """Serve agents (`/mcp`) and the page (`/`) to many users behind one port.

    Users are added first; each has a token and scopes. `/healthz`, `/readyz` and `/metrics` are for probes.

    Example:  sage serve user add ann --scopes search,memory:read

    Example:  sage serve --port 7245 --only shop --workers 2
    """
    if context.invoked_subcommand is not None:
        return
    words = [
        "--host", host, "--port", str(port), "--workers", str(workers), "--rate", str(rate), "--burst", str(burst),
        "--max-searches", str(max_searches), "--queue", str(queue), "--grace", str(grace),
        "--drain-delay", str(drain_delay), "--log-format", log_format, *(["--log-queries"] if log_queries else []),
    ]  # fmt: skip
    for name, values in (
        ("--only", only), ("--allowed-host", allowed_host), ("--trusted-proxy", trusted_proxy),
    ):  # fmt: skip
        words += [word for value in values or () for word in (name, value)]
    raise typer.Exit(become(_SERVER, words))


@user_app.command("add")
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="a-z, 0-9, `.`, `_`, `-`.")],
    scopes: Annotated[str, typer.Option("--scopes", help=f"Of {', '.join(SCOPES)}; with commas.")] = "search",
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME|PATH", help="Only this project; may be repeated. None: all served."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Add a user, and show the token once.

    Example:  sage serve user add ann --scopes search,memory:read,memory:write --only shop
    """
    user, token = users.add(name, scopes.split(","), only or ())
    _show_token(user, token, as_json=as_json)


@user_app.command("rotate")
def rotate(name: Annotated[str, typer.Argument(metavar="NAME")], as_json: JsonOption = False) -> None:
    """Give a user a new token; the old one is refused from now on.

    Example:  sage serve user rotate ann
    """
    user, token = users.rotate(name)
    _show_token(user, token, as_json=as_json)


@user_app.command("revoke")
def revoke(name: Annotated[str, typer.Argument(metavar="NAME")], as_json: JsonOption = False) -> None:
    """Remove a user; running servers refuse the token from the next request on.

    Example:  sage serve user revoke ann
    """
    users.revoke(name)
    if as_json:
        print_json({"revoked": name})
    else:
        print(f"{one_line(name)} is removed; running servers refuse the token from now on.")


@user_app.command("list")
def list_users(as_json: JsonOption = False) -> None:
    """List users with their scopes and projects; tokens are not kept. Exit code 1 if there are none.

    Example:  sage serve user list
    """
    found = users.listed()
    if as_json:
        print_json({"users": [one.shown() for one in found]})
    for one in found if not as_json else ():
        where = ", ".join(map(one_line, one.projects)) or "every served project"
        print(f"{one.name}: {', '.join(one.scopes)}; {where}")
    if not found:
        if not as_json:
            print("there are no users; `sage serve user add NAME --scopes search` adds one")
        raise typer.Exit(EXIT_NOTHING)


def _show_token(user: users.User, token: str, *, as_json: bool) -> None:
    if as_json:
        print_json({**user.shown(), "token": token})
    else:
        print(f"{user.name}: {', '.join(user.scopes)}\n{token}\n{_ONCE}")
