"""JSON documents that know when they are not what was written: the last key holds a sum over everything before it.

A flipped letter in a path or a number is still JSON. A document without the key, of an older Sage or with a damaged
key, is believed: the rest of it is whole then.
"""

from __future__ import annotations

import re
from typing import Any

import orjson
import xxhash

_TAIL = re.compile(rb',"sum":"([0-9a-f]{16})"\}\Z')
_TAIL_BYTES = 26


def dumps(document: dict[str, Any]) -> bytes:
    """The document with its sum; it has other keys too."""
    body = orjson.dumps(document)[:-1]
    return b'%s,"sum":"%s"}' % (body, xxhash.xxh3_64_hexdigest(body).encode())


def loads(data: bytes) -> Any:
    """What was written, without the sum; a ValueError when it is not that any more."""
    found = _TAIL.search(data, max(0, len(data) - _TAIL_BYTES))
    if found is None:
        return orjson.loads(data)
    body = data[: found.start()]
    if xxhash.xxh3_64_hexdigest(body).encode() != found[1]:
        raise ValueError("its checksum is wrong")
    return orjson.loads(body + b"}")
