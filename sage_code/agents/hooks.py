"""Adds Sage's hooks to the settings of Claude Code, removes them, and says how they are.

Each event gets one insertion: a new item at the end of its list, or a list of its own. Hooks of others stay where they
are. The result is parsed and compared before it is written. Uninstalling takes the recorded insertions back, last one
first, so the file is the same again byte for byte; a hook that was moved or reformatted since is found by parsing, and
cut out.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from sage_code.agents import files, jsonc, record
from sage_code.agents.entries import document_of, verify
from sage_code.agents.files import TextFile
from sage_code.agents.hook_table import (
    EVENTS,
    SCOPES,
    SHARED_COMMAND,
    HookScope,
    hook_command,
    is_sage_hook,
    new_group,
    settings_file,
    why_not,
)
from sage_code.agents.record import Insertion
from sage_code.agents.table import AGENTS
from sage_code.agents.writing import put_in, take_out
from sage_code.errors import ConfigError, SageError

_HOOKS = "hooks"
_CLAUDE = AGENTS["claude"]
_PLUGIN = "sage@"  # and the name of the marketplace that it came from
_NOT_IGNORED = "Claude Code keeps a local file out of git only if it made it: add it to .gitignore"


@dataclass(frozen=True, slots=True)
class HookChange:
    """What was done to one settings file."""

    scope: HookScope
    path: str
    action: Literal["added", "updated", "unchanged", "removed", "absent"]
    backup: str = ""  # the path of a copy of the old file
    note: str = ""


@dataclass(frozen=True, slots=True)
class HookState:
    """How Sage's hooks are in one settings file."""

    scope: HookScope
    path: str
    state: Literal["installed", "absent", "outdated", "partial", "broken"]
    missing: tuple[str, ...] = ()  # events without a hook of Sage
    command: str = ""
    runnable: bool = False
    problem: str = ""  # why it is broken

    @property
    def remedy(self) -> str:
        """What repairs it; empty if nothing needs doing, or if the problem says it."""
        if self.state in ("installed", "absent") or not self.command:
            return ""
        if self.command == SHARED_COMMAND and self.state == "broken":  # writing it again changes nothing
            return "put the folder of sage-hook on the PATH, or run `sage hooks install` for yourself"
        return f"`sage hooks install{'' if self.scope == 'user' else f' --scope {self.scope}'}`"


@dataclass(frozen=True, slots=True)
class HookStatus:
    """How Sage's hooks are in all settings files, and what else decides whether they run."""

    scopes: tuple[HookState, ...]
    disabled_by: str = ""  # the file that switches all hooks off
    plugin_in: str = ""  # the file that enables Sage's plugin, which brings the same hooks

    @property
    def is_installed(self) -> bool:
        """Whether any file has a hook of Sage."""
        return any(one.state != "absent" for one in self.scopes)

    @property
    def is_broken(self) -> bool:
        """Whether a file cannot be read, or names a program that cannot be run."""
        return any(one.state == "broken" for one in self.scopes)

    @property
    def notes(self) -> list[str]:
        """What else there is to know: hooks that are switched off, and events that are answered more than once."""
        notes = []
        if self.disabled_by:
            notes.append(f"all hooks are switched off by disableAllHooks in {self.disabled_by}")
        sources = [f"the {one.scope} settings" for one in self.scopes if one.command]
        if self.plugin_in:
            sources.append(f"Sage's plugin, enabled in {self.plugin_in}")
            if len(sources) == 1:
                notes.append(f"Sage's plugin, enabled in {self.plugin_in}, brings the hooks")
        if len(sources) > 1:
            notes.append(
                f"{' and '.join(sources)} bring the same hooks: each runs more than once, which saves nothing twice, "
                "and costs time; one of them is enough"
            )
        return notes


class _Found(NamedTuple):
    """A handler of Sage: its event, the numbers of its group and of itself, and the two."""

    event: str
    group_number: int
    number: int
    group: dict[str, Any]
    handler: dict[str, Any]


def preview(scope: HookScope, root: str) -> dict[str, str]:
    """The file that `install` would change, and the text that it would write into an empty file."""
    wanted = {event: new_group(event, hook_command(scope)) for event in EVENTS}
    file = TextFile(settings_file(scope, root), "", exists=False)
    return {"scope": scope, "path": file.path, "text": _with_hooks(file, "", wanted)[0]}


