"""What a file refers to: calls, base types, type uses, values handed on, imports, and what variables are bound to.

`grammars/<language>/references.scm` captures names alone; what stands before a name (its receiver) is read from the
source, which costs less than asking the tree and is the same for every language. Nothing is resolved here: that needs
the other files, and is done when somebody asks (`sage_code.xref`), so that a changed file touches only its own rows.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

from tree_sitter import Node

from sage_code.annotations import type_name
from sage_code.languages import Language
from sage_code.parse.grammar import Match
from sage_code.parse.imports import imported
from sage_code.values import Reference, Symbol

# Read backwards: the dot, then the dotted name before it.
_JOINT = rb"\s*(?:\.[?!]?|>-|::)"
_DOTTED = rb"\s*([\w$@]+(?:(?:\.[?!]?|>-|::)[\w$@]+)*)"
_RECEIVER = re.compile(_JOINT + rb"(?:%s)?" % _DOTTED)
_CALLED = re.compile(rb"(?:>[^<>()]{0,60}<)?" + _DOTTED)
_LOOK_BACK = 300
_JOINTS = frozenset(b".>:")
_SEPARATOR = re.compile(r"\?\.|!\.|->|::")
_MAX_CHAIN = 4
# The receiver of a call on an index or an operation: who it is, only types would tell; and that of a literal.
EXPRESSION, LITERAL = "?", '?"'
_MODIFIERS = r"(?:(?:public|private|protected|readonly|static|override|declare|const|let|var)\s+)*"
_BIND = re.compile(
    rf"({_MODIFIERS})([\w.$]+)[?!]?\s*"
    r"(?::\s*([^=(){}]{1,80}))?\s*(?:=\s*(?:await\s+|new\s+|&)*([\w.$]+(?:\([^()]*\)\.[\w$]+)*)\s*(?:<[^()]{0,60}>)?(\()?)?"
)
_WITH = re.compile(r"([\w.]+)\s*\(.*\)\s+as\s+([\w.]+)$", re.DOTALL)
# What gives its argument back: `with closing(Stream(...)) as stream`, `x = cast("Foo", y)`.
_PASSED_ON = re.compile(r"(?:\w+\.)?(?:closing|aclosing)\(\s*([\w.]+)\(.*\sas\s+([\w.]+)$", re.DOTALL)
_CAST = re.compile(r"([\w.]+)\s*=\s*(?:\w+\.)?cast\(\s*([^,]{1,60}),")
_EACH = re.compile(r"for\s*(?:await\s*)?\(?\s*(?:(?:const|let|var)\s+)?([\w$]+)\s+(?:in|of)\s+([\w.$]+)\s*[:)]")
_CALLBACK = re.compile(r"([\w.$]+)\s*\.\s*\w+\(\s*(?:async\s*)?\(?\s*([\w$]+)\s*[,):=]")
_RETURN = re.compile(r"return\s+(?:await\s+|new\s+)*([\w.$]+(?:\([^()]*\)\.[\w$]+)*)\s*(?:<[^()]{0,60}>)?(\()?")
_ARGUMENTS = re.compile(r"\([^()]*\)")
_PARENTHESIS = re.compile(rb"[()]")
_CONSTANTS = frozenset({"None", "True", "False", "null", "undefined", "true", "false", "self", "this", "lambda", "not"})
_ITSELF = frozenset({"self", "this", "cls"})
# The name that what a function returns is bound to, in the scope of the function: no variable can be called so.
_RETURNED = "return"
_PROPERTY = re.compile(r"(?:public|private|protected|readonly)\b")
# What a binding says stands at its beginning; the rest of a long call is not worth decoding.
_BIND_BYTES = 240
# Names and types a file may hold before it is data in the shape of code; the rest is dropped.
_MAX_REFERENCES = 50_000
# What is called may be an expression; more of it than this is no name that anybody asks for.
_MAX_NAME_BYTES = 200
SCOPE_KINDS = frozenset({"function", "method", "constructor", "class", "struct", "interface", "trait", "enum", "macro"})


def references(
    found_in_tree: Iterable[Match], source: bytes, language: Language, symbols: Sequence[Symbol]
) -> tuple[Reference, ...]:
    """Every reference of the file, by line."""
    captures = defaultdict[str, list[Node]](list)  # a node that two patterns capture comes twice
    for _, captured in found_in_tree:
        for capture, nodes in captured.items():
            captures[capture] += nodes
    imports = [
        reference
        for node in dict.fromkeys(captures["import"])
        for reference in imported(language.name, _text(source, node), node.start_point[0] + 1)
    ]
    names = {reference.alias or reference.name for reference in imports} | {symbol.name for symbol in symbols}
    known = {name.encode() for name in names}
    found = [(r.line, r.kind, r.name, r.receiver, r.alias) for r in imports[:_MAX_REFERENCES]]
    for node in dict.fromkeys(captures["bind"]):
        start = node.start_byte
        text = source[start : min(node.end_byte, start + _BIND_BYTES)].decode("utf-8", "replace")
        if binding := bound(text):
            found.append((node.start_point[0] + 1, "bind", *binding, ""))
    # Where the head of a definition looks like a call (Elixir, Julia), the query says so.
    seen = {node.start_byte for node in captures["head"]}
    for kind in ("inherit", "call", "type", "use"):
        for node in captures[kind]:
            start, end = node.start_byte, node.end_byte
            if start in seen or len(found) >= _MAX_REFERENCES:
                continue
            name = source[start : end if end - start < _MAX_NAME_BYTES else start + _MAX_NAME_BYTES]
            if kind == "use" and name not in known:
                continue  # a variable; what is defined or imported is what anybody asks for
            seen.add(start)
            # Most names have nothing before them; a call for each of those would be felt.
            before = receiver(source, start) if start and source[start - 1] in _JOINTS else ""
            found.append((node.start_point[0] + 1, kind, name.decode("utf-8", "replace"), before, ""))
    found.sort()
    return _with_scopes(found, symbols)


def bound(text: str) -> tuple[str, str] | None:
    """The variable and the type of a declaration or an assignment: `x: Foo`, `self.y = pkg.Bar(...)`, `new Foo()`.

    A type is a name, `[Foo]` for a container, `=y` for another name of y and `*ys` for an element of ys. What a
    function returns is bound to `return`."""
    if text.startswith(_RETURNED) and text[len(_RETURNED) :][:1].isspace():
        return _returned(text)
    if text.startswith("for") and (match := _EACH.match(text)):
        return match[1], f"*{match[2]}"
    if "=>" in text and (match := _CALLBACK.match(text)):
        return match[2], f"*{match[1]}"
    if "cast(" in text and (match := _CAST.match(text)) and (name := type_name(match[2])):
        return match[1], name
    if " as " in text and (match := _PASSED_ON.match(text) or _WITH.match(text)):
        return match[2], match[1]
    match = _BIND.match(text)
    if match is None:
        return None
    modifiers, variable, annotation, value, is_call = match.groups()
    if _PROPERTY.search(modifiers) and annotation and not is_call:
        variable = f"this.{variable}"  # of a field or of a constructor's parameter
    if annotation and (name := type_name(annotation)):
        return variable, name
    if not value or value[0].isdigit() or value in _CONSTANTS:
        return None
    return variable, _ARGUMENTS.sub("()", value) if is_call else f"={value}"


def _returned(text: str) -> tuple[str, str] | None:
    match = _RETURN.match(text)
    if match is None:
        return None
    value, is_call = match.groups()
    if value[0].isdigit() or (value in _CONSTANTS and value not in _ITSELF):
        return None
    return _RETURNED, _ARGUMENTS.sub("()", value) if is_call else f"={value}"


def receiver(source: bytes, start: int) -> str:
    """What stands before the name at `start`: `self`, `os.path`, `super`, `Foo()`, `?` (an expression), or nothing."""
    if start == 0 or source[start - 1] not in _JOINTS:
        return ""
    return _before(source, start, _MAX_CHAIN)


def _before(source: bytes, start: int, chain: int) -> str:
    before = source[max(0, start - _LOOK_BACK) : start][::-1]
    match = _RECEIVER.match(before)
    if match is None:
        return ""
    suffix = ""
    if match[1] is None:  # something is called, indexed or written out
        rest = before[match.end() :].lstrip()
        opened = _matching(rest) if rest[:1] == b")" else 0
        if not opened or chain <= 0:
            return LITERAL if rest[:1] in (b'"', b"'", b"`") else EXPRESSION
        before, suffix = rest[opened:], "()"
        match = _CALLED.match(before)
        if match is None:
            return EXPRESSION
    name = _forwards(match[1]) + suffix
    if name == "super()":
        return "super"
    # A name that is itself reached through an expression: `f(x).items`.
    if _RECEIVER.match(before, match.end(1)):
        head = _before(before[match.end(1) :][::-1], len(before) - match.end(1), chain - 1)
        return EXPRESSION if head.startswith(EXPRESSION) or not head else f"{head}.{name}"
    return name


@lru_cache(4096)  # `self` and its like are most receivers of a file
def _forwards(name: bytes) -> str:
    return _SEPARATOR.sub(".", name[::-1].decode("utf-8", "replace"))


def _matching(backwards: bytes) -> int:
    """Where the parenthesis that closes first (it is read backwards) was opened; 0: not in sight."""
    depth = 0
    for match in _PARENTHESIS.finditer(backwards):
        depth += 1 if match[0] == b")" else -1
        if depth == 0:
            return match.end()
    return 0


def _with_scopes(found: list[tuple[int, str, str, str, str]], symbols: Sequence[Symbol]) -> tuple[Reference, ...]:
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
    for line, kind, name, before, alias in found:
        while cursor < len(scopes) and scopes[cursor].line <= line:
            stack.append(scopes[cursor])
            cursor += 1
        while stack and stack[-1].end_line < line:
            stack.pop()
        scope = single.get(line) or (stack[-1].qualname if stack else "")
        result.append(Reference(kind, name, before, line, alias, scope))
    return tuple(result)


def _text(source: bytes, node: Node) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")
