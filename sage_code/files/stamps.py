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
from sage_code.files.contained import open_regular
from sage_code.paths import compiled_dir, manifest_path, stamps_path
from sage_code.text.light_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, BinaryIO

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


# What reading the notes may raise: anybody may have written them.
UNUSABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
# From `stat`, which is one module more to load.
_KIND, _REGULAR = 0o170000, 0o100000
# More hard links than this are not worth looking at one by one.
_FEW_LINKED = 200


class Stamps:
    """The change times of what one comparison looks at; made before it begins."""

    def __init__(self, outside: Iterable[str] = ()) -> None:
        self._began_ns = time.time_ns()
        self._inside: dict[bytes, int] = {}
        self._outside: dict[str, int] = {}
        self._linked: list[bytes] = []
        self.add_outside(outside)

    def add(self, path: bytes, facts: os.stat_result) -> None:
        """Note a file or folder of the project by its path from the root; a folder's ends with a slash."""
        self._inside[path] = _changed(facts)
        if facts.st_nlink > 1 and facts.st_mode & _KIND == _REGULAR:
            self._linked.append(path)

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

    def save(self, root: str, generation: str, said: str = "", *, may_be_guarded: bool = True) -> None:
        """Keep them for the next answer, with what is to be said until something changes.

        Nothing is kept if that is not possible: then the next answer compares again. `may_be_guarded`: a
        process may watch them (`files/guard.py`).
        """
        head = {
            "format": FORMAT,
            "generation": generation,
            "manifest": _state(manifest_path(root)),
            "surroundings": _surroundings(),
            "said": said,
            "young": any(map(self._is_young, (*self._inside.values(), *self._outside.values()))),
            "signature": hash(tuple(self._inside.values())),
            "outside": self._outside,
            "count": len(self._inside),
            "can_be_watched": len(self._linked) <= _FEW_LINKED,
            "may_be_guarded": may_be_guarded,
            "linked": [(os.fsdecode(path), self._inside[path]) for path in self._linked[:_FEW_LINKED]],
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


class Notes:
    """The notes of the last comparison of a project."""

    _file: BinaryIO | None = None

    def __init__(self, root: str) -> None:
        """An error if there are none, or damaged ones."""
        self._file = file = open_regular(stamps_path(root))
        self._body: bytes | None = None  # the paths, read when they are needed
        total, _, head = file.readline(_MAX_BYTES).removesuffix(b"\n").partition(b" ")
        if int(total) != zlib.crc32(head):
            raise ValueError("its checksum is wrong")
        self.root = root
        self._head: Mapping[str, Any] = loads(head)
        self.said = str(self._head["said"])
        self.count = int(self._head["count"])
        self.can_be_watched = bool(self._head["can_be_watched"])
        self.may_be_guarded = self.can_be_watched and bool(self._head["may_be_guarded"])
        self.identity = f"{self._head['generation']} {self._head['signature']}"

    def are_of_now(self) -> bool:
        """Whether they are about the published generation, could not miss a change, and all is the same elsewhere."""
        head = self._head
        return bool(
            head["format"] == FORMAT
            and not head["young"]
            and head["surroundings"] == _surroundings()
            and head["manifest"] == _state(manifest_path(self.root))
            and head["generation"] == os.path.basename(resolve(compiled_dir(self.root)) or "")
            and all(_changed_or_0(path) == before for path, before in head["outside"].items())
            # A change under another name of a file does not tell those who watch its folder here.
            and all(_changed_or_0(os.path.join(self.root, path)) == before for path, before in head["linked"])
        )

    def are_same(self) -> bool:
        """Whether every file and folder of the project is as it was."""
        return bool(hash(tuple(map(_changed, map(os.lstat, self.paths())))) == self._head["signature"])

    def paths(self) -> list[bytes]:
        """All of them, absolute; a folder's ends with a slash."""
        if self._body is None and self._file is not None:
            self._body = self._file.read(_MAX_BYTES)
        prefix = os.fsencode(os.path.join(self.root, ""))
        return (prefix + (self._body or b"").replace(b"\0", b"\0" + prefix)).split(b"\0")

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()


def _surroundings() -> int:
    """A sum of what the environment sets that may decide which files belong to a project, or what is said of them."""
    names = sorted(name for name in os.environ if name.startswith("SAGE_") or name in _VARIABLES)
    return zlib.crc32(os.fsencode("\n".join(f"{name}={os.environ[name]}" for name in names)))


def _state(path: str) -> list[int]:
    """Size and change time of a file; empty if there is none. Damage to the manifest is seen by those who compare."""
    try:
        facts = os.lstat(path)
    except OSError:
        return []
    return [facts.st_size, _changed(facts)]


def _changed_or_0(path: str) -> int:
    """The change time of a file, also through a link; 0 if there is none."""
    try:
        return int(_changed(os.stat(path)))
    except (OSError, ValueError):
        return 0
