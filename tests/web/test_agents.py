"""What agents remember, in a real browser: read, searched, edited, undone, erased; and nothing by looking alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

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
                NewMessage("user", f"Line {number} of a long chat", session="long", created_at=START + timedelta(days=1, minutes=number))
                for number in range(120)
            ],
            title="A long chat",
        )
        memory.core.set("human", "Ana likes short answers.\nShe works on payments.", by_person=True)
        memory.core.set("human", "Ana likes short answers.\nShe works on search.", by_person=True)
        memory.core.create("notes", HOSTILE, description="What to keep in mind", char_limit=500)
        ids["passage"] = memory.archive.insert("Kafka was rejected because of its operations.", "decision,queues").passage.id
        memory.archive.insert(f"Postgres LISTEN is enough. {HOSTILE}", "decision")
        ChannelMemory(memory.engine, memory.agent, memory.settings, str(sample)).summarise()
    return ids


def test_looking_at_nothing_makes_nothing(site: Any, enter: Enter, look: Look, sage_home: Path) -> None:
    shown = enter(site, "/agents")
    expect(shown.get_by_role("heading", level=1)).to_have_text("Agents remember nothing yet")
    look(shown, "agents-nothing")
    for path in ("conversations", "blocks", "passages", "profiles", "channels", "new-block", "new-passage", "erase?session=x", "blocks/human"):
        shown.goto(f"{site.base}/agents/{path}")
        expect(shown.get_by_role("heading", level=1)).to_be_visible()
    assert not (sage_home / "memory" / "memory.db").exists()


def test_search_read_and_permalink(site: Any, enter: Enter, look: Look, remembered: dict[str, str]) -> None:
    shown = enter(site, "/agents")
    expect(shown.get_by_text("124 messages")).to_be_visible()
    look(shown, "agents-overview")
    shown.get_by_label("Agents’ memory").get_by_role("link", name="Conversations").click()
    look(shown, "agents-sessions")
    shown.keyboard.press("Escape")
    shown.keyboard.press("s")
    shown.keyboard.type("how should payments retry?")
    shown.keyboard.press("Enter")
    first = shown.locator("article.answer").first
    expect(first.locator("mark").first).to_be_visible()
    expect(shown.locator("article.answer").filter(has_text="exponential backoff")).to_have_count(1)
    look(shown, "agents-search")
    shown.get_by_label("Who").select_option("assistant")
    shown.get_by_role("button", name="Search").click()
    expect(shown).to_have_url(f"{site.base}/agents/conversations?q=how+should+payments+retry%3F&role=assistant&project=&since=&until=")
    expect(shown.locator("article.answer").first).to_contain_text("exponential backoff")
    shown.keyboard.press("j")
    shown.keyboard.press("Enter")
    message = shown.locator(f"#m-{remembered['answer']}")
    expect(message).to_be_in_viewport()
    expect(message).to_have_class("said-message role-edge-assistant chosen")
    expect(shown.get_by_role("heading", level=1)).to_have_text("Retries of the payment service")
    look(shown, "agents-transcript")
    shown.go_back()
    expect(shown.get_by_label("Who")).to_have_value("assistant")
    shown.goto(f"{site.base}/agents/conversations?since=2026-03-04")
    expect(shown.get_by_text("No session fits these filters")).to_be_visible()
