"""Every use is linked to its definition, a definition to its uses, and nothing to wrong lines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sage_code import Project
from sage_code.views.code.coloured import Link
from sage_code.views.code.linked import LinkedLines

Write = Callable[[Path, dict[str, str | bytes]], Path]
FILES: dict[str, str | bytes] = {
    "shop/__init__.py": "",
    "shop/cart.py": '''"""Carts."""

TAX = 0.2


class Cart:
    """What somebody wants to buy."""

    owner = ""

    def total(self, prices):
        return sum(prices) * (1 + TAX)

    def show(self):
        return self.total([1]), self.owner


def checkout(cart: Cart, total=None):
    again = checkout
    return cart.total([2]), total, again
''',
    "shop/main.py": """from shop.cart import (
    Cart,
    checkout as pay,
)
from shop import cart


def main():
    handlers = {"pay": pay}
    TAX = 3
    mine = Cart()
    mine.total([TAX])
    return handlers, cart.TAX, pay(mine)
""",
}


@pytest.fixture
def shop(tmp_path: Path, write: Write) -> Project:
    project = Project.open(write(tmp_path / "shop-project", FILES))
    project.index()
    return project


def links(found: LinkedLines, line: int) -> dict[str, Link]:
    """The links of a line by their text."""
    return {leaf.text: leaf.link for leaf in found.shown.lines[line - 1] if leaf.link is not None}


def where(link: Link) -> tuple[str, int, str]:
    return link.file, link.line, link.qualname


def test_uses_lead_to_definitions(shop: Project) -> None:
    found = shop.views.linked("shop/main.py")
    assert found.is_current
    assert found.is_complete
    assert where(links(found, 2)["Cart"]) == ("shop/cart.py", 6, "Cart"), "a name in an import of several lines"
    assert where(links(found, 1)["cart"]) == ("shop/cart.py", 1, "shop.cart"), "a module"
    assert where(links(found, 3)["checkout"]) == ("shop/cart.py", 18, "checkout")
    assert where(links(found, 9)["pay"]) == ("shop/cart.py", 18, "checkout"), "a function that is handed on"
    assert where(links(found, 11)["Cart"]) == ("shop/cart.py", 6, "Cart")
    assert where(links(found, 12)["total"]) == ("shop/cart.py", 11, "Cart.total")
    assert where(links(found, 13)["TAX"]) == ("shop/cart.py", 3, "TAX"), "an attribute of a module"
    assert 0.8 <= links(found, 11)["Cart"].confidence <= 1
    assert links(found, 11)["Cart"].why


def test_variables_lead_nowhere(shop: Project) -> None:
    main, cart = shop.views.linked("shop/main.py"), shop.views.linked("shop/cart.py")
    assert "TAX" not in links(main, 12), "a variable of the function has the name of a constant"
    assert "mine" not in links(main, 12)
    assert "total" not in {text for text, link in links(cart, 18).items() if not link.is_definition}, "a parameter"
    assert where(links(cart, 12)["TAX"]) == ("shop/cart.py", 3, "TAX")
    assert where(links(cart, 15)["owner"]) == ("shop/cart.py", 9, "Cart.owner")


def test_definitions_lead_to_their_uses(shop: Project) -> None:
    found = links(shop.views.linked("shop/cart.py"), 11)["total"]
    assert found.is_definition
    assert where(found) == ("shop/cart.py", 11, "Cart.total")
    assert found.uses == 3


def test_a_part_has_the_links_of_the_whole(shop: Project) -> None:
    whole = shop.views.linked("shop/main.py").shown.lines
    assert shop.views.linked("shop/main.py", 9, 12).shown.lines == whole[8:12]


def test_a_changed_file_has_no_links_and_no_link_leads_into_one(shop: Project) -> None:
    main = Path(shop.root, "shop/main.py")
    main.write_text("# a new first line\n" + main.read_text())
    found = shop.views.linked("shop/main.py", is_stale=True)
    assert not found.is_current
    assert not any(leaf.link for line in found.shown.lines for leaf in line)
    shop.refresh()
    assert where(links(shop.views.linked("shop/main.py"), 12)["Cart"]) == ("shop/cart.py", 6, "Cart")
    cart = Path(shop.root, "shop/cart.py")
    cart.write_text("# a new first line\n" + cart.read_text())
    assert "Cart" not in links(shop.views.linked("shop/main.py", is_stale=True), 12)


def test_a_file_without_a_tree_has_the_stored_links(tmp_path: Path, write: Write) -> None:
    files: dict[str, str | bytes] = {
        "a.pl": "sub greet { return 1; }\n\nsub main {\n    greet();\n}\n",
        "b.vue": "<template><p/></template>\n<script>\nexport function helper() { return 1 }\nhelper()\n</script>\n",
    }
    project = Project.open(write(tmp_path / "p", files))
    project.index()
    assert where(links(project.views.linked("a.pl"), 4)["greet"]) == ("a.pl", 1, "greet")
    assert where(links(project.views.linked("b.vue"), 4)["helper"]) == ("b.vue", 3, "helper")
