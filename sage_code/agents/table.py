"""The agents that Sage can be added to: the files and the format in which each lists its MCP servers.

Taken from their documentation in November 2026. `{config}` is the platform's folder for settings: `~/.config`,
`~/Library/Application Support` or `%APPDATA%`; `{xdg}` is `~/.config` everywhere, `{own}` everywhere but on Windows.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sage_code.errors import UsageError
from sage_code.values import Scope

SERVER_NAME = "sage"


def _command_and_args(command: list[str]) -> dict[str, Any]:
    return {"command": command[0], "args": command[1:]}


def _with_type(command: list[str]) -> dict[str, Any]:
    return {"type": "stdio", **_command_and_args(command)}


def _one_list(command: list[str]) -> dict[str, Any]:
    return {"type": "local", "command": command, "enabled": True}


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent, and how its configuration lists a server."""

    name: str
    title: str
    format: Literal["jsonc", "toml"]
    keys: tuple[str, ...]  # of the object that lists the servers
    user_files: tuple[str, ...]  # the first one that exists is used, else the first one
    project_files: tuple[str, ...]
    entry: Callable[[list[str]], dict[str, Any]] = _command_and_args
    home_variable: str = ""  # the variable that replaces `home`
    home: str = ""
    user_notes: str = ""  # the file with the user's instructions, if the agent has one
    project_notes: str = "AGENTS.md"
    newer_keys: tuple[str, ...] = ()  # used instead of `keys` in a file that has them
    remark: str = ""  # a note for the user after an installation for a project


AGENTS: Mapping[str, Agent] = {
    agent.name: agent
    for agent in (
        Agent(
            "claude", "Claude Code", "jsonc", ("mcpServers",), ("{home}/.claude.json",), (".mcp.json",), _with_type,
            home_variable="CLAUDE_CONFIG_DIR", home="~", user_notes="~/.claude/CLAUDE.md", project_notes="CLAUDE.md",
            remark="Claude Code asks once whether this project's server may run",
        ),
        Agent(
            "codex", "Codex", "toml", ("mcp_servers",), ("{home}/config.toml",), (".codex/config.toml",),
            home_variable="CODEX_HOME", home="~/.codex", user_notes="{home}/AGENTS.md",
            remark="Codex reads this file only in a project that it was told to trust",
        ),
        Agent("cursor", "Cursor", "jsonc", ("mcpServers",), ("~/.cursor/mcp.json",), (".cursor/mcp.json",)),
        Agent(
            "gemini", "Gemini CLI", "jsonc", ("mcpServers",), ("~/.gemini/settings.json",), (".gemini/settings.json",),
            user_notes="~/.gemini/GEMINI.md", project_notes="GEMINI.md",
        ),
        Agent(
            "vscode", "VS Code", "jsonc", ("servers",), ("{config}/Code/User/mcp.json",), (".vscode/mcp.json",),
            _with_type,
        ),
        Agent("windsurf", "Windsurf", "jsonc", ("mcpServers",), ("~/.codeium/windsurf/mcp_config.json",), ()),
        Agent(
            "zed", "Zed", "jsonc", ("context_servers",), ("{own}/zed/settings.json",), (".zed/settings.json",),
        ),
        Agent(
            "opencode", "opencode", "jsonc", ("mcp",),
            ("{xdg}/opencode/opencode.json", "{xdg}/opencode/opencode.jsonc"), ("opencode.json", "opencode.jsonc"),
            _one_list, user_notes="{xdg}/opencode/AGENTS.md", newer_keys=("mcp", "servers"),
        ),
    )
}  # fmt: skip


def find_agent(name: str) -> Agent:
    """The agent called `name`."""
    try:
        return AGENTS[name]
    except KeyError:
        known = ", ".join(AGENTS)
        raise UsageError(f"no agent is called {name[:80]!r}", f"there are: {known}, and all") from None


def chosen_agents(names: list[str]) -> list[Agent]:
    """The agents with these names; with `all` or no name, those that are installed."""
    if names and "all" not in names:
        return [find_agent(name) for name in dict.fromkeys(names)]
    found = [agent for agent in AGENTS.values() if is_installed(agent)]
    if not found:
        raise UsageError("no agent that Sage knows is installed", f"name one with --agent: {', '.join(AGENTS)}")
    return found


def config_file(agent: Agent, scope: Scope, root: str) -> str:
    """The file that lists the agent's servers."""
    if scope == "user":
        files = [_expand(agent, file) for file in agent.user_files]
    else:
        files = [os.path.join(root, *file.split("/")) for file in agent.project_files]
    if not files:
        raise UsageError(f"{agent.title} has no servers for one project", "use --scope user")
    return next((file for file in files if os.path.lexists(file)), files[0])


def notes_file(agent: Agent, scope: Scope, root: str) -> str:
    """The file with the instructions that the agent reads."""
    if scope == "project":
        return os.path.join(root, agent.project_notes)
    if not has_notes(agent, scope):
        raise UsageError(f"{agent.title} has no instructions file for a user", "use --scope project for the snippet")
    return _expand(agent, agent.user_notes)


def has_notes(agent: Agent, scope: Scope) -> bool:
    """Whether the agent reads a file with instructions."""
    return scope == "project" or bool(agent.user_notes)


def claude_folder(scope: Scope | Literal["local"], root: str) -> str:
    """Claude Code's folder with settings, skills and subagents: the user's, or the project's."""
    if scope != "user":
        return os.path.join(root, ".claude")
    return os.path.abspath(os.environ.get("CLAUDE_CONFIG_DIR") or os.path.join(os.path.expanduser("~"), ".claude"))


def is_installed(agent: Agent) -> bool:
    """Whether the agent seems to be installed, because its folder exists."""
    file = _expand(agent, agent.user_files[0])
    folder = os.path.dirname(file)
    if folder == os.path.expanduser("~"):
        return os.path.exists(file) or os.path.isdir(os.path.expanduser("~/.claude"))
    return os.path.isdir(folder)


def _expand(agent: Agent, path: str) -> str:
    home = os.environ.get(agent.home_variable) if agent.home_variable else None
    xdg = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    if sys.platform == "win32":
        config = own = os.environ.get("APPDATA") or "~/AppData/Roaming"
    else:
        config, own = "~/Library/Application Support" if sys.platform == "darwin" else xdg, xdg
    filled = path.format(home=home or agent.home, config=config, xdg=xdg, own=own)
    return os.path.normpath(os.path.expanduser(filled))
