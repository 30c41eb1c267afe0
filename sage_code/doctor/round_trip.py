"""Starts the MCP server as an agent does, asks for its version, and ends it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from sage_code.agents.install import server_command
from sage_code.doctor.findings import Finding

# Agents give up after 30 to 60 seconds.
_TIMEOUT_S = 60
_TOOL = "sage_version"


def ask_version(version: str) -> Iterator[Finding]:
    """Whether the server answers with the right version."""
    command = server_command("user")
    fix = f"run `{' '.join(command)}` and read what it says, or reinstall sage-code"
    try:
        answered, tools = _ask(command)
    except Exception as error:  # the SDK raises groups of many kinds of errors
        yield Finding("mcp", "error", f"the server does not answer: {_innermost(error)}", fix)
        return
    if answered != version:
        yield Finding("mcp", "error", f"the server is version {answered}, this is {version}", "reinstall sage-code")
    else:
        yield Finding("mcp", "ok", f"{command[0]} answers with {tools} tools")


def _ask(command: list[str]) -> tuple[str, int]:
    """The server's version and the number of its tools."""
    # Lazy: the SDK takes more than a second to load.
    import anyio
    from mcp import Client, StdioServerParameters, stdio_client

    async def talk() -> tuple[str, int]:
        with open(os.devnull, "w") as silence, anyio.fail_after(_TIMEOUT_S):
            parameters = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
            async with Client(stdio_client(parameters, errlog=silence)) as client:
                tools = await client.list_tools()
                answer: Any = await client.call_tool(_TOOL, {})
                content = answer.structured_content or {}
                return str(content.get("version", "unknown")), len(tools.tools)

    return anyio.run(talk)


def _innermost(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}".rstrip(": ")
