"""A listing of the project's files that is kept, and the stamps that tell whether it is still true.

Listing a project anew takes git and a walk over all folders, which is longer than a search for exact text takes. So the
last listing is kept in `.sage/codebase/listing.bin` with the times of everything that it depends on: folders, ignore
files, git's index and settings, Sage's settings, and the files themselves. While folders, ignore files and settings are
untouched, no file was added, deleted or renamed; files whose own stamp has moved are looked into. The listing names the
generation that it belongs to, which nobody can guess: one that comes with a repository is not believed.

Not noticed until something else changes: a new file deep inside of a folder that belongs to no project file and is not
ignored itself, because only ignored files were in it.
"""

from __future__ import annotations

import os
import zlib

from sage_code.files.atomic import PRIVATE_FILE, write_bytes
from sage_code.files.contained import read_regular
from sage_code.paths import codebase_dir, sage_home
from sage_code.text.light_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeAlias

    from sage_code.discover.walk import Seen

    Stamp: TypeAlias = tuple[int, int, int]  # size, time of the content, time of the entry

# History of the format: 1: first version.
_FORMAT = 1
_MAX_BYTES = 256 << 20
_CHECKSUM_BYTES = 4
# Something that was changed this shortly before it was looked at may change again without its time moving.
_RACY_NS = 2_000_000_000
_VARIABLES = ("HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")
_MAX_CONFIG_BYTES = 1 << 20


