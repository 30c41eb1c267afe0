"""The record of what Sage has inserted into which file, so that exactly that can be removed again.

`~/.sage/agents/installed.json` has one entry per file: the inserted texts, and whether the file existed before. Without
the record, Sage's entries are still found by their names, but the file may not be the same again byte for byte.
"""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import orjson

from sage_code.files.atomic import PRIVATE_FILE, write_bytes
from sage_code.files.contained import read_regular
from sage_code.files.locks import locked
from sage_code.paths import sage_home

# History of the format: 1: first version, one inserted text a file; 2: several, with the keys of their lists.
FORMAT = 2
# Far more than a few dozen files with a page of text each.
_MAX_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Insertion:
    """The texts that were inserted into a file, one after the other: a later one may be inside an earlier one."""

    pieces: list[str]
    existed: bool  # whether the file existed before
    folders: list[str] = field(default_factory=list)  # the folders that were made for it, the innermost first
    keys: list[str] = field(default_factory=list)  # of the list that each piece belongs to, if there are several
    made: list[str] = field(default_factory=list)  # the keys of lists and objects that were made for the pieces


def _path() -> str:
    return os.path.join(sage_home(), "agents", "installed.json")


def load() -> dict[str, Insertion]:
    """All insertions by file."""
    try:
        data = orjson.loads(read_regular(_path(), _MAX_BYTES, follow=True))
        return {path: _insertion(row, data["format"]) for path, row in data["files"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def _insertion(row: dict[str, Any], number: int) -> Insertion:
    if number == 1:
        row["pieces"] = [row.pop("inserted")]
    elif number != FORMAT:
        raise ValueError("written by a newer Sage")
    return Insertion(**row)


def find(path: str) -> Insertion | None:
    """The insertion into the file at `path`, which may be a link, such as CLAUDE.md to AGENTS.md."""
    known = load()
    return known.get(os.path.realpath(path)) or known.get(path)


def put(path: str, insertion: Insertion | None, *, left: list[str] | None = None) -> None:
    """Record an insertion, or delete its record.

    `left` are folders that were made for a deleted file and are not empty: they pass to another file of Sage in them,
    so that the last one takes them along.
    """
    with locked(f"{_path()}.lock"):
        known = load()
        before = [known.pop(name, None) for name in {path, os.path.realpath(path)}]
        if insertion is not None:
            known[os.path.realpath(path)] = insertion
        elif not any(before):
            return
        for folder in left or ():
            heir = next((name for name in known if name.startswith(os.path.join(os.path.realpath(folder), ""))), None)
            if heir is not None:
                folders = sorted([*known[heir].folders, folder], key=len, reverse=True)  # the innermost is the longest
                known[heir] = replace(known[heir], folders=folders)
        rows = {name: asdict(row) for name, row in known.items()}
        write_bytes(_path(), orjson.dumps({"format": FORMAT, "files": rows}), mode=PRIVATE_FILE)
