"""When the referee is wrong: the rules by which `coverage.py` takes a tag out of the count, each with its reason.

A rule looks at the text of the file and at its syntax tree, never at what Sage's queries made of it. The one
exception, `line`, needs to know where Sage saw the name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tree_sitter import Node, Tree

from sage_code.languages import Language
from sage_code.parse.grammar import parse_tree
from sage_code.parse.preprocessor import simplified
from sage_code.values import Symbol


@dataclass(frozen=True, slots=True)
class Tag:
    """A definition as the referee sees it."""

    file: str
    line: int
    name: str
    kind: str
    category: str
    scope: str


class FileView:
    """A file as a rule sees it."""

    def __init__(self, source: bytes, language: Language, symbols: tuple[Symbol, ...]) -> None:
        self.source = source
        self.language = language
        self.symbols = symbols
        self._lines = source.split(b"\n")
        self._tree: Tree | None = None

    def line(self, number: int) -> str:
        """The text of a line."""
        return self._lines[number - 1].decode("utf-8", "replace") if number <= len(self._lines) else ""

    def places(self, tag: Tag) -> Iterator[list[Node]]:
        """Every place on the tag's line where its name stands: the node there and its ancestors, upwards."""
        if self._tree is None:
            self._tree = parse_tree(self.source, self.language, 10.0)
            if self._tree is not None and self._tree.root_node.has_error and self.language.preprocessor:
                self._tree = parse_tree(simplified(self.source, True), self.language, 10.0)
        assert self._tree is not None
        name = re.split(r"[.\s]", tag.name)[-1].encode()
        for found in re.finditer(rb"(?<!\w)" + re.escape(name) + rb"(?!\w)", self._lines[tag.line - 1]):
            node = self._tree.root_node.descendant_for_point_range(
                (tag.line - 1, found.start()), (tag.line - 1, found.end())
            )
            path = []
            while node is not None:
                path.append(node)
                node = node.parent
            yield path


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of tag that is no definition, and why."""

    name: str
    statement: str
    holds: Callable[[Tag, FileView], bool]


_ANONYMOUS = re.compile(r"__anon|anonymous", re.IGNORECASE)
_TEXT = re.compile(r"string|comment|heredoc|template_string|regex|\btext\b|raw_text|jsx_text")
# Code inside `${...}` and `#{...}` is code again.
_CODE_IN_TEXT = re.compile(r"substitution|interpolation")
_IMPORT = re.compile(r"import|use_declaration|using_directive|namespace_use|export_clause|export_specifier")
_FUNCTION = re.compile(
    r"function_(definition|declaration|expression|item|body)|generator_function|^method(_definition|_declaration)?$"
    r"|arrow_function|lambda|closure|func_literal|constructor_|accessor_|singleton_method|^compound_statement$"
    r"|class_static_block|anonymous_function"
)
# The fields under which grammars keep what a definition is called.
_NAMING = {"name", "left", "declarator", "property", "key", "pattern", "alias"}
_PATTERN = re.compile(r"pattern|declarator|_list$|variable_name|const_element|enum|left_assignment|expression_list")


def _anonymous(tag: Tag, _view: FileView) -> bool:
    return bool(_ANONYMOUS.match(tag.name))


def _in_text(tag: Tag, view: FileView) -> bool:
    return _everywhere(tag, view, _stands_in_text)


def _stands_in_text(path: list[Node]) -> bool:
    for node in path:
        if _CODE_IN_TEXT.search(node.type):
            return False
        if _TEXT.search(node.type):
            return True
    return False


def _imported(tag: Tag, view: FileView) -> bool:
    return _everywhere(tag, view, lambda path: any(_IMPORT.search(node.type) for node in path))


def _local(tag: Tag, view: FileView) -> bool:
    if tag.kind not in {"variable", "constant", "field", "property"}:
        return False
    return _everywhere(tag, view, lambda path: any(_FUNCTION.search(node.type) for node in path[1:]))


def _not_defined_here(tag: Tag, view: FileView) -> bool:
    return _everywhere(tag, view, lambda path: not _names_something(path))


def _names_something(path: list[Node]) -> bool:
    """Whether the first node stands where grammars keep the name of a definition."""
    for node, parent in zip(path, path[1:], strict=False):
        field = _field(parent, node)
        if field in _NAMING and not re.search(r"argument|attribute|parameter|access|call|member_exp", parent.type):
            return True
        if not _PATTERN.search(parent.type):
            return False
    return False


def _field(parent: Node, child: Node) -> str | None:
    for index, other in enumerate(parent.children):
        if other.id == child.id:
            return parent.field_name_for_child(index)
    return None


def _object_literal(tag: Tag, view: FileView) -> bool:
    if view.language.name != "javascript" or tag.kind != "class":
        return False
    return not re.search(rf"\b(class|function)\b.*|=>", view.line(tag.line))


def _prototype_value(tag: Tag, view: FileView) -> bool:
    if view.language.name != "javascript" or tag.kind != "method":
        return False
    return bool(re.search(rf"\.prototype\.{re.escape(tag.name)}\b(?!\s*=\s*\S*\w+)", view.line(tag.line))) or bool(
        re.search(rf"\.prototype\.{re.escape(tag.name)}\s*=\s*(\d|null|undefined|true|false|['\"\[{{])", view.line(tag.line))
    )


def _line(tag: Tag, view: FileView) -> bool:
    return any(
        symbol.name == tag.name and 0 < tag.line - symbol.line <= 3 and tag.name not in view.line(tag.line)
        for symbol in view.symbols
    )


def _everywhere(tag: Tag, view: FileView, holds: Callable[[list[Node]], bool]) -> bool:
    return all(holds(path) for path in view.places(tag))


RULES: tuple[Rule, ...] = (
    Rule("anonymous", "ctags makes up names (`__anon…`, `AnonymousFunction…`) for what has none", _anonymous),
    Rule("line", "ctags names the line of the token after the name (`extends` on the next line); Sage has it", _line),
    Rule("object", "ctags calls every object literal in JavaScript a class", _object_literal),
    Rule("value", "`Foo.prototype.a = 1` and a call of `Foo.prototype.a` define no method", _prototype_value),
    Rule("text", "the name stands in a string, comment, heredoc or regular expression", _in_text),
    Rule("import", "the name is imported or exported here, not defined", _imported),
    Rule("local", "a variable inside the body of a function or callback is a local", _local),
    Rule(
        "use",
        "in the syntax tree the name is no definition's name here: a parameter, an argument, a type, a keyword, "
        "a call, or it does not stand on that line at all",
        _not_defined_here,
    ),
)


def excuse(tag: Tag, view: FileView) -> str:
    """The name of the first rule that takes the tag out of the count, or nothing."""
    return next((rule.name for rule in RULES if rule.holds(tag, view)), "")
