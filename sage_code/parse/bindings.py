"""Reads what a variable is bound to from the text of declarations, assignments, loops and returns, in any language."""

from __future__ import annotations

import re
from functools import lru_cache

from sage_code.parse.type_names import type_name

# The variable and the type are at the beginning of a binding; the rest of a long call need not be decoded.
BIND_BYTES = 240
_MODIFIERS = r"(?:(?:public|private|protected|readonly|static|override|declare|const|let|var)\s+)*"
_BIND = re.compile(
    rf"({_MODIFIERS})([\w.$]+)[?!]?\s*"
    r"(?::\s*([^=(){}]{1,80}))?\s*(?:=\s*(?:await\s+|new\s+|&)*([\w.$]+(?:\([^()]*\)\.[\w$]+)*)\s*(?:<[^()]{0,60}>)?(\()?)?"
)
_WITH = re.compile(r"([\w.]+)\s*\(.*\)\s+as\s+([\w.]+)$", re.DOTALL)
# Calls that return their argument: `with closing(Stream(...)) as stream`, `x = cast("Foo", y)`.
_PASSED_ON = re.compile(r"(?:\w+\.)?(?:closing|aclosing)\(\s*([\w.]+)\(.*\sas\s+([\w.]+)$", re.DOTALL)
_CAST = re.compile(r"([\w.]+)\s*=\s*(?:\w+\.)?cast\(\s*([^,]{1,60}),")
_EACH = re.compile(r"for\s*(?:await\s*)?\(?\s*(?:(?:const|let|var)\s+)?([\w$]+)\s+(?:in|of)\s+([\w.$]+)\s*[:)]")
_CALLBACK = re.compile(r"([\w.$]+)\s*\.\s*\w+\(\s*(?:async\s*)?\(?\s*([\w$]+)\s*[,):=]")
_RETURN = re.compile(r"return\s+(?:await\s+|new\s+)*([\w.$]+(?:\([^()]*\)\.[\w$]+)*)\s*(?:<[^()]{0,60}>)?(\()?")
_ARGUMENTS = re.compile(r"\([^()]*\)")
_CONSTANTS = frozenset({"None", "True", "False", "null", "undefined", "true", "false", "self", "this", "lambda", "not"})
_ITSELF = frozenset({"self", "this", "cls"})
# The value that a function returns is bound to this name, in the scope of the function; no variable has this name.
RETURNED = "return"
_PROPERTY = re.compile(r"(?:public|private|protected|readonly)\b")


@lru_cache(4096)  # the same bindings repeat, above all in tests
def read_binding(source: bytes) -> tuple[str, str] | None:
    """The variable and the type of a declaration or an assignment: `x: Foo`, `self.y = pkg.Bar(...)`, `new Foo()`.

    A type is a name, `[Foo]` for a container of Foo, `=y` for another name of y, or `*ys` for an element of ys. The
    value that a function returns is bound to `return`."""
    text = source.decode("utf-8", "replace")
    if text.startswith(RETURNED) and text[len(RETURNED) :][:1].isspace():
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
    if modifiers and annotation and not is_call and _PROPERTY.search(modifiers):
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
    return RETURNED, _ARGUMENTS.sub("()", value) if is_call else f"={value}"
