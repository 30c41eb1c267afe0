"""The names of a file with links: from every use to the definition that it most likely means, and from a definition to
its uses.

Stored references say what calls, types and imports mean. Other names (attributes, functions that are handed on) are
resolved in the same way, unless a variable of the file has the name. Nothing is linked in a file that is not as it was
indexed, nor into one: the lines would be wrong.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from sage_code.compiled.published import needed_snapshot
from sage_code.index.manifest import file_key
from sage_code.parse.names import Name, names
from sage_code.parse.occurrences import DECLARED, KEY, words
from sage_code.parse.references import scope_numbers
from sage_code.settings.table import Settings
from sage_code.values import Reference, Symbol
from sage_code.views.code.coloured import ColouredLines, Link, LinkSpan, as_lines, coloured_lines, line_starts
from sage_code.views.code.source import ShownSource, shown_source
from sage_code.xref.compiled_graph import CompiledGraph
from sage_code.xref.resolve import DEFAULT_CONFIDENCE, Resolver, Target
from sage_code.xref.views import scopes

# A part of a page is there by then, with the links that were found.
SECONDS = 1.5
# A plain word is linked only if an import or a scope says what it means: a name alone would link many a variable.
_SURE_REASONS = frozenset({"import", "scope"})
# An import of a module that is exactly one file.
_MODULE = 0.95
# Files whose links are kept: those of a few open pages.
_KEPT_FILES = 8
# A name with more references is in so many places that counting them takes longer than it tells.
_MAX_COUNTED = 5_000


@dataclass(frozen=True, slots=True)
class LinkedLines:
    """Lines of a file with their links."""

    shown: ColouredLines
    is_current: bool  # False: the index has another version of the file, so nothing is linked
    is_complete: bool  # False: the time was over before every name was looked at


def linked(
    root: str,
    settings: Settings,
    path: str,
    first: int = 1,
    last: int | None = None,
    *,
    is_changed: Callable[[str], bool] = lambda _file: False,
    seconds: float = SECONDS,
) -> LinkedLines:
    """The lines `first` to `last` of a file in colour and with links; none lead into a file that `is_changed`."""
    source = shown_source(root, settings, path)
    count = len(source.lines)
    first, last = max(1, first), min(count, count if last is None else last)
    linking = _linking(root, source)
    if linking is None:
        return LinkedLines(as_lines(source, first, coloured_lines(source, first, last)), False, True)
    links, is_complete = linking.lines(first, last, is_changed, seconds)
    return LinkedLines(as_lines(source, first, coloured_lines(source, first, last, links)), True, is_complete)


class _Linking:
    """Links the names of one file; what was worked out for some of its lines is kept for the others."""

    def __init__(self, graph: CompiledGraph, source: ShownSource) -> None:
        self._graph, self._source = graph, source
        self._resolver = Resolver(graph)
        self._lock = threading.Lock()
        self._names: dict[int, list[Name]] = {}  # by line, of the lines that were read
        self._scope_of: dict[int, str] = {}
        self._declared: set[tuple[str, str]] = set()
        self._starts = line_starts(source.lines)
        self._symbols = graph.file_symbols(source.path)
        self._outermost = _outermost(self._symbols)
        self._stored: dict[tuple[int, str], list[Reference]] = defaultdict(list)
        for reference in graph.file_references(source.path):
            if reference.kind != "bind":
                for name in {reference.name, reference.alias} - {""}:
                    self._stored[reference.line, name].append(reference)
        self._defined: dict[tuple[int, str], Symbol] = {}
        for symbol in self._symbols:
            self._defined.setdefault((symbol.line, symbol.name), symbol)

    def lines(
        self, first: int, last: int, is_changed: Callable[[str], bool], seconds: float
    ) -> tuple[list[list[LinkSpan]], bool]:
        """The links of each line, in characters of the line, and whether there was time for all of them."""
        with self._lock:
            self._read_names(first, last, time.monotonic() + seconds)
            self._resolver.renew(seconds)
            found = [self._line(number, is_changed) for number in range(first, last + 1)]
            return found, not self._resolver.ran_out

    def _read_names(self, first: int, last: int, until: float) -> None:
        """Find the names of lines, and of the outermost definitions around them: these may declare variables."""
        for low, high in self._outermost:
            if low <= last and first <= high:
                first, last = min(first, low), max(last, high)
        if all(number in self._names for number in range(first, last + 1)):
            return
        source, tree = self._source, self._source.tree()
        if tree is not None and source.language is not None and not source.language.reader:
            every = names(tree, source.text.encode(), self._starts[first - 1], self._starts[last], until)
        else:
            every = [one for one in _plain_names(source, self._stored) if first <= one.line <= last]
        self._names |= {number: [] for number in range(first, last + 1)}
        scope_of = _scopes(every, self._symbols)
        self._scope_of |= scope_of
        self._declared |= _declared(every, scope_of, self._symbols)
        for one in every:
            self._names[one.line].append(one)

    def _line(self, number: int, is_changed: Callable[[str], bool]) -> list[LinkSpan]:
        """The links of one line."""
        found: list[LinkSpan] = []
        taken: set[str] = set()
        for one in self._names.get(number, ()):
            if not self._resolver.in_time():
                break
            link = self._definition(one, taken) or self._use(one, self._scope_of[number])
            if link is not None and not is_changed(link.file):
                low = self._column(one)
                found.append((low, low + len(one.text), link))
        return found

    def _column(self, one: Name) -> int:
        """Where a name begins in its line, in characters."""
        line, low = self._source.lines[one.line - 1], one.start - self._starts[one.line - 1]
        return low if line.isascii() else len(line.encode()[:low].decode("utf-8", "ignore"))

    def _definition(self, one: Name, taken: set[str]) -> Link | None:
        """The link of a name that is defined here; only the first of that name on a line."""
        symbol = self._defined.get((one.line, one.text))
        if symbol is None or one.text in taken or one.kind == KEY:
            return None
        taken.add(one.text)
        uses = min(_MAX_COUNTED, len(self._graph.references(symbol.name)))
        return Link(self._source.path, symbol.line, symbol.qualname, symbol.kind, is_definition=True, uses=uses)

    def _use(self, one: Name, scope: str) -> Link | None:
        """The link from a use to the best definition; None if nothing good is known."""
        stored = self._stored.get((one.statement or one.line, one.text), ())
        if one.kind == "import":
            return self._imported(one, stored)
        exact = [reference for reference in stored if reference.receiver == one.receiver and reference.kind != "import"]
        if exact:
            return self._link(self._resolver.targets(self._source.path, exact[0]), one)
        if one.kind in (DECLARED, KEY):
            return None
        reference = Reference("use", one.text, one.receiver, one.line, "", scope)
        if one.receiver:
            return self._link(self._resolver.targets(self._source.path, reference), one)
        if any((outer, one.text) in self._declared for outer in scopes(scope)):
            return None
        targets = self._resolver.targets(self._source.path, reference)
        return self._link([target for target in targets if target.why in _SURE_REASONS], one)

    def _imported(self, one: Name, stored: Sequence[Reference]) -> Link | None:
        """The link of a name in an import: what is imported, or the file of a module."""
        for reference in stored:
            is_meant = reference.kind == "import" and one.receiver in ("", reference.receiver)
            link = self._link(self._resolver.targets(self._source.path, reference), one) if is_meant else None
            if link is not None:
                return link
        module = f"{one.receiver}.{one.text}" if one.receiver else one.text
        as_module = Reference("import", "*", module, one.line, one.text, "")
        files = self._resolver.imported_files(self._source.path, as_module)
        if len(files) != 1 or self._source.path in files:
            return None
        return Link(min(files), 1, module, "module", _MODULE, "import")

    def _link(self, targets: Sequence[Target], one: Name) -> Link | None:
        best = targets[0] if targets else None
        if best is None or best.confidence < DEFAULT_CONFIDENCE:
            return None
        file, symbol = best.definition.file, best.definition.symbol
        if (file, symbol.line, symbol.name) == (self._source.path, one.line, one.text):
            return None  # it leads to itself
        return Link(file, symbol.line, symbol.qualname, symbol.kind, round(best.confidence, 2), best.why)


_kept: OrderedDict[tuple[str, str, str], _Linking] = OrderedDict()
_lock = threading.Lock()


def _linking(root: str, source: ShownSource) -> _Linking | None:
    """What links the names of a file; None if the index has another version of it."""
    snapshot = needed_snapshot(root)
    key = (snapshot.generation.folder, source.path, source.content_hash)
    with _lock:
        if key in _kept:
            _kept.move_to_end(key)
            return _kept[key]
    graph = CompiledGraph(root, snapshot)
    if graph.file_key(source.path) != file_key(source.path, source.content_hash):
        return None
    made = _Linking(graph, source)
    with _lock:
        _kept[key] = made
        while len(_kept) > _KEPT_FILES:
            _kept.popitem(last=False)
    return made


def _plain_names(source: ShownSource, stored: Iterable[tuple[int, str]]) -> Iterator[Name]:
    """The words of stored references, on lines that have them once."""
    if source.language is None:
        return
    starts = line_starts(source.lines)
    for number, name in sorted(stored):
        data = source.lines[number - 1].encode() if number <= len(source.lines) else b""
        found = words(data, name, source.language)
        if len(found) == 1:
            start = starts[number - 1] + found[0]
            yield Name(start, start + len(name.encode()), number, name, "call", "", 0)


def _outermost(symbols: Iterable[Symbol]) -> list[tuple[int, int]]:
    """The first and last lines of definitions that are in no other one."""
    found: list[tuple[int, int]] = []
    for symbol in sorted(symbols, key=lambda one: (one.start_line, -one.end_line)):
        if not found or symbol.start_line > found[-1][1]:
            found.append((symbol.start_line, symbol.end_line))
    return found


def _scopes(every: Sequence[Name], symbols: Sequence[Symbol]) -> dict[int, str]:
    """By line, the innermost definition around it."""
    texts: dict[str, int] = {}
    lines = sorted({one.line for one in every})
    numbers = scope_numbers(lines, symbols, texts)
    of_number = list(texts)
    return {line: of_number[number] for line, number in zip(lines, numbers, strict=True)}


def _declared(every: Iterable[Name], scope_of: dict[int, str], symbols: Iterable[Symbol]) -> set[tuple[str, str]]:
    """The variables and parameters of each scope: scope and name."""
    defined = {symbol.qualname for symbol in symbols}
    found = {(scope_of[one.line], one.text) for one in every if one.kind == DECLARED and not one.receiver}
    return {(scope, name) for scope, name in found if (f"{scope}.{name}" if scope else name) not in defined}
