from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import psutil
import pytest

from sage_code.errors import Conflict, StoreError
from sage_code.fleet import checkout, publishing, roster, shard
from sage_code.fleet.coordinator import FleetStats, index_fleet
from sage_code.fleet.state import FleetState
from sage_code.fleet.status import fleet_status
from sage_code.fleet.tables import fleet_place
from sage_code.settings.loading import load_settings

from .conftest import coordinator, table_rows

Repositories = list[roster.Repository]


class Here(Executor):
    """Does each task at once in this process; `fail` decides about each call, before or after the work."""

    def __init__(self, fail: Callable[[int], str] = lambda _: "") -> None:
        self.fail, self.calls = fail, 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.calls += 1
        future: Future[Any] = Future()
        how = self.fail(self.calls)
        try:
            if how == "before":
                raise OSError("the worker died")
            result = fn(*args, **kwargs)
            if how == "after":
                raise OSError("the worker died")
            future.set_result(result)
        except OSError as error:
            future.set_exception(error)
        return future


def _index(monkeypatch: pytest.MonkeyPatch, repositories: Repositories, executor: Executor) -> FleetStats:
    def opened(_: str) -> AbstractContextManager[Executor]:
        return nullcontext(executor)

    monkeypatch.setattr("sage_code.fleet.coordinator.opened", opened)
    return index_fleet(repositories, load_settings(None))


