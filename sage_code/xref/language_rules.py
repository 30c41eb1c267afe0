"""How languages differ in the lookup of names."""

from __future__ import annotations

ECMASCRIPT = frozenset({"javascript", "typescript", "tsx", "vue", "svelte"})
# A name of another file must be imported before it is used.
MUST_IMPORT = ECMASCRIPT | {"python"}
# Inside of a class its members are visible without a receiver.
MEMBERS_IN_SCOPE = frozenset(
    {"java", "kotlin", "scala", "csharp", "cpp", "swift", "ruby", "groovy", "dart", "solidity", "php"}
)
# An import names a package or a namespace, not a file.
IMPORT_BY_PACKAGE = frozenset({"java", "kotlin", "scala", "groovy", "csharp", "php", "rust", "dart", "d"})
# Types are declared, so that a call on a base type or an interface often runs a method of a subtype.
DECLARES_TYPES = ECMASCRIPT | {"java", "kotlin", "scala", "csharp", "go", "rust", "swift", "php", "cpp", "dart"}
SELF_WORDS = frozenset({"self", "this", "cls", "Self", "$this", "static", "@"})
# The word for the base class, if it is not `super`; in other languages these words are ordinary names.
_SUPER_WORDS = {"csharp": "base", "fsharp": "base", "php": "parent"}
_FAMILIES = {
    **dict.fromkeys(ECMASCRIPT, "ecmascript"),
    **dict.fromkeys(("c", "cpp", "objc"), "c"),
    **dict.fromkeys(("java", "kotlin", "scala", "groovy"), "jvm"),
}


def family(language: str) -> str:
    """The name of the group of languages that call each other's functions by name."""
    return _FAMILIES.get(language, language)


def is_super(word: str, language: str) -> bool:
    """Whether a receiver means the base class: then no method of a subclass is called."""
    return word == _SUPER_WORDS.get(language, "super")