def install(scope: HookScope, root: str, *, force: bool = False) -> HookChange:
    """Add the hooks to the settings, or bring their command up to date.

    A matcher or a time limit that the user has set on a hook of Sage stays, unless `force`.
    """
    file, document = _read(scope, root)
    command = hook_command(scope)
    found = list(_found(document))
    wanted = {event: new_group(event, command) for event in EVENTS}
    if not force:
        wanted |= {one.event: _renewed(one, command) for one in reversed(found) if one.event in EVENTS}
    own = sorted(((one.event, {**one.group, _HOOKS: [one.handler]}) for one in found), key=itemgetter(0))
    if own == sorted(wanted.items()):
        return HookChange(scope, file.path, "unchanged")
    known = record.find(file.path)
    base = _without_hooks(file, document, known) if found else file.text
    text, insertion = _with_hooks(file, base, wanted)
    verify(_CLAUDE, file, text, _with_groups(_parsed(base), wanted))
    backup = put_in(file, text, insertion, known if found else None, private=scope != "project")
    note = _NOT_IGNORED if scope == "local" and not file.exists else ""
    return HookChange(scope, file.path, "updated" if found else "added", backup, note)


def uninstall(scope: HookScope, root: str) -> HookChange:
    """Remove the hooks from the settings."""
    file, document = _read(scope, root)
    if not any(_found(document)):
        record.put(file.path, None)
        return HookChange(scope, file.path, "absent")
    known = record.find(file.path)
    text = _without_hooks(file, document, known)
    backup = take_out(file, text, known, private=scope != "project")
    return HookChange(scope, file.path, "removed", backup)


def status(root: str) -> HookStatus:
    """How the hooks are; a file that cannot be read is one of the answers."""
    states, disabled_by, plugin_in = [], "", ""
    for scope in SCOPES:
        path = settings_file(scope, root)
        if scope != "user" and path == settings_file("user", root):  # the home folder is the project
            continue
        try:
            _, document = _read(scope, root)
        except SageError as error:
            states.append(HookState(scope, path, "broken", problem=f"{error.message}; {error.hint}"))
            continue
        states.append(_state(scope, path, document))
        # A later file overrules an earlier one, also by switching on again what that one has switched off.
        if isinstance(switch := document.get("disableAllHooks"), bool):
            disabled_by = path if switch else ""
        plugins = document.get("enabledPlugins")
        for name, enabled in plugins.items() if isinstance(plugins, dict) else ():
            if name.startswith(_PLUGIN):
                plugin_in = path if enabled is True else ""
    return HookStatus(tuple(states), disabled_by, plugin_in)


def _state(scope: HookScope, path: str, document: Any) -> HookState:
    """How the hooks are in the settings at `path`."""
    found = list(_found(document))
    if not found:
        return HookState(scope, path, "absent", tuple(EVENTS))
    missing = tuple(event for event in EVENTS if event not in {one.event for one in found})
    commands = {str(one.handler.get("command")): one.handler for one in found}
    for command, handler in commands.items():
        if problem := why_not(handler):
            return HookState(scope, path, "broken", missing, command, problem=problem)
    # More hooks than events: one is there twice, or for an event that Sage no longer asks for.
    is_current = list(commands) == [hook_command(scope)] and len(found) == len(EVENTS)
    state: Literal["partial", "installed", "outdated"]
    state = "partial" if missing else "installed" if is_current else "outdated"
    return HookState(scope, path, state, missing, next(iter(commands)), runnable=True)


def _read(scope: HookScope, root: str) -> tuple[TextFile, Any]:
    file = files.read_inside(settings_file(scope, root), None if scope == "user" else root)
    return file, document_of(_CLAUDE, file)


def _parsed(text: str) -> Any:
    return {} if jsonc.is_blank(text) else jsonc.parse(text).value


def _found(document: Any) -> Iterator[_Found]:
    """Every handler of Sage in the settings; what is not written as Claude Code wants it is passed over."""
    hooks = document.get(_HOOKS)
    for event, listed in hooks.items() if isinstance(hooks, dict) else ():
        for group_number, group in enumerate(listed if isinstance(listed, list) else ()):
            handlers = group.get(_HOOKS) if isinstance(group, dict) else None
            for number, handler in enumerate(handlers if isinstance(handlers, list) else ()):
                if is_sage_hook(handler):
                    yield _Found(event, group_number, number, group, handler)


def _renewed(found: _Found, command: str) -> dict[str, Any]:
    """A group for a handler of Sage with a new command and everything else that the user has set."""
    handler = {key: value for key, value in found.handler.items() if key != "args"} | {"command": command}
    return {**found.group, _HOOKS: [handler]}


