"""What has changed since a project was indexed: by size and times, and by content where those have moved.

A search looks before every answer, so nothing heavy is imported here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from sage_code.discover import DiscoverRules, SourceText, read_source
from sage_code.embed.naming import stable_name
from sage_code.index.manifest import FileState, Manifest, SkipState
from sage_code.settings.table import Settings
from sage_code.values import SkippedFile, SourceFile

# A file written this shortly before it was read may be written again without its time stamp moving.
_RACY_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Diff:
    """What moved between the last index and the folder as it is."""

    unchanged: dict[str, FileState]
    suspects: list[SourceFile]  # new, or size or time moved: their content decides
    removed: list[str]
    skipped: dict[str, SkipState]  # still as they were when they were skipped
    passed_over: list[SkippedFile]  # skipped without reading, this time


def diff(listing: Iterable[SourceFile | SkippedFile], old: Manifest | None) -> Diff:
    """Compare a listing with the last index by size and times alone."""
    files = old.files if old else {}
    skips = old.skipped if old else {}
    result = Diff({}, [], [], {}, [])
    for item in listing:
        if isinstance(item, SkippedFile):
            result.passed_over.append(item)
            continue
        # `cp -p`, `touch -r`, rsync and some checkouts set `mtime_ns` back; nobody sets `ctime_ns`.
        stamp = (item.size, item.mtime_ns, item.ctime_ns)
        state = files.get(item.path)
        if state is not None and (state.size, state.mtime_ns, state.ctime_ns) == stamp:
            result.unchanged[item.path] = state
            continue
        skip = skips.get(item.path)
        if skip is not None and (skip.size, skip.mtime_ns, skip.ctime_ns) == stamp:
            result.skipped[item.path] = skip
            continue
        result.suspects.append(item)
    seen = result.unchanged.keys() | {file.path for file in result.suspects}
    result.removed.extend(path for path in files if path not in seen)
    return result


def stands_alone(old: Manifest | None, changes: Diff) -> bool:
    """Whether this is an imported index in a folder without a single one of its files: what is not there was not
    removed, it was never there."""
    if old is None or not old.imported or changes.unchanged:
        return False
    return not any(file.path in old.files for file in changes.suspects)


def trusted_mtime(file: SourceFile, read_at_ns: int) -> int:
    """The time stamp to remember: negative when the file could still change without moving it."""
    return file.mtime_ns if file.mtime_ns < read_at_ns - _RACY_NS else -file.mtime_ns


def looks_untouched(file: SourceFile, old: Manifest) -> bool:
    """Whether a suspect is one only because it was read right after it was written, as after a clone: its size and time
    are still those that it was read with."""
    state = old.files.get(file.path) or old.skipped.get(file.path)
    return state is not None and (state.size, state.mtime_ns) == (file.size, -file.mtime_ns)


def model_changed(meta: Manifest, settings: Settings) -> bool:
    """Whether the configured model is another than the one the index was made with."""
    wanted = stable_name(settings.code_embedding_model)
    return meta.model != wanted if wanted else meta.model_setting != settings.code_embedding_model


def look_for_changes(
    root: str,
    rules: DiscoverRules,
    listing: Iterable[SourceFile | SkippedFile],
    old: Manifest | None,
    read_at_ns: int,
) -> Diff:
    """What a listing holds that the last index does not: by size and time first, and where they moved by content."""
    changes = diff(listing, old)
    if old is not None and stands_alone(old, changes):
        return replace(changes, unchanged=dict(old.files), suspects=[], removed=[])
    suspects = []
    for file in changes.suspects:
        state, skip = (old.files.get(file.path), old.skipped.get(file.path)) if old else (None, None)
        source = read_source(root, file, rules) if state or skip else None
        mtime_ns = trusted_mtime(file, read_at_ns)
        if state and isinstance(source, SourceText) and source.data_hash == state.content_hash:
            changes.unchanged[file.path] = state._replace(size=file.size, mtime_ns=mtime_ns, ctime_ns=file.ctime_ns)
        elif skip and isinstance(source, SkippedFile):
            changes.skipped[file.path] = SkipState(
                file.size, mtime_ns, source.reason.value, source.detail, file.ctime_ns
            )
        else:
            suspects.append(file)
    return replace(changes, suspects=suspects)
