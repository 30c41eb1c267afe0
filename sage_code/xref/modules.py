"""Finds the files that an import may mean, by the paths of the project alone: no configuration is read, no code run."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Iterable

from sage_code.xref.language_rules import ECMASCRIPT

_ECMASCRIPT_EXTENSIONS = (".ts", ".tsx", ".d.ts", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte")
_ECMASCRIPT_WRITTEN = re.compile(r"\.(?:[mc]?js|jsx|[mc]?ts|tsx)$")
_PACKAGE_FILES = {"__init__": "python", "index": "ecmascript", "mod": "rust"}
# Imports leave out these folders.
_SOURCE_ROOTS = ("", "src", "lib", "python")


class ModulePaths:
    """The files of a project, found by the end of their path."""

    def __init__(self, files: Iterable[str]) -> None:
        self._files = frozenset(files)
        self._by_stem: dict[str, list[str]] = defaultdict(list)  # `c` of a/b/c.py and of a/b/c/__init__.py
        self._folders: dict[str, set[str]] = defaultdict(set)  # `b` of a/b/c.go
        for file in sorted(self._files):
            folder, _, base = file.rpartition("/")
            stem = base.partition(".")[0]
            self._by_stem[stem].append(file)
            if stem in _PACKAGE_FILES:
                self._by_stem[folder.rpartition("/")[2]].append(file)
            self._folders[folder.rpartition("/")[2]].add(folder)

    def find(self, language: str, file: str, module: str) -> list[str]:
        """The files that `module` may mean when `file` imports it, best first; empty if it is not in this project."""
        if language == "python":
            return self._python(file, module)
        if language in ECMASCRIPT:
            return self._ecmascript(file, module)
        if language in ("c", "cpp", "objc", "solidity", "ruby", "proto", "lua", "bash", "zig"):
            return self._named(file, module)
        return []

    def folder(self, path: str) -> str | None:
        """The folder that a Go import path ends with, the longest match first."""
        parts = path.split("/")
        folders = self._folders.get(parts[-1], ())
        if "." not in parts[0]:  # the standard library, or a project without a domain
            return path if path in folders else None
        for start in range(1, len(parts)):
            end = "/".join(parts[start:])
            for folder in sorted(folders, key=len):
                if folder == end or folder.endswith(f"/{end}"):
                    return folder
        return None

    def _python(self, file: str, module: str) -> list[str]:
        """The file of a relative or absolute Python module."""
        dots = len(module) - len(module.lstrip("."))
        path = module[dots:].replace(".", "/")
        if dots:
            base = posixpath.dirname(file)
            for _ in range(dots - 1):
                base = posixpath.dirname(base)
            return self._python_files(posixpath.join(base, path) if path else base)
        found = [
            candidate
            for candidate in self._by_stem.get(path.rpartition("/")[2], ())
            if f"/{_module_path(candidate)}".endswith(f"/{path}")
            and self._is_root(_module_path(candidate)[: -len(path)])
        ]
        # A script imports the files of its folder by their bare names, even inside a package.
        beside = self._python_files(posixpath.join(posixpath.dirname(file), path))
        found = [*found, *(neighbour for neighbour in beside if neighbour not in found)]
        return sorted(found, key=lambda candidate: (-_common(candidate, file, path), len(candidate)))[:1]

    def _python_files(self, path: str) -> list[str]:
        wanted = (f"{path}.py", f"{path}/__init__.py", f"{path}.pyi", f"{path}/__init__.pyi")
        return [candidate.lstrip("/") for candidate in wanted if candidate.lstrip("/") in self._files]

    def _is_root(self, folder: str) -> bool:
        """Whether absolute imports may start in this folder, because it is no package itself."""
        return f"{folder}__init__.py" not in self._files

    def _ecmascript(self, file: str, module: str) -> list[str]:
        """The file of a relative path, a path from a source root, or a package of this repository."""
        if module.startswith("."):
            return self._ecmascript_files(posixpath.normpath(posixpath.join(posixpath.dirname(file), module)))
        bare = re.sub(r"^[@~#]?/", "", module)
        for root in _SOURCE_ROOTS:
            if found := self._ecmascript_files(posixpath.join(root, bare)):
                return found
        # A package is found by the name of its folder: `@scope/core/path` in packages/core/(src/)path.
        name, _, rest = re.sub(r"^@[\w.-]+/", "", module).partition("/")
        for folder in sorted(self._packages(name), key=len):
            for root in ("", "src"):
                if found := self._ecmascript_files(posixpath.join(folder, root, rest).rstrip("/")):
                    return found
        return []

    def _packages(self, name: str) -> set[str]:
        folders = {
            folder[: -len(sub)] if sub else folder
            for sub in ("", "/src")
            for folder in self._folders.get((sub or name).lstrip("/"), ())
            if folder.endswith(f"{name}{sub}")
        }
        return {folder for folder in folders if posixpath.basename(posixpath.dirname(folder)) in ("packages", "libs")}

    def _ecmascript_files(self, path: str) -> list[str]:
        stem = _ECMASCRIPT_WRITTEN.sub("", path)
        wanted = [path, *(stem + extension for extension in _ECMASCRIPT_EXTENSIONS)]
        wanted += [path + extension for extension in _ECMASCRIPT_EXTENSIONS]
        wanted += [f"{path}/index{extension}" for extension in _ECMASCRIPT_EXTENSIONS]
        return [candidate for candidate in wanted if candidate in self._files][:1]

    def _named(self, file: str, module: str) -> list[str]:
        """The files whose paths end like this, the nearest first: `#include "util/hash.h"`."""
        end = re.sub(r"^(\.{1,2}/)+", "", module)
        stem = end.rpartition("/")[2].partition(".")[0]
        found = [
            candidate
            for candidate in self._by_stem.get(stem, ())
            if f"/{candidate}".endswith(f"/{end}") or f"/{candidate.rpartition('.')[0]}".endswith(f"/{end}")
        ]
        return sorted(found, key=lambda candidate: -_common(candidate, file, ""))


def _module_path(file: str) -> str:
    """`a/b` for a/b.py and for a/b/__init__.py."""
    return file.rpartition(".")[0].removesuffix("/__init__")


def _common(candidate: str, file: str, path: str) -> int:
    """How many leading folders of a candidate's import root the importing file shares."""
    root = _module_path(candidate).removesuffix(path).strip("/") if path else posixpath.dirname(candidate)
    if not root or root in _SOURCE_ROOTS:
        return 1
    shared = posixpath.commonpath([root, file])
    return len(shared) + 1 if shared == root else 0


def is_test(file: str) -> bool:
    """Whether a file is a test by its path: code outside of the tests does not call its definitions."""
    return any(part in ("test", "tests", "t", "spec", "__tests__") for part in file.split("/")[:-1])
