"""The keys of data files: the top two levels of JSON and YAML, the sections and keys of INI, read without a grammar.

A repository may hold thousands of data files (translations, recordings, lock files), so they must cost little: deeper
levels are skipped with regular expressions, and a few hundred keys say what a file is about. Nothing here checks
whether a file is valid; unexpected text is skipped.
"""

from __future__ import annotations

import re
from dataclasses import replace

from sage_code.parse.borders import IndentBorders
from sage_code.parse.parsed import ParsedFile
from sage_code.values import Symbol

_MAX_KEYS = 300
# A longer key is a sentence: a translation file that uses its texts as keys.
_KEY_BYTES = 100
_SIGNATURE_BYTES = 120


# --- JSON ---------------------------------------------------------------------------------------------------

# All repetitions are possessive: each byte is read once, for any input.
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_COMMENT = rb"//[^\n]*+|/\*(?:[^*]++|\*(?!/))*+(?:\*/|\Z)"
JSON_TOKEN = re.compile(rb"(" + _STRING + rb")(\s*+:)?|([{}\[\]])|" + _COMMENT, re.DOTALL)
_BRACKET = re.compile(rb'(?:[^"{}\[\]/]++|' + _STRING + rb"|" + _COMMENT + rb"|/)*+([{}\[\]])", re.DOTALL)
_CLOSING = {b"{": b"}", b"[": b"]"}


def json_keys(source: bytes, _parse_inside: object = None) -> ParsedFile:
    """The keys of a JSON file's first value, comments allowed; objects inside arrays are items, not keys."""
    found: list[tuple[str, str, int, int]] = []  # name, qualname, where it starts, where it ends
    owner, opened = "", -1  # the key of the first level whose object is open
    last, last_at = "", -1
    position = depth = 0
    while len(found) < _MAX_KEYS and (token := JSON_TOKEN.search(source, position)) is not None:
        position = token.end()
        bracket = token[3]
        if bracket is None:
            if token[2] is None or not depth:
                continue
            if last_at >= 0:
                found.append((last, owner + last, last_at, token.start()))
            last, last_at = token[1][1:-1].decode("utf-8", "replace"), token.start(1)
        elif bracket == b"{" and depth < 2:
            depth += 1
            if depth == 2:
                if last_at < 0:
                    break
                owner, opened = f"{last}.", last_at
                last_at = -1
        elif bracket in b"{[":
            if not depth:
                break  # a list: it has items and no keys
            position = skip_value(source, position, last_at)
        else:
            if last_at >= 0:
                found.append((last, owner + last, last_at, token.start()))
                last_at = -1
            if depth == 2 and opened >= 0:
                found.append((owner[:-1], owner[:-1], opened, position))
                owner, opened = "", -1
            depth -= 1
            if depth <= 0:
                break
    if opened >= 0:
        found.append((owner[:-1], owner[:-1], opened, position))
    return ParsedFile(_key_symbols(source, found), IndentBorders(source))


def skip_value(source: bytes, position: int, key_at: int = 0) -> int:
    """The offset after the value that opens before `position`: its bracket is the value of the key at `key_at`."""
    indent = source[source.rfind(b"\n", 0, key_at) : key_at] if key_at else b""
    if source.startswith(indent + b" ", position) and indent.isspace():
        # In a formatted file the closing bracket is indented like the key, and no string holds a line break.
        closing = indent + _CLOSING[source[position - 1 : position]]
        if (end := source.find(closing, position)) >= 0:
            return end + len(closing)
    depth = 1
    while depth and (found := _BRACKET.match(source, position)) is not None:
        position = found.end()
        depth += 1 if found[1] in b"{[" else -1
    return position if not depth else len(source)


def _key_symbols(source: bytes, found: list[tuple[str, str, int, int]]) -> tuple[Symbol, ...]:
    """JSON keys with their offsets as symbols with lines, in the order of the file."""
    found.sort(key=lambda key: key[2])
    symbols = []
    position = row = 0
    for name, qualname, start, end in found:
        row += source.count(b"\n", position, start)
        position = start
        if not name or len(name) > _KEY_BYTES:
            continue
        # A value ends before a comma or a bracket, perhaps after a line break.
        end_row = row + source[start:end].rstrip(b" \t\r\n,").count(b"\n")
        signature = source[start : start + _SIGNATURE_BYTES].split(b"\n", 1)[0].decode("utf-8", "ignore")
        symbols.append(Symbol("key", name, qualname, row + 1, row + 1, end_row + 1, signature.strip(" \t\r,{[")))
    return tuple(symbols)


# --- INI and properties -------------------------------------------------------------------------------------

_INI_LINE = re.compile(rb"^[ \t]*+(?:\[(?P<section>[^\]\n]++)\]|(?P<key>[\w.$*/\"'-][^=:\n]*+)[=:])", re.MULTILINE)


