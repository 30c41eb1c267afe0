"""What a reference stands for: by scope, imports, receivers and types; by name alone where these say nothing.

Two steps. `_evaluate` says what a dotted expression means in a scope: a class, a module, a function, a variable, or
something outside of the project. Then the name is looked up in that. No file but those that the names lead to is read.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from sage_code.annotations import CONTAINERS, parameter_type, return_type
from sage_code.values import Reference
from sage_code.xref.graph import CodeGraph, Definition
from sage_code.xref.guess import family, guess, is_test
from sage_code.xref.modules import ECMASCRIPT, ModulePaths
from sage_code.xref.views import CLASS_LIKE, FUNCTION_LIKE, FileView, owner, scopes

# Below this, an answer is only shown when asked for: of the callers that this leaves out, most are wrong.
DEFAULT_CONFIDENCE = 0.4
# What the rules are worth: the share of their answers that the referees of `benchmarks/references.py` confirm, roughly.
IN_SCOPE, IMPORTED, MEMBER, INHERITED, SAME_PACKAGE = 1.0, 0.95, 0.95, 0.9, 0.85
# A base type is called, a subtype's method may run: what interfaces are for, and rarer where types are not declared.
OVERRIDE_DECLARED, OVERRIDE = 0.75, 0.35
# `self.f()` in a class that has no `f`, but a subclass has.
IN_SUBCLASS = 0.5
# The name is exported by the package, although no statement says from where.
IN_PACKAGE = 0.6
# The type is known and has no such member: it was set from outside, or the type is wrong.
NOT_A_MEMBER = 0.3
# A bare name that is neither defined nor imported, in a language where it would have to be.
NOT_IMPORTED = 0.1
# An object of unknown type whose variable has the name of a class, or ends with it.
NAMED_AFTER, NAMED_AFTER_END = 0.7, 0.55
_LEAST_CLASS_NAME = 4
# Steps from a name to its meaning (bindings of bindings, re-exports of re-exports), and bases or subclasses visited.
_MAX_STEPS = 8
_MAX_CLASSES = 60
_MAX_BINDINGS = 4

_SELF = frozenset({"self", "this", "cls", "Self", "$this", "static", "@"})
_SUPER = frozenset({"super", "base", "parent"})
_GLOBALS = frozenset(
    {"console", "process", "Math", "JSON", "Object", "Promise", "document", "window", "Date", "Buffer", "expect"}
)
_STRICT = ECMASCRIPT | {"python"}
_MEMBERS_IN_SCOPE = frozenset(
    {"java", "kotlin", "scala", "csharp", "cpp", "swift", "ruby", "groovy", "dart", "solidity", "php"}
)
_DECLARED = ECMASCRIPT | {"java", "kotlin", "scala", "csharp", "go", "rust", "swift", "php", "cpp", "dart"}
_BY_QUALIFIED_NAME = frozenset({"java", "kotlin", "scala", "groovy", "csharp", "php", "rust", "dart", "d"})


@dataclass(frozen=True, slots=True)
class Target:
    """A definition that a reference may mean."""

    definition: Definition
    confidence: float
    why: str


@dataclass(frozen=True, slots=True)
class _Module:
    """A file that names are imported from, or a folder (Go)."""

    path: str
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class _Outside:
    """Known not to be of this project."""


_Entity = Definition | _Module | _Outside


@dataclass(frozen=True, slots=True)
class _Meaning:
    entity: _Entity
    confidence: float
    why: str
    is_value: bool = False  # `entity` is the type of what was named
    is_inside: bool = False  # ... or of what the named container holds


_OUTSIDE = _Meaning(_Outside(), 1.0, "outside")


class Resolver:
    """Resolves the references of one graph, and remembers what it learnt about its files."""

    def __init__(self, graph: CodeGraph) -> None:
        self.graph = graph
        self._views: dict[str, FileView] = {}
        self._bases_of: dict[tuple[str, str], list[_Meaning]] = {}
        self._subclasses_of: dict[tuple[str, str], list[Definition]] = {}
        self._evaluated: dict[tuple[str, str, str, bool], list[_Meaning]] = {}
        self._brought: dict[tuple[str, Reference], list[_Meaning]] = {}
        self._imported_files: dict[str, set[str]] = {}

    def targets(self, file: str, reference: Reference) -> list[Target]:
        """What `reference` of `file` may mean, best first."""
        view = self._view(file)
        if reference.kind == "import":
            found = _as_targets(self._imported(view, reference, _MAX_STEPS))
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
                if reference.kind == "inherit" and family(self._view(file).language) == family(of.language):
                    view = self._view(file)
                    around = view.class_around(reference.scope)
                    bases = self._bases(around) if around is not None else ()
                    if around is not None and any(_same(meaning.entity, of) for meaning in bases):
                        found.append(around)
            self._subclasses_of[key] = found
        return self._subclasses_of[key]

    def imported_files(self, file: str, reference: Reference) -> set[str]:
        """The modules of this project that an import statement of `file` brings."""
        meanings = self._imported(self._view(file), reference, _MAX_STEPS)
        return {meaning.entity.path for meaning in meanings if isinstance(meaning.entity, _Module)}

    # --- names and members ---------------------------------------------------------------------------------

    def _bare_targets(self, view: FileView, reference: Reference) -> list[Target]:
        meanings = self._lookup(view, reference.scope, reference.name, _MAX_STEPS)
        if meanings is None:
            return self._guessed(view, reference, NOT_IMPORTED if view.language in _STRICT else 1.0)
        return _as_targets(meaning for meaning in meanings if not meaning.is_value)

    def _member_targets(self, view: FileView, reference: Reference) -> list[Target]:
        meanings = self._evaluate(view, reference.scope, reference.receiver, _MAX_STEPS)
        owners = [kind for meaning in meanings for kind in self._types(meaning, _MAX_STEPS)]
        if not owners:
            return self._guessed(view, reference, 1.0)
        found: list[Target] = []
        for meaning in owners:
            found += self._member_of(meaning, reference.name)
        if found or any(isinstance(meaning.entity, _Outside) for meaning in owners):
            return found
        if any(self._has_outside_base(meaning.entity) for meaning in owners):
            return []
        return self._guessed(view, reference, NOT_A_MEMBER)

    def _member_of(self, meaning: _Meaning, name: str) -> list[Target]:
        if isinstance(meaning.entity, _Module):
            return _as_targets(self._exported(meaning.entity, name, _MAX_STEPS), meaning.confidence)
        if not isinstance(meaning.entity, Definition):
            return []
        found = self._inherited(meaning.entity, name)
        below = self._overrides(meaning.entity, name)
        if found:
            worth = OVERRIDE_DECLARED if meaning.entity.language in _DECLARED else OVERRIDE
            return [
                *(Target(member, meaning.confidence * worth, why) for member, worth, why in found),
                *(Target(member, meaning.confidence * worth, "override") for member in below),
            ]
        return [Target(member, meaning.confidence * IN_SUBCLASS, "subclass") for member in below]

    def _inherited(self, start: Definition, name: str) -> list[tuple[Definition, float, str]]:
        """The members called `name` of a class, or of the nearest of its bases that has one."""
        level, seen = [start], {(start.file, start.symbol.qualname)}
        worth, why = MEMBER, "member"
        while level and len(seen) < _MAX_CLASSES:
            members = [member for cls in level for member in self._own(cls, name)]
            if members:
                return [(member, worth, why) for member in members]
            above = [meaning.entity for cls in level for meaning in self._bases(cls)]
            level = []
            for entity in above:
                if isinstance(entity, Definition) and (key := (entity.file, entity.symbol.qualname)) not in seen:
                    seen.add(key)
                    level.append(entity)
            worth, why = INHERITED, "inherited"
        return []

    def _own(self, cls: Definition, name: str) -> list[Definition]:
        view = self._view(cls.file)
        qualname = f"{cls.symbol.qualname}.{name}"
        found = view.definitions(qualname)
        if found or cls.language in _STRICT:
            return found
        # Members that stand in other files: Go and Rust methods, C++ sources of a header, partial classes.
        return [
            definition
            for definition in self.graph.definitions(name)
            if definition.language == cls.language
            and definition.symbol.qualname == qualname
            and posixpath.dirname(definition.file) == view.folder
        ]

    def _overrides(self, cls: Definition, name: str) -> list[Definition]:
        """The members called `name` of the classes below."""
        found, work, seen = [], [cls], {(cls.file, cls.symbol.qualname)}
        if not any(owner(definition.symbol.qualname) for definition in self.graph.definitions(name)):
            return []
        while work and len(seen) < _MAX_CLASSES:
            for below in self.subclasses(work.pop()):
                key = (below.file, below.symbol.qualname)
                if key not in seen:
                    seen.add(key)
                    found += self._own(below, name)
                    work.append(below)
        return found

    def _bases(self, cls: Definition) -> list[_Meaning]:
        key = (cls.file, cls.symbol.qualname)
        if key not in self._bases_of:
            self._bases_of[key] = []  # a class that inherits from itself ends here
            view = self._view(cls.file)
            self._bases_of[key] = [
                meaning
                for reference in view.bases.get(cls.symbol.qualname, ())
                for meaning in self._evaluate(
                    view, owner(cls.symbol.qualname), _dotted(reference), _MAX_STEPS, is_type=True
                )
            ]
        return self._bases_of[key]

    def _has_outside_base(self, entity: _Entity) -> bool:
        work, seen = [entity], {entity}
        while work and len(seen) < _MAX_CLASSES:
            current = work.pop()
            if isinstance(current, _Outside):
                return True
            if isinstance(current, Definition):
                for meaning in self._bases(current):
                    if meaning.entity not in seen:
                        seen.add(meaning.entity)
                        work.append(meaning.entity)
        return False

    # --- what an expression means --------------------------------------------------------------------------

    def _evaluate(
        self, view: FileView, scope: str, dotted: str, steps: int, *, is_type: bool = False
    ) -> list[_Meaning]:
        """What a dotted expression may mean in a scope; nothing when that cannot be said."""
        key = (view.file, scope, dotted, is_type)
        if key not in self._evaluated:
            self._evaluated[key] = []  # an expression that depends on itself ends here
            self._evaluated[key] = self._evaluate_anew(view, scope, dotted, steps, is_type=is_type)
        return self._evaluated[key]

    def _evaluate_anew(self, view: FileView, scope: str, dotted: str, steps: int, *, is_type: bool) -> list[_Meaning]:
        if steps <= 0 or not dotted or dotted.startswith("?"):
            return [_OUTSIDE] if dotted == '?"' else []
        if dotted.startswith("["):
            inner = self._evaluate(view, scope, dotted[1:-1], steps - 1, is_type=True)
            return [replace(meaning, is_inside=True) for meaning in inner]
        first, *rest = dotted.split(".")
        first = first.removesuffix("()")
        if first in _SELF or first in _SUPER:
            around = view.class_around(scope)
            if around is None:
                return []
            meanings = [_Meaning(around, 1.0, "self", True)] if first in _SELF else self._bases(around)
        else:
            whole = next((cut for cut in range(len(rest), 0, -1) if ".".join([first, *rest[:cut]]) in view.imports), 0)
            if whole:  # `import a.b` and then `a.b.c`
                first, rest = ".".join([first, *rest[:whole]]), rest[whole:]
            looked_up = self._lookup(view, scope, first, steps)
            if looked_up is None and (first in CONTAINERS or first in _GLOBALS):
                looked_up = [_OUTSIDE]
            elif looked_up is None and is_type and not rest:
                looked_up = [_OUTSIDE] if view.language in _STRICT else self._by_type_name(view, first)
            elif not looked_up and not is_type:
                looked_up = self._named_after(view, first)
            meanings = looked_up or []
        for name in rest:
            meanings = [found for meaning in meanings for found in self._attribute(meaning, name.removesuffix("()"), steps - 1)]
        return meanings

    def _lookup(self, view: FileView, scope: str, name: str, steps: int) -> list[_Meaning] | None:
        """What a bare name means in a scope: [] when it is a variable of unknown type, None when nobody defines it."""
        for outer in scopes(scope):
            symbol = view.symbol(outer) if outer else None
            if symbol is not None and symbol.kind in CLASS_LIKE:
                cls = Definition(view.file, view.language, symbol)
                if view.language in _MEMBERS_IN_SCOPE:
                    members = self._inherited(cls, name)
                elif outer == scope:
                    members = [(member, IN_SCOPE, "scope") for member in view.definitions(f"{outer}.{name}")]
                else:
                    members = []
                if members:
                    return [_Meaning(member, worth, why) for member, worth, why in members]
                continue
            found = self._in_scope(view, outer, name, steps)
            if found is not None:
                return found
        return self._from_elsewhere(view, name, steps)

    def _in_scope(self, view: FileView, scope: str, name: str, steps: int) -> list[_Meaning] | None:
        qualname = f"{scope}.{name}" if scope else name
        found = [_Meaning(definition, IN_SCOPE, "scope") for definition in view.definitions(qualname)]
        found += [
            meaning
            for reference in view.imports.get(name, ())
            if reference.scope == scope or (not scope and not _is_inside(view, reference.scope))
            for meaning in self._imported(view, reference, steps - 1)
        ]
        if found:
            return found
        bound = [reference for reference in view.bindings.get(name, ()) if reference.scope == scope]
        if bound:
            return self._bound(view, bound, steps)
        function = view.symbol(scope) if scope else None
        if function is not None and function.kind in FUNCTION_LIKE:
            kind = parameter_type(function.signature, name, view.language)
            if kind is not None:
                return _values(self._evaluate(view, owner(scope), kind, steps - 1, is_type=True)) if kind else []
        return None

    def _from_elsewhere(self, view: FileView, name: str, steps: int) -> list[_Meaning] | None:
        imports = view.imports.get(name, ())  # of another function; better than nothing
        found = [meaning for reference in imports for meaning in self._imported(view, reference, steps - 1)]
        if not found and any(alias.startswith(f"{name}.") for alias in view.imports):
            found = [_Meaning(_Module(file), IMPORTED, "import") for file in self._paths.find(view.language, view.file, name)]
        if found:
            return found
        for star in view.stars:
            for meaning in self._imported(view, star, steps - 1):
                if isinstance(meaning.entity, _Module):
                    found += self._exported(meaning.entity, name, steps - 1)
        if not found and view.language not in _STRICT:
            found = [
                _Meaning(definition, SAME_PACKAGE, "same package")
                for definition in self.graph.definitions(name)
                if family(definition.language) == family(view.language)
                and posixpath.dirname(definition.file) == view.folder
                and definition.symbol.qualname.rpartition(".")[0] in ("", self._namespace(view))
            ]
        return found or None

    def _bound(self, view: FileView, bindings: list[Reference], steps: int) -> list[_Meaning]:
        """The types of a variable, from what it is bound to."""
        found = []
        for binding in bindings[-_MAX_BINDINGS:]:
            if binding.receiver.startswith("="):  # another name for the same thing
                if binding.receiver[1:] != binding.name:
                    found += self._evaluate(view, binding.scope, binding.receiver[1:], steps - 1)
            elif binding.receiver.startswith("*"):  # one of what a container holds
                for meaning in self._evaluate(view, binding.scope, binding.receiver[1:], steps - 1):
                    found += [replace(kind, is_inside=False) for kind in self._held(meaning, steps - 1)]
            else:
                for meaning in self._evaluate(view, binding.scope, binding.receiver, steps - 1, is_type=True):
                    found += _values(self._all_types(meaning, steps - 1))
        return found

    def _held(self, meaning: _Meaning, steps: int) -> list[_Meaning]:
        """What a container holds, if that is known."""
        if meaning.is_inside:
            return [meaning]
        entity = meaning.entity
        if isinstance(entity, Definition) and entity.symbol.kind not in CLASS_LIKE:
            return [kind for kind in self._types(meaning, steps, keep=True) if kind.is_inside]
        return []

    def _types(self, meaning: _Meaning, steps: int, *, keep: bool = False) -> list[_Meaning]:
        """The classes, modules or outside things whose members `meaning` has; containers are outside, unless kept."""
        found = self._all_types(meaning, steps)
        return found if keep else [_OUTSIDE if kind.is_inside else kind for kind in found]

    def _all_types(self, meaning: _Meaning, steps: int) -> list[_Meaning]:
        entity = meaning.entity
        if not isinstance(entity, Definition):
            return [meaning]
        symbol = entity.symbol
        if symbol.kind in CLASS_LIKE:
            return [meaning]
        if steps <= 0:
            return []
        view = self._view(entity.file)
        if symbol.kind in FUNCTION_LIKE:
            written = return_type(symbol.signature, symbol.name, entity.language)
            if written in ("Self", "this"):
                around = view.class_around(symbol.qualname)
                return [_Meaning(around, meaning.confidence, "returns", True)] if around else []
            return _values(self._evaluate(view, owner(symbol.qualname), written, steps - 1, is_type=True))
        scope = owner(symbol.qualname)
        bound = [reference for reference in view.bindings.get(symbol.name, ()) if reference.scope == scope]
        if bound:
            return [kind for found in self._bound(view, bound, steps - 1) for kind in self._all_types(found, steps - 1)]
        written = parameter_type(symbol.signature, symbol.name, entity.language) or ""
        return _values(self._evaluate(view, scope, written, steps - 1, is_type=True))

    def _attribute(self, meaning: _Meaning, name: str, steps: int) -> list[_Meaning]:
        """What `meaning.name` may mean."""
        if steps <= 0:
            return []
        found: list[_Meaning] = []
        for kind in self._types(meaning, steps):
            if isinstance(kind.entity, _Outside):
                found.append(kind)
            elif isinstance(kind.entity, _Module):
                found += self._exported(kind.entity, name, steps - 1)
            else:
                found += self._field(kind.entity, name, steps - 1)
        return found

    def _field(self, cls: Definition, name: str, steps: int) -> list[_Meaning]:
        """What the attribute of an object is: bound in a method of its class or of a base, or a member."""
        work, seen = [cls], {(cls.file, cls.symbol.qualname)}
        while work:
            current = work.pop(0)
            view, qualname = self._view(current.file), current.symbol.qualname
            bound = [
                reference
                for variable in (name, f"self.{name}", f"this.{name}")
                for reference in view.bindings.get(variable, ())
                if (reference.scope == qualname if variable == name else reference.scope.startswith(f"{qualname}."))
            ]
            if found := self._bound(view, bound, steps - 1):
                return found
            if members := self._own(current, name):
                return [_Meaning(member, MEMBER, "member") for member in members]
            for meaning in self._bases(current):
                entity = meaning.entity
                if isinstance(entity, Definition) and (key := (entity.file, entity.symbol.qualname)) not in seen:
                    seen.add(key)
                    work.append(entity)
            if len(seen) > _MAX_CLASSES:
                break
        return []

    # --- imports -------------------------------------------------------------------------------------------

    def _imported(self, view: FileView, reference: Reference, steps: int) -> list[_Meaning]:
        """What an import statement brings."""
        key = (view.file, reference)
        if key not in self._brought:
            self._brought[key] = []  # two modules that import from each other end here
            self._brought[key] = self._import(view, reference, steps)
        return self._brought[key]

    def _import(self, view: FileView, reference: Reference, steps: int) -> list[_Meaning]:
        if steps <= 0:
            return []
        language, module, name = view.language, reference.receiver, reference.name
        if language == "go":
            folder = self._paths.folder(module)
            return [_Meaning(_Module(folder, True), IMPORTED, "import")] if folder is not None else [_OUTSIDE]
        if language in _BY_QUALIFIED_NAME:
            return self._qualified(view, module, name)
        files = self._paths.find(language, view.file, module)
        if name == "*":
            return [_Meaning(_Module(file), IMPORTED, "import") for file in files] or [_OUTSIDE]
        found = [meaning for file in files for meaning in self._exported(_Module(file), name, steps - 1, reference.alias)]
        if not found and language == "python":  # a module of a package without `__init__`
            dotted = f"{module}{name}" if module.endswith(".") else f"{module}.{name}"
            files_of_module = self._paths.find(language, view.file, dotted)
            found = [_Meaning(_Module(file), IMPORTED, "import") for file in files_of_module]
        if not found and files:  # exported without a statement: `__getattr__`, generated code
            folder = posixpath.dirname(files[0])
            found = [
                _Meaning(definition, IN_PACKAGE, "package")
                for definition in self.graph.definitions(name)
                if definition.symbol.qualname == name and definition.file.startswith(f"{folder}/")
            ]
        return found or [_OUTSIDE]

    def _exported(self, module: _Module, name: str, steps: int, alias: str = "") -> list[_Meaning]:
        """What a module offers under a name: its own, what it imports, what it passes on with a star."""
        if steps <= 0:
            return []
        if module.is_folder:
            return [
                _Meaning(definition, IMPORTED, "import")
                for definition in self.graph.definitions(name)
                if posixpath.dirname(definition.file) == module.path and definition.symbol.qualname == name
            ]
        view = self._view(module.path)
        own = view.definitions(name)
        if name == "default":
            top = [symbol for symbols in view.symbols.values() for symbol in symbols if "." not in symbol.qualname]
            chosen = [s for s in top if s.signature.startswith("export default")] or [s for s in top if s.name == alias]
            own = [Definition(view.file, view.language, symbol) for symbol in chosen]
        found = [_Meaning(definition, IMPORTED, "import") for definition in own]
        for reference in view.imports.get(name, ()):
            found += self._imported(view, reference, steps - 1)
        if found:
            return found
        for star in view.stars:
            for meaning in self._imported(view, star, steps - 1):
                if isinstance(meaning.entity, _Module) and meaning.entity != module:
                    found += self._exported(meaning.entity, name, steps - 1)
        if not found and posixpath.basename(module.path).startswith("__init__."):
            dotted = f".{name}"
            found = [
                _Meaning(_Module(file), IMPORTED, "import") for file in self._paths.find("python", module.path, dotted)
            ]
        return found

    def _qualified(self, view: FileView, module: str, name: str) -> list[_Meaning]:
        """A name by the module it is said to come from, read against folders, file names and owners."""
        parts = [part for part in _parts(module) if part not in ("crate", "self", "super")]
        scored = []
        for definition in self.graph.definitions(name):
            if family(definition.language) != family(view.language):
                continue
            stem = definition.file.rpartition(".")[0]
            known = {*_parts(stem.replace("/", ".")), *_parts(owner(definition.symbol.qualname))}
            shared = sum(part in known for part in parts)
            if shared == len(parts) or (parts and parts[-1] in known):
                scored.append((shared, definition))
        most = max((shared for shared, _ in scored), default=0)
        found = [_Meaning(definition, IMPORTED, "import") for shared, definition in scored if shared == most]
        return found or [_OUTSIDE]

    # --- by name alone -------------------------------------------------------------------------------------

    def _by_type_name(self, view: FileView, name: str) -> list[_Meaning]:
        """A type that nothing imports, in a language where that is not needed: if there is only one of that name."""
        found = [
            definition
            for definition in self.graph.definitions(name)
            if definition.symbol.kind in CLASS_LIKE | {"module"} and family(definition.language) == family(view.language)
        ]
        return [_Meaning(found[0], SAME_PACKAGE, "only one")] if len(found) == 1 else []

    def _named_after(self, view: FileView, variable: str) -> list[_Meaning]:
        """The class that a variable of unknown type is named after: `queryRunner`, `query_runner`, `_parser`."""
        words = [word for word in re.split(r"_+|(?<=[a-z0-9])(?=[A-Z])", variable) if word]
        for start in range(len(words)):
            name = "".join(word[:1].upper() + word[1:] for word in words[start:])
            found = [
                definition
                for definition in self.graph.definitions(name)
                if definition.symbol.kind in CLASS_LIKE and definition.language == view.language
            ]
            named = [definition for definition in found if not is_test(definition.file)] or found
            if len(named) == 1 and len(name) >= _LEAST_CLASS_NAME:
                worth = NAMED_AFTER if start == 0 else NAMED_AFTER_END
                return [_Meaning(named[0], worth, "named after", True)]
        return []

    def _guessed(self, view: FileView, reference: Reference, factor: float) -> list[Target]:
        candidates = self.graph.definitions(reference.name)
        if not candidates:
            return []
        imports = self._files_imported_by(view).__contains__
        return [
            Target(definition, factor * confidence, "name")
            for definition, confidence in guess(candidates, view, reference.name, reference.receiver, imports)
        ]

    def _files_imported_by(self, view: FileView) -> set[str]:
        if view.file not in self._imported_files:
            files: set[str] = set()
            for references in (*view.imports.values(), view.stars):
                for reference in references:
                    for meaning in self._imported(view, reference, _MAX_STEPS):
                        if isinstance(meaning.entity, Definition):
                            files.add(meaning.entity.file)
                        elif isinstance(meaning.entity, _Module):
                            files.add(meaning.entity.path)
            self._imported_files[view.file] = files
        return self._imported_files[view.file]

    # --- files ---------------------------------------------------------------------------------------------

    def _view(self, file: str) -> FileView:
        if file not in self._views:
            self._views[file] = FileView(self.graph, file)
        return self._views[file]

    @cached_property
    def _paths(self) -> ModulePaths:
        return ModulePaths(self.graph.files())

    def _namespace(self, view: FileView) -> str:
        """The namespace that encloses a file's symbols, where it is part of their names."""
        return next((owner(qualname) for qualname in view.symbols), "")


