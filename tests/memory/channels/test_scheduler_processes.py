"""The scheduler as real processes: the leader is killed, another takes over, each due summary is made exactly once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from sage_code.memory.tiers.engines.opening import open_engine
from sage_code.memory.tiers.engines.protocol import Engine
from sage_code.memory.tiers.opened import opened_agent
from sage_code.memory.tiers.recall_memory import RecallMemory
from sage_code.memory.tiers.tables import channels
from sage_code.memory.tiers.values import NewMessage
from sage_code.settings.loading import load_settings

CHANNELS = 60
# A process that summarises until it is ended; every summary takes a moment, so that kills hit the middle of one.
RUN = """
import sys, threading, time
from dataclasses import replace
from sage_code.memory.channels.scheduler import Scheduler
from sage_code.memory.context.extractive import ExtractiveSummariser
from sage_code.memory.tiers.engines.opening import open_engine
from sage_code.memory.tiers.opened import user_of
from sage_code.settings.loading import load_settings

class Slow(ExtractiveSummariser):
    def summarise(self, *given, **named):
        time.sleep(0.01)
        return super().summarise(*given, **named)

settings = replace(load_settings(None), scheduler_tick_s=1.0)
engine = open_engine(sys.argv[1])
print("up", flush=True)
say = lambda tick: tick.steps and print(len(tick.steps), flush=True)
Scheduler(engine, user_of(settings), settings, Slow(), on_tick=say).run(threading.Event())
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_killed_leader_loses_and_doubles_nothing(kind: str, request: pytest.FixtureRequest, tmp_path: object) -> None:
    uri = os.path.join(str(tmp_path), "memory", "memory.db")
    if kind == "postgres":
        server = request.getfixturevalue("postgres")
        name = server.fresh()
        request.addfinalizer(lambda: server.drop(name))
        uri = server.uri(name)
    engine, settings = open_engine(uri), load_settings(None)
    agent = opened_agent(engine, settings)
    recall = RecallMemory(engine, agent, settings)
    for number in range(CHANNELS):
        said = [NewMessage("user", f"we decided on {number}.{turn}", session=f"s{number}") for turn in range(10)]
        recall.add(said, channel=f"#{number}", embed=False)
    running = [_started(uri) for _ in range(2)]
    try:
        for _ in range(4):  # kills while the work is under way
            time.sleep(0.25)
            victim = running.pop(0)
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            running.append(_started(uri))
        deadline = time.monotonic() + 60
        while _made(engine, agent.id) != {f"#{number}": 1 for number in range(CHANNELS)}:
            assert time.monotonic() < deadline, _made(engine, agent.id)
            time.sleep(0.1)
        time.sleep(1.5)  # a tick more: nothing is made twice
        assert set(_made(engine, agent.id).values()) == {1}
        with engine.reading() as rows:
            assert {one.waiting for one in channels.channels_of(rows, agent.id)} == {0}
    finally:
        for process in running:
            process.kill()
            process.wait()
        engine.close()


def _started(uri: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", RUN, uri], stdout=subprocess.DEVNULL)


def _made(engine: Engine, agent_id: str) -> dict[str, int]:
    """The number of versions of each channel's summary."""
    with engine.reading() as rows:
        found = rows.all(
            "SELECT channel, max(version) FROM channel_summaries WHERE agent_id = ? AND kind = 'rolling'"
            " GROUP BY channel",
            (agent_id,),
        )
    return dict(found)
