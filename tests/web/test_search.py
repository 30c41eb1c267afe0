"""The search page in a real browser: typing, facets, Back, keys, memories, modes, the editor, and honest nothing."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from sage_code import Project
from sage_code.memory.files.knowledge import KnowledgeItem
from sage_web.editor import command_for, editor_link, editor_words
from sage_web.searching.turns import Turns

from .conftest import WebServer, home_of_module, press, start_server, stop_server

_SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
_HOSTILE = "<img src=x onerror=window.pwned=1>.py"
SHOP = {
    "shop/retry.py": '''"""Retries of requests."""


def backoff(attempt):
    """How long to wait before a request is tried again: twice as long each time."""
    return 2**attempt


class RetryPolicy:
    """How often a request is tried again."""

    limit = 5
''',
    "shop/prices.py": '''"""Prices and taxes."""


def with_tax(price):
    """A price with its tax."""
    return price * 1.19
''',
    "shop/payment.py": f'''"""Payments by card."""

TOKEN = "{_SECRET}"


def pay_by_card(amount):
    """Charge a card."""
    return TOKEN, amount -> 0
''',
    "shop/" + _HOSTILE: '''"""Onerror."""


def hostile_marker():
    """<script>window.pwned=1</script> \u202e hidden."""
    return "<b>bold</b>"
''',
    "tests/test_retry.py": '''from shop.retry import backoff


def test_backoff_of_a_retry():
    """A request that is tried again waits twice as long."""
    assert backoff(2) == 4
''',
    "web/retry.ts": """/** How long the browser waits before a request is tried again. */
export function backoff(attempt: number): number {
  return 100 * attempt;
}
""",
}
DEPOT = {
    "depot/stock.py": '''"""The stock of a warehouse."""


def stock_level(article):
    """How many pieces of an article are left in the warehouse."""
    return 3
''',
    "depot/delivery.py": '''"""Deliveries."""


def retry_delivery(parcel):
    """Bring a parcel again that nobody has taken."""
    return parcel
''',
}


def _filled(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the projects of this module and what the editor was told are."""
    return tmp_path_factory.mktemp("searched")


@pytest.fixture(scope="module")
def searched(shared_home: Path, folder: Path) -> Iterator[WebServer]:
    """The page of two indexed projects, of which the first has memories; the editor writes down what it is told."""
    shop, depot = _filled(folder / "shop", SHOP), _filled(folder / "depot", DEPOT)
    program = folder / "bin" / "code"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {folder}/told\n')
    os.mkfifo(folder / "told")
    program.chmod(0o755)
    with home_of_module(shared_home) as patch:
        patch.setenv("VISUAL", f"{program} --wait")
        patch.delenv("SAGE_EDITOR", raising=False)
        (shop / ".sage").mkdir()
        project = Project.open(shop)
        project.index()
        thesis = "Requests are tried again with a backoff that doubles, because the gateway blocks clients that hurry"
        given = {"core_question": "How are requests tried again?", "thesis": thesis, "confidence": 0.9}
        project.memory.save_checkpoint({**given, "code_refs": ["shop/retry.py:4-6"]}, auto_code_context=False)
        item = KnowledgeItem(
            "retry-limit", "A request is tried again at most five times.", keywords=("retry", "request")
        )
        project.memory.save_knowledge(item)
        Project.open(depot).index()
        server = start_server(shop)
        yield server
        stop_server(server)


def _type(shown: Page, text: str) -> None:
    shown.locator("[data-search-box]").press_sequentially(text)
    expect(shown.locator("#results")).to_have_attribute("data-query", text)


def _files(shown: Page) -> list[str]:
    """The paths of the hits, as they are shown."""
    return [re.sub(r":\d+$", "", text) for text in shown.locator(".hit-link").all_inner_texts()]


def test_results_come_as_somebody_types(
    searched: WebServer, enter: Callable[..., Page], look: Callable[..., None]
) -> None:
    shown = enter(searched)
    expect(shown.get_by_role("heading", name="shop")).to_be_visible()
    expect(shown.locator(".project-more .tag").first).to_be_visible()
    look(shown, "search_home")
    length = shown.evaluate("history.length")
    _type(shown, "request is tried again")
    first = shown.locator(".hit").first
    expect(first.locator(".hit-link")).to_contain_text("retry.py")
    expect(first.locator("mark").first).to_be_visible()
    assert "q=request+is+tried+again" in shown.url
    assert shown.evaluate("history.length") == length  # typing leaves no steps to go back through
    expect(shown.locator("#preview .ln.best")).to_contain_text("twice as long each time")
    expect(shown.locator("#age")).to_contain_text("up to date")
    look(shown, "search_found")
    shown.locator("[data-search-box]").fill("")
    expect(shown.get_by_role("heading", level=1)).to_have_text("What are you looking for?")
    expect(shown.locator(".project-more .tag").first).to_be_visible()


