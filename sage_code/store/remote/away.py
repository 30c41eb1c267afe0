"""Remembers for a minute that a remote store did not answer: an answer from the last index does not wait for it again.

Only what can do without the store asks here; `sage index` always tries.
"""

from __future__ import annotations

import os
import time

import xxhash

from sage_code.files.atomic import PRIVATE_FILE, write_bytes
from sage_code.files.contained import read_regular
from sage_code.paths import sage_home

# A try takes seconds; one a minute is soon enough to notice that the network is back.
PAUSE_S = 60.0
_MAX_TEXT = 4_096


def remember_away(uri: str, why: str) -> None:
    """The store has not answered just now."""
    write_bytes(_path(uri), why.encode()[:_MAX_TEXT], mode=PRIVATE_FILE, sync=False)


def why_away(uri: str) -> str:
    """Why it did not answer within the last minute; empty if it is worth a try."""
    try:
        if not 0 <= time.time() - os.stat(_path(uri)).st_mtime < PAUSE_S:
            return ""
        return read_regular(_path(uri), _MAX_TEXT).decode(errors="replace")
    except OSError:
        return ""


def _path(uri: str) -> str:
    return os.path.join(sage_home(), "codebase", f"remote-{xxhash.xxh3_64_hexdigest(uri.encode())}.away")
