"""The names of types in what people write: annotations, parameters, return types. Text only, for any language."""

from __future__ import annotations

import re
from functools import lru_cache

_NAME = re.compile(r"[\w$]+(?:(?:\.|::|\\)[\w$]+)*")
_WORDS_THAT_SAY_NOTHING = frozenset(
    "Optional Union Annotated Final ClassVar Type type None null undefined readonly Awaitable Promise Self const final"
    " mut dyn impl ref in out var let static public private protected async typing t Observable Partial Readonly"
    " Required Box Rc Arc Option Result unsafe virtual inline struct func fn def function abstract override".split()
)
# A value of one of these has no member that a project defines.
CONTAINERS = frozenset(
    "list List dict Dict set Set tuple Tuple Sequence Iterable Iterator Generator Callable Mapping Array Map Record int"
    " str bool float bytes any Any string number boolean void unknown object never frozenset deque Vec String HashMap"
    " i32 u32 i64 u64 usize f64 char double long short byte uint error Boolean Integer Long Double Object Function"
    " Exception TypeError ValueError Error".split()
)
_ARROW = re.compile(r"\)\s*(?:->|:)\s*(.+)$")
_GO_RESULT = re.compile(r"\)\s*\(?\s*(\*?[\w.\[\]]+)")


def type_name(annotation: str) -> str:
    """The type that an annotation names first: `Foo` of `Optional[pkg.Foo]`, `list` of `list[Foo]`; or nothing."""
    for name in _NAME.findall(annotation):
        name = name.replace("::", ".").replace("\\", ".")
        bare = name.rpartition(".")[2]
        if bare not in _WORDS_THAT_SAY_NOTHING and not bare.isdigit():
            return str(name)
    return ""


@lru_cache(4096)
def return_type(signature: str, name: str, language: str) -> str:
    """The type that a function says it returns, or nothing."""
    if match := _ARROW.search(signature):
        return type_name(match[1])
    if language == "go":
        match = _GO_RESULT.search(signature, max(0, signature.find(f" {name}(")))
        # The first `)` after the name may close a parameter's own parentheses; then there is no name to read.
        return type_name(match[1]) if match else ""
    if language in ("java", "csharp", "c", "cpp", "dart", "groovy", "solidity"):
        before = signature.partition(f"{name}(")[0]
        return type_name(re.sub(r"<.*?>", " ", before).rpartition("@")[2]) if before != signature else ""
    return ""


@lru_cache(4096)
def parameter_type(signature: str, name: str) -> str | None:
    """The type of the parameter (or field) `name` in a signature: empty when it has none, None when it is not there."""
    parameters = signature.partition("(")[2] or signature
    match = re.search(rf"(?<![\w$.]){re.escape(name)}(?![\w$(])", parameters)
    if match is None:
        return None
    after = parameters[match.end() :]
    if annotated := re.match(r"\s*[?!]?\s*:\s*([^=,]{1,80})", after):
        return type_name(annotated[1])
    if go := re.match(r"\s+(\*?[\w.]+)\s*(?:,|\)|$)", after):
        return type_name(go[1])
    before = re.split(r"[,(]", parameters[: match.start()])[-1]
    return type_name(re.sub(r"<.*?>|\[.*?\]", " ", before))
