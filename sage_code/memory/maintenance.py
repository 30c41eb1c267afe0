"""Keeping memory small: what is too old goes first, then what is too much; nothing that was made from it stays."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sage_code.files import atomic
from sage_code.files.locks import locked
from sage_code.memory.places import Place
from sage_code.memory.shelf import Shelf

_PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """What was removed, and what is left."""

    pruned_by_age: int = 0
    pruned_by_cap: int = 0
    total_remaining: int = 0


def prune_checkpoints(shelf: Shelf, max_age_days: int, max_count: int) -> MaintenanceResult:
    """Delete checkpoints beyond an age, then the oldest beyond a number; 0 means no limit. The caller has no lock."""
    folder = shelf.place.path("checkpoints")
    try:
        names = [name for name in os.listdir(folder) if name.endswith((".md", ".yaml"))]
    except OSError:
        return MaintenanceResult()
    if not (max_age_days or max_count) or not (max_age_days or len(names) > max_count):
        return MaintenanceResult(total_remaining=len(names))
    ages = {name: _when(folder, name) for name in names}
    cutoff = datetime.now(UTC) - timedelta(days=max_age_days)
    too_old = [name for name in names if max_age_days and ages[name] < cutoff]
    kept = sorted((name for name in names if name not in set(too_old)), key=lambda name: (ages[name], name))
    too_many = kept[:-max_count] if max_count and len(kept) > max_count else []
    if too_old or too_many:
        _delete(shelf.place, [os.path.join(folder, name) for name in (*too_old, *too_many)])
        shelf.passages()  # forgets what is gone
    return MaintenanceResult(len(too_old), len(too_many), len(kept) - len(too_many))


def _when(folder: str, name: str) -> datetime:
    """When a checkpoint was made: its id says so, or else its file."""
    with contextlib.suppress(ValueError):
        return datetime.strptime(name[:19], "%Y-%m-%dT%H-%M-%S").replace(tzinfo=UTC)
    try:
        return datetime.fromtimestamp(os.lstat(os.path.join(folder, name)).st_mtime, UTC)
    except OSError:
        return datetime.now(UTC)


def _delete(place: Place, paths: list[str]) -> None:
    with locked(place.lock, timeout_s=_PATIENCE_S):
        for path in paths:
            atomic.remove(path)


def is_older(added: str, max_age_days: int) -> bool:
    """Whether something added on this day (ISO 8601) is older than an age; what has no date is never too old."""
    try:
        day = datetime.fromisoformat(added)
    except ValueError:
        return False
    day = day if day.tzinfo else day.replace(tzinfo=UTC)
    return day < datetime.now(UTC) - timedelta(days=max_age_days)
