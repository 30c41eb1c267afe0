"""What an expression may mean: a definition, a module, or something outside of the project."""

from __future__ import annotations

from dataclasses import dataclass

from sage_code.xref.graph import Definition

# The confidence of each rule: roughly the share of its answers that the referees of `benchmarks/references.py` confirm.
IN_SCOPE, IMPORTED, MEMBER, INHERITED, SAME_PACKAGE = 1.0, 0.95, 0.95, 0.9, 0.85
# The package exports the name, although no statement says from which file.
IN_PACKAGE = 0.6
# A variable of unknown type has the name of a class, or ends with it.
NAMED_AFTER, NAMED_AFTER_END = 0.7, 0.55
# Steps from a name to its meaning: bindings of bindings, re-exports of re-exports.
MAX_STEPS = 16


@dataclass(frozen=True, slots=True)
class Module:
    """A file that names are imported from, or a folder (Go)."""

    path: str
    is_folder: bool = False


@dataclass(frozen=True, slots=True)
class External:
    """Something that is known not to be part of this project."""


Entity = Definition | Module | External


@dataclass(frozen=True, slots=True)
class Meaning:
    """One thing that an expression may mean."""

    entity: Entity
    confidence: float
    why: str
    is_value: bool = False  # `entity` is the type of the expression
    is_inside: bool = False  # ... or the type of the elements of a container


EXTERNAL = Meaning(External(), 1.0, "outside")
