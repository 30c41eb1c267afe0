"""The files of a project as they are now, against the manifest: which are as they were indexed, which are not.

A search for exact text reads what it shows from the disk. It trusts the index only for files whose size and times are
those of the manifest, and looks into all others.
"""

from __future__ import annotations

from time import time_ns

from sage_code.errors import IndexCorrupt
from sage_code.files.contained import ContainedReader, read_regular
from sage_code.paths import manifest_path
from sage_code.search.exact.known import known_listing, load_listing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from sage_code.search.exact.known import KnownListing, Stamp
    from sage_code.settings.table import Settings
    from sage_code.values import SourceFile

_MAX_MANIFEST_BYTES = 256 << 20
# The places of what is compared in a file's row of the manifest.
_SIZE, _MTIME, _CTIME, _SKIPPED_CTIME = 0, 1, 6, 4
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_MARK = b"\xef\xbb\xbf"


class DiskState:
    """What a search may believe of the index, and which files it must look into."""

    __slots__ = ("changed", "excluded", "imported", "project", "racy")

    def __init__(
        self,
        project: str,
        excluded: set[str] | None,
        changed: Sequence[SourceFile],
        racy: set[str] = frozenset(),  # type: ignore[assignment]
        *,
        imported: bool = False,
    ) -> None:
        self.project = project  # its name
        self.excluded = excluded  # indexed files that are gone or not as they were; None: all of them
        self.changed = changed
        self.racy = racy  # those of them that look as they were indexed, but too shortly after they were written
        self.imported = imported  # texts of files that are not there are in the index


class Disk:
    """Compares the files of one project with its index; what was listed is kept for the next time."""

    def __init__(self, root: str, settings: Callable[[], Settings]) -> None:
        self._root, self._settings = root, settings
        self._known: KnownListing | None = None

    def state(self, generation: str, *, refresh: bool) -> DiskState:
        """What has changed since the generation was made; without `refresh`, nothing is compared."""
        if not refresh:
            manifest = _manifest(self._root, generation)
            if manifest["files"]:
                return DiskState(str(manifest["project"]), set(), (), imported=manifest.get("imported") is True)
        if self._known is None or self._known.generation != generation:
            self._known = load_listing(self._root, generation)
        changed = self._known.changes() if self._known is not None else None
        if self._known is None or changed is None:
            return self._listed(generation)
        if not changed:
            return DiskState(self._known.project, self._known.excluded, ())
        from sage_code.values import SourceFile  # lazy: mostly nothing has changed

        files = [SourceFile(path, *stamp) for path, stamp in changed.items()]
        racy = {path for path in self._known.racy if changed.get(path) == self._known.stamp(path)}
        return DiskState(self._known.project, self._known.excluded | changed.keys(), files, racy)

    def _listed(self, generation: str) -> DiskState:
        """The same from a new listing, which is kept."""
        from sage_code.discover import discover_rules, list_files  # lazy: a listing loads more than all the rest
        from sage_code.discover.walk import Seen
        from sage_code.values import SkippedFile

        manifest = _manifest(self._root, generation)
        files, skipped = manifest["files"], manifest["skipped"]
        project = str(manifest.get("project", ""))
        started, seen = time_ns(), Seen()
        listed: dict[str, Stamp] = {}
        left_out: list[str] = []
        same: set[str] = set()
        racy: set[str] = set()
        changed: list[SourceFile] = []
        for item in list_files(self._root, discover_rules(self._settings()), seen=seen):
            if isinstance(item, SkippedFile):
                left_out.append(item.path)
                continue
            stamp = listed[item.path] = (item.size, item.mtime_ns, item.ctime_ns)
            row, skip = files.get(item.path), skipped.get(item.path)
            if row is not None and (row[_SIZE], row[_MTIME], row[_CTIME]) == stamp:
                same.add(item.path)
            elif skip is None or (skip[_SIZE], skip[_MTIME], skip[_SKIPPED_CTIME]) != stamp:
                changed.append(item)
                if row is not None and (row[_SIZE], -row[_MTIME], row[_CTIME]) == stamp:
                    racy.add(item.path)
        if not files:
            return DiskState(project, None, changed)
        if manifest.get("imported") is True:
            # In a folder that has none of its files, none counts as gone.
            is_bare = not same and not any(item.path in files for item in changed)
            return DiskState(project, set() if is_bare else files.keys() - same, changed, racy, imported=True)
        excluded = files.keys() - same
        paths = [item.path for item in changed]
        self._known = known_listing(
            self._root, generation, project, seen, listed, left_out, excluded, paths, racy, started
        )
        if self._known is not None:
            self._known.save()
        return DiskState(project, excluded, changed, racy)


def _manifest(root: str, generation: str) -> dict[str, Any]:
    """The manifest; an empty one if it does not belong to the published generation, which proves whose it is."""
    from sage_code.files import summed

    path = manifest_path(root)
    try:
        found = summed.loads(read_regular(path, _MAX_MANIFEST_BYTES))
        # Of an older format: `sage index` reads every file again, and so does this search.
        if found["format"] < 2 or found["generation"] != generation:
            return {"files": {}, "skipped": {}}
        if not isinstance(found["files"], dict) or not isinstance(found["skipped"], dict):
            raise ValueError("unexpected shape")
        return found  # type: ignore[no-any-return]
    except FileNotFoundError:
        return {"files": {}, "skipped": {}}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise IndexCorrupt(f"{path} is damaged: {error}", "run `sage index`: it is made again") from error


class TextReader:
    """Reads the texts of indexed files, as discovery decodes them."""

    def __init__(self, root: str, generation: str, *, imported: bool) -> None:
        self._files = ContainedReader(root)
        self._generation, self._imported = generation, imported

    def read(self, path: str, may_match: Callable[[bytes], bool]) -> str | None:
        """The text of a file; None if it cannot be read, or its bytes cannot have a match."""
        try:
            data = self._files.read(path, _MAX_MANIFEST_BYTES)
        except OSError:
            return self._stored(path) if self._imported else None
        if b"\0" in data or data[:2] in _UTF16:
            return _decoded(data)
        return text_of(data) if may_match(data) else None

    def _stored(self, path: str) -> str | None:
        from sage_code.compiled.texts import stored_text  # lazy: only of an imported index

        return stored_text(self._generation, path)

    def close(self) -> None:
        """Let go of the folders."""
        self._files.close()


def text_of(data: bytes) -> str | None:
    """The text of a file without zero bytes."""
    if data.startswith(_MARK):
        return _decoded(data)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _decoded(data)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _decoded(data: bytes) -> str | None:
    from sage_code.discover.decoding import decode  # lazy: for few files

    found = decode(data)
    return found.text if found is not None else None
