"""Runs the page: opens the port, lets the user's browser in, and serves until it is ended."""

from __future__ import annotations

import argparse
import asyncio
import os
import socket
import sys
import threading

from sage_code.errors import ConfigError, SageError
from sage_code.paths import find_root
from sage_code.serving.guard import LOOPBACK
from sage_code.serving.listener import open_listener, run
from sage_code.serving.tokens import find_token

TOKEN_VARIABLE = "SAGE_WEB_TOKEN"  # noqa: S105 - its name
TOKEN_FILE = "web-token"  # noqa: S105 - its name
DEFAULT_PORT = 7244


def serve(port: int | None = None, *, root: str = "", opens_browser: bool = True) -> None:
    """Serve the page until Ctrl-C; without a port, at the usual one or, if that is taken, at a free one."""
    token, _ = find_token(TOKEN_VARIABLE, TOKEN_FILE)
    with _listener(port) as listener:
        from sage_web.application import make_application  # lazy: the port is found before anything is loaded
        from sage_web.site import Site

        number = listener.getsockname()[1]
        site = Site(token, number, root)
        app, tickets = make_application(site)
        base = f"http://{LOOPBACK}:{number}"
        sys.stdout.write(f"Sage is at {base}/enter?token={token}\nThe address lets a browser in; Ctrl-C ends it.\n")
        sys.stdout.flush()
        if opens_browser and _has_screen():
            threading.Thread(target=_open, args=(f"{base}/enter?token={tickets.new()}",), daemon=True).start()
        asyncio.run(run(app, listener, on_exit=site.live.end))


def _listener(port: int | None) -> socket.socket:
    if port is not None:
        return open_listener(port)
    try:
        return open_listener(DEFAULT_PORT)
    except ConfigError:
        return open_listener(0)


def _has_screen() -> bool:
    """Whether a browser can be shown: a text browser would take over this terminal."""
    if sys.platform in ("win32", "darwin") or os.environ.get("BROWSER"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open(address: str) -> None:
    import webbrowser  # lazy: it looks for browsers

    webbrowser.open(address)


def _root(project: str) -> str:
    """The folder of a project, by its name or any path in it."""
    if project == ".":
        return find_root(project)
    from sage_code.project import Project  # lazy: only a project that is named is looked up

    return Project.named(project).root


def main() -> None:
    """`python -m sage_web.server`, which `sage web` becomes."""
    # One question is too small for several threads: they would only wait for each other, and spin meanwhile.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    parser = argparse.ArgumentParser(prog="sage web", description="Serve the page of Sage on this machine.")
    parser.add_argument("--port", type=int, help=f"the port; {DEFAULT_PORT}, or a free one if that is taken")
    parser.add_argument("--no-open", action="store_true", help="print the address and open no browser")
    parser.add_argument("--project", default=".", help="the project to show first")
    given = parser.parse_args()
    try:
        serve(given.port, root=_root(given.project), opens_browser=not given.no_open)
    except KeyboardInterrupt:
        sys.exit(130)
    except SageError as error:
        sys.stderr.write(f"sage: {error.message}\n      {error.hint}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
