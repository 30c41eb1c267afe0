"""Every page can be used without a mouse and by a screen reader: axe-core finds nothing serious, and nothing is cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from .conftest import WebServer, start_server, stop_server
from .made_project import PATHS, make_project

pytestmark = pytest.mark.slow
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
# A width below which a phone is not sold, and one of a large screen.
WIDTHS = (360, 2560)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("made") / "shop"


@pytest.fixture
def shop(made: Path, shared_home: Path, sage_home: Path) -> Iterator[WebServer]:
    """The page of a project with something to see on every page."""
    if not made.exists():
        make_project(made)
    server = start_server(made)
    yield server
    stop_server(server)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(shop: WebServer, enter: Callable[..., Page], theme: str) -> None:
    shown = enter(shop)
    shown.context.add_cookies([{"name": "sage_theme", "value": theme, "url": shop.base}])
    problems = []
    for path in PATHS:
        shown.goto(shop.base + path)
        shown.wait_for_load_state("networkidle") if path != "/health" else shown.wait_for_load_state("load")
        shown.evaluate(AXE.read_text())
        found = shown.evaluate("axe.run(document, {resultTypes: ['violations']})")
        problems += [
            (path, one["id"], node["html"][:160])
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"][:3]
        ]
    assert problems == []


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_is_cut_at_any_width(shop: WebServer, enter: Callable[..., Page], width: int) -> None:
    shown = enter(shop)
    shown.set_viewport_size({"width": width, "height": 900})
    wide = []
    for path in PATHS:
        shown.goto(shop.base + path)
        beyond = shown.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        if beyond > 1:
            wide.append((path, beyond))
    assert wide == []


def test_a_page_has_landmarks_a_heading_and_a_way_past_the_header(shop: WebServer, enter: Callable[..., Page]) -> None:
    shown = enter(shop)
    for path in PATHS:
        shown.goto(shop.base + path)
        expect(shown.get_by_role("main")).to_have_count(1)
        expect(shown.get_by_role("banner")).to_have_count(1)
        expect(shown.get_by_role("heading", level=1)).to_have_count(1)
        shown.keyboard.press("Tab")
        expect(shown.get_by_role("link", name="Skip to the content")).to_be_focused()


def test_the_theme_is_kept_and_the_help_is_a_key_away(shop: WebServer, enter: Callable[..., Page]) -> None:
    shown = enter(shop, "/health")
    before = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    shown.keyboard.press("t")
    shown.reload()
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") != before
    shown.keyboard.press("?")
    expect(shown.get_by_role("dialog")).to_be_visible()
    shown.keyboard.press("Escape")
    expect(shown.get_by_role("dialog")).to_be_hidden()
    shown.keyboard.press("/")
    expect(shown.get_by_role("searchbox")).to_be_focused()
