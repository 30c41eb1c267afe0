"""JSON documents with a checksum of everything before it as their last key.

It finds damage that is still JSON, such as a changed letter in a path or a number. A document without the key is
accepted: an older Sage wrote it, or only the key is damaged.
"""

from __future__ import annotations

import orjson
import xxhash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The checksum between these, in 16 digits, is the end of a document.
_BEFORE, _AFTER = b',"sum":"', b'"}'
_DIGITS = 16
_TAIL_BYTES = len(_BEFORE) + _DIGITS + len(_AFTER)


def dumps(document: dict[str, Any]) -> bytes:
    """The document with its checksum; it needs at least one key of its own."""
    body = orjson.dumps(document)[:-1]
    return b'%s,"sum":"%s"}' % (body, xxhash.xxh3_64_hexdigest(body).encode())


def loads(data: bytes) -> Any:
    """The document without its checksum; ValueError if it is not what was written."""
    body, tail = data[:-_TAIL_BYTES], data[-_TAIL_BYTES:]
    digits = tail[len(_BEFORE) : -len(_AFTER)]
    is_checksum = len(digits) == _DIGITS and not digits.strip(b"0123456789abcdef")
    if not (tail.startswith(_BEFORE) and tail.endswith(_AFTER) and is_checksum):
        return orjson.loads(data)
    if xxhash.xxh3_64_hexdigest(body).encode() != digits:
        raise ValueError("its checksum is wrong")
    return orjson.loads(body + b"}")
