"""A team's memory on its server: what a member may see, edits that are merged or kept beside, and the audit.

    TeamMemory(uri, "core").find("retries")                 as the role of the address
    TeamMemory(uri, "core").as_member("anna").find("…")     for a server that acts for its users

Every answer is given by functions of the database that apply its row-level security to the person who asks, so a
mistake here cannot show what the person may not see. Each call is one transaction. An edit whose acknowledgement was
lost can be sent again: it is stored once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sage_code.errors import Conflict, StoreError, UsageError
from sage_code.memory.team.connecting import PATIENCE_S, TeamDatabase
from sage_code.memory.team.merging import merged
from sage_code.memory.team.schema import checked_member, checked_team
from sage_code.memory.team.values import (
    EVERY_PROJECT,
    MAX_TEXT_CHARS,
    AuditLine,
    Edit,
    Member,
    Outcome,
    TeamConflict,
    TeamItem,
    TeamVersion,
    Written,
    item_id,
    kind_named,
    visibility_named,
)

if TYPE_CHECKING:
    from sage_code.memory.tiers.engines.postgres_driver import Connection

_PULLED_AT_ONCE = 500
_FIRST_UUID = "00000000-0000-0000-0000-000000000000"
# Somebody else's first version of the same new item may come between the look and the write, a few times at most.
_TRIES = 5


class TeamMemory:
    """The memory of one team, seen by one person; safe to share between threads."""

    def __init__(
        self,
        uri: str,
        team: str,
        *,
        database: TeamDatabase | None = None,
        member: str = "",
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.team = checked_team(team)
        self.database = database or TeamDatabase(uri, patience_s=patience_s)
        self._member = member

    def as_member(self, name: str) -> TeamMemory:
        """The same memory as this member sees it, over the same connections. The address must be a server's role."""
        return TeamMemory("", self.team, database=self.database, member=checked_member(name))

    def close(self) -> None:
        """Close the connections, also those of `as_member`."""
        self.database.close()

    def me(self) -> str:
        """The member that asks."""
        rows = self._rows("SELECT sage_team.caller()", ())
        return str(rows[0][0])

    def find(self, question: str = "", *, project: str = "", kind: str = "", limit: int = 20) -> list[TeamItem]:
        """The items with words of a question, the best first; without a question, the newest."""
        sql = "SELECT * FROM sage_team.find(%s, %s, %s, %s, %s)"
        return [_item(row) for row in self._rows(sql, (self.team, project, kind, question[:2_000], limit))]

    def read(self, item: str) -> TeamItem | None:
        """An item by its id; None if there is none that this person may see."""
        rows = self._rows("SELECT * FROM sage_team.read_item(%s, %s)", (self.team, _uuid(item)))
        return _item(rows[0]) if rows else None

    def history(self, item: str) -> list[TeamVersion]:
        """All texts that an item has had, the first one first."""
        sql = (
            "SELECT number, base, author, outcome, visibility, deleted, text, made_at, is_open"
            " FROM sage_team.history(%s, %s)"
        )
        return [TeamVersion(*(*row[:7], _when(row[7]), row[8])) for row in self._rows(sql, (self.team, _uuid(item)))]

    def conflicts(self) -> list[TeamConflict]:
        """The versions that could not be merged and that wait for a person."""
        sql = "SELECT item, number, base, author, deleted, text, made_at FROM sage_team.open_conflicts(%s)"
        return [TeamConflict(*(*row[:6], _when(row[6]))) for row in self._rows(sql, (self.team,))]

    def changes(self, since: str = "0") -> tuple[list[TeamItem], set[str], str]:
        """The items that have changed since a position, the ids of all that are visible, and the next position."""

        def work(connection: Connection) -> tuple[list[TeamItem], set[str], str]:
            # What commits later than this look has a higher transaction, or is looked at again the next time.
            row = connection.execute("SELECT pg_snapshot_xmin(pg_current_snapshot())::text").fetchone()
            found: list[TeamItem] = []
            after = _FIRST_UUID
            sql = "SELECT * FROM sage_team.changes(%s, %s::text::xid8, %s, %s)"
            while True:
                rows = connection.execute(sql.encode(), (self.team, since, _PULLED_AT_ONCE, after)).fetchall()
                found += map(_item, rows)
                if len(rows) < _PULLED_AT_ONCE:
                    break
                after = found[-1].item
            visible = connection.execute("SELECT item FROM sage_team.visible(%s)", (self.team,)).fetchall()
            return found, {str(one[0]) for one in visible}, str(row[0]) if row else "0"

        return self.database.run(work, self._member)

    def write(self, edit: Edit) -> Written:
        """Store an edit: as the next version, merged with what others wrote since, or as a conflict beside it."""
        _check(edit)
        for _ in range(_TRIES):
            done = self.database.run(lambda connection: self._write(connection, edit), self._member)
            if done is not None:
                return done
        raise StoreError(f"{edit.name} cannot be stored", "another item has its id, or others write it all the time")

    def save(self, project: str, kind: str, name: str, text: str, visibility: str = "project") -> Written:
        """Make an item of this person, or give it another text; for a caller without a replica."""
        item = item_id(self.team, project, kind, name, self.me())
        now = self.read(item)
        base, base_text = (now.number, now.text) if now else (0, None)
        edit = Edit(
            item, project, kind_named(kind), name, visibility_named(visibility), base, text, base_text=base_text
        )
        return self.write(edit)

    def resolve(
        self, item: str, text: str, numbers: Sequence[int], seen: int, op: str, *, deleted: bool = False
    ) -> Written:
        """Store what a person made of an item and its conflicts; Conflict if the item has moved on from `seen`."""
        now = self.read(item)
        if now is None:
            raise UsageError(f"there is no item {item[:60]}", "see `sage team conflicts`")

        def work(connection: Connection) -> Written:
            if (done := _known(connection, op, text)) is not None:
                return done
            values = (op, item, self.team, now.project, now.kind, now.name, now.visibility, seen, seen, text, deleted)
            number = _stored(connection, values, "resolved")
            if not number:
                raise Conflict(f"{now.name} was changed meanwhile", "look at it again: `sage team sync`")
            connection.execute("SELECT sage_team.close_conflicts(%s, %s)", (item, list(numbers)))
            return Written(item, number, "resolved", text)

        return self.database.run(work, self._member)

    def audit(self, item: str = "", limit: int = 200) -> list[AuditLine]:
        """Who read and wrote what, the last one first: an administrator sees all, a member their own lines."""
        sql = "SELECT at, member, login, action, items, detail FROM sage_team.audit_of(%s, %s, %s)"
        rows = self._rows(sql, (self.team, _uuid(item) if item else None, limit))
        return [AuditLine(*(_when(row[0]), *row[1:4], tuple(map(str, row[4])), row[5])) for row in rows]

    def members(self) -> list[Member]:
        """The members of the team; none for somebody who does not belong to it."""
        sql = "SELECT member, projects, is_admin, added_by, added_at FROM sage_team.members_of(%s)"
        return [Member(row[0], tuple(row[1]), row[2], row[3], _when(row[4])) for row in self._rows(sql, (self.team,))]

    def set_member(self, name: str, projects: Sequence[str] = (EVERY_PROJECT,), *, is_admin: bool = False) -> None:
        """Add a member or change their rights; only an administrator may."""
        values = (self.team, checked_member(name), list(projects), is_admin)
        self._rows("SELECT sage_team.set_member(%s, %s, %s, %s)", values)

    def drop_member(self, name: str) -> bool:
        """Take a member out of the team; whether they were in it."""
        return bool(self._rows("SELECT sage_team.drop_member(%s, %s)", (self.team, name))[0][0])

    def _rows(self, sql: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        def work(connection: Connection) -> list[tuple[Any, ...]]:
            return connection.execute(sql.encode(), values).fetchall()

        return self.database.run(work, self._member)

    def _write(self, connection: Connection, edit: Edit) -> Written | None:
        """Store an edit in a transaction; None if somebody made the same new item at the same time."""
        if (done := _known(connection, edit.op, edit.text)) is not None:
            return done
        now = connection.execute("SELECT number, text, deleted FROM sage_team.begin_edit(%s)", (edit.item,)).fetchone()
        number, text, deleted = now or (0, "", False)
        outcome: Outcome = "stored"
        new_text, is_deleted = edit.text, edit.deleted
        if now is not None and number != edit.base:
            joined = None
            if deleted == edit.deleted:
                joined = merged(self._base_text(connection, edit), edit.text, text)
            outcome = "conflict" if joined is None else "merged"
            new_text, is_deleted = (edit.text, edit.deleted) if joined is None else (joined, deleted)
        values = (edit.op, edit.item, self.team, edit.project, edit.kind, edit.name, edit.visibility, edit.base, number,
                  new_text, is_deleted)  # fmt: skip
        stored = _stored(connection, values, outcome)
        return Written(edit.item, stored, outcome, text if outcome == "conflict" else new_text) if stored else None

    def _base_text(self, connection: Connection, edit: Edit) -> str:
        if edit.base_text is not None:
            return edit.base_text
        row = connection.execute("SELECT sage_team.version_text(%s, %s)", (edit.item, edit.base)).fetchone()
        return str(row[0]) if row and row[0] is not None else ""


def _known(connection: Connection, op: str, text: str) -> Written | None:
    row = connection.execute("SELECT item, number, outcome FROM sage_team.known_op(%s)", (op,)).fetchone()
    return Written(str(row[0]), row[1], row[2], text) if row else None


def _stored(connection: Connection, values: tuple[object, ...], outcome: Outcome) -> int:
    marks = ", ".join(["%s"] * 12)
    row = connection.execute(f"SELECT sage_team.write_item({marks})".encode(), (*values, outcome)).fetchone()
    return int(row[0]) if row else 0


def _check(edit: Edit) -> None:
    if len(edit.text) > MAX_TEXT_CHARS or "\0" in edit.text:
        raise UsageError(f"{edit.name}: the text is too long or has a zero byte", "shorten it")


def _item(row: tuple[Any, ...]) -> TeamItem:
    return TeamItem(*(str(row[0]), *row[1:10], _when(row[10])))


def _uuid(text: str) -> str:
    import uuid

    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise UsageError(f"{text[:60]!r} is no id of a team's item", "see `sage team list`") from None


def _when(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")


def as_document(item: TeamItem, *, with_text: bool = True) -> Mapping[str, object]:
    """An item as plain data for the faces."""
    names = ("item", "project", "kind", "name", "author", "visibility", "number", "editor", "changed_at")
    return {**{name: getattr(item, name) for name in names}, **({"text": item.text} if with_text else {})}