def test_facets_narrow_the_results_and_back_takes_them_back(searched: WebServer, enter: Callable[..., Page]) -> None:
    shown = enter(searched, "/?in=shop")
    _type(shown, "backoff of a request that is tried again")
    expect(shown.locator(".hit-link").filter(has_text="retry.ts")).to_be_visible()
    shown.get_by_role("link", name="typescript").click()
    expect(shown.locator("#count")).to_contain_text("1 result")
    assert _files(shown) == ["web/retry.ts"]
    assert "language=typescript" in shown.url
    assert "in=shop" in shown.url
    expect(
        shown.locator("#facets").get_by_role("link", name="python")
    ).to_be_visible()  # the others can still be seen and chosen
    expect(shown.locator("#facets").get_by_role("link", name="typescript")).to_be_focused()
    shown.locator("[data-search-box]").focus()
    press(shown, "End")
    shown.keyboard.type("!")  # what is chosen stays while somebody types on
    expect(shown.locator("#results")).to_have_attribute("data-query", "backoff of a request that is tried again!")
    assert _files(shown) == ["web/retry.ts"]
    shown.go_back()
    expect(shown.locator(".hit-link").filter(has_text="test_retry.py")).to_be_visible()
    assert "language" not in shown.url
    shown.get_by_role("link", name="Without tests").click()
    expect(shown.locator(".hit-link").filter(has_text="test_retry.py")).to_have_count(0)
    shown.locator("#facets").get_by_role("link", name="shop/").click()
    expect(shown.locator(".hit-link").filter(has_text="retry.ts")).to_have_count(0)
    assert "tests=no" in shown.url
    assert "folder=shop" in shown.url
    shown.reload()
    expect(shown.get_by_label("Remove the filter without tests")).to_be_visible()
    shown.go_back()
    expect(shown.locator(".hit-link").filter(has_text="retry.ts")).to_be_visible()


def test_everything_without_a_mouse(searched: WebServer, enter: Callable[..., Page], look: Callable[..., None]) -> None:
    shown = enter(searched, "/health")
    press(shown, "/")
    shown.keyboard.type("request is tried again")
    press(shown, "Enter")
    expect(shown.locator("#age")).to_be_visible()
    press(shown, "/")
    press(shown, "ArrowDown")
    first = shown.locator(".hit").first
    expect(first).to_have_class(re.compile("here"))
    press(shown, "j")
    expect(shown.locator(".hit").nth(1)).to_have_class(re.compile("here"))
    press(shown, "k")
    press(shown, "w")
    expect(first.locator(".why svg rect").first).to_be_attached()
    expect(first.locator(".why")).to_contain_text("that this file answers")
    look(shown, "search_why")
    press(shown, "Escape")
    expect(first.locator(".why")).to_have_count(0)
    press(shown, "?")
    expect(shown.get_by_role("dialog")).to_contain_text("why this result was found")
    press(shown, "Escape")
    press(shown, "Enter")
    shown.wait_for_url(re.compile(r"/p/shop/code/shop/retry\.py#L5$"))
    shown.go_back()
    expect(shown.locator("#age")).to_be_visible()
    expect(shown.locator("[data-search-box]")).to_have_value("request is tried again")
    press(shown, "/")
    press(shown, "ArrowDown")
    press(shown, "ArrowUp")
    expect(shown.locator("[data-search-box]")).to_be_focused()


def test_a_question_that_is_asked_again_keeps_the_place_and_what_is_open(
    searched: WebServer, enter: Callable[..., Page]
) -> None:
    shown = enter(searched, "/?q=request+is+tried+again&in=shop")
    press(shown, "j", "j", "w")
    second = shown.locator(".hit").nth(1)
    expect(second.locator(".why")).to_contain_text("that this file answers")
    shown.evaluate("document.querySelector('#results').dataset.old = 'yes'")
    shown.evaluate("document.dispatchEvent(new CustomEvent('sage:stale', {detail: {what: 'index', project: 'shop'}}))")
    expect(shown.locator("#results[data-old]")).to_have_count(0)
    expect(second).to_have_class(re.compile("here"))
    expect(second.locator(".why")).to_contain_text("that this file answers")
    expect(second.locator("[data-why]")).to_have_attribute("aria-expanded", "true")


