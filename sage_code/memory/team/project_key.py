"""The name of a project in a team's memory: the same on all machines, so from its git remote, not from a path."""

from __future__ import annotations

import os
import re

from sage_code.memory.recall.project_names import remote_url

_SCHEME = re.compile(r"^[a-z+]+://", re.IGNORECASE)
_MAX_CHARS = 500


def project_key(root: str | None, given: str = "") -> str:
    """The key: what the setting says, else host and path of the remote without a user, else the folder's name."""
    if given:
        return given[:_MAX_CHARS]
    if root is None:
        return ""
    url = remote_url(root)
    if not url or url.startswith(("/", ".")):
        return os.path.basename(os.path.realpath(root))[:_MAX_CHARS]
    has_scheme = _SCHEME.match(url) is not None
    rest = _SCHEME.sub("", url).rpartition("@")[2]  # a user and a password are nobody's business
    host, _, path = rest.partition("/") if has_scheme or ":" not in rest.partition("/")[0] else rest.partition(":")
    return f"{host.partition(':')[0].lower()}/{path.strip('/').removesuffix('.git')}"[:_MAX_CHARS]
