"""Blanks the macros of C, C++ and Objective-C that a grammar without a preprocessor cannot read.

A macro can be anywhere: before a type, between a type and a name, after the parameters, alone on its line. What it
expands to is unknown. The patterns recognise that, for example, three names in a row are no declaration, and which of
the three is the macro.
"""

from __future__ import annotations

import re

from sage_code.parse.blanking import blank

# Macros are written LIKE_THIS, with or without arguments; arguments may hold one more pair of parentheses.
_ARGUMENTS = rb"[ \t]*\((?:[^(){};]|\([^(){};]*\))*\)"
_WORD = rb"[A-Z][A-Z0-9_]{2,}"
_MACRO = _WORD + rb"(?:" + _ARGUMENTS + rb")?"
_CALL = _WORD + _ARGUMENTS
_STORAGE = rb"(?:static|extern|inline|const|volatile|register)\b"
_STORAGES = rb"^(?:[ \t]*" + _STORAGE + rb")*[ \t]*"
_KEYWORD = (
    rb"(?:static|extern|inline|const|volatile|register|auto|typedef|struct|union|enum|class|unsigned|signed|void|char"
    rb"|short|int|long|float|double|return|goto|else|case|do|new|delete|using|namespace|template|typename|public|private"
    rb"|protected|friend|virtual|explicit|constexpr|operator|throw|co_\w+|import|module|export)\b"
)
_DECORATIONS = (
    # class EXPORT Name {
    re.compile(rb"\b(?:class|struct|union)\s+(" + _MACRO + rb")\s+(?=[A-Za-z_][\w:]*\s*(?:final\s*)?[:{])"),
    # int f(void) __attribute ((pure));
    re.compile(rb"\b(__attribute(?:__)?[ \t]*\(\((?:[^(){};]|\([^(){};]*\))*\)\))"),
    # void lock() EXCLUSIVE_LOCK(mu) {
    re.compile(rb"\)(?:\s*(?:const|noexcept|override|final))*[ \t]+(" + _MACRO + rb")\s*(?=[{;])"),
    # int counter GUARDED_BY(mu);
    re.compile(rb"[\w\]>][ \t]+(" + _CALL + rb")\s*(?=[;={])"),
    # DECLARE_FLAG(int, size, 8);
    re.compile(rb"^[ \t]*(" + _CALL + rb")[ \t]*;", re.MULTILINE),
    # rb_gen(static, tree_, node);
    re.compile(rb"^([a-z_]\w*" + _ARGUMENTS + rb")[ \t]*;", re.MULTILINE),
    # The same without a semicolon, between blank lines.
    re.compile(
        rb"(?:(?<=\n\n)|(?<=[;}]\n))([a-z_]\w*" + _ARGUMENTS + rb")[ \t]*\n(?=[ \t]*(?:\n|\Z))",
    ),
    # static DEFINE_PATH(a, b), with neither a semicolon nor a body
    re.compile(rb"^((?:" + _STORAGE + rb"[ \t]+)*" + _CALL + rb")[ \t]*$(?!\s*[{(])", re.MULTILINE),
    # typedef int CALLBACK(name)(int); typedef int (WINAPI *name)(int);
    re.compile(rb"\btypedef\b[^;{}()]{0,200}?\b(" + _WORD + rb")[ \t]*(?=\([ \t]*\**[ \t]*\w+[ \t]*\)\s*\()"),
    re.compile(rb"[\w*][ \t]*\([ \t]*(" + _WORD + rb")[ \t]*(?=\*+[ \t]*\w+[ \t]*\)\s*\()"),
    # typedef list_of(int) name;
    re.compile(rb"\btypedef[ \t]+\w+(\([\w \t*]*\))[ \t]+(?=\w+[ \t]*;)"),
    # char names[] = FIRST_NAME SECOND_NAME LAST_NAME;
    re.compile(rb"=\s*((?:[A-Za-z_]\w*\s+){2,60})[A-Za-z_]\w*\s*;"),
    # G_BEGIN_DECLS, NS_ASSUME_NONNULL_END
    re.compile(rb"^[ \t]*(\w*(?:ASSUME_NONNULL_(?:BEGIN|END)|(?:BEGIN|END)_DECLS?))[ \t]*$", re.MULTILINE),
    # - (void)run NS_UNAVAILABLE;  @property int x API_AVAILABLE(ios(9));
    re.compile(
        rb"^[ \t]*(?:[-+][ \t]*\(|@property\b)[^;{}]{0,1000}?[\w)][ \t]+(%b(?:[ \t]+%b)*)[ \t]*;" % (_MACRO, _MACRO),
        re.MULTILINE,
    ),
    # API_AVAILABLE(ios(9)) before @interface
    re.compile(rb"^[ \t]*(" + _MACRO + rb")\s+(?=@(?:interface|protocol)\b)", re.MULTILINE),
)
# Several of these may follow one another; each round removes one.
_ROUNDS = 4
_IN_A_ROW = (
    # void WINAPI f(, int INTERNAL x = 1;
    re.compile(
        _STORAGES + rb"(?!" + _STORAGE + rb"|(?:typedef|struct|union|enum|class|return|case|else|goto)\b)"
        rb"\w++[ \t*]++(" + _MACRO + rb")[\s*]++(?=[A-Za-z_]\w*[ \t]*[(=;\[])",
        re.MULTILINE,
    ),
    # EXPORT int f(, EXPORT List *(*f)(
    re.compile(
        _STORAGES + rb"(" + _MACRO + rb")\s++"
        rb"(?=(?:[A-Za-z_]\w*+[\s*&]++){1,6}(?:[A-Za-z_][\w:]*[ \t]*|\([ \t]*\*[ \t]*\w+[ \t]*\)[ \t]*)\()",
        re.MULTILINE,
    ),
    # local Table table[9];
    re.compile(
        rb"^(?:" + _STORAGE + rb"[ \t]+)*(?!" + _KEYWORD + rb")([A-Za-z_]\w*)[ \t]+(?!" + _KEYWORD + rb")"
        rb"(?=[A-Za-z_]\w*[ \t]+\**(?!" + _KEYWORD + rb")[A-Za-z_]\w*[ \t]*[=;\[])",
        re.MULTILINE,
    ),
    # A line between `static int` and `f (`: internal_function
    re.compile(
        rb"^[ \t]*(?!(?:static|extern|inline)[ \t]*$)\w[\w \t*]*\n\s*(?!" + _KEYWORD + rb"|\w+_t\b)([a-z_]\w*)[ \t]*\n"
        rb"(?=[ \t]*\w+[ \t]*\()",
        re.MULTILINE,
    ),
    # Alone on their lines between statements or fields: DIAGNOSTIC_POP. A type before `f (` is none.
    re.compile(
        rb"(?:\A\s*+|(?:[;}]|\b(?:struct|union)\b[^;{}()]{0,200}\{)[ \t\r]*+\n\s*+)"
        rb"((?:" + _MACRO + rb"[ \t\r]*+(?:\n\s*+|\Z))+)(?![={(,:]|\w+\s*\()",
    ),
)
# enum { OPTION(NAME_A, 1): the first argument is the name if it looks like one.
_ENUM_BODY = re.compile(rb"\benum\b[^;{}()]{0,200}\{([^{}]*)\}")
_ENUMERATOR = re.compile(
    rb"((?:^|,)\s*" + _WORD + rb"[ \t]*\([ \t]*)([A-Z0-9]+_\w+)?([^(),]*(?:,[^()]*)?\))(?=\s*(?:,|$))"
)
# typedef NS_ENUM(NSInteger, Kind) { ... };
_OBJC_ENUM = re.compile(
    rb"\b(?:typedef\s+)?(?:NS|CF)_\w*(?:ENUM|OPTIONS)[ \t]*\([^(),;{}]*,\s*(\w+)[ \t]*(\))(?=\s*\{)"
)
# FOUNDATION_EXPORT NSString * const Name;
_OBJC_EXTERN = re.compile(rb"\b(?:FOUNDATION_EXPORT|[A-Z]+_EXTERN)\b(?=[ \t]+\w)")


