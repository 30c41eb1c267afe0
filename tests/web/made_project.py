"""A small shop with a history, memories in every state and an agent's memory: something to see on every page."""

from __future__ import annotations

import subprocess
from pathlib import Path

from sage_code import MemoryManager, Project
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_code.memory.tiers.values import NewMessage

_FILES = {
    "README.md": "# Shop\n\nA small shop: carts, prices, payments and orders.\n\nStart it with `python -m shop.api`.\n",
    "shop/__init__.py": '"""A small shop."""\n',
    "shop/prices.py": '''"""Prices: amounts in cents, discounts and taxes."""

from dataclasses import dataclass

# The tax of the country that we sell in.
TAX_RATE = 0.19


@dataclass(frozen=True)
class Money:
    """An amount in cents."""

    cents: int
    currency: str = "EUR"

    def plus(self, other: "Money") -> "Money":
        """The sum of two amounts of one currency."""
        if self.currency != other.currency:
            raise ValueError(f"cannot add {other.currency} to {self.currency}")
        return Money(self.cents + other.cents, self.currency)


def with_tax(price: Money) -> Money:
    """A net price with its tax, rounded to cents."""
    return Money(round(price.cents * (1 + TAX_RATE)), price.currency)


def discounted(price: Money, percent: int) -> Money:
    """A price after a discount; never below zero."""
    return Money(max(0, price.cents * (100 - percent) // 100), price.currency)
''',
    "shop/cart.py": '''"""The cart: what a customer wants to buy."""

from shop.prices import Money, discounted, with_tax

FREE_SHIPPING_FROM = Money(5_000)


class Cart:
    """The items of one customer."""

    def __init__(self) -> None:
        self.items: list[tuple[str, Money, int]] = []

    def add(self, name: str, price: Money, count: int = 1) -> None:
        """Put an item into the cart."""
        if count < 1:
            raise ValueError("a count is at least 1")
        self.items.append((name, price, count))

    def total(self, percent: int = 0) -> Money:
        """The sum of all items, after a discount and with tax."""
        total = Money(0)
        for _, price, count in self.items:
            total = total.plus(Money(price.cents * count))
        return with_tax(discounted(total, percent))

    def ships_free(self) -> bool:
        """Whether the order is large enough."""
        return self.total().cents >= FREE_SHIPPING_FROM.cents
''',
    "shop/payment.py": '''"""Payments: a provider is asked, with retries when it does not answer."""

import time

from shop.prices import Money

RETRIES = 3
FIRST_WAIT_S = 0.2


class PaymentFailed(Exception):
    """The provider has said no, or nothing."""


def charge(provider, card: str, amount: Money) -> str:
    """Charge a card; the wait doubles after each failure."""
    wait = FIRST_WAIT_S
    for attempt in range(RETRIES):
        try:
            return provider.charge(card, amount.cents, amount.currency)
        except TimeoutError:
            if attempt == RETRIES - 1:
                raise PaymentFailed("no answer") from None
            time.sleep(wait)
            wait *= 2
    raise PaymentFailed("never asked")


def refund(provider, receipt: str) -> None:
    """Give the money back."""
    provider.refund(receipt)
''',
    "shop/orders.py": '''"""Orders: a cart that was paid for."""

from shop.cart import Cart
from shop.payment import PaymentFailed, charge


def place_order(cart: Cart, provider, card: str) -> dict[str, object]:
    """Charge the customer and remember the order."""
    if not cart.items:
        raise ValueError("an empty cart cannot be ordered")
    try:
        receipt = charge(provider, card, cart.total())
    except PaymentFailed as failure:
        return {"state": "failed", "why": str(failure)}
    return {"state": "paid", "receipt": receipt, "free_shipping": cart.ships_free()}
''',
    "shop/api.py": '''"""The HTTP interface of the shop."""

from shop.cart import Cart
from shop.orders import place_order
from shop.prices import Money


def post_order(request: dict, provider) -> dict[str, object]:
    """POST /orders: make a cart of the lines and order it."""
    cart = Cart()
    for line in request["lines"]:
        cart.add(line["name"], Money(line["cents"]), line["count"])
    return place_order(cart, provider, request["card"])
''',
    "web/client.ts": """/** Talks to the shop. */
export interface Line { name: string; cents: number; count: number }

export async function postOrder(lines: Line[], card: string): Promise<string> {
  const answer = await fetch("/orders", { method: "POST", body: JSON.stringify({ lines, card }) });
  if (!answer.ok) throw new Error(`the shop says ${answer.status}`);
  return (await answer.json()).receipt;
}
""",
    "tests/test_cart.py": '''"""The cart adds up."""

from shop.cart import Cart
from shop.prices import Money


def test_total_has_tax() -> None:
    cart = Cart()
    cart.add("tea", Money(1_000), 2)
    assert cart.total().cents == 2_380
''',
}
_CHANGED = {
    "shop/prices.py": ("cents * (100 - percent) // 100", "cents - price.cents * percent // 100"),
    "shop/payment.py": ("RETRIES = 3", "RETRIES = 5"),
}
SYMBOL = "charge"
PATHS = (
    "/",
    "/?q=how+are+payments+retried",
    "/?q=zzzz+nothing+qqqq",
    "/p/shop/code/",
    "/p/shop/code/shop",
    "/p/shop/code/shop/payment.py",
    "/p/shop/map",
    f"/p/shop/graph?name={SYMBOL}",
    "/p/shop/graph",
    "/p/shop/impact?what=shop/prices.py",
    "/p/shop/changes",
    "/p/shop/memory",
    "/p/shop/memory/knowledge/retry-waits",
    "/p/shop/memory/knowledge/new",
    "/p/shop/stale",
    "/p/shop/health",
    "/health",
    "/agents",
    "/agents/conversations",
    "/agents/blocks",
    "/agents/passages",
    "/agents/profiles",
    "/agents/channels",
    "/nowhere",
)


