"""What an expression means in a scope: which class, module or function, or something outside of the project.

Scopes, imports, bindings, annotations and bases are followed from file to file; only files that the names lead to are
read. Results are kept. An expression that depends on itself has no meaning.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import replace

from sage_code.parse.bindings import RETURNED
from sage_code.parse.type_names import BUILT_IN_TYPES, parameter_type, return_type
from sage_code.values import Reference
from sage_code.xref.graph import CodeGraph, Definition
from sage_code.xref.imports import Imports
from sage_code.xref.language_rules import MEMBERS_IN_SCOPE, MUST_IMPORT, SELF_WORDS, family, is_super
from sage_code.xref.meanings import (
    EXTERNAL,
    IN_SCOPE,
    INHERITED,
    MAX_STEPS,
    MEMBER,
    NAMED_AFTER,
    NAMED_AFTER_END,
    SAME_PACKAGE,
    Entity,
    External,
    Meaning,
    Module,
)
from sage_code.xref.modules import is_test
from sage_code.xref.views import CLASS_LIKE, FUNCTION_LIKE, FileView, FileViews, owner, scopes

# A shorter word is no sign that a variable is named after a class.
_LEAST_CLASS_NAME = 4
# Bases or subclasses visited.
MAX_CLASSES = 60
_MAX_BINDINGS = 4

_GLOBALS = frozenset(
    {"console", "process", "Math", "JSON", "Object", "Promise", "document", "window", "Date", "Buffer", "expect"}
)


class Expressions:
    """The meanings of expressions in the files of one graph."""

    def __init__(self, graph: CodeGraph, views: FileViews, imports: Imports) -> None:
        self._graph = graph
        self._views = views
        self._imports = imports
        self._bases_of: dict[tuple[str, str], list[Meaning]] = {}
        self._evaluated: dict[tuple[str, str, str, bool], list[Meaning]] = {}

    # --- members --------------------------------------------------------------------------------------------------

    def members(self, start: Definition, name: str) -> list[tuple[Definition, float, str]]:
        """The members called `name` of a class or of its nearest base that has one, with confidence and reason."""
        level, seen = [start], {start.key}
        confidence, why = MEMBER, "member"
        while level and len(seen) < MAX_CLASSES:
            members = [member for cls in level for member in self.own_members(cls, name)]
            if members:
                return [(member, confidence, why) for member in members]
            above = [meaning.entity for cls in level for meaning in self.bases(cls)]
            level = []
            for entity in above:
                if isinstance(entity, Definition) and entity.key not in seen:
                    seen.add(entity.key)
                    level.append(entity)
            confidence, why = INHERITED, "inherited"
        return []

    def own_members(self, cls: Definition, name: str) -> list[Definition]:
        """The members called `name` that a class defines itself."""
        view = self._views[cls.file]
        qualname = f"{cls.symbol.qualname}.{name}"
        found = view.definitions(qualname)
        if found or cls.language in MUST_IMPORT:
            return found
        # Members in other files: Go and Rust methods, C++ sources of a header, partial classes.
        return [
            definition
            for definition in self._graph.definitions(name)
            if definition.language == cls.language
            and definition.symbol.qualname == qualname
            and posixpath.dirname(definition.file) == view.folder
        ]

    def bases(self, cls: Definition) -> list[Meaning]:
        """The direct bases of a class."""
        if cls.key not in self._bases_of:
            self._bases_of[cls.key] = []  # a class that inherits from itself ends here
            view, scope = self._views[cls.file], owner(cls.symbol.qualname)
            self._bases_of[cls.key] = [
                meaning
                for reference in view.bases.get(cls.symbol.qualname, ())
                for meaning in self.evaluate(view, scope, _dotted(reference), MAX_STEPS, is_type=True)
            ]
        return self._bases_of[cls.key]

    def has_external_base(self, entity: Entity) -> bool:
        """Whether a class inherits members from outside of the project."""
        work, seen = [entity], {entity}
        while work and len(seen) < MAX_CLASSES:
            current = work.pop()
            if isinstance(current, External):
                return True
            if isinstance(current, Definition):
                for meaning in self.bases(current):
                    if meaning.entity not in seen:
                        seen.add(meaning.entity)
                        work.append(meaning.entity)
        return False

    # --- expressions ----------------------------------------------------------------------------------------------

    def evaluate(self, view: FileView, scope: str, dotted: str, steps: int, *, is_type: bool = False) -> list[Meaning]:
        """What a dotted expression may mean in a scope; empty if that is unknown."""
        key = (view.file, scope, dotted, is_type)
        if key not in self._evaluated:
            self._evaluated[key] = []  # an expression that depends on itself ends here
            self._evaluated[key] = self._evaluate(view, scope, dotted, steps, is_type=is_type)
        return self._evaluated[key]

    def _evaluate(self, view: FileView, scope: str, dotted: str, steps: int, *, is_type: bool) -> list[Meaning]:
        """Look up the longest imported start of the expression, or its first name, then one attribute after another."""
        if steps <= 0 or not dotted or dotted.startswith("?"):
            return [EXTERNAL] if dotted == '?"' else []
        if dotted.startswith("["):
            inner = self.evaluate(view, scope, dotted[1:-1], steps - 1, is_type=True)
            return [replace(meaning, is_inside=True) for meaning in inner]
        first, *rest = dotted.split(".")
        first = first.removesuffix("()")
        if view.language != "ruby":
            first = first.removeprefix("@")  # of a decorator
        goes_up = is_super(first, view.language)
        if first in SELF_WORDS or goes_up:
            around = view.class_around(scope)
            if around is None:
                return []
            meanings = self.bases(around) if goes_up else [Meaning(around, 1.0, "self", True)]
        else:
            whole = next((cut for cut in range(len(rest), 0, -1) if ".".join([first, *rest[:cut]]) in view.imports), 0)
            if whole:  # `import a.b` and then `a.b.c`
                first, rest = ".".join([first, *rest[:whole]]), rest[whole:]
            looked_up = self.lookup(view, scope, first, steps)
            if looked_up is None and (first in BUILT_IN_TYPES or first in _GLOBALS):
                looked_up = [EXTERNAL]
            elif looked_up is None and is_type and not rest:
                looked_up = [EXTERNAL] if view.language in MUST_IMPORT else self._by_unique_type_name(view, first)
            elif not looked_up and not is_type:
                looked_up = self._named_after(view, first)
            meanings = looked_up or []
        for name in rest:
            meanings = [
                found for meaning in meanings for found in self._attribute(meaning, name.removesuffix("()"), steps - 1)
            ]
        return meanings

    def lookup(self, view: FileView, scope: str, name: str, steps: int) -> list[Meaning] | None:
        """What a bare name means in a scope: [] if it is a variable of unknown type, None if no definition is found."""
        for outer in scopes(scope):
            symbol = view.symbol(outer) if outer else None
            if symbol is not None and symbol.kind in CLASS_LIKE:
                cls = Definition(view.file, view.language, symbol)
                if view.language in MEMBERS_IN_SCOPE:
                    members = self.members(cls, name)
                elif outer == scope:
                    members = [(member, IN_SCOPE, "scope") for member in view.definitions(f"{outer}.{name}")]
                else:
                    members = []
                if members:
                    return [Meaning(member, confidence, why) for member, confidence, why in members]
                continue
            found = self._in_scope(view, outer, name, steps)
            if found is not None:
                return found
        return self._from_elsewhere(view, name, steps)

    def _in_scope(self, view: FileView, scope: str, name: str, steps: int) -> list[Meaning] | None:
        """What a name means by the definitions, imports, bindings and parameters of one scope; None if it has none."""
        qualname = f"{scope}.{name}" if scope else name
        found = [Meaning(definition, IN_SCOPE, "scope") for definition in view.definitions(qualname)]
        found += [
            meaning
            for reference in view.imports.get(name, ())
            if reference.scope == scope or (not scope and not _is_function(view, reference.scope))
            for meaning in self._imports.imported(view, reference, steps - 1)
        ]
        if found:
            return found
        bound = [reference for reference in view.bindings.get(name, ()) if reference.scope == scope]
        if bound:
            return self._binding_types(view, bound, steps)
        function = view.symbol(scope) if scope else None
        if function is not None and function.kind in FUNCTION_LIKE:
            kind = parameter_type(function.signature, name, view.language)
            if kind is not None:
                return _as_values(self.evaluate(view, owner(scope), kind, steps - 1, is_type=True)) if kind else []
        return None

    def _from_elsewhere(self, view: FileView, name: str, steps: int) -> list[Meaning] | None:
        """What a name means that no scope has: by other imports of the file, or in the same package."""
        imports = view.imports.get(name, ())  # those of another function
        found = [meaning for reference in imports for meaning in self._imports.imported(view, reference, steps - 1)]
        if not found and any(alias.startswith(f"{name}.") for alias in view.imports):
            found = self._imports.modules(view.language, view.file, name)
        found = found or self._imports.through_stars(view, name, steps)
        if not found and view.language not in MUST_IMPORT:
            found = [
                Meaning(definition, SAME_PACKAGE, "same package")
                for definition in self._graph.definitions(name)
                if family(definition.language) == family(view.language)
                and posixpath.dirname(definition.file) == view.folder
                and owner(definition.symbol.qualname) in ("", _namespace(view))
            ]
        return found or None

    def _binding_types(self, view: FileView, bindings: list[Reference], steps: int) -> list[Meaning]:
        """The types of a variable, by the expressions that it is bound to."""
        found = []
        for binding in bindings[-_MAX_BINDINGS:]:
            if binding.receiver.startswith("="):  # another name
                # `Consumer = Consumer` in a class means the name outside of the class.
                scope = owner(binding.scope) if binding.receiver[1:] == binding.name else binding.scope
                if scope != binding.scope or binding.receiver[1:] != binding.name:
                    found += self.evaluate(view, scope, binding.receiver[1:], steps - 1)
            elif binding.receiver.startswith("*"):  # an element of a container
                for meaning in self.evaluate(view, binding.scope, binding.receiver[1:], steps - 1):
                    found += [replace(kind, is_inside=False) for kind in self._elements(meaning, steps - 1)]
            else:
                for meaning in self.evaluate(view, binding.scope, binding.receiver, steps - 1, is_type=True):
                    found += _as_values(self._all_types(meaning, steps - 1))
        return found

    def _elements(self, meaning: Meaning, steps: int) -> list[Meaning]:
        """The types of the elements of a container, if they are known."""
        if meaning.is_inside:
            return [meaning]
        entity = meaning.entity
        if isinstance(entity, Definition) and entity.symbol.kind not in CLASS_LIKE:
            return [kind for kind in self._all_types(meaning, steps) if kind.is_inside]
        return []

    def types(self, meaning: Meaning, steps: int) -> list[Meaning]:
        """The classes, modules or external types whose members `meaning` has; a container is external."""
        return [EXTERNAL if kind.is_inside else kind for kind in self._all_types(meaning, steps)]

    def _all_types(self, meaning: Meaning, steps: int) -> list[Meaning]:
        """The same with containers: a class itself, the return type of a function, the type of a variable."""
        entity = meaning.entity
        if not isinstance(entity, Definition):
            return [meaning]
        symbol = entity.symbol
        if symbol.kind in CLASS_LIKE:
            return [meaning]
        if steps <= 0:
            return []
        view = self._views[entity.file]
        if symbol.kind in FUNCTION_LIKE:
            written = return_type(symbol.signature, symbol.name, entity.language)
            if written in ("Self", "this"):
                around = view.class_around(symbol.qualname)
                return [Meaning(around, meaning.confidence, "returns", True)] if around else []
            if not written:
                returned = [found for found in view.bindings.get(RETURNED, ()) if found.scope == symbol.qualname]
                values = self._binding_types(view, returned, steps - 1)
                return _as_values(kind for value in values for kind in self._all_types(value, steps - 1))
            return _as_values(self.evaluate(view, owner(symbol.qualname), written, steps - 1, is_type=True))
        scope = owner(symbol.qualname)
        bound = [reference for reference in view.bindings.get(symbol.name, ()) if reference.scope == scope]
        if bound:
            return [
                kind
                for found in self._binding_types(view, bound, steps - 1)
                for kind in self._all_types(found, steps - 1)
            ]
        written = parameter_type(symbol.signature, symbol.name, entity.language) or ""
        return _as_values(self.evaluate(view, scope, written, steps - 1, is_type=True))

    def _attribute(self, meaning: Meaning, name: str, steps: int) -> list[Meaning]:
        """What `meaning.name` may mean."""
        if steps <= 0:
            return []
        found: list[Meaning] = []
        for kind in self.types(meaning, steps):
            if isinstance(kind.entity, External):
                found.append(kind)
            elif isinstance(kind.entity, Module):
                found += self._imports.exported(kind.entity, name, steps - 1)
            else:
                found += self._field(kind.entity, name, steps - 1)
        return found

    def _field(self, cls: Definition, name: str, steps: int) -> list[Meaning]:
        """What an attribute of an object is: bound in a method of its class or of a base, or a member of these."""
        work, seen = [cls], {cls.key}
        while work:
            current = work.pop(0)
            view, qualname = self._views[current.file], current.symbol.qualname
            bound = [
                reference
                for variable in (name, f"self.{name}", f"this.{name}")
                for reference in view.bindings.get(variable, ())
                if (reference.scope == qualname if variable == name else reference.scope.startswith(f"{qualname}."))
            ]
            if found := self._binding_types(view, bound, steps - 1):
                return found
            if members := self.own_members(current, name):
                return [Meaning(member, MEMBER, "member") for member in members]
            for meaning in self.bases(current):
                entity = meaning.entity
                if isinstance(entity, Definition) and entity.key not in seen:
                    seen.add(entity.key)
                    work.append(entity)
            if len(seen) > MAX_CLASSES:
                break
        return []

    def _by_unique_type_name(self, view: FileView, name: str) -> list[Meaning]:
        """The only type of a name in the project, for a language that needs no imports."""
        found = [
            definition
            for definition in self._graph.definitions(name)
            if definition.symbol.kind in CLASS_LIKE | {"module"}
            and family(definition.language) == family(view.language)
        ]
        return [Meaning(found[0], SAME_PACKAGE, "only one")] if len(found) == 1 else []

    def _named_after(self, view: FileView, variable: str) -> list[Meaning]:
        """The class that a variable of unknown type is named after: `queryRunner`, `query_runner`, `_parser`."""
        words = [word for word in re.split(r"_+|(?<=[a-z0-9])(?=[A-Z])", variable) if word]
        for start in range(len(words)):
            name = "".join(word[:1].upper() + word[1:] for word in words[start:])
            found = [
                definition
                for definition in self._graph.definitions(name)
                if definition.symbol.kind in CLASS_LIKE and definition.language == view.language
            ]
            named = [definition for definition in found if not is_test(definition.file)] or found
            if len(named) == 1 and len(name) >= _LEAST_CLASS_NAME:
                confidence = NAMED_AFTER if start == 0 else NAMED_AFTER_END
                return [Meaning(named[0], confidence, "named after", True)]
        return []


def _namespace(view: FileView) -> str:
    """The namespace of a file's symbols, if it is part of their names."""
    return next((owner(qualname) for qualname in view.symbols), "")


def _as_values(meanings: Iterable[Meaning]) -> list[Meaning]:
    """These meanings as the types of a value."""
    return [replace(meaning, is_value=True) for meaning in meanings]


def _dotted(reference: Reference) -> str:
    """A reference as it is written: `receiver.name`, or the bare name."""
    return f"{reference.receiver}.{reference.name}" if reference.receiver else reference.name


def _is_function(view: FileView, scope: str) -> bool:
    """Whether a scope is a function: an import in it counts there only."""
    symbol = view.symbol(scope)
    return symbol is not None and symbol.kind in FUNCTION_LIKE
