"""Whether anything in a project has changed since its files were last compared with its index.

A comparison notes the change time of every file and folder that it looks at, and of the files elsewhere that decide
what belongs to the project. Whatever happens to a file moves its change time, which no tool sets back; a file that is
new or gone moves that of its folder. While all of them are the same, the comparison need not be repeated, and what was
said about it holds. The notes are in `.sage/codebase/stamps`. They belong to one generation, whose name cannot be
guessed, so notes that came with a foreign project are not believed.

This is on the path of `sage grep`: no loop of Python runs over the files, and only small modules are imported.
"""

from __future__ import annotations

import os
import time
import zlib
from _operator import attrgetter  # `operator` would be one module more to load

from sage_code.files.atomic import PRIVATE_FILE, remove, resolve, write_bytes
from sage_code.files.contained import read_regular
from sage_code.paths import compiled_dir, stamps_path
from sage_code.text.light_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

# History of the format: 1: first version.
FORMAT = 1
# A million files.
_MAX_BYTES = 1 << 28
# Windows keeps the time of creation there.
_CHANGED = "st_ctime_ns" if os.name != "nt" else "st_mtime_ns"
_changed = attrgetter(_CHANGED)
# A file that changed this shortly before it was looked at may change again without its time moving: the clock of a
# kernel moves every 1 to 10 ms, and some file systems keep whole seconds only, or two.
_TICK_NS, _COARSE_TICK_NS = 50_000_000, 2_500_000_000
_SECOND_NS = 1_000_000_000
# Variables beside `SAGE_*` that decide which files belong to a project.
_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")


class Stamps:
    """The change times of what one comparison looks at; made before it begins."""

    def __init__(self, outside: Iterable[str] = ()) -> None:
        self._began_ns = time.time_ns()
        self._inside: dict[bytes, int] = {}
        self._outside: dict[str, int] = {}
        self.add_outside(outside)

    def add(self, path: bytes, facts: os.stat_result) -> None:
        """Note a file or folder of the project by its path from the root; a folder's ends with a slash."""
        self._inside[path] = _changed(facts)

    def add_inside(self, root: bytes, path: bytes) -> None:
        """The same for one whose facts are not known yet; `root` ends with a slash."""
        try:
            self.add(path, os.lstat(root + path))
        except OSError:
            self._inside[path] = 0  # never equal

    def add_outside(self, paths: Iterable[str]) -> None:
        """Note files elsewhere, which need not exist."""
        for path in paths:
            self._outside[path] = _changed_or_0(path)

    def save(self, root: str, generation: str, said: str = "") -> None:
        """Keep them for the next answer, with what is to be said until something changes.

        Nothing is kept if that is not possible: then the next answer compares again.
        """
        head = {
            "format": FORMAT,
            "generation": generation,
            "surroundings": _surroundings(),
            "said": said,
            "young": any(map(self._is_young, (*self._inside.values(), *self._outside.values()))),
            "signature": hash(tuple(self._inside.values())),
            "outside": self._outside,
        }
        first = dumps(head, ensure_ascii=True).encode()
        body = b"\0".join(self._inside)
        try:
            # Not worth waiting for the disk: a part of it is not believed.
            write_bytes(
                stamps_path(root), b"%d %s\n%s" % (zlib.crc32(first), first, body), mode=PRIVATE_FILE, sync=False
            )
        except OSError:
            return

    @staticmethod
    def drop(root: str) -> None:
        """Keep none: the next answer compares again."""
        remove(stamps_path(root))

    def _is_young(self, changed_ns: int) -> bool:
        tick = _TICK_NS if changed_ns % _SECOND_NS else _COARSE_TICK_NS
        return changed_ns > self._began_ns - tick


def said_if_same(root: str) -> str | None:
    """What was said after the last comparison, if nothing has changed since; None if the files must be compared."""
    try:
        head, body = _read(root)
        if not _is_of_now(root, head):
            return None
        if any(_changed_or_0(path) != before for path, before in head["outside"].items()):
            return None
        prefix = os.fsencode(os.path.join(root, ""))
        paths = (prefix + body.replace(b"\0", b"\0" + prefix)).split(b"\0")
        same = hash(tuple(map(_changed, map(os.lstat, paths)))) == head["signature"]
        return str(head["said"]) if same else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # one is gone, or there are no notes, or damaged ones


def _read(root: str) -> tuple[Mapping[str, Any], bytes]:
    """The head of the notes and the paths; an error if they are damaged."""
    first, _, body = read_regular(stamps_path(root), _MAX_BYTES).partition(b"\n")
    total, _, head = first.partition(b" ")
    if int(total) != zlib.crc32(head):
        raise ValueError("its checksum is wrong")
    return loads(head), body


def _is_of_now(root: str, head: Mapping[str, Any]) -> bool:
    """Whether the notes are about the published generation, and could not miss a change."""
    return bool(
        head["format"] == FORMAT
        and not head["young"]
        and head["surroundings"] == _surroundings()
        and head["generation"] == os.path.basename(resolve(compiled_dir(root)) or "")
    )


def _surroundings() -> int:
    """A sum of what the environment sets that may decide which files belong to a project, or what is said of them."""
    names = sorted(name for name in os.environ if name.startswith("SAGE_") or name in _VARIABLES)
    return zlib.crc32(os.fsencode("\n".join(f"{name}={os.environ[name]}" for name in names)))


def _changed_or_0(path: str) -> int:
    """The change time of a file, also through a link; 0 if there is none."""
    try:
        return int(_changed(os.stat(path)))
    except (OSError, ValueError):
        return 0
