"""Shares memories with a team and keeps this machine in step with its server; without the server, edits wait.

What others share becomes Markdown in Sage's home (`team/projects/…`, `team/shared`), where recall, search and `why`
find it beside one's own memories. One's own shared memory stays in its file, which gets the edits of others. A file
that a person edits is an edit of its item; one that is deleted is not: the item stays. Secrets are masked before
anything leaves the machine.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from sage_code.errors import Conflict, MemoryDamaged, SageError, UsageError
from sage_code.memory.files.homes import MemoryHome, homes, team_home
from sage_code.memory.files.kept import version_of
from sage_code.memory.team.connecting import Unreachable
from sage_code.memory.team.replica import Replica, WrittenFile
from sage_code.memory.team.team_memory import TeamMemory
from sage_code.memory.team.values import Edit, Kind, TeamConflict, TeamItem, Visibility, Written, item_id

# Core files and blocks are texts with a head like knowledge, so that recall finds them.
_FOLDERS: dict[str, str] = {"checkpoint": "checkpoints"} | dict.fromkeys(
    ("knowledge", "core", "block"), "knowledge/global"
)
_NAME_CHARS = 60  # with the author's name and a suffix, within the length of an id
_LEAST_ID_CHARS = 4


@dataclass(frozen=True, slots=True)
class Synced:
    """What one sync did."""

    sent: tuple[Written, ...] = ()
    received: tuple[TeamItem, ...] = ()
    conflicts: tuple[TeamConflict, ...] = ()
    refused: tuple[str, ...] = ()
    waiting: int = 0
    offline: str = ""  # why the server could not be asked; empty if it answered
    edited: tuple[str, ...] = ()  # files of the team that were edited here


class TeamReplica:
    """A team's memory as one person has it on one machine, in one project."""

    def __init__(self, replica: Replica, member: str, root: str | None, project: str) -> None:
        self.replica, self.member, self.root, self.project = replica, member, root, project

    def share(
        self, kind: Kind, name: str, text: str, visibility: Visibility, file: tuple[MemoryHome, str] | None = None
    ) -> tuple[Edit, tuple[str, ...]]:
        """Queue a memory for the team; returns the edit and the kinds of secrets that were masked.

        `file` is where the memory is: from now on, it and the item are kept in step.
        """
        from sage_code.text.masking import mask  # lazy: dozens of patterns

        masked, kinds = mask(text)
        item = item_id(self.replica.team, self.project, kind, name, self.member)
        edit = self._edit(item, kind, name, visibility, masked)
        self.replica.queue(edit)
        if file is not None:
            home, path = file
            self.replica.note_file(home.path(), path, WrittenFile(item, version_of(text), version_of(masked)))
        return edit, kinds

    def edit(self, item: str, text: str, *, deleted: bool = False, visibility: Visibility | None = None) -> Edit:
        """Queue another text of an item that is known here."""
        from sage_code.text.masking import mask  # lazy: dozens of patterns

        now, waiting = self.replica.item(item), self.replica.waiting(item)
        known = now or waiting
        if known is None:
            raise UsageError(f"there is no item {item[:60]}", "see `sage team list`")
        edit = self._edit(item, known.kind, known.name, visibility or known.visibility, mask(text)[0], deleted)
        self.replica.queue(edit)
        return edit

    def _edit(self, item: str, kind: Kind, name: str, visibility: Visibility, text: str, deleted: bool = False) -> Edit:
        """An edit that continues what is known here: the last edit that waits, or the last text of the server."""
        now, before = self.replica.item(item), self.replica.waiting(item)
        known = now or before
        project = known.project if known else self.project
        base, base_text = (now.number, now.text) if now else (0, None)
        if before is not None:
            base_text = before.text  # its author has seen that text, which the server has by then
        return Edit(item, project, kind, name, visibility, base, text, deleted, base_text)

    def sync(self, server: TeamMemory) -> Synced:
        """Take up edited files, send what waits, and take over what others did."""
        edited = self._edited_files()
        sent: list[Written] = []
        refused: list[str] = []
        try:
            server.database.probe()  # says at once, and why, what a pool says after its patience
            for edit, _ in self.replica.queued():
                try:
                    sent.append(server.write(edit))
                except Unreachable:
                    raise
                except SageError as error:
                    self.replica.refused(edit.op, error.message)
                    refused.append(f"{edit.name}: {error.message}")
                else:
                    self.replica.acknowledged(edit.op)
            changed, visible, position = server.changes(self.replica.position())
            if visible - self.replica.ids() - {one.item for one in changed}:
                # What was visible to others before: this person works on another project now, or it is another server.
                changed, visible, position = server.changes()
            conflicts = server.conflicts()
        except Unreachable as error:
            left = self.replica.queued()
            known = tuple(self.replica.conflicts())
            return Synced(tuple(sent), (), known, tuple(refused), len(left), error.message, tuple(edited))
        self.replica.pulled(changed, visible, conflicts, position)
        self._write_files()
        received = tuple(one for one in changed if one.editor != self.member)
        return Synced(
            tuple(sent), received, tuple(conflicts), tuple(refused), len(self.replica.queued()), "", tuple(edited)
        )

    def resolve(self, server: TeamMemory, item: str, text: str, *, deleted: bool = False) -> Written:
        """Store what a person decided, and close the conflicts of the item that they have seen."""
        now = self.replica.item(item)
        numbers = [one.number for one in self.replica.conflicts() if one.item == item]
        if now is None or not numbers:
            raise UsageError(f"{item[:60]} has no conflict", "see `sage team conflicts`")
        from sage_code.text.masking import mask  # lazy: dozens of patterns

        edit = self._edit(item, now.kind, now.name, now.visibility, mask(text)[0])
        try:
            return server.resolve(item, edit.text, numbers, now.number, edit.op, deleted=deleted)
        except Conflict:
            self.sync(server)
            raise

    def _homes(self) -> tuple[MemoryHome, ...]:
        """The homes whose files may hold items: one's own first, then those of the team."""
        own = [home for home in homes(self.root) if home.scope != "team"]
        return (*own, *dict.fromkeys((team_home(self.root), team_home(None))))

    def _places(self) -> dict[tuple[MemoryHome, str], TeamItem]:
        """Where the items are on this machine that have no file of one's own. Those of other projects have none."""
        own = {
            written.item
            for home in self._homes()
            if home.scope != "team"
            for path, written in self.replica.files(home.path()).items()
            if os.path.isfile(home.path(path))
        }
        found: dict[tuple[MemoryHome, str], TeamItem] = {}
        for item in self.replica.items():
            is_here = item.project == self.project and self.root is not None
            if item.item in own or not (is_here or item.visibility == "team"):
                continue
            place = (
                team_home(self.root if is_here else None),
                f"{_FOLDERS[item.kind]}/{file_id(item.name, item.author)}.md",
            )
            if place in found:  # of a block and a fact with one name, or of two projects
                place = place[0], f"{place[1][:-3].rpartition('--')[0]}-{item.item[:8]}--{item.author}.md"
            found[place] = item
        return found

    def _write_files(self) -> None:
        """Make the files say what the items say, but for those with edits that the server has not taken."""
        places = self._places()
        waiting = {edit.item for edit, _ in self.replica.queued()}
        for home in self._homes():
            known = self.replica.files(home.path())
            wanted = {path: item for (one, path), item in places.items() if one == home}
            if home.scope != "team":
                items = {path: self.replica.item(written.item) for path, written in known.items()}
                wanted = {
                    path: item
                    for path, item in items.items()
                    if item is not None and not item.deleted and os.path.isfile(home.path(path))
                }
            for path in known.keys() - wanted.keys():
                if home.scope == "team":
                    with suppress(OSError, MemoryDamaged):
                        home.remove(path)
                self.replica.forget_file(home.path(), path)
            if wanted:
                home.prepare(*sorted({os.path.dirname(path) for path in wanted}))
                with home.locked():
                    for path, item in wanted.items():
                        if item.item not in waiting:
                            self._write_file(home, path, item, known.get(path))

    def _write_file(self, home: MemoryHome, path: str, item: TeamItem, known: WrittenFile | None) -> None:
        """Write one item, unless its file says so already or was edited just now, which the next sync takes up."""
        version = version_of(item.text)
        is_there = known is not None and known.item == item.item and os.path.isfile(home.path(path))
        if is_there and known and (known.sent == version or version_of(home.read(path)) != known.version):
            return
        home.write(item.text, path)
        self.replica.note_file(home.path(), path, WrittenFile(item.item, version, version))

    def _edited_files(self) -> list[str]:
        """Queue the files with items that a person edited since they were in step."""
        edited = []
        for home in self._homes():
            for path, written in self.replica.files(home.path()).items():
                with suppress(FileNotFoundError, MemoryDamaged):
                    text = home.read(path)
                    if version_of(text) != written.version and self._is_known(written.item):
                        edit = self.edit(written.item, text)
                        now = WrittenFile(written.item, version_of(text), version_of(edit.text))
                        self.replica.note_file(home.path(), path, now)
                        edited.append(path)
        return edited

    def _is_known(self, item: str) -> bool:
        return self.replica.item(item) is not None or self.replica.waiting(item) is not None


def file_id(name: str, author: str) -> str:
    """The id on this machine of a memory that somebody shared; `author_in` reads the author from it."""
    return f"{name[:_NAME_CHARS]}--{author}"


def author_in(id_: str, scope: str) -> str:
    """Who shared a memory, by its id on this machine; empty for one of one's own."""
    return id_.rpartition("--")[2] if scope == "team" else ""


def item_named(items: Sequence[TeamItem], word: str) -> TeamItem:
    """The item with this id, the beginning of an id, this name, or this name with its author as in `retries--ada`.

    UsageError if there is none or several.
    """
    found = [one for one in items if word in (one.item, one.name, file_id(one.name, one.author))]
    found = found or [one for one in items if len(word) >= _LEAST_ID_CHARS and one.item.startswith(word)]
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(f"{one.item[:8]} ({one.author})" for one in found[:5])
        raise UsageError(f"there are {len(found)} items called {word[:80]!r}", f"name one by its id: {some}")
    raise UsageError(f"there is no item called {word[:80]!r}", "see `sage team list --all`, after `sage team sync`")
