"""What compilers know about the references of one state of a project: its overlays, as far as they are fresh.

An overlay describes the content of a file. Where the index has another version, that file's part is ignored, so stale
knowledge never wins; `sage scip list` counts such files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sage_code.index.manifest import file_key
from sage_code.scip.overlay import Defined, Overlay
from sage_code.values import Symbol
from sage_code.xref.graph import CodeGraph, Definition, KnownUse

CERTAIN = 1.0
# The file of the definition has changed since the import; that the definition is still the same is told by its name.
_BY_NAME = 0.9
# A compiler has read the file and says nothing about the place: what remains is less than a guess that is shown.
SILENT = 0.3


class Known:
    """The overlays of a project and one state of its index."""

    def __init__(self, graph: CodeGraph, overlays: Sequence[Overlay], key_of: Callable[[str], str]) -> None:
        self._graph, self._overlays, self._key_of = graph, overlays, key_of
        self._fresh: dict[tuple[int, str], bool] = {}

    def covers(self, file: str) -> bool:
        """Whether a compiler has read the indexed version of a file."""
        return any(self.is_fresh(overlay, file) for overlay in self._overlays)

    def is_fresh(self, overlay: Overlay, file: str) -> bool:
        """Whether an overlay describes the indexed version of a file."""
        at = (id(overlay), file)
        if at not in self._fresh:
            content = overlay.content_hash(file)
            self._fresh[at] = bool(content) and file_key(file, content) == self._key_of(file)
        return self._fresh[at]

    def knows(self, definition: Definition) -> bool:
        """Whether a compiler has seen this definition."""
        return any(self._symbols(overlay, definition) for overlay in self._overlays)

    def uses(self, definition: Definition) -> Iterator[KnownUse]:
        """The uses of a definition in the files that are fresh."""
        for overlay in self._overlays:
            certainty = CERTAIN if self.is_fresh(overlay, definition.file) else _BY_NAME
            for symbol in self._symbols(overlay, definition):
                for found in overlay.occurrences(symbol):
                    if self.is_fresh(overlay, found.file):
                        yield KnownUse(found.file, found.line, found.scope, found.kind, certainty, overlay.source)

    def meant(self, file: str, line: int, name: str) -> list[tuple[Definition, float, str]] | None:
        """The definitions of this project that `name` in a line means, with confidence and source; None if no compiler
        says anything about it."""
        said = False
        found: dict[tuple[str, str], tuple[Definition, float, str]] = {}
        for overlay in self._overlays:
            if not self.is_fresh(overlay, file):
                continue
            for symbol in overlay.symbols_at(file, line, name):
                said = True
                for defined in overlay.definitions_of(symbol):
                    definition = self._definition(defined)
                    if definition is not None and (defined.file, defined.line) != (file, line):
                        certainty = CERTAIN if self.is_fresh(overlay, defined.file) else _BY_NAME
                        found.setdefault(definition.key, (definition, certainty, overlay.source))
        return list(found.values()) if said else None

    def definitions(self, name: str) -> list[Definition]:
        """The definitions called `name`, bare or qualified, that only compilers know: attributes, members of types."""
        found: dict[tuple[str, str], Definition] = {}
        for overlay in self._overlays:
            for defined in overlay.definitions(name.rpartition(".")[2]):
                is_asked = defined.qualname == name or defined.qualname.endswith(f".{name}")
                if is_asked and not defined.is_indexed and self.is_fresh(overlay, defined.file):
                    definition = self._definition(defined)
                    if definition is not None:
                        found.setdefault(definition.key, definition)
        return list(found.values())

    def _symbols(self, overlay: Overlay, definition: Definition) -> list[int]:
        """The symbols that an overlay has for a definition. `#status` and `status` of one class have one name in the
        index, so the line decides where it can be compared."""
        same = [
            defined
            for defined in overlay.definitions(definition.symbol.qualname.rpartition(".")[2])
            if (defined.file, defined.qualname) == definition.key
        ]
        if self.is_fresh(overlay, definition.file):
            same = [defined for defined in same if defined.line == definition.symbol.line] or same
        return list(dict.fromkeys(defined.symbol for defined in same))

    def _definition(self, defined: Defined) -> Definition | None:
        """A definition as the index has it, or as only the compiler knows it; None if the index has lost it."""
        language = self._graph.file_language(defined.file)
        if defined.is_indexed:
            symbols = [one for one in self._graph.file_symbols(defined.file) if one.qualname == defined.qualname]
            nearest = min(symbols, key=lambda one: abs(one.line - defined.line), default=None)
            return Definition(defined.file, language, nearest) if nearest else None
        name = defined.qualname.rpartition(".")[2]
        at = (defined.line, defined.line, defined.line)
        return Definition(defined.file, language, Symbol(defined.kind, name, defined.qualname, *at))