def targets(graph: CodeGraph, file: str, reference: Reference) -> list[Target]:
    """What one reference may mean, best first. Whoever asks often keeps a `Resolver`."""
    return Resolver(graph).targets(file, reference)


def _as_targets(meanings: Iterable[_Meaning], worth: float = 1.0) -> list[Target]:
    return [
        Target(meaning.entity, worth * meaning.confidence, meaning.why)
        for meaning in meanings
        if isinstance(meaning.entity, Definition)
    ]


def _values(meanings: Iterable[_Meaning]) -> list[_Meaning]:
    """The same, as the types of a value."""
    return [replace(meaning, is_value=True) for meaning in meanings]


def _same(entity: _Entity, definition: Definition) -> bool:
    return (
        isinstance(entity, Definition)
        and entity.file == definition.file
        and entity.symbol.qualname == definition.symbol.qualname
    )


def _dotted(reference: Reference) -> str:
    return f"{reference.receiver}.{reference.name}" if reference.receiver else reference.name


def _is_inside(view: FileView, scope: str) -> bool:
    """Whether an import stands in a function, and so counts there only."""
    symbol = view.symbol(scope)
    return symbol is not None and symbol.kind in FUNCTION_LIKE


def _parts(dotted: str) -> list[str]:
    return [part for part in dotted.replace("::", ".").replace("\\", ".").replace("/", ".").split(".") if part]
