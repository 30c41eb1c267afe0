"""Parses one file: `parse(source, language)` gives its symbols, its references and its borders.

The query of a language (`grammars/<language>/definitions.scm`) marks the definitions. The rules that hold for all
languages are here, applied in one pass over the matches in source order:

    @definition.<kind> + @name   a symbol; if two patterns match one name, the pattern written first wins
    @ignore + @name              no symbol, although a later pattern matches it (`extern int x;`)
    @scope                       the name of the owner, if the owner does not enclose it (Go receivers, C++ A::b)
    @container + @name           no symbol, but its name qualifies the definitions inside it (Rust `impl`)
    @owner                       with a definition whose kind opens no scope: it owns the definitions inside it all the
                                 same (a Go or C field of an unnamed struct type)
    @leaf                        with a definition whose kind opens a scope: it owns no definitions
    @inner                       a name visible in its own body only; not repeated if its owner has the same name
    @local                       an anonymous function: variables assigned inside are local
    @attribute                   decorators, annotations, `template <...>`: in the span, not in the signature; nothing
                                 inside is a definition
    @declarator                  instead of @name, a declarator of C or C++: see `parse.declarators`
    @prefix                      goes before the name: the `operator` of `operator +`
    @toplevel                    an anonymous function that wraps a whole file: variables assigned inside are global
    @body                        where the signature ends, if not at the node's own `body` field; if it follows the
                                 node, the definition reaches to its end (Dart, Kotlin's getters)
    @clause                      one of several equations or clauses (or the type signature) of a function: neighbours
                                 with one name and equally many children here are one symbol, the first
    @absolute                    the name and its owner are complete: no enclosing scope qualifies them
    @rest                        `package A;` owns all that follows, to the end of the enclosing scope
    @doc                         a documentation string, of the definition or of the definition below an @attribute

Markup and data need no grammar: their row names one of `parse.readers`, which replaces all this.

No step recurses over the tree or asks a node for its parent or sibling, since tree-sitter would walk down from the root
for the answer. So the cost stays linear for a file with 100,000 statements or 10,000 brackets.
"""

from __future__ import annotations

import re
import time
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from tree_sitter import Node

from sage_code.languages.table import Language, by_name
from sage_code.parse.borders import tree_borders
from sage_code.parse.comments import LinesAbove, body_docstring, string_text
from sage_code.parse.declarators import declared_name, split_qualified
from sage_code.parse.grammar import Match, matches, parse_tree, queries
from sage_code.parse.indentation import IndentedBlocks
from sage_code.parse.parsed import ParsedFile
from sage_code.parse.preprocessor import preprocessed
from sage_code.parse.readers import READERS
from sage_code.parse.references import references
from sage_code.values import Symbol

# A file of 2 MB takes a third of a second; a file that needs ten times that is data or an attack on the grammar.
BUDGET_S = 5.0
SIGNATURE_CHARS = 300
# A longer "name" is an expression, or the rest of a string that is not closed.
_NAME_BYTES = 500
# With classes nested ten thousand deep, the qualified names would take gigabytes.
_QUALNAME_CHARS = 1000

_CLASS_LIKE = frozenset({"class", "struct", "interface", "trait", "enum", "union", "container"})
_FUNCTION_LIKE = frozenset({"function", "method", "constructor", "local"})
_SCOPES = _CLASS_LIKE | _FUNCTION_LIKE | {"section", "rule", "message", "service", "module"}
_VARIABLES = frozenset({"variable", "field"})
_LOCAL_KINDS = _VARIABLES | {"constant"}
_NEEDS_SEMICOLON = frozenset({"definition.variable", "definition.field", "definition.type"})
_SEMICOLON = ord(";")
# `const int x` is a constant; `const char *x` is not, and neither is a `const` field that each object sets.
_CONST = re.compile(r"\b(?:const|constexpr)\b[^*={};]*(?:=|$)")
_OF_THE_CLASS = re.compile(r"\b(?:static|constexpr)\b")
_KIND_IN_CLASS = {"function": "method", "variable": "field"}

