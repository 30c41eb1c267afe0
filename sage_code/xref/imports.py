"""What an import statement brings into a file, followed through re-exports from file to file.

An import that leads back to itself brings nothing; each one is followed once and remembered.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from functools import cached_property

from sage_code.values import Reference
from sage_code.xref.graph import CodeGraph, Definition
from sage_code.xref.language_rules import IMPORT_BY_PACKAGE, family
from sage_code.xref.meanings import EXTERNAL, IMPORTED, IN_PACKAGE, Meaning, Module
from sage_code.xref.modules import ModulePaths
from sage_code.xref.views import FileView, FileViews, owner


class Imports:
    """The imports and exports of the files of one graph."""

    def __init__(self, graph: CodeGraph, views: FileViews, in_time: Callable[[], bool]) -> None:
        """While `in_time` says so: one file may require a thousand others, and those each other."""
        self._graph = graph
        self._views = views
        self._in_time = in_time
        self._imported: dict[tuple[str, Reference], list[Meaning]] = {}

    @cached_property
    def paths(self) -> ModulePaths:
        """The files that modules may mean."""
        return ModulePaths(self._graph.files())

    def imported(self, view: FileView, reference: Reference, steps: int) -> list[Meaning]:
        """What an import statement brings."""
        key = (view.file, reference)
        if key not in self._imported:
            self._imported[key] = []  # two modules that import from each other end here
            self._imported[key] = self._follow(view, reference, steps)
        return self._imported[key]

    def exported(self, module: Module, name: str, steps: int, alias: str = "") -> list[Meaning]:
        """What a module exports under a name: its own definitions, its imports, what it re-exports with a star."""
        if steps <= 0:
            return []
        if module.is_folder:
            return [
                Meaning(definition, IMPORTED, "import")
                for definition in self._graph.definitions(name)
                if posixpath.dirname(definition.file) == module.path and definition.symbol.qualname == name
            ]
        view = self._views[module.path]
        own = view.definitions(name)
        if name == "default":
            top = [symbol for symbols in view.symbols.values() for symbol in symbols if "." not in symbol.qualname]
            chosen = [s for s in top if s.signature.startswith("export default")] or [s for s in top if s.name == alias]
            own = [Definition(view.file, view.language, symbol) for symbol in chosen]
        found = [Meaning(definition, IMPORTED, "import") for definition in own]
        for reference in view.imports.get(name, ()):
            found += self.imported(view, reference, steps - 1)
        if found:
            return found
        found = self.through_stars(view, name, steps, module)
        if not found and posixpath.basename(module.path).startswith("__init__."):
            found = self.modules("python", module.path, f".{name}")
        return found

    def through_stars(self, view: FileView, name: str, steps: int, module: Module | None = None) -> list[Meaning]:
        """What the star imports of a file bring under a name, except those that import `module` itself."""
        return [
            found
            for star in view.stars
            if self._in_time()
            for meaning in self.imported(view, star, steps - 1)
            if isinstance(meaning.entity, Module) and meaning.entity != module
            for found in self.exported(meaning.entity, name, steps - 1)
        ]

    def modules(self, language: str, file: str, module: str) -> list[Meaning]:
        """The files that `module` may mean when `file` imports it."""
        return [Meaning(Module(path), IMPORTED, "import") for path in self.paths.find(language, file, module)]

    def _follow(self, view: FileView, reference: Reference, steps: int) -> list[Meaning]:
        """What an import statement brings, by the rules of the file's language."""
        if steps <= 0:
            return []
        language, module, name = view.language, reference.receiver, reference.name
        if language == "go":
            folder = self.paths.folder(module)
            return [Meaning(Module(folder, True), IMPORTED, "import")] if folder is not None else [EXTERNAL]
        if language in IMPORT_BY_PACKAGE:
            return self._by_package(view, module, name)
        if name == "*":
            return self.modules(language, view.file, module) or [EXTERNAL]
        files = self.paths.find(language, view.file, module)
        found = [meaning for file in files for meaning in self.exported(Module(file), name, steps - 1, reference.alias)]
        if not found and language == "python":  # a module of a package without `__init__`
            found = self.modules(language, view.file, f"{module}{name}" if module.endswith(".") else f"{module}.{name}")
        if not found and files:  # exported without a statement: `__getattr__`, generated code
            folder = posixpath.dirname(files[0])
            found = [
                Meaning(definition, IN_PACKAGE, "package")
                for definition in self._graph.definitions(name)
                if definition.symbol.qualname == name and definition.file.startswith(f"{folder}/")
            ]
        return found or [EXTERNAL]

    def _by_package(self, view: FileView, module: str, name: str) -> list[Meaning]:
        """The definitions of a name whose folders, file name and owners match the package that it comes from best."""
        parts = [part for part in _parts(module) if part not in ("crate", "self", "super")]
        scored = []
        for definition in self._graph.definitions(name):
            if family(definition.language) != family(view.language):
                continue
            stem = definition.file.rpartition(".")[0]
            known = {*_parts(stem.replace("/", ".")), *_parts(owner(definition.symbol.qualname))}
            shared = sum(part in known for part in parts)
            if shared == len(parts) or (parts and parts[-1] in known):
                scored.append((shared, definition))
        most = max((shared for shared, _ in scored), default=0)
        found = [Meaning(definition, IMPORTED, "import") for shared, definition in scored if shared == most]
        return found or [EXTERNAL]


def _parts(dotted: str) -> list[str]:
    return [part for part in dotted.replace("::", ".").replace("\\", ".").replace("/", ".").split(".") if part]