def test_memories_beside_code_and_alone(
    searched: WebServer, enter: Callable[..., Page], look: Callable[..., None]
) -> None:
    shown = enter(searched)
    _type(shown, "how are requests tried again")
    beside = shown.locator("#remembered")
    expect(beside).to_contain_text("backoff that doubles")
    expect(shown.locator(".hit-memory").first).to_contain_text("Requests are tried again")
    look(shown, "search_memory_beside")
    shown.get_by_role("link", name="Memory only").click()
    expect(shown.get_by_role("heading", name="Checkpoints")).to_be_visible()
    expect(shown.locator("#results")).to_contain_text("at most five times")
    expect(shown.locator(".hit")).to_have_count(0)
    assert "only=memory" in shown.url
    look(shown, "search_memory_only")
    shown.locator(".memory a").first.click()
    shown.wait_for_url(re.compile(r"/p/shop/memory/checkpoint/"))
    shown.go_back()
    press(shown, "m")
    expect(shown.locator(".hit").first).to_be_visible()


def test_nothing_good_is_said(searched: WebServer, enter: Callable[..., Page], look: Callable[..., None]) -> None:
    shown = enter(searched, "/?in=depot")
    _type(shown, "quantum chromodynamics lattice")
    expect(shown.get_by_role("heading", name="Nothing here looks like an answer.")).to_be_visible()
    expect(shown.locator("#count")).to_contain_text("nothing good")
    look(shown, "search_nothing")
    shown.get_by_role("link", name="Look for exactly this text").click()
    expect(shown.get_by_role("heading", name="No file has that.")).to_be_visible()
    assert "mode=exact" in shown.url


def test_all_projects_or_one(searched: WebServer, enter: Callable[..., Page]) -> None:
    shown = enter(searched)
    _type(shown, "retry")
    expect(shown.locator(".hit .tag", has_text="depot").first).to_be_visible()
    expect(shown.locator(".hit .tag", has_text="shop").first).to_be_visible()
    shown.locator('#facets [data-key^="project "]', has_text="depot").click()
    expect(shown.locator(".hit-link").filter(has_text="delivery.py")).to_be_visible()
    expect(shown.locator(".hit-link").filter(has_text="shop/retry.py")).to_have_count(0)
    assert "in=depot" in shown.url
    shown.go_back()
    expect(shown.locator(".hit .tag", has_text="shop").first).to_be_visible()


def test_symbols_exact_text_and_patterns(searched: WebServer, enter: Callable[..., Page]) -> None:
    shown = enter(searched, "/?in=shop")
    _type(shown, "retr")
    shown.get_by_role("link", name="Symbols").click()
    expect(shown.locator(".hit code", has_text="RetryPolicy").first).to_be_visible()
    shown.locator("[data-search-box]").fill("amount -> 0")
    # The links lead to what was asked last.
    expect(shown.locator("#results")).to_have_attribute("data-query", "amount -> 0")
    shown.get_by_role("link", name="Exact", exact=True).click()
    expect(shown.locator(".hit mark")).to_have_text("amount -> 0")
    shown.locator("[data-search-box]").fill("def back\\w+")
    expect(shown.locator("#results")).to_have_attribute("data-query", "def back\\w+")
    shown.get_by_role("link", name="Regex").click()
    expect(shown.locator("#count")).to_contain_text("result")
    assert _files(shown) == ["shop/retry.py"]
    shown.locator("[data-search-box]").fill("def (")
    expect(shown.get_by_role("alert")).to_be_visible()  # a pattern that is not finished is no error of the page
    expect(shown.locator("[data-search-box]")).to_be_visible()


def test_secrets_are_masked_and_a_hit_opens_in_the_editor(
    searched: WebServer, enter: Callable[..., Page], context: BrowserContext, folder: Path
) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    shown = enter(searched, "/?in=shop&q=payments+by+card+token")
    expect(shown.locator(".hit .k-masked").first).to_contain_text("[masked: ")
    expect(shown.locator("#preview .k-masked").first).to_be_visible()
    assert _SECRET not in shown.content()
    first = shown.locator(".hit").first
    first.get_by_role("button", name="Copy path").click()
    expect(shown.locator(".toast")).to_contain_text("Copied shop/payment.py")
    assert shown.evaluate("navigator.clipboard.readText()").startswith("shop/payment.py:")
    told: list[str] = []
    reading = threading.Thread(target=lambda: told.extend((folder / "told").read_text().splitlines()), daemon=True)
    reading.start()
    first.get_by_role("button", name="Open in code").click()
    expect(shown.locator(".toast", has_text="Opened in the editor")).to_be_visible()
    reading.join(30)
    option, place = told
    assert option == "--goto"
    assert re.fullmatch(rf"{re.escape(str(folder))}/shop/shop/payment\.py:\d+", place)


def test_hostile_names_code_and_questions_are_text(searched: WebServer, enter: Callable[..., Page]) -> None:
    shown = enter(searched, "/?in=shop")
    _type(shown, "hostile_marker <img src=x onerror=window.pwned=1>")
    expect(shown.locator(".hit-link").first).to_contain_text(_HOSTILE)
    expect(shown.locator("#preview")).to_contain_text("<script>window.pwned=1</script> \\u202e hidden")
    expect(shown).to_have_title("hostile_marker <img src=x onerror=window.pwned=1> · Sage")
    shown.locator("[data-why]").first.click()
    expect(shown.locator(".why svg").first).to_be_visible()
    assert shown.evaluate("window.pwned ?? null") is None
    assert shown.locator("main img, main script").count() == 0
    shown.locator(".hit-link").first.click()
    shown.wait_for_url(re.compile("/p/shop/code/shop/%3Cimg"))
    assert shown.evaluate("window.pwned ?? null") is None