def _with_hooks(file: TextFile, base: str, wanted: dict[str, Any]) -> tuple[str, Insertion]:
    """The text `base` of a file with a group for each event, and what was inserted."""
    text, pieces, keys, made = base, [], list(reversed(wanted)), []
    hooks = _parsed(base).get(_HOOKS)
    try:
        for event in keys:  # each new list goes before the others, so they end up in the order of the table
            if isinstance(hooks, dict) and event in hooks:
                offset, piece = jsonc.appending(text, (_HOOKS, event), wanted[event])
            else:
                offset, piece = jsonc.insertion(text, (_HOOKS, event), [wanted[event]])
                made.append(event)
            text = text[:offset] + piece + text[offset:]
            pieces.append(piece)
    except ValueError as error:
        raise ConfigError(f"{file.path} cannot take a hook: {error}", "correct it first; it was not changed") from error
    made += [] if isinstance(hooks, dict) else [_HOOKS]
    return text, Insertion(pieces, file.exists, keys=keys, made=made)


def _with_groups(document: Any, wanted: dict[str, Any]) -> Any:
    """A copy of the document with the wanted groups at the ends of their lists."""
    document = copy.deepcopy(document)
    for event, group in wanted.items():
        document.setdefault(_HOOKS, {}).setdefault(event, []).append(group)
    return document


def _without_hooks(file: TextFile, document: Any, known: Insertion | None) -> str:
    """The text without the handlers of Sage: recorded insertions are taken back, then what is left of them is cut."""
    wanted, text = _foreign(document), file.text
    try:
        if known is not None:
            for event, piece in reversed(list(zip(known.keys, known.pieces, strict=False))):
                text = _taken_back(text, piece, event, known.made)
        while left := list(_found(_parsed(text))):
            text = jsonc.cut(text, _largest_own(_parsed(text), left[-1], known))
        if _foreign(_parsed(text)) == wanted:
            return text
    except ValueError:  # a cut has left no valid text
        pass
    raise ConfigError(
        f"the hooks of Sage in {file.path} cannot be removed safely", "remove them by hand; nothing was changed"
    )


def _taken_back(text: str, piece: str, event: str, made: list[str]) -> str:
    """The text without a recorded insertion; the text as it is if that was changed.

    The same text may have been inserted into several lists, and one of them may be part of another. The right place
    is the one that leaves the document without Sage's hook for this event, and without a list that was made for it.
    """
    wanted = _foreign(_parsed(text), event, made)
    offset = text.find(piece)
    while offset >= 0:
        shorter = text[:offset] + text[offset + len(piece) :]
        try:
            if _parsed(shorter) == wanted:
                return shorter
        except ValueError:
            pass
        offset = text.find(piece, offset + 1)
    return text


def _largest_own(document: Any, found: _Found, known: Insertion | None) -> jsonc.Steps:
    """The way to what is cut out with a handler: to its group, list and object if it is alone there and Sage's.

    Lists and objects that were there before Sage stay, if the record says so.
    """
    made = None if known is None else known.made
    if len(found.group[_HOOKS]) > 1:
        return (_HOOKS, found.event, found.group_number, _HOOKS, found.number)
    if len(document[_HOOKS][found.event]) > 1 or not _was_made(found.event, made):
        return (_HOOKS, found.event, found.group_number)
    if len(document[_HOOKS]) > 1 or not _was_made(_HOOKS, made):
        return (_HOOKS, found.event)
    return (_HOOKS,)


def _foreign(document: Any, only: str = "", made: list[str] | None = None) -> Any:
    """A copy of the document without the handlers of Sage, those of one event if `only` that is meant.

    Lists and objects that are empty then go too; with `made`, those that are named there.
    """
    document = copy.deepcopy(document)
    for one in reversed(list(_found(document))):
        if only in ("", one.event):
            handlers = one.group[_HOOKS]
            del handlers[one.number]
            if not handlers:
                del document[_HOOKS][one.event][one.group_number]
    hooks = document.get(_HOOKS)
    if isinstance(hooks, dict):
        for event in [event for event, listed in hooks.items() if listed == [] and _was_made(event, made)]:
            del hooks[event]
        if not hooks and _was_made(_HOOKS, made):
            del document[_HOOKS]
    return document


def _was_made(key: str, made: list[str] | None) -> bool:
    """Whether Sage made a list or an object; without a record, an empty one counts as its own."""
    return made is None or key in made
