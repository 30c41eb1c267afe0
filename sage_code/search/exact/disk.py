"""The files of a project as they are now, against the manifest: which are as they were indexed, which are not.

A search for exact text reads what it shows from the disk. It trusts the index only for files whose size and times are
those of the manifest, and looks into all others.
"""

from __future__ import annotations

from sage_code.errors import IndexCorrupt
from sage_code.files.contained import ContainedReader, read_regular
from sage_code.paths import manifest_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sage_code.settings.table import Settings
    from sage_code.values import SourceFile

_MAX_MANIFEST_BYTES = 256 << 20
# The places of what is compared in a file's row of the manifest.
_SIZE, _MTIME, _CTIME, _SKIPPED_CTIME = 0, 1, 6, 4
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_MARK = b"\xef\xbb\xbf"


class DiskState:
    """The files of the project: those that are as they were indexed, and others that must be looked into."""

    __slots__ = ("changed", "imported", "project", "same")

    def __init__(self, project: str, same: dict[str, Any], changed: list[SourceFile], imported: bool) -> None:
        self.project = project  # its name
        self.same = same
        self.changed = changed
        self.imported = imported  # their texts are in the index


def disk_state(root: str, generation: str, settings: Callable[[], Settings], *, refresh: bool) -> DiskState:
    """What has changed since the published generation was made; without `refresh`, nothing is compared."""
    manifest = _manifest(root, generation)
    files, skipped = manifest["files"], manifest["skipped"]
    project, imported = str(manifest.get("project", "")), manifest.get("imported") is True
    if not refresh and files:
        return DiskState(project, files, [], imported)
    from sage_code.discover import discover_rules, list_files  # lazy: a listing loads more than all the rest
    from sage_code.values import SourceFile

    same: dict[str, Any] = {}
    changed = []
    for item in list_files(root, discover_rules(settings())):
        if not isinstance(item, SourceFile):
            continue
        row = files.get(item.path)
        stamp = (item.size, item.mtime_ns, item.ctime_ns)
        if row is not None and (row[_SIZE], row[_MTIME], row[_CTIME]) == stamp:
            same[item.path] = row
            continue
        row = skipped.get(item.path)
        if row is None or (row[_SIZE], row[_MTIME], row[_SKIPPED_CTIME]) != stamp:
            changed.append(item)
    if imported and not same and not any(item.path in files for item in changed):
        return DiskState(project, files, changed, imported)  # an imported index in a folder without its files
    return DiskState(project, same, changed, imported)


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