def make_project(root: Path) -> Project:
    """Write, index and remember; then change some of the code, so that some memories are stale."""
    for name, text in _FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    (root / ".gitignore").write_text(".sage/\n")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "A shop")):
        identity = ("-c", "user.name=Ann", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *words], cwd=root, check=True)
    project = Project.open(root)
    project.index()
    _remember(project)
    _talk(project)
    for name, (before, after) in _CHANGED.items():
        text = (root / name).read_text()
        assert before in text
        (root / name).write_text(text.replace(before, after))
    project.index()
    return project


def _remember(project: Project) -> None:
    memory = project.memory
    memory.save_checkpoint(
        {
            "core_question": "Why do orders fail when the provider is slow?",
            "thesis": "The provider answers after 30 s; three attempts with short waits are not enough at noon.",
            "confidence": 0.8,
            "key_evidence": ["the log of the provider has answers after the third attempt"],
            "open_questions": ["may a card be charged twice?"],
            "code_refs": ["shop/payment.py:6-7", "charge"],
        },
        auto_code_context=False,
    )
    items = (
        KnowledgeItem("retry-waits", "The wait between two attempts doubles; the first one is 0.2 s.", "knowledge",
                      ("retry", "payment")),
        KnowledgeItem("rounding", "Discounts are rounded down, in favour of the shop.", "knowledge", ("discount",)),
        KnowledgeItem("money-in-cents", "Amounts are whole cents; never use floats.", "preference", ("money",)),
    )  # fmt: skip
    refs = (["charge"], ["discounted"], ["Money"])
    for item, about in zip(items, refs, strict=True):
        memory.save_knowledge(item, refs=about)
    memory.add_todo("Ask the provider for idempotency keys", due="2030-01-31", refs=["charge"])
    project.mark_core("shop/payment.py", "how money moves")


def _talk(project: Project) -> None:
    """What an agent has said, learned and keeps."""
    with MemoryManager(project=project.root) as memory:
        said = (
            ("user", "Why do orders fail at noon?"),
            ("assistant", "The provider answers slowly then, and `charge` gives up after three attempts."),
            ("user", "Then let us wait longer, and ask the provider for idempotency keys."),
            ("assistant", "I have raised RETRIES; a second charge of the same card is still possible."),
        )
        messages = [NewMessage(role, text, session="noon") for role, text in said]
        memory.recall.add(messages, project=project.root, title="Orders fail at noon")
        memory.core.set("human", "Ann runs the shop. She wants short answers.", by_person=True)
        memory.archive.insert("The provider's limit is 100 requests a minute.", ["payment", "limits"])
