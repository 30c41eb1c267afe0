"""The colours of a text, from the leaves of its syntax tree: about twenty rules on node types, for every grammar.

A text without a tree is coloured by its comments, strings and numbers. Spans are (start, end, colour) in bytes, in
order and without overlaps; text that no span covers has no colour.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from sage_code.languages.table import Language

if TYPE_CHECKING:
    from tree_sitter import Tree

Span = tuple[int, int, str]
COMMENT, STRING, NUMBER, KEYWORD = "comment", "string", "number", "keyword"
TYPE, FUNCTION, CONSTANT, OPERATOR = "type", "function", "constant", "operator"
# Walking 10,000 lines takes a tenth of a second; what is not reached in time has no colour.
WALK_S = 1.0
_LOOK_AT_CLOCK = 4096

# A node of these types is one leaf, whatever its grammar divides it into.
_COMMENT = re.compile(r"comment|^haddock|^shebang|^hash_bang", re.IGNORECASE)
_STRING = re.compile(
    r"string|^char|char_literal|character_literal|rune_literal|heredoc_body|nowdoc|regex|template_literal|_text$"
    r"|attribute_value|code_fence_content|quoted|^text_block|plain_scalar",
    re.IGNORECASE,
)
_NOT_A_STRING = re.compile(r"^string_(type|array)|concatenated_string|command_string|string_keyword", re.IGNORECASE)
# Inside of a string, these are code again.
_INTERPOLATED = re.compile(
    r"interpolation$|^interpolation|substitution|embedded_expression|template_sub", re.IGNORECASE
)
_NUMBER = re.compile(r"integer|float|number|decimal|numeric|int_literal|real_literal|^hex_|_number$", re.IGNORECASE)
_CONSTANT = re.compile(
    r"^(true|false|null|none|nil|undefined|nullptr|boolean|bool|boolean_literal|null_literal|iota)$", re.IGNORECASE
)
_WORD_LEAF = re.compile(r"^(this|self|super|primitive_type|predefined_type|builtin_type|void_type|integral_type|auto)$")
_TYPE = re.compile(r"type_identifier|^primitive_type|predefined_type|builtin_type|void_type|_type_name$|^type_name$"
                   r"|integral_type|floating_point_type|boolean_type|^class_name$|^namespace_identifier$")  # fmt: skip
_NAME = re.compile(r"identifier|^name$|^constant$|^word$|variable|^(bare_|dotted_|simple_)?key|_name$|^symbol$")
_DEFINES_TYPE = re.compile(r"class|struct|interface|trait|enum|union|type_alias|protocol|record|object_declaration|mod")
_DEFINES_FUNCTION = re.compile(
    r"function|method|constructor|macro_definition|subroutine|^def|procedure|fun_", re.IGNORECASE
)
_CALL = re.compile(
    r"call|invocation|^new_expression|decorator|macro_inv|object_creation|^annotation$|^command$", re.IGNORECASE
)
_CALLED_FIELDS = frozenset({"function", "method", "name", "constructor", "macro", "callee"})
_MEMBER = re.compile(r"attribute|member|field_expression|selector|scoped_identifier|navigation|qualified|dot_expr")
_IN_TYPE = re.compile(r"^type$|type_annotation|generic_type|type_arg|user_type|nullable_type|union_type|type_list")
_UPPER = re.compile(rb"_*[A-Z][A-Z0-9_]+")
_ALPHABETIC = re.compile(r"[#@]?[A-Za-z_][\w-]*(?: [a-z]+)*[!?]?$|^#\w+$")
_OPERATOR = re.compile(r"[-+*/=<>!&|^%~?:@.$\\]+$")
# Words that a grammar has no node for, but that everybody expects to see.
_TAG = re.compile(r"^(tag_name|element_name|directive_name|at_keyword|section_name)$")
_KEY_PARENTS = re.compile(r"^(pair|block_mapping_pair|flow_pair|key|attribute|declaration|setting|object_field)$")
_HEADING = re.compile(r"^(atx_heading|setext_heading|title|section_header)")


def colours(tree: Tree, source: bytes, start: int, end: int) -> list[Span]:
    """The spans of a part of a source."""
    found: list[Span] = []
    for first, last, colour in _leaves(tree, source, start, end):
        if found and found[-1][2] == colour and found[-1][1] == first:
            found[-1] = (found[-1][0], last, colour)
        else:
            found.append((first, last, colour))
    return found


def _leaves(tree: Tree, source: bytes, start: int, end: int) -> Iterator[Span]:
    """The coloured leaves between two offsets. The cursor goes down by offset, so a late part costs as an early one."""
    cursor = tree.walk()
    # Of the nodes around the cursor: type, field, and whether text here is that of a string.
    types, fields, strings = [cursor.node.type if cursor.node else ""], [""], [False]
    until, steps = time.monotonic() + WALK_S, 0
    while True:
        node = cursor.node
        if node is None or node.start_byte >= end:
            return
        steps += 1
        if steps % _LOOK_AT_CLOCK == 0 and time.monotonic() > until:
            return
        kind = types[-1]
        whole = _whole(kind)
        if not whole and cursor.goto_first_child_for_byte(start) is not None:
            inner = cursor.node
            types.append(inner.type if inner else "")
            fields.append(cursor.field_name or "")
            strings.append(_is_text(kind, strings[-1]))
            continue
        if node.end_byte > start and node.end_byte > node.start_byte:
            colour = whole or _colour(node.start_byte, node.end_byte, node.is_named, types, fields, strings[-1], source)
            if colour:
                yield node.start_byte, node.end_byte, colour
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return
            types.pop()
            fields.pop()
            strings.pop()
        node = cursor.node
        types[-1], fields[-1] = node.type if node else "", cursor.field_name or ""


@lru_cache(4096)
def _whole(kind: str) -> str:
    """The colour of a node that is one leaf, with all that is in it."""
    return COMMENT if _COMMENT.search(kind) and not kind.endswith("comment_block_list") else ""


@lru_cache(8192)
def _is_text(kind: str, is_around: bool) -> bool:
    """Whether the leaves of a node are the text of a string."""
    if _INTERPOLATED.search(kind):
        return False
    return is_around or (_STRING.search(kind) is not None and not _NOT_A_STRING.search(kind))


def _colour(
    first: int, last: int, is_named: bool, types: list[str], fields: list[str], is_text: bool, source: bytes
) -> str:
    """The colour of a leaf, by its type, its field and what is around it."""
    kind, around = types[-1], types[-2] if len(types) > 1 else ""
    if not is_named:
        return STRING if is_text else _anonymous(kind, around)
    colour = _named(kind, is_text, around)
    if colour != "name":
        return colour
    field = fields[-1]
    role = _role(field, around, fields[-2] if len(types) > 2 else "", types[-3] if len(types) > 2 else "")
    if role:
        return role
    return CONSTANT if _UPPER.fullmatch(source, first, last) else ""


@lru_cache(4096)
def _anonymous(kind: str, around: str) -> str:
    if _ALPHABETIC.match(kind):
        if _TYPE.search(around):
            return TYPE
        return CONSTANT if _CONSTANT.match(kind) else KEYWORD
    if kind in ('"', "'", "`", '"""', "'''"):
        return STRING
    return OPERATOR if _OPERATOR.match(kind) and kind not in (".", ":", "::") else ""


