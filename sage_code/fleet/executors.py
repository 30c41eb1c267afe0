"""Who does the shards: processes of this machine, a Ray cluster or a Dask cluster, each as an `Executor`.

    4                      four processes here (the default: one a core)
    ray, ray:4             a Ray cluster that lives as long as the run, here
    ray://HOST:PORT        a Ray cluster by its client port; ray://auto is the cluster that this machine belongs to
    dask, dask:4           the same with Dask
    dask://HOST:PORT       a Dask scheduler

A worker that dies fails the shard that it was doing, and only that one: the coordinator gives it to another.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import queue
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process, resource_tracker
from typing import Any, TypeVar

from sage_code.errors import StoreError, UsageError

_Result = TypeVar("_Result")

_WORKERS = re.compile(
    r"(?P<count>[1-9]\d{0,3})|(?P<engine>ray|dask)(?::(?P<here>[1-9]\d{0,3})|://(?P<address>[A-Za-z0-9._\[\]:-]+))?"
)
_CONNECT_S = 30
# How often a cluster of Dask is started here: one whose worker dies before it is ready does not start.
_STARTS = 3


def checked(workers: str) -> re.Match[str]:
    """What `workers` names, before anything is started."""
    asked = _WORKERS.fullmatch(workers or str(os.cpu_count() or 1))
    if asked is None:
        raise UsageError(f"{workers!r} names no workers", "use a number, ray://HOST:PORT or dask://HOST:PORT")
    return asked


@contextlib.contextmanager
def opened(workers: str) -> Iterator[Executor]:
    """The executor that `workers` names; an empty text is one process a core."""
    asked = checked(workers)
    if asked["engine"] == "ray":
        with _ray(asked["address"], int(asked["here"] or os.cpu_count() or 1)) as executor:
            yield executor
    elif asked["engine"] == "dask":
        with _dask(asked["address"], int(asked["here"] or os.cpu_count() or 1)) as executor:
            yield executor
    else:
        local = LocalPool(int(asked["count"]))
        try:
            yield local
        finally:
            local.shutdown(wait=False, cancel_futures=True)


class LocalPool(Executor):
    """Processes of this machine, each for itself: one that is killed breaks nothing but its own task.

    (One `ProcessPoolExecutor` of many processes ends all of them when one dies.) Processes end with their parent.
    """

    def __init__(self, count: int) -> None:
        self._tasks: queue.SimpleQueue[Callable[[ProcessPoolExecutor], None] | None] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._pools: list[ProcessPoolExecutor] = []
        self._threads = [threading.Thread(target=self._serve, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., _Result], /, *args: Any, **kwargs: Any) -> Future[_Result]:
        """Do it as soon as a process is free."""
        future: Future[_Result] = Future()

        def task(pool: ProcessPoolExecutor) -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(pool.submit(fn, *args, **kwargs).result())
            except BaseException as error:  # what the task raised, whatever it is, belongs to its future
                future.set_exception(error)
                if isinstance(error, BrokenProcessPool):
                    raise

        self._tasks.put(task)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; with `cancel_futures` at once."""
        self._stopping.set()
        for _ in self._threads:
            self._tasks.put(None)
        if cancel_futures:
            for pool in self._pools:
                for process in list((pool._processes or {}).values()):
                    process.kill()
        if wait:
            for thread in self._threads:
                thread.join()

    def _serve(self) -> None:
        """One process after the other, each until it dies."""
        _leave_ctrl_c_to_the_coordinator()
        while not self._stopping.is_set():
            with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_end_with_parent) as pool:
                self._pools.append(pool)
                with contextlib.suppress(BrokenProcessPool):
                    while (task := self._tasks.get()) is not None and not self._stopping.is_set():
                        task(pool)
                    return
                self._pools.remove(pool)


def _leave_ctrl_c_to_the_coordinator() -> None:
    """Block Ctrl-C in the processes that this thread starts, from their start: a terminal sends it to all of them."""
    if sys.platform != "win32":
        resource_tracker.ensure_running()  # when it starts, it lets the signal through again
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


def _end_with_parent() -> None:
    """End this process when the one that started it has ended: its queue would never tell."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        parent = parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _ray(address: str | None, count: int) -> Iterator[Executor]:
    """A Ray cluster at an address, or one of `count` workers here."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it reports to its makers otherwise
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError as error:
        raise UsageError("Ray is not installed", "`pip install sage-code[ray]`, here and on the workers") from error
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address is None:
            ray.init(num_cpus=count, include_dashboard=False, **options)
        else:
            ray.init("auto" if address == "auto" else f"ray://{address}", **options)
    except (ConnectionError, TimeoutError, ValueError) as error:
        raise _unreachable(f"ray://{address}", error) from error
    try:
        yield _RayExecutor(ray)
    finally:
        ray.shutdown()


class _RayExecutor(Executor):
    """Tasks of Ray as futures. A task is tried once: the coordinator counts the attempts."""

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._remotes: dict[Callable[..., Any], Any] = {}

    def submit(self, fn: Callable[..., _Result], /, *args: Any, **kwargs: Any) -> Future[_Result]:
        """Do it on a worker of the cluster."""
        remote = self._remotes.get(fn)
        if remote is None:
            remote = self._remotes[fn] = self._ray.remote(max_retries=0, num_cpus=1)(fn)
        future: Future[_Result] = remote.remote(*args, **kwargs).future()
        return future


@contextlib.contextmanager
def _dask(address: str | None, count: int) -> Iterator[Executor]:
    """A Dask cluster at an address, or one of `count` workers here."""
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError as error:
        raise UsageError("Dask is not installed", "`pip install sage-code[dask]`, here and on the workers") from error
    with contextlib.ExitStack() as opened_here:
        target: Any = f"tcp://{address}"
        if address is None:
            target = opened_here.enter_context(_dask_here(distributed.LocalCluster, count))
        try:
            client = opened_here.enter_context(distributed.Client(target, timeout=_CONNECT_S, set_as_default=False))
        except (OSError, TimeoutError) as error:
            raise _unreachable(f"dask://{address}", error) from error
        # `pure`: the same order may be given twice on purpose. No retries: the coordinator counts the attempts.
        yield client.get_executor(pure=False, retries=0)


def _dask_here(cluster: Callable[..., Any], count: int) -> Any:
    """A cluster of Dask on this machine."""
    for left in reversed(range(_STARTS)):
        try:
            return cluster(n_workers=count, threads_per_worker=1, dashboard_address=None, host="127.0.0.1")
        except (RuntimeError, OSError, TimeoutError) as error:
            if not left:
                why = str(error)[:200] or type(error).__name__
                hint = "look at the machine's memory and load, then run the command again"
                raise StoreError(f"the workers of Dask do not start: {why}", hint) from error
    raise AssertionError("the last start returns or raises")


def _unreachable(address: str, error: Exception) -> UsageError:
    return UsageError(f"no cluster answers at {address}: {str(error)[:200]}", "check the address and that it runs")