class KnownListing:
    """The files of a project as they were once listed."""

    __slots__ = ("_files", "_folders", "_head", "_others", "_root")

    def __init__(
        self,
        root: str,
        head: dict[str, Any],
        folders: dict[str, int],
        files: dict[str, Stamp],
        others: dict[str, Stamp | None],
    ) -> None:
        self._root, self._head = root, head
        self._folders, self._files, self._others = folders, files, others

    @property
    def generation(self) -> str:
        """The generation that it belongs to."""
        return str(self._head["generation"])

    @property
    def project(self) -> str:
        """The name of the project."""
        return str(self._head["project"])

    @property
    def excluded(self) -> set[str]:
        """Indexed files that were changed or gone already."""
        return set(self._head["excluded"])

    @property
    def racy(self) -> list[str]:
        """Files that looked as they were indexed, but too shortly after they were written."""
        return list(self._head["racy"])

    def stamp(self, path: str) -> Stamp:
        """The stamp of a file when it was listed."""
        return self._files[path]

    def changes(self) -> dict[str, Stamp] | None:
        """The files that must be looked into, with their stamps; None if the project must be listed again."""
        if self._head["variables"] != variables():
            return None
        lstat = os.lstat
        try:
            for path, time in self._folders.items():
                if lstat(path).st_mtime_ns != time:
                    return None
            for path, stamp in self._others.items():
                if stamp_of(path) != stamp:
                    return None
            changed: dict[str, Stamp] = {}
            prefix = self._root + "/"
            for path, stamp in self._files.items():
                found = lstat(prefix + path)
                if (found.st_size, found.st_mtime_ns, found.st_ctime_ns) != stamp:
                    if found.st_mode & 0o170000 != 0o100000:  # no regular file any more
                        return None
                    changed[path] = (found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        except OSError:
            return None
        for path in self._head["changed"]:
            changed.setdefault(path, self._files[path])
        return changed

    def save(self) -> None:
        """Keep it for the next process, if that is possible."""
        head = dumps({**self._head, "format": _FORMAT, "root": self._root}).encode()
        parts = [head, *_packed(self._folders, [(time,) for time in self._folders.values()])]
        parts += _packed(self._files, self._files.values())
        parts += _packed(self._others, [stamp or (-1, -1, -1) for stamp in self._others.values()])
        data = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
        try:
            write_bytes(
                _path(self._root), data + zlib.crc32(data).to_bytes(_CHECKSUM_BYTES, "little"), mode=PRIVATE_FILE
            )
        except OSError:
            return  # a folder that cannot be written to is listed each time


def load_listing(root: str, generation: str) -> KnownListing | None:
    """The listing that is kept for a generation; None if there is none."""
    try:
        data = read_regular(_path(root), _MAX_BYTES)
        if zlib.crc32(data[:-_CHECKSUM_BYTES]) != int.from_bytes(data[-_CHECKSUM_BYTES:], "little"):
            return None
        parts = []
        place = 0
        while place < len(data) - _CHECKSUM_BYTES:
            length = int.from_bytes(data[place : place + 8], "little")
            parts.append(data[place + 8 : place + 8 + length])
            place += 8 + length
        head = loads(parts[0])
        if (head["format"], head["generation"], head["root"]) != (_FORMAT, generation, root):
            return None
        folders = dict(zip(_paths(parts[1]), _numbers(parts[2]), strict=True))
        files = dict(zip(_paths(parts[3]), _stamps(parts[4]), strict=True))
        others = {
            path: stamp if stamp[0] >= 0 else None
            for path, stamp in zip(_paths(parts[5]), _stamps(parts[6]), strict=True)
        }
        return KnownListing(root, head, folders, files, others)
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
        return None


def known_listing(
    root: str,
    generation: str,
    project: str,
    seen: Seen,
    files: dict[str, Stamp],
    skipped: Iterable[str],
    excluded: set[str],
    changed: list[str],
    racy: set[str],
    started_ns: int,
) -> KnownListing | None:
    """What was just listed, to be kept; None if it cannot be said what it depends on, or that has only just changed."""
    dependencies = _dependencies(root) if seen.is_whole else None
    if dependencies is None:
        return None
    paths = [*dependencies, *map(os.fsdecode, seen.ignore_files), *(f"{root}/{path.rstrip('/')}" for path in skipped)]
    others = {path: stamp_of(path) for path in paths}
    folders = {os.fsdecode(path): time for path, time in seen.folders.items()}
    newest = max([*folders.values(), *(stamp[1] for stamp in others.values() if stamp)], default=0)
    if newest > started_ns - _RACY_NS:
        return None
    head = {
        "generation": generation,
        "project": project,
        "variables": variables(),
        "excluded": sorted(excluded),
        "changed": changed,
        "racy": sorted(racy),
    }
    return KnownListing(root, head, folders, files, others)


def stamp_of(path: str) -> Stamp | None:
    """Size and times of a file; None if it is not there."""
    try:
        found = os.stat(path, follow_symlinks=False)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def variables() -> list[list[str]]:
    """The variables of the environment on which a listing depends."""
    return sorted([name, value] for name, value in os.environ.items() if name.startswith("SAGE_") or name in _VARIABLES)


def _dependencies(root: str) -> list[str] | None:
    """The files besides those of the project on which its listing depends; None if that is not known."""
    home = os.path.expanduser("~")
    config = os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config")
    git_settings = [
        os.environ.get("GIT_CONFIG_GLOBAL") or os.path.join(home, ".gitconfig"),
        os.path.join(config, "git", "config"),
        os.environ.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig",
    ]
    paths = [os.path.join(sage_home(), "tuning.yaml"), os.path.join(root, ".sage", "tuning.yaml")]
    paths += [*git_settings, os.path.join(config, "git", "ignore")]
    top = root
    while not os.path.lexists(os.path.join(top, ".git")):
        paths.append(os.path.join(top, ".git"))
        above = os.path.dirname(top)
        if above == top:
            return paths
        top = above
        paths.append(os.path.join(top, ".gitignore"))
    folders = _git_folders(os.path.join(top, ".git"))
    for folder in folders:
        paths += [os.path.join(folder, name) for name in ("index", "config", "config.worktree", "info/exclude")]
        git_settings += [os.path.join(folder, "config"), os.path.join(folder, "config.worktree")]
    # A file of patterns or settings elsewhere is not followed.
    if not folders or any(_names_other_files(path) for path in git_settings):
        return None
    return [*paths, os.path.join(top, ".git")] if os.path.isfile(os.path.join(top, ".git")) else paths


def _git_folders(git: str) -> list[str]:
    """Git's own folders of a checkout: of a linked work tree, also that of the repository."""
    if os.path.isdir(git) and not os.path.islink(git):
        return [git]
    try:
        told = read_regular(git, _MAX_CONFIG_BYTES).decode()
        folder = os.path.join(os.path.dirname(git), told.removeprefix("gitdir:").strip())
        common = read_regular(os.path.join(folder, "commondir"), _MAX_CONFIG_BYTES).decode().strip()
    except (OSError, ValueError):
        return []
    return [folder, os.path.join(folder, common)]


def _names_other_files(path: str) -> bool:
    """Whether git's settings name files of patterns or of further settings."""
    try:
        text = read_regular(path, _MAX_CONFIG_BYTES, follow=True).lower()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return b"excludesfile" in text or b"[include" in text


def _path(root: str) -> str:
    return os.path.join(codebase_dir(root), "listing.bin")


def _packed(paths: Iterable[str], numbers: Iterable[tuple[int, ...]]) -> tuple[bytes, bytes]:
    from array import array  # lazy: loads `collections`, and a listing is rarely written

    flat = array("q", [number for row in numbers for number in row])
    return "\0".join(paths).encode("utf-8", "surrogateescape"), flat.tobytes()


def _paths(data: bytes) -> list[str]:
    return data.decode("utf-8", "surrogateescape").split("\0") if data else []


def _numbers(data: bytes) -> list[int]:
    return memoryview(data).cast("q").tolist()


def _stamps(data: bytes) -> list[tuple[int, int, int]]:
    flat = _numbers(data)
    return list(zip(flat[::3], flat[1::3], flat[2::3], strict=True))
