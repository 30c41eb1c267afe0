"""Extracts the references of a file: calls, base types, uses of types and values, imports, and bindings of variables.

`grammars/<language>/references.scm` captures the names; `receivers` reads the text before a name from the source.
References are not resolved here: that needs the other files and happens at query time (`sage_code.xref`), so that a
changed file changes only its own rows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate

from sage_code.languages.table import Language
from sage_code.parse.bindings import BIND_BYTES, read_binding
from sage_code.parse.grammar import Spans
from sage_code.parse.imports import imported
from sage_code.parse.receivers import JOINTS, Receivers
from sage_code.parse.reference_codec import KIND_NUMBER, NO_REFERENCES, References
from sage_code.values import Symbol

# A file with more references is data in the form of code; the rest is dropped.
_MAX_REFERENCES = 50_000
# What is called may be an expression; names are shorter than this.
_MAX_NAME_BYTES = 200
# If a name is captured as several kinds, the first wins. `use`, a value passed on, only counts if the file defines or
# imports the name: the others are variables.
_NAME_KINDS = ("inherit", "call", "type", "use")
_IMPORT, _BIND = KIND_NUMBER["import"], KIND_NUMBER["bind"]
SCOPE_KINDS = frozenset({"function", "method", "constructor", "class", "struct", "interface", "trait", "enum", "macro"})


def references(
    spans: Spans, source: bytes, lines: Sequence[bytes], language: Language, symbols: Sequence[Symbol]
) -> References:
    """Every reference of the file, by line; `lines` are those of `source`."""
    if not spans:
        return NO_REFERENCES
    file = _File(source, list(accumulate(map((1).__add__, map(len, lines)), initial=0)))
    known = {symbol.name.encode() for symbol in symbols}
    for start, end in dict.fromkeys(spans.get("import", ())):
        for name, module, alias in imported(language.name, source[start:end]):
            known.add((alias or name).encode())
            file.add(start, _IMPORT, name, module, alias)
    del file.rows[_MAX_REFERENCES:]
    for start, end in dict.fromkeys(spans.get("bind", ())):
        if binding := read_binding(source[start : end if end - start < BIND_BYTES else start + BIND_BYTES]):
            file.add(start, _BIND, *binding, "")
    # The head of a definition that looks like a call (Elixir, Julia) is captured as `head`.
    seen = {start for start, _ in spans.get("head", ())}
    for kind in _NAME_KINDS:
        if kind in spans:
            file.add_names(KIND_NUMBER[kind], spans[kind], seen, known if kind == "use" else None)
    if not file.rows:
        return NO_REFERENCES
    file.rows.sort()
    numbers, kinds, *columns = map(list, zip(*file.rows, strict=True))
    columns.append(scope_numbers(numbers, symbols, file.texts))
    return References((list(file.texts), kinds, numbers, columns))


class _File:
    """The references of a file as rows of numbers: the line, the kind, and the numbers of the texts.

    A project has more references than anything else, so no object is made for each."""

    __slots__ = ("_before", "_names", "_source", "_starts", "rows", "texts")

    def __init__(self, source: bytes, starts: list[int]) -> None:
        self._source = source
        # The offset of each line: asking a node for its point would take three times as long.
        self._starts = starts
        self._before = Receivers(source).before
        self.rows: list[tuple[int, int, int, int, int]] = []
        self.texts = {"": 0}  # each text with its number
        self._names: dict[bytes, int] = {}  # the same for names, as bytes of the source

    def add(self, start: int, kind: int, name: str, receiver: str, alias: str) -> None:
        number, texts = self.texts.setdefault, self.texts
        of_name, of_receiver, of_alias = (
            number(name, len(texts)), number(receiver, len(texts)), number(alias, len(texts))
        )  # fmt: skip
        self.rows.append((bisect_right(self._starts, start), kind, of_name, of_receiver, of_alias))

    def add_names(
        self, kind: int, spans: Iterable[tuple[int, int]], seen: set[int], known: Collection[bytes] | None
    ) -> None:
        """Add the names at `spans` that are not `seen` yet and, unless it is None, in `known`."""
        source, starts, before, texts, rows = self._source, self._starts, self._before, self.texts, self.rows
        numbers = self._names
        for start, end in spans:
            if start in seen or len(rows) >= _MAX_REFERENCES:
                continue
            name = source[start : end if end - start < _MAX_NAME_BYTES else start + _MAX_NAME_BYTES]
            if known is not None and name not in known:
                continue
            seen.add(start)
            if (number := numbers.get(name)) is None:
                if not name:
                    continue  # the grammar inserted a missing name here
                number = numbers[name] = texts.setdefault(name.decode("utf-8", "replace"), len(texts))
            # Most names have no receiver; a function call for each of them would take noticeable time.
            has_receiver = start and source[start - 1] in JOINTS
            receiver = texts.setdefault(before(start), len(texts)) if has_receiver else 0
            rows.append((bisect_right(starts, start), kind, number, receiver, 0))


def scope_numbers(lines: Sequence[int], symbols: Sequence[Symbol], texts: dict[str, int]) -> list[int]:
    """For each of the ascending lines the number of the innermost definition around it; adds new ones to `texts`."""
    scopes = sorted(
        (symbol for symbol in symbols if symbol.kind in SCOPE_KINDS and symbol.end_line > symbol.start_line),
        key=lambda symbol: (symbol.line, -symbol.end_line),
    )
    # A definition of one line counts for that line only.
    single = {
        symbol.line: symbol.qualname
        for symbol in symbols
        if symbol.kind in SCOPE_KINDS and symbol.start_line == symbol.end_line
    }
    found: list[int] = []
    stack: list[Symbol] = []
    cursor = last = scope = 0
    for line in lines:
        if line != last:
            last = line
            while cursor < len(scopes) and scopes[cursor].line <= line:
                stack.append(scopes[cursor])
                cursor += 1
            while stack and stack[-1].end_line < line:
                stack.pop()
            name = single.get(line) or (stack[-1].qualname if stack else "")
            scope = texts.setdefault(name, len(texts))
        found.append(scope)
    return found
