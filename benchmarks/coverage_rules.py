"""The rules by which `coverage.py` does not count a tag because the referee is wrong, each with its reason.

A rule looks at the text of the file and at its syntax tree, never at what Sage's queries made of it. (`line` is the
exception: it needs to know where Sage saw the name.) A name may occur on a line more than once; a tag is only left out
if a rule explains every occurrence.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from tree_sitter import Node, Tree

from sage_code.languages.table import Language
from sage_code.parse.grammar import parse_tree
from sage_code.parse.preprocessor import preprocessed
from sage_code.values import Symbol

_LIMIT_S = 10.0


@dataclass(frozen=True, slots=True)
class Tag:
    """A definition that the referee lists."""

    file: str
    line: int
    name: str
    kind: str
    category: str
    scope: str


Path = list[Node]  # a node and its ancestors, upwards


class FileView:
    """A file, for the rules."""

    def __init__(self, source: bytes, language: Language, symbols: tuple[Symbol, ...]) -> None:
        self.source = source
        self.language = language
        self.symbols = symbols
        self._lines = source.split(b"\n")
        self._tree: Tree | None = None

    def line(self, number: int) -> str:
        """The text of a line."""
        return self._lines[number - 1].decode("utf-8", "replace") if number <= len(self._lines) else ""

    def places(self, tag: Tag) -> Iterator[Path]:
        """Every occurrence of the name on the tag's line."""
        root = self._root()
        name = re.split(r"[.\s]", tag.name)[-1].encode()
        for found in re.finditer(rb"(?<!\w)" + re.escape(name) + rb"(?!\w)", self._lines[tag.line - 1]):
            start, end = (tag.line - 1, found.start()), (tag.line - 1, found.end())
            node = root.descendant_for_point_range(start, end)
            path = []
            while node is not None:
                path.append(node)
                node = node.parent
            yield path

    def _root(self) -> Node:
        if self._tree is None:
            self._tree = parse_tree(self.source, self.language, _LIMIT_S)
            if self._tree is not None and self._tree.root_node.has_error and self.language.preprocessor:
                self._tree = parse_tree(preprocessed(self.source, self.language.preprocessor), self.language, _LIMIT_S)
        assert self._tree is not None
        return self._tree.root_node


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of tag that is no definition, and why: decided by the whole tag, or by each occurrence of its name."""

    name: str
    statement: str
    by_tag: Callable[[Tag, FileView], bool] | None = None
    by_place: Callable[[Tag, Path], bool] | None = None


_ANONYMOUS = re.compile(r"__anon|anonymous", re.IGNORECASE)
_TEXT = re.compile(r"string|comment|heredoc|regex|text$|sigil|pod$")
# Code inside `${...}` and `#{...}` is code again.
_CODE_IN_TEXT = re.compile(r"substitution|interpolation")
_IMPORT = re.compile(r"import|use_declaration|using_directive|namespace_use|export_clause|export_specifier")
_FUNCTION = re.compile(
    r"^function(_definition|_declaration|_expression|_item|_body)?$|^generator_function|^method(_d\w+)?$"
    r"|arrow_function|lambda|closure|func_literal|constructor_d|accessor_d|singleton_method|anonymous_function"
)
_VARIABLES = {"variable", "constant", "field", "property", "const", "var"}
# The fields under which grammars keep what a definition is called, and the nodes that may stand between.
_NAMING = {"name", "declarator", "property", "key", "pattern", "alias"}
_BETWEEN = re.compile(r"pattern|declarator|_list$|variable_name|const_element|enum|left_assignment|_name$")
_USING = re.compile(r"argument|attribute|parameter|access|call|member_expression|^type")
# Kotlin's grammar has no fields: the names stand directly under these.
_UNNAMED_FIELD = re.compile(r"^(function|class|object|variable)_declaration$|^type_alias$|^enum_entry$")
_MEMBER = re.compile(r"^pair$|property_signature|method_signature|jsx_attribute")
# A function is several equations or clauses here, and Sage lists it once.
_CLAUSES = {"elixir", "erlang", "haskell"}
# The nodes that define a name of a certain type (OCaml), where a field does not tell.
_DEFINERS = {
    "module_name": {"module_binding"},
    "module_type_name": {"module_type_definition"},
    "constructor_name": {"constructor_declaration"},
    "type_constructor": {"type_binding"},
    "value_name": {"let_binding", "value_specification", "external"},
}
# Definitions are calls or lists here: the tree does not tell the name of a definition by a field.
_NO_FIELDS = {"bash", "clojure", "elixir", "erlang", "julia", "perl", "powershell", "r"}
_FUNCTION_VALUE = re.compile(r"function|class$|lambda")


def _anonymous(tag: Tag, _view: FileView) -> bool:
    return bool(_ANONYMOUS.match(tag.name))


def _blank(tag: Tag, view: FileView) -> bool:
    return tag.name == "_" and view.language.name == "go"


def _line(tag: Tag, view: FileView) -> bool:
    if tag.name in view.line(tag.line):
        return False
    return any(symbol.name == tag.name and 0 < tag.line - symbol.line <= 3 for symbol in view.symbols)


def _clause(tag: Tag, view: FileView) -> bool:
    name = re.split(r"[.:](?=\w)", tag.name)[-1]
    return view.language.name in _CLAUSES and any(
        symbol.name == name and symbol.line < tag.line <= symbol.end_line for symbol in view.symbols
    )


def _computed(tag: Tag, view: FileView) -> bool:
    return tag.name == "unquote" and view.language.name == "elixir"


def _misread(tag: Tag, view: FileView) -> bool:
    if view.language.name == "haskell":
        cut_short = tag.kind == "module" and f"{tag.name}." in view.line(tag.line)
        return cut_short or (tag.kind == "function" and (tag.name[0].isupper() or tag.name == "pattern"))
    if view.language.name == "ocaml":
        return tag.name in {"()", "open", "nonrec", "_"}
    if view.language.name == "bash":
        return "{" in tag.name or tag.name == "--"
    return False


def _text(_tag: Tag, path: Path) -> bool:
    for node, parent in pairwise(path):
        if _CODE_IN_TEXT.search(node.type):
            return False
        if _TEXT.search(node.type):
            return _field(parent, node) not in _NAMING  # `"quoted key": () => {}`
    return False


def _import(_tag: Tag, path: Path) -> bool:
    return any(_IMPORT.search(node.type) for node in path) or any(
        node.type == "variable_declarator" and node.named_children[-1].text.startswith(b"require(")
        for node in path
        if node.named_children and node.named_children[-1].text
    )


def _local(tag: Tag, path: Path) -> bool:
    return (tag.kind in _VARIABLES and any(_FUNCTION.search(node.type) for node in path[1:])) or _let(path)


def _let(path: Path) -> bool:
    """Whether the name is bound by OCaml's `let ... in`."""
    return any(
        node.type == "let_binding" and above.parent and above.parent.type == "let_expression"
        for node, above in pairwise(path[:5])
    )


