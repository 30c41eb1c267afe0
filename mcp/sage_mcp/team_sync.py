"""Keeps this machine's replica of a team's memory in step beside an agent of one person."""

from __future__ import annotations

import logging
import os
import time

from sage_code.errors import SageError
from sage_code.text.escaping import one_line

# What others did is minutes old at most; a server that is away is asked again then.
SYNC_EVERY_S = 300.0
_log = logging.getLogger(__name__)


def keep_in_step() -> None:
    """Sync at once and then again and again, in the project of this process; returns if no team is set up."""
    from sage_code.paths import find_root  # lazy: the handshake waits for nothing
    from sage_code.settings.loading import load_settings

    root = find_root(os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd())
    while True:
        try:
            settings = load_settings(root)
            if not settings.team_database_url:
                return
            from sage_code.memory.team.opened import Team  # lazy: psycopg

            with Team(root, settings) as team:
                team.sync()
        except (SageError, OSError) as error:
            _log.warning("team's memory: %s", one_line(str(error)))
        time.sleep(SYNC_EVERY_S)
