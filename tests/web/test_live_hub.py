"""What the live events cost and promise: bounded memory, one reader only for listeners, runs of others."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sage_code import Project
from sage_code.errors import Busy
from sage_code.paths import listeners_dir
from sage_web.projects import Projects
from sage_web.running import live as live_module
from sage_web.running.index_runs import IndexRuns, Run
from sage_web.running.live import Live


def _messages(chunk: bytes) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in chunk.decode().split("\n\n") if line.startswith("data: ")]


async def _until(stream: AsyncIterator[bytes], is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """The first message of a stream that is meant."""
    async for chunk in stream:
        for message in _messages(chunk):
            if is_it(message):
                return message
    raise AssertionError("the stream has ended")


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run it in a thread: the tests in the browser have a loop in this one."""
    with ThreadPoolExecutor(1) as threads:
        threads.submit(asyncio.run, work).result(60)


def test_a_slow_page_loses_the_oldest_and_is_told_how_many(sample: Path) -> None:
    async def work() -> None:
        hub = Live(Projects())
        hub.attach()
        stream = hub.stream()
        await _until(stream, lambda one: one["kind"] == "state")
        for number in range(5_000):
            hub.send({"kind": "event", "number": number})
        await asyncio.sleep(0)
        taken = _messages(await anext(stream))
        assert taken[0]["kind"] == "lost"
        assert taken[0]["count"] > 4_500 > len(taken) * 9
        assert [one["number"] for one in taken if one["kind"] == "event"][-1] == 4_999
        hub.close()
        assert [chunk async for chunk in stream] == []

    _run(work())


def test_nobody_is_listened_to_without_a_page(sample: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_module, "_LINGER_S", 0.0)

    async def work() -> None:
        hub = Live(Projects())
        hub.attach()
        streams = [hub.stream() for _ in range(3)]
        for stream in streams:
            await anext(stream)
        while not os.path.isdir(listeners_dir()):
            await asyncio.sleep(0.01)
        assert len(os.listdir(listeners_dir())) == 1  # one reader for all
        for stream in streams:
            await stream.aclose()  # type: ignore[attr-defined]  # a generator
        while os.path.isdir(listeners_dir()):
            await asyncio.sleep(0.01)
        assert hub.streams == 0

    _run(work())


def test_a_run_of_another_process_is_followed_and_not_for_ever(sample: Path) -> None:
    project = Project.open(sample)
    project.index()
    projects = Projects()
    hub = Live(projects)
    runs = IndexRuns(hub, projects)
    root, slug = project.root, "sample"
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)

    def heard(kind: str, **metadata: Any) -> Run | None:
        event = {"type": kind, "pid": child.pid, "program": "sage", "metadata": {"root": root, **metadata}}
        runs._heard(event, slug)
        return runs.last(root)

    run = heard("index.started")
    assert run is not None
    assert (run.phase, run.by) == ("running", f"sage {child.pid}")
    assert runs.stop(root) == run  # it is not ours to stop
    run = heard("index.finished", stats={"files_indexed": 3, "files_removed": 0})
    assert run is not None
    assert (run.phase, dict(run.counts)["files indexed"]) == ("done", 3)
    heard("index.started")
    assert heard("index.finished", stats={"files_indexed": 0, "files_removed": 0}) == run  # no news
    heard("index.started")
    child.kill()
    child.wait()
    ended = runs.last(root)
    assert ended is not None
    assert (ended.phase, ended.hint) == ("failed", "start another run")
    assert runs.last("/elsewhere") is None
    assert runs.stop("/elsewhere") is None


def test_a_project_has_one_run_at_a_time(sample: Path) -> None:
    Project.open(sample).index()
    projects = Projects()
    runs = IndexRuns(Live(projects), projects)
    (sample / "new.py").write_text("x = 1\n")
    runs.start(str(sample), "sample")
    with pytest.raises(Busy):
        runs.start(str(sample), "sample")
    runs.stop_all()
    while (run := runs.last(str(sample))) is not None and run.is_moving:
        os.sched_yield()
    assert run is not None
    assert run.phase == "stopped"
