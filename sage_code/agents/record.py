"""What was written into whose file, so that exactly that can be taken out again.

One entry a file in `~/.sage/agents/installed.json`: the text that was inserted, and whether the file was there before.
A lost record costs the exactness only: what is ours is then found by its name.
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
# A few dozen files with a screenful each.
_MAX_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Written:
    """One insertion."""

    inserted: str
    existed: bool  # the file, before
    folders: list[str] = field(default_factory=list)  # that were made for it


def _path() -> str:
    return os.path.join(sage_home(), "agents", "installed.json")


def load() -> dict[str, Written]:
    """Every insertion, by the file it is in."""
    try:
        data = orjson.loads(read_regular(_path(), _MAX_BYTES, follow=True))
        return {path: Written(**row) for path, row in data["files"].items()} if data["format"] == FORMAT else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def find(path: str) -> Written | None:
    """The insertion into the file at `path`; one file may have several names, such as a link from CLAUDE.md."""
    known = load()
    return known.get(os.path.realpath(path)) or known.get(path)


def put(path: str, written: Written | None) -> None:
    """Remember an insertion, or forget it."""
    with locked(f"{_path()}.lock"):
        known = load()
        before = [known.pop(name, None) for name in {path, os.path.realpath(path)}]
        if written is not None:
            known[os.path.realpath(path)] = written
        elif not any(before):
            return
        rows = {name: asdict(row) for name, row in known.items()}
        write_bytes(_path(), orjson.dumps({"format": FORMAT, "files": rows}), mode=PRIVATE_FILE)
