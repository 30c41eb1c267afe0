"""A team's memory as the settings name it, for the faces: what is known here, and edits that are sent at once or wait.

    with Team(root, settings) as team:
        team.rows("retries")            from the replica, without a network
        team.share("knowledge", …)      on the disk first, then sent if the server can be reached

A server for many users keeps no replica: `memory_of` asks the database in the name of the user.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from sage_code.errors import ConfigError, SageError, UsageError
from sage_code.files.locks import locked
from sage_code.memory.team.connecting import SETTING, TeamDatabase
from sage_code.memory.team.project_key import project_key
from sage_code.memory.team.replica import Replica, replica_path
from sage_code.memory.team.schema import checked_team
from sage_code.memory.team.syncing import Synced, TeamReplica, item_named
from sage_code.memory.team.team_memory import TeamMemory, as_document
from sage_code.memory.team.values import Edit, Kind, Outcome, TeamItem, TeamVersion, Visibility, Written
from sage_code.settings.table import Settings

if TYPE_CHECKING:
    from types import TracebackType

    from sage_code.memory.files.homes import MemoryHome

# Another process that syncs is done within seconds, unless it waits for a server that has gone.
_LOCK_PATIENCE_S = 10.0
# A user of a server waits for a database that restarts, and holds a place of the server meanwhile.
_USERS_PATIENCE_S = 3.0
_WORD = re.compile(r"\w+")
_NO_TEAM = f"`sage config set {SETTING} postgresql://YOU@HOST/DATABASE`; docs/TEAM.md says how a team begins"


@dataclass(frozen=True, slots=True)
class Row:
    """An item as it is on this machine: with the edits that wait."""

    item: TeamItem
    waiting: bool = False  # it has edits that the server has not taken
    problem: str = ""  # why the server refused them
    conflicts: int = 0

    def document(self) -> dict[str, object]:
        """The row as plain data."""
        more = {"waiting": self.waiting, "problem": self.problem, "conflicts": self.conflicts}
        return {**as_document(self.item), **more}


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of an edit: the server's outcome, or that it waits here."""

    item: str
    kind: Kind
    name: str
    visibility: Visibility
    outcome: Outcome | str  # also `waiting` and `refused`
    number: int  # the version that it became; that it was made from while it waits
    waiting: int  # edits that wait here, of all items
    problem: str = ""
    masked: tuple[str, ...] = ()


def is_configured(settings: Settings) -> bool:
    """Whether the user has named a team's database."""
    return bool(settings.team_database_url)


def database_of(settings: Settings, address: str = "") -> TeamDatabase:
    """The database of the settings, or at another address for its administrator; ConfigError if none is named."""
    uri = address or settings.team_database_url
    if not uri:
        raise ConfigError("no team's memory is set up here", _NO_TEAM)
    return TeamDatabase(uri)


