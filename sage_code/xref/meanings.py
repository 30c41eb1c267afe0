"""What a name or a dotted expression means where it stands: a class, a module, a function, or something outside.

Scopes, imports, bindings, annotations and bases are followed from file to file, each file that the names lead to and
no other. What was found out is kept, and a question that leads back to itself has no answer.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from sage_code.parse.type_names import BUILT_IN_TYPES, parameter_type, return_type
from sage_code.values import Reference
from sage_code.xref.graph import CodeGraph, Definition
from sage_code.xref.guess import family, is_test
from sage_code.xref.modules import ECMASCRIPT, ModulePaths
from sage_code.xref.views import CLASS_LIKE, FUNCTION_LIKE, FileView, is_super, owner, scopes

# What the rules are worth: the share of their answers that the referees of `benchmarks/references.py` confirm, roughly.
IN_SCOPE, IMPORTED, MEMBER, INHERITED, SAME_PACKAGE = 1.0, 0.95, 0.95, 0.9, 0.85
# The name is exported by the package, although no statement says from where.
IN_PACKAGE = 0.6
# An object of unknown type whose variable has the name of a class, or ends with it.
NAMED_AFTER, NAMED_AFTER_END = 0.7, 0.55
_LEAST_CLASS_NAME = 4
# Steps from a name to its meaning (bindings of bindings, re-exports of re-exports), and bases or subclasses visited.
MAX_STEPS = 16
MAX_CLASSES = 60
_MAX_BINDINGS = 4
_RETURNED = "return"  # what `parse.bindings` binds the values to that a function returns

_SELF = frozenset({"self", "this", "cls", "Self", "$this", "static", "@"})
_GLOBALS = frozenset(
    {"console", "process", "Math", "JSON", "Object", "Promise", "document", "window", "Date", "Buffer", "expect"}
)
STRICT = ECMASCRIPT | {"python"}
_MEMBERS_IN_SCOPE = frozenset(
    {"java", "kotlin", "scala", "csharp", "cpp", "swift", "ruby", "groovy", "dart", "solidity", "php"}
)
_BY_QUALIFIED_NAME = frozenset({"java", "kotlin", "scala", "groovy", "csharp", "php", "rust", "dart", "d"})


@dataclass(frozen=True, slots=True)
class Module:
    """A file that names are imported from, or a folder (Go)."""

    path: str
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class Outside:
    """Known not to be of this project."""


Entity = Definition | Module | Outside


@dataclass(frozen=True, slots=True)
class Meaning:
    """Something that an expression may stand for."""

    entity: Entity
    confidence: float
    why: str
    is_value: bool = False  # `entity` is the type of what was named
    is_inside: bool = False  # ... or of what the named container holds


OUTSIDE = Meaning(Outside(), 1.0, "outside")


class Meanings:
    """What expressions mean in the files of one graph."""

    def __init__(self, graph: CodeGraph) -> None:
        self.graph = graph
        self._views: dict[str, FileView] = {}
        self._bases_of: dict[tuple[str, str], list[Meaning]] = {}
        self._evaluated: dict[tuple[str, str, str, bool], list[Meaning]] = {}
        self._brought: dict[tuple[str, Reference], list[Meaning]] = {}

    # --- members --------------------------------------------------------------------------------------------------

    def inherited(self, start: Definition, name: str) -> list[tuple[Definition, float, str]]:
        """The members called `name` of a class, or of the nearest of its bases that has one."""
        level, seen = [start], {(start.file, start.symbol.qualname)}
        worth, why = MEMBER, "member"
        while level and len(seen) < MAX_CLASSES:
            members = [member for cls in level for member in self.own(cls, name)]
            if members:
                return [(member, worth, why) for member in members]
            above = [meaning.entity for cls in level for meaning in self.bases(cls)]
            level = []
            for entity in above:
                if isinstance(entity, Definition) and (key := (entity.file, entity.symbol.qualname)) not in seen:
                    seen.add(key)
                    level.append(entity)
            worth, why = INHERITED, "inherited"
        return []

    def own(self, cls: Definition, name: str) -> list[Definition]:
        """The members called `name` that a class defines itself."""
        view = self.view(cls.file)
        qualname = f"{cls.symbol.qualname}.{name}"
        found = view.definitions(qualname)
        if found or cls.language in STRICT:
            return found
        # Members that stand in other files: Go and Rust methods, C++ sources of a header, partial classes.
        return [
            definition
            for definition in self.graph.definitions(name)
            if definition.language == cls.language
            and definition.symbol.qualname == qualname
            and posixpath.dirname(definition.file) == view.folder
        ]

    def bases(self, cls: Definition) -> list[Meaning]:
        """What a class inherits from, directly."""
        key = (cls.file, cls.symbol.qualname)
        if key not in self._bases_of:
            self._bases_of[key] = []  # a class that inherits from itself ends here
            view = self.view(cls.file)
            self._bases_of[key] = [
                meaning
                for reference in view.bases.get(cls.symbol.qualname, ())
                for meaning in self.evaluate(
                    view, owner(cls.symbol.qualname), _dotted(reference), MAX_STEPS, is_type=True
                )
            ]
        return self._bases_of[key]

    def has_outside_base(self, entity: Entity) -> bool:
        """Whether a class has members that nobody here can see."""
        work, seen = [entity], {entity}
        while work and len(seen) < MAX_CLASSES:
            current = work.pop()
            if isinstance(current, Outside):
                return True
            if isinstance(current, Definition):
                for meaning in self.bases(current):
                    if meaning.entity not in seen:
                        seen.add(meaning.entity)
                        work.append(meaning.entity)
        return False

    # --- expressions ----------------------------------------------------------------------------------------------

    def evaluate(self, view: FileView, scope: str, dotted: str, steps: int, *, is_type: bool = False) -> list[Meaning]:
        """What a dotted expression may mean in a scope; nothing when that cannot be said."""
        key = (view.file, scope, dotted, is_type)
        if key not in self._evaluated:
            self._evaluated[key] = []  # an expression that depends on itself ends here
            self._evaluated[key] = self._evaluate_anew(view, scope, dotted, steps, is_type=is_type)
        return self._evaluated[key]

    def _evaluate_anew(self, view: FileView, scope: str, dotted: str, steps: int, *, is_type: bool) -> list[Meaning]:
        if steps <= 0 or not dotted or dotted.startswith("?"):
            return [OUTSIDE] if dotted == '?"' else []
        if dotted.startswith("["):
            inner = self.evaluate(view, scope, dotted[1:-1], steps - 1, is_type=True)
            return [replace(meaning, is_inside=True) for meaning in inner]
        first, *rest = dotted.split(".")
        first = first.removesuffix("()")
        if view.language != "ruby":
            first = first.removeprefix("@")  # of a decorator
        goes_up = is_super(first, view.language)
        if first in _SELF or goes_up:
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
                looked_up = [OUTSIDE]
            elif looked_up is None and is_type and not rest:
                looked_up = [OUTSIDE] if view.language in STRICT else self._by_type_name(view, first)
            elif not looked_up and not is_type:
                looked_up = self._named_after(view, first)
            meanings = looked_up or []
        for name in rest:
            meanings = [
                found for meaning in meanings for found in self._attribute(meaning, name.removesuffix("()"), steps - 1)
            ]
        return meanings

    def lookup(self, view: FileView, scope: str, name: str, steps: int) -> list[Meaning] | None:
        """What a bare name means in a scope: [] when it is a variable of unknown type, None when nobody defines it."""
        for outer in scopes(scope):
            symbol = view.symbol(outer) if outer else None
            if symbol is not None and symbol.kind in CLASS_LIKE:
                cls = Definition(view.file, view.language, symbol)
                if view.language in _MEMBERS_IN_SCOPE:
                    members = self.inherited(cls, name)
                elif outer == scope:
                    members = [(member, IN_SCOPE, "scope") for member in view.definitions(f"{outer}.{name}")]
                else:
                    members = []
                if members:
                    return [Meaning(member, worth, why) for member, worth, why in members]
                continue
            found = self._in_scope(view, outer, name, steps)
            if found is not None:
                return found
        return self._from_elsewhere(view, name, steps)

    def _in_scope(self, view: FileView, scope: str, name: str, steps: int) -> list[Meaning] | None:
        qualname = f"{scope}.{name}" if scope else name
        found = [Meaning(definition, IN_SCOPE, "scope") for definition in view.definitions(qualname)]
        found += [
            meaning
            for reference in view.imports.get(name, ())
            if reference.scope == scope or (not scope and not _is_inside(view, reference.scope))
            for meaning in self.imported(view, reference, steps - 1)
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
                return _values(self.evaluate(view, owner(scope), kind, steps - 1, is_type=True)) if kind else []
        return None

    def _from_elsewhere(self, view: FileView, name: str, steps: int) -> list[Meaning] | None:
        imports = view.imports.get(name, ())  # of another function; better than nothing
        found = [meaning for reference in imports for meaning in self.imported(view, reference, steps - 1)]
        if not found and any(alias.startswith(f"{name}.") for alias in view.imports):
            found = [
                Meaning(Module(file), IMPORTED, "import") for file in self.paths.find(view.language, view.file, name)
            ]
        if found:
            return found
        for star in view.stars:
            for meaning in self.imported(view, star, steps - 1):
                if isinstance(meaning.entity, Module):
                    found += self.exported(meaning.entity, name, steps - 1)
        if not found and view.language not in STRICT:
            found = [
                Meaning(definition, SAME_PACKAGE, "same package")
                for definition in self.graph.definitions(name)
                if family(definition.language) == family(view.language)
                and posixpath.dirname(definition.file) == view.folder
                and definition.symbol.qualname.rpartition(".")[0] in ("", self._namespace(view))
            ]
        return found or None

    def _bound(self, view: FileView, bindings: list[Reference], steps: int) -> list[Meaning]:
        """The types of a variable, from what it is bound to."""
        found = []
        for binding in bindings[-_MAX_BINDINGS:]:
            if binding.receiver.startswith("="):  # another name for the same thing
                # `Consumer = Consumer` in a class takes the name from outside of it.
                scope = owner(binding.scope) if binding.receiver[1:] == binding.name else binding.scope
                if scope != binding.scope or binding.receiver[1:] != binding.name:
                    found += self.evaluate(view, scope, binding.receiver[1:], steps - 1)
            elif binding.receiver.startswith("*"):  # one of what a container holds
                for meaning in self.evaluate(view, binding.scope, binding.receiver[1:], steps - 1):
                    found += [replace(kind, is_inside=False) for kind in self._held(meaning, steps - 1)]
            else:
                for meaning in self.evaluate(view, binding.scope, binding.receiver, steps - 1, is_type=True):
                    found += _values(self._all_types(meaning, steps - 1))
        return found

    def _held(self, meaning: Meaning, steps: int) -> list[Meaning]:
        """What a container holds, if that is known."""
        if meaning.is_inside:
            return [meaning]
        entity = meaning.entity
        if isinstance(entity, Definition) and entity.symbol.kind not in CLASS_LIKE:
            return [kind for kind in self.types(meaning, steps, keep=True) if kind.is_inside]
        return []

    def types(self, meaning: Meaning, steps: int, *, keep: bool = False) -> list[Meaning]:
        """The classes, modules or outside things whose members `meaning` has; containers are outside, unless kept."""
        found = self._all_types(meaning, steps)
        return found if keep else [OUTSIDE if kind.is_inside else kind for kind in found]

    def _all_types(self, meaning: Meaning, steps: int) -> list[Meaning]:
        entity = meaning.entity
        if not isinstance(entity, Definition):
            return [meaning]
        symbol = entity.symbol
        if symbol.kind in CLASS_LIKE:
            return [meaning]
        if steps <= 0:
            return []
        view = self.view(entity.file)
        if symbol.kind in FUNCTION_LIKE:
            written = return_type(symbol.signature, symbol.name, entity.language)
            if written in ("Self", "this"):
                around = view.class_around(symbol.qualname)
                return [Meaning(around, meaning.confidence, "returns", True)] if around else []
            if not written:
                returned = [found for found in view.bindings.get(_RETURNED, ()) if found.scope == symbol.qualname]
                values = self._bound(view, returned, steps - 1)
                return _values(kind for value in values for kind in self._all_types(value, steps - 1))
            return _values(self.evaluate(view, owner(symbol.qualname), written, steps - 1, is_type=True))
        scope = owner(symbol.qualname)
        bound = [reference for reference in view.bindings.get(symbol.name, ()) if reference.scope == scope]
        if bound:
            return [kind for found in self._bound(view, bound, steps - 1) for kind in self._all_types(found, steps - 1)]
        written = parameter_type(symbol.signature, symbol.name, entity.language) or ""
        return _values(self.evaluate(view, scope, written, steps - 1, is_type=True))

    def _attribute(self, meaning: Meaning, name: str, steps: int) -> list[Meaning]:
        """What `meaning.name` may mean."""
        if steps <= 0:
            return []
        found: list[Meaning] = []
        for kind in self.types(meaning, steps):
            if isinstance(kind.entity, Outside):
                found.append(kind)
            elif isinstance(kind.entity, Module):
                found += self.exported(kind.entity, name, steps - 1)
            else:
                found += self._field(kind.entity, name, steps - 1)
        return found

    def _field(self, cls: Definition, name: str, steps: int) -> list[Meaning]:
        """What the attribute of an object is: bound in a method of its class or of a base, or a member."""
        work, seen = [cls], {(cls.file, cls.symbol.qualname)}
        while work:
            current = work.pop(0)
            view, qualname = self.view(current.file), current.symbol.qualname
            bound = [
                reference
                for variable in (name, f"self.{name}", f"this.{name}")
                for reference in view.bindings.get(variable, ())
                if (reference.scope == qualname if variable == name else reference.scope.startswith(f"{qualname}."))
            ]
            if found := self._bound(view, bound, steps - 1):
                return found
            if members := self.own(current, name):
                return [Meaning(member, MEMBER, "member") for member in members]
            for meaning in self.bases(current):
                entity = meaning.entity
                if isinstance(entity, Definition) and (key := (entity.file, entity.symbol.qualname)) not in seen:
                    seen.add(key)
                    work.append(entity)
            if len(seen) > MAX_CLASSES:
                break
        return []

    def _by_type_name(self, view: FileView, name: str) -> list[Meaning]:
        """A type that nothing imports, in a language where that is not needed: if there is only one of that name."""
        found = [
            definition
            for definition in self.graph.definitions(name)
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
                for definition in self.graph.definitions(name)
                if definition.symbol.kind in CLASS_LIKE and definition.language == view.language
            ]
            named = [definition for definition in found if not is_test(definition.file)] or found
            if len(named) == 1 and len(name) >= _LEAST_CLASS_NAME:
                worth = NAMED_AFTER if start == 0 else NAMED_AFTER_END
                return [Meaning(named[0], worth, "named after", True)]
        return []

    # --- imports --------------------------------------------------------------------------------------------------

    def imported(self, view: FileView, reference: Reference, steps: int) -> list[Meaning]:
        """What an import statement brings."""
        key = (view.file, reference)
        if key not in self._brought:
            self._brought[key] = []  # two modules that import from each other end here
            self._brought[key] = self._import(view, reference, steps)
        return self._brought[key]

    def _import(self, view: FileView, reference: Reference, steps: int) -> list[Meaning]:
        if steps <= 0:
            return []
        language, module, name = view.language, reference.receiver, reference.name
        if language == "go":
            folder = self.paths.folder(module)
            return [Meaning(Module(folder, True), IMPORTED, "import")] if folder is not None else [OUTSIDE]
        if language in _BY_QUALIFIED_NAME:
            return self._qualified(view, module, name)
        files = self.paths.find(language, view.file, module)
        if name == "*":
            return [Meaning(Module(file), IMPORTED, "import") for file in files] or [OUTSIDE]
        found = [meaning for file in files for meaning in self.exported(Module(file), name, steps - 1, reference.alias)]
        if not found and language == "python":  # a module of a package without `__init__`
            dotted = f"{module}{name}" if module.endswith(".") else f"{module}.{name}"
            files_of_module = self.paths.find(language, view.file, dotted)
            found = [Meaning(Module(file), IMPORTED, "import") for file in files_of_module]
        if not found and files:  # exported without a statement: `__getattr__`, generated code
            folder = posixpath.dirname(files[0])
            found = [
                Meaning(definition, IN_PACKAGE, "package")
                for definition in self.graph.definitions(name)
                if definition.symbol.qualname == name and definition.file.startswith(f"{folder}/")
            ]
        return found or [OUTSIDE]

    def exported(self, module: Module, name: str, steps: int, alias: str = "") -> list[Meaning]:
        """What a module offers under a name: its own, what it imports, what it passes on with a star."""
        if steps <= 0:
            return []
        if module.is_folder:
            return [
                Meaning(definition, IMPORTED, "import")
                for definition in self.graph.definitions(name)
                if posixpath.dirname(definition.file) == module.path and definition.symbol.qualname == name
            ]
        view = self.view(module.path)
        own = view.definitions(name)
        if name == "default":
            top = [symbol for symbols in view.symbols.values() for symbol in symbols if "." not in symbol.qualname]
            chosen = [s for s in top if s.signature.startswith("export default")] or [s for s in top if s.name == alias]
            own = [Definition(view.file, view.language, symbol) for symbol in chosen]
        found = [Meaning(definition, IMPORTED, "import") for definition in own]
        for reference in view.imports.get(name, ()):
            found += self.imported(view, reference, steps - 1)
        if found:
            return found
        for star in view.stars:
            for meaning in self.imported(view, star, steps - 1):
                if isinstance(meaning.entity, Module) and meaning.entity != module:
                    found += self.exported(meaning.entity, name, steps - 1)
        if not found and posixpath.basename(module.path).startswith("__init__."):
            dotted = f".{name}"
            found = [
                Meaning(Module(file), IMPORTED, "import") for file in self.paths.find("python", module.path, dotted)
            ]
        return found

    def _qualified(self, view: FileView, module: str, name: str) -> list[Meaning]:
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
        found = [Meaning(definition, IMPORTED, "import") for shared, definition in scored if shared == most]
        return found or [OUTSIDE]

    # --- files ----------------------------------------------------------------------------------------------------

    def view(self, file: str) -> FileView:
        """A file as it is looked up in."""
        if file not in self._views:
            self._views[file] = FileView(self.graph, file)
        return self._views[file]

    @cached_property
    def paths(self) -> ModulePaths:
        """Where modules live."""
        return ModulePaths(self.graph.files())

    def _namespace(self, view: FileView) -> str:
        """The namespace that encloses a file's symbols, where it is part of their names."""
        return next((owner(qualname) for qualname in view.symbols), "")


def _values(meanings: Iterable[Meaning]) -> list[Meaning]:
    """The same, as the types of a value."""
    return [replace(meaning, is_value=True) for meaning in meanings]


def _dotted(reference: Reference) -> str:
    return f"{reference.receiver}.{reference.name}" if reference.receiver else reference.name


def _is_inside(view: FileView, scope: str) -> bool:
    """Whether an import stands in a function, and so counts there only."""
    symbol = view.symbol(scope)
    return symbol is not None and symbol.kind in FUNCTION_LIKE


def _parts(dotted: str) -> list[str]:
    return [part for part in dotted.replace("::", ".").replace("\\", ".").replace("/", ".").split(".") if part]
