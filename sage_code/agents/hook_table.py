"""The hooks that Sage gives to Claude Code: events, time limits, commands, and how a hook of Sage is recognised.

One program, `sage-hook`, answers all events: it reads the event's name from its input. `plugin/hooks/hooks.json` has
the same table, and a test compares the two.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping
from typing import Any, Literal

from sage_code.agents.install import this_installation
from sage_code.agents.table import claude_folder

HookScope = Literal["user", "project", "local"]
# From what everybody shares to what wins: Claude Code lets a later file overrule an earlier one.
SCOPES: tuple[HookScope, ...] = ("user", "project", "local")
# Seconds until Claude Code gives up. A prompt and the end of a session wait for the hook, so these are shorter.
EVENTS: Mapping[str, int] = {
    "SessionStart": 10,
    "UserPromptSubmit": 5,
    "SubagentStart": 10,
    "Stop": 10,
    "PreCompact": 10,
    "SessionEnd": 5,
}
_PROGRAM = "sage-hook"
_MODULE = "sage_code.continuity.hooks.entry"
# For files that a team shares: where Sage is not installed, the hook does nothing and succeeds. `exec` passes on the
# exit code, by which a hook can speak to Claude Code.
SHARED_COMMAND = f"command -v {_PROGRAM} >/dev/null 2>&1 && exec {_PROGRAM} || true"
_BEFORE_A_PROGRAM = ("exec", "env", "&&", "||", ";", "|")


def settings_file(scope: HookScope, root: str) -> str:
    """The settings file of Claude Code."""
    return os.path.join(claude_folder(scope, root), "settings.local.json" if scope == "local" else "settings.json")


def hook_command(scope: HookScope) -> str:
    """The command of a hook: this installation for the user alone, the program on the PATH for a project."""
    return SHARED_COMMAND if scope == "project" else shlex.join(this_installation(_PROGRAM, _MODULE))


def new_group(event: str, command: str) -> dict[str, Any]:
    """Sage's item in the list of an event. It has no matcher, so it runs for every reason that the event may have."""
    return {"hooks": [{"type": "command", "command": command, "timeout": EVENTS[event]}]}


def groups(command: str) -> dict[str, Any]:
    """All of Sage's hooks, as an empty settings file and a plugin list them."""
    return {event: [new_group(event, command)] for event in EVENTS}


def is_sage_hook(handler: Any) -> bool:
    """Whether a handler runs Sage's program, of any installation."""
    return bool(_program(handler))


def why_not(handler: Any) -> str:
    """Why a handler of Sage cannot run its program; empty if it can."""
    program = os.path.expanduser(_program(handler))
    if shutil.which(program) is not None:
        return ""
    return f"{program} is not on the PATH" if program == _PROGRAM else f"{program} cannot be run"


def _program(handler: Any) -> str:
    """The program by which a handler runs Sage's hook; empty if it runs something else."""
    words = _words(handler)
    if "-m" in words[1:-1] and words[words.index("-m") + 1] == _MODULE:
        return words[0]
    is_start = True
    for word in words:
        if is_start and os.path.basename(word.replace("\\", "/")).removesuffix(".exe") == _PROGRAM:
            return word
        is_start = word in _BEFORE_A_PROGRAM or (is_start and "=" in word)
    return ""


def _words(handler: Any) -> list[str]:
    """The words of a handler's command; `args` means that no shell reads it."""
    command = handler.get("command") if isinstance(handler, dict) else None
    if not isinstance(command, str):
        return []
    if isinstance(arguments := handler.get("args"), list):
        return [command, *map(str, arguments)]
    try:
        return shlex.split(command)
    except ValueError:  # a quote is not closed
        return []
