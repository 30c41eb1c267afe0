"""A writer that is killed at any moment leaves a database that opens, is sound and has all that was acknowledged."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from sage_code.memory.tiers.engines.sqlite import SqliteEngine
from sage_code.memory.tiers.values import Agent, Scope

KILLS = 12
DIM = 64
ADA = Agent("a", 1, "u", "ada")
WRITER = """
import sys
import numpy as np
from sage_code.memory.tiers.engines.protocol import Part
from sage_code.memory.tiers.engines.sqlite import SqliteEngine
from sage_code.memory.tiers.values import now

engine = SqliteEngine(sys.argv[1])
engine.use_model("model", 64)
with engine.writing() as rows:
    rows.run("INSERT INTO agents (id, user_id, name, created_at) VALUES ('a', 'u', 'ada', ?) ON CONFLICT DO NOTHING",
             (now(),))
    rows.run("INSERT INTO sessions (agent_id, id, started_at, last_at) VALUES ('a', 's', ?, ?) ON CONFLICT DO NOTHING",
             (now(), now()))
while True:
    with engine.writing() as rows:
        last = rows.one("SELECT coalesce(max(sequence), 0) FROM messages")[0]
        new = range(last + 1, last + 21)
        rows.many("INSERT INTO messages (sequence, id, agent_id, session, role, created_at, content)"
                  " VALUES (?, ?, 'a', 1, 'user', ?, ?)", ((one, str(one), now(), f"text {one}") for one in new))
        rows.run("UPDATE agents SET message_count = message_count + 20")
        engine.add_words(rows, "message", [(one, f"text word{one}") for one in new])
        vectors = np.stack([np.random.default_rng(one).normal(size=64) for one in new]).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1)[:, None]
        engine.add_vectors(rows, "message", [Part(one, 1) for one in new], vectors)
        if last % 100 == 60:
            engine.remove(rows, "message", [last])
            rows.run("DELETE FROM messages WHERE sequence = ?", (last,))
            rows.run("UPDATE agents SET message_count = message_count - 1")
    print(new[-1], flush=True)
"""


@pytest.mark.slow
def test_killed_writers_lose_nothing_that_they_acknowledged(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "memory.db"
    chance = random.Random(seed)
    acknowledged = 0
    for _ in range(KILLS):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True, bufsize=1
        ) as writer:
            assert writer.stdout is not None
            first = writer.stdout.readline()  # it has begun
            time.sleep(chance.uniform(0, 0.3))
            os.kill(writer.pid, signal.SIGKILL)
            said = [first, *writer.stdout]
        acknowledged = max(acknowledged, *(int(line) for line in said if line.endswith("\n")))
        engine = SqliteEngine(str(path))
        assert engine.verify() == []
        with engine.reading() as rows:
            stored = rows.one("SELECT max(sequence) FROM messages")
            assert stored is not None
            assert stored[0] >= acknowledged
            for one in chance.sample(range(1, acknowledged + 1), 5):
                if one % 100 == 60:
                    continue
                assert engine.with_words(rows, "message", {f"word{one}": 1.0}, Scope(ADA), 5)[0][0] == one
                vector = np.random.default_rng(one).normal(size=DIM).astype(np.float32)
                found = engine.nearest(rows, "message", vector / np.linalg.norm(vector), Scope(ADA), 1)
                assert found[0][0] == one
        engine.close()
    assert acknowledged > 0
