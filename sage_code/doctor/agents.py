"""Checks whether each installed agent lists Sage's server and can start it, and whether Claude Code's hooks can run."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator

from sage_code.agents import hooks
from sage_code.agents.hook_table import SHARED_COMMAND
from sage_code.agents.install import command_of, is_sage_entry, read_entry
from sage_code.agents.table import AGENTS, Agent, config_file, is_installed
from sage_code.doctor.findings import Finding, Level
from sage_code.errors import SageError
from sage_code.values import Scope

_PINNED = re.compile(r"sage-code==(\S+)")


def agent_findings(root: str, version: str) -> Iterator[Finding]:
    """The findings for each installed agent: one per configuration file that lists Sage, or one if none does."""
    here = [agent for agent in AGENTS.values() if is_installed(agent)]
    if not here:
        yield Finding("agents", "note", "no coding agent was found", "`sage mcp install --agent NAME` adds Sage to one")
    for agent in here:
        found = [finding for scope in _scopes(agent, root) for finding in _entry_findings(agent, scope, root, version)]
        if not found:
            fix = f"`sage mcp install --agent {agent.name}`"
            found = [Finding("agents", "note", f"{agent.title} does not know Sage", fix)]
        yield from found
        if agent is AGENTS["claude"]:
            yield from _hook_findings(agent, hooks.status(root))


def _hook_findings(agent: Agent, status: hooks.HookStatus) -> Iterator[Finding]:
    """The findings for the settings that list hooks of Sage, or one if none do."""
    for one in status.scopes:
        where = f"{agent.title}: the hooks in {one.path}"
        if one.state == "broken":
            # What a project shares is made to do nothing where Sage is not on the PATH.
            level: Level = "warning" if one.command == SHARED_COMMAND else "error"
            yield Finding("agents", level, f"{where}: {one.problem}", one.remedy)
        elif one.state in ("partial", "outdated"):
            yield Finding("agents", "warning", f"{where} are {one.state}", one.remedy)
        elif one.state == "installed":
            yield Finding("agents", "ok", where)
    for note in status.notes:
        # Without hooks in the settings, the plugin's are how it should be.
        is_well = not status.is_installed and not status.disabled_by
        yield Finding("agents", "ok" if is_well else "note", f"{agent.title}: {note}")
    if not status.is_installed and not status.notes:
        fix = "`sage hooks install` lets Sage save what a session concludes, and bring it back"
        yield Finding("agents", "note", f"{agent.title} has no hooks of Sage", fix)


def _scopes(agent: Agent, root: str) -> Iterator[Scope]:
    yield "user"
    if not agent.project_files:
        return
    file = config_file(agent, "project", root)
    if os.path.exists(file) and file != config_file(agent, "user", root):  # in the user's home both are one file
        yield "project"


def _entry_findings(agent: Agent, scope: Scope, root: str, version: str) -> Iterator[Finding]:
    """The findings for the entry in one configuration file; none if it does not list Sage."""
    try:
        entry = read_entry(agent, scope, root)
    except SageError as error:
        yield Finding("agents", "error", f"{agent.title}: {error.message}", error.hint)
        return
    if entry is None:
        return
    path = config_file(agent, scope, root)
    again = f"`sage mcp install --agent {agent.name}{' --scope project' if scope == 'project' else ''}`"
    if not is_sage_entry(entry):
        fix = f"rename it there, or {again[:-1]} --force`"
        yield Finding("agents", "warning", f"{agent.title}: the server `sage` in {path} is not Sage's", fix)
        return
    command = command_of(entry)
    pinned = _PINNED.search(" ".join(command))
    if shutil.which(command[0]) is None:
        yield Finding("agents", "error", f"{agent.title}: {command[0]}, named in {path}, cannot be started", again)
    elif pinned and pinned.group(1) != version:
        fix = f"{again[:-1]} --via uvx`"
        yield Finding("agents", "warning", f"{agent.title}: {path} starts {pinned.group(1)}, here is {version}", fix)
    elif entry.get("enabled") is False or entry.get("disabled") is True:
        yield Finding("agents", "note", f"{agent.title}: the server is switched off in {path}", "switch it on there")
    else:
        yield Finding("agents", "ok", f"{agent.title}: {path}")
