"""Starts the process that saves a checkpoint and remembers messages, so that the agent does not wait for it."""

from __future__ import annotations

import os
import sys

from sage_code.continuity.log import log_path


def start_capture(session: str, root: str, trigger: str, confidence: float, end: int | None) -> int:
    """Start it, detached from the hook; returns its process id. It ends by itself, after two minutes at the latest.

    Without a trigger it only remembers.
    """
    command = [
        sys.executable,
        "-P",  # it starts in a project that may come from anybody, and must not import modules from there
        "-m",
        "sage_code.continuity.hooks.entry",
        "capture",
        session,
        root,
        trigger,
        str(confidence),
        str(-1 if end is None else end),
    ]
    os.makedirs(os.path.dirname(log_path()), 0o700, exist_ok=True)
    if hasattr(os, "posix_spawn"):
        log = (os.POSIX_SPAWN_OPEN, 2, log_path(), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        null = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1)]
        try:
            return os.posix_spawn(command[0], command, os.environ, file_actions=[*null, log], setsid=True)
        except NotImplementedError:  # an older macOS
            pass
    import subprocess  # lazy: it takes as long as the rest of a hook

    return subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ).pid
