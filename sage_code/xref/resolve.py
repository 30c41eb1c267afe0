"""What a reference stands for: by what its receiver means, or its scope; by name alone where these say nothing.

`meanings` says what stands before the name; here the name is looked up in that, in the classes above and below, and
every answer gets its confidence and its reason.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass

from sage_code.values import Reference
from sage_code.xref.graph import CodeGraph, Definition
from sage_code.xref.guess import family, guess
from sage_code.xref.meanings import MAX_CLASSES, MAX_STEPS, STRICT, Entity, Meaning, Meanings, Module, Outside
from sage_code.xref.modules import ECMASCRIPT
from sage_code.xref.views import FUNCTION_LIKE, FileView, is_super, owner

# Below this, an answer is only shown when asked for: of the callers that this leaves out, most are wrong.
DEFAULT_CONFIDENCE = 0.4
# A base type is called, a subtype's method may run: what interfaces are for, and rarer where types are not declared.
OVERRIDE_DECLARED, OVERRIDE = 0.75, 0.35
# `self.f()` in a class that has no `f`, but a subclass has.
IN_SUBCLASS = 0.5
# The type is known and has no such member: it was set from outside, or the type is wrong.
NOT_A_MEMBER = 0.3
# A bare name that is neither defined nor imported, in a language where it would have to be.
NOT_IMPORTED = 0.1
# References whose answers are kept: whoever asks about every `make` of a project asks each of them again and again.
_KEPT_ANSWERS = 10_000
_DECLARED = ECMASCRIPT | {"java", "kotlin", "scala", "csharp", "go", "rust", "swift", "php", "cpp", "dart"}


@dataclass(frozen=True, slots=True)
class Target:
    """A definition that a reference may mean."""

    definition: Definition
    confidence: float
    why: str


class Resolver:
    """Resolves the references of one graph, and remembers what it learnt about its files.

    With `seconds` whoever walks the graph stops when they are over, and `ran_out` says so: a name like `make` may be
    used in ten thousand places.
    """

    def __init__(self, graph: CodeGraph, seconds: float = math.inf) -> None:
        self.graph = graph
        self.ran_out = False
        self._until = time.monotonic() + seconds
        self._meanings = Meanings(graph)
        self._targets: dict[tuple[str, Reference], list[Target]] = {}
        self._subclasses_of: dict[tuple[str, str], list[Definition]] = {}
        self._imported_files: dict[str, set[str]] = {}
        self._members: dict[tuple[str, str], dict[str, bool]] = {}  # of classes, by names that were asked for

    def in_time(self) -> bool:
        """Whether there is time for another reference."""
        self.ran_out = self.ran_out or time.monotonic() > self._until
        return not self.ran_out

    def targets(self, file: str, reference: Reference) -> list[Target]:
        """What `reference` of `file` may mean, best first."""
        key = (file, reference)
        if key not in self._targets:
            if len(self._targets) >= _KEPT_ANSWERS:
                self._targets.clear()
            self._targets[key] = self._resolve(file, reference)
        return self._targets[key]

    def _resolve(self, file: str, reference: Reference) -> list[Target]:
        view = self._meanings.view(file)
        if reference.kind == "import":
            found = _as_targets(self._meanings.imported(view, reference, MAX_STEPS))
        elif reference.receiver:
            found = self._member_targets(view, reference)
        else:
            found = self._bare_targets(view, reference)
        best: dict[tuple[str, str, int], Target] = {}
        for target in found:
            key = (target.definition.file, target.definition.symbol.qualname, target.definition.symbol.line)
            if key not in best or best[key].confidence < target.confidence:
                best[key] = target
        return sorted(best.values(), key=lambda target: -target.confidence)

    def subclasses(self, of: Definition) -> list[Definition]:
        """The classes that name `of` as their base."""
        key = (of.file, of.symbol.qualname)
        if key not in self._subclasses_of:
            found = []
            for file, reference in self.graph.references(of.symbol.name):
                if reference.kind == "inherit" and family(self._meanings.view(file).language) == family(of.language):
                    view = self._meanings.view(file)
                    around = view.class_around(reference.scope)
                    bases = self._meanings.bases(around) if around is not None else ()
                    if around is not None and any(_same(meaning.entity, of) for meaning in bases):
                        found.append(around)
            self._subclasses_of[key] = found
        return self._subclasses_of[key]

    def imported_files(self, file: str, reference: Reference) -> set[str]:
        """The modules of this project that an import statement of `file` brings."""
        meanings = self._meanings.imported(self._meanings.view(file), reference, MAX_STEPS)
        return {meaning.entity.path for meaning in meanings if isinstance(meaning.entity, Module)}

    def _bare_targets(self, view: FileView, reference: Reference) -> list[Target]:
        meanings = self._meanings.lookup(view, reference.scope, reference.name, MAX_STEPS)
        if meanings is None:
            return self._guessed(view, reference, NOT_IMPORTED if view.language in STRICT else 1.0)
        return _as_targets(meaning for meaning in meanings if not meaning.is_value)

    def _member_targets(self, view: FileView, reference: Reference) -> list[Target]:
        meanings = self._meanings.evaluate(view, reference.scope, reference.receiver, MAX_STEPS)
        owners = [kind for meaning in meanings for kind in self._meanings.types(meaning, MAX_STEPS)]
        if not owners:
            return self._guessed(view, reference, 1.0)
        found: list[Target] = []
        goes_up = is_super(reference.receiver, view.language)
        for meaning in owners:
            found += self._member_of(meaning, reference.name, goes_up)
        if found or any(isinstance(meaning.entity, Outside) for meaning in owners):
            return found
        if any(self._meanings.has_outside_base(meaning.entity) for meaning in owners):
            return []
        return self._guessed(view, reference, NOT_A_MEMBER)

    def _member_of(self, meaning: Meaning, name: str, goes_up: bool) -> list[Target]:
        if isinstance(meaning.entity, Module):
            return _as_targets(self._meanings.exported(meaning.entity, name, MAX_STEPS), meaning.confidence)
        if not isinstance(meaning.entity, Definition):
            return []
        found = self._meanings.inherited(meaning.entity, name)
        below = [] if goes_up else self._overrides(meaning.entity, name)
        if found:
            worth = OVERRIDE_DECLARED if meaning.entity.language in _DECLARED else OVERRIDE
            return [
                *(Target(member, meaning.confidence * worth, why) for member, worth, why in found),
                *(Target(member, meaning.confidence * worth, "override") for member in below),
            ]
        return [Target(member, meaning.confidence * IN_SUBCLASS, "subclass") for member in below]

    def _overrides(self, cls: Definition, name: str) -> list[Definition]:
        """The members called `name` of the classes below."""
        found, work, seen = [], [cls], {(cls.file, cls.symbol.qualname)}
        if not any(owner(definition.symbol.qualname) for definition in self.graph.definitions(name)):
            return []
        while work and len(seen) < MAX_CLASSES:
            for below in self.subclasses(work.pop()):
                key = (below.file, below.symbol.qualname)
                if key not in seen:
                    seen.add(key)
                    found += self._meanings.own(below, name)
                    work.append(below)
        return found

    def _guessed(self, view: FileView, reference: Reference, factor: float) -> list[Target]:
        candidates = [
            one for one in self.graph.definitions(reference.name) if not self._is_hidden(one, view, reference)
        ]
        if not candidates:
            return []
        imports = self._files_imported_by(view).__contains__
        asked = view.asked(reference.scope, reference.receiver) - {reference.name}

        def others(candidate: Definition) -> int:
            holder = self._meanings.view(candidate.file).class_around(owner(candidate.symbol.qualname))
            return self._count_members(holder, asked) if holder else 0

        guesses = guess(candidates, view, reference.name, reference.receiver, imports, others)
        return [Target(definition, factor * confidence, "name") for definition, confidence in guesses]

    def _count_members(self, cls: Definition, names: set[str]) -> int:
        """How many of `names` are members of a class."""
        known = self._members.setdefault((cls.file, cls.symbol.qualname), {})
        for name in names - known.keys():
            known[name] = bool(self._meanings.inherited(cls, name))
        return sum(map(known.__getitem__, names))

    def _is_hidden(self, definition: Definition, view: FileView, reference: Reference) -> bool:
        """Whether it is a function inside another one, which nothing outside of that can name."""
        around = owner(definition.symbol.qualname)
        if not around or definition.symbol.kind != "function":
            return False
        symbol = self._meanings.view(definition.file).symbol(around)
        if symbol is None or symbol.kind not in FUNCTION_LIKE:
            return False
        is_inside = definition.file == view.file and f"{reference.scope}.".startswith(f"{around}.")
        return bool(reference.receiver) or not is_inside

    def _files_imported_by(self, view: FileView) -> set[str]:
        if view.file not in self._imported_files:
            files: set[str] = set()
            for references in (*view.imports.values(), view.stars):
                for reference in references:
                    for meaning in self._meanings.imported(view, reference, MAX_STEPS):
                        if isinstance(meaning.entity, Definition):
                            files.add(meaning.entity.file)
                        elif isinstance(meaning.entity, Module):
                            files.add(meaning.entity.path)
            self._imported_files[view.file] = files
        return self._imported_files[view.file]


def targets(graph: CodeGraph, file: str, reference: Reference) -> list[Target]:
    """What one reference may mean, best first. Whoever asks often keeps a `Resolver`."""
    return Resolver(graph).targets(file, reference)


def _as_targets(meanings: Iterable[Meaning], worth: float = 1.0) -> list[Target]:
    return [
        Target(meaning.entity, worth * meaning.confidence, meaning.why)
        for meaning in meanings
        if isinstance(meaning.entity, Definition)
    ]


def _same(entity: Entity, definition: Definition) -> bool:
    return (
        isinstance(entity, Definition)
        and entity.file == definition.file
        and entity.symbol.qualname == definition.symbol.qualname
    )
