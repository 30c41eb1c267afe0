"""Answers questions about a definition: what refers to it, what calls it, what it calls, what a change could break.

Each answer is a list of frozen values. Chains of calls are followed to a depth, every definition is visited once, and
the confidence of a chain is the product of its steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

from sage_code.values import Reference
from sage_code.xref.graph import CodeGraph, Definition
from sage_code.xref.known import SILENT
from sage_code.xref.language_rules import family
from sage_code.xref.resolve import DEFAULT_CONFIDENCE, Resolver, Target
from sage_code.xref.views import CLASS_LIKE, FUNCTION_LIKE, owner

if TYPE_CHECKING:
    from sage_code.xref.text_uses import TextUses

# Chains are followed until this many definitions were visited.
_MAX_VISITED = 2_000
# Other names of one definition (`import f as g`) that are looked up.
_MAX_NAMES = 8
# How far the effects of a change are followed; less likely effects are not listed.
_IMPACT_STEPS = 3
_LEAST_IMPACT = 0.1
_CONSTRUCTORS = frozenset({"__init__", "__new__", "constructor", "initialize", "__construct", "init"})
_VERBS = {"call": "calls", "inherit": "inherits from", "type": "names the type", "use": "uses", "import": "imports"}

# A file and a line.
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Usage:
    """A reference to a definition."""

    file: str
    line: int
    scope: str  # qualified name of the definition around it; empty at the top of a file
    kind: str  # call inherit type use import
    definition: Definition
    confidence: float
    why: str


@dataclass(frozen=True, slots=True)
class Caller:
    """A definition (or the top of a file: `scope` is empty) that calls another one, or hands it on as a value."""

    file: str
    line: int  # of the first call
    scope: str
    calls: Definition  # the definition that is called from here
    distance: int  # 1: directly
    confidence: float
    why: str
    kind: str = "call"  # or `value`: it is handed on here, for others to call


@dataclass(frozen=True, slots=True)
class Callee:
    """A definition that is called, and where it is called."""

    file: str  # of the call
    line: int
    scope: str
    definition: Definition
    distance: int
    confidence: float
    why: str


@dataclass(frozen=True, slots=True)
class Affected:
    """A definition (or the top of a file) that could break when another one changes."""

    file: str
    line: int
    scope: str
    distance: int
    confidence: float
    why: str  # such as `calls run`


def references(
    resolver: Resolver,
    definition: Definition,
    min_confidence: float = DEFAULT_CONFIDENCE,
    *,
    text: TextUses | None = None,
    below: set[Place] | None = None,
) -> list[Usage]:
    """Every reference to `definition`, by file and line: the stored ones, and those in `text`.

    Where one is less certain than `min_confidence` is added to `below`."""
    usages = _certain(_usages(resolver, definition, text), min_confidence, below)
    return sorted(usages, key=lambda usage: (usage.file, usage.line, -usage.confidence))


def so_far(resolver: Resolver, definitions: Sequence[Definition], min_confidence: float, text: TextUses) -> list[Usage]:
    """The references to `definitions`, which share a name, that were resolved before the time was over, and those that
    a compiler knows, which need no time."""
    keys = {one.key for one in definitions}
    known = resolver.graph.known
    found = [
        Usage(file, _at(file, one, text).line, one.scope, one.kind, target.definition, target.confidence, target.why)
        for file, one, target in (resolver.resolved(definitions[0].symbol.name) if definitions else ())
        if target.definition.key in keys and target.confidence >= min_confidence
    ]
    found += [
        Usage(file, one.line, one.scope, one.kind, definition, confidence, why)
        for definition in definitions
        for file, one, confidence, why in text.meant.get(definition.key, ())
        if confidence >= min_confidence
    ]
    found += [
        Usage(use.file, use.line, use.scope, use.kind, definition, use.confidence, use.why)
        for definition in definitions
        for use in (known.uses(definition) if known else ())
        if use.confidence >= min_confidence
    ]
    return sorted(set(found), key=lambda usage: (usage.file, usage.line, -usage.confidence))


def same_name(resolver: Resolver, definitions: Sequence[Definition], text: TextUses) -> list[Usage]:
    """Where the name of `definitions` is used and no definition of the project is known to be meant, by file and line.

    Each is listed once, for a definition of the same file if there is one."""
    from sage_code.xref.text_uses import SAME_NAME, TextUse  # lazy: the parser, for questions about text only

    families = {family(one.language) for one in definitions}
    found = list(text.unexplained)
    for file, reference in resolver.graph.references(definitions[0].symbol.name) if definitions else ():
        if not resolver.in_time():
            break
        if family(resolver.graph.file_language(file)) in families and not resolver.targets(file, reference):
            found.append(TextUse(file, _at(file, reference, text), SAME_NAME, "same name"))
    usages = []
    for file, reference, confidence, why in found:
        nearest = next((one for one in definitions if one.file == file), definitions[0])
        usages.append(Usage(file, reference.line, reference.scope, reference.kind, nearest, confidence, why))
    return sorted(usages, key=lambda usage: (usage.file, usage.line, -usage.confidence))


def callers(
    resolver: Resolver,
    definition: Definition,
    depth: int = 1,
    min_confidence: float = DEFAULT_CONFIDENCE,
    *,
    text: TextUses | None = None,
    below: set[Place] | None = None,
) -> list[Caller]:
    """The callers of `definition` and their callers, up to `depth`; by distance, then confidence.

    Every step reaches `min_confidence`; the confidence of a caller is the product of the steps. Who hands the
    definition itself on as a value is listed too, but not followed."""
    found: dict[tuple[str, str], Caller] = {}
    values: dict[tuple[str, str], Caller] = {}
    level = [(definition, 1.0)]
    seen = {definition.key}
    for distance in range(1, depth + 1):
        following = []
        for called, chance in level:
            calls = (usage for usage in _usages(resolver, called, text) if _call_kind(usage))
            for usage in _certain(calls, min_confidence, below if distance == 1 else None):
                key = (usage.file, usage.scope)
                confidence, kind = chance * usage.confidence, _call_kind(usage)
                kept = found if kind == "call" else values
                known = kept.get(key)
                if (kind == "value" and distance > 1) or (
                    known and (known.distance < distance or known.confidence >= confidence)
                ):
                    continue
                line = min(known.line, usage.line) if known else usage.line
                kept[key] = Caller(usage.file, line, usage.scope, called, distance, confidence, usage.why, kind)
                if kind == "call":
                    following += [(one, confidence) for one in _unseen(_around(resolver.graph, usage), seen)]
        level = following
    handed_on = [caller for key, caller in values.items() if key not in found or found[key].distance > 1]
    return sorted([*found.values(), *handed_on], key=lambda one: (one.distance, -one.confidence, one.file, one.line))


def _call_kind(usage: Usage) -> str:
    """How a definition is called by a usage: `call`, `value` if it is handed on for others to call, or nothing."""
    if usage.kind == "call":
        return "call"
    return "value" if usage.kind == "use" and usage.definition.symbol.kind in FUNCTION_LIKE else ""


def callees(
    resolver: Resolver, definition: Definition, depth: int = 1, min_confidence: float = DEFAULT_CONFIDENCE
) -> list[Callee]:
    """The definitions that `definition` calls and those that they call, up to `depth`; by distance, file and line."""
    found: dict[tuple[str, str], Callee] = {}
    level = [(definition, 1.0)]
    seen = {definition.key}
    for distance in range(1, depth + 1):
        following = []
        for caller, chance in level:
            for reference, target in _calls(resolver, caller, min_confidence):
                key = target.definition.key
                if key not in found:
                    where, confidence = (caller.file, reference.line, reference.scope), chance * target.confidence
                    found[key] = Callee(*where, target.definition, distance, confidence, target.why)
                following += [(one, found[key].confidence) for one in _unseen([target.definition], seen)]
        level = following
    return sorted(found.values(), key=lambda callee: (callee.distance, callee.file, callee.line, -callee.confidence))


def impact(
    resolver: Resolver,
    what: str | Definition,
    min_confidence: float = DEFAULT_CONFIDENCE,
    *,
    text: TextUses | None = None,
) -> list[Affected]:
    """What could break when a file (its path) or a definition changes: callers, subclasses, importers, and so on."""
    found: dict[tuple[str, str], Affected] = {}
    if isinstance(what, str):
        language = resolver.graph.file_language(what)
        level = [(Definition(what, language, symbol), 1.0) for symbol in resolver.graph.file_symbols(what)]
        for file, reference in _importers(resolver, what):
            found[file, ""] = Affected(file, reference.line, "", 1, 1.0, f"imports {what}")
    else:
        level = [(what, 1.0)]
    changed = {definition.key for definition, _ in level}
    seen = set(changed)
    for distance in range(1, _IMPACT_STEPS + 1):
        following = []
        for definition, chance in level:
            for usage in _certain(_usages(resolver, definition, text), min_confidence):
                key, confidence = (usage.file, usage.scope), chance * usage.confidence
                if confidence < _LEAST_IMPACT or key in changed or (usage.file == what and not usage.scope):
                    continue
                known = found.get(key)
                if known is None or (known.distance == distance and known.confidence < confidence):
                    why = f"{_VERBS[usage.kind]} {definition.symbol.qualname}"
                    found[key] = Affected(usage.file, usage.line, usage.scope, distance, confidence, why)
                following += [(one, confidence) for one in _unseen(_around(resolver.graph, usage), seen)]
        level = following
    return sorted(found.values(), key=lambda one: (one.distance, -one.confidence, one.file, one.line))


def _usages(resolver: Resolver, definition: Definition, text: TextUses | None = None) -> Iterator[Usage]:
    """The references to `definition`, however uncertain; for a constructor, the calls of its class too."""
    seen: set[tuple[str, int]] = set()  # where a compiler knows a use; guesses about these lines add nothing
    known = resolver.graph.known
    for use in known.uses(definition) if known else ():
        if not resolver.in_time():
            return
        if (use.file, use.line) not in seen:
            seen.add((use.file, use.line))
            yield Usage(use.file, use.line, use.scope, use.kind, definition, use.confidence, use.why)
    for file, reference in _mentions(resolver, definition):
        if not resolver.in_time():
            return
        if (file, reference.line) in seen:
            continue
        target = _pointing_at(resolver.targets(file, reference), definition)
        if target is not None:
            line, scope = _at(file, reference, text).line, reference.scope
            yield Usage(file, line, scope, reference.kind, definition, target.confidence, target.why)
    for file, reference, confidence, why in text.meant.get(definition.key, ()) if text else ():
        if (file, reference.line) not in seen:
            is_silent = known is not None and why != "override" and known.covers(file)
            certainty = min(confidence, SILENT) if is_silent else confidence
            yield Usage(file, reference.line, reference.scope, reference.kind, definition, certainty, why)
    if definition.symbol.name in _CONSTRUCTORS or definition.symbol.kind == "constructor":
        for cls in _enclosing(resolver.graph, definition.file, owner(definition.symbol.qualname)):
            if cls.symbol.kind in CLASS_LIKE:
                for usage in _usages(resolver, cls):
                    if usage.kind == "call":
                        yield replace(usage, definition=definition, why="constructs")


def _certain(usages: Iterable[Usage], least: float, below: set[Place] | None = None) -> Iterator[Usage]:
    """The usages with a confidence of at least `least`; where the others are is added to `below`."""
    for usage in usages:
        if usage.confidence >= least:
            yield usage
        elif below is not None:
            below.add((usage.file, usage.line))


def _at(file: str, reference: Reference, text: TextUses | None) -> Reference:
    """The reference at the line of its name, which in a long import is not the one where the statement begins."""
    if text is None or reference.kind != "import":
        return reference
    return reference._replace(line=text.moved.get((file, reference.name, reference.line), reference.line))


def _mentions(resolver: Resolver, definition: Definition) -> Iterator[tuple[str, Reference]]:
    """The references that may mean `definition`: by its name, and by the names that imports give it."""
    names = [definition.symbol.name]
    if definition.symbol.signature.startswith("export default"):
        names.append("default")
    for name in names:  # the loop adds aliases
        for file, reference in resolver.graph.references(name):
            yield file, reference
            alias = reference.alias
            is_new = reference.kind == "import" and alias and alias not in names and len(names) < _MAX_NAMES
            if is_new and _pointing_at(resolver.targets(file, reference), definition) is not None:
                names.append(alias)


def _pointing_at(targets: Iterable[Target], definition: Definition) -> Target | None:
    return next((target for target in targets if target.definition.key == definition.key), None)


def _calls(resolver: Resolver, caller: Definition, min_confidence: float) -> Iterator[tuple[Reference, Target]]:
    qualname = caller.symbol.qualname
    for reference in resolver.graph.file_references(caller.file):
        if not resolver.in_time():
            return
        if reference.kind == "call" and (reference.scope == qualname or reference.scope.startswith(f"{qualname}.")):
            for target in resolver.targets(caller.file, reference):
                if target.confidence >= min_confidence:
                    yield reference, target


def _importers(resolver: Resolver, file: str) -> Iterator[tuple[str, Reference]]:
    """The imports of `file` as a module; imports of its definitions are found by their names."""
    stem = file.rpartition("/")[2].partition(".")[0]
    folder = file.rpartition("/")[0].rpartition("/")[2]
    for name in ("*", stem, folder):
        for importer, reference in resolver.graph.references(name):
            path = f"{reference.receiver}.{reference.name}"
            is_likely = reference.kind == "import" and (stem in path or folder in path) and importer != file
            if is_likely and file in resolver.imported_files(importer, reference):
                yield importer, reference


def _unseen(found: Iterable[Definition], seen: set[tuple[str, str]]) -> Iterator[Definition]:
    """The definitions to follow: those that were not visited yet, up to the limit."""
    for one in found:
        if one.key not in seen and len(seen) < _MAX_VISITED:
            seen.add(one.key)
            yield one


def _around(graph: CodeGraph, usage: Usage) -> list[Definition]:
    """The function or class around a usage."""
    if usage.kind == "import" or not usage.scope:
        return []
    kinds = FUNCTION_LIKE | CLASS_LIKE if usage.kind == "inherit" else FUNCTION_LIKE
    return [around for around in _enclosing(graph, usage.file, usage.scope) if around.symbol.kind in kinds]


def _enclosing(graph: CodeGraph, file: str, qualname: str) -> list[Definition]:
    """The first definition of a file with this qualified name, in a list; or none."""
    symbols = (symbol for symbol in graph.file_symbols(file) if symbol.qualname == qualname)
    return [Definition(file, graph.file_language(file), symbol) for symbol in islice(symbols, 1)]
