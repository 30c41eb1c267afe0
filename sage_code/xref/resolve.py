"""Resolves references: the definitions that a reference may mean, each with a confidence and a reason.

`expressions` evaluates the receiver; here the name is looked up in its classes, their bases and their subclasses, or in
the scope if there is no receiver. If these are unknown, `guess` goes by the name alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sage_code.values import Reference
from sage_code.xref.expressions import MAX_CLASSES, Expressions
from sage_code.xref.graph import CodeGraph, Definition
from sage_code.xref.guess import guess
from sage_code.xref.imports import Imports
from sage_code.xref.known import SILENT
from sage_code.xref.language_rules import DECLARES_TYPES, MUST_IMPORT, family, is_super
from sage_code.xref.meanings import MAX_STEPS, External, Meaning, Module
from sage_code.xref.views import FUNCTION_LIKE, FileView, FileViews, owner

# Targets below this are shown on request only: most of them are wrong.
DEFAULT_CONFIDENCE = 0.4
# A call on a base type may run a subtype's method: common with interfaces, rarer where types are not declared.
OVERRIDE_DECLARED, OVERRIDE = 0.75, 0.35
# `self.f()` in a class that has no `f`, but a subclass has.
IN_SUBCLASS = 0.5
# The type is known and has no such member: other code sets it, or the type is wrong.
NOT_A_MEMBER = 0.3
# A bare name that is neither defined nor imported, in a language where it must be.
NOT_IMPORTED = 0.1
# References whose targets are kept: the callers of every `make` of a project need the same references each time.
_KEPT_TARGETS = 10_000


@dataclass(frozen=True, slots=True)
class Target:
    """A definition that a reference may mean."""

    definition: Definition
    confidence: float
    why: str


class Resolver:
    """Resolves the references of one graph, and keeps what it learns about the files.

    After `seconds`, `in_time` says that callers shall stop and `ran_out` is set: a name like `make` may have ten
    thousand references.
    """

    def __init__(self, graph: CodeGraph, seconds: float = math.inf) -> None:
        self.graph = graph
        self.ran_out = False
        self._until = time.monotonic() + seconds
        self._views = FileViews(graph)
        self._imports = Imports(graph, self._views, self.in_time)
        self._expressions = Expressions(graph, self._views, self._imports)
        self._targets: dict[tuple[str, Reference], list[Target]] = {}
        self._subclasses_of: dict[tuple[str, str], list[Definition]] = {}
        self._imported_files: dict[str, set[str]] = {}
        self._members: dict[tuple[str, str], dict[str, bool]] = {}  # by class and name: whether it is a member

    def in_time(self) -> bool:
        """Whether there is time for another reference."""
        self.ran_out = self.ran_out or time.monotonic() > self._until
        return not self.ran_out

    def renew(self, seconds: float) -> None:
        """Give it time for another question; what it has learnt about the files is kept."""
        self._until, self.ran_out = time.monotonic() + seconds, False

    def targets(self, file: str, reference: Reference) -> list[Target]:
        """What `reference` of `file` may mean, best first."""
        key = (file, reference)
        if key not in self._targets:
            if len(self._targets) >= _KEPT_TARGETS:
                self._targets.clear()
            self._targets[key] = self._decided(file, reference)
        return self._targets[key]

    def _decided(self, file: str, reference: Reference) -> list[Target]:
        """What a compiler says about a reference, and guesses only where it says nothing.

        A call on a base type may run a subtype's method all the same, so overrides are kept."""
        known = self.graph.known
        if known is None or not known.covers(file):
            return self._resolve(file, reference)
        said = known.meant(file, reference.line, reference.name)
        if said is None:
            found = self._resolve(file, reference)
            return [Target(one.definition, min(one.confidence, SILENT), one.why) for one in found]
        sure = [Target(definition, confidence, why) for definition, confidence, why in said]
        keys = {one.definition.key for one in sure}
        overrides = [one for one in self._resolve(file, reference) if one.why == "override"] if sure else []
        return [*sure, *(one for one in overrides if one.definition.key not in keys)]

    def _resolve(self, file: str, reference: Reference) -> list[Target]:
        """The targets of a reference, each definition once with its highest confidence."""
        view = self._views[file]
        if reference.kind == "import":
            found = _as_targets(self._imports.imported(view, reference, MAX_STEPS))
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

    def resolved(self, name: str) -> Iterator[tuple[str, Reference, Target]]:
        """What the references to `name` mean that were resolved so far, for answers when the time is over."""
        for (file, reference), targets in self._targets.items():
            if reference.name == name:
                yield from ((file, reference, target) for target in targets)

    def guessed(self, file: str, reference: Reference, factor: float) -> list[Target]:
        """What a reference may mean by its name alone, with `factor` of the confidence, best first."""
        found = self._guessed(self._views[file], reference, factor)
        return sorted(found, key=lambda target: -target.confidence)

    def subclasses(self, of: Definition) -> list[Definition]:
        """The classes that name `of` as their base."""
        if of.key not in self._subclasses_of:
            found = []
            for file, reference in self.graph.references(of.symbol.name):
                if reference.kind == "inherit" and family(self._views[file].language) == family(of.language):
                    around = self._views[file].class_around(reference.scope)
                    bases = (meaning.entity for meaning in self._expressions.bases(around)) if around else ()
                    if around and any(isinstance(base, Definition) and base.key == of.key for base in bases):
                        found.append(around)
            self._subclasses_of[of.key] = found
        return self._subclasses_of[of.key]

    def imported_files(self, file: str, reference: Reference) -> set[str]:
        """The files of this project that an import statement of `file` imports as modules."""
        meanings = self._imports.imported(self._views[file], reference, MAX_STEPS)
        return {meaning.entity.path for meaning in meanings if isinstance(meaning.entity, Module)}

    def _bare_targets(self, view: FileView, reference: Reference) -> list[Target]:
        meanings = self._expressions.lookup(view, reference.scope, reference.name, MAX_STEPS)
        if meanings is None:
            return self._guessed(view, reference, NOT_IMPORTED if view.language in MUST_IMPORT else 1.0)
        return _as_targets(meaning for meaning in meanings if not meaning.is_value)

    def _member_targets(self, view: FileView, reference: Reference) -> list[Target]:
        """The targets of a name with a receiver, by the types of the receiver; guessed if these are unknown."""
        meanings = self._expressions.evaluate(view, reference.scope, reference.receiver, MAX_STEPS)
        owners = [kind for meaning in meanings for kind in self._expressions.types(meaning, MAX_STEPS)]
        if not owners:
            return self._guessed(view, reference, 1.0)
        found: list[Target] = []
        on_super = is_super(reference.receiver, view.language)
        for meaning in owners:
            found += self._member_of(meaning, reference.name, on_super)
        if found or any(isinstance(meaning.entity, External) for meaning in owners):
            return found
        if any(self._expressions.has_external_base(meaning.entity) for meaning in owners):
            return []
        return self._guessed(view, reference, NOT_A_MEMBER)

    def _member_of(self, meaning: Meaning, name: str, on_super: bool) -> list[Target]:
        """The members of a module or a class with this name; those of subclasses too, unless the call is on `super`."""
        if isinstance(meaning.entity, Module):
            return _as_targets(self._imports.exported(meaning.entity, name, MAX_STEPS), meaning.confidence)
        if not isinstance(meaning.entity, Definition):
            return []
        found = self._expressions.members(meaning.entity, name)
        overrides = [] if on_super else self._overrides(meaning.entity, name)
        if found:
            override = OVERRIDE_DECLARED if meaning.entity.language in DECLARES_TYPES else OVERRIDE
            return [
                *(Target(member, meaning.confidence * confidence, why) for member, confidence, why in found),
                *(Target(member, meaning.confidence * override, "override") for member in overrides),
            ]
        return [Target(member, meaning.confidence * IN_SUBCLASS, "subclass") for member in overrides]

    def _overrides(self, cls: Definition, name: str) -> list[Definition]:
        """The members called `name` of the direct and indirect subclasses."""
        found, work, seen = [], [cls], {cls.key}
        if not any(owner(definition.symbol.qualname) for definition in self.graph.definitions(name)):
            return []
        while work and len(seen) < MAX_CLASSES:
            for below in self.subclasses(work.pop()):
                if below.key not in seen:
                    seen.add(below.key)
                    found += self._expressions.own_members(below, name)
                    work.append(below)
        return found

    def _guessed(self, view: FileView, reference: Reference, factor: float) -> list[Target]:
        """The targets by name alone, with `factor` of their confidence."""
        candidates = [
            one for one in self.graph.definitions(reference.name) if not self._is_hidden(one, view, reference)
        ]
        if not candidates:
            return []
        imports = self._files_imported_by(view).__contains__
        used = view.members_used(reference.scope, reference.receiver) - {reference.name}

        def others(candidate: Definition) -> int:
            holder = self._views[candidate.file].class_around(owner(candidate.symbol.qualname))
            return self._count_members(holder, used) if holder else 0

        guesses = guess(candidates, view, reference, imports, others)
        return [Target(definition, factor * confidence, "name") for definition, confidence in guesses]

    def _count_members(self, cls: Definition, names: set[str]) -> int:
        """How many of `names` are members of a class."""
        known = self._members.setdefault(cls.key, {})
        for name in names - known.keys():
            known[name] = bool(self._expressions.members(cls, name))
        return sum(map(known.__getitem__, names))

    def _is_hidden(self, definition: Definition, view: FileView, reference: Reference) -> bool:
        """Whether it is a function inside another one, and the reference is outside of that one."""
        around = owner(definition.symbol.qualname)
        if not around or definition.symbol.kind != "function":
            return False
        symbol = self._views[definition.file].symbol(around)
        if symbol is None or symbol.kind not in FUNCTION_LIKE:
            return False
        is_inside = definition.file == view.file and f"{reference.scope}.".startswith(f"{around}.")
        return bool(reference.receiver) or not is_inside

    def _files_imported_by(self, view: FileView) -> set[str]:
        """The files that a file imports, or imports something from."""
        if view.file not in self._imported_files:
            files: set[str] = set()
            for references in (*view.imports.values(), view.stars):
                for reference in references:
                    for meaning in self._imports.imported(view, reference, MAX_STEPS):
                        if isinstance(meaning.entity, Definition):
                            files.add(meaning.entity.file)
                        elif isinstance(meaning.entity, Module):
                            files.add(meaning.entity.path)
            self._imported_files[view.file] = files
        return self._imported_files[view.file]


def _as_targets(meanings: Iterable[Meaning], confidence: float = 1.0) -> list[Target]:
    """The meanings that are definitions, as targets of a reference."""
    return [
        Target(meaning.entity, confidence * meaning.confidence, meaning.why)
        for meaning in meanings
        if isinstance(meaning.entity, Definition)
    ]
