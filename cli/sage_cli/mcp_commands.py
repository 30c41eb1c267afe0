"""`sage mcp`: runs the server for agents, and adds it to their configuration."""

from __future__ import annotations

from typing import Annotated

import typer

from sage_cli import agent_commands
from sage_cli.becoming import become

app = typer.Typer(name="mcp", help="Serve coding agents over the Model Context Protocol.", no_args_is_help=True)
app.command("install")(agent_commands.install)
app.command("uninstall")(agent_commands.uninstall)
_SERVER = "sage_mcp.server"


@app.command("serve")
def serve(
    http: Annotated[bool, typer.Option("--http", help="Streamable HTTP on this machine instead of stdio.")] = False,
    port: Annotated[int | None, typer.Option("--port", min=0, max=65535, help="The port for --http.")] = None,
    token_file: Annotated[
        str | None, typer.Option("--token-file", help="Where the token for --http is kept; made when missing.")
    ] = None,
) -> None:
    """Run the MCP server, the same as `sage-mcp`.

    An agent starts it by itself (see `sage mcp install`). With --http it asks for a token: the one in
    SAGE_MCP_TOKEN, or in the token file.

    Example:  sage mcp serve

    Example:  sage mcp serve --http --port 7243
    """
    words = [*(["--http"] if http else []), *(["--port", str(port)] if port is not None else [])]
    words += ["--token-file", token_file] if token_file else []
    raise typer.Exit(become(_SERVER, words))
