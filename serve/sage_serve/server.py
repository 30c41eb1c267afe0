"""`python -m sage_serve.server`, which `sage serve` becomes: opens the port and runs one process or several behind it.

With several, each has a socket of its own on the same port; the system shares connections among them. The first
process keeps the sockets open, starts a worker again that has died, and passes signals on.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace

from sage_code.errors import ConfigError, SageError
from sage_code.files.private import make_private
from sage_code.serving.users import folder, listed
from sage_serve import settings as defaults
from sage_serve.settings import ServeSettings

# A worker that dies sooner than this did not start well; after so many in a row the server gives up.
_EARLY_S, _MOST_EARLY = 5.0, 5
_LOOK_S = 0.2


def open_listener(settings: ServeSettings, *, is_shared: bool = False) -> socket.socket:
    """A listening socket; a shared port has one for each worker."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name != "nt":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if is_shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((settings.host, settings.port))
        listener.listen(1_024)
    except (OSError, OverflowError) as error:
        listener.close()
        why = error.strerror if isinstance(error, OSError) else "a port is a number from 0 to 65535"
        raise ConfigError(
            f"{settings.host}:{settings.port} cannot be used: {why}", "give another --port; 0 takes a free one"
        ) from error
    return listener


class _Workers:
    """The processes behind one port."""

    def __init__(self, settings: ServeSettings, sockets: list[socket.socket]) -> None:
        self._settings, self._sockets = settings, sockets
        self._signals = 0
        self._early = 0
        self._figures = os.path.join(folder(), f"figures-{os.getpid()}")
        # Workers hold the reading end: they see the end of this process, however it comes.
        self._alive, self._held = os.pipe()
        self._running: dict[int, tuple[subprocess.Popen[bytes], float]] = {}

    def run(self) -> int:
        """Run until a signal; the exit code."""
        make_private(self._figures)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda _number, _frame: self._end())
        try:
            for place in range(len(self._sockets)):
                self._start(place)
            while self._running:
                self._look_after()
                time.sleep(_LOOK_S)
            return 1 if self._early >= _MOST_EARLY else 0
        finally:
            os.close(self._held)
            shutil.rmtree(self._figures, ignore_errors=True)

    def _start(self, place: int) -> None:
        number = self._sockets[place].fileno()
        words = [*_words(self._settings), "--worker", f"{number},{self._alive}", "--figures", self._figures]
        command = [sys.executable, "-P", "-m", "sage_serve.server", *words]
        # A session of its own: Ctrl-C reaches the workers once, from this process.
        started = subprocess.Popen(command, pass_fds=(number, self._alive), start_new_session=True)
        self._running[place] = (started, time.monotonic())

    def _look_after(self) -> None:
        """Start workers again that have died."""
        for place, (worker, since) in tuple(self._running.items()):
            if worker.poll() is None:
                continue
            del self._running[place]
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(self._figures, f"{worker.pid}.json"))
            if self._signals:
                continue
            self._early = self._early + 1 if time.monotonic() - since < _EARLY_S else 0
            if self._early >= _MOST_EARLY:
                sys.stderr.write("sage: the workers end as soon as they start\n")
                self._end()
            else:
                self._start(place)

    def _end(self) -> None:
        self._signals += 1
        for worker, _ in self._running.values():
            with contextlib.suppress(ProcessLookupError):
                worker.send_signal(signal.SIGTERM)


def _words(given: ServeSettings) -> list[str]:
    """The settings as the command line of a worker."""
    words = [
        "--host", given.host, "--port", str(given.port), "--rate", str(given.rate), "--burst", str(given.burst),
        "--max-searches", str(given.searches), "--queue", str(given.queue), "--grace", str(given.grace_s),
        "--drain-delay", str(given.drain_delay_s), "--log-format", given.log_format,
    ]  # fmt: skip
    for name, values in (
        ("--only", given.projects), ("--allowed-host", given.allowed_hosts),
        ("--trusted-proxy", given.trusted_proxies),
    ):  # fmt: skip
        words += [word for value in values for word in (name, value)]
    return [*words, *(["--log-queries"] if given.log_queries else [])]


def parser() -> argparse.ArgumentParser:
    """The options of the server; `sage serve` has the same."""
    made = argparse.ArgumentParser(prog="sage serve", description="Serve agents and the page to many users.")
    made.add_argument("--host", default=defaults.DEFAULT_HOST)
    made.add_argument("--port", type=int, default=defaults.DEFAULT_PORT)
    made.add_argument("--only", action="append", default=[])
    made.add_argument("--allowed-host", action="append", default=[])
    made.add_argument("--trusted-proxy", action="append", default=[])
    made.add_argument("--workers", type=int, default=1)
    made.add_argument("--rate", type=float, default=defaults.DEFAULT_RATE)
    made.add_argument("--burst", type=float, default=defaults.DEFAULT_BURST)
    made.add_argument("--max-searches", type=int, default=defaults.DEFAULT_SEARCHES)
    made.add_argument("--queue", type=int, default=defaults.DEFAULT_QUEUE)
    made.add_argument("--grace", type=float, default=defaults.DEFAULT_GRACE_S)
    made.add_argument("--drain-delay", type=float, default=0.0)
    made.add_argument("--log-format", choices=("json", "text"), default="json")
    made.add_argument("--log-queries", action="store_true")
    made.add_argument("--worker", default="", help=argparse.SUPPRESS)
    made.add_argument("--figures", default="", help=argparse.SUPPRESS)
    return made


def _settings_of(given: argparse.Namespace) -> ServeSettings:
    return ServeSettings(
        given.host, given.port, tuple(given.only), tuple(given.allowed_host), tuple(given.trusted_proxy),
        given.workers, given.rate, given.burst, given.max_searches, given.queue, given.grace, given.drain_delay,
        given.log_format, given.log_queries,
    )  # fmt: skip


def _run(given: argparse.Namespace) -> int:
    """Run as one worker, as the only process, or as the one that starts the workers; the exit code."""
    settings = _settings_of(given)
    settings.check()
    if given.worker:
        number, parent = map(int, given.worker.split(","))
        _run_here(settings, socket.socket(fileno=number), given.figures, parent)
        return 0
    if not listed():
        raise ConfigError("there is no user who could be served", "`sage serve user add NAME --scopes search` adds one")
    several = settings.workers > 1
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(open_listener(settings, is_shared=several))]
        settings = replace(settings, port=sockets[0].getsockname()[1])
        if several:
            more = range(settings.workers - 1)
            sockets += [stack.enter_context(open_listener(settings, is_shared=True)) for _ in more]
        base = f"http://{settings.host}:{settings.port}"
        sys.stderr.write(f"sage: {base}/mcp for agents, {base}/ for people; TLS belongs to a proxy before it\n")
        sys.stderr.flush()
        if several:
            return _Workers(settings, sockets).run()
        _run_here(settings, sockets[0])
    return 0


def _run_here(settings: ServeSettings, listener: socket.socket, figures: str = "", parent: int = -1) -> None:
    from sage_serve.running import serve  # lazy: the port is open before anything is loaded

    asyncio.run(serve(settings, listener, figures, parent))


def main() -> None:
    """Run the server."""
    # One question is too small for several threads: they would only wait for each other, and spin meanwhile.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        code = _run(parser().parse_args())
    except KeyboardInterrupt:
        code = 130
    except SageError as error:
        sys.stderr.write(f"sage: {error.message}\n      {error.hint}\n")
        code = 2
    sys.stderr.flush()
    # Threads of searches that are still running have nobody to answer.
    os._exit(code)


if __name__ == "__main__":
    main()
