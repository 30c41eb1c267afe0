"""What stays of many open pages after minutes: memory, descriptors and threads of the server, the heaps of the pages.

    python benchmarks/web_soak.py [MINUTES] [--rounds 50] [--pages 20]

A made-up project with git and memories, `sage web`, and one Chromium with a mix of all pages. While the pages stay
open, the project is changed and indexed again by other processes, searched, and memories are saved and removed. At the
end every page of the project must say that it is old, or show what is new. Exits with 1 if one does not.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import environment, find_browser, table
from playwright.sync_api import BrowserContext, CDPSession, Page, sync_playwright

MB = 1 << 20
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"]
_FILES = 150
# How long a page may take to say that it is old, after the last change.
_PATIENCE_S = 60.0
_PATHS = (
    "/?q=round", "/?q=helper&in=soak", "/p/soak/code/", "/p/soak/code/part0.py", "/p/soak/code/part1.py",
    "/p/soak/map", "/p/soak/graph?name=helper_0", "/p/soak/changes", "/p/soak/memory", "/p/soak/stale",
    "/p/soak/health", "/health", "/agents", "/p/soak/impact?what=part0.py",
)  # fmt: skip
# Counts what a page hears, from when it is open.
_COUNT = """async () => {
  window.heard = 0;
  const { onEvent } = await import('/static/live.js');
  onEvent((message) => { if (message.kind === 'event') window.heard += 1; });
}"""


@dataclass(slots=True)
class Open:
    """One open page."""

    path: str
    page: Page
    session: CDPSession
    heap_at_start: float = 0.0
    heap_at_end: float = 0.0

    def heap(self) -> float:
        """What its scripts hold, in MB, after a collection."""
        self.session.send("HeapProfiler.collectGarbage")
        return float(self.session.send("Runtime.getHeapUsage")["usedSize"]) / MB


@dataclass(frozen=True, slots=True)
class Figures:
    """The server at one moment."""

    rss_mb: float
    descriptors: int
    threads: int


class Work:
    """The project, and what other processes do to it."""

    def __init__(self, home: Path) -> None:
        self.root = home / "soak"
        self.env = environment(
            {"HOME": str(home), "SAGE_HOME": str(home / ".sage"), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        )

    def sage(self, *words: str) -> None:
        """Run `sage` in a process of its own."""
        command = [sys.executable, "-P", "-m", "sage_cli.entry", *words]
        subprocess.run(command, cwd=self.root, env=self.env, capture_output=True, check=False, timeout=300)

    def make(self) -> None:
        """Write the project, commit it and index it."""
        (self.root / ".sage").mkdir(parents=True)
        for number in range(_FILES):
            uses = f"from part{number - 1} import helper_{number - 1}\n\n\n" if number else ""
            call = f"helper_{number - 1}(value)" if number else "value"
            (self.root / f"part{number}.py").write_text(
                f'{uses}def helper_{number}(value):\n    """Help with part {number}."""\n    return {call} + {number}\n'
            )
        git = ["git", "-c", "user.name=soak", "-c", "user.email=soak@example.org", "-c", "init.defaultBranch=main"]
        for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "begin"]):
            subprocess.run([*git, *words], cwd=self.root, env=self.env, check=True)
        self.sage("index")
        for number in range(5):
            self.sage(
                "todo", "add", f"Look at part {number}", "--id", f"todo-{number}", "--ref", f"part{number}.py:1-3"
            )

    def change(self, number: int) -> None:
        """One round: files change, come and go, the index follows, somebody asks and notes something."""
        for part in (0, 1, number % _FILES):
            path = self.root / f"part{part}.py"
            path.write_text(path.read_text() + f"\n\ndef round_{number}_{part}(value):\n    return value * {number}\n")
        (self.root / f"new{number}.py").write_text(f"def fresh_{number}():\n    return {number}\n")
        if number > 3:
            (self.root / f"new{number - 3}.py").unlink(missing_ok=True)
        self.sage("index")
        self.sage("search", f"what does round {number} do")
        if number % 5 == 0:
            self.sage("todo", "add", f"Round {number}", "--id", f"round-{number}")
            self.sage("knowledge", "rm", f"round-{number - 5}")


@contextlib.contextmanager
def served(work: Work) -> Iterator[tuple[int, str, str]]:
    """`sage web`: its process, its address and its token."""
    command = [sys.executable, "-P", "-m", "sage_cli.entry", "web", "--no-open", "--port", "0"]
    process = subprocess.Popen(
        command, cwd=work.root, env=work.env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    found = re.search(r"(http://\S+?)/enter\?token=(\S+)", process.stdout.readline())
    assert found
    try:
        yield process.pid, found[1], found[2]
    finally:
        process.terminate()
        began = time.monotonic()
        process.wait(30)
        print(f"the server ended in {time.monotonic() - began:.2f} s; it said: {process.stdout.read().strip()[-2000:]}")


def figures(pid: int) -> Figures:
    """How the server is."""
    status = Path(f"/proc/{pid}/status").read_text()
    rss = re.search(r"VmRSS:\s+(\d+)", status)
    threads = re.search(r"Threads:\s+(\d+)", status)
    assert rss
    assert threads
    return Figures(int(rss[1]) / 1024, len(os.listdir(f"/proc/{pid}/fd")), int(threads[1]))


def opened(context: BrowserContext, base: str, token: str, count: int) -> list[Open]:
    """The pages, each read to its end once."""
    found = []
    for number in range(count):
        page = context.new_page()
        if not number:
            page.goto(f"{base}/enter?token={token}")
        path = _PATHS[number % len(_PATHS)]
        page.goto(base + path)
        page.wait_for_load_state("load")
        page.evaluate(_COUNT)
        found.append(Open(path, page, context.new_cdp_session(page)))
    return found


def state_of(one: Open, marker: str, changed: float) -> str:
    """What a page says after the last change: its notice, or what is new on it."""
    notice = one.page.locator("#notice")
    if notice.is_visible():
        return "notice"
    if one.path.endswith("/health"):
        text = one.page.locator("#content").inner_text()
        return "shows it" if "fresh" in text and "not fresh" not in text else ""
    if one.path.startswith("/agents"):
        return "not concerned"
    if one.path.startswith("/?q"):  # it asks again by itself
        return "asked again" if float(one.page.evaluate("document.body.dataset.made")) > changed else ""
    return "shows it" if marker in one.page.locator("#content").inner_text() else ""


def soak(minutes: float, rounds: int, count: int) -> int:
    """The whole test; how many pages are old and do not say so."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        work = Work(Path(folder))
        work.make()
        pid, base, token = stack.enter_context(served(work))
        browser = stack.enter_context(sync_playwright()).chromium.launch(executable_path=find_browser(), args=_FLAGS)
        stack.callback(browser.close)
        context = browser.new_context()
        context.set_default_timeout(60_000)
        pages = opened(context, base, token, count)
        began = time.monotonic()
        moments: list[tuple[str, Figures]] = [("pages open", figures(pid))]
        changed = 0.0
        for number in range(1, rounds + 1):
            changed = time.time()
            work.change(number)
            elapsed = time.monotonic() - began
            if len(moments) == 1 and elapsed >= min(60, minutes * 6):
                moments.append((f"after {elapsed:.0f} s, {number} rounds", figures(pid)))
                for one in pages:
                    one.heap_at_start = one.heap()
            print(f"round {number}: {elapsed:.0f} s, {figures(pid)}", file=sys.stderr)
            pages[0].page.wait_for_timeout(max(0.0, number / rounds * minutes * 60 - elapsed) * 1_000)
        for one in pages:
            one.heap_at_end = one.heap()  # before anything else is asked of it
        last = time.monotonic()
        marker = f"round_{rounds}_0"
        states = {id(one): state_of(one, marker, changed) for one in pages}
        while not all(states.values()) and time.monotonic() - last < _PATIENCE_S:
            pages[0].page.wait_for_timeout(500)
            states = {id(one): states[id(one)] or state_of(one, marker, changed) for one in pages}
        moments.append((f"after {time.monotonic() - began:.0f} s, {rounds} rounds", figures(pid)))
        _show(pages, states, moments)
        _usable(pages)
        return sum(not state for state in states.values())


