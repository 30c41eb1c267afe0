"""The graph, what breaks and the uncommitted changes, in a real browser."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from sage_code import Project

from .conftest import WebServer, press, start_server

HOSTILE = "<img src=x onerror=window.pwned=1>&\u202e.py"
FILES = {
    "shop/price.py": "RATE = 2\n\n\ndef net(value):\n    return RATE\n\n\ndef gross(value):\n    return net(value)\n",
    "shop/cart.py": "from shop.price import gross\n\n\ndef total(items):\n    return [gross(one) for one in items]\n",
    "shop/order.py": "from shop.cart import total\n\n\nclass Order:\n    def place(self):\n        return total([])\n",
    "shop/other.py": "def net(text):\n    return text\n",
    "tests/test_price.py": "from shop.price import net\n\n\ndef test_net():\n    assert net(1) == 2\n",
    f"shop/{HOSTILE}": "from shop.order import Order\n\n\ndef hostile():\n    return Order().place()\n",
}
GRAPH = "/p/shop-project/graph?name=gross"


@pytest.fixture
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.getbasetemp() / "graphs" / "shop-project"


@pytest.fixture
def shop(root: Path, running: list[WebServer], shared_home: Path, sage_home: Path) -> WebServer:
    """The page of a committed project with a memory."""
    if not running:
        for name, text in FILES.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        (root / ".gitignore").write_text(".sage/\n")
        project = Project.open(root)
        project.index()
        project.memory.add_todo("Net is twice the value", id_="net", refs=["shop/price.py:4"], scope="project")
        for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
            names = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
            subprocess.run(["git", *names, *words], cwd=root, check=True, capture_output=True)
        running.append(start_server(root))
    return running[0]


def _node(shown: Page, name: str) -> Any:
    return shown.locator("[data-drawing] .node").filter(has=shown.get_by_text(name, exact=True))


def test_a_graph_grows_by_a_click_and_back_undoes_it(
    shop: WebServer, enter: Callable[..., Page], look: Callable[..., Any]
) -> None:
    shown = enter(shop, GRAPH)
    expect(shown.get_by_role("heading", level=1)).to_have_text("gross")
    expect(shown.locator("[data-drawing] .node")).to_have_count(3)  # total, gross, net
    _node(shown, "total").get_by_role("link", name="Show the callers of total").click()
    expect(_node(shown, "Order.place")).to_be_visible()
    expect(shown).to_have_url(re.compile("open=c"))
    _node(shown, "Order.place").get_by_role("link", name="Show the callers of Order.place").click()
    expect(_node(shown, "hostile")).to_be_visible()
    look(shown, "graph-grown")
    assert shown.evaluate("window.pwned ?? null") is None
    assert shown.locator("main img").count() == 0
    shown.go_back()
    expect(_node(shown, "hostile")).to_have_count(0)
    expect(_node(shown, "Order.place")).to_be_visible()
    _node(shown, "total").get_by_role("link", name="Hide the callers of total").click()
    expect(_node(shown, "Order.place")).to_have_count(0)
    _node(shown, "total").locator("a").first.click()
    expect(shown).to_have_url(f"{shop.base}/p/shop-project/code/shop/cart.py#L4")


def test_a_graph_is_walked_with_the_keyboard(shop: WebServer, enter: Callable[..., Page]) -> None:
    shown = enter(shop, GRAPH)
    shown.locator("[data-drawing]").focus()
    press(shown, "ArrowLeft")  # to the centre, then to its caller
    press(shown, "ArrowLeft")
    expect(_node(shown, "total").locator("a").first).to_be_focused()
    press(shown, "e")
    expect(_node(shown, "Order.place")).to_be_visible()
    expect(_node(shown, "total").locator(".grow")).to_be_focused()
    press(shown, "ArrowLeft")
    press(shown, "o")
    expect(shown.get_by_role("heading", level=1)).to_have_text("Order.place")
    press(shown, "j")
    press(shown, "Enter")
    expect(shown).to_have_url(re.compile("/code/shop/.*#L4"))


def test_a_name_is_found_while_it_is_typed_and_several_are_told_apart(
    shop: WebServer, enter: Callable[..., Page]
) -> None:
    shown = enter(shop, "/p/shop-project/graph")
    expect(shown.locator("#central").get_by_text("gross")).to_be_visible()
    shown.get_by_label("Symbol").fill("ord")
    expect(shown.locator("#names").get_by_role("link")).to_have_text(["Order"])
    press(shown, "ArrowDown")
    expect(shown.locator("#names").get_by_role("link")).to_be_focused()
    shown.get_by_label("Symbol").fill("net")
    shown.get_by_label("Symbol").press("Enter")
    expect(shown.get_by_role("heading", level=1)).to_have_text("Which net?")
    press(shown, "j")
    press(shown, "j")
    press(shown, "Enter")
    expect(shown.locator(".graph-head")).to_contain_text("shop/price.py:4")
    shown.goto(f"{shop.base}/p/shop-project/graph?name=grosz")
    expect(shown.get_by_role("heading", level=1)).to_have_text("Nothing is called grosz")
    expect(shown.get_by_role("link", name="gross")).to_be_visible()


def test_on_a_phone_the_graph_is_a_list(shop: WebServer, enter: Callable[..., Page], look: Callable[..., Any]) -> None:
    shown = enter(shop, "/")
    shown.set_viewport_size({"width": 360, "height": 740})
    for path in (GRAPH, "/p/shop-project/impact?what=net", "/p/shop-project/changes", "/p/shop-project/graph"):
        shown.goto(shop.base + path)
        assert shown.evaluate("document.documentElement.scrollWidth") <= 360, path
    shown.goto(shop.base + GRAPH)
    look(shown, "graph-360")
    expect(shown.locator("[data-drawing]")).to_be_hidden()
    shown.get_by_role("region", name="Callers").get_by_label("Show the callers of total").click()
    expect(shown.get_by_role("region", name="Callers")).to_contain_text("Order.place")


def test_what_breaks_is_told_by_file_with_tests_apart(
    shop: WebServer, enter: Callable[..., Page], look: Callable[..., Any]
) -> None:
    shown = enter(shop, "/p/shop-project/impact")
    shown.get_by_label("A file, a symbol, or FILE:LINE").fill("shop/price.py:4")
    press(shown, "Enter")
    expect(shown.get_by_role("region", name="Code")).to_contain_text("shop/cart.py")
    tests = shown.get_by_role("region", name="Tests that are touched")
    expect(tests).to_contain_text("calls net")
    look(shown, "impact")
    tests.get_by_role("link", name="test_net:5").click()
    expect(shown).to_have_url(re.compile(r"/code/tests/test_price\.py#L5$"))
    shown.goto(f"{shop.base}/p/shop-project/impact?what=%3Cscript%3Ewindow.pwned%3D1%3C/script%3E")
    expect(shown.locator("main")).to_contain_text("<script>window.pwned=1</script>")
    assert shown.evaluate("window.pwned ?? null") is None


def test_after_an_edit_the_changes_and_what_they_break_are_shown(
    shop: WebServer, root: Path, enter: Callable[..., Page], look: Callable[..., Any]
) -> None:
    shown = enter(shop, "/p/shop-project/changes")
    expect(shown.get_by_role("heading", level=2)).to_have_text("Nothing has changed")
    price = root / "shop/price.py"
    try:
        price.write_text(FILES["shop/price.py"].replace("net(value):\n", "net(value, rate):  # </code><b id=bold>\n"))
        (root / "shop" / f"new {HOSTILE}").write_text("def fresh():\n    pass\n")
        shown.reload()
        expect(shown.locator("article.changed")).to_have_count(2)
        expect(shown.locator("article.changed").filter(has_text="shop/price.py")).to_contain_text("signature changed")
        expect(shown.locator(".diff .plus").filter(has_text="</code><b id=bold>")).to_be_visible()
        expect(shown.locator("main")).to_contain_text("new <img src=x onerror=window.pwned=1>&\\u202e.py")
        expect(shown.locator(".breaks")).to_contain_text("tests/test_price.py")
        expect(shown.get_by_role("region", name="Memories that no longer hold")).to_contain_text("Net is twice")
        look(shown, "changes")
        assert shown.evaluate("window.pwned ?? document.getElementById('bold')") is None
    finally:
        price.write_text(FILES["shop/price.py"])
        (root / "shop" / f"new {HOSTILE}").unlink()


def test_a_project_without_git_says_so(site: WebServer, enter: Callable[..., Page]) -> None:
    shown = enter(site, "/p/sample/changes")
    expect(shown.get_by_role("heading", level=2)).to_have_text("No git here")
