"""The first frame of an archive: project, model, chunker version and counts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import get_type_hints

import orjson

_MAX_TEXT = 500


@dataclass(frozen=True, slots=True)
class Head:
    """Describes an archive before its first file is read."""

    project: str
    model: str
    dim: int
    chunker: int  # files cut by another version are of no use: the next run would cut them again
    files: int
    chunks: int
    indexed_at: str

    def pack(self) -> bytes:
        """The bytes of the frame."""
        return orjson.dumps(asdict(self))


def unpack_head(data: bytes) -> Head:
    """The head; a `ValueError` when the frame is not one."""
    found = orjson.loads(data)
    kinds = get_type_hints(Head)
    if not isinstance(found, dict) or found.keys() != kinds.keys():
        raise ValueError("its head is not the one of an index")
    for name, kind in kinds.items():
        value = found[name]
        if type(value) is not kind or (kind is int and not 0 <= value < 1 << 48):
            raise ValueError(f"its head says nothing sensible about {name}")
        if kind is str and (not value or len(value) > _MAX_TEXT or not value.isprintable()):
            raise ValueError(f"its head says nothing sensible about {name}")
    return Head(**found)
