"""Reads the names of types from the text of annotations and signatures, for any language."""

from __future__ import annotations

import re
from functools import lru_cache

_NAME = re.compile(r"[\w$]+(?:(?:\.|::|\\)[\w$]+)*")
_MODIFIERS_AND_WRAPPERS = """
    Optional Union Annotated Final ClassVar Type type None null undefined readonly Awaitable Promise Self const final
    mut dyn impl ref in out var let static public private protected async typing t Observable Partial Readonly
    Required Box Rc Arc Option Result unsafe virtual inline struct func fn def function abstract override
"""
_SKIPPED = frozenset(_MODIFIERS_AND_WRAPPERS.split())
# A value of one of these has no member that a project defines.
_BUILT_IN = """
    list List dict Dict set Set tuple Tuple Sequence Iterable Iterator Generator Callable Mapping Array Map Record int
    str bool float bytes any Any string number boolean void unknown object never frozenset deque Vec String HashMap
    i32 u32 i64 u64 usize f64 char double long short byte uint error Boolean Integer Long Double Object Function
    Exception TypeError ValueError Error
"""
BUILT_IN_TYPES = frozenset(_BUILT_IN.split())
# These write `Foo foo`, others `foo: Foo` or `foo Foo`.
_TYPE_FIRST = frozenset({"java", "csharp", "c", "cpp", "objc", "dart", "groovy", "solidity", "php"})
_LEADS = r"(?:[*&]+|(?:mut|private|public|protected|readonly|override|val|var|const|let|static)\s+)*"
_MODIFIERS = re.compile(r"^(?:(?:export|const|let|var|val|static|public|private|protected|readonly|pub)\s+)+")
_ARROW = re.compile(r"\)\s*(?:->|:)\s*(.+)$")
_GO_RESULT = re.compile(r"\)\s*\(?\s*(\*?[\w.\[\]]+)")


@lru_cache(4096)
def type_name(annotation: str) -> str:
    """The type that an annotation names: `Foo` of `Optional[pkg.Foo]`, `[Foo]` of a container of them; or nothing."""
    names = []
    for match in _NAME.finditer(annotation):
        name = match[0].replace("::", ".").replace("\\", ".")
        bare = name.rpartition(".")[2]
        if bare not in _SKIPPED and not bare.isdigit():
            if annotation.startswith("[]", match.end()):
                return f"[{name}]"
            names.append(name)
    if len(names) > 1 and names[0].rpartition(".")[2] in BUILT_IN_TYPES and names[-1] not in BUILT_IN_TYPES:
        return f"[{names[-1]}]"
    return names[0] if names else ""


@lru_cache(4096)
def return_type(signature: str, name: str, language: str) -> str:
    """The return type that a signature declares, or nothing."""
    if match := _ARROW.search(signature):
        return type_name(match[1])
    if language == "go":
        match = _GO_RESULT.search(signature, max(0, signature.find(f" {name}(")))
        return type_name(match[1]) if match else ""
    if language in _TYPE_FIRST:
        before = signature.partition(f"{name}(")[0]
        return type_name(re.sub(r"<.*?>", " ", before).rpartition("@")[2]) if before != signature else ""
    return ""


@lru_cache(4096)
def parameter_type(signature: str, name: str, language: str) -> str | None:
    """The type of the parameter (or variable) `name` in a signature; empty if it has none, None if it is not there."""
    if language == "php" and not name.startswith("$"):
        return None  # a variable of PHP has its dollar; `?Foo` at the end is the return type
    start = signature.find("(")
    parameters = signature[start:] if start >= 0 else f"({_MODIFIERS.sub('', signature)}"
    name = re.escape(name)
    if language in _TYPE_FIRST:
        match = re.search(rf"([\w.:\\<>\[\], *&?]+?)[\s*&?.]+{name}\s*(?=[,)=;:\[]|$)", parameters)
        return type_name(re.sub(r"<.*?>|\[.*?\]", " ", match[1]).rpartition(",")[2]) if match else None
    match = re.search(
        rf"[(,]\s*{_LEADS}{name}\s*[?!]?(?=\s|[:,)=]|$)(?:\s*:\s*([^=,]{{1,80}})|\s+(\*?[\w.]+))?", parameters
    )
    return type_name(match[1] or match[2] or "") if match else None
