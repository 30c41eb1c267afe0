"""Replaces the process of a command by that of a server, so that a signal to one ends the other."""

from __future__ import annotations

import os
import sys


def become(module: str, words: list[str]) -> int:
    """Run the module of a server in place of this process; where that cannot be, as its child.

    `-P`: it starts in a project that may be hostile, and must import nothing from it.
    """
    command = [sys.executable, "-P", "-m", module, *words]
    sys.stdout.flush()
    if sys.platform != "win32":
        os.execv(command[0], command)  # noqa: S606 - no shell, our own interpreter
    import subprocess  # `exec` there leaves the parent's console behind

    return subprocess.call(command)