def ini_keys(source: bytes, _parse_inside: object = None) -> ParsedFile:
    """Sections and their keys: `[section]`, `key = value`, `key: value`; `a.b` is a key `b` owned by `a`."""
    lines = source.split(b"\n")
    symbols: list[Symbol] = []
    last = len(lines) - (not lines[-1])
    owner, opened = "", -1  # the open section and its index
    position = row = 0
    for line in _INI_LINE.finditer(source):
        if len(symbols) >= _MAX_KEYS:
            break
        row += source.count(b"\n", position, line.start())
        position = line.start()
        text = (line["section"] or line["key"] or b"").strip()
        if not text or len(text) > _KEY_BYTES or (row and lines[row - 1].endswith(b"\\")):
            continue
        name = text.decode("utf-8", "replace")
        signature = lines[row][:_SIGNATURE_BYTES].decode("utf-8", "ignore").strip()
        if line["section"]:
            if opened >= 0:
                symbols[opened] = replace(symbols[opened], end_line=row)
            owner, opened = f"{name}.", len(symbols)
            symbols.append(Symbol("section", name, name, row + 1, row + 1, last, signature))
        elif line["key"][:1] != b" ":
            symbols.append(
                Symbol("key", name.rpartition(".")[2] or name, owner + name, row + 1, row + 1, row + 1, signature)
            )
    return ParsedFile(tuple(symbols), IndentBorders(source))


# --- YAML ---------------------------------------------------------------------------------------------------

# A line that counts for the two upper levels: `- item`, `key: value`, or the mark between two documents.
_YAML_LINE = re.compile(
    rb"^(?:(?P<document>---)(?=\s)|(?P<indent>\ {0,12}+)(?:(?P<item>-)(?=\s)"
    rb"|(?P<key>\"[^\"\n]*+\"|'[^'\n]*+'|[^\s\-?:,\[\]{}#&*!|>'\"%@`<][^\n:#]*+(?::(?=\S)[^\n:#]*+)*+):(?=\s|\Z)"
    rb"[\ \t]*+(?P<value>[^\n]?)))",
    re.MULTILINE,
)
_UNKNOWN, _LIST = -1, -2  # a document that is a list has items, not keys
# After these (an anchor, a tag, a comment) a mapping may follow on the lines below.
_OPEN_VALUES = (b"", b"&", b"!", b"#", b"\r")


def yaml_keys(source: bytes, _parse_inside: object = None) -> ParsedFile:
    """The keys of the two upper levels of each document of a YAML file in block style."""
    lines = source.split(b"\n")
    keys: list[tuple[int, str, int]] = []  # level, name, row
    base = inner = _UNKNOWN  # the indentation of the keys of the first level, and of those of the open key
    position = row = 0
    is_open = False
    for line in _YAML_LINE.finditer(source):
        document, lead, item, key, value = line.groups()
        if document:
            base, is_open = _UNKNOWN, False
            continue
        indent = len(lead)
        if item:
            base = _LIST if base < 0 else base
            is_open = is_open and 0 < inner <= indent
            continue
        if base == _LIST:
            continue
        if base < 0 or indent <= base:
            level, base, inner = 1, indent, _UNKNOWN
            is_open = value in _OPEN_VALUES
        elif is_open and (inner < 0 or indent == inner):
            level, inner = 2, indent
        else:
            continue
        if len(keys) >= _MAX_KEYS:
            break
        row += source.count(b"\n", position, line.start())
        position = line.start()
        keys.append((level, key.strip().strip(b"\"'").decode("utf-8", "replace"), row))
    return ParsedFile(_yaml_symbols(lines, keys), IndentBorders(source))


def _yaml_symbols(lines: list[bytes], keys: list[tuple[int, str, int]]) -> tuple[Symbol, ...]:
    """YAML keys with their rows as symbols; a key ends before the next one and the comments above that."""
    ends = [0] * len(keys)
    next_key = next_outer = len(lines)
    for index in range(len(keys) - 1, -1, -1):
        level, _, row = keys[index]
        ends[index] = next_outer if level == 1 else next_key
        next_key = row
        next_outer = row if level == 1 else next_outer
    symbols = []
    owner = ""
    for (level, name, row), end in zip(keys, ends, strict=True):
        qualname = f"{owner}.{name}" if level == 2 else name
        owner = name if level == 1 else owner
        while end > row + 1 and (not (text := lines[end - 1].strip()) or text.startswith((b"#", b"---"))):
            end -= 1  # comments and blank lines above the next key are not part of this one
        if name and len(name) <= _KEY_BYTES:
            signature = lines[row][:_SIGNATURE_BYTES].decode("utf-8", "ignore").strip().rstrip(":")
            symbols.append(Symbol("key", name, qualname, row + 1, row + 1, end, signature))
    return tuple(symbols)