def blank_macros(out: bytearray, code: bytearray) -> None:
    """Blank the macros in a source and in `code`, the same without comments, strings and directives."""
    for found in _OBJC_EXTERN.finditer(bytes(code)):
        for text in (out, code):
            text[slice(*found.span())] = b"extern".ljust(found.end() - found.start())
    for found in _OBJC_ENUM.finditer(bytes(code)):
        for text in (out, code):
            blank(text, found.start(), found.start(1))
            blank(text, *found.span(2))
            text[found.start() : found.start() + 5] = b"enum "
    for body in _ENUM_BODY.finditer(bytes(code)):
        for found in _ENUMERATOR.finditer(body[1]):
            for text in (out, code):
                # The comma before it stays.
                blank(text, body.start(1) + found.start(1) + 1, body.start(1) + found.end(1))
                blank(text, body.start(1) + found.start(3), body.start(1) + found.end(3))
    for pattern in _DECORATIONS:
        _blank_matches(pattern, out, code)
    for _ in range(_ROUNDS):
        if not sum(_blank_matches(pattern, out, code) for pattern in _IN_A_ROW):
            break


def _blank_matches(pattern: re.Pattern[bytes], out: bytearray, code: bytearray) -> int:
    count = 0
    for found in pattern.finditer(bytes(code)):
        blank(out, *found.span(1))
        blank(code, *found.span(1))
        count += 1
    return count
