"""The questions people ask: who refers to this, who calls it, what does it call, what could break.

Each answer is a list of frozen values, best first where they are ranked, and bounded: a chain of calls is followed to
a depth, every definition is visited once, and confidence is the product along the chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sage_code.values import Reference
from sage_code.xref.graph import CodeGraph, Definition
from sage_code.xref.resolve import DEFAULT_CONFIDENCE, Resolver, Target
from sage_code.xref.views import CLASS_LIKE, FUNCTION_LIKE, owner

# Chains are followed until this many definitions were visited.
_MAX_VISITED = 2_000
# Other names of one definition (`import f as g`) that are looked up.
_MAX_NAMES = 8
# What is affected over so many doubtful steps is not worth a line.
_LEAST_IMPACT = 0.1
_CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor", "initialize", "__construct", "init"})
_VERBS = {"call": "calls", "inherit": "inherits from", "type": "names the type", "use": "uses", "import": "imports"}


@dataclass(frozen=True, slots=True)
class Usage:
    """A place that refers to a definition."""

    file: str
    line: int
    scope: str  # qualified name of the definition around it; empty at the top of a file
    kind: str  # call inherit type use import
    definition: Definition  # what it refers to
    confidence: float
    why: str


@dataclass(frozen=True, slots=True)
class Caller:
    """A definition (or the top of a file: `scope` is empty) that calls another one."""

    file: str
    line: int  # of the first call
    scope: str
    calls: Definition  # the definition that is called from here
    distance: int  # 1: directly
    confidence: float
    why: str


@dataclass(frozen=True, slots=True)
class Callee:
    """A definition that is called, and from where."""

    file: str  # of the call
    line: int
    scope: str
    definition: Definition
    distance: int
    confidence: float
    why: str


@dataclass(frozen=True, slots=True)
class Affected:
    """What could break when a definition or a file changes."""

    file: str
    line: int
    scope: str
    distance: int
    confidence: float
    why: str  # calls, inherits from, imports ... what


def references(
    graph: CodeGraph,
    definition: Definition,
    *,
    min_confidence: float = DEFAULT_CONFIDENCE,
    resolver: Resolver | None = None,
) -> list[Usage]:
    """Every place that refers to `definition`, by file and line."""
    usages = _usages(resolver or Resolver(graph), definition, min_confidence)
    return sorted(usages, key=lambda usage: (usage.file, usage.line, -usage.confidence))


def callers(
    graph: CodeGraph,
    definition: Definition,
    depth: int = 1,
    min_confidence: float = DEFAULT_CONFIDENCE,
    *,
    resolver: Resolver | None = None,
) -> list[Caller]:
    """Who calls `definition`, and who calls those, up to `depth`; by distance, then confidence.

    Every step reaches `min_confidence`; what is given is the product of the steps."""
    resolver = resolver or Resolver(graph)
    found: dict[tuple[str, str], Caller] = {}
    level = [(definition, 1.0)]
    seen = {_key(definition)}
    for distance in range(1, depth + 1):
        following = []
        for called, chance in level:
            for usage in _usages(resolver, called, min_confidence):
                place = (usage.file, usage.scope)
                confidence = chance * usage.confidence
                known = found.get(place)
                if usage.kind != "call" or (known and (known.distance < distance or known.confidence >= confidence)):
                    continue
                line = min(known.line, usage.line) if known else usage.line
                found[place] = Caller(usage.file, line, usage.scope, called, distance, confidence, usage.why)
                for around in _around(graph, usage):
                    if _key(around) not in seen and len(seen) < _MAX_VISITED:
                        seen.add(_key(around))
                        following.append((around, confidence))
        level = following
    return sorted(found.values(), key=lambda caller: (caller.distance, -caller.confidence, caller.file, caller.line))


def callees(
    graph: CodeGraph,
    definition: Definition,
    depth: int = 1,
    min_confidence: float = DEFAULT_CONFIDENCE,
    *,
    resolver: Resolver | None = None,
) -> list[Callee]:
    """What `definition` calls, and what those call, up to `depth`; by distance, then by where it is called."""
    resolver = resolver or Resolver(graph)
    found: dict[tuple[str, str], Callee] = {}
    level = [(definition, 1.0)]
    seen = {_key(definition)}
    for distance in range(1, depth + 1):
        following = []
        for caller, chance in level:
            for reference, target in _calls(resolver, caller, min_confidence):
                key = _key(target.definition)
                if key not in found:
                    confidence = chance * target.confidence
                    found[key] = Callee(
                        caller.file,
                        reference.line,
                        reference.scope,
                        target.definition,
                        distance,
                        confidence,
                        target.why,
                    )
                if key not in seen and len(seen) < _MAX_VISITED:
                    seen.add(key)
                    following.append((target.definition, found[key].confidence))
        level = following
    return sorted(found.values(), key=lambda callee: (callee.distance, callee.file, callee.line, -callee.confidence))


def impact(
    graph: CodeGraph,
    what: str | Definition,
    *,
    max_distance: int = 3,
    min_confidence: float = DEFAULT_CONFIDENCE,
    resolver: Resolver | None = None,
) -> list[Affected]:
    """What could break when a file (its path) or a definition changes: callers, subclasses, importers, and theirs."""
    resolver = resolver or Resolver(graph)
    found: dict[tuple[str, str], Affected] = {}
    if isinstance(what, str):
        language = graph.file_language(what)
        level = [(Definition(what, language, symbol), 1.0) for symbol in graph.file_symbols(what)]
        for file, reference, confidence in _importers(resolver, what):
            found[file, ""] = Affected(file, reference.line, "", 1, confidence, f"imports {what}")
    else:
        level = [(what, 1.0)]
    changed = {_key(definition) for definition, _ in level}
    seen = set(changed)
    for distance in range(1, max_distance + 1):
        following = []
        for definition, chance in level:
            for usage in _usages(resolver, definition, min_confidence):
                place, confidence = (usage.file, usage.scope), chance * usage.confidence
                if confidence < _LEAST_IMPACT or place in changed or (usage.file == what and not usage.scope):
                    continue
                known = found.get(place)
                if known is None or (known.distance == distance and known.confidence < confidence):
                    why = f"{_VERBS[usage.kind]} {definition.symbol.qualname}"
                    found[place] = Affected(usage.file, usage.line, usage.scope, distance, confidence, why)
                for around in _around(graph, usage):
                    if _key(around) not in seen and len(seen) < _MAX_VISITED:
                        seen.add(_key(around))
                        following.append((around, confidence))
        level = following
    return sorted(found.values(), key=lambda hit: (hit.distance, -hit.confidence, hit.file, hit.line))


def _usages(resolver: Resolver, definition: Definition, min_confidence: float) -> Iterator[Usage]:
    """The places that refer to `definition`; those of a constructor are the calls of its class, too."""
    for file, reference in _mentions(resolver, definition):
        if not resolver.in_time():
            return
        target = _pointing_at(resolver.targets(file, reference), definition)
        if target is not None and target.confidence >= min_confidence:
            scope = reference.scope
            yield Usage(file, reference.line, scope, reference.kind, definition, target.confidence, target.why)
    if definition.symbol.name in _CONSTRUCTORS or definition.symbol.kind == "constructor":
        for cls in _enclosing(resolver.graph, definition.file, owner(definition.symbol.qualname)):
            if cls.symbol.kind in CLASS_LIKE:
                for usage in _usages(resolver, cls, min_confidence):
                    if usage.kind == "call":
                        yield Usage(
                            usage.file, usage.line, usage.scope, "call", definition, usage.confidence, "constructs"
                        )


def _mentions(resolver: Resolver, definition: Definition) -> Iterator[tuple[str, Reference]]:
    """The references that may mean `definition`: by its name, and by the names that imports give it."""
    names = [definition.symbol.name]
    if definition.symbol.signature.startswith("export default"):
        names.append("default")
    for name in names:  # grows on the way
        for file, reference in resolver.graph.references(name):
            yield file, reference
            alias = reference.alias
            is_new = reference.kind == "import" and alias and alias not in names and len(names) < _MAX_NAMES
            if is_new and _pointing_at(resolver.targets(file, reference), definition) is not None:
                names.append(alias)


def _pointing_at(targets: Iterable[Target], definition: Definition) -> Target | None:
    return next((target for target in targets if _key(target.definition) == _key(definition)), None)


def _calls(resolver: Resolver, caller: Definition, min_confidence: float) -> Iterator[tuple[Reference, Target]]:
    qualname = caller.symbol.qualname
    for reference in resolver.graph.file_references(caller.file):
        if not resolver.in_time():
            return
        if reference.kind == "call" and (reference.scope == qualname or reference.scope.startswith(f"{qualname}.")):
            for target in resolver.targets(caller.file, reference):
                if target.confidence >= min_confidence:
                    yield reference, target


def _importers(resolver: Resolver, file: str) -> Iterator[tuple[str, Reference, float]]:
    """The files that import `file` as a module; who imports something of it is found by that name."""
    stem = file.rpartition("/")[2].partition(".")[0]
    folder = file.rpartition("/")[0].rpartition("/")[2]
    for name in ("*", stem, folder):
        for importer, reference in resolver.graph.references(name):
            said = f"{reference.receiver}.{reference.name}"
            is_likely = reference.kind == "import" and (stem in said or folder in said) and importer != file
            if is_likely and file in resolver.imported_files(importer, reference):
                yield importer, reference, 1.0


def _around(graph: CodeGraph, usage: Usage) -> list[Definition]:
    """The definitions that a usage stands in, if that is a function or a class."""
    if usage.kind == "import" or not usage.scope:
        return []
    kinds = FUNCTION_LIKE | CLASS_LIKE if usage.kind == "inherit" else FUNCTION_LIKE
    return [around for around in _enclosing(graph, usage.file, usage.scope) if around.symbol.kind in kinds]


def _enclosing(graph: CodeGraph, file: str, qualname: str) -> list[Definition]:
    language = graph.file_language(file)
    return [Definition(file, language, symbol) for symbol in graph.file_symbols(file) if symbol.qualname == qualname][
        :1
    ]


def _key(definition: Definition) -> tuple[str, str]:
    """Overloads and redefinitions in one file are one."""
    return definition.file, definition.symbol.qualname
