"""Finds where a file says a name outside of comments and strings, and how: called, read, named as a type, declared.

The words come from the text, so nothing that a grammar's query leaves out is lost; the tree says what surrounds each.
This is for one name, when somebody asks: there are far more words than calls, so an index of them all would cost more
than everything else in it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tree_sitter import Node, TreeCursor

from sage_code.languages.table import Language
from sage_code.parse.grammar import parse_tree
from sage_code.parse.receivers import JOINTS, Receivers

# A file that takes longer to parse is data or an attack on the grammar.
_PARSE_S = 2.0
_LEAST_S = 0.001
# The kinds of a word beside those of a reference: it gives the name to something else (a variable, a parameter), or it
# names an argument, a key or a field of a literal.
DECLARED, KEY = "declared", "key"
# ... or the name of a variable, which the language marks: `$name`, `@name`.
VARIABLE = "variable"
_MARKED_VARIABLES = {"php": b"$", "perl": b"$@%", "bash": b"$", "powershell": b"$", "ruby": b"@$"}

# `$` belongs to a name in these; elsewhere it marks a variable.
_DOLLAR_NAMES = frozenset({"javascript", "typescript", "tsx", "vue", "svelte", "astro", "html", "java"})

# Leaves of a tree that hold text. An identifier inside of a string is a leaf of its own: it is interpolated.
_TEXT = re.compile(
    r"comment|string|str_text|raw_str|heredoc|nowdoc|regex|haddock|quoted_content|quasiquote_body|jsx_text|char"
    r"|escape_seq|^text$|_text$|^template_literal$",
    re.IGNORECASE,
)
_IMPORT = re.compile(r"import|^use_(declaration|statement)$|^using_(directive|declaration)$|namespace_use|extern_crate")
# Nodes between a name and what assigns or declares it.
_LIST_TYPES = """
    expression_list pattern_list tuple_pattern list_pattern array_pattern object_pattern identifier_list
    variable_name left_assignment_list rest_pattern assignment_pattern list_splat_pattern dictionary_splat_pattern
    pointer_declarator reference_declarator array_declarator init_declarator mut_pattern ref_pattern reference_pattern
    parenthesized_declarator
