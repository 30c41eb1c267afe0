"""How tests talk to the server: in this process with the SDK's client, or to a real process over stdio and HTTP."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent

from sage_mcp import server

Conversation = Callable[[Client], Awaitable[None]]
PATIENCE_S = 240
COMMAND = [sys.executable, "-P", "-m", "sage_mcp.server"]


def environment(**more: str) -> dict[str, str]:
    """The environment of a server process."""
    paths = os.pathsep.join(path for path in sys.path if path)
    kept = {name: os.environ[name] for name in ("SAGE_HOME", "HOME", "PATH")}
    return {"PYTHONPATH": paths, **kept, **more}


def over_stdio(conversation: Conversation, folder: Path | str, command: list[str] | None = None, **more: Any) -> None:
    """Start a server process in `folder`, and talk to it."""
    words = command or COMMAND
    mode = more.pop("mode", "auto")
    start = StdioServerParameters(command=words[0], args=words[1:], env=environment(**more), cwd=str(folder))

    async def run() -> None:
        with anyio.fail_after(PATIENCE_S):
            async with Client(stdio_client(start), mode=mode) as client:
                await conversation(client)

    _run(run)


def _run(conversation: Callable[[], Awaitable[None]]) -> None:
    """Raise the error of a conversation itself, not the group that the SDK's tasks wrap it in."""
    try:
        anyio.run(conversation)
    except BaseExceptionGroup as group:
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
            error = error.exceptions[0]
        raise error from None


def in_process(conversation: Conversation, **options: Any) -> None:
    """Talk to a server in this process; `options` are the client's."""

    async def run() -> None:
        with anyio.fail_after(PATIENCE_S):
            async with Client(server.make_server(), **options) as client:
                await conversation(client)

    _run(run)


def content(result: CallToolResult) -> dict[str, Any]:
    """The data of an answer; an error fails the test."""
    assert not result.is_error, result.content
    assert isinstance(result.structured_content, dict)
    return result.structured_content


def text(result: CallToolResult) -> str:
    """All text of an answer."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


def complaint(result: CallToolResult) -> str:
    """The text of an error; another answer fails the test."""
    assert result.is_error
    return text(result)


class HttpServer:
    """A server process over HTTP."""

    def __init__(self, folder: Path, command: list[str] = COMMAND, **more: str) -> None:
        self.process = subprocess.Popen(
            [*command, "--http", "--port", "0"],
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env=environment(**more),
        )
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.match(r"sage-mcp: (http://127\.0\.0\.1:(\d+)/mcp), the token is in (.+)\n", line)
        assert found, line
        self.url, self.port = found[1], int(found[2])
        self.token = more.get(found[3]) or Path(found[3]).read_text().strip()

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(20)
        assert self.process.stderr is not None
        self.process.stderr.close()
