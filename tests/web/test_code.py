"""The code page in a real browser: tree, links, uses, permalinks, memories in the margin, long and hostile files."""

from __future__ import annotations

import http.client
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from sage_code import Project
from sage_code.memory.files.knowledge import KnowledgeItem

from .conftest import WebServer, home_of_module, press, start_server, stop_server

PRICES = '''"""Prices: amounts and taxes."""

TAX = 0.19


class Money:
    """An amount in cents."""

    def plus(self, other):
        """The sum of two amounts."""
        return self.cents + other.cents


def with_tax(price):
    """A net price with its tax."""
    return round(price * (1 + TAX))
'''
CART = '''"""The cart: what a customer wants to buy."""

from shop.prices import Money, with_tax


def total(prices):
    """All prices with tax."""
    return sum(with_tax(price) for price in prices)


def empty():
    return Money()
'''
FILES = {
    "README.md": "# Shop\n\nSells <b>things</b>.\n",
    "shop/__init__.py": "",
    "shop/prices.py": PRICES,
    "shop/cart.py": CART,
    "shop/deep/er/last.py": "def last():\n    return 1\n",
}


def fill(root: Path, files: dict[str, str] = FILES) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project that all tests of this module share."""
    return fill(tmp_path_factory.mktemp("projects") / "shop")


@pytest.fixture(scope="module")
def shop_site(shared_home: Path, shop: Path) -> Iterator[WebServer]:
    """A server for the tests that change nothing."""
    steps = "    value += 1  # goes on\n" * 20
    big = "".join(f"def step_{n}(value):\n    # the step {n}\n{steps}    return value\n\n\n" for n in range(400))
    fill(shop, {"big.py": big, "changing.py": "x = 1\n"})
    with home_of_module(shared_home):
        Project.open(shop).index()
        server = start_server(shop)
    yield server
    stop_server(server)


def test_from_the_tree_over_a_link_and_back(
    shop_site: WebServer, enter: Callable[..., Page], look: Callable[..., None]
) -> None:
    shown = enter(shop_site, "/p/shop/code/")
    expect(shown.get_by_role("heading", level=1)).to_have_text("shop")
    expect(shown.get_by_label("First lines of the README")).to_contain_text("Sells <b>things</b>.")
    expect(shown.locator(".most-used")).to_contain_text("def with_tax(price)")
    shown.get_by_role("link", name="README.md").first.click()
    tree = shown.get_by_role("navigation", name="Files")
    for folder in ("shop", "deep", "er"):
        tree.locator("summary", has_text=re.compile(rf"^{folder}\d")).click()
    expect(tree.get_by_role("link", name="last.py")).to_be_visible()
    tree.get_by_role("link", name="cart.py").click()
    expect(tree.get_by_role("link", name="cart.py")).to_have_attribute("aria-current", "page")
    use = shown.locator("#L8 a.u", has_text="with_tax")
    expect(use).to_have_attribute("title", "function with_tax in shop/prices.py:14, 95% certain by its import")
    look(shown, "code_cart")
    use.click()
    expect(shown).to_have_url(f"{shop_site.base}/p/shop/code/shop/prices.py#L14")
    expect(shown.locator(".l.marked")).to_have_count(1)
    expect(shown.locator("#L14")).to_have_class("l marked")
    expect(shown.locator("#L14 .k-keyword")).to_have_text("def")
    expect(shown.get_by_role("navigation", name="Breadcrumbs")).to_have_text(
        "shop / shop / prices.py", use_inner_text=True
    )
    expect(shown.get_by_role("navigation", name="Trail").get_by_role("link")).to_have_text(["cart.py", "README.md"])
    shown.get_by_role("button", name="← Back").click()
    expect(shown).to_have_url(f"{shop_site.base}/p/shop/code/shop/cart.py")


def test_a_definition_leads_to_its_uses(
    shop_site: WebServer, enter: Callable[..., Page], look: Callable[..., None]
) -> None:
    shown = enter(shop_site, "/p/shop/code/shop/prices.py")
    shown.locator("#L14 a.d").click()
    panel = shown.get_by_role("region", name="Uses")
    expect(panel.get_by_role("link").filter(has_text="sum(with_tax(price)")).to_have_attribute(
        "href", "/p/shop/code/shop/cart.py#L8"
    )
    expect(panel).to_contain_text("call in total · 95 %")
    expect(panel.get_by_role("link", name="Graph")).to_have_attribute(
        "href", "/p/shop/graph?name=with_tax&file=shop%2Fprices.py"
    )
    look(shown, "code_uses")
    press(shown, "Escape")
    expect(panel).to_be_hidden()
    shown.locator("#L14 a.d").click()
    panel.get_by_role("link").filter(has_text="sum(with_tax(price)").click()
    expect(shown.locator("#L8.marked")).to_be_in_viewport()


def test_permalinks_name_lines_and_ranges(
    shop_site: WebServer, enter: Callable[..., Page], context: BrowserContext
) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown = enter(shop_site, "/p/shop/code/big.py#L5001-L5003")
    expect(shown.locator("#L5001")).to_be_in_viewport()
    expect(shown.locator(".l.marked")).to_have_count(3)
    expect(shown.get_by_role("link", name="Open in VS Code")).to_have_attribute(
        "href", re.compile(r"^vscode://file/.*/big\.py:1$")
    )
    shown.locator("#L5006 .n").click()
    expect(shown).to_have_url(f"{shop_site.base}/p/shop/code/big.py#L5006")
    shown.locator("#L5004 .n").click(modifiers=["Shift"])
    expect(shown).to_have_url(f"{shop_site.base}/p/shop/code/big.py#L5004-L5006")
    expect(shown.locator(".l.marked")).to_have_count(3)
    press(shown, "y")
    expect(shown.get_by_text("Copied http")).to_be_visible()
    assert shown.evaluate("navigator.clipboard.readText()") == f"{shop_site.base}/p/shop/code/big.py#L5004-L5006"
    shown.go_back()
    expect(shown.locator(".l.marked")).to_have_count(3)
    expect(shown.locator("#L5001")).to_have_class("l marked")


def test_a_long_file_is_whole_and_its_deep_lines_are_linked(shop_site: WebServer, enter: Callable[..., Page]) -> None:
    shown = enter(shop_site, "/p/shop/code/big.py#L9001")
    expect(shown.locator("#L9001")).to_be_in_viewport()
    top = "document.getElementById('L9001').getBoundingClientRect().top"
    before = shown.evaluate(top)
    expect(shown.locator("#L9001 a.d")).to_have_text("step_360")
    expect(shown.locator("#L9002 .k-comment")).to_have_text("# the step 360")
    assert shown.evaluate(top) == before, "nothing moves when colours and links come"
    text = str(shown.locator("#code").text_content())
    assert [text.count(f"# the step {n}\n") for n in (100, 399)] == [1, 1], (
        "the browser finds text that is not in sight"
    )
    expect(shown.locator("#L9001")).to_have_class("l marked")
    expect(shown.locator("#outline [aria-current]")).to_have_text("fstep_360 function")


def test_everything_with_the_keyboard(shop_site: WebServer, enter: Callable[..., Page]) -> None:
    shown = enter(shop_site, "/p/shop/code/shop/prices.py")
    expect(shown.locator("#outline a").first).to_be_visible()
    for _ in range(3):
        press(shown, "j")
    expect(shown.locator("#outline a:focus")).to_contain_text("plus")
    press(shown, "Enter")
    expect(shown.locator("#L9.marked")).to_be_visible()
    expect(shown.locator("#L14 a.d")).to_be_visible()
    press(shown, "g")
    shown.keyboard.type("14-16")
    press(shown, "Enter")
    expect(shown.locator(".l.marked")).to_have_count(3)
    press(shown, "u")
    expect(shown.get_by_role("region", name="Uses")).to_contain_text("Uses of with_tax")
    press(shown, "Escape")
    press(shown, "m")
    expect(shown.get_by_label("Lines or symbols")).to_have_value("shop/prices.py:14-16")
    expect(shown.get_by_label("What is true about it")).to_be_focused()
    press(shown, "Escape")
    press(shown, "Escape")
    expect(shown.get_by_role("dialog")).to_have_count(0)
    press(shown, "o")
    expect(shown.locator("#side a:focus")).to_have_text("prices.py")


def test_narrow_screens_show_the_code_first(
    shop_site: WebServer, enter: Callable[..., Page], look: Callable[..., None]
) -> None:
    shown = enter(shop_site, "/p/shop/code/shop/cart.py")
    shown.set_viewport_size({"width": 360, "height": 740})
    expect(shown.locator("#L8 a.u").first).to_be_visible()
    expect(shown.get_by_role("navigation", name="Files")).to_be_hidden()
    assert shown.evaluate("document.documentElement.scrollWidth <= 360")
    look(shown, "code_narrow")
    shown.get_by_role("button", name="Files and outline").click()
    shown.get_by_role("navigation", name="Files").get_by_role("link", name="prices.py").click()
    expect(shown.get_by_role("heading", level=1)).to_have_text("prices.py")


@pytest.fixture
def remembered(tmp_path: Path, serve: Callable[[Path], WebServer]) -> tuple[WebServer, Path]:
    """A project with memories about code that has changed since, in every way."""
    root = fill(
        tmp_path / "shop",
        {**FILES, ".sage/.keep": "", "shop/old.py": "def old():\n    raise ValueError('nobody needs it')\n"},
    )
    project = Project.open(root)
    project.index()
    for id_, text, ref in (
        ("money-adds", "Money adds cents, never floats.", "Money.plus"),
        ("tax-rounds", "Taxes are rounded to cents.", "with_tax"),
        ("cart-sums", "The total has the tax of each price.", "total"),
    ):
        project.memory.save_knowledge(KnowledgeItem(id_, text), refs=[ref])
    project.memory.save_knowledge(KnowledgeItem("no-more", "old() raises for everybody."), refs=["old"])
    text = PRICES.replace("class Money", "\n# Amounts are whole numbers.\n\n\nclass Money")
    (root / "shop/prices.py").write_text(text.replace("(1 + TAX))", "(1 + TAX), 2)"))
    (root / "shop/old.py").write_text("x = 1\n")
    return serve(root), root


def test_memories_stand_beside_their_lines(
    remembered: tuple[WebServer, Path], enter: Callable[..., Page], look: Callable[..., None]
) -> None:
    site, root = remembered
    shown = enter(site, "/p/shop/code/shop/prices.py")
    margin = shown.get_by_role("complementary", name="Memories about this file")
    moved, changed = margin.locator("[data-state=moved]"), margin.locator("[data-state=changed]", has_text="Taxes")
    expect(moved).to_contain_text("Money adds cents, never floats.")
    expect(moved.get_by_role("link", name="lines 13–15")).to_be_visible()
    expect(shown.locator("#L13")).to_have_class("l m-moved")
    expect(changed.get_by_role("link", name="lines 18–20")).to_be_visible()
    # In one step, since lines are replaced when their names are linked: beside its lines, or below the note above.
    shown.wait_for_function(
        """() => {
            const notes = [...document.querySelectorAll("[data-state=changed]")];
            const note = notes.find((one) => one.textContent.includes("Taxes"));
            const [one, other] = [note, document.getElementById("L18")].map((it) => it.getBoundingClientRect().top);
            return Math.abs(one - other) < 200;
        }"""
    )
    changed.get_by_text("What has changed").click()
    expect(changed.locator(".removed")).to_have_text("-    return round(price * (1 + TAX))")
    expect(changed.locator(".added")).to_have_text("+    return round(price * (1 + TAX), 2)")
    look(shown, "code_margin")
    changed.get_by_role("button", name="Still true").click()
    expect(margin.locator("[data-state=holds]")).to_contain_text("Taxes are rounded to cents.")
    expect(shown.locator("#L18")).to_have_class("l m-holds")
    shown.goto(f"{site.base}/p/shop/code/shop/old.py")
    gone = margin.locator("[data-state=gone]")
    expect(gone).to_contain_text("was shop/old.py:1-2")
    look(shown, "code_gone")
    assert [one.state for one in Project.open(root).views.margin("shop/prices.py")].count("holds") == 1


def test_a_memory_is_added_and_edited_in_place(
    remembered: tuple[WebServer, Path], enter: Callable[..., Page], look: Callable[..., None]
) -> None:
    site, root = remembered
    shown = enter(site, "/p/shop/code/shop/cart.py#L11-L12")
    margin = shown.get_by_role("complementary", name="Memories about this file")
    expect(margin).to_contain_text("The total has the tax of each price.")
    shown.get_by_role("button", name="Remember …").click()
    shown.get_by_label("What is true about it").fill("An empty cart is <b>Money</b>, not a list.")
    look(shown, "code_remember")
    shown.get_by_role("button", name="Remember", exact=True).click()
    note = margin.locator(".note", has_text="An empty cart")
    expect(note).to_contain_text("An empty cart is <b>Money</b>, not a list.")
    expect(note.locator(".tag")).to_have_text("holds")
    expect(shown.locator("#L12")).to_have_class("l marked m-holds")
    note.get_by_role("link", name="Edit").click()
    box = shown.get_by_role("dialog", name="Edit a memory")
    box.locator("textarea").first.fill("An empty cart is Money.")
    look(shown, "code_edit")
    box.get_by_role("button", name="Save").click()
    expect(margin.locator(".note", has_text="An empty cart is Money.")).to_be_visible()
    saved = [one for one in Project.open(root).views.margin("shop/cart.py") if one.title == "An empty cart is Money."]
    assert [(one.first, one.last, one.state) for one in saved] == [(11, 12, "holds")]


HOSTILE_NAMES = (
    "<img src=x onerror=alert(1)>.py",
    "a'\"b&amp;.py",
    "\u202eyp.exe.py",
    "#L1?x=%2e%2e.py",
    "tab\tname.py",
)
HOSTILE_CODE = (
    "# </div><script>window.pwned = 1</script> <img src=x onerror='window.pwned = 1'>\n"
    "def pwn(x='\"><svg onload=window.pwned=1>'):  # \u202e\u2066 \x1b[31m \x00 \u200b\n"
    "    return pwn('</script>') + ' &lt;b&gt; javascript:alert(1)'\n"
)


def test_hostile_names_and_code_are_text(
    tmp_path: Path, serve: Callable[[Path], WebServer], enter: Callable[..., Page], look: Callable[..., None]
) -> None:
    root = fill(tmp_path / "evil", {f"x/{name}": HOSTILE_CODE.replace("\x00", "") for name in HOSTILE_NAMES})
    Project.open(root).index()
    site = serve(root)
    shown = enter(site)
    for name in HOSTILE_NAMES:
        shown.goto(f"{site.base}/p/evil/code/x/")
        shown.locator(".entries a").nth(sorted(HOSTILE_NAMES, key=str.casefold).index(name)).click()
        expect(shown.locator("#L3 a.u")).to_have_text("pwn")
        expect(shown.locator("#L1")).to_contain_text("</div><script>window.pwned = 1</script>")
        expect(shown.locator("#L2 .k-unseen").first).to_have_text("\\u202e")
        assert shown.evaluate("window.pwned ?? document.querySelectorAll('main script, main img').length") == 0
        shown.locator("#L2 a.d").click()
        expect(shown.get_by_role("region", name="Uses")).to_contain_text("return pwn('</script>')")
    look(shown, "code_hostile")


def status_of(site: WebServer, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", site.port, timeout=30)
    connection.putrequest("GET", path, skip_accept_encoding=True)
    connection.putheader("Authorization", f"Bearer {site.token}")
    connection.endheaders()
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def test_nothing_outside_of_the_project_is_read(tmp_path: Path, serve: Callable[[Path], WebServer]) -> None:
    (tmp_path / "outside.py").write_text("secret = 1\n")
    root = fill(tmp_path / "shop", {**FILES, ".gitignore": "ignored.py\n", "ignored.py": "x = 1\n"})
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    os.symlink(tmp_path / "outside.py", root / "link.py")
    os.symlink(tmp_path, root / "folder")
    Project.open(root).index()
    site = serve(root)
    hidden = (
        "../outside.py", "..%2foutside.py", "%2e%2e/outside.py", "shop/..%2f..%2foutside.py", "link.py",
        "folder/outside.py", ".git/config", "ignored.py", quote(str(tmp_path / "outside.py")), "%2fetc/passwd",
        "a%00.py", "%ff.py", ".sage/index_meta.json",
    )  # fmt: skip
    for path in hidden:
        for kind in ("code", "lines", "outline", "margin", "tree"):
            assert status_of(site, f"/p/shop/{kind}/{path}") in (400, 404), (kind, path)
    assert status_of(site, "/p/shop/code/shop/cart.py") == 200
    assert status_of(site, "/p/shop/fresh?file=..%2foutside.py&was=x") == 200
    assert status_of(site, "/p/shop/uses?name=nothing&file=..%2foutside.py") == 200


def test_the_page_says_that_its_file_has_changed(shop_site: WebServer, shop: Path, enter: Callable[..., Page]) -> None:
    shown = enter(shop_site, "/p/shop/code/changing.py")
    expect(shown.locator("#L1 a.d")).to_be_visible()
    (shop / "changing.py").write_text("# new\nx = 1\n")
    shown.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(shown.locator("#notice")).to_contain_text("This file has changed on the disk")
    shown.get_by_role("button", name="Reload").click()
    expect(shown.locator("#L1")).to_contain_text("# new")
