"""Counts what a server does, and writes it in the text format of Prometheus.

Labels are few and known: classes of routes and statuses, never a path, a user or a project's text. Several processes
of one server add their figures: each keeps a snapshot in a file that the others read.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from sage_code.files.atomic import PRIVATE_FILE, write_bytes

# Seconds; a search takes milliseconds, an index run minutes.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_HELP = {
    "sage_requests_total": ("counter", "Requests by class of route and status."),
    "sage_request_seconds": ("histogram", "Time from a request to the end of its answer."),
    "sage_in_flight": ("gauge", "Requests that are being answered."),
    "sage_queued": ("gauge", "Requests that wait for a slot."),
    "sage_rate_limited_total": ("counter", "Requests refused by a limit, by its kind."),
    "sage_refused_total": ("counter", "Requests refused by a check, by its kind."),
    "sage_index_age_seconds": ("gauge", "Time since the index of a project was last published."),
    "sage_process_resident_bytes": ("gauge", "Memory of the server's processes."),
    "sage_workers": ("gauge", "Processes that answer."),
    "sage_draining": ("gauge", "1 while the server is shutting down."),
}
_MAX_SNAPSHOT_BYTES = 1 << 20
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """The figures of one process; every method may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[tuple[str, Labels], float] = {}
        self._times: dict[str, list[float]] = {}  # by route class: counts of the buckets, of all, and the sum

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        """Count up, or a gauge down."""
        key = (name, tuple(sorted(labels.items())))
        with self._lock:
            self._values[key] = self._values.get(key, 0) + amount

    def set(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge."""
        with self._lock:
            self._values[name, tuple(sorted(labels.items()))] = value

    def observe(self, route: str, seconds: float) -> None:
        """Count a request that took so long."""
        with self._lock:
            row = self._times.setdefault(route, [0.0] * (len(BUCKETS) + 2))
            for number, bound in enumerate(BUCKETS):
                row[number] += seconds <= bound
            row[-2] += 1
            row[-1] += seconds

    def snapshot(self) -> dict[str, Any]:
        """The figures as data."""
        with self._lock:
            values = [[name, list(map(list, labels)), value] for (name, labels), value in self._values.items()]
            return {"values": values, "times": {route: list(row) for route, row in self._times.items()}}


def save(snapshot: Mapping[str, Any], path: str) -> None:
    """Keep the figures of this process for the others."""
    with contextlib.suppress(OSError):  # the folder goes away when the server ends
        write_bytes(path, json.dumps(snapshot).encode(), mode=PRIVATE_FILE, sync=False)


def saved(folder: str, own: str) -> list[dict[str, Any]]:
    """The figures of the other processes of this server."""
    found = []
    with contextlib.suppress(OSError):
        for name in sorted(os.listdir(folder)):
            if name.endswith(".json") and name != own:
                with contextlib.suppress(OSError, ValueError), open(os.path.join(folder, name), "rb") as file:
                    found.append(json.loads(file.read(_MAX_SNAPSHOT_BYTES)))
    return found


def text_of(snapshots: Iterable[Mapping[str, Any]]) -> str:
    """The sum of the figures as Prometheus reads them. The age of an index is the same in all: the least counts."""
    values: dict[tuple[str, Labels], float] = {}
    times: dict[str, list[float]] = {}
    for one in snapshots:
        for name, labels, value in one["values"]:
            key = (name, tuple((str(label), str(text)) for label, text in labels))
            if key in values and name in ("sage_index_age_seconds", "sage_draining"):
                values[key] = min(values[key], value)
            else:
                values[key] = values.get(key, 0) + value
        for route, row in one["times"].items():
            times[route] = [a + b for a, b in zip(times.get(route, [0.0] * len(row)), row, strict=True)]
    lines: list[str] = []
    for name, (kind, about) in _HELP.items():
        rows = _histogram(times) if kind == "histogram" else _rows(name, values)
        if rows:
            lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}", *rows]
    return "\n".join([*lines, ""])


def _rows(name: str, values: Mapping[tuple[str, Labels], float]) -> list[str]:
    found = sorted((labels, value) for (one, labels), value in values.items() if one == name)
    return [f"{name}{_labels(labels)} {value:.15g}" for labels, value in found]


def _histogram(times: Mapping[str, list[float]]) -> list[str]:
    """The rows of the histogram of times."""
    rows = []
    for route, row in sorted(times.items()):
        bounds = [*(f"{bound:g}" for bound in BUCKETS), "+Inf"]
        rows += [
            f"sage_request_seconds_bucket{_labels((('le', bound), ('route', route)))} {count:.15g}"
            for bound, count in zip(bounds, row[:-1], strict=True)
        ]
        rows.append(f"sage_request_seconds_sum{_labels((('route', route),))} {row[-1]:.15g}")
        rows.append(f"sage_request_seconds_count{_labels((('route', route),))} {row[-2]:.15g}")
    return rows


def _labels(labels: Labels) -> str:
    def escaped(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    return "{" + ",".join(f'{name}="{escaped(text)}"' for name, text in labels) + "}" if labels else ""


def resident_bytes() -> int:
    """The memory of this process; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read(200).split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0
