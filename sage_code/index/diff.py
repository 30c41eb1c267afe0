"""What has changed since a project was indexed: by size and time alone, or by content where those have moved.

Reads the files whose size or time has moved, and writes nothing. A search compares before every answer, so nothing
heavy is imported here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

from sage_code.discover.reading import SourceText, read_source
from sage_code.discover.rules import DiscoverRules
from sage_code.embed.naming import stable_name
from sage_code.files.stamps import Differences, Stamps
from sage_code.index.manifest import FileState, Manifest, SkipState
from sage_code.settings.loading import tuning_path
from sage_code.settings.table import Settings
from sage_code.values import SkippedFile, SourceFile

# A file written this shortly before it was read may be written again without its time stamp moving.
_RACY_NS = 2_000_000_000
# Characters of changed files that are kept for the chunker, so that it need not read them again. A constant, about
# two batches of chunks: memory must not grow with the project.
_KEPT_CHARS = 8_000_000


class ChangedFile(NamedTuple):
    """A file that is new or may have changed, and what has been read of it."""

    file: SourceFile
    content_hash: str = ""  # empty: not read yet, or skipped
    source: SourceText | SkippedFile | None = None  # None: not read yet, or not kept


@dataclass(frozen=True, slots=True)
class Changes:
    """The difference between the last index and the folder as it is."""

    unchanged: dict[str, FileState]
    changed: list[ChangedFile]  # new, or with another size or time; compared by content, also with another content
    removed: list[str]
    skipped: dict[str, SkipState]  # read and skipped by an earlier run, and the same since
    skipped_unread: list[SkippedFile]  # skipped by their name, kind or size


class ContentReader:
    """Reads changed files and keeps their texts until `_KEPT_CHARS` are full."""

    def __init__(self, root: str, rules: DiscoverRules) -> None:
        self.root, self.rules = root, rules
        self._room = _KEPT_CHARS

    def read(self, file: SourceFile) -> SourceText | SkippedFile:
        """The text of a file, or why it has none."""
        return read_source(self.root, file, self.rules)

    def keep(self, file: SourceFile, source: SourceText | SkippedFile) -> ChangedFile:
        """A changed file with what was read of it; without its text when there is no room for it."""
        if isinstance(source, SkippedFile):
            return ChangedFile(file, source=source)
        if len(source.text) > self._room:
            return ChangedFile(file, source.content_hash)
        self._room -= len(source.text)
        return ChangedFile(file, source.content_hash, source)


def changes_by_stamp(listing: Iterable[SourceFile | SkippedFile], old: Manifest | None) -> Changes:
    """Compare a listing with the last index by size and times alone."""
    files = old.files if old else {}
    skips = old.skipped if old else {}
    result = Changes({}, [], [], {}, [])
    for item in listing:
        if isinstance(item, SkippedFile):
            result.skipped_unread.append(item)
            continue
        # `cp -p`, `touch -r`, rsync and some checkouts set `mtime_ns` back; no tool sets `ctime_ns`.
        stamp = (item.size, item.mtime_ns, item.ctime_ns)
        state = files.get(item.path)
        if state is not None and (state.size, state.mtime_ns, state.ctime_ns) == stamp:
            result.unchanged[item.path] = state
            continue
        skip = skips.get(item.path)
        if skip is not None and (skip.size, skip.mtime_ns, skip.ctime_ns) == stamp:
            result.skipped[item.path] = skip
            continue
        result.changed.append(ChangedFile(item))
    seen = result.unchanged.keys() | {changed.file.path for changed in result.changed}
    result.removed.extend(path for path in files if path not in seen)
    return result


def changes_by_content(reader: ContentReader, changes: Changes, old: Manifest | None, read_at_ns: int) -> Changes:
    """The changes by stamp without the known files that turn out to have the same content; new files are not read."""
    if old is None:
        return changes
    if is_import_without_files(old, changes):
        return replace(changes, unchanged=dict(old.files), changed=[], removed=[])
    changed = []
    for candidate in changes.changed:
        file = candidate.file
        state, skip = old.files.get(file.path), old.skipped.get(file.path)
        if state is None and skip is None:
            changed.append(candidate)
            continue
        source = reader.read(file)
        mtime_ns = trusted_mtime(file, read_at_ns)
        if state and isinstance(source, SourceText) and source.content_hash == state.content_hash:
            changes.unchanged[file.path] = state._replace(size=file.size, mtime_ns=mtime_ns, ctime_ns=file.ctime_ns)
        elif skip and isinstance(source, SkippedFile):
            changes.skipped[file.path] = SkipState(
                file.size, mtime_ns, source.reason.value, source.detail, file.ctime_ns
            )
        else:
            changed.append(reader.keep(file, source))
    return replace(changes, changed=changed)


def is_import_without_files(old: Manifest | None, changes: Changes) -> bool:
    """Whether this is an imported index in a folder that has none of its files: then no file counts as removed."""
    if old is None or not old.imported or changes.unchanged:
        return False
    return not any(changed.file.path in old.files for changed in changes.changed)


def new_stamps(root: str) -> Stamps:
    """The stamps of a comparison that is about to begin: the settings decide which files belong to the project."""
    return Stamps([tuning_path("project", root), tuning_path("user")])


def keep_stamps(
    stamps: Stamps,
    root: str,
    old: Manifest,
    settings: Settings,
    *,
    said: str | None = "",
    changes: Changes | None = None,
) -> None:
    """Keep the stamps of a comparison with the index that `old` describes, and its outcome: what is to be `said`, None
    if that is not known, and the `changes`, None if there are none.

    A comparison that was made with flags is not kept: the next may have others.
    """
    if settings.has_flags:
        stamps.drop(root)
        return
    # Which files of an imported index are absent is not kept, they are looked for again.
    differences = None if old.imported else differences_of(changes, old) if changes else Differences()
    stamps.save(root, old.generation, old.project, said=said, differences=differences)


def differences_of(changes: Changes, old: Manifest) -> Differences:
    """What an answer that reads the files must not believe the index about, from a comparison by stamp."""
    files = [changed.file for changed in changes.changed]
    return Differences(
        excluded=[*changes.removed, *(file.path for file in files if file.path in old.files)],
        changed=[file.path for file in files],
        racy=[file.path for file in files if file.path in old.files and looks_untouched(file, old)],
    )


def trusted_mtime(file: SourceFile, read_at_ns: int) -> int:
    """The time stamp to remember: negative when the file could still change without moving it."""
    return file.mtime_ns if file.mtime_ns < read_at_ns - _RACY_NS else -file.mtime_ns


def looks_untouched(file: SourceFile, old: Manifest) -> bool:
    """Whether a file has the size and time that it was read with, right after it was written, as after a clone."""
    state = old.files.get(file.path) or old.skipped.get(file.path)
    return state is not None and (state.size, state.mtime_ns) == (file.size, -file.mtime_ns)


def model_changed(manifest: Manifest, settings: Settings) -> bool:
    """Whether the configured model is another than the one the index was made with."""
    wanted = stable_name(settings.code_embedding_model)
    return manifest.model != wanted if wanted else manifest.model_setting != settings.code_embedding_model
