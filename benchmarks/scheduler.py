"""The scheduler under kills: many channels, two processes, the leader killed again and again.

    python benchmarks/scheduler.py [--engine sqlite|postgres] [--channels 1000] [--kills 20] [--rounds 3]

In each round every channel gets ten messages, which makes its summary due; two processes run `Scheduler.run`, and one
of them is killed at random moments (fixed seed). Every channel must have exactly one new version for each round, made
from all of its messages, with nothing waiting. Half of the rounds move the clock: the database says that the messages
came from the future (a clock set back) or long ago (one that was set ahead, or a machine that slept).
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import timedelta
from typing import Any

from sage_code.memory.tiers.engines.opening import open_engine
from sage_code.memory.tiers.engines.protocol import Engine
from sage_code.memory.tiers.opened import opened_agent
from sage_code.memory.tiers.recall_memory import RecallMemory
from sage_code.memory.tiers.values import NewMessage, now
from sage_code.settings.table import Settings

SETTINGS: dict[str, Any] = {"memory_user": "benchmark", "scheduler_tick_s": 1.0}
_LIMIT_S = 600.0


def child(uri: str) -> None:
    """Run a scheduler until this process is killed."""
    import threading

    from sage_code.memory.channels.scheduler import Scheduler
    from sage_code.memory.context.extractive import ExtractiveSummariser

    engine = open_engine(uri)
    Scheduler(engine, "benchmark", Settings(**SETTINGS), ExtractiveSummariser()).run(threading.Event())


def run(uri: str, channels: int, kills: int, rounds: int) -> None:
    engine, settings, chance = open_engine(uri), Settings(**SETTINGS), random.Random(5)
    agent = opened_agent(engine, settings)
    recall = RecallMemory(engine, agent, settings)
    print("| round | clock | kills | seconds | channels | exactly one version | all messages read | waiting |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for number in range(1, rounds + 1):
        count = 10 if number % 2 else 3  # ten are due at once, three only by their age
        for at in range(channels):
            said = [
                NewMessage("user", f"round {number}: we decided on plan {turn} of {at}", session=f"s{at}")
                for turn in range(count)
            ]
            recall.add(said, channel=f"#{at:04d}", embed=False)
        moved = _moved(engine, number)
        started = time.monotonic()
        done = _killed_until_done(engine, agent.id, uri, channels, number, kills, chance)
        found = _found(engine, agent.id)
        once = sum(version == number for version, _, _ in found.values())
        expected = sum(10 if one % 2 else 3 for one in range(1, number + 1))
        read = sum(messages == expected for _, messages, _ in found.values())
        waiting = sum(left for _, _, left in found.values())
        print(
            f"| {number} | {moved} | {done} | {time.monotonic() - started:.1f} | {len(found):,} | {once:,} | {read:,} |"
            f" {waiting} |",
            flush=True,
        )


def _moved(engine: Engine, number: int) -> str:
    """Let the messages of a round come from another time, as a clock that jumps makes it look."""
    if number % 2:
        return "steady"
    back = number % 4 == 0
    moment = now() + (timedelta(hours=2) if back else -timedelta(days=400))
    with engine.writing() as rows:
        rows.run("UPDATE channels SET dirty_at = ? WHERE dirty_at IS NOT NULL", (moment,))
    return "set back by 2 h" if back else "ahead by 400 days"


def _killed_until_done(
    engine: Engine, agent_id: str, uri: str, channels: int, number: int, kills: int, chance: random.Random
) -> int:
    """Run two processes, kill one of them now and then, until every channel has its version; returns the kills."""
    running = [_started(uri) for _ in range(2)]
    done, end = 0, time.monotonic() + _LIMIT_S
    try:
        while time.monotonic() < end:
            time.sleep(chance.uniform(0.3, 1.2))
            if done < kills:
                victim = running.pop(0)
                victim.send_signal(signal.SIGKILL)
                victim.wait()
                running.append(_started(uri))
                done += 1
            found = _found(engine, agent_id)
            if done >= kills and len(found) == channels and all(one[0] >= number for one in found.values()):
                time.sleep(2.5)  # two more ticks: nothing may be made twice
                return done
    finally:
        for process in running:
            process.kill()
            process.wait()
    return done


def _started(uri: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, __file__, "--child", uri])


def _found(engine: Engine, agent_id: str) -> dict[str, tuple[int, int, int]]:
    """For each channel the newest version, the messages that it has read, and those that wait."""
    with engine.reading() as rows:
        found = rows.all(
            "SELECT c.name, coalesce(max(v.version), 0), coalesce(max(v.messages), 0), max(c.waiting) FROM channels c"
            " LEFT JOIN channel_summaries v ON v.agent_id = c.agent_id AND v.channel = c.name AND v.kind = 'rolling'"
            " WHERE c.agent_id = ? GROUP BY c.name",
            (agent_id,),
        )
    return {name: (version, messages, waiting) for name, version, messages, waiting in found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=("sqlite", "postgres"), default="sqlite")
    parser.add_argument("--channels", type=int, default=1_000)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--child", default="", metavar="URI", help="used by the script itself")
    given = parser.parse_args()
    if given.child:
        child(given.child)
        return
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        if given.engine == "postgres":
            from postgres import server

            uri = stack.enter_context(server(folder))
        else:
            uri = os.path.join(folder, "memory.db")
        run(uri, given.channels, given.kills, given.rounds)


if __name__ == "__main__":
    main()
