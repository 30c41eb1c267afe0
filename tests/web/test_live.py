"""Live events: every open page hears what any process of Sage does, and says when it has grown old."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import BrowserContext, Locator, Page, expect

from .conftest import WebServer, press

# These tests open many pages about health.
pytestmark = pytest.mark.usefixtures("no_doctor")
Enter = Callable[..., Page]
HOSTILE = "<img src=x onerror=alert(1)>\u202e\x1b[31m"


def sage(folder: Path, *words: str) -> str:
    """Run `sage` in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-P", "-m", "sage_cli.entry", *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120).stdout


def listening(shown: Page) -> Page:
    """The page, when it is connected."""
    expect(shown.locator("#connection")).to_have_text("connected")
    return shown


def test_what_other_processes_do_appears(sample: Path, site: WebServer, enter: Enter, look: Callable[..., Any]) -> None:
    shown = listening(enter(site, "/p/sample/health"))
    sage(sample, "search", HOSTILE)
    sage(sample, "todo", "add", "Count retries per host", "--id", "retries")
    events = shown.locator("#events li")
    hostile = events.filter(has_text="search.pre_search")
    expect(hostile).to_contain_text("<img src=x onerror=alert(1)>\\u202e\\x1b[31m")
    expect(events.filter(has_text="memory.saved")).to_contain_text("id=retries")
    assert shown.locator("#events img").count() == 0
    shown.get_by_label("Type or text").fill("memory.")
    expect(hostile).to_be_hidden()
    shown.get_by_label("Type or text").fill("")
    shown.get_by_role("button", name="Pause").click()
    sage(sample, "search", "connect")
    expect(shown.locator("#event-note")).to_contain_text("4 new")
    expect(events.filter(has_text='"connect"')).to_have_count(0)
    press(shown, "p")
    expect(events.filter(has_text='"connect"')).to_have_count(2)
    look(shown, "live-events")
    # A page that is opened later shows what was heard before.
    expect(enter(site, "/health").locator("#events li").filter(has_text='"connect"')).to_have_count(2)


def test_every_tab_hears_and_old_pages_say_so(sample: Path, site: WebServer, enter: Enter) -> None:
    paths = ("code/", "map", "graph", "memory", "stale", "code/server.py")
    health = [listening(enter(site, "/health")) for _ in range(3)]
    pages = [enter(site, f"/p/sample/{path}") for path in paths]
    for shown in pages:
        shown.wait_for_load_state("networkidle")
        expect(shown.locator("#notice")).to_be_hidden()
    (sample / "server.py").write_text("def another():\n    return 2\n")
    sage(sample, "index")
    for shown in pages:
        expect(shown.locator("#notice")).to_contain_text("The index has changed since this page was made")
    for shown in health:
        expect(_runs(shown)).to_have_count(1)
        expect(shown.locator("#notice")).to_be_hidden()
    # One that is loaded again is new, and a run without a change is no news.
    pages[0].get_by_role("button", name="Reload").click()
    expect(pages[0].locator("#notice")).to_be_hidden()
    sage(sample, "index")
    expect(_runs(health[0])).to_have_count(2)
    expect(pages[0].locator("#notice")).to_be_hidden()
    # Deleting is no event, and is seen all the same.
    sage(sample, "todo", "add", "Nobody needs this", "--id", "short-lived")
    memory = enter(site, "/p/sample/memory")
    memory.wait_for_load_state("networkidle")
    sage(sample, "knowledge", "rm", "short-lived")
    expect(memory.locator("#notice")).to_contain_text("Memories have changed")


def _runs(shown: Page) -> Locator:
    """The ends of index runs of the command line; the search page has its own."""
    return shown.locator("#events li").filter(has_text="index.finished").filter(has_text="entry ")


def test_a_page_says_that_the_server_is_gone_and_back(
    sample: Path, site: WebServer, serve: Callable[..., WebServer], enter: Enter
) -> None:
    shown = listening(enter(site, "/health"))
    site.process.terminate()
    began = time.monotonic()
    assert site.process.wait(20) is not None
    print(f"the server ended in {time.monotonic() - began:.2f} s with a stream open")
    assert site.process.stdout is not None
    assert "Cancel" not in site.process.stdout.read()
    expect(shown.locator("#notice")).to_contain_text("The server does not answer")
    expect(shown.locator("#connection")).to_have_text("not connected")
    serve(sample, site.port)
    expect(shown.locator("#notice")).to_contain_text("The server is back")
    expect(shown.locator("#connection")).to_have_text("connected")


def test_a_browser_without_shared_workers_hears_too(
    sample: Path, site: WebServer, enter: Enter, context: BrowserContext
) -> None:
    context.add_init_script("delete globalThis.SharedWorker")
    shown = listening(enter(site, "/health"))
    sage(sample, "search", "connect")
    expect(shown.locator("#events li").filter(has_text="search.post_search")).to_have_count(1)
