"""The pages about agents' memory with many messages: how long the server takes for lists, searches and transcripts.

    python benchmarks/web_agents.py [--messages 100000] [--folder DIR] [--times 21]

The messages are those of `recall_scale.py`, in sessions of 200, and one session has a fifth of all. Each address is
asked over HTTP from a running `sage web` while a page listens to its events, once to warm up and then `--times` times;
searches ask another question each time. With `--folder` the database is kept, and a later run uses it.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from recall_scale import BATCH, Messages

ONE_LONG = "one-long-session"


def fill(count: int) -> None:
    """Store messages in the user's database, unless they are there."""
    from sage_code.memory.tiers.opened import opened_recall
    from sage_code.memory.tiers.values import NewMessage
    from sage_code.settings.loading import load_settings

    recall, made = opened_recall(load_settings(None)), Messages()
    done = recall.count()
    while done < count:
        is_long = done % (5 * BATCH) == 0
        recall.add(
            [
                NewMessage(role, text, session=ONE_LONG if is_long else session, created_at=when)
                for role, session, when, text in made.batch(done // BATCH)
            ],
            project="/work/shop" if done % (2 * BATCH) else "/work/site",
            title="A session",
            source="benchmark",
        )
        done += BATCH
    recall.engine.maintain()
    recall.engine.close()


def main() -> None:
    """Fill, serve, ask, print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--messages", type=int, default=100_000)
    parser.add_argument("--folder", default="")
    parser.add_argument("--times", type=int, default=21)
    given = parser.parse_args()
    home = Path(given.folder or tempfile.mkdtemp(prefix="sage-web-agents-"))
    os.environ |= {"HOME": str(home), "SAGE_HOME": str(home / ".sage")}
    fill(given.messages)
    server = subprocess.Popen(
        [sys.executable, "-m", "sage_cli.entry", "web", "--no-open", "--port", "0"],
        stdout=subprocess.PIPE, text=True, cwd=home,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        found = re.search(r"(http://127\.0\.0\.1:\d+)/enter\?token=(\S+)", server.stdout.readline())
        assert found
        live = urllib.request.Request(f"{found[1]}/live", headers={"Authorization": f"Bearer {found[2]}"})
        with urllib.request.urlopen(live):  # as an open page does
            measure(found[1], found[2], given.messages, given.times)
    finally:
        server.terminate()
        server.wait()


def measure(base: str, token: str, count: int, times: int) -> None:
    """Ask for each page."""
    made, chooser = Messages(), random.Random(3)
    last = count // 5 // 50

    def question() -> str:
        return quote(made.question(chooser, count)[0])

    pages: dict[str, Callable[[], str]] = {
        "overview": lambda: "/agents",
        "sessions, first page": lambda: "/agents/conversations",
        "sessions of a project, page 5": lambda: "/agents/conversations?project=%2Fwork%2Fshop&page=5",
        "messages of a role, newest": lambda: "/agents/conversations?role=user",
        "messages of a role, page 100": lambda: "/agents/conversations?role=user&page=100",
        "search": lambda: f"/agents/conversations?q={question()}",
        "search in a project and a role": lambda: (
            f"/agents/conversations?q={question()}&project=%2Fwork%2Fshop&role=user"
        ),
        "transcript, first page": lambda: f"/agents/conversations/read?session={ONE_LONG}",
        f"transcript, page {last:,}": lambda: f"/agents/conversations/read?session={ONE_LONG}&page={last}",
        "channels": lambda: "/agents/channels",
        "asking before erasing a fifth": lambda: f"/agents/erase?session={ONE_LONG}",
    }
    print(f"{count:,} messages\n\n| page | p50 ms | p95 ms | kB |\n|---|---|---|---|")
    for name, path in pages.items():
        spent, size = [], 0
        for number in range(times + 1):
            request = urllib.request.Request(base + path(), headers={"Authorization": f"Bearer {token}"})
            started = time.perf_counter()
            with urllib.request.urlopen(request) as answer:
                size = len(answer.read())
            if number:
                spent.append(1000 * (time.perf_counter() - started))
        p95 = statistics.quantiles(spent, n=20)[-1]
        print(f"| {name} | {statistics.median(spent):.1f} | {p95:.1f} | {size / 1000:.0f} |", flush=True)


if __name__ == "__main__":
    main()
