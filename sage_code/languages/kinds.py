"""Kinds of definitions: which kind of chunk each makes and in which compiled file it is listed."""

from __future__ import annotations

# Symbol kind -> chunk kind. A kind that is not listed here is a leaf inside a `module` chunk.
CHUNK_KIND = {
    "function": "function",
    "macro": "function",
    "method": "method",
    "constructor": "method",
    "property": "method",
    "modifier": "method",
    "class": "class",
    "struct": "class",
    "trait": "class",
    "enum": "class",
    "union": "class",
    "contract": "class",
    "library": "class",
    "module": "class",
    "namespace": "class",
    "interface": "type",
    "type": "type",
    "constant": "constant",
    "variable": "constant",
    "field": "constant",
    "event": "constant",
    "error": "constant",
    # Prose and data: what is looked up by name, and neither called nor a type.
    "section": "module",
    "key": "constant",
    "anchor": "constant",
    # Builds, infrastructure, interfaces, style sheets.
    "target": "function",
    "stage": "function",
    "mixin": "function",
    "directive": "function",
    "message": "class",
    "service": "class",
    "resource": "class",
    "fragment": "type",
    "output": "constant",
    "rule": "constant",
    "keyframes": "constant",
}

# What is worth knowing by its name: the heads of definitions, not their parts.
HEAD_KINDS = frozenset(
    {"function", "method", "class", "struct", "interface", "trait", "enum", "type", "module", "macro"}
)

# What prose and data files name: there is a lot of it, and it comes after code of the same name.
TEXT_KINDS = frozenset({"section", "key", "anchor"})

# Compiled files, and the chunk kinds whose symbols they list.
TABLES = {
    "functions": ("function", "method"),
    "classes": ("class",),
    "constants": ("constant", "module"),
    "types": ("type",),
}
_TABLE_OF_CHUNK = {chunk: table for table, chunks in TABLES.items() for chunk in chunks}


def table_of(kind: str) -> str:
    """The compiled file that lists symbols of this kind."""
    return _TABLE_OF_CHUNK[CHUNK_KIND.get(kind, "constant")]
