"""The symbols, imports, bindings and bases of one file, by the names under which the resolver looks them up."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterator

from sage_code.values import Reference, Symbol
from sage_code.xref.graph import CodeGraph, Definition

CLASS_LIKE = frozenset({"class", "struct", "interface", "trait", "enum", "union", "type", "protocol", "object"})
FUNCTION_LIKE = frozenset({"function", "method", "constructor", "macro"})


class FileView:
    """The names of one file; it is read once."""

    def __init__(self, graph: CodeGraph, file: str) -> None:
        self.file = file
        self.language = graph.file_language(file)
        self.folder = posixpath.dirname(file)
        self.symbols: dict[str, list[Symbol]] = defaultdict(list)  # by qualified name
        self.imports: dict[str, list[Reference]] = defaultdict(list)  # by local name
        self.stars: list[Reference] = []  # imports of everything
        self.bindings: dict[str, list[Reference]] = defaultdict(list)  # by variable
        self.bases: dict[str, list[Reference]] = defaultdict(list)  # by the inheriting class
        self._members_used: dict[tuple[str, str], set[str]] = defaultdict(set)  # by scope and receiver
        for symbol in graph.file_symbols(file):
            self.symbols[symbol.qualname].append(symbol)
        for reference in graph.file_references(file):
            if reference.kind == "import":
                if reference.alias:
                    self.imports[reference.alias].append(reference)
                else:
                    self.stars.append(reference)
            elif reference.kind == "bind":
                self.bindings[reference.name].append(reference)
            elif reference.kind == "inherit":
                around = self.class_around(reference.scope)  # a method on the line of its class may be the scope
                self.bases[around.symbol.qualname if around else reference.scope].append(reference)
            elif reference.receiver and not reference.receiver.startswith("?"):
                self._note_member(reference)

    def definitions(self, qualname: str) -> list[Definition]:
        """The definitions of this file with a qualified name."""
        return [Definition(self.file, self.language, symbol) for symbol in self.symbols.get(qualname, ())]

    def symbol(self, qualname: str) -> Symbol | None:
        """The first symbol with a qualified name."""
        found = self.symbols.get(qualname)
        return found[0] if found else None

    def members_used(self, scope: str, receiver: str) -> set[str]:
        """The members of a receiver that one scope uses; for `self.x`, that the whole class uses."""
        return self._members_used.get(self._receiver_key(scope, receiver), set())

    def _note_member(self, reference: Reference) -> None:
        *holders, last = reference.receiver.split(".")
        self._members_used[self._receiver_key(reference.scope, reference.receiver)].add(reference.name)
        if holders:  # `a.b.c()` uses the member `b` of `a`
            self._members_used[self._receiver_key(reference.scope, ".".join(holders))].add(last.removesuffix("()"))

    def _receiver_key(self, scope: str, receiver: str) -> tuple[str, str]:
        if receiver.startswith(("self.", "this.")):
            around = self.class_around(scope)
            return around.symbol.qualname if around else scope, receiver
        return scope, receiver

    def class_around(self, scope: str) -> Definition | None:
        """The innermost class that encloses (or is) `scope`."""
        for outer in scopes(scope):
            for symbol in self.symbols.get(outer, ()):
                if symbol.kind in CLASS_LIKE:
                    return Definition(self.file, self.language, symbol)
        return None


class FileViews(dict[str, FileView]):
    """The views of a graph's files, each made on first use."""

    def __init__(self, graph: CodeGraph) -> None:
        super().__init__()
        self._graph = graph

    def __missing__(self, file: str) -> FileView:
        view = self[file] = FileView(self._graph, file)
        return view


def scopes(scope: str) -> Iterator[str]:
    """A scope and all scopes around it: `a.b`, `a`, and the empty one of the file."""
    while scope:
        yield scope
        scope = scope.rpartition(".")[0]
    yield ""


def owner(qualname: str) -> str:
    """The qualified name of the scope around a definition."""
    return qualname.rpartition(".")[0]
