"""Opens the port of a server on this machine, and runs an application behind it until the process is ended."""

from __future__ import annotations

import os
import socket

from sage_code.errors import ConfigError
from sage_code.serving.guard import LOOPBACK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from starlette.types import ASGIApp

_GRACE_S = 2


def open_listener(port: int) -> socket.socket:
    """A listening socket of this machine; 0 takes a free port."""
    # The protocol by its number: asyncio turns Nagle's delay (40 ms an answer) off only for what says that it is TCP.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name != "nt":  # there it would let another program take the port over
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((LOOPBACK, port))
        listener.listen()  # before the address is printed: a client that is faster than the server waits
    except (OSError, OverflowError) as error:
        listener.close()
        why = error.strerror if isinstance(error, OSError) else "a port is a number from 0 to 65535"
        raise ConfigError(f"port {port} cannot be used: {why}", "give another --port; 0 takes a free one") from error
    return listener


async def run(
    app: ASGIApp, listener: socket.socket, log_level: str = "warning", on_exit: Callable[[], None] | None = None
) -> None:
    """Serve until the process is ended; `on_exit` is called when a signal asks for that, and closes open streams."""
    import uvicorn  # lazy: a server on stdio needs none

    from sage_code.serving.connections import BoundedConnection

    config = uvicorn.Config(
        app,
        http=BoundedConnection,
        ws="none",
        log_level=log_level,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
    )

    class Server(uvicorn.Server):
        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            super().handle_exit(sig, frame)
            if on_exit is not None:
                on_exit()

    await Server(config).serve(sockets=[listener])
