"""The id of a message that is read from a file: the same for the same agent and key, whoever reads it."""

from __future__ import annotations

import hashlib

_VARIANTS = "89ab"


def id_of(space: bytes, key: str) -> str:
    """The UUID of version 5 of a key in a space; `uuid.uuid5` gives the same and takes four times as long."""
    digest = hashlib.sha1(space + key.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    variant = _VARIANTS[int(digest[16], 16) & 3]
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"
