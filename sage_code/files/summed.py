"""JSON documents with a checksum of everything before it as their last key.

It finds damage that is still JSON, such as a changed letter in a path or a number. A document without the key is
accepted: an older Sage wrote it, or only the key is damaged.
"""

from __future__ import annotations

import re
from typing import Any

import orjson
import xxhash

_TAIL = re.compile(rb',"sum":"([0-9a-f]{16})"\}\Z')
_TAIL_BYTES = 26


def dumps(document: dict[str, Any]) -> bytes:
    """The document with its checksum; it needs at least one key of its own."""
    body = orjson.dumps(document)[:-1]
    return b'%s,"sum":"%s"}' % (body, xxhash.xxh3_64_hexdigest(body).encode())


def loads(data: bytes) -> Any:
    """The document without its checksum; ValueError if it is not what was written."""
    found = _TAIL.search(data, max(0, len(data) - _TAIL_BYTES))
    if found is None:
        return orjson.loads(data)
    body = data[: found.start()]
    if xxhash.xxh3_64_hexdigest(body).encode() != found[1]:
        raise ValueError("its checksum is wrong")
    return orjson.loads(body + b"}")
