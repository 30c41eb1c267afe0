"""The files of a project as they are now, against the manifest: which are as they were indexed, which are not.

A search for exact text reads what it shows from the disk. It trusts the index only for files whose size and times are
those of the manifest, and looks into all others.
"""

from __future__ import annotations

import os

from sage_code.errors import IndexCorrupt
from sage_code.files.contained import ContainedReader, read_regular
from sage_code.paths import manifest_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from sage_code.files.looking import Looking
    from sage_code.settings.table import Settings
    from sage_code.values import SourceFile

_MAX_MANIFEST_BYTES = 256 << 20
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
    """Compares the files of one project with its index; what was found is kept for the next time."""

    def __init__(self, root: str, settings: Callable[[], Settings], looking: Looking | None) -> None:
        self._root, self._settings, self._looking = root, settings, looking

    def state(self, generation: str, *, refresh: bool) -> DiskState:
        """What has changed since the generation was made; without `refresh`, nothing is compared."""
        if not refresh:
            manifest = _manifest(self._root, generation)
            if manifest["files"]:
                return DiskState(str(manifest["project"]), set(), (), imported=manifest.get("imported") is True)
        notes = self._looking.notes() if self._looking else None
        found = notes.differences if notes is not None and notes.generation == generation else None
        if notes is None or found is None:
            return self._compared(generation)
        if not found.excluded and not found.changed:
            return DiskState(notes.project, set(), ())
        from sage_code.values import SourceFile  # lazy: mostly nothing has changed

        stamps = [(path, os.lstat(os.path.join(self._root, path))) for path in found.changed]
        files = [SourceFile(path, one.st_size, one.st_mtime_ns, one.st_ctime_ns) for path, one in stamps]
        return DiskState(notes.project, set(found.excluded), files, set(found.racy))

    def _compared(self, generation: str) -> DiskState:
        """The same from a new comparison, which is kept."""
        from sage_code.discover.listing import list_files  # lazy: a comparison loads more than all the rest
        from sage_code.discover.rules import discover_rules
        from sage_code.index.diff import (
            changes_by_stamp,
            differences_of,
            is_import_without_files,
            keep_stamps,
            model_changed,
            new_stamps,
        )
        from sage_code.index.manifest import load_manifest

        settings, stamps = self._settings(), new_stamps(self._root)
        old = load_manifest(self._root)
        if old is not None and old.generation != generation:
            old = None  # of a generation that is being published, or of an older format
        changes = changes_by_stamp(list_files(self._root, discover_rules(settings), stamps=stamps), old)
        changed = [candidate.file for candidate in changes.changed]
        if old is None or not old.files:
            return DiskState(old.project if old else "", None, changed)
        found = differences_of(changes, old)
        # In a folder that has none of the files of an imported index, none counts as gone.
        excluded = set[str]() if is_import_without_files(old, changes) else set(found.excluded)
        is_same = not changes.changed and not changes.removed and not model_changed(old, settings)
        keep_stamps(stamps, self._root, old, settings, said="" if is_same else None, changes=changes)
        return DiskState(old.project, excluded, changed, set(found.racy), imported=old.imported)


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
