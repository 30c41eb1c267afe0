"""Keeps answers right while the index is older than the files, because too many have changed or it cannot be written.

A symbol of a changed file is looked for in the file as it is now. Whatever else an answer says about a changed file is
left out: its lines would be wrong. Reads the manifest and the files, and writes nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from sage_code.discover.reading import SourceText, read_source
from sage_code.discover.rules import discover_rules
from sage_code.index.manifest import manifest_or_none
from sage_code.lookup.definition import find_again, read_text
from sage_code.lookup.related import Related, Use
from sage_code.settings.loading import Settings
from sage_code.values import SourceFile, Symbol
from sage_code.xref.answers import Callee

_Row = TypeVar("_Row")


class ChangedFiles:
    """Which files of a project are not as they were indexed."""

    def __init__(self, root: str, settings: Settings) -> None:
        self._root, self._settings = root, settings
        self._manifest = manifest_or_none(root)
        self._known: dict[str, bool] = {}

    def __contains__(self, path: object) -> bool:
        """Whether a file has another content than the index, or is gone."""
        path = str(path)
        if path not in self._known:
            self._known[path] = self._has_changed(path)
        return self._known[path]

    def _has_changed(self, path: str) -> bool:
        """Whether a file differs from what the index was made of, by its stamp and then by its content."""
        if self._manifest is None:
            return False  # unknown
        state = self._manifest.files.get(path)
        try:
            facts = os.lstat(os.path.join(self._root, path))
        except OSError:
            return not self._manifest.imported
        stamp = (facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
        if state is None or (state.size, state.mtime_ns, state.ctime_ns) == stamp:
            return state is None
        source = read_source(self._root, SourceFile(path, *stamp), discover_rules(self._settings))
        return not isinstance(source, SourceText) or source.content_hash != state.content_hash

    def found_again(self, matches: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """The symbols where they are now, without those that are gone."""
        return [now for match in matches if (now := self._now(match)) is not None]

    def _now(self, match: dict[str, Any]) -> dict[str, Any] | None:
        if match["file"] not in self:
            return match
        text = read_text(self._root, self._settings, match["file"])
        symbol = find_again(self._root, self._settings, match, text) if text else None
        return {**match, **{key: getattr(symbol, key) for key in Symbol.__dataclass_fields__}} if symbol else None

    def left_out(self, rows: Iterable[_Row], files: Callable[[_Row], Iterable[str]]) -> list[_Row]:
        """The rows none of whose files has changed."""
        return [row for row in rows if not any(file in self for file in files(row))]

    def related(self, found: Related) -> Related:
        """The uses of which nothing is in a changed file."""
        return replace(found, uses=tuple(self.left_out(found.uses, _files_of)))


def _files_of(use: Use) -> tuple[str, ...]:
    return (use.file, use.definition.file) if isinstance(use, Callee) else (use.file,)