# Lower-case words before a definition on its line are part of its signature: `export default`, `const`, `typedef`.
_MODIFIERS = re.compile(rb"\s*[a-z][a-z ]*$")
_MODIFIERS_BYTES = 120  # a definition further right is on a minified line, which must not be copied for every name
_SIGNATURE_TAIL = re.compile(r"\s*(\{|:|=>|=|;|\bdo)$")
_OWNER = re.compile(r"[\w$.]+(?:-[\w$.]+)*")
# These parts of an owner's name are dropped: `exports.run`, `Foo.prototype.bar`, `List<T>::size`.
_SCOPE_NOISE = re.compile(r"<[^>]*>|\.prototype\b|^(module\.)?exports\b|^(this|self)\b|\s+|^::")
# `Type` of `impl<'a> Trait for &'a mut path::Type<T>`, `Outer.Inner` of `extension Outer.Inner`.
_TYPE_NAME = re.compile(r"(?<!')(?!(?:dyn|mut|const|impl)\b)\b\w+(?:\.\w+)*\b(?!::)")
_ROLE = re.compile(r"definition\.|container$|local$|attribute$|toplevel$|ignore$")


def parse(source: bytes, language: Language, budget_s: float = BUDGET_S) -> ParsedFile | None:
    """`source` (valid UTF-8) parsed, or None if the language has no query or the time limit passed."""
    if not language.has_definitions:
        return None
    if language.reader:
        return READERS[language.reader](source, partial(_parse_inside, deadline=time.monotonic() + budget_s))
    queries(language)  # compiled before the clock starts, or the first file of a language could miss its limit
    deadline = time.monotonic() + budget_s
    tree = parse_tree(source, language, budget_s)
    in_time = time.monotonic() < deadline - budget_s / 2
    if tree is not None and tree.root_node.has_error and language.preprocessor and in_time:
        tree = parse_tree(preprocessed(source, language.preprocessor), language, deadline - time.monotonic())
    if tree is None:
        return None
    found = matches(tree, language, deadline - time.monotonic())
    if found is None:
        return None
    definitions, uses = found
    lines = source.split(b"\n")
    blocks = IndentedBlocks(lines) if language.offside and tree.root_node.has_error else None
    symbols = _Extraction(source, lines, language, blocks).run(definitions)[: language.max_symbols or None]
    return ParsedFile(symbols, partial(tree_borders, tree, lines), references(uses, source, lines, language, symbols))


def _parse_inside(source: bytes, name: str, deadline: float) -> ParsedFile | None:
    """Parse the part of a file that is in another language, for the reader that found it; None after the deadline."""
    language, left_s = by_name(name), deadline - time.monotonic()
    if language is None or language.reader or language.may_crash or left_s <= 0:
        return None
    return parse(source, language, left_s)


class _Record(NamedTuple):
    """A match, sortable into source order: an enclosing node comes before the nodes inside it."""

    start: int
    minus_end: int
    sequence: int
    kind: str
    node: Node
    name: Node | None
    captures: dict[str, list[Node]]


class _Scope(NamedTuple):
    start: int
    end: int
    prefix: str  # qualifies the names inside, and ends with a dot
    kind: str
    is_rest: bool = False  # it reaches to the end of the enclosing scope


class _Clause(NamedTuple):
    qualname: str
    arity: int
    symbol: int  # the index of its symbol


