"""The kinds of definitions: which kind of chunk each becomes, and which compiled file lists it."""

from __future__ import annotations

# The kinds of chunks, in the order of their numbers in segments.
CHUNK_KINDS = ("function", "class", "method", "module", "constant", "type", "fallback")

# Symbol kind -> chunk kind. A symbol of another kind is part of a `module` chunk.
CHUNK_KIND = {
    **dict.fromkeys(("function", "macro"), "function"),
    **dict.fromkeys(("method", "constructor", "property", "modifier"), "method"),
    **dict.fromkeys(
        ("class", "struct", "trait", "enum", "union", "contract", "library", "module", "namespace"), "class"
    ),
    **dict.fromkeys(("interface", "type"), "type"),
    **dict.fromkeys(("constant", "variable", "field", "event", "error"), "constant"),
    # Prose and data: looked up by name, but neither called nor a type.
    "section": "module",
    **dict.fromkeys(("key", "anchor"), "constant"),
    # Builds, infrastructure, interfaces, style sheets.
    **dict.fromkeys(("target", "stage", "mixin", "directive"), "function"),
    **dict.fromkeys(("message", "service", "resource"), "class"),
    "fragment": "type",
    **dict.fromkeys(("output", "rule", "keyframes"), "constant"),
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