def _usable(pages: list[Open]) -> None:
    """Whether each tab still answers: six connections for twenty tabs would be too few if each held one."""
    began = time.monotonic()
    for one in pages:
        one.page.reload(wait_until="domcontentloaded")
        assert one.page.locator("#notice").is_hidden()
    print(f"all {len(pages)} pages were loaded again in {time.monotonic() - began:.1f} s, without a notice")


def _show(pages: list[Open], states: dict[int, str], moments: list[tuple[str, Figures]]) -> None:
    rows: list[tuple[Any, ...]] = []
    for one in pages:
        heard = one.page.evaluate("window.heard")
        rows.append(
            (
                one.path,
                heard,
                f"{one.heap_at_start:.2f}",
                f"{one.heap_at_end:.2f}",
                states[id(one)] or "OLD, SAYS NOTHING",
            )
        )
    print(table(("page", "events", "heap MB after a minute", "at the end", "after the last change"), rows))
    print(table(("server", "RSS MB", "descriptors", "threads"),
        [(when, f"{one.rss_mb:.1f}", one.descriptors, one.threads) for when, one in moments]))  # fmt: skip


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("minutes", nargs="?", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--pages", type=int, default=20)
    given = parser.parse_args()
    sys.exit(1 if soak(given.minutes, given.rounds, given.pages) else 0)


if __name__ == "__main__":
    main()
