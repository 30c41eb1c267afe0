"""Turns small projects in a test, as {path: source}, into graphs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sage_code.languages.table import detect
from sage_code.parse.definitions import parse
from sage_code.values import Reference, Symbol
from sage_code.xref.graph import Definition
from sage_code.xref.resolve import Resolver


class ParsedGraph:
    """A graph of parsed files: {file: (language, symbols, references)}."""

    def __init__(self, files: Mapping[str, tuple[str, Sequence[Symbol], Sequence[Reference]]]) -> None:
        self._files = files
        self._definitions: dict[str, list[Definition]] = defaultdict(list)
        self._references: dict[str, list[tuple[str, Reference]]] = defaultdict(list)
        for file, (language, symbols, references) in files.items():
            for symbol in symbols:
                self._definitions[symbol.name].append(Definition(file, language, symbol))
            for reference in references:
                if reference.kind != "bind":
                    self._references[reference.name].append((file, reference))

    def definitions(self, name: str) -> Sequence[Definition]:
        """By name."""
        return self._definitions.get(name, ())

    def references(self, name: str) -> Sequence[tuple[str, Reference]]:
        """By name."""
        return self._references.get(name, ())

    def file_references(self, file: str) -> Sequence[Reference]:
        """By file."""
        return self._files[file][2] if file in self._files else ()

    def file_symbols(self, file: str) -> Sequence[Symbol]:
        """By file."""
        return self._files[file][1] if file in self._files else ()

    def file_language(self, file: str) -> str:
        """By file."""
        return self._files[file][0] if file in self._files else ""

    @property
    def known(self) -> None:
        """No compiler was asked."""
        return None

    def files(self) -> Iterable[str]:
        """All of them."""
        return self._files


def graph(files: dict[str, str]) -> ParsedGraph:
    """The graph of the parsed files."""
    parsed = {}
    for path, text in files.items():
        language = detect(path)
        assert language is not None
        result = parse(text.encode(), language)
        assert result is not None
        parsed[path] = (language.name, result.symbols, tuple(result.references))
    return ParsedGraph(parsed)


def definition(project: ParsedGraph, qualname: str) -> Definition:
    """The only definition with this qualified name."""
    name = qualname.rpartition(".")[2]
    (found,) = (one for one in project.definitions(name) if one.symbol.qualname == qualname)
    return found


def call(project: ParsedGraph, file: str, name: str) -> Reference:
    """The last call of `name` in a file."""
    return [r for r in project.file_references(file) if r.kind == "call" and r.name == name][-1]


def meant(files: dict[str, str], file: str, name: str, least: float = 0.4) -> list[str]:
    """The targets of the last call of `name` in a file as `file:qualname`, best first."""
    project = graph(files)
    found = Resolver(project).targets(file, call(project, file, name))
    return [f"{t.definition.file}:{t.definition.symbol.qualname}" for t in found if t.confidence >= least]
