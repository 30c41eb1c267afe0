"""The server over streamable HTTP: on this machine only, and only for clients that know its token."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import anyio

from sage_code.serving.guard import LOOPBACK, Guard, has_bearer
from sage_code.serving.listener import open_listener, run
from sage_code.serving.tokens import find_token

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

TOKEN_VARIABLE = "SAGE_MCP_TOKEN"  # noqa: S105 - its name
TOKEN_FILE = "mcp-token"  # noqa: S105 - its name
DEFAULT_PORT = 7243
# A session that is silent for so long ends, and its client begins another; one with an open stream stays.
SESSION_IDLE_S = 1_800.0
# Far more than one user's agents need, and still little memory.
MAX_SESSIONS = 1_000
# The longest text that a tool takes is far shorter.
MAX_BODY_BYTES = 4 << 20


def serve(server: MCPServer[Any], port: int | None, token_file: str | None) -> None:
    """Serve until the process is ended."""
    token, source = find_token(TOKEN_VARIABLE, TOKEN_FILE, token_file)
    with open_listener(DEFAULT_PORT if port is None else port) as listener:
        number = listener.getsockname()[1]
        sys.stderr.write(f"sage-mcp: http://{LOOPBACK}:{number}/mcp, the token is in {source}\n")
        sys.stderr.flush()
        app = server.streamable_http_app(
            session_idle_timeout=SESSION_IDLE_S, max_sessions=MAX_SESSIONS, max_request_body_size=MAX_BODY_BYTES
        )
        wanted = "the Authorization header must be `Bearer` and the token of this server"
        guarded = Guard(app, number, lambda _, headers: "" if has_bearer(headers, token) else wanted)
        anyio.run(run, guarded, listener, server.settings.log_level.lower())
