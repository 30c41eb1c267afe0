"""What agents remember, in a real browser: read, searched, edited, undone, erased; and nothing by looking alone.

One server serves all tests but the first, so each has sessions, blocks and passages of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from sage_code import Project
from sage_code.memory.channels.channel_memory import ChannelMemory
from sage_code.memory.tiers.manager import MemoryManager
from sage_code.memory.tiers.values import NewMessage

from .conftest import WebServer, home_of_module, press, start_server, stop_server

Enter = Callable[..., Page]
Look = Callable[..., Any]
HOSTILE = "<img src=x onerror=alert(1)><script>alert(1)</script></value></textarea>\u202egnp.exe\x1b[31m\u200bend"
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
TALK = (
    ("user", "My name is Ana and I deploy on Fridays. How should the payment service retry?"),
    ("assistant", "Use exponential backoff with jitter, at most five retries, and make it idempotent."),
    ("tool", "exit 0\n" + "line of output\n" * 60),
    ("user", "We decided to keep the retry policy in retry.py. I live in Lisbon."),
)


@pytest.fixture(scope="module")
def shared_site(shared_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    """A page over a memory that was made through the library."""
    root = tmp_path_factory.mktemp("agents") / "shop"
    root.mkdir()
    (root / "retry.py").write_text("LIMIT = 5\n")
    with home_of_module(shared_home):
        Project.open(root).index()
        with MemoryManager(project=str(root)) as memory:
            say(memory, "5e551011", TALK, title="Retries of the payment service")
            say(memory, "long", [("user", f"Line {number} of a long chat") for number in range(120)], day=1)
            say(memory, "wall", [("assistant", "brick " * 2_000 + "the last one")], day=-1)
            memory.core.set("human", "Ana likes short answers.\nShe works on payments.", by_person=True)
            memory.core.set("human", "Ana likes short answers.\nShe works on search.", by_person=True)
            memory.core.create("notes", HOSTILE, description="What to keep in mind", char_limit=500)
            memory.archive.insert("Kafka was rejected because of its operations.", "decision,queues")
            memory.archive.insert(f"Postgres LISTEN is enough. {HOSTILE}", "decision")
            ChannelMemory(memory.engine, memory.agent, memory.settings, str(root)).summarise()
        server = start_server(root)
        yield server
        stop_server(server)


def say(memory: MemoryManager, session: str, talk: Any, title: str = "", day: int = 0) -> list[str]:
    """Store what was said in a session of the project, a minute after each other."""
    start = START + timedelta(days=day)
    new = [
        NewMessage(role, text, session=session, created_at=start + timedelta(minutes=number))
        for number, (role, text) in enumerate(talk)
    ]
    return memory.recall.add(new, project=memory.project, title=title, source="claude")


def test_looking_at_nothing_makes_nothing(site: WebServer, enter: Enter, look: Look, sage_home: Path) -> None:
    shown = enter(site, "/agents")
    expect(shown.get_by_role("heading", level=1)).to_have_text("Agents remember nothing yet")
    look(shown, "agents-nothing")
    for path in ("conversations", "blocks/human", "passages", "profiles", "channels", "new-block", "erase?session=x"):
        shown.goto(f"{site.base}/agents/{path}")
        expect(shown.get_by_role("heading", level=1)).to_be_visible()
    assert not (sage_home / "memory" / "memory.db").exists()
    shown.goto(f"{site.base}/agents/new-block?label=human")
    shown.get_by_label("Text", exact=True).fill("Ana")
    shown.get_by_role("button", name="Make it").click()
    expect(shown.get_by_text("Block human was made.")).to_be_visible()
    assert (sage_home / "memory" / "memory.db").stat().st_mode & 0o777 == 0o600


def test_search_read_and_permalink(shared_site: WebServer, enter: Enter, look: Look) -> None:
    base = shared_site.base
    shown = enter(shared_site, "/agents")
    expect(shown.get_by_role("heading", level=2, name="Last sessions")).to_be_visible()
    look(shown, "agents-overview")
    shown.get_by_label("Agents’ memory").get_by_role("link", name="Conversations").click()
    expect(shown.get_by_role("link", name="Retries of the payment service")).to_be_visible()
    look(shown, "agents-sessions")
    press(shown, "Escape", "s")
    shown.keyboard.type("how should payments retry?")  # answered while one types
    expect(shown.locator(".passage", has_text="exponential backoff").locator("mark")).to_have_text("retries")
    look(shown, "agents-search")
    shown.get_by_label("Who").select_option("assistant")
    expect(shown.locator("article.answer")).to_have_count(1)
    assert "role=assistant" in shown.url
    press(shown, "Escape")
    shown.get_by_label("Who").blur()
    press(shown, "j", "Enter")
    message = shown.locator(".said-message.chosen")
    expect(message).to_contain_text("exponential backoff")
    expect(message).to_be_in_viewport()
    expect(shown.get_by_role("heading", level=1)).to_have_text("Retries of the payment service")
    expect(shown.get_by_role("link", name="shop", exact=True)).to_have_attribute("href", "/p/shop/code/")
    look(shown, "agents-transcript")
    shown.go_back()
    expect(shown.get_by_label("Who")).to_have_value("assistant")
    shown.goto(f"{base}/agents/conversations?since=2027-03-04")
    expect(shown.get_by_text("No session fits these filters")).to_be_visible()
    shown.goto(f"{base}/agents/conversations?since=nonsense")
    expect(shown.get_by_role("alert")).to_contain_text("names no time")
    shown.goto(f"{base}/agents/conversations/read?session=long")
    expect(shown.get_by_text("1–50 of 120").first).to_be_visible()
    press(shown, "]")
    expect(shown.get_by_text("Line 50 of", exact=False)).to_be_visible()
    shown.get_by_role("link", name="last").first.click()
    expect(shown.get_by_text("Line 119 of", exact=False)).to_be_visible()
    shown.goto(f"{base}/agents/conversations/read?session=wall")
    expect(shown.locator(".said")).not_to_contain_text("the last one")
    shown.get_by_role("link", name="Show all 12,012 characters").click()
    expect(shown.locator(".said")).to_contain_text("the last one")
    expect(shown).to_have_url(f"{base}/agents/conversations/read?session=wall")


def test_a_block_is_edited_undone_and_restored(shared_site: WebServer, enter: Enter, look: Look) -> None:
    shown = enter(shared_site, "/agents/blocks")
    look(shown, "agents-blocks")
    shown.get_by_role("link", name="human").click()
    expect(shown.get_by_role("heading", level=1)).to_have_text("human")
    text = shown.get_by_label("Text", exact=True)
    press(shown, "e", "Control+End")
    shown.keyboard.type("\nNew line é")
    expect(shown.get_by_text("56 of 20,000 characters")).to_be_visible()
    press(shown, "Control+Enter")
    expect(shown.get_by_text("Saved as version 4.")).to_be_visible()
    look(shown, "agents-block")
    press(shown, "u")
    expect(text).to_have_value("Ana likes short answers.\nShe works on search.")
    shown.get_by_role("link", name="Version 2", exact=True).click()
    shown.get_by_role("link", name="what going back would change").click()
    expect(shown.locator(".diff-added")).to_contain_text("She works on payments.")
    expect(shown.locator(".diff-removed")).to_contain_text("She works on search.")
    look(shown, "agents-version")
    shown.get_by_role("button", name="Go back to version 2").click()
    expect(shown.get_by_text("Version 2 is back, as version 6.")).to_be_visible()
    expect(text).to_have_value("Ana likes short answers.\nShe works on payments.")


def test_two_edits_of_one_block_lose_nothing(shared_site: WebServer, enter: Enter, look: Look) -> None:
    with MemoryManager() as memory:
        memory.core.set("persona", "Helpful.")
        shown = enter(shared_site, "/agents/blocks/persona")
        memory.core.append("persona", "An agent wrote this.")
        shown.get_by_label("Text", exact=True).fill("A person wrote this.")
        shown.get_by_role("button", name="Save", exact=True).click()
        expect(shown.get_by_role("heading", level=1)).to_have_text("Somebody has changed persona meanwhile")
        expect(shown.get_by_role("textbox", name="Your text")).to_have_value("A person wrote this.")
        expect(shown.get_by_role("region", name="The text now (version 3)")).to_contain_text("An agent wrote this.")
        look(shown, "agents-conflict")
        shown.get_by_role("button", name="Save as version 4").click()
        expect(shown.get_by_text("Saved as version 4.")).to_be_visible()
        assert memory.core.block("persona").value == "A person wrote this."
        assert "An agent wrote this." in memory.core.history("persona")[1].value


def test_a_block_is_made_deleted_and_brought_back(shared_site: WebServer, enter: Enter) -> None:
    shown = enter(shared_site, "/agents/new-block")
    text = shown.get_by_label("Text", exact=True)
    shown.get_by_label("Label").fill("no spaces")
    text.fill("Typed once")
    shown.get_by_role("button", name="Make it").click()
    expect(shown.get_by_role("alert")).to_contain_text("cannot be a label")
    expect(text).to_have_value("Typed once")
    shown.get_by_label("Label").fill("plans")
    shown.get_by_label("Most characters").fill("40")
    shown.get_by_role("button", name="Make it").click()
    expect(shown.get_by_text("Block plans was made.")).to_be_visible()
    shown.get_by_role("button", name="Delete").click()
    expect(shown.get_by_role("button", name="Bring back plans")).to_be_visible()
    press(shown, "u")
    expect(text).to_have_value("Typed once")
    expect(shown.get_by_text("10 of 40 characters")).to_be_visible()


def test_passages_by_tag_added_edited_deleted_and_undone(shared_site: WebServer, enter: Enter, look: Look) -> None:
    shown = enter(shared_site, "/agents/passages")
    look(shown, "agents-passages")
    shown.get_by_role("complementary").get_by_role("link", name="queues").click()
    expect(shown.locator("article")).to_have_count(1)
    shown.go_back()
    expect(shown.get_by_text("Postgres LISTEN")).to_be_visible()
    press(shown, "s")
    shown.keyboard.type("why not Kafka?")
    press(shown, "Enter")
    expect(shown.locator("article mark").first).to_have_text("Kafka")
    press(shown, "Escape", "j", "Enter")
    shown.get_by_label("Tags").fill("queues, Rejected")
    shown.get_by_role("button", name="Save").click()
    expect(shown.get_by_label("Tags")).to_have_value("queues, rejected")
    look(shown, "agents-passage")
    shown.get_by_role("button", name="Delete").click()
    expect(shown.get_by_text("The passage was deleted.")).to_be_visible()
    expect(shown.get_by_text("Kafka was rejected")).to_have_count(0)
    press(shown, "u")
    expect(shown.get_by_label("Text")).to_have_value("Kafka was rejected because of its operations.")
    with MemoryManager() as memory:
        memory.archive.edit(shown.url.rpartition("/")[2], "Kafka is back.", "queues")
    shown.get_by_label("Text").fill("Kafka is too large.")
    shown.get_by_role("button", name="Save").click()
    expect(shown.get_by_role("heading", level=1)).to_have_text("Somebody has changed this passage meanwhile")
    expect(shown.get_by_role("region", name="The text now")).to_contain_text("Kafka is back.")
    shown.get_by_role("button", name="Save").click()
    expect(shown.get_by_text("Saved.")).to_be_visible()
    expect(shown.get_by_label("Text")).to_have_value("Kafka is too large.")
    shown.goto(f"{shared_site.base}/agents/new-passage")
    shown.get_by_label("Text").fill("Deploy with AKIAIOSFODNN7EXAMPLX and smile")
    shown.get_by_role("button", name="Store it").click()
    expect(shown.get_by_text("Stored. Masked:")).to_be_visible()
    expect(shown.get_by_label("Text")).not_to_have_value("Deploy with AKIAIOSFODNN7EXAMPLX and smile")


def test_people_and_channels(shared_site: WebServer, enter: Enter, look: Look) -> None:
    shown = enter(shared_site, "/agents/profiles")
    look(shown, "agents-people")
    fact = shown.locator(".fact", has_text="I live in Lisbon")
    expect(fact).to_contain_text("% sure that it lasts")
    fact.get_by_role("button", name="Forget").click()
    expect(shown.get_by_text("The fact was forgotten.")).to_be_visible()
    expect(fact).to_have_count(0)
    press(shown, "u")
    expect(fact).to_be_visible()
    shown.get_by_label("Add a fact about you").fill("I like tea")
    shown.get_by_role("button", name="Add", exact=True).click()
    expect(shown.locator(".fact", has_text="I like tea")).to_contain_text("written by you")
    fact.get_by_role("link", name="said").click()
    expect(shown.locator(".said-message.chosen")).to_contain_text("I live in Lisbon")
    with MemoryManager() as memory:
        memory.recall.add([NewMessage("user", "We decided to meet on Mondays.", session="room")], channel="#room")
    shown.goto(f"{shared_site.base}/agents/channels")
    look(shown, "agents-channels")
    shown.get_by_role("link", name="#room").click()
    expect(shown.get_by_text("No summary was made yet")).to_be_visible()
    shown.get_by_role("button", name="Summarise now").click()
    expect(shown.get_by_role("region", name="Lately")).to_contain_text("We decided to meet on Mondays.")
    expect(shown.get_by_text("up to date")).to_be_visible()
    look(shown, "agents-channel")


def test_what_is_erased_is_said_first_and_is_gone(shared_site: WebServer, enter: Enter, look: Look) -> None:
    with MemoryManager() as memory:
        [first, _] = say(memory, "doomed", [("user", "Nobody may know of the zebra"), ("assistant", "I see")], "Zebra")
        database = Path(memory.engine.uri)
        shown = enter(shared_site, "/agents/conversations/read?session=doomed")
        shown.get_by_role("link", name="Erase …", exact=True).first.click()
        expect(shown.get_by_role("heading", level=1)).to_have_text("Erase this session?")
        expect(shown.get_by_text("2 messages")).to_be_visible()
        expect(shown.get_by_text("This cannot be undone.")).to_be_visible()
        look(shown, "agents-erase")
        say(memory, "doomed", [("user", "One more")], day=2)  # somebody says more: the page asks again
        shown.get_by_label("I am sure").check()
        shown.get_by_role("button", name="Erase for good").click()
        expect(shown.get_by_role("alert")).to_contain_text("Nothing was erased")
        expect(shown.get_by_text("3 messages")).to_be_visible()
    shown.get_by_label("I am sure").check()
    shown.get_by_role("button", name="Erase for good").click()
    expect(shown.get_by_role("heading", level=1)).to_have_text("Conversations")
    assert b"zebra" not in database.read_bytes()
    assert database.stat().st_mode & 0o777 == 0o600
    shown.goto(f"{shared_site.base}/agents/messages/{first}")
    expect(shown.get_by_role("alert")).to_contain_text("there is no such message")


def test_hostile_contents_are_text(shared_site: WebServer, enter: Enter) -> None:
    name = HOSTILE[:60]
    with MemoryManager() as memory:
        memory.recall.add([NewMessage("user", HOSTILE, session=name, speaker=name)], channel="<b>room", title=HOSTILE)
        memory.archive.insert("hostile " + HOSTILE, "<i>tag")
    shown = enter(shared_site, "/agents")
    shown.on("dialog", lambda _: pytest.fail("a script ran"))
    pages = (
        "",
        "/conversations?q=" + quote(HOSTILE),
        "/conversations?role=user",
        "/conversations/read?session=" + quote(name),
        "/blocks",
        "/passages?q=hostile",
        "/profiles?name=" + quote(name),
        "/channels/read?name=%3Cb%3Eroom",
        "/erase?session=" + quote(name),
        "/blocks/notes",
    )
    for path in pages:
        shown.goto(f"{shared_site.base}/agents{path}")
        assert shown.locator("main img, main script, main b, main i").count() == 0, path
        assert not {"\u202e", "\x1b", "\u200b"} & set(shown.locator("main").inner_text()), path
    assert shown.get_by_label("Text", exact=True).input_value() == HOSTILE  # to be edited, it is what it is


def test_narrow_and_dark(shared_site: WebServer, enter: Enter, look: Look) -> None:
    shown = enter(shared_site, "/agents")
    shown.emulate_media(color_scheme="dark")
    shown.set_viewport_size({"width": 360, "height": 740})
    paths = {
        "overview": "",
        "search": "/conversations?q=retry",
        "transcript": "/conversations/read?session=5e551011",
        "block": "/blocks/human?version=3",
        "passages": "/passages",
        "people": "/profiles",
        "channels": "/channels",
        "erase": "/erase?session=long",
    }
    for name, path in paths.items():
        shown.goto(f"{shared_site.base}/agents{path}")
        assert shown.evaluate("document.documentElement.scrollWidth") <= 360, path
        look(shown, f"agents-narrow-{name}")
