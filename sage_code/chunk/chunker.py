"""Cuts a parsed file into chunks: whole functions and methods, class heads, runs of constants, and the lines between.

Every line belongs to exactly one chunk. Definitions that are small enough stay whole; a huge one is cut at statement
borders; tiny neighbours share a chunk, because the vector of a one-line getter means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sage_code.chunk.lines import MAX_CHARS, LineSpans, split_lines
from sage_code.languages.kinds import CHUNK_KIND
from sage_code.parse.borders import Borders
from sage_code.values import Chunk, Symbol

# A class up to this size is one chunk with its methods, a section with its subsections; larger ones are split.
_WHOLE_CLASS_CHARS = 1000
# A piece below the first size joins its neighbour, if both together stay below the second.
_SMALL_CHARS = 250
_JOINED_CHARS = 750
# A remainder such as a closing bracket never becomes a chunk.
_CRUMB_CHARS = 40

# Kinds that may become a chunk; the others belong to the text around them.
_BLOCK_KINDS = frozenset(kind for kind, chunk in CHUNK_KIND.items() if chunk != "constant")
_CONTAINER_KINDS = frozenset({"class", "type", "module", "constant"})


@dataclass(slots=True)
class _Node:
    """A block definition with the blocks directly inside it."""

    symbol: Symbol
    start: int
    end: int
    children: list[_Node] = field(default_factory=list)


@dataclass(slots=True)
class _Piece:
    """A run of lines that becomes a chunk, or a part of one."""

    start: int
    end: int
    symbol: Symbol | None  # the definition that the piece is, or begins
    owner: Symbol | None
    whole: bool  # a complete definition, not a part or a gap


def chunk_text(text: str, symbols: Sequence[Symbol], borders: Borders) -> list[Chunk]:
    """The chunks of a parsed file, in the order of their lines."""
    spans = LineSpans(split_lines(text))
    if not spans.lines:
        return []
    pieces = _pieces(spans, symbols, borders)
    by_line = sorted(symbols, key=lambda symbol: symbol.line)
    chunks, cursor = [], 0
    for piece in pieces:
        first = cursor
        while cursor < len(by_line) and by_line[cursor].line <= piece.end:
            cursor += 1
        chunks.append(_chunk(spans, piece, tuple(by_line[first:cursor])))
    return chunks


def chunk_plain(text: str) -> list[Chunk]:
    """Chunks of a file without a grammar, cut at lines."""
    spans = LineSpans(split_lines(text))
    if not spans.lines:
        return []
    return [
        Chunk("fallback", "", "", start, end, "", "", spans.text(start, end))
        for start, end in spans.cut(1, len(spans.lines), lambda _start, _end: ())
    ]


def _chunk(spans: LineSpans, piece: _Piece, symbols: tuple[Symbol, ...]) -> Chunk:
    """The chunk of a piece, named after its definition."""
    named = piece.symbol or piece.owner
    kind = CHUNK_KIND.get(piece.symbol.kind, "module") if piece.symbol else "module"
    if piece.symbol is None and len(symbols) * 2 >= piece.end - piece.start + 1:
        # A gap of one-line definitions: constants, fields.
        kind = "constant"
        named = named or max(symbols, key=lambda symbol: symbol.end_line - symbol.start_line, default=None)
    return Chunk(
        kind=kind,
        name=named.name if named else "",
        qualname=named.qualname if named else "",
        start_line=piece.start,
        end_line=piece.end,
        signature=named.signature if named else "",
        docstring=named.docstring if named else "",
        text=spans.text(piece.start, piece.end),
        symbols=symbols,
    )


def _pieces(spans: LineSpans, symbols: Sequence[Symbol], borders: Borders) -> list[_Piece]:
    """The pieces of a file, in order: definitions from the outside inwards, and the gaps between them."""
    pieces: list[_Piece] = []
    last = len(spans.lines)
    # An explicit stack: code may be nested deeper than Python recurses.
    work: list[Iterator[_Piece | _Node]] = [_level(None, 1, last, _forest(spans, symbols))]
    while work:
        item = next(work[-1], None)
        if item is None:
            work.pop()
        elif isinstance(item, _Piece):
            _append(spans, pieces, item, borders)
        elif _stays_whole(spans, item):
            piece = _Piece(item.start, item.end, item.symbol, None, whole=True)
            _append(spans, pieces, piece, borders)
        else:
            work.append(_level(item.symbol, item.start, item.end, item.children))
    return pieces


def _stays_whole(spans: LineSpans, node: _Node) -> bool:
    size = spans.size(node.start, node.end)
    if not node.children:
        return True
    is_container = CHUNK_KIND[node.symbol.kind] in _CONTAINER_KINDS
    return size <= (_WHOLE_CLASS_CHARS if is_container else MAX_CHARS)


def _level(owner: Symbol | None, start: int, end: int, children: list[_Node]) -> Iterator[_Piece | _Node]:
    """The children of one definition in order, and the lines between them as pieces."""
    cursor = start
    for child in children:
        if child.start > cursor:
            head = owner if cursor == start else None
            yield _Piece(cursor, child.start - 1, head, owner, whole=False)
        yield child
        cursor = child.end + 1
    if cursor <= end:
        yield _Piece(cursor, end, owner if cursor == start else None, owner, whole=False)


def _append(spans: LineSpans, pieces: list[_Piece], piece: _Piece, borders: Borders) -> None:
    """Add a piece: joined to its predecessor when small, cut when oversized."""
    size = spans.size(piece.start, piece.end)
    if pieces and _joins(spans, pieces[-1], piece, size):
        before = pieces[-1]
        larger = piece if _weight(spans, piece) > _weight(spans, before) else before
        pieces[-1] = _Piece(before.start, piece.end, larger.symbol, larger.owner, whole=False)
        return
    if size <= MAX_CHARS:
        pieces.append(piece)
        return
    for start, end in spans.cut(piece.start, piece.end, borders):
        pieces.append(_Piece(start, end, piece.symbol, piece.owner, whole=False))


def _joins(spans: LineSpans, before: _Piece, piece: _Piece, size: int) -> bool:
    if size <= _CRUMB_CHARS and not piece.whole and spans.blank(piece.start, piece.end):
        return True
    before_size = spans.size(before.start, before.end)
    if before_size <= _CRUMB_CHARS and not before.whole and spans.blank(before.start, before.end):
        return before_size + size <= MAX_CHARS
    return min(size, before_size) < _SMALL_CHARS and size + before_size <= _JOINED_CHARS


def _weight(spans: LineSpans, piece: _Piece) -> int:
    """The heavier of two joined pieces gives the name: definitions first, then by size."""
    return spans.size(piece.start, piece.end) + (1 << 20 if piece.symbol else 0)


def _is_block(spans: LineSpans, symbol: Symbol) -> bool:
    # A key in a data file is a block when its value is too large for one chunk.
    is_large = symbol.kind == "key" and spans.size(symbol.start_line, symbol.end_line) > MAX_CHARS
    return is_large or symbol.kind in _BLOCK_KINDS


def _forest(spans: LineSpans, symbols: Sequence[Symbol]) -> list[_Node]:
    """Block definitions nested by their lines. A line that two definitions share belongs to the first."""
    roots: list[_Node] = []
    last = len(spans.lines)
    open_nodes: list[_Node] = []
    cursor = 1  # the first line after the last closed sibling
    blocks = (symbol for symbol in symbols if _is_block(spans, symbol))
    for symbol in sorted(blocks, key=lambda symbol: (symbol.start_line, -symbol.end_line)):
        while open_nodes and (open_nodes[-1].end < symbol.start_line or open_nodes[-1].end < symbol.end_line):
            cursor = max(cursor, open_nodes.pop().end + 1)
        start, end = max(symbol.start_line, cursor), min(symbol.end_line, last)
        parent = open_nodes[-1] if open_nodes else None
        if parent is not None:
            end = min(end, parent.end)
            if (start, end) == (parent.start, parent.end):
                continue
        if start > end:
            continue
        node = _Node(symbol, start, end)
        (parent.children if parent else roots).append(node)
        open_nodes.append(node)
    return roots