class Team:
    """The team of the settings, in one project, on this machine."""

    def __init__(self, root: str | None, settings: Settings) -> None:
        if not is_configured(settings):
            raise ConfigError("no team's memory is set up here", _NO_TEAM)
        self.name, self.project = checked_team(settings.team_name), project_key(root)
        self.replica = Replica(self.name)
        self._root, self._settings = root, settings

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.replica.close()
        if "database" in self.__dict__:
            self.database.close()

    @cached_property
    def database(self) -> TeamDatabase:
        """The team's database; what is known here needs none."""
        return database_of(self._settings)

    @cached_property
    def _memory(self) -> TeamMemory:
        return TeamMemory("", self.name, database=self.database)

    def server(self) -> TeamMemory:
        """The memory on the server; Unreachable at once if it does not answer."""
        self.database.probe()
        return self._memory

    @property
    def me(self) -> str:
        """Who this person is in the team; UsageError if nothing here says it yet."""
        name = self.database.user or self.replica.member()
        if not name:
            raise UsageError(
                "it is not known yet who you are in the team", f"name your role in {SETTING}, or run `sage team sync`"
            )
        return name

    @property
    def _copy(self) -> TeamReplica:
        return TeamReplica(self.replica, self.me, self._root, self.project)

    def rows(self, question: str = "", *, kind: str = "", everywhere: bool = False) -> list[Row]:
        """What is known here of this project and of what is for the team: by words of a question, or the newest first.

        `everywhere`: of all projects.
        """
        found = [
            row
            for row in self._all_rows()
            if not row.item.deleted
            and kind in ("", row.item.kind)
            and (everywhere or row.item.visibility == "team" or row.item.project == self.project)
        ]
        found.sort(key=lambda row: row.item.changed_at or "~", reverse=True)
        words = set(_WORD.findall(question.lower()))
        if not words:
            return found
        counts = [(len(words & _words_of(row.item)), row) for row in found]
        return [row for count, row in sorted(counts, key=lambda pair: -pair[0]) if count]

    def row(self, word: str) -> Row:
        """The item that a person names, also a deleted one that waits; UsageError if there is none or several."""
        rows = {row.item.item: row for row in self._all_rows()}
        return rows[item_named([row.item for row in rows.values()], word).item]

    def _all_rows(self) -> list[Row]:
        rows = {one.item: Row(one) for one in self.replica.items()}
        for edit, problem in self.replica.queued():
            known = rows.get(edit.item)
            item = known.item if known else _new_item(edit, self.me)
            item = replace(item, text=edit.text, deleted=edit.deleted, visibility=edit.visibility, editor=self.me)
            rows[edit.item] = Row(item, True, problem)
        counts = Counter(one.item for one in self.replica.conflicts())
        return [replace(row, conflicts=counts[row.item.item]) for row in rows.values()]

    def sync(self) -> Synced:
        """Send what waits and take over what others did; `offline` of the result says why that cannot be now."""
        with locked(f"{replica_path()}.lock", timeout_s=_LOCK_PATIENCE_S):
            done = self._copy.sync(self._memory)
            if not done.offline:
                self.replica.note_member(self._memory.me())
            return done

    def share(
        self, kind: Kind, name: str, text: str, visibility: Visibility, file: tuple[MemoryHome, str] | None = None
    ) -> Sent:
        """Share a memory, or its newer text or another visibility."""
        edit, masked = self._copy.share(kind, name, text, visibility, file)
        return self._send(edit, masked)

    def edit(
        self, item: str, text: str | None = None, *, deleted: bool = False, visibility: Visibility | None = None
    ) -> Sent:
        """Give an item another text or visibility, or delete it."""
        row = self.row(item)
        wanted = row.item.text if text is None else text
        if not wanted.strip():
            raise UsageError("an item needs a text", f"`sage team rm {row.item.name}` takes it from the team")
        return self._send(self._copy.edit(row.item.item, wanted, deleted=deleted, visibility=visibility))

    def drop(self, item: str) -> list[Edit]:
        """Take the edits of an item that wait out of the queue; the next sync gives its files the team's text."""
        return self.replica.drop(self.row(item).item.item)

    def resolve(self, item: str, text: str | None, number: int = 0) -> Written:
        """Decide about the conflicts of an item: by a text, by one of the versions, or with neither for what it says.

        That is a decision about what others wrote, so it needs the server.
        """
        self.server()
        self.sync()
        known = self.row(item).item.item
        now = self.replica.item(known)
        taken = next((one for one in self.replica.conflicts() if one.item == known and one.number == number), None)
        if number and taken is None:
            raise UsageError(f"version {number} of {item[:80]} is no open conflict", "see `sage team conflicts`")
        if text is None:
            text = taken.text if taken else now.text if now else ""
        deleted = taken.deleted if taken else False
        with locked(f"{replica_path()}.lock", timeout_s=_LOCK_PATIENCE_S):
            done = self._copy.resolve(self._memory, known, text, deleted=deleted)
        self.sync()
        return done

    def history(self, item: str) -> tuple[TeamItem, list[TeamVersion]]:
        """An item and all its texts, as the server has them."""
        known = self.row(item).item
        return known, self.server().history(known.item)

    def _send(self, edit: Edit, masked: tuple[str, ...] = ()) -> Sent:
        """Sync, and say what became of an edit. It waits if anything is in the way."""
        try:
            done = self.sync()
        except SageError as error:
            done = Synced(offline=error.message)
        queued = {one.op: problem for one, problem in self.replica.queued()}
        outcome: Outcome | str = "stored"
        number, problem = edit.base, done.offline
        if edit.op in queued:
            outcome, problem = ("refused", queued[edit.op]) if queued[edit.op] else ("waiting", done.offline)
        elif written := [one for one in done.sent if one.item == edit.item]:
            outcome, number = written[-1].outcome, written[-1].number
        elif now := self.replica.item(edit.item):  # another process has sent it
            number = now.number
        return Sent(edit.item, edit.kind, edit.name, edit.visibility, outcome, number, len(queued), problem, masked)


def _new_item(edit: Edit, author: str) -> TeamItem:
    return TeamItem(
        edit.item, edit.project, edit.kind, edit.name, author, edit.visibility, 0, edit.deleted, edit.text, author, ""
    )


def _words_of(item: TeamItem) -> set[str]:
    return set(_WORD.findall(f"{item.name} {item.text}".lower()))


_servers: dict[tuple[str, str], TeamMemory] = {}
_guard = threading.Lock()


def memory_of(settings: Settings, user: str) -> TeamMemory:
    """The memory as a user of a server sees it, over connections that all its users have in common."""
    if not is_configured(settings):
        raise ConfigError("no team's memory is set up here", _NO_TEAM)
    key = (settings.team_database_url, settings.team_name)
    with _guard:
        if key not in _servers:
            database = TeamDatabase(settings.team_database_url, patience_s=_USERS_PATIENCE_S)
            _servers[key] = TeamMemory("", settings.team_name, database=database)
        return _servers[key].as_member(user)


def listing(team: Team, rows: list[Row]) -> Mapping[str, Any]:
    """Rows with what is to be known about them, as plain data."""
    return {
        "team": team.name,
        "project": team.project,
        "synced_at": team.replica.synced_at(),
        "waiting": len(team.replica.queued()),
        "items": [row.document() for row in rows],
    }
