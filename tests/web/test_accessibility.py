"""Every page can be used without a mouse and by a screen reader: axe-core finds nothing serious, and nothing is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from .conftest import WebServer, home_of_module, press, start_server, stop_server
from .made_project import PATHS, make_project

pytestmark = pytest.mark.slow
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
# A width below which a phone is not sold, and one of a large screen.
WIDTHS = (360, 2560)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("made") / "shop"


@pytest.fixture(scope="module")
def running(made: Path, shared_home: Path) -> Iterator[WebServer]:
    """The page of a project with something to see on every page."""
    with home_of_module(shared_home):
        make_project(made)
        server = start_server(made)
    yield server
    stop_server(server)


@pytest.fixture
def shop(running: WebServer, shared_home: Path) -> WebServer:
    """The same for one test, under the home that it was made in."""
    return running


@pytest.mark.parametrize("path", PATHS)
def test_a_page_is_for_everybody(shop: WebServer, enter: Callable[..., Page], path: str) -> None:
    shown = enter(shop, path)
    shown.wait_for_load_state("load")
    expect(shown.locator(".htmx-request")).to_have_count(0)
    expect(shown.get_by_role("main")).to_have_count(1)
    expect(shown.get_by_role("banner")).to_have_count(1)
    expect(shown.get_by_role("heading", level=1)).to_have_count(1)
    expect(shown.locator("a.skip")).to_have_attribute("href", "#content")
    shown.evaluate(AXE.read_text())
    for theme in ("light", "dark"):
        shown.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
        found = shown.evaluate("axe.run(document, {resultTypes: ['violations']})")
        assert [
            (theme, one["id"], node["html"][:200], node["failureSummary"])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"][:3]
        ] == []
    for width in WIDTHS:
        shown.set_viewport_size({"width": width, "height": 900})
        beyond = shown.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert beyond <= 1, f"at {width} pixels"


def test_the_theme_is_kept_and_the_help_is_a_key_away(shop: WebServer, enter: Callable[..., Page]) -> None:
    shown = enter(shop, "/health")
    before = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    press(shown, "t")
    shown.reload()
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") != before
    press(shown, "?")
    expect(shown.get_by_role("dialog")).to_be_visible()
    press(shown, "Escape")
    expect(shown.get_by_role("dialog")).to_be_hidden()
    press(shown, "/")
    expect(shown.get_by_role("searchbox")).to_be_focused()