@lru_cache(8192)
def _named(kind: str, is_text: bool, around: str) -> str:
    """The colour of a named leaf; `name` if that depends on where it is."""
    if is_text or (_STRING.search(kind) and not _NOT_A_STRING.search(kind)):
        return STRING
    if _CONSTANT.match(kind):
        return CONSTANT
    if _NUMBER.search(kind):
        return NUMBER
    if _TYPE.search(kind):
        return TYPE
    if _WORD_LEAF.match(kind) or _TAG.match(kind):
        return KEYWORD
    if kind == "inline" and _HEADING.match(around):
        return FUNCTION
    if kind.endswith(("attribute_name", "property_name", "field_name")) and kind != "field_name":
        return TYPE
    return "name" if _NAME.search(kind) else ""


@lru_cache(16384)
def _role(field: str, around: str, outer_field: str, outer: str) -> str:
    """The colour of a name by its field in the node around it, and that one's in the next."""
    if field == "name" and _DEFINES_FUNCTION.search(around):
        return FUNCTION
    if field == "name" and _DEFINES_TYPE.search(around):
        return TYPE
    if field == "declarator" and "function" in around:
        return FUNCTION
    is_called = _CALL.search(around) and (field in _CALLED_FIELDS or not field) and "argument" not in around
    if is_called and (field or around == "decorator"):
        return FUNCTION
    if field in ("attribute", "property", "field", "name", "suffix") and _MEMBER.search(around):
        return FUNCTION if outer_field in _CALLED_FIELDS and _CALL.search(outer) else ""
    if _IN_TYPE.search(around) or field in ("type", "return_type"):
        return TYPE
    if field == "key" or (_KEY_PARENTS.match(around) and not field):
        return TYPE
    return ""


