"""Installs Sage's skills for Claude Code, brings them up to date, and removes them, without touching what was edited.

A skill is one file, `<folder>/skills/<name>/SKILL.md`. The record keeps the text that was installed: a file that is
still that text is Sage's to replace or delete, any other is the user's and needs `force`. A skill behind a link is
somebody else's, always.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from sage_code.agents import files, record
from sage_code.agents.files import TextFile
from sage_code.agents.record import Insertion
from sage_code.agents.table import claude_folder
from sage_code.agents.writing import put_in, take_out
from sage_code.errors import UsageError
from sage_code.paths import assets_dir
from sage_code.values import Scope

# What teaches an agent to use memory; the others are about code search, and are installed by name.
DEFAULT = ("sage-memory", "sage-research", "sage-session", "sage-knowledge", "sage-knowledge-hygiene")
_FILE = "SKILL.md"
_HEAD = re.compile(r"\A---\r?\n(.*?)^---\s*?$", re.DOTALL | re.MULTILINE)
_VERSION = re.compile(r"^\s+version:\s*[\"']?([\w.+-]{1,40})", re.MULTILINE)
_DESCRIPTION = re.compile(r"^description:[ \t]*(.+)$", re.MULTILINE)
_LINK = "it is a link, which Sage leaves alone"

State = Literal["current", "outdated", "edited", "absent", "foreign"]


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill that this Sage brings."""

    name: str
    version: str
    description: str
    text: str


@dataclass(frozen=True, slots=True)
class SkillState:
    """A skill, and how it is installed."""

    name: str
    scope: Scope
    path: str
    state: State
    shipped: str  # its version in this Sage
    installed: str  # its version there; empty if it is not, or has none
    is_default: bool
    description: str


@dataclass(frozen=True, slots=True)
class SkillChange:
    """What was done to one skill."""

    name: str
    scope: Scope
    path: str
    action: Literal["added", "updated", "unchanged", "removed", "absent", "kept"]
    version: str = ""  # that is installed now
    backup: str = ""  # the path of a copy of the old file
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Installed:
    """The file of a skill, its state, and the record of it."""

    skill: Skill
    scope: Scope
    file: TextFile
    state: State
    known: Insertion | None
    is_link: bool

    def changed(self, action: Literal["added", "updated", "unchanged"], backup: str = "") -> SkillChange:
        return SkillChange(self.skill.name, self.scope, self.file.path, action, self.skill.version, backup)

    def kept(self) -> SkillChange:
        """The change that is none, and what would make it one."""
        why = "it was edited" if self.state == "edited" else "it was not installed by Sage"
        note = _LINK if self.is_link else f"{why}; --force goes ahead all the same, and keeps a copy"
        return SkillChange(self.skill.name, self.scope, self.file.path, "kept", _version(self.file.text), note=note)


@cache
def shipped() -> dict[str, Skill]:
    """The skills that this Sage brings, the default ones first."""
    folder = assets_dir("skills")
    others = sorted(set(os.listdir(folder)) - set(DEFAULT))
    found = {}
    for name in (*DEFAULT, *others):
        with open(os.path.join(folder, name, _FILE), encoding="utf-8") as file:
            text = file.read()
        description = _DESCRIPTION.search(_head(text))
        found[name] = Skill(name, _version(text), description[1] if description else "", text)
    return found


def find_skill(name: str) -> Skill:
    """The skill called `name`. A name is looked up, so it can never lead to another folder."""
    try:
        return shipped()[name]
    except KeyError:
        raise UsageError(f"no skill is called {name[:80]!r}", f"there are: {', '.join(shipped())}") from None


def states(scope: Scope, root: str) -> list[SkillState]:
    """All skills, and how they are installed."""
    return [
        SkillState(
            name, scope, one.file.path, one.state, skill.version, _version(one.file.text), name in DEFAULT,
            skill.description,
        )
        for name, skill in shipped().items()
        for one in [_look(skill, scope, root)]
    ]  # fmt: skip


