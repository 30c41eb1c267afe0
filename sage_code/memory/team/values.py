"""The values of a team's memory: an item and its versions, an edit, and what became of it. No database, no files."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from sage_code.errors import UsageError

Kind: TypeAlias = Literal["checkpoint", "knowledge", "core", "block"]
Visibility: TypeAlias = Literal["me", "project", "team"]
Outcome: TypeAlias = Literal["stored", "merged", "conflict", "resolved"]
KINDS: tuple[Kind, ...] = ("checkpoint", "knowledge", "core", "block")
VISIBILITIES: tuple[Visibility, ...] = ("me", "project", "team")
# A member with this project works on all of them.
EVERY_PROJECT = "*"
# As much as a file of a memory may have.
MAX_TEXT_CHARS = 1_000_000
# Ids are made from names, so that the same memory of the same author is the same item on all their machines.
_NAMES = uuid.UUID("6f0a3c1e-5f1b-4c53-9a0e-2c1d9be0a721")


@dataclass(frozen=True, slots=True)
class TeamItem:
    """A memory of a team as it is now."""

    item: str  # a UUID
    project: str  # the key of the project, the same on all machines
    kind: Kind
    name: str  # the id of the memory, or the label of the block
    author: str
    visibility: Visibility
    number: int  # the version that is the current one
    deleted: bool
    text: str
    editor: str  # who wrote the current version
    changed_at: str


@dataclass(frozen=True, slots=True)
class TeamVersion:
    """One text that an item has had, or that could not be merged into it."""

    number: int
    base: int  # the version that its author had seen
    author: str
    outcome: Outcome
    visibility: Visibility
    deleted: bool
    text: str
    made_at: str
    is_open: bool  # whether it is a conflict that nobody has resolved


@dataclass(frozen=True, slots=True)
class TeamConflict:
    """A version that could not be merged: it is kept beside the current one until a person decides."""

    item: str
    number: int
    base: int
    author: str
    deleted: bool
    text: str
    made_at: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A change that somebody wants: the text they wrote, and the version that they had seen."""

    item: str
    project: str
    kind: Kind
    name: str
    visibility: Visibility
    base: int  # 0 for a new item
    text: str
    deleted: bool = False
    base_text: str | None = None  # the text of `base`, if it is known here
    op: str = field(default_factory=lambda: str(uuid.uuid4()))  # the same edit sent twice is stored once


@dataclass(frozen=True, slots=True)
class Written:
    """What became of an edit: the number of its version, and the text that is the current one now."""

    item: str
    number: int
    outcome: Outcome
    text: str


@dataclass(frozen=True, slots=True)
class Member:
    """A person in a team: the name is that of their role in the database."""

    name: str
    projects: tuple[str, ...]
    is_admin: bool
    added_by: str = ""
    added_at: str = ""


@dataclass(frozen=True, slots=True)
class AuditLine:
    """Who did what, when; `login` is the role that was connected, a server's for a person that it acts for."""

    at: str
    member: str
    login: str
    action: str
    items: tuple[str, ...]
    detail: str


def item_id(team: str, project: str, kind: str, name: str, author: str) -> str:
    """The id of the item that an author makes of a memory."""
    return str(uuid.uuid5(_NAMES, "\x1f".join((team, project, kind, name, author))))


def visibility_named(name: str) -> Visibility:
    """A visibility by its name; UsageError if there is none."""
    for one in VISIBILITIES:
        if one == name:
            return one
    raise UsageError(f"there is no visibility {name[:40]!r}", f"one of {', '.join(VISIBILITIES)}")


def kind_named(name: str) -> Kind:
    """A kind of memory by its name; UsageError if there is none."""
    for one in KINDS:
        if one == name:
            return one
    raise UsageError(f"there is no kind of memory called {name[:40]!r}", f"one of {', '.join(KINDS)}")