def _member(tag: Tag, path: Path) -> bool:
    return tag.category == "constant" and len(path) > 1 and bool(_MEMBER.search(path[1].type))


def _value(tag: Tag, path: Path) -> bool:
    """Whether the name is assigned a value that is neither a function nor a class."""
    if tag.kind not in ("function", "method", "class"):
        return False
    for node in path[:4]:
        if node.type == "assignment_statement":  # Lua
            return all(value.type != "function_definition" for value in node.named_children[-1].named_children)
        if node.type in ("variable_declarator", "assignment_expression", "pair", "field"):
            value = node.child_by_field_name("right") or node.child_by_field_name("value")
            return value is not None and not _FUNCTION_VALUE.search(value.type)
    return False


def _use(tag: Tag, path: Path) -> bool:
    """Whether the syntax tree shows that the name is used here and not defined."""
    # Where the parser stumbled, and inside a directive, the tree proves nothing.
    if any(node.is_error or node.type.startswith("preproc_call") for node in path) or any(
        node.has_error for node in path[1:4] if node.parent
    ):
        return False
    if path[0].type in _DEFINERS:
        return not any(node.type in _DEFINERS[path[0].type] for node in path[1:3])
    # A name may be a token inside the node that is the name: the `==` of `operator ==`.
    while len(path) > 1 and path[0].byte_range == path[1].byte_range:
        path = path[1:]
    for node, parent in pairwise(path):
        field = _field(parent, node)
        if field is None and _UNNAMED_FIELD.search(parent.type) and parent.child_by_field_name("name") is None:
            # A typed parameter of a lambda is one in Kotlin's grammar; ctags calls it a method.
            return parent.type == "variable_declaration" and tag.kind not in _VARIABLES
        if field == "key" and parent.type == "pair_pattern":  # the `a` of `const { a: b } = c`
            return True
        if (field in _NAMING and not _USING.search(parent.type)) or (field == "left" and "assignment" in parent.type):
            return False
        if not _BETWEEN.search(parent.type):
            return True
    return True


def _field(parent: Node, child: Node) -> str | None:
    for index, other in enumerate(parent.children):
        if other.id == child.id:
            return parent.field_name_for_child(index)
    return None


RULES: tuple[Rule, ...] = (
    Rule("anonymous", "ctags makes up names (`__anon…`, `AnonymousFunction…`) for what has none", by_tag=_anonymous),
    Rule("blank", "`_` names nothing (Go)", by_tag=_blank),
    Rule(
        "line",
        "ctags names the line of the token after the name (`extends` on the next line); Sage has the right one",
        by_tag=_line,
    ),
    Rule(
        "clause",
        "a further clause or equation of a function, which Sage lists once, at the first or at the signature",
        by_tag=_clause,
    ),
    Rule("computed", "`def unquote(name)(x)`: only the compiler knows the name (Elixir)", by_tag=_computed),
    Rule(
        "misread",
        "ctags cuts `A.B` short, takes types and the keyword `pattern` for functions (Haskell), braces and options "
        "for names (shells), `nonrec`, `open` and `()` for names (OCaml)",
        by_tag=_misread,
    ),
    Rule("text", "the name stands in a string, comment, heredoc or regular expression", by_place=_text),
    Rule("import", "the name is imported (`require` too) or exported here, not defined", by_place=_import),
    Rule("local", "a variable or parameter inside a function or callback is a local", by_place=_local),
    Rule("member", "a key of an object literal or type literal is no constant of the module", by_place=_member),
    Rule(
        "value",
        "ctags takes a name for a function, method or class whose value is neither: an object literal, a number, "
        "the result of a call (JavaScript, Lua)",
        by_place=_value,
    ),
    Rule(
        "use",
        "in the syntax tree the name is no definition's name here: an argument, a type, a keyword, a call; "
        "or it does not stand on that line at all",
        by_place=_use,
    ),
)


def excuse(tag: Tag, view: FileView) -> str:
    """The name of the rule that excuses the tag, or nothing."""
    for rule in RULES:
        if rule.by_tag is not None and rule.by_tag(tag, view):
            return rule.name
    excuses = [_excuse_place(tag, path, view.language.name) for path in view.places(tag)]
    if not excuses:
        return "use"
    return excuses[0] if all(excuses) else ""


def _excuse_place(tag: Tag, path: Path, language: str) -> str:
    for rule in RULES:
        proves = rule.name != "use" or language not in _NO_FIELDS
        if rule.by_place is not None and proves and rule.by_place(tag, path):
            return rule.name
    return ""