def install(names: list[str], scope: Scope, root: str, *, force: bool = False) -> list[SkillChange]:
    """Install the skills with these names, or the default ones."""
    return [_write(one, force=force) for one in _chosen(names or list(DEFAULT), scope, root)]


def update(names: list[str], scope: Scope, root: str, *, force: bool = False) -> list[SkillChange]:
    """Bring these skills up to date, or all that are installed; none is added."""
    changes = []
    for one in _chosen(names, scope, root):
        if one.state != "absent":
            changes.append(_write(one, force=force))
        elif names:
            note = f"`sage skills install {one.skill.name}` adds it"
            changes.append(SkillChange(one.skill.name, scope, one.file.path, "absent", note=note))
    return changes


def uninstall(names: list[str], scope: Scope, root: str, *, force: bool = False) -> list[SkillChange]:
    """Remove these skills, or all that are installed."""
    changes = []
    for one in _chosen(names, scope, root):
        if one.state == "absent":
            record.put(one.file.path, None)
            if names:
                changes.append(SkillChange(one.skill.name, scope, one.file.path, "absent"))
        elif _is_users(one) and (one.is_link or not force):
            changes.append(one.kept())
        else:
            changes.append(_delete(one))
    return changes


def _chosen(names: list[str], scope: Scope, root: str) -> Iterator[_Installed]:
    """The skills with these names, or all. Each is looked at when its turn comes, since folders pass from one to the
    next."""
    chosen = [find_skill(name) for name in dict.fromkeys(names or shipped())]
    return (_look(skill, scope, root) for skill in chosen)


def _look(skill: Skill, scope: Scope, root: str) -> _Installed:
    """How a skill is installed; ConfigError if its file cannot be read or is outside of the project."""
    # One level below `skills/`: a further folder for all of Sage's would not be searched by Claude Code.
    folder = os.path.join(claude_folder(scope, root), "skills", skill.name)
    path = os.path.join(folder, _FILE)
    is_link = os.path.islink(folder) or os.path.islink(path)
    file = files.read_inside(path, root if scope == "project" else None)
    known = record.find(path)
    state: State
    if not file.exists and not is_link:
        state = "absent"
    elif is_link:
        state = "foreign"
    elif file.text == skill.text:
        state = "current"
    elif known is None:
        state = "foreign"
    else:
        state = "outdated" if known.pieces == [file.text] else "edited"
    return _Installed(skill, scope, file, state, known, is_link)


def _is_users(one: _Installed) -> bool:
    return one.state in ("edited", "foreign")


def _write(one: _Installed, *, force: bool) -> SkillChange:
    """Write a skill, unless the user's own words would be lost."""
    insertion = Insertion([one.skill.text], existed=False)
    if one.state == "current":
        if one.known is None or one.known.pieces != insertion.pieces:  # the record was lost, or the user wrote the same
            record.put(one.file.path, replace(one.known or insertion, pieces=insertion.pieces))
        return one.changed("unchanged")
    if _is_users(one) and (one.is_link or not force):
        return one.kept()
    backup = files.keep_backup(one.file, newest=True) if _is_users(one) else ""
    put_in(one.file, one.skill.text, insertion, one.known, private=False, backup=False)
    return one.changed("added" if one.state == "absent" else "updated", backup)


def _delete(one: _Installed) -> SkillChange:
    """Delete a skill, and the folders that Sage made for it if nothing else is in them."""
    backup = files.keep_backup(one.file, newest=True) if _is_users(one) else ""
    known = one.known or Insertion([one.file.text], existed=False)
    # A skill has its folder to itself, also where the record of who made it is lost.
    folder = os.path.dirname(one.file.path)
    known = known if folder in known.folders else replace(known, folders=[folder, *known.folders])
    take_out(one.file, "", replace(known, existed=False), private=False)
    return SkillChange(one.skill.name, one.scope, one.file.path, "removed", backup=backup)


def _head(text: str) -> str:
    found = _HEAD.search(text)
    return found[1] if found else ""


def _version(text: str) -> str:
    """The version in the head of a skill. No YAML is parsed: an installed file may hold anything."""
    found = _VERSION.search(_head(text))
    return found[1] if found else ""