def plain_colours(source: bytes, language: Language | None) -> list[Span]:
    """The comments, strings, numbers, keys, tags or headings of a text without a tree."""
    if language is None:
        return []
    pattern = _plain_pattern(language)
    return [(found.start(), found.end(), found.lastgroup or "") for found in pattern.finditer(source)]


# Every pattern is tried at each place of a hostile file: what may have no end runs to the end of the text, or not far.
_MARKUP_COMMENT = rb"<!--(?s:.*?)(?:-->|\Z)"
# Prose: headings and quoted code; an apostrophe begins no string.
_PROSE = (
    rb"(?P<function>(?m:^)(?:#{1,6}|=+|\*+) [^\n]*)|(?P<string>``?[^`\n]{1,300}``?)|(?P<comment>%s)" % _MARKUP_COMMENT
)
_PROSE_LANGUAGES = frozenset({"markdown", "rst", "asciidoc", "org", "latex", "typst", "bibtex"})
_DOUBLE_QUOTED, _SINGLE_QUOTED = rb"\"(?:[^\"\\\n]|\\.){0,300}\"", rb"'(?:[^'\\\n]|\\.){0,300}'"
_NUMBERS = rb"(?P<number>(?<![\w.-])\d[\d_]*(?:\.\d+)?\b)"
# Words at the beginning of a line, or of a tag.
_HEADS = {
    "yaml": rb"(?P<type>(?m:^)[ \t]*(?:- +){0,8}[\w./-]{1,120}(?=[ \t]{0,8}:(?:\s|\Z)))",
    "ini": rb"(?P<keyword>(?m:^)\[[^\]\n]*\])|(?P<type>(?m:^)[ \t]*[\w.-]{1,120}(?=[ \t]{0,8}[=:]))",
    "markup": rb"(?P<keyword></?[A-Za-z][\w:.-]*)",
    "dockerfile": rb"(?P<keyword>(?m:^)[ \t]*[A-Z]{3,}\b)",
}
_HEAD_OF = {"properties": "ini", **dict.fromkeys(("html", "vue", "svelte", "astro", "xml", "twig", "erb"), "markup")}
# `'a` is a type in F#, and text has apostrophes.
_NO_SINGLE_QUOTES = frozenset({"fsharp", "html", "vue", "svelte", "astro", "xml", "twig", "erb", "dockerfile"})


@lru_cache(256)
def _plain_pattern(language: Language) -> re.Pattern[bytes]:
    """Comments as the language's table writes them; strings end at the end of their line."""
    if language.name in _PROSE_LANGUAGES:
        return re.compile(_PROSE)
    comments = [_MARKUP_COMMENT]
    if language.block_comments:
        opening, closing = (re.escape(mark.encode()) for mark in language.block_comments)
        comments.append(opening + rb"(?s:.*?)(?:%s|\Z)" % closing)
    if language.line_comments:
        markers = b"|".join(re.escape(marker.encode()) for marker in language.line_comments)
        comments.append(rb"(?:(?<=\s)|(?<![^\n]))(?:%s)[^\n]*" % markers)
    quoted = _DOUBLE_QUOTED if language.name in _NO_SINGLE_QUOTES else _DOUBLE_QUOTED + b"|" + _SINGLE_QUOTED
    head = _HEADS.get(_HEAD_OF.get(language.name, language.name))
    parts = [
        rb"(?P<comment>%s)" % b"|".join(comments),
        *([head] if head else []),
        rb"(?P<string>%s)" % quoted,
        _NUMBERS,
    ]
    return re.compile(b"|".join(parts))