"""
_LISTS = frozenset(_LIST_TYPES.split())
_ASSIGNS = re.compile(r"assign|^for|short_var|range_clause|named_expression|comprehension|enhanced_for")
_DECLARES = re.compile(
    r"declaration|definition|declarator|parameter|_spec$|_item$|property_element|const_element|static_variable|signature"
    r"|^(method|class|module|function|type_alias)$|enum_member|enum_constant|enumerator|enum_variant|enum_case"
)
_PARAMETERS = re.compile(
    r"parameter|^formal|catch|captured_pattern|^as_pattern_target|variable_declaration$|lambda_capture"
)
_KEYS = re.compile(r"argument|^pair|initializer|keyed_element|literal_element|hash_key|designator|jsx_attribute|label")
_BASES = re.compile(r"superclass|super_interfaces|extends|implements|^base_|interface_clause|delegation_spec|heritage")
_TYPES = re.compile(
    r"^type$|type_annotation|user_type|named_type|generic_type|type_arg|type_list|nullable_type|union_type|array_type"
    r"|pointer_type|reference_type|simple_type|optional_type|qualified_type|type_identifier|type_projection|annotation"
)
_CALLED = re.compile(rb"\s{0,20}(?:::)?(?:<[^<>()]{0,80}>)?!?[\s]{0,20}\(")
_DECORATORS = frozenset({"decorator"})
_NAMED = re.compile(rb"\s{0,80}(?::(?!:)|=(?![=~>]))")
# How far around a name its types and bases are looked for.
_NEAR = 4
# Without a tree: what declares a name, in most languages.
_DECLARED_BEFORE = re.compile(rb"(?:\b(?:const|let|var|val|my|our|local|function|def|sub|class|final|void)\s+)$")
_LOOK_BEFORE = 40


class Occurrence(NamedTuple):
    """A word of a file that is code."""

    line: int
    kind: str  # call inherit type use import, DECLARED, KEY or VARIABLE
    receiver: str  # as in a reference
    statement: int  # the line at which the import begins that it is part of; 0 for other kinds


def words(source: bytes, name: str, language: Language) -> list[int]:
    """The offsets at which a source has `name` as a whole word, in code or not."""
    word = rb"[\w$\x80-\xff]" if language.name in _DOLLAR_NAMES else rb"[\w\x80-\xff]"
    text = name.encode()
    before = rb"(?<!%s)" % word if re.match(word, text) else b""
    after = rb"(?!%s)" % word if re.match(word, text[-1:]) else b""
    return [found.start() for found in re.finditer(before + re.escape(text) + after, source)]


def occurrences(source: bytes, language: Language, name: str, starts: Sequence[int], until: float) -> list[Occurrence]:
    """What the words at `starts` are, in order; those in comments and strings are left out. Ends at the time `until`.

    A language whose grammar may hang or crash, and one that a reader of our own reads, is judged without a tree: its
    strings count too, since templates call functions from strings.
    """
    receivers = Receivers(source)
    marks = _MARKED_VARIABLES.get(language.name, b"")
    tree = None
    if language.grammar and not language.reader and not language.may_crash:
        tree = parse_tree(source, language, min(_PARSE_S, max(until - time.monotonic(), _LEAST_S)))
    hidden = [] if tree else _comments(source, language)
    cursor = tree.walk() if tree else None
    found = []
    size = len(name.encode())
    line, last = 1, 0
    for start in starts:
        if time.monotonic() > until:
            break
        line, last = line + source.count(b"\n", last, start), start
        receiver = receivers.before(start) if start and source[start - 1] in JOINTS else ""
        if cursor is None or tree is None:
            if not any(first <= start < end for first, end in hidden):
                found.append(Occurrence(line, _plain_kind(source, start, start + size), receiver, 0))
            continue
        path = list(_path(cursor, tree.root_node, start))
        leaf = path[-1].node
        if is_text(source, leaf, start):
            continue
        kind, statement = kind_of(path, source, start + size, has_receiver=bool(receiver))
        if marks and kind != DECLARED and start and source[start - 1] in marks:
            kind, receiver = VARIABLE, receivers.before(start - 1) if source[start - 2] in JOINTS else ""
        found.append(Occurrence(line, kind, receiver, statement))
    return found


class Step(NamedTuple):
    """A node on the way from the root to a name, and its field in its parent."""

    node: Node
    type: str
    field: str


def _path(cursor: TreeCursor, root: Node, start: int) -> Iterator[Step]:
    """The nodes around an offset from the outside inwards. Asking a node for its parent would begin at the root."""
    cursor.reset(root)
    yield Step(root, root.type, "")
    while cursor.goto_first_child_for_byte(start) is not None:
        node = cursor.node
        if node is None or node.start_byte > start:
            return
        yield Step(node, node.type, cursor.field_name or "")


def is_text(source: bytes, leaf: Node, start: int) -> bool:
    """Whether the word at `start` in a leaf is text, or a keyword that is spelt like the name."""
    if leaf.type == "preproc_arg":  # the grammar does not read the value of a macro
        before = source[leaf.start_byte : start]
        return before.count(b'"') % 2 == 1 or b"//" in before or b"/*" in before
    if not leaf.is_named and leaf.child_count == 0:
        return source[leaf.start_byte : leaf.end_byte].decode("utf-8", "replace") == leaf.type
    return _TEXT.search(leaf.type) is not None


def kind_of(path: Sequence[Step], source: bytes, end: int, *, has_receiver: bool) -> tuple[str, int]:
    """How the name at the end of a path is used, and for an import the line of the statement."""
    for step in path[1:-1]:
        if _IMPORT.search(step.type):
            return "import", step.node.start_point[0] + 1
    if not has_receiver and _is_key(path, source, end):
        return KEY, 0
    if _is_declared(path):
        return DECLARED, 0
    near = path[-1 - _NEAR :]
    if any(_BASES.search(step.type) or step.field == "superclasses" for step in near):
        return "inherit", 0
    if _CALLED.match(source, end) or any(step.type in _DECORATORS for step in path[-3:-1]):
        return "call", 0
    if len(path) > 1 and path[-1].field in ("method", "function") and path[-2].type in ("call", "call_expression"):
        return "call", 0
    if any(_TYPES.search(step.type) or step.field in ("type", "return_type") for step in near[-3:]):
        return "type", 0
    return "use", 0


def _is_key(path: Sequence[Step], source: bytes, end: int) -> bool:
    """Whether a name is that of an argument, a key or a field that is given a value."""
    leaf = path[-1]
    if leaf.type == "hash_key_symbol":
        return True
    for step in path[-3:-1]:
        if _KEYS.search(step.type) and "list" not in step.type:
            return leaf.field in ("key", "name", "field") or _NAMED.match(source, end) is not None
    return leaf.field == "designator" or leaf.type == "field_designator"


def _is_declared(path: Sequence[Step]) -> bool:
    """Whether a name is given to something here: a variable, a parameter, a function."""
    at = len(path) - 1
    while at > 1 and path[at - 1].type in _LISTS and path[at].field not in ("right", "value", "size"):
        at -= 1
    if at < 1:
        return False
    field, parent = path[at].field, path[at - 1].type
    if field in ("pattern", "declarator", "alias"):
        return parent != "function_declarator"  # the prototype of a function means the function
    if field == "left":
        return _ASSIGNS.search(parent) is not None
    if field == "name":
        return _DECLARES.search(parent) is not None
    return field in ("", "parameter", "parameters") and _PARAMETERS.search(parent) is not None


def _plain_kind(source: bytes, start: int, end: int) -> str:
    """How a name is used, by the text around it alone."""
    if _DECLARED_BEFORE.search(source[max(0, start - _LOOK_BEFORE) : start]):
        return DECLARED
    return "call" if _CALLED.match(source, end) else "use"


def _comments(source: bytes, language: Language) -> list[tuple[int, int]]:
    """The comments of a source without a tree: lines that begin with a marker, and blocks."""
    parts = [rb"<!--.*?-->"]
    if language.line_comments:
        markers = b"|".join(re.escape(marker.encode()) for marker in language.line_comments)
        parts.append(rb"(?m:(?:^|(?<=\s))(?:%s).*?$)" % markers)
    if language.block_comments:
        opening, closing = (re.escape(mark.encode()) for mark in language.block_comments)
        parts.append(opening + rb".*?" + closing)
    return [found.span() for found in re.finditer(b"|".join(parts), source, re.DOTALL)]
