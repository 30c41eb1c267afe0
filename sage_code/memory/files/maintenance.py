"""Keeps memory small: moves memories that are too old or too many into the archive. Deletes nothing.

Without being asked, Sage moves only memories that it saved on its own: none that a person saved or restored, and none
that git tracks, since those belong to a team.

Clocks can be wrong and projects can rest, so age is measured in time of use: a gap between two memories that is longer
than a week and than a quarter of the limit is not counted. If a memory is dated in the future, the clock is not
trustworthy and nothing is moved. When a person asks, calendar days count, and `everything` lifts the exceptions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sage_code.discover.gitfiles import tracked_files
from sage_code.errors import Busy, UsageError
from sage_code.memory.files.archive import archive, restored
from sage_code.memory.files.homes import MemoryHome

_SHORT_PAUSE = timedelta(days=7)
_PAUSES_IN_LIMIT = 4
_FUTURE = timedelta(days=1)
_NO_DATE = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """What was moved into the archive, how many memories are left, and a notice for the user."""

    by_age: tuple[str, ...] = ()  # ids
    by_count: tuple[str, ...] = ()
    total_remaining: int = 0
    notice: str = ""

    @property
    def archived(self) -> tuple[str, ...]:
        """All ids that were moved."""
        return (*self.by_age, *self.by_count)


@dataclass(frozen=True, slots=True)
class Limits:
    """How old and how many memories may be; 0 means no limit."""

    max_age_days: int = 0
    max_count: int = 0
    is_asked: bool = False  # a person asked for it: calendar days count
    everything: bool = False  # also what a person saved and what git tracks


def prune(
    home: MemoryHome, paths: Mapping[str, str], dates: Mapping[str, str], limits: Limits, spared: Collection[str] = ()
) -> MaintenanceResult:
    """Archive the memories beyond the age limit, then the oldest beyond the count limit; the caller holds no lock.

    `paths` are all memories of one kind by id. `dates` says when each was made (ISO 8601; one without a date is never
    too old). `spared` are moved only with `limits.everything`.
    """
    times = {id_: _time(dates.get(id_, "")) for id_ in paths}
    now = datetime.now(UTC)
    movable = set(paths) if limits.everything else set(paths).difference(spared, restored(home))
    too_old, too_many = _beyond(movable, times, now, limits)
    if not (too_old or too_many):
        return MaintenanceResult(total_remaining=len(paths))
    newest = max(times.values())
    if newest > now + _FUTURE and not limits.is_asked:
        why = f"a memory is dated {newest:%Y-%m-%d}, in the future: nothing was archived; is the clock right?"
        return MaintenanceResult(total_remaining=len(paths), notice=why)
    if not limits.everything:
        tracked = tracked_files(home.path())
        if tracked is None:
            why = "git does not say which memories it tracks: nothing was archived"
            return MaintenanceResult(total_remaining=len(paths), notice=why)
        movable = {id_ for id_ in movable if paths[id_] not in tracked}
        too_old, too_many = _beyond(movable, times, now, limits)
    try:
        moved = set(archive(home, [paths[id_] for id_ in (*too_old, *too_many)]))
    except (OSError, Busy, UsageError) as error:
        return MaintenanceResult(total_remaining=len(paths), notice=f"old memories could not be archived: {error}")
    gone = [tuple(id_ for id_ in ids if paths[id_] in moved) for ids in (too_old, too_many)]
    return MaintenanceResult(gone[0], gone[1], len(paths) - len(moved))


def _beyond(
    movable: Collection[str], times: Mapping[str, datetime], now: datetime, limits: Limits
) -> tuple[list[str], list[str]]:
    """The movable memories that are too old, and the oldest of the others that are too many."""
    days = timedelta(days=limits.max_age_days)
    ages = _ages(times, now, timedelta.max if limits.is_asked else max(_SHORT_PAUSE, days / _PAUSES_IN_LIMIT))
    ordered = sorted(movable, key=lambda id_: (times[id_], id_))
    too_old = [id_ for id_ in ordered if limits.max_age_days and times[id_] != _NO_DATE and ages[times[id_]] > days]
    old = set(too_old)
    kept = [id_ for id_ in ordered if id_ not in old]
    return too_old, kept[: -limits.max_count] if limits.max_count and len(kept) > limits.max_count else []


def _ages(times: Mapping[str, datetime], now: datetime, longest: timedelta) -> dict[datetime, timedelta]:
    """The time of use between each moment and now, without pauses longer than `longest`."""
    ages, later, age = {}, now, timedelta()
    for time in sorted(set(times.values()), reverse=True):
        pause = later - time
        age += pause if timedelta() < pause <= longest else timedelta()
        ages[time] = age
        later = time
    return ages


def _time(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return _NO_DATE
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def id_time(id_: str) -> str:
    """When a checkpoint was made, read from its id; empty if the id has no time."""
    day, _, rest = id_[:19].partition("T")
    text = f"{day}T{rest.replace('-', ':')}"
    return text if _time(text) != _NO_DATE else ""
