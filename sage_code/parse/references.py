"""What a file refers to: calls, base types, type uses, values handed on, imports, and what variables are bound to.

`grammars/<language>/references.scm` captures names alone; what stands before a name (its receiver) is read from the
source, which costs less than asking the tree and is the same for every language. Nothing is resolved here: that needs
the other files, and is done when somebody asks (`sage_code.xref`), so that a changed file touches only its own rows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache

from tree_sitter import Node, Query, QueryCursor, Tree

from sage_code.languages import Language
from sage_code.parse.grammar import grammar
from sage_code.parse.imports import imported
from sage_code.paths import assets_dir
from sage_code.values import Reference, Symbol

# Read backwards: the dot, then the dotted name before it.
_RECEIVER = re.compile(rb"\s*(?:\.[?!]?|>-|::)\s*([\w$@]+(?:(?:\.[?!]?|>-|::)[\w$@]+)*)?(\)\()?")
_LOOK_BACK = 120
_JOINTS = frozenset(b".>:")
_SEPARATOR = re.compile(r"\?\.|!\.|->|::")
# The receiver of a call on a call or an index: `open(x).read()`. Who it is, only types would tell.
EXPRESSION = "?"
_SUPER = re.compile(rb"\bsuper\s*\(([^()]*)\)\s*\.\s*$")
_BIND = re.compile(
    r"(?:(?:public|private|protected|readonly|static|override|declare|const|let|var)\s+)*([\w.$]+)[?!]?\s*"
    r"(?::\s*([^=(){}]{1,80}))?\s*(?:=\s*(?:await\s+|new\s+|&)*([\w.$]+)\s*(?:<[^()]{0,60}>)?\()?"
)
_WITH = re.compile(r"([\w.]+)\s*\(.*\)\s+as\s+([\w.]+)$", re.DOTALL)
_NAME = re.compile(r"[\w.$]+")
_WRAPPERS = frozenset(
    {
        "Optional",
        "Union",
        "Annotated",
        "Final",
        "ClassVar",
        "Type",
        "type",
        "None",
        "null",
        "undefined",
        "readonly",
        "typing.Optional",
        "t.Optional",
        "Awaitable",
        "Promise",
    }
)
_CONTAINERS = frozenset(
    {
        "list",
        "List",
        "dict",
        "Dict",
        "set",
        "Set",
        "tuple",
        "Tuple",
        "Sequence",
        "Iterable",
        "Iterator",
        "Callable",
        "Array",
        "Map",
        "Record",
        "int",
        "str",
        "bool",
        "float",
        "bytes",
        "any",
        "Any",
        "string",
        "number",
        "boolean",
        "void",
        "unknown",
        "object",
    }
)
# Names and types a file may hold before it is data in the shape of code; the rest is dropped.
_MAX_REFERENCES = 50_000
SCOPE_KINDS = frozenset(
    {"function", "method", "constructor", "class", "struct", "interface", "trait", "enum", "macro"}
)


def references(
    tree: Tree, source: bytes, language: Language, symbols: Sequence[Symbol], limit_s: float
) -> tuple[Reference, ...]:
    """Every reference of the file, by line."""
    query = _query(language)
    if query is None:
        return ()
    cursor = QueryCursor(query, timeout_micros=max(1, int(limit_s * 1e6)))
    captures = cursor.captures(tree.root_node)
    found: dict[int, Reference] = {}
    for node in captures.get("import", ()):
        for reference in imported(language.name, _text(source, node), node.start_point[0] + 1):
            found[-node.end_byte * 64 - len(found)] = reference  # any place that no name can have
    known = {reference.alias or reference.name for reference in found.values()} | {symbol.name for symbol in symbols}
    for kind in ("bind", "inherit", "call", "type", "use"):
        for node in captures.get(kind, ()):
            start = node.start_byte
            if start in found or len(found) >= _MAX_REFERENCES:
                continue
            name = _text(source, node)
            if kind == "use" and name not in known:
                continue  # a variable; what is defined or imported is what anybody asks for
            line = node.start_point[0] + 1
            if kind != "bind":
                found[start] = Reference(kind, name, receiver(source, start), line)
            elif binding := bound(name):
                found[-start - 1] = Reference(kind, binding[0], binding[1], line)
    return _with_scopes(sorted(found.values(), key=lambda reference: reference.line), symbols)


def bound(text: str) -> tuple[str, str] | None:
    """The variable and the type of a declaration or an assignment: `x: Foo`, `self.y = pkg.Bar(...)`, `new Foo()`."""
    if match := _WITH.match(text):
        return match[2], match[1]
    match = _BIND.match(text)
    if match is None:
        return None
    variable, annotation, called = match.groups()
    if annotation:
        names = [name for name in _NAME.findall(annotation) if name not in _WRAPPERS]
        if not names or names[0] in _CONTAINERS:
            return None
        return variable, names[0]
    return (variable, called) if called else None


def receiver(source: bytes, start: int) -> str:
    """What stands before the name at `start`: `self`, `os.path`, `super`, `?` for an expression, or nothing."""
    if start == 0 or source[start - 1] not in _JOINTS:
        return ""
    before = source[max(0, start - _LOOK_BACK) : start]
    match = _RECEIVER.match(before[::-1])
    if match is None:
        return ""
    if match[1] is None:
        return "super" if _SUPER.search(before) else EXPRESSION
    text = match[1][::-1].decode("utf-8", "replace")
    # A name that is itself reached through an expression (`f(x).items`) says nothing about its owner.
    rest = before[::-1][match.end(1) : match.end(1) + 2]
    if rest[:1] == b"." or rest == b">-":
        return EXPRESSION
    return _SEPARATOR.sub(".", text)


def _with_scopes(found: list[Reference], symbols: Sequence[Symbol]) -> tuple[Reference, ...]:
    """The references, each with the qualified name of the innermost definition around it."""
    scopes = sorted(
        (symbol for symbol in symbols if symbol.kind in SCOPE_KINDS and symbol.end_line > symbol.start_line),
        key=lambda symbol: (symbol.line, -symbol.end_line),
    )
    # One-line definitions cannot be told from their neighbours by line; they count for their own line only.
    single = {
        symbol.line: symbol.qualname
        for symbol in symbols
        if symbol.kind in SCOPE_KINDS and symbol.start_line == symbol.end_line
    }
    stack: list[Symbol] = []
    result = []
    cursor = 0
    for reference in found:
        while cursor < len(scopes) and scopes[cursor].line <= reference.line:
            stack.append(scopes[cursor])
            cursor += 1
        while stack and stack[-1].end_line < reference.line:
            stack.pop()
        scope = single.get(reference.line) or (stack[-1].qualname if stack else "")
        result.append(
            Reference(reference.kind, reference.name, reference.receiver, reference.line, reference.alias, scope)
        )
    return tuple(result)


def _text(source: bytes, node: Node) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")


@cache
def _query(language: Language) -> Query | None:
    folder = assets_dir("grammars")
    parts = []
    for name in dict.fromkeys((*language.queries, language.name)):
        path = os.path.join(folder, name, "references.scm")
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                parts.append(file.read())
    return Query(grammar(language), "\n".join(parts)) if parts else None
