"""One file as the resolver sees it: its symbols, imports, bindings and bases, by the name they are looked up by."""

from __future__ import annotations

import posixpath
from collections import defaultdict
from collections.abc import Iterator

from sage_code.values import Reference, Symbol
from sage_code.xref.graph import CodeGraph, Definition

CLASS_LIKE = frozenset({"class", "struct", "interface", "trait", "enum", "union", "type", "protocol", "object"})
FUNCTION_LIKE = frozenset({"function", "method", "constructor", "macro"})
# What calls the class above, where it is not `super`; in another language the word is a name like any other.
_SUPER_WORDS = {"csharp": "base", "fsharp": "base", "php": "parent"}


class FileView:
    """Read once, asked often."""

    def __init__(self, graph: CodeGraph, file: str) -> None:
        self.file = file
        self.language = graph.file_language(file)
        self.folder = posixpath.dirname(file)
        self.symbols: dict[str, list[Symbol]] = defaultdict(list)  # by qualified name
        self.imports: dict[str, list[Reference]] = defaultdict(list)  # by local name
        self.stars: list[Reference] = []  # imports of everything
        self.bindings: dict[str, list[Reference]] = defaultdict(list)  # by variable
        self.bases: dict[str, list[Reference]] = defaultdict(list)  # by the inheriting class
        self.modules: set[str] = set()  # whatever is imported from
        self._asked: dict[tuple[str, str], set[str]] = defaultdict(set)  # by scope and receiver
        for symbol in graph.file_symbols(file):
            self.symbols[symbol.qualname].append(symbol)
        for reference in graph.file_references(file):
            if reference.kind == "import":
                self.modules.add(reference.receiver)
                if reference.alias:
                    self.imports[reference.alias].append(reference)
                else:
                    self.stars.append(reference)
            elif reference.kind == "bind":
                self.bindings[reference.name].append(reference)
            elif reference.kind == "inherit":
                around = self.class_around(reference.scope)  # on one line with a class, a method may be the scope
                self.bases[around.symbol.qualname if around else reference.scope].append(reference)
            elif reference.receiver and not reference.receiver.startswith("?"):
                self._note_asked(reference)

    def definitions(self, qualname: str) -> list[Definition]:
        """What is defined here under a qualified name."""
        return [Definition(self.file, self.language, symbol) for symbol in self.symbols.get(qualname, ())]

    def symbol(self, qualname: str) -> Symbol | None:
        """The first symbol with a qualified name."""
        found = self.symbols.get(qualname)
        return found[0] if found else None

    def asked(self, scope: str, receiver: str) -> set[str]:
        """The members that are asked of a receiver in one scope: of `self.x` in the whole class."""
        return self._asked.get(self._asking(scope, receiver), set())

    def _note_asked(self, reference: Reference) -> None:
        *holders, last = reference.receiver.split(".")
        self._asked[self._asking(reference.scope, reference.receiver)].add(reference.name)
        if holders:  # `a.b.c()` asks `a` for `b`
            self._asked[self._asking(reference.scope, ".".join(holders))].add(last.removesuffix("()"))

    def _asking(self, scope: str, receiver: str) -> tuple[str, str]:
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


def scopes(scope: str) -> Iterator[str]:
    """`a.b`, `a` and the file's own, which is empty."""
    while scope:
        yield scope
        scope = scope.rpartition(".")[0]
    yield ""


def is_super(word: str, language: str) -> bool:
    """Whether a word stands for the class above: what is called on it is never a method of a class below."""
    return word == _SUPER_WORDS.get(language, "super")


def owner(qualname: str) -> str:
    """The qualified name of what a definition stands in."""
    return qualname.rpartition(".")[0]