def test_only_what_has_changed_is_done(repositories: Repositories, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _index(monkeypatch, repositories, Here())
    assert first.changed == 10
    assert first.shards > 5
    assert first.rows == first.chunks > 20
    idle = Here()
    again = _index(monkeypatch, repositories, idle)
    assert (again.changed, again.runs, idle.calls) == (0, 0, 0)
    folder = Path(repositories[0].source)
    (folder / "same.py").write_text("def other():\n    return 1\n")
    (folder / "new.py").write_text("def fresh():\n    return 2\n")
    changed = _index(monkeypatch, repositories[:9], Here())
    assert (changed.changed, changed.removed, changed.files, changed.shards) == (1, 1, 2, 1)
    kept = table_rows()
    state = fleet_status(repositories[:9], load_settings(None))
    assert (state.indexed, state.rows, state.run) == (9, len(kept), None)
    # Made from nothing it is the same.
    monkeypatch.setenv("SAGE_STORE_URI", f"{folder.parent.parent}/other")
    _index(monkeypatch, repositories[:9], Here())
    assert table_rows() == kept


def test_a_large_fleet_takes_several_runs_and_each_repository_is_asked_once(
    repositories: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sage_code.fleet.plan._RUN_BYTES", 20_000)
    asked: Counter[str] = Counter()
    listed = checkout.check_out

    def counted(one: roster.Repository, *rest: Any) -> checkout.Checkout:
        asked[one.name] += 1
        (Path(one.source) / "same.py").write_text(f"def same():\n    return {sum(asked.values())}\n")  # never at rest
        return listed(one, *rest)

    monkeypatch.setattr("sage_code.fleet.plan.check_out", counted)
    stats = _index(monkeypatch, repositories, Here())
    assert stats.runs > 2
    assert set(asked.values()) == {1}
    assert stats.changed == len(repositories)


def test_another_owner_is_in_every_row(repositories: Repositories, monkeypatch: pytest.MonkeyPatch) -> None:
    first = _index(monkeypatch, repositories[:2], Here())
    mine = [roster.repository(one.source, owner="us") for one in repositories[:2]]
    assert _index(monkeypatch, mine, Here()).rows == first.rows
    assert Counter(one.owner for one in fleet_status(mine, load_settings(None)).repositories) == {"us": 2}


def test_workers_that_die_before_or_after_their_work_lose_and_double_nothing(
    repositories: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    _index(monkeypatch, repositories, Here())
    right = table_rows()
    monkeypatch.setenv("SAGE_STORE_URI", f"{Path(repositories[0].source).parent.parent}/other")
    stats = _index(monkeypatch, repositories, Here(lambda call: ("", "before", "after")[call % 3] if call < 16 else ""))
    assert stats.failures > 5
    assert table_rows() == right


def test_a_shard_that_never_works_ends_the_run_and_the_next_goes_on(
    repositories: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoreError, match="failed 6 times"):
        _index(monkeypatch, repositories, Here(lambda call: "" if call < 4 else "before"))
    settings = load_settings(None)
    run = fleet_status(repositories, settings).run
    assert run is not None
    assert run.shards_done == 3
    stats = _index(monkeypatch, repositories, Here())
    assert (stats.resumed, stats.shards_before) == (1, 3)
    assert fleet_status(repositories, settings).run is None


class _Killed(BaseException):
    """The coordinator is killed here."""


@pytest.mark.parametrize("step", ["publish", "replace_head", "drop_keys", "end", "begin"])
@pytest.mark.parametrize("after", [False, True])
def test_a_coordinator_killed_around_any_step_publishes_once(
    repositories: Repositories, monkeypatch: pytest.MonkeyPatch, step: str, after: bool
) -> None:
    _index(monkeypatch, repositories[:4], Here())
    (Path(repositories[0].source) / "same.py").write_text("def other():\n    return 1\n")
    owner = publishing.FleetTable if step == "publish" else FleetState
    real = getattr(owner, step)

    def killed(*args: Any, **kwargs: Any) -> Any:
        if after:
            real(*args, **kwargs)
        raise _Killed

    with monkeypatch.context() as patched:
        patched.setattr(owner, step, killed)
        with pytest.raises(_Killed):
            _index(patched, repositories[1:] + repositories[:1], Here())
    _index(monkeypatch, repositories, Here())
    survived = table_rows()
    monkeypatch.setenv("SAGE_STORE_URI", f"{Path(repositories[0].source).parent.parent}/other")
    _index(monkeypatch, repositories, Here())
    assert table_rows() == survived


@pytest.mark.parametrize("is_first", [True, False])
def test_a_coordinator_that_wakes_up_late_cannot_publish_again(
    repositories: Repositories, monkeypatch: pytest.MonkeyPatch, is_first: bool
) -> None:
    if not is_first:
        _index(monkeypatch, repositories[:2], Here())
    real = publishing.lance.LanceDataset.commit
    commits: list[Any] = []

    def twice(*args: Any, **kwargs: Any) -> Any:
        done = real(*args, **kwargs)
        with pytest.raises(publishing.CommitConflictError):
            real(*args, **kwargs)  # the same commit, made from the same version
        commits.append(done)
        return done

    monkeypatch.setattr(publishing.lance.LanceDataset, "commit", twice)
    stats = _index(monkeypatch, repositories[:5], Here())
    assert len(commits) == 1
    assert len(table_rows()) == stats.rows


def test_another_change_of_the_table_is_a_conflict_that_the_next_run_survives(
    repositories: Repositories, monkeypatch: pytest.MonkeyPatch
) -> None:
    _index(monkeypatch, repositories[:2], Here())
    real = publishing._without

    def meanwhile(dataset: Any, gone: Any) -> Any:
        found = real(dataset, gone)
        publishing.lance.dataset(dataset.uri).delete("path = 'same.py'")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "_without", meanwhile)
        with pytest.raises(Conflict):
            _index(patched, repositories[:3], Here())
    assert _index(monkeypatch, repositories[:3], Here()).resumed == 1


def test_two_workers_of_one_shard_leave_one_result(repositories: Repositories, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shard._rows
    orders: list[dict[str, Any]] = []

    def overtaken(order: Any, *args: Any) -> Any:
        if not orders:
            orders.append({name: getattr(order, name) for name in order.__slots__})
            shard.do_shard(orders[0])  # another worker is quicker
        return real(order, *args)

    monkeypatch.setattr(shard, "_rows", overtaken)
    stats = _index(monkeypatch, repositories[:2], Here())
    assert len(table_rows()) == stats.rows
    place = fleet_place(load_settings(None))
    written = list(place.objects.keys(f"{place.name}.lance/data"))
    assert len(written) == stats.shards  # the loser's fragment is gone


def test_a_repository_that_cannot_be_read_does_not_stop_the_others(
    repositories: Repositories, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    missing = [roster.repository(str(tmp_path / "none")), roster.repository(f"file://{tmp_path}/none.git", name="gone")]
    stats = _index(monkeypatch, [*repositories[:1], *missing], Here())
    assert stats.changed == 1
    assert [problem["repository"] for problem in stats.problems] == ["none", "gone"]


def test_a_git_address_is_fetched_and_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    top = tmp_path / "origin"
    top.mkdir()

    def git(*words: str) -> None:
        who = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(top), *who, *words], check=True, capture_output=True)

    git("init", "--quiet")
    (top / "a.py").write_text("def first():\n    return 1\n")
    (top / ".gitattributes").write_text("*.py filter=evil\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "one")
    one = [roster.repository(f"file://{top}")]
    assert _index(monkeypatch, one, Here()).files == 2
    before = fleet_status(one, load_settings(None)).repositories[0].commit
    assert _index(monkeypatch, one, Here()).runs == 0
    (top / "b.py").write_text("def second():\n    return 2\n")
    git("add", ".")
    git("commit", "--quiet", "-m", "two")
    assert _index(monkeypatch, one, Here()).files == 1
    assert fleet_status(one, load_settings(None)).repositories[0].commit != before


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_killed_processes_lose_and_double_nothing(
    repositories: Repositories, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _index(monkeypatch, repositories, Here())
    right = table_rows()
    monkeypatch.setenv("SAGE_STORE_URI", str(tmp_path / "other"))
    path = str(tmp_path / "fleet.yaml")
    roster.add(path, [one.source for one in repositories])
    chance, killed_workers, killed_coordinators = random.Random(21), 0, 0
    until = time.monotonic() + 150
    while time.monotonic() < until:
        running = coordinator(path, "2")
        lives_until, lives = (
            until,
            chance.uniform(1, 3),
        )  # counted from its first worker: the machine may be busy or not
        while running.poll() is None and time.monotonic() < lives_until:
            time.sleep(0.05)
            workers = [one for one in psutil.Process(running.pid).children() if "spawn_main" in " ".join(_line(one))]
            if workers and killed_coordinators < 2 and lives_until == until:
                lives_until = time.monotonic() + lives
            if workers and killed_workers < 6 and (not killed_workers or chance.random() < 0.05):
                chance.choice(workers).kill()
                killed_workers += 1
        if running.poll() is None:
            os.kill(running.pid, 9)
            killed_coordinators += 1
        printed, complaint = running.communicate()
        if running.returncode == 0:
            break
    assert running.returncode == 0, complaint.decode()[-2000:]
    assert json.loads(printed)["rows"] == len(right)
    assert killed_workers
    assert table_rows() == right


def _line(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
