"""The record of what Sage has inserted into which file, so that exactly that can be removed again.

`~/.sage/agents/installed.json` has one entry per file: the inserted text, and whether the file existed before. Without
the record, Sage's entry is still found by its name, but the file may not be the same again byte for byte.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field

import orjson

from sage_code.files.atomic import PRIVATE_FILE, write_bytes
from sage_code.files.contained import read_regular
from sage_code.files.locks import locked
from sage_code.paths import sage_home

# History of the format: 1: first version.
FORMAT = 1
# Far more than a few dozen files with a page of text each.
_MAX_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Insertion:
    """The text that was inserted into a file."""

    inserted: str
    existed: bool  # whether the file existed before
    folders: list[str] = field(default_factory=list)  # the folders that were made for it


def _path() -> str:
    return os.path.join(sage_home(), "agents", "installed.json")


def load() -> dict[str, Insertion]:
    """All insertions by file."""
    try:
        data = orjson.loads(read_regular(_path(), _MAX_BYTES, follow=True))
        return {path: Insertion(**row) for path, row in data["files"].items()} if data["format"] == FORMAT else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def find(path: str) -> Insertion | None:
    """The insertion into the file at `path`, which may be a link, such as CLAUDE.md to AGENTS.md."""
    known = load()
    return known.get(os.path.realpath(path)) or known.get(path)


def put(path: str, insertion: Insertion | None) -> None:
    """Record an insertion, or delete its record."""
    with locked(f"{_path()}.lock"):
        known = load()
        before = [known.pop(name, None) for name in {path, os.path.realpath(path)}]
        if insertion is not None:
            known[os.path.realpath(path)] = insertion
        elif not any(before):
            return
        rows = {name: asdict(row) for name, row in known.items()}
        write_bytes(_path(), orjson.dumps({"format": FORMAT, "files": rows}), mode=PRIVATE_FILE)
