"""What agents remember, in a real browser: read, searched, edited, undone, erased; and nothing by looking alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from sage_code.memory.channels.channel_memory import ChannelMemory
from sage_code.memory.tiers.manager import MemoryManager
from sage_code.memory.tiers.values import NewMessage

Enter = Callable[..., Page]
Look = Callable[..., Any]
HOSTILE = "<img src=x onerror=alert(1)><script>alert(1)</script></value></textarea>\u202egnp.exe\x1b[31m\u200bend"
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@pytest.fixture
def remembered(sample: Path) -> dict[str, str]:
    """A memory made through the library: two sessions, blocks with versions, passages, people, a channel."""
    ids: dict[str, str] = {}
    with MemoryManager(project=str(sample)) as memory:
        said = [
            ("user", "My name is Ana and I deploy on Fridays. How should the payment service retry?"),
            ("assistant", "Use exponential backoff with jitter, at most five retries, and make it idempotent."),
            ("tool", "exit 0\n" + "line of output\n" * 60),
            ("user", "We decided to keep the retry policy in retry.py. I live in Lisbon."),
        ]
        stored = memory.recall.add(
            [
                NewMessage(role, text, session="5e551011", created_at=START + timedelta(minutes=number))
                for number, (role, text) in enumerate(said)
            ],
            project=str(sample),
            title="Retries of the payment service",
            source="claude",
        )
        ids["question"], ids["answer"] = stored[:2]
        memory.recall.add(
            [
                NewMessage(
                    "user",
                    f"Line {number} of a long chat",
                    session="long",
                    created_at=START + timedelta(days=1, minutes=number),
                )
                for number in range(120)
            ],
            title="A long chat",
        )
        memory.core.set("human", "Ana likes short answers.\nShe works on payments.", by_person=True)
        memory.core.set("human", "Ana likes short answers.\nShe works on search.", by_person=True)
        memory.core.create("notes", HOSTILE, description="What to keep in mind", char_limit=500)
        ids["passage"] = memory.archive.insert(
            "Kafka was rejected because of its operations.", "decision,queues"
        ).passage.id
        memory.archive.insert(f"Postgres LISTEN is enough. {HOSTILE}", "decision")
        ChannelMemory(memory.engine, memory.agent, memory.settings, str(sample)).summarise()
    return ids


def press(shown: Page, *keys: str) -> None:
    """Press keys when the page listens to them."""
    shown.wait_for_load_state()
    for key in keys:
        shown.keyboard.press(key)


def test_looking_at_nothing_makes_nothing(site: Any, enter: Enter, look: Look, sage_home: Path) -> None:
    shown = enter(site, "/agents")
    expect(shown.get_by_role("heading", level=1)).to_have_text("Agents remember nothing yet")
    look(shown, "agents-nothing")
    for path in (
        "conversations",
        "blocks",
        "passages",
        "profiles",
        "channels",
        "new-block",
        "new-passage",
        "erase?session=x",
        "blocks/human",
    ):
        shown.goto(f"{site.base}/agents/{path}")
        expect(shown.get_by_role("heading", level=1)).to_be_visible()
    assert not (sage_home / "memory" / "memory.db").exists()


def test_search_read_and_permalink(site: Any, enter: Enter, look: Look, remembered: dict[str, str]) -> None:
    shown = enter(site, "/agents")
    expect(shown.get_by_text("124 messages")).to_be_visible()
    look(shown, "agents-overview")
    shown.get_by_label("Agents’ memory").get_by_role("link", name="Conversations").click()
    expect(shown.get_by_role("heading", level=2)).to_have_text("2 sessions")
    look(shown, "agents-sessions")
    press(shown, "Escape", "s")
    shown.keyboard.type("how should payments retry?")
    shown.keyboard.press("Enter")
    first = shown.locator("article.answer").first
    expect(first.locator("mark").first).to_be_visible()
    expect(shown.locator("article.answer .passage", has_text="exponential backoff")).to_have_count(1)
    look(shown, "agents-search")
    shown.get_by_label("Who").select_option("assistant")
    shown.get_by_role("button", name="Search").click()
    expect(shown).to_have_url(
        f"{site.base}/agents/conversations?q=how+should+payments+retry%3F&role=assistant&project=&since=&until="
    )
    expect(shown.locator("article.answer").first).to_contain_text("exponential backoff")
    press(shown, "j", "Enter")
    message = shown.locator(f"#m-{remembered['answer']}")
    expect(message).to_be_in_viewport()
    expect(message).to_have_class("said-message role-edge-assistant chosen")
    expect(shown.get_by_role("heading", level=1)).to_have_text("Retries of the payment service")
    look(shown, "agents-transcript")
    shown.go_back()
    expect(shown.get_by_label("Who")).to_have_value("assistant")
    shown.goto(f"{site.base}/agents/conversations?since=2026-03-04")
    expect(shown.get_by_text("No session fits these filters")).to_be_visible()
    shown.goto(f"{site.base}/agents/conversations/read?session=long")
    expect(shown.get_by_text("Line 0 of", exact=False)).to_be_visible()
    expect(shown.get_by_text("1–50 of 120").first).to_be_visible()
    press(shown, "]")
    expect(shown.get_by_text("Line 50 of", exact=False)).to_be_visible()
    shown.get_by_role("link", name="last").first.click()
    expect(shown.get_by_text("Line 119 of", exact=False)).to_be_visible()


def test_a_block_is_edited_undone_and_restored(site: Any, enter: Enter, look: Look, remembered: dict[str, str]) -> None:
    assert remembered
    shown = enter(site, "/agents/blocks")
    look(shown, "agents-blocks")
    shown.get_by_role("link", name="human").click()
    expect(shown.get_by_role("heading", level=1)).to_have_text("human")
    press(shown, "e", "Control+End")
    shown.keyboard.type("\nNew line é")
    expect(shown.get_by_text("56 of 20,000 characters")).to_be_visible()
    press(shown, "Control+Enter")
    expect(shown.get_by_text("Saved as version 4.")).to_be_visible()
    look(shown, "agents-block")
    press(shown, "u")
    expect(shown.get_by_label("Text", exact=True)).to_have_value("Ana likes short answers.\nShe works on search.")
    shown.get_by_role("link", name="Version 2", exact=True).click()
    shown.get_by_role("link", name="what going back would change").click()
    expect(shown.locator(".diff-added")).to_contain_text("She works on payments.")
    expect(shown.locator(".diff-removed")).to_contain_text("She works on search.")
    look(shown, "agents-version")
    shown.get_by_role("button", name="Go back to version 2").click()
    expect(shown.get_by_label("Text", exact=True)).to_have_value("Ana likes short answers.\nShe works on payments.")
    expect(shown.get_by_text("Version 2 is back, as version 6.")).to_be_visible()


def test_two_edits_of_one_block_lose_nothing(site: Any, enter: Enter, look: Look, remembered: dict[str, str]) -> None:
    assert remembered
    shown = enter(site, "/agents/blocks/human")
    with MemoryManager() as memory:
        memory.core.append("human", "An agent wrote this.")
    shown.get_by_label("Text", exact=True).fill("A person wrote this.")
    shown.get_by_role("button", name="Save", exact=True).click()
    expect(shown.get_by_role("heading", level=1)).to_have_text("Somebody has changed human meanwhile")
    expect(shown.get_by_role("textbox", name="Your text")).to_have_value("A person wrote this.")
    expect(shown.get_by_role("region", name="The text now (version 4)")).to_contain_text("An agent wrote this.")
    look(shown, "agents-conflict")
    shown.get_by_role("button", name="Save as version 5").click()
    expect(shown.get_by_text("Saved as version 5.")).to_be_visible()
    with MemoryManager() as memory:
        assert memory.core.block("human").value == "A person wrote this."
        assert "An agent wrote this." in memory.core.history("human")[1].value


def test_a_block_is_made_deleted_and_brought_back(site: Any, enter: Enter, remembered: dict[str, str]) -> None:
    assert remembered
    shown = enter(site, "/agents/new-block")
    shown.get_by_label("Label").fill("no spaces")
    shown.get_by_label("Text", exact=True).fill("Typed once")
    shown.get_by_role("button", name="Make it").click()
    expect(shown.get_by_role("alert")).to_contain_text("cannot be a label")
    expect(shown.get_by_label("Text", exact=True)).to_have_value("Typed once")
    shown.get_by_label("Label").fill("plans")
    shown.get_by_label("Most characters").fill("40")
    shown.get_by_role("button", name="Make it").click()
    expect(shown.get_by_text("Block plans was made.")).to_be_visible()
    shown.get_by_role("button", name="Delete").click()
    expect(shown.get_by_role("button", name="Bring back plans")).to_be_visible()
    press(shown, "u")
    expect(shown.get_by_label("Text", exact=True)).to_have_value("Typed once")
    expect(shown.get_by_text("10 of 40 characters")).to_be_visible()


def test_passages_by_tag_added_edited_deleted_and_undone(
    site: Any, enter: Enter, look: Look, remembered: dict[str, str]
) -> None:
    shown = enter(site, "/agents/passages")
    look(shown, "agents-passages")
    shown.get_by_role("complementary").get_by_role("link", name="queues").click()
    expect(shown.locator("article")).to_have_count(1)
    shown.go_back()
    expect(shown.locator("article")).to_have_count(2)
    press(shown, "s")
    shown.keyboard.type("why not Kafka?")
    shown.keyboard.press("Enter")
    expect(shown.locator("article mark").first).to_have_text("Kafka")
    shown.locator("article").first.get_by_role("link").first.click()
    expect(shown).to_have_url(f"{site.base}/agents/passages/{remembered['passage']}")
    shown.get_by_label("Tags").fill("queues, Rejected")
    shown.get_by_role("button", name="Save").click()
    expect(shown.get_by_label("Tags")).to_have_value("queues, rejected")
    look(shown, "agents-passage")
    shown.get_by_role("button", name="Delete").click()
    expect(shown.get_by_text("The passage was deleted.")).to_be_visible()
    expect(shown.locator("article")).to_have_count(1)
    press(shown, "u")
    expect(shown.get_by_label("Text")).to_have_value("Kafka was rejected because of its operations.")
    shown.goto(f"{site.base}/agents/new-passage")
    shown.get_by_label("Text").fill("Deploy with AKIAIOSFODNN7EXAMPLX and smile")
    shown.get_by_role("button", name="Store it").click()
    expect(shown.get_by_text("Stored. Masked:")).to_be_visible()
    expect(shown.get_by_label("Text")).not_to_have_value("Deploy with AKIAIOSFODNN7EXAMPLX and smile")


def test_people_and_channels(site: Any, enter: Enter, look: Look, remembered: dict[str, str]) -> None:
    shown = enter(site, "/agents/profiles")
    look(shown, "agents-people")
    fact = shown.locator(".fact").filter(has_text="I live in Lisbon")
    expect(fact).to_contain_text("% sure that it lasts")
    fact.get_by_role("button", name="Forget").click()
    expect(shown.get_by_text("The fact was forgotten.")).to_be_visible()
    expect(shown.locator(".fact").filter(has_text="I live in Lisbon")).to_have_count(0)
    press(shown, "u")
    expect(fact).to_be_visible()
    shown.get_by_label("Add a fact about you").fill("I like tea")
    shown.get_by_role("button", name="Add", exact=True).click()
    expect(shown.locator(".fact").filter(has_text="I like tea")).to_contain_text("written by you")
    fact.get_by_role("link", name="said").click()
    expect(shown.locator(".said-message.chosen")).to_contain_text("I live in Lisbon")
    shown.goto(f"{site.base}/agents/channels")
    look(shown, "agents-channels")
    shown.get_by_role("link", name="sample", exact=True).click()
    expect(shown.get_by_role("region", name="Lately")).to_be_visible()
    look(shown, "agents-channel")
    shown.goto(f"{site.base}/agents/channels/read?name=main")
    shown.get_by_role("button", name="Summarise now").click()
    expect(shown.get_by_text("up to date")).to_be_visible()
    assert remembered


def test_what_is_erased_is_said_first_and_is_gone(
    site: Any, enter: Enter, look: Look, remembered: dict[str, str], sage_home: Path
) -> None:
    shown = enter(site, "/agents/conversations/read?session=5e551011")
    shown.get_by_role("link", name="Erase …", exact=True).first.click()
    expect(shown.get_by_role("heading", level=1)).to_have_text("Erase this session?")
    expect(shown.get_by_text("4 messages")).to_be_visible()
    expect(shown.get_by_text("3 facts about people")).to_be_visible()
    expect(shown.get_by_text("This cannot be undone.")).to_be_visible()
    look(shown, "agents-erase")
    with MemoryManager() as memory:  # somebody says more in the meantime: the page asks again
        memory.recall.add([NewMessage("user", "One more", session="5e551011")])
    shown.get_by_label("I am sure").check()
    shown.get_by_role("button", name="Erase for good").click()
    expect(shown.get_by_role("alert")).to_contain_text("Nothing was erased")
    expect(shown.get_by_text("5 messages")).to_be_visible()
    shown.get_by_label("I am sure").check()
    shown.get_by_role("button", name="Erase for good").click()
    expect(shown.get_by_role("heading", level=2, name="1 session", exact=True)).to_be_visible()
    database = sage_home / "memory" / "memory.db"
    assert b"exponential backoff" not in database.read_bytes()
    assert database.stat().st_mode & 0o777 == 0o600
    shown.goto(f"{site.base}/agents/messages/{remembered['answer']}")
    expect(shown.get_by_role("alert")).to_contain_text("there is no such message")


def test_hostile_contents_are_text(site: Any, enter: Enter, remembered: dict[str, str]) -> None:
    with MemoryManager() as memory:
        memory.recall.add(
            [NewMessage("user", HOSTILE, session=HOSTILE[:60], speaker=HOSTILE[:40])], channel="<b>room", title=HOSTILE
        )
        memory.archive.insert("hostile " + HOSTILE, "<i>tag")
    shown = enter(site, "/agents")
    shown.on("dialog", lambda _: pytest.fail("a script ran"))
    pages = (
        "",
        "/conversations",
        "/conversations?q=" + quote(HOSTILE),
        "/conversations?role=user",
        "/conversations/read?session=" + quote(HOSTILE[:60]),
        "/blocks",
        "/blocks/notes",
        "/passages?q=hostile",
        "/profiles?name=" + quote(HOSTILE[:40]),
        "/channels",
        "/channels/read?name=%3Cb%3Eroom",
        "/erase?session=" + quote(HOSTILE[:60]),
    )
    for path in pages:
        shown.goto(f"{site.base}/agents{path}")
        assert shown.locator("main img, main script, main b, main i").count() == 0, path
        text = shown.locator("main").inner_text()
        assert not {"\u202e", "\x1b", "\u200b"} & set(text), path
    shown.goto(f"{site.base}/agents/blocks/notes")
    assert shown.get_by_label("Text", exact=True).input_value() == HOSTILE  # to be edited, it is what it is
    assert remembered


def test_narrow_and_dark(site: Any, enter: Enter, look: Look, remembered: dict[str, str]) -> None:
    shown = enter(site, "/agents")
    shown.emulate_media(color_scheme="dark")
    shown.set_viewport_size({"width": 360, "height": 740})
    paths = {
        "overview": "/agents",
        "search": "/agents/conversations?q=retry",
        "transcript": f"/agents/messages/{remembered['answer']}",
        "block": "/agents/blocks/human?version=3",
        "passages": "/agents/passages",
        "people": "/agents/profiles",
        "channel": "/agents/channels",
        "erase": "/agents/erase?session=long",
    }
    for name, path in paths.items():
        shown.goto(site.base + path)
        assert shown.evaluate("document.documentElement.scrollWidth") <= 360, path
        look(shown, f"agents-narrow-{name}")
