"""Turns small projects in a test, as {path: source}, into graphs."""

from __future__ import annotations

from sage_code.languages.table import detect
from sage_code.parse.definitions import parse
from sage_code.values import Reference
from sage_code.xref.graph import Definition, ParsedGraph
from sage_code.xref.resolve import Resolver


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
