"""Makes the pictures of the documents: every page of a small shop, as a person sees it.

    SCREENSHOTS=docs/images pytest tests/web/test_screenshots.py

Without the variable the pages are only opened and looked at for what must be on them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from .conftest import WebServer
from .made_project import SYMBOL, make_project

pytestmark = pytest.mark.slow
# The name of the picture, the address, what must be there, and the theme.
PICTURES = (
    ("search", "/?q=how+are+payments+retried", "charge", "light"),
    ("search-dark", "/?q=discount&in=shop", "discounted", "dark"),
    ("code", "/p/shop/code/shop/payment.py#L17-L29", "charge", "light"),
    ("folder", "/p/shop/code/", "payment.py", "light"),
    ("graph", f"/p/shop/graph?name={SYMBOL}", "place_order", "light"),
    ("changes", "/p/shop/changes", "prices.py", "light"),
    ("map", "/p/shop/map", "payment.py", "dark"),
    ("memory", "/p/shop/memory", "idempotency", "light"),
    ("stale", "/p/shop/stale", "rounded down", "light"),
    ("blocks", "/agents/blocks", "Ann runs the shop", "light"),
    ("health", "/p/shop/health", "Python", "light"),
)


@pytest.fixture
def shop(tmp_path: Path, serve: Callable[[Path], WebServer]) -> WebServer:
    make_project(tmp_path / "shop")
    return serve(tmp_path / "shop")


def test_every_page_shows_what_it_is_for(shop: WebServer, enter: Callable[..., Page]) -> None:
    shown = enter(shop)
    for name, path, text, theme in PICTURES:
        shown.context.add_cookies([{"name": "sage_theme", "value": theme, "url": shop.base}])
        shown.goto(shop.base + path)
        expect(shown.locator("main")).to_contain_text(text)
        if folder := os.environ.get("SCREENSHOTS"):
            shown.wait_for_load_state("load")
            shown.screenshot(path=Path(folder) / f"{name}.png", caret="initial")
