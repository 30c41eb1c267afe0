"""The kinds of definitions: which kind of chunk each becomes, and which compiled file lists it."""

from __future__ import annotations

# Symbol kind -> chunk kind. A symbol of another kind is part of a `module` chunk.
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
    # Prose and data: looked up by name, but neither called nor a type.
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

# Definitions that are known by their names, unlike their parts.
HEAD_KINDS = frozenset(
    {"function", "method", "class", "struct", "interface", "trait", "enum", "type", "module", "macro"}
)

# Symbols of prose and data files: there are many, and they rank below code of the same name.
TEXT_KINDS = frozenset({"section", "key", "anchor"})

# By compiled file, the chunk kinds whose symbols it lists.
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
