"""The pages about health: freshness, what was left out, the doctor, usage, and index runs from start to end."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from sage_code import Project
from sage_code.files.locks import locked
from sage_code.paths import index_lock

from .conftest import WebServer

Enter = Callable[..., Page]
Look = Callable[..., Any]


def _transcript(home: Path, cwd: Path) -> None:
    """A transcript of today with two replies."""
    folder = home / ".claude" / "projects" / "-w-sample"
    folder.mkdir(parents=True)
    lines = []
    for number in (1, 2):
        used = {"input_tokens": 1_000_000, "output_tokens": 50_000, "cache_read_input_tokens": 4_000_000}
        message = {"id": f"m{number}", "role": "assistant", "model": "claude-sonnet-4-6", "usage": used, "content": []}
        stamp = f"{date.today().isoformat()}T12:00:00.000Z"
        lines.append(json.dumps({"type": "assistant", "cwd": str(cwd), "timestamp": stamp, "message": message}))
    (folder / "s.jsonl").write_text("\n".join(lines) + "\n")


def test_a_project_shows_how_it_is(sample: Path, site: WebServer, sage_home: Path, enter: Enter, look: Look) -> None:
    _transcript(sage_home.parent, sample)
    Project.open(sample).memory.save_knowledge(_item("retries", "Retries are counted per host"), refs=["server.py:17"])
    shown = enter(site, "/p/sample/health")
    expect(shown.locator("#freshness-body")).to_contain_text("Every file is in the index")
    (sample / "new.py").write_text("def added():\n    return 1\n")
    shown.reload()
    index = shown.get_by_role("region", name="Index", exact=True)
    expect(index).to_contain_text("not fresh")
    expect(index.get_by_role("link", name="new.py")).to_be_visible()
    expect(index).to_contain_text("just now")
    expect(shown.locator("#store-body")).to_contain_text("256 dimensions")
    expect(shown.locator("#memory-body")).to_contain_text("All of them hold")
    expect(shown.locator("#beside-body")).to_contain_text("does not run")
    skipped = shown.locator("#skipped-body")
    expect(skipped.get_by_text("logo.bin")).to_be_visible()
    shown.get_by_label("Path contains").fill("nothing-like-this")
    expect(skipped).to_contain_text("Nothing that was left out has nothing-like-this")
    usage = shown.get_by_role("region", name="Tokens that agents used here")
    expect(usage.get_by_role("img")).to_have_attribute("aria-label", f"list price in US dollars by day from {_first()} "
        f"to {date.today()}, at most $9.90")  # fmt: skip
    usage.get_by_text("Figures", exact=True).click()
    expect(usage.get_by_role("row", name=f"{date.today()} 2 2.0M 100.0k 8.0M $9.90")).to_be_visible()
    doctor = shown.locator("#doctor-body")
    doctor.get_by_role("button", name="Examine again").click()
    expect(doctor.locator("li", has_text="ok mcp")).to_be_visible()
    # Whether the changed file is in the index by now depends on the doctor's own round trip.
    expect(doctor.locator("li", has_text="index").first).to_be_visible()
    shown.set_viewport_size({"width": 1280, "height": 2400})
    look(shown, "health-project")
    shown.set_viewport_size({"width": 360, "height": 3600})
    look(shown, "health-project-360")
    shown.emulate_media(color_scheme="dark")
    shown.set_viewport_size({"width": 1280, "height": 2400})
    look(shown, "health-project-dark")


def _first() -> date:
    from datetime import timedelta

    return date.today() - timedelta(days=29)


def _item(id_: str, content: str) -> Any:
    from sage_code.memory.files.knowledge import KnowledgeItem

    return KnowledgeItem(id_, content)


@pytest.mark.usefixtures("no_doctor")
def test_a_run_is_started_followed_and_stopped(sample: Path, site: WebServer, enter: Enter, look: Look) -> None:
    for number in range(300):
        lines = "\n".join(f"def f{number}_{line}(x):\n    return x + {line}" for line in range(60))
        (sample / f"m{number}.py").write_text(lines)
    shown, other = enter(site, "/p/sample/health"), enter(site, "/health")
    run = shown.locator("#run")
    run.get_by_role("button", name="Index what has changed").click()
    expect(run.get_by_role("progressbar")).to_be_visible()
    expect(run).to_contain_text(re.compile(r"indexing [1-9]\d* of 300"))
    expect(other.locator("[data-card=sample]")).to_contain_text("being indexed")
    look(shown, "health-run")
    run.get_by_role("button", name="Stop").click()
    expect(run).to_contain_text("stopped after")
    expect(other.locator("[data-card=sample]")).to_contain_text("files changed")
    for number in range(2, 300):
        (sample / f"m{number}.py").unlink()
    run.get_by_role("button", name="Index what has changed").click()
    expect(run).to_contain_text("2 files indexed, 2 unchanged")
    expect(shown.locator("#freshness-body")).to_contain_text("Every file is in the index as it is on the disk")
    expect(other.locator("[data-card=sample]")).to_contain_text("fresh")
    # A run belongs to the server, and ends with it.
    run.get_by_role("button", name="Read every file again").click()
    expect(run.get_by_role("button", name="Stop")).to_be_visible()
    site.process.terminate()
    site.process.wait(30)
    with locked(index_lock(str(sample)), timeout_s=30):
        assert Project.open(sample).status().fresh


@pytest.mark.usefixtures("no_doctor")
def test_a_run_that_fails_says_why(sample: Path, site: WebServer, enter: Enter) -> None:
    shown = enter(site, "/p/sample/health")
    lock = sample / ".sage" / "codebase" / "index.lock"
    lock.unlink()
    lock.symlink_to(sample / "elsewhere")
    run = shown.locator("#run")
    run.get_by_role("button", name="Read every file again").click()
    expect(run).to_contain_text("failed")
    expect(run).to_contain_text("the last good index is untouched")