class _Extraction:
    """One pass over the matches of one file."""

    def __init__(self, source: bytes, lines: list[bytes], language: Language, blocks: IndentedBlocks | None) -> None:
        self.source = source
        self.language = language
        self.lines = lines
        self.blocks = blocks
        self.lines_above = LinesAbove(lines, language)

    def run(self, found: list[Match]) -> tuple[Symbol, ...]:
        """The symbols of the file, by start_line, then the longer first."""
        symbols: list[Symbol] = []
        scopes: list[_Scope] = [_Scope(-1, len(self.source) + 1, "", "")]
        clauses: dict[str, _Clause] = {}  # by the prefix of a scope: the last clause in it
        for record in self._ordered(found):
            start, end, kind = record.start, -record.minus_end, record.kind
            is_rest = "rest" in record.captures
            while scopes[-1].end <= start or (is_rest and scopes[-1].is_rest):
                scopes.pop()
            # Two names of one declaration have the same range: they are neighbours, not nested.
            is_neighbour = scopes[-1].start == start and scopes[-1].end == end
            outer = scopes[-2] if is_neighbour else scopes[-1]
            if record.name is None:
                # A function with a name needs no second scope.
                if not (is_neighbour and scopes[-1].kind in _FUNCTION_LIKE):
                    scopes.append(_Scope(start, end, outer.prefix, kind))
                continue
            if outer.kind == "constructor" and kind == "property":
                outer = scopes[-2]  # a parameter that declares a property of the class
            is_absolute = "absolute" in record.captures
            is_local = outer.kind in _FUNCTION_LIKE
            if is_local and kind in _LOCAL_KINDS and not is_absolute:
                continue
            owner, name = self._name(record)
            if is_local and kind == "function" and "declarator" in record.captures and name.isupper():
                continue  # a macro without a semicolon, which C's grammar reads as a function
            qualname = f"{'' if is_absolute else outer.prefix}{owner}{name}"
            if "inner" in record.captures and f".{outer.prefix}".endswith(f".{name}."):
                qualname = outer.prefix.removesuffix(".")
            is_owner = "owner" in record.captures
            if (is_owner or kind in _SCOPES) and not (is_neighbour or "leaf" in record.captures):
                prefix = f"{qualname}." if name and len(qualname) <= _QUALNAME_CHARS else outer.prefix
                scope_kind = "owner" if is_owner and kind not in _SCOPES else kind
                if is_rest:
                    end = outer.end
                elif self.blocks is not None:
                    row, column = record.name.start_point[0], record.node.start_point[1]
                    end = min(outer.end, max(end, self.blocks.end(row, column)))
                scopes.append(_Scope(start, end, prefix, scope_kind, is_rest))
            if kind == "container" or not name:
                continue
            clause = record.captures.get("clause")
            arity = clause[0].named_child_count if clause else -1
            last = clauses.get(outer.prefix)
            if clause and last and last[:2] == (qualname, arity):
                symbols[last.symbol] = replace(symbols[last.symbol], end_line=_last_row(record.node) + 1)
                continue
            clauses[outer.prefix] = _Clause(qualname, arity, len(symbols))
            kind = self._final_kind(kind, name, owner, outer)
            symbols.append(self._symbol(kind, name, qualname, record))
        symbols.sort(key=lambda symbol: (symbol.start_line, -symbol.end_line))
        return tuple(symbols)

    def _final_kind(self, kind: str, name: str, owner: str, outer: _Scope) -> str:
        """The kind with regard to the enclosing scope: a function in a class is a method."""
        if outer.kind in _CLASS_LIKE or owner:
            kind = _KIND_IN_CLASS.get(kind, kind)
            named_like_class = f".{outer.prefix}{owner}".endswith(f".{name}.")
            if kind == "method" and named_like_class and self.language.constructor_has_class_name:
                return "constructor"
        if self.language.upper_is_constant and kind in _VARIABLES and name.isupper():
            return "constant"
        return kind

    def _ordered(self, found: list[Match]) -> list[_Record]:
        """The matches as records in source order, one definition per name; attributes go to `lines_above`."""
        records: list[_Record] = []
        winner: dict[int, tuple[int, int]] = {}  # by the offset of a name: its pattern and its record
        wrappers: set[int] = set()
        attributes: list[tuple[int, int]] = []
        roles: dict[int, str] = {}  # by pattern: the one capture that says what the pattern finds
        for sequence, (pattern, captures) in enumerate(found):
            role = roles.get(pattern)
            if role is None:
                role = roles[pattern] = next(capture for capture in captures if _ROLE.match(capture))
            node = captures[role][0]
            if role == "attribute":
                self.lines_above.note_attribute(node, self._doc(captures))
                attributes.append((node.start_byte, node.end_byte))
                continue
            if role == "toplevel":
                wrappers.add(node.start_byte)
                continue
            name: Node | None = None
            if "name" in captures:
                name = captures["name"][0]
            elif "declarator" in captures:
                name = declared_name(captures["declarator"][0], role)
                # Without a semicolon it is no declaration: `EXPORT size_t` before `NOTHROW f(int)`.
                if name is None or (role in _NEEDS_SEMICOLON and self.source[node.end_byte - 1] != _SEMICOLON):
                    continue
            kind = role.removeprefix("definition.")
            end = max(node.end_byte, captures["body"][0].end_byte) if "body" in captures else node.end_byte
            record = _Record(node.start_byte, -end, sequence, kind, node, name, captures)
            if name is None or kind == "container":
                records.append(record)
                continue
            key = name.start_byte
            if key not in winner:
                winner[key] = (pattern, len(records))
                records.append(record)
            elif pattern < winner[key][0]:
                index = winner[key][1]
                winner[key] = (pattern, index)
                records[index] = record
        records = [
            record
            for record in records
            if record.kind != "ignore" and (record.kind != "local" or record.start not in wrappers)
        ]
        records.sort()
        return _outside(records, sorted(attributes))

    def _symbol(self, kind: str, name: str, qualname: str, record: _Record) -> Symbol:
        """The symbol of a record, with its documentation, signature and lines."""
        node = record.node
        assert record.name is not None
        (row, column), name_row = node.start_point, record.name.start_point[0]
        first_row, doc = self.lines_above.start_and_doc(row, name_row)
        doc = self._doc(record.captures) or doc
        body = record.captures["body"][0] if "body" in record.captures else node.child_by_field_name("body")
        if self.language.docstring_in_body and body is not None:
            doc = body_docstring(self.source, body.start_byte) or doc
        signature = self._signature(kind, record.start, -record.minus_end, body, row, column)
        if self.language.const_is_constant and kind in _VARIABLES and _CONST.search(signature):
            kind = "constant" if kind == "variable" or _OF_THE_CLASS.search(signature) else kind
        last_row = _last_row(body if body is not None and body.end_byte > node.end_byte else node)
        return Symbol(kind, name, qualname, name_row + 1, first_row + 1, last_row + 1, signature, doc)

    def _signature(self, kind: str, start: int, end: int, body: Node | None, row: int, column: int) -> str:
        """The head of a definition on one line: from its modifiers to its body, without attributes and comments."""
        if body is not None and body.start_byte > start:
            end = body.start_byte
        after = self.lines_above.after_attributes(self.source, start)
        prefix = b""
        if after != start:
            start = after
        elif 0 < column <= _MODIFIERS_BYTES and _MODIFIERS.match(before := self.lines[row][:column]):
            prefix = before
        # A character has four bytes at most; the rest of a huge literal is not decoded.
        text = (prefix + self.source[start : min(end, start + 4 * SIGNATURE_CHARS)]).decode("utf-8", "ignore")
        if body is None and kind in _CLASS_LIKE:
            text = text.partition("{")[0]
        if any(marker in text for marker in self.language.line_comments):
            text = self.lines_above.without_comments(text)
        text = _SIGNATURE_TAIL.sub("", " ".join(text.split()))
        return text if len(text) <= SIGNATURE_CHARS else text[: SIGNATURE_CHARS - 1] + "…"

    def _name(self, record: _Record) -> tuple[str, str]:
        """The owner that is written with the name, ending with a dot, and the name."""
        assert record.name is not None
        if record.name.end_byte - record.name.start_byte > _NAME_BYTES:
            return "", ""
        name, owner, plain = self._text(record.name), "", self.language.plain_names
        name = name.strip("`") if plain else name.removeprefix('@"').strip("\"'`:#")
        if record.kind == "container":
            if self._text(record.name)[:1] in "\"'":
                return "", name if _OWNER.fullmatch(name) else ""
            found = _TYPE_NAME.search(name)
            return "", _SCOPE_NOISE.sub("", found[0]).strip(".") if found else ""
        if "prefix" in record.captures:
            prefix = self._text(record.captures["prefix"][0])
            name = f"{prefix} {name}" if prefix.isalpha() and name[:1].isalpha() else f"{prefix}{name}"
        if self.language.name_noise:
            name = re.sub(self.language.name_noise, "", name)
        if "scope" in record.captures:
            owner = self._text(record.captures["scope"][0])[:_NAME_BYTES]
        elif plain:
            if record.kind in ("module", "namespace", "interface"):
                owner, _, name = name.rpartition(".")
        elif "::" in name or "(" in name or (name.endswith(">") and name[0].isalpha()):
            owner, name = split_qualified(name)
        if owner:
            owner = _SCOPE_NOISE.sub("", owner).replace("::", ".").strip(".")
            owner = f"{owner}." if _OWNER.fullmatch(owner) else ""
        return owner, name

    def _doc(self, captures: dict[str, list[Node]]) -> str:
        """The text of the documentation string that a match captures, or nothing."""
        return string_text(self._text(captures["doc"][0])) if "doc" in captures else ""

    def _text(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode("utf-8", "replace")


def _outside(records: list[_Record], attributes: list[tuple[int, int]]) -> list[_Record]:
    """The records that are not inside an attribute; both lists are in source order."""
    kept: list[_Record] = []
    index, inside = 0, -1  # the next attribute, and the end of all attributes that began before the record
    for record in records:
        while index < len(attributes) and attributes[index][0] <= record.start:
            inside = max(inside, attributes[index][1])
            index += 1
        if -record.minus_end > inside:
            kept.append(record)
    return kept


def _last_row(node: Node) -> int:
    row, column = node.end_point
    # A node that ends at column 0 includes the line break before.
    return row - 1 if column == 0 and row > node.start_point[0] else row
