"""The copy of a team's memory on this machine, and the edits that the server has not acknowledged: one SQLite file.

An edit is on the disk before anything is sent, and leaves the queue only after the server has acknowledged it or a
person has dropped it. So nothing is lost when the network, this process or the server goes away. The file is private.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from typing import Any

from sage_code.errors import FormatTooNew
from sage_code.files.private import FOLDER
from sage_code.memory.team.values import Edit, TeamConflict, TeamItem
from sage_code.paths import sage_home

# 1: the first one (Sage 0.9).
FORMAT = 1
_PRIVATE = 0o600
_BUSY_S = 30
_TABLES = """
CREATE TABLE IF NOT EXISTS items (
    team TEXT, item TEXT, project TEXT, kind TEXT, name TEXT, author TEXT, visibility TEXT, number INTEGER,
    deleted INTEGER, text TEXT, editor TEXT, changed_at TEXT, PRIMARY KEY (team, item));
CREATE TABLE IF NOT EXISTS edits (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, team TEXT, item TEXT, project TEXT, kind TEXT, name TEXT, visibility TEXT,
    base INTEGER, text TEXT, deleted INTEGER, base_text TEXT, op TEXT UNIQUE, problem TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS conflicts (
    team TEXT, item TEXT, number INTEGER, base INTEGER, author TEXT, deleted INTEGER, text TEXT, made_at TEXT,
    PRIMARY KEY (team, item, number));
CREATE TABLE IF NOT EXISTS positions (team TEXT PRIMARY KEY, position TEXT, synced_at TEXT);
CREATE TABLE IF NOT EXISTS members (team TEXT PRIMARY KEY, member TEXT);
CREATE TABLE IF NOT EXISTS files (
    team TEXT, folder TEXT, path TEXT, item TEXT, version TEXT, sent TEXT, PRIMARY KEY (team, folder, path));
"""
_ITEM = "item, project, kind, name, author, visibility, number, deleted, text, editor, changed_at"
_EDIT = "item, project, kind, name, visibility, base, text, deleted, base_text, op"


def replica_path() -> str:
    """The file of the replica, in Sage's home."""
    return os.path.join(sage_home(), "team", "replica.db")


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """What is known of a file that holds an item."""

    item: str
    version: str  # the hash of the file's text when it was last in step
    sent: str  # the hash of the item's text then: the same, unless secrets were masked


class Replica:
    """What is known here of one team; processes may share the file."""

    def __init__(self, team: str, path: str = "") -> None:
        self.team = team
        path = path or replica_path()
        os.makedirs(os.path.dirname(path), mode=FOLDER, exist_ok=True)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, _PRIVATE))
        self._db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
        # An edit that was reported as kept survives a power failure.
        self._db.execute("PRAGMA synchronous = FULL")
        (written,) = self._db.execute("PRAGMA user_version").fetchone()
        if written > FORMAT:
            raise FormatTooNew(f"{path} was written by a newer Sage", "update Sage")
        if written < FORMAT:
            self._db.executescript(_TABLES)
            self._db.execute(f"PRAGMA user_version = {FORMAT}")

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def items(self) -> list[TeamItem]:
        """The items as the server last said, without deleted ones."""
        sql = f"SELECT {_ITEM} FROM items WHERE team = ? AND NOT deleted ORDER BY project, kind, name, item"  # noqa: S608
        return [_item(row) for row in self._db.execute(sql, (self.team,))]

    def item(self, item: str) -> TeamItem | None:
        """One item as the server last said."""
        sql = f"SELECT {_ITEM} FROM items WHERE team = ? AND item = ?"  # noqa: S608
        row = self._db.execute(sql, (self.team, item)).fetchone()
        return _item(row) if row else None

    def queue(self, edit: Edit) -> None:
        """Keep an edit until the server has it. It is on the disk when this returns."""
        values = (self.team, *astuple(edit))
        marks = ", ".join("?" * len(values))
        self._db.execute(f"INSERT OR IGNORE INTO edits (team, {_EDIT}) VALUES ({marks})", values)  # noqa: S608

    def queued(self) -> list[tuple[Edit, str]]:
        """The edits that wait, the oldest first, each with why the server refused it, if it did."""
        sql = f"SELECT {_EDIT}, problem FROM edits WHERE team = ? ORDER BY seq"  # noqa: S608
        return [(_edit(row[:-1]), row[-1]) for row in self._db.execute(sql, (self.team,))]

    def waiting(self, item: str) -> Edit | None:
        """The last edit of an item that the server has not acknowledged."""
        return next((edit for edit, _ in reversed(self.queued()) if edit.item == item), None)

    def member(self) -> str:
        """Who this machine's person is in the team, as the server last said; empty if it was never asked."""
        row = self._db.execute("SELECT member FROM members WHERE team = ?", (self.team,)).fetchone()
        return str(row[0]) if row else ""

    def note_member(self, name: str) -> None:
        """Keep the person's name in the team for the time without a network."""
        self._db.execute("INSERT OR REPLACE INTO members VALUES (?, ?)", (self.team, name))

    def files(self, folder: str) -> dict[str, WrittenFile]:
        """The files below a folder that hold items, by their paths in it."""
        sql = "SELECT path, item, version, sent FROM files WHERE team = ? AND folder = ?"
        return {row[0]: WrittenFile(*row[1:]) for row in self._db.execute(sql, (self.team, folder))}

    def note_file(self, folder: str, path: str, written: WrittenFile) -> None:
        """Keep which item a file holds."""
        values = (self.team, folder, path, written.item, written.version, written.sent)
        self._db.execute("INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)", values)

    def forget_file(self, folder: str, path: str) -> None:
        """Keep no longer what a file holds."""
        self._db.execute("DELETE FROM files WHERE team = ? AND folder = ? AND path = ?", (self.team, folder, path))

    def acknowledged(self, op: str) -> None:
        """Take an edit from the queue: the server has it."""
        self._db.execute("DELETE FROM edits WHERE op = ?", (op,))

    def drop(self, item: str) -> list[Edit]:
        """Take the edits of an item from the queue because a person wants that; returns them."""
        with self._transaction():
            dropped = [edit for edit, _ in self.queued() if edit.item == item]
            self._db.execute("DELETE FROM edits WHERE team = ? AND item = ?", (self.team, item))
        return dropped

    def refused(self, op: str, problem: str) -> None:
        """Note why the server does not take an edit; it stays in the queue."""
        self._db.execute("UPDATE edits SET problem = ? WHERE op = ?", (problem, op))

    def position(self) -> str:
        """What to ask the server from."""
        row = self._db.execute("SELECT position FROM positions WHERE team = ?", (self.team,)).fetchone()
        return str(row[0]) if row else "0"

    def synced_at(self) -> str:
        """When the server was last asked; empty if it never was."""
        row = self._db.execute("SELECT synced_at FROM positions WHERE team = ?", (self.team,)).fetchone()
        return str(row[0]) if row else ""

    def ids(self) -> set[str]:
        """The ids of all items that are known here, also of deleted ones."""
        return {str(row[0]) for row in self._db.execute("SELECT item FROM items WHERE team = ?", (self.team,))}

    def pulled(
        self, changed: Iterable[TeamItem], visible: set[str], conflicts: Iterable[TeamConflict], position: str
    ) -> list[TeamItem]:
        """Take over what the server said, in one transaction; returns the items that are no longer visible."""
        with self._transaction():
            for one in changed:
                values = (self.team, *astuple(one))
                marks = ", ".join("?" * len(values))
                self._db.execute(f"INSERT OR REPLACE INTO items (team, {_ITEM}) VALUES ({marks})", values)  # noqa: S608
            rows = self._db.execute(f"SELECT {_ITEM} FROM items WHERE team = ?", (self.team,)).fetchall()  # noqa: S608
            gone = [_item(row) for row in rows if row[0] not in visible]
            self._db.executemany(
                "DELETE FROM items WHERE team = ? AND item = ?", [(self.team, one.item) for one in gone]
            )
            self._db.execute("DELETE FROM conflicts WHERE team = ?", (self.team,))
            self._db.executemany(
                "INSERT INTO conflicts VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                [(self.team, *astuple(one)) for one in conflicts],
            )
            moment = datetime.now(UTC).isoformat(timespec="seconds")
            self._db.execute("INSERT OR REPLACE INTO positions VALUES (?, ?, ?)", (self.team, position, moment))
        return gone

    def conflicts(self) -> list[TeamConflict]:
        """The conflicts that waited for a person when the server was last asked."""
        sql = (
            "SELECT item, number, base, author, deleted, text, made_at FROM conflicts"
            " WHERE team = ? ORDER BY item, number"
        )
        return [
            TeamConflict(*(*row[:4], bool(row[4]), *row[5:])) for row in self._db.execute(sql, (self.team,)).fetchall()
        ]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def _item(row: Sequence[Any]) -> TeamItem:
    return TeamItem(*(*row[:7], bool(row[7]), *row[8:]))


def _edit(row: Sequence[Any]) -> Edit:
    return Edit(*(*row[:7], bool(row[7]), *row[8:]))
