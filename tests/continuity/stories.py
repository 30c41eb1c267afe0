"""Short sessions that look like real ones: what was asked, found out, decided and changed in a small shop."""

from __future__ import annotations

from pathlib import Path

from playing import Machine, Played
from records import edit, read, shell

FILES = {
    "shop/cart.py": "RATE = 0.19\n\n\ndef total(items):\n    return sum(item.price for item in items)\n",
    "shop/stock.py": "def reserve(item, count):\n    item.left -= count\n    return item.left\n",
    "shop/mail.py": "def send(address, text):\n    print(address, text)\n",
    "tests/test_cart.py": "def test_total():\n    assert True\n",
}
CART_ASKED = "The totals in the cart are wrong for cancelled items. Please never round inside of total()."
CART_DECIDED = "I decided to filter cancelled items in `total` instead of in the caller as the report needs it too."
STOCK_ASKED = "Reserving twice makes the stock negative. Make sure that reserve() refuses it."
STOCK_DECIDED = "We will raise OutOfStock in `reserve` rather than return a flag because callers ignore flags."
MAIL_ASKED = "Customers get the confirmation twice. Find out why, do not touch the templates."
MAIL_FOUND = "The root cause is that the queue retries after a timeout, so send() runs twice."


def shop(machine: Machine, name: str = "shop-app") -> Path:
    """The project of these sessions."""
    return machine.project(name, FILES)


def cart(session: Played, more: str = "") -> None:
    """Work on the cart: one file read and changed, one test that fails at first."""
    root = session.cwd
    change = edit(root, "shop/cart.py", "for item in items", "for item in items if not item.cancelled")
    tried = shell("pytest -q tests/test_cart.py", "AttributeError: 'Item' object has no attribute 'cancelled'", code=1)
    answer = f"{CART_DECIDED} {more}".strip()
    session.turn(CART_ASKED, answer, [read(root, "shop/cart.py"), change, tried])
    edit(root, "shop/cart.py", " if not item.cancelled", "")  # so that the story can be told again


def stock(session: Played) -> None:
    """Work on the stock."""
    root = session.cwd
    change = edit(root, "shop/stock.py", "item.left -= count", "item.left = item.left - count")
    session.turn(STOCK_ASKED, STOCK_DECIDED, [read(root, "shop/stock.py"), change])
    edit(root, "shop/stock.py", "item.left = item.left - count", "item.left -= count")


def mail(session: Played) -> None:
    """A search for a cause that changes nothing."""
    session.turn(MAIL_ASKED, MAIL_FOUND, [read(session.cwd, "shop/mail.py"), shell("git log --oneline -3", "abc fix")])
