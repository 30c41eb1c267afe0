"""Adds Sage to an agent's configuration and instructions, and removes it, without changing anything else.

Installing is one insertion into the text of a file; before it is written, the result is parsed and must be the old
document plus Sage's entry. Uninstalling removes that insertion, so the file is the same again, byte for byte. If the
file was reformatted in between, the entry is found by its keys and cut out.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from sage_code.agents import files, notes, record
from sage_code.agents.entries import below, document_of, entry_keys, insertion, verify, with_entry, without_entry
from sage_code.agents.files import TextFile
from sage_code.agents.record import Insertion
from sage_code.agents.table import AGENTS, SERVER_NAME, Agent, claude_folder, config_file, has_notes, notes_file
from sage_code.agents.writing import put_in, take_out
from sage_code.errors import ConfigError, SageError, UsageError
from sage_code.values import Scope

Action = Literal["added", "updated", "unchanged", "removed", "absent", "kept", "skipped", "failed"]
Kind = Literal["server", "snippet", "subagent"]
Step = tuple[Kind, Callable[[Agent, Scope, str], "Change"]]
_PROGRAM = "sage-mcp"
_MODULE = "sage_mcp.server"
_PACKAGE = "sage-code"
_WITH_SUBAGENT = "claude"


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to one file."""

    agent: str
    scope: Scope
    kind: Kind
    path: str
    action: Action
    backup: str = ""  # the path of a copy of the old file
    note: str = ""


def apply_to(agents: list[Agent], steps: list[Step], scope: Scope, root: str) -> list[Change]:
    """Take every step for every agent. If there are several agents, a failure of one does not stop the others."""
    changes = []
    for agent in agents:
        for kind, step in steps:
            try:
                changes.append(step(agent, scope, root))
            except SageError as error:
                if len(agents) == 1:
                    raise
                action: Action = "skipped" if isinstance(error, UsageError) else "failed"
                note = f"{error.message}; {error.hint}"
                changes.append(Change(agent.name, scope, kind, "", action, note=note))
    return changes


def server_command(scope: Scope, *, version: str = "") -> list[str]:
    """The command by which an agent starts the server.

    A user's configuration names this installation. A project's configuration is shared, so the program is found on the
    PATH of each user. With a `version`, uvx runs that version.
    """
    if version:
        return ["uvx", "--from", f"{_PACKAGE}=={version}", _PROGRAM]
    if scope == "project":
        return [_PROGRAM]
    return this_installation(_PROGRAM, _MODULE)


def this_installation(program: str, module: str) -> list[str]:
    """The command that starts a program of this very installation: the script beside Python, or else the module."""
    own = shutil.which(os.path.join(os.path.dirname(sys.executable), program))
    # `-P`: it starts in a project that may come from anybody, and must not import modules from there.
    return [own] if own else [sys.executable, "-P", "-m", module]


def is_sage_entry(entry: Any) -> bool:
    """Whether an entry starts Sage's server, by any of its commands."""
    command = command_of(entry) if isinstance(entry, dict) else []
    names = {os.path.basename(word.replace("\\", "/")).removesuffix(".exe") for word in command}
    return bool(names & {_PROGRAM, _MODULE}) or {"sage", "mcp"} <= names


def command_of(entry: dict[str, Any]) -> list[str]:
    """The command of an entry with its arguments."""
    words, arguments = entry.get("command"), entry.get("args")
    command = words if isinstance(words, list) else [words]
    return [str(word) for word in (*command, *(arguments if isinstance(arguments, list) else ()))]


def read_entry(agent: Agent, scope: Scope, root: str) -> Any:
    """The agent's entry for Sage's server; None if there is none."""
    return _server(agent, scope, root)[-1]


def _server(agent: Agent, scope: Scope, root: str) -> tuple[TextFile, Any, tuple[str, ...], Any]:
    """The file that lists the agent's servers, its document, and the keys and the value of Sage's entry."""
    file = _file(config_file(agent, scope, root), scope, root)
    document = document_of(agent, file)
    keys = entry_keys(agent, document)
    return file, document, keys, below(document, keys)


def preview(agent: Agent, scope: Scope, root: str, command: list[str]) -> dict[str, str]:
    """The file that `install` would change, and the text that it would write into an empty file."""
    _, text = insertion(agent, "", (*agent.keys, SERVER_NAME), agent.entry(command))
    return {"agent": agent.name, "scope": scope, "path": config_file(agent, scope, root), "text": text}


def install(agent: Agent, scope: Scope, root: str, command: list[str], *, force: bool = False) -> Change:
    """Add the server to the agent's configuration, or bring its entry up to date."""
    file, document, keys, old = _server(agent, scope, root)
    entry = agent.entry(command)
    remark = agent.remark if scope == "project" else ""
    if old == entry:
        return Change(agent.name, scope, "server", file.path, "unchanged", note=remark)
    if old is not None and not is_sage_entry(old) and not force:
        raise ConfigError(
            f"{file.path} has a server called {SERVER_NAME} that is not Sage's",
            "rename it, or replace it with --force; nothing was changed",
        )
    known = record.find(file.path)
    base = file.text if old is None else without_entry(agent, file, document, keys, known)
    offset, inserted = insertion(agent, base, keys, entry)
    text = base[:offset] + inserted + base[offset:]
    verify(agent, file, text, with_entry(document, keys, entry))
    insert = Insertion([inserted], file.exists)
    backup = put_in(file, text, insert, known if old is not None else None, private=scope == "user")
    return Change(agent.name, scope, "server", file.path, "added" if old is None else "updated", backup, remark)