def test_on_a_narrow_screen(searched: WebServer, enter: Callable[..., Page], look: Callable[..., None]) -> None:
    shown = enter(searched, "/?q=request+is+tried+again")
    shown.set_viewport_size({"width": 360, "height": 740})
    expect(shown.locator(".hit").first).to_be_visible()
    expect(shown.locator("#facets")).to_be_hidden()
    shown.get_by_role("button", name="Filters").click()
    expect(shown.locator("#facets")).to_be_visible()
    look(shown, "search_narrow")
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    shown.goto(searched.base)
    expect(shown.locator(".project-more .tag").first).to_be_visible()
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_scripts_it_is_a_form(searched: WebServer, browser: Browser) -> None:
    context = browser.new_context(java_script_enabled=False)
    shown = context.new_page()
    shown.goto(f"{searched.base}/enter?token={searched.token}")
    box = shown.get_by_role("searchbox")
    box.fill("stock of an article")
    box.press("Enter")
    expect(shown.locator(".hit-link").first).to_contain_text("depot/stock.py")
    shown.locator("#facets").get_by_role("link", name="depot").click()
    expect(shown.locator(".hit-link").first).to_contain_text("depot/stock.py")
    context.close()


def test_a_change_of_the_files_is_said_and_brought_in(
    searched: WebServer, enter: Callable[..., Page], folder: Path
) -> None:
    shown = enter(searched, "/?in=depot&q=forklift+driver+licence")
    expect(shown.locator("#age")).to_contain_text("up to date")
    (folder / "depot" / "depot" / "forklift.py").write_text(
        'def check_licence(driver):\n    """Whether a driver of a forklift has a licence."""\n    return True\n'
    )
    shown.reload()
    expect(shown.locator(".hit-link").first).to_contain_text("forklift.py")  # found again when the index is new
    expect(shown.locator("#age")).to_contain_text("up to date")


def test_an_index_run_elsewhere_brings_its_files_into_an_open_search(
    searched: WebServer, enter: Callable[..., Page], folder: Path
) -> None:
    shown = enter(searched, "/?in=depot&q=crane+operator+shift")
    expect(shown.locator("#age")).to_contain_text("up to date")
    (folder / "depot" / "depot" / "crane.py").write_text(
        'def operator_shift(crane):\n    """The shift of the operator of a crane."""\n    return crane\n'
    )
    Project.open(folder / "depot").index()
    expect(shown.locator(".hit-link").first).to_contain_text("crane.py")
    expect(shown.locator("#notice")).to_be_hidden()


def test_a_search_that_waits_gives_way_to_a_newer_one() -> None:
    turns, waits, outcomes = Turns(), threading.Event(), []

    def older() -> None:
        waits.set()
        with turns.turn("page", 2) as is_ours:
            outcomes.append(is_ours)

    with turns.turn("page", 1) as first:
        waiting = threading.Thread(target=older)
        waiting.start()
        assert waits.wait(30)
        newer = threading.Thread(target=lambda: turns.turn("page", 3).__enter__())
        newer.start()
        waiting.join(30)  # it does not wait for the first one to end
        assert first
        assert outcomes == [False]
    newer.join(30)
    assert not newer.is_alive()


@pytest.mark.parametrize(
    ("variables", "command"),
    [
        ({"VISUAL": "{bin}/code --wait"}, ["{bin}/code", "--goto", "/a b.py:7"]),
        ({"SAGE_EDITOR": "{bin}/idea", "VISUAL": "{bin}/code"}, ["{bin}/idea", "--line", "7", "/a b.py"]),
        ({"VISUAL": "vim", "EDITOR": "{bin}/subl"}, ["{bin}/subl", "/a b.py:7"]),
        ({"VISUAL": "vim"}, None),
        ({"VISUAL": "code; rm -rf /"}, None),
        ({"VISUAL": "'open"}, None),
        ({}, None),
    ],
)
def test_which_editor_is_started(tmp_path: Path, variables: dict[str, str], command: list[str] | None) -> None:
    for name in ("code", "idea", "subl"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    words = editor_words({name: value.format(bin=tmp_path) for name, value in variables.items()})
    made = command_for(words, "/a b.py", 7) if words else None
    assert made == (None if command is None else [part.format(bin=tmp_path) for part in command])
    assert editor_link("/a b.py", 7) == "vscode://file/a%20b.py:7"
