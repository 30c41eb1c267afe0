"""The names that C and C++ hide: under pointers, arrays, parentheses and qualifications."""

from __future__ import annotations

import re

from tree_sitter import Node

_NAMES = frozenset(
    {
        "identifier",
        "field_identifier",
        "type_identifier",
        "qualified_identifier",
        "primitive_type",  # `typedef short int16_t`: the grammar knows the usual ones by heart
        "operator_name",
        "operator_cast",
        "destructor_name",
        "template_function",
    }
)
# Where a file does not parse, the grammar takes a statement for a function and a type for a name.
_KEYWORDS = frozenset(
    b"if else for do while switch return sizeof struct union enum static const void char short int long float double "
    b"signed unsigned typedef".split()
)
_TEMPLATE_ARGUMENTS = re.compile(r"<[^<>]*>")
_OPERATOR = re.compile(r"\boperator\b")


def declared_name(declarator: Node, role: str) -> Node | None:
    """The name inside a declarator; None for what is not defined here: a prototype, an unnamed thing."""
    node: Node | None = declarator
    is_function = has_parameters = False
    while node is not None and node.type not in _NAMES:
        inner = node.child_by_field_name("declarator")
        if inner is None and node.named_child_count:
            inner = node.named_child(node.named_child_count - 1)
        if node.type == "function_declarator":
            # `int (*callback)(int)` is a variable, `int f(int)` a prototype.
            is_function = inner is not None and inner.type != "parenthesized_declarator"
            has_parameters = True
        node = inner
    if is_function and role in ("definition.variable", "definition.field"):
        return None
    if role == "definition.function" and not has_parameters and node is not None and node.type != "operator_cast":
        return None  # `static void MACRO` on a line of its own, before the name
    if node is not None and (node.text in _KEYWORDS or _is_prototype(node)):
        return None
    return node


def _is_prototype(name: Node) -> bool:
    """`EXPORT const Type* make(int);` is read as a name `Type` that is qualified by a pointer."""
    last = name.child_by_field_name("name") if name.type == "qualified_identifier" else None
    return last is not None and last.type == "pointer_type_declarator"


def split_qualified(name: str) -> tuple[str, str]:
    """`Foo<T>::bar` as owner and name; what follows an operator's name is left out."""
    operator = _OPERATOR.search(name)
    head, tail = (name[: operator.start()], name[operator.start() :]) if operator else (name, "")
    while "<" in head and (shorter := _TEMPLATE_ARGUMENTS.sub("", head)) != head:
        head = shorter
    if tail and not tail.startswith("operator()"):
        tail = tail.partition("(")[0].strip()
    owner, _, last = head.rpartition("::")
    return owner, (last + tail).strip()
