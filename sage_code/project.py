"""The façade: everything that a face, a script or a test asks of a project goes through `Project`.

It imports nothing but where things are; each method loads what it needs, so that `grep` stays as light as it is.
"""

from __future__ import annotations

import os

from sage_code.errors import UsageError
from sage_code.paths import find_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sage_code.indexer import IndexStats
    from sage_code.progress import Progress
    from sage_code.settings import Settings
    from sage_code.status import Preview, Status


class Project:
    """One project on disk, indexed or not.

    >>> project = Project.open(".")
    >>> project.index()
    >>> project.grep("parse_config")
    """

    def __init__(self, root: str, overrides: Mapping[str, object] | None = None) -> None:
        self.root = root
        self._overrides = overrides
        self._settings: Settings | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str] = ".", *, overrides: Mapping[str, object] | None = None) -> Project:
        """The project that `path` lies in; `overrides` are settings that stand above all files."""
        path = os.fspath(path)
        if not os.path.exists(path):
            raise UsageError(f"there is no {path}", "give the path of a project's folder")
        return cls(find_root(path), overrides)

    @property
    def settings(self) -> Settings:
        """The settings that hold for this project."""
        if self._settings is None:
            from sage_code.settings import load_settings

            self._settings = load_settings(self.root, self._overrides)
        return self._settings

    def index(self, full: bool = False, progress: Progress | None = None, name: str | None = None) -> IndexStats:
        """Bring the index up to date; `full` reads and cuts every file again."""
        from sage_code.indexer import index_project

        return index_project(self.root, self.settings, full=full, name=name, progress=progress)

    def preview(self) -> Preview:
        """What `index` would do, without doing it."""
        from sage_code.status import preview

        return preview(self.root, self.settings)

    def status(self) -> Status:
        """What is indexed, how fresh it is, and what was left out."""
        from sage_code.status import status

        return status(self.root, self.settings)

    def grep(
        self, name: str, *, kind: str | None = None, ignore_case: bool = False, prefix: bool = False
    ) -> list[dict[str, Any]]:
        """Symbols by exact name, bare or qualified; each as `compiled_schema/symbol.json` describes."""
        from sage_code.compiled.lookup import SymbolFiles

        return SymbolFiles(self.root).find(name, kind=kind, ignore_case=ignore_case, prefix=prefix)

    def nearest(self, name: str) -> list[str]:
        """Names that look like one that was not found."""
        from sage_code.compiled.lookup import SymbolFiles

        return SymbolFiles(self.root).nearest(name)

    def analyze(self, name: str) -> list[dict[str, Any]]:
        """The definitions called `name`, each with its whole source as it is on the disk now."""
        from sage_code.analyze import analyze

        return analyze(self.root, self.settings, self.grep(name))
