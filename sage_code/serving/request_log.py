"""Request ids and the log: one line a request on stderr, as JSON or as text, without tokens and without questions."""

from __future__ import annotations

import json
import re
import secrets
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

# What a proxy or a client may call its request; everything else could forge lines or headers.
_SANE_ID = re.compile(rb"[A-Za-z0-9._-]{1,64}")
FORMATS = ("json", "text")


def request_id(given: list[bytes]) -> str:
    """The id of a request: the one it came with if that is sane, otherwise a new one."""
    if len(given) == 1 and _SANE_ID.fullmatch(given[0]):
        return given[0].decode("ascii")
    return secrets.token_hex(8)


class RequestLog:
    """Writes lines; each is one write, so that lines of several processes do not mix."""

    def __init__(self, kind: str, stream: TextIO | None = None) -> None:
        self._is_json, self._stream = kind == "json", stream or sys.stderr

    def write(self, event: str, **fields: Any) -> None:
        """One line about an event."""
        at = time.time()
        if self._is_json:
            line = json.dumps({"at": round(at, 3), "event": event, **fields}, default=str)
        else:
            stamp = time.strftime("%H:%M:%S", time.localtime(at))
            # Escaped as JSON: a value cannot begin a line of its own.
            line = " ".join([stamp, event, *(f"{name}={json.dumps(value)}" for name, value in fields.items())])
        self._stream.write(line + "\n")
        self._stream.flush()
