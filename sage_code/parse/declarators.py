"""Finds the name in a declarator of C or C++, under pointers, arrays, parentheses and qualifications."""

from __future__ import annotations

import re

from tree_sitter import Node

_NAMES = frozenset(
    {
        "identifier",
        "field_identifier",
        "type_identifier",
        "qualified_identifier",
        "primitive_type",  # `typedef short int16_t`: the grammar has a list of the usual ones
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
    """The name inside a declarator; None if it defines nothing: it is a prototype or has no name."""
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
    """Whether it is `EXPORT const Type* make(int);`, which the grammar reads as a name qualified by a pointer."""
    last = name.child_by_field_name("name") if name.type == "qualified_identifier" else None
    return last is not None and last.type == "pointer_type_declarator"


def split_qualified(name: str) -> tuple[str, str]:
    """`Foo<T>::bar` as owner and name, without the parameters of an operator."""
    operator = _OPERATOR.search(name)
    head, tail = (name[: operator.start()], name[operator.start() :]) if operator else (name, "")
    while "<" in head and (shorter := _TEMPLATE_ARGUMENTS.sub("", head)) != head:
        head = shorter
    if tail and not tail.startswith("operator()"):
        tail = tail.partition("(")[0].strip()
    owner, _, last = head.rpartition("::")
    return owner, (last + tail).strip()