def uninstall(agent: Agent, scope: Scope, root: str, *, force: bool = False) -> Change:
    """Remove the server from the agent's configuration."""
    file, document, keys, old = _server(agent, scope, root)
    if old is None:
        record.put(file.path, None)
        return Change(agent.name, scope, "server", file.path, "absent")
    if not is_sage_entry(old) and not force:
        return Change(agent.name, scope, "server", file.path, "kept", note="it is not Sage's; --force removes it")
    known = record.find(file.path)
    text = without_entry(agent, file, document, keys, known)
    backup = take_out(file, text, known, private=scope == "user")
    return Change(agent.name, scope, "server", file.path, "removed", backup)


def install_notes(agent: Agent, scope: Scope, root: str) -> Change:
    """Add Sage's lines to the agent's instructions."""
    file = _file(notes_file(agent, scope, root), scope, root)
    end_of_line = "\r\n" if "\r\n" in file.text else "\n"
    block = notes.block(end_of_line)
    if block in file.text:
        return Change(agent.name, scope, "snippet", file.path, "unchanged")
    known = record.find(file.path)
    base = notes.without_block(file.text, known.pieces[0] if known else "")
    old, base = base is not None, base if base is not None else file.text
    gap = "" if not base else end_of_line if base.endswith("\n") else 2 * end_of_line
    insert = Insertion([gap + block], file.exists)
    backup = put_in(file, base + gap + block, insert, known if old else None, private=False)
    return Change(agent.name, scope, "snippet", file.path, "updated" if old else "added", backup)


def uninstall_notes(agent: Agent, scope: Scope, root: str) -> Change:
    """Remove Sage's lines from the agent's instructions, unless another agent with Sage reads the same file."""
    if not has_notes(agent, scope):
        return Change(agent.name, scope, "snippet", "", "absent")
    file = _file(notes_file(agent, scope, root), scope, root)
    known = record.find(file.path)
    text = notes.without_block(file.text, known.pieces[0] if known else "")
    if text is None:
        return Change(agent.name, scope, "snippet", file.path, "absent")
    if readers := _other_readers(agent, scope, root):
        note = f"{', '.join(readers)} reads it too; it goes with the last of them"
        return Change(agent.name, scope, "snippet", file.path, "kept", note=note)
    backup = take_out(file, text, known, private=False)
    return Change(agent.name, scope, "snippet", file.path, "removed", backup)


def _other_readers(agent: Agent, scope: Scope, root: str) -> list[str]:
    """The titles of the other agents that have Sage's server and read the same instructions."""
    path = os.path.realpath(notes_file(agent, scope, root))
    found = []
    for other in AGENTS.values():
        if other is agent or not has_notes(other, scope) or os.path.realpath(notes_file(other, scope, root)) != path:
            continue
        with contextlib.suppress(SageError):  # its configuration cannot be read, or it has none here
            if is_sage_entry(read_entry(other, scope, root)):
                found.append(other.title)
    return found


def install_subagent(agent: Agent, scope: Scope, root: str) -> Change:
    """Write the subagent, which uses Sage from a shell."""
    file = _file(_subagent_file(agent, scope, root), scope, root)
    if file.text == notes.SUBAGENT:
        return Change(agent.name, scope, "subagent", file.path, "unchanged")
    known = record.find(file.path)
    if file.exists and (known is None or known.pieces != [file.text]):
        raise ConfigError(f"{file.path} exists already, and is not Sage's", "rename it; nothing was changed")
    insert = Insertion([notes.SUBAGENT], existed=False)
    put_in(file, notes.SUBAGENT, insert, known, private=False, backup=False)
    return Change(agent.name, scope, "subagent", file.path, "updated" if file.exists else "added")


def uninstall_subagent(agent: Agent, scope: Scope, root: str) -> Change:
    """Delete the subagent, unless its file was edited."""
    if agent.name != _WITH_SUBAGENT:
        return Change(agent.name, scope, "subagent", "", "absent")
    file = _file(_subagent_file(agent, scope, root), scope, root)
    known = record.find(file.path)
    if not file.exists:
        return Change(agent.name, scope, "subagent", file.path, "absent")
    if file.text not in (notes.SUBAGENT, *(known.pieces if known else ())):
        return Change(agent.name, scope, "subagent", file.path, "kept", note="it was edited")
    backup = take_out(file, "", known or Insertion([file.text], existed=False), private=False)
    return Change(agent.name, scope, "subagent", file.path, "removed", backup)


def _file(path: str, scope: Scope, root: str) -> TextFile:
    return files.read_inside(path, root if scope == "project" else None)


def _subagent_file(agent: Agent, scope: Scope, root: str) -> str:
    if agent.name != _WITH_SUBAGENT:
        raise UsageError(f"{agent.title} has no subagent of Sage", f"--subagent is for --agent {_WITH_SUBAGENT}")
    return os.path.join(claude_folder(scope, root), "agents", f"{notes.SUBAGENT_NAME}.md")
