"""A million messages: how fast they are stored, how long `conversation_search` takes, how much memory it needs.

    python benchmarks/recall_scale.py [--engine sqlite|postgres] [--counts 10000 100000 300000 1000000] [--folder DIR]

Messages are made up: words of a Zipf distribution over 60,000, about 25 a message and now and then 400, ten thousand
sessions, through `RecallMemory.add` in batches of 1,000 with masks, words and vectors. A question is five words of a
message that is stored; how often that message is among the first ten says that the answers are real. Every count is
searched by a process of its own, whose peak memory is the figure (without the server of PostgreSQL). "FTS5" is the time
of SQLite's own ranking of the same words in the same process. Figures "of CPU" are processor time, of this process and,
with PostgreSQL, of the server: on a busy machine they say more than the clock. The model is loaded before the first
message is timed.

The server has the settings `SERVER`; with 2 cores and 1,000,000 vectors its own 128 MB of buffers and 1 GB of log would
measure the disk. With `--folder` a database is kept, and a later run goes on with it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path

import measure

from sage_code.memory.tiers.engines.opening import is_server
from sage_code.memory.tiers.engines.protocol import Engine
from sage_code.memory.tiers.ranking.parts import words_of_text

BATCH = 1_000
QUESTIONS = 200
WARM_UP = 10
ASKED = "what did we say about "
_SYLLABLES = ("ka", "lo", "mi", "ter", "ra", "ven", "sol", "pre", "in", "dan", "go", "fi", "nu", "bel", "tor", "as")
SERVER = {"shared_buffers": "4GB", "max_wal_size": "4GB", "checkpoint_timeout": "15min"}
_START = datetime(2025, 1, 1, tzinfo=UTC)


class Messages:
    """Made-up messages, the same for every run."""

    def __init__(self) -> None:
        chooser = random.Random(7)
        self._words = ["".join(chooser.choices(_SYLLABLES, k=chooser.choice((2, 2, 3, 3, 4)))) for _ in range(60_000)]
        self._weights = list(accumulate(1 / (rank + 2.7) for rank in range(len(self._words))))

    def batch(self, number: int) -> list[tuple[str, str, datetime, str]]:
        """Role, session, time and text of a thousand messages."""
        chooser = random.Random(number)
        lengths = [
            400 if chooser.random() < 0.01 else max(3, int(chooser.lognormvariate(3.1, 0.5))) for _ in range(BATCH)
        ]
        words = chooser.choices(self._words, cum_weights=self._weights, k=sum(lengths))
        found, start = [], 0
        for place, length in enumerate(lengths):
            text = " ".join(words[start : start + length])
            session = f"session-{number // 2:05d}-{place // 100}"
            when = _START + timedelta(minutes=number * 7, seconds=place)
            found.append(("user" if place % 2 == 0 else "assistant", session, when, text))
            start += length
        return found

    def question(self, chooser: random.Random, count: int) -> tuple[str, str]:
        """A question, and the text that it is about."""
        text = self.batch(chooser.randrange(count // BATCH))[chooser.randrange(BATCH)][3]
        words = list(dict.fromkeys(text.split()))
        return ASKED + " ".join(chooser.sample(words, min(5, len(words)))), text


def fill(uri: str, counts: list[int]) -> None:
    """Store messages up to each count; at each of them searches are measured in another process."""
    from sage_code.memory.tiers.opened import opened_recall
    from sage_code.memory.tiers.values import NewMessage
    from sage_code.settings.table import Settings

    made, recall = Messages(), opened_recall(Settings(memory_user="benchmark"), uri)
    done = recall.count()
    recall.catch_up()
    list(recall._embedded(["the model is loaded"]))
    for count in counts:
        spent = own = 0.0
        first, of_server = done, _server_cpu(uri)
        while done < count:
            new = [
                NewMessage(role, text, session=session, created_at=when)
                for role, session, when, text in made.batch(done // BATCH)
            ]
            started, cpu = time.perf_counter(), time.process_time()
            recall.add(new, source="benchmark")
            spent += time.perf_counter() - started
            own += time.process_time() - cpu
            done += BATCH
        of_server = _server_cpu(uri) - of_server
        rate, per_cpu = ((done - first) / max(one, 1e-9) for one in (spent, own + of_server))
        started = time.perf_counter()
        recall.engine.maintain()
        upkeep = time.perf_counter() - started
        found = measure.run([sys.executable, __file__, "--search", uri, "--counts", str(count)])
        result = found.json()
        print(
            f"| {count:,} | {rate:,.0f} | {per_cpu:,.0f} | {upkeep:.1f} | {result['p50']:.1f} | {result['p95']:.1f} |"
            f" {result['cpu']:.1f} | {result['server']:.1f} |"
            f" {result['plain']:.1f} | {result['first']:.0f} | {result['found']:.2f} | {found.own_mb:.0f} |"
            f" {recall.engine.size() / measure.MB:,.0f} |",
            flush=True,
        )
    peak = _status("VmHWM")
    print(f"peak memory of the process that stores: {peak:.0f} MB")


def search(uri: str, count: int) -> None:
    """Ask, and print how long it took."""
    from sage_code.memory.tiers.opened import opened_recall
    from sage_code.settings.table import Settings

    made, recall = Messages(), opened_recall(Settings(memory_user="benchmark"), uri)
    chooser, times, cpu, hits, of_server = random.Random(11), [], [], 0, 0.0
    for number in range(QUESTIONS + WARM_UP):
        question, text = made.question(chooser, count)
        if number == WARM_UP:
            of_server = _server_cpu(uri)
        started, before = time.perf_counter(), time.process_time()
        found = recall.search(question, 10)
        times.append((time.perf_counter() - started) * 1_000)
        cpu.append((time.process_time() - before) * 1_000)
        hits += number >= WARM_UP and any(one.message.content == text for one in found)
    of_server = _server_cpu(uri) - of_server
    plain = [_plain_fts5(recall.engine, made.question(chooser, count)[0]) for _ in range(QUESTIONS // 4)]
    warm = times[WARM_UP:]
    print(
        json.dumps(
            {
                "p50": statistics.median(warm),
                "p95": statistics.quantiles(warm, n=20)[-1],
                "cpu": statistics.median(cpu[WARM_UP:]),
                "server": of_server / QUESTIONS * 1_000,
                "first": times[0],
                "found": hits / QUESTIONS,
                "plain": statistics.median(plain),
            }
        )
    )


def _plain_fts5(engine: Engine, question: str) -> float:
    """The milliseconds of the ordinary query of FTS5 for the same words, by words alone; 0 for PostgreSQL."""
    if is_server(engine.uri):
        return 0.0
    words = " OR ".join(f'"{word}"' for word in words_of_text(question.removeprefix(ASKED)).split())
    started = time.perf_counter()
    with engine.reading() as rows:
        rows.all("SELECT rowid FROM message_words WHERE message_words MATCH ? ORDER BY rank LIMIT 10", (words,))
    return (time.perf_counter() - started) * 1_000


def _server_cpu(uri: str) -> float:
    """The processor time of the server so far, in seconds; 0 for SQLite."""
    if not is_server(uri):
        return 0.0
    from postgres import cpu_seconds

    return cpu_seconds(uri)


def _status(name: str) -> float:
    """A size of this process in MB, as Linux has it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--counts", type=int, nargs="+", default=[10_000, 100_000, 300_000, 1_000_000])
    parser.add_argument("--folder", default="")
    parser.add_argument("--search", default="", metavar="URI", help="only ask; used by the script itself")
    given = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # NumPy's threads would wait for each other on a busy machine
    if given.search:
        search(given.search, given.counts[0])
        return
    with ExitStack() as stack:
        folder = given.folder or stack.enter_context(tempfile.TemporaryDirectory())
        if given.engine == "postgres":
            from postgres import server

            uri = stack.enter_context(server(folder, **SERVER))
        else:
            uri = os.path.join(folder, "memory.db")
        print(
            "| messages | stored a second | stored a second of CPU | upkeep s | p50 ms | p95 ms | p50 of CPU |"
            " server, mean of CPU | FTS5 ms | first | found | peak MB | disk MB |"
        )
        print("|" + "---|" * 13, flush=True)
        fill(uri, sorted(given.counts))


if __name__ == "__main__":
    main()
