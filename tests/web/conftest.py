"""A real server in a process of its own and a real browser, for the tests of the page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from sage_code import Project

from .install_browser import NO_BROWSER, find_browser

# The machine may be busy: only what hangs fails.
PATIENCE_MS = 30_000
# As root Chromium has no sandbox; the rest keeps it from looking for servers of its maker.
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    # A foreign name that leads to this machine, as DNS rebinding makes one.
    "--host-resolver-rules=MAP *.test 127.0.0.1",
]


@dataclass(frozen=True)
class WebServer:
    """A running page."""

    process: subprocess.Popen[str]
    base: str
    token: str

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.base.rpartition(":")[2])


def start_server(folder: Path, port: int = 0) -> WebServer:
    """Start `sage web` in a folder; the home is that of the test."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "sage_cli.entry", "web", "--no-open", "--port", str(port)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )  # fmt: skip
    assert process.stdout is not None
    line = process.stdout.readline()
    found = re.search(r"(http://127\.0\.0\.1:\d+)/enter\?token=(\S+)", line)
    assert found, line + process.stdout.read()
    return WebServer(process, found[1], found[2])


def stop_server(server: WebServer) -> None:
    """End a server and wait for it."""
    server.process.terminate()
    try:
        server.process.wait(20)
    except subprocess.TimeoutExpired:
        server.process.kill()
        server.process.wait()


def press(shown: Page, *keys: str) -> None:
    """Press keys one after the other, on a page whose scripts have run: nobody presses one before."""
    shown.wait_for_load_state("load")
    for key in keys:
        shown.keyboard.press(key)


@contextmanager
def home_of_module(shared_home: Path) -> Iterator[pytest.MonkeyPatch]:
    """The home of a module's tests, for a server that all of them ask."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAGE_HOME", str(shared_home))
        patch.setenv("HOME", str(shared_home.parent))
        yield patch


@pytest.fixture
def serve(sage_home: Path) -> Iterator[Callable[..., WebServer]]:
    """Starts servers that end with the test."""
    started: list[WebServer] = []

    def start(folder: Path, port: int = 0) -> WebServer:
        started.append(start_server(folder, port))
        return started[-1]

    yield start
    for one in started:
        stop_server(one)


@pytest.fixture(scope="module")
def running() -> Iterator[list[WebServer]]:
    """The server of a module, once it has been started."""
    started: list[WebServer] = []
    yield started
    for one in started:
        stop_server(one)


@pytest.fixture
def site(sample: Path, serve: Callable[..., WebServer]) -> WebServer:
    """The page of the sample project, which is indexed."""
    Project.open(sample).index()
    return serve(sample)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real browser of the system."""
    found = find_browser()
    if found is None:
        assert not os.environ.get("CI"), NO_BROWSER
        pytest.skip(NO_BROWSER)
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=_FLAGS)
        yield started
        started.close()


# What a browser says of a page that is refused, that another site has asked for or framed, or whose server has ended.
_EXPECTED = ("Failed to load resource", "Failed to fetch", "frame-ancestors", "blocked by CORS policy")


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser that nobody has used yet. An error in the console of any of its pages fails the test."""
    made = browser.new_context(viewport={"width": 1280, "height": 800})
    made.set_default_timeout(PATIENCE_MS)
    errors: list[str] = []
    made.on("weberror", lambda error: errors.append(str(error.error)))
    made.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    yield made
    made.close()
    assert not [one for one in errors if not any(known in one for known in _EXPECTED)], errors


@pytest.fixture
def enter(context: BrowserContext) -> Callable[..., Page]:
    """Opens a page of a server as a person who has opened the printed address."""

    def open_page(server: WebServer, path: str = "/") -> Page:
        shown = context.new_page()
        if not context.cookies(server.base):
            shown.goto(f"{server.base}/enter?token={server.token}")
        shown.goto(server.base + path)
        return shown

    return open_page


@pytest.fixture
def no_doctor(context: BrowserContext) -> None:
    """Leaves out what takes seconds on the pages about health, and goes on asking for it."""
    well = "<p>well</p>"
    context.route(
        re.compile("/health/(doctor|usage)"), lambda route: route.fulfill(body=well, content_type="text/html")
    )


@pytest.fixture
def look(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Saves a screenshot for a person to look at, if the variable SCREENSHOTS names a folder."""

    def save(shown: Page, name: str = "") -> None:
        if folder := os.environ.get("SCREENSHOTS"):
            # Hiding the caret would need a style in the page, which its policy forbids.
            shown.screenshot(path=Path(folder) / f"{name or request.node.name}.png", caret="initial")

    return save
