"""The uses of a name that no stored reference tells of: attribute reads, functions handed on, annotations, calls in
macros, whatever a language's query leaves out.

The index knows which files have a word, so these files are read and their words judged when somebody asks. A file in
which stored references and definitions account for every word is not parsed. What the words mean is resolved like any
reference; a word that is only spelt alike is kept too, with next to no confidence.
"""

from __future__ import annotations

import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import xxhash

from sage_code.compiled.texts import stored_text
from sage_code.discover.decoding import decode
from sage_code.files.contained import read_contained
from sage_code.index.manifest import file_key
from sage_code.languages.kinds import TEXT_KINDS
from sage_code.languages.table import by_name
from sage_code.parse.occurrences import DECLARED, KEY, VARIABLE, Occurrence, occurrences, words
from sage_code.parse.references import scope_numbers
from sage_code.values import Reference, Symbol
from sage_code.xref.compiled_graph import CompiledGraph
from sage_code.xref.graph import Definition
from sage_code.xref.language_rules import MUST_IMPORT, family
from sage_code.xref.resolve import Resolver, Target
from sage_code.xref.views import FUNCTION_LIKE, owner, scopes

# The confidence of a word that is spelt like the name, when nothing says what it means; and when it is a variable.
SAME_NAME, LOCAL = 0.05, 0.02
# A name that a file imports or defines, and that some function of the file gives to a variable: which is meant?
_PERHAPS_LOCAL = 0.5
# `f(name=1)`, `{name: 1}`: the field of a class, or any other parameter or key.
_AS_KEY = 0.5
# `import a.b.name.c`: a part of a path that is called so.
_IN_PATH = 0.7
# A variable of the same scope is given another value.
_ASSIGNED = 0.95
# Files larger than this are data.
_MAX_BYTES = 32 << 20
# Other names of the definitions (`import f as g`) that are looked for, each in the file that gives it.
_MAX_ALIASES = 200


class TextUse(NamedTuple):
    """A use that the text shows, and how certain it is that a definition is meant."""

    file: str
    reference: Reference
    confidence: float
    why: str


@dataclass(slots=True)
class TextUses:
    """What the text adds to the stored references of one name."""

    meant: dict[tuple[str, str], list[TextUse]] = field(default_factory=lambda: defaultdict(list))  # by definition
    unexplained: list[TextUse] = field(default_factory=list)  # the same name, but as far as known no definition
    # The lines of names in imports of several lines, by file, name and the line at which the statement begins.
    moved: dict[tuple[str, str, int], int] = field(default_factory=dict)
    files_left: int = 0  # files with the name that were not read in time


class _Site(NamedTuple):
    """A word of the text that no stored reference accounts for."""

    reference: Reference
    kind: str  # as of an `Occurrence`
    local_to: str | None  # the innermost scope around it, possibly the file, that gives the name to something else


def find_text_uses(
    resolver: Resolver, graph: CompiledGraph, root: str, definitions: Sequence[Definition], seconds: float
) -> TextUses:
    """The uses of `definitions`, which share a name, in the text of the files; looks no longer than `seconds`."""
    return _Reading(resolver, graph, root, definitions, time.monotonic() + seconds).run()


class _Reading:
    """One pass over the files that have a name."""

    def __init__(
        self, resolver: Resolver, graph: CompiledGraph, root: str, definitions: Sequence[Definition], until: float
    ) -> None:
        self._resolver, self._graph, self._root, self._until = resolver, graph, root, until
        self._definitions = [one for one in definitions if one.symbol.kind not in TEXT_KINDS]
        self._families = {family(one.language) for one in self._definitions}
        self._found = TextUses()

    def run(self) -> TextUses:
        """Read the files: those of the definitions first, then by path."""
        if not self._definitions:
            return self._found
        name = self._definitions[0].symbol.name
        stored: dict[str, list[Reference]] = defaultdict(list)
        for file, reference in self._graph.references(name):
            stored[file].append(reference)
        own = {one.file for one in self._definitions}
        files = [file for file in self._graph.files_with(name) if self._is_readable(file) and not self._is_known(file)]
        files.sort(key=lambda file: (file not in own, file))
        for number, file in enumerate(files):
            if not self._in_time():
                self._found.files_left = len(files) - number
                return self._found
            self._take(file, name, stored.get(file, ()), is_alias=False)
        for file, alias in self._aliases(name):
            if self._in_time():
                known = [one for one in self._graph.file_references(file) if one.name == alias and one.kind != "bind"]
                self._take(file, alias, known, is_alias=True)
        return self._found

    def _in_time(self) -> bool:
        return time.monotonic() < self._until

    def _is_readable(self, file: str) -> bool:
        """Whether a file may use the definitions: its language may call theirs."""
        return family(self._graph.file_language(file)) in self._families

    def _is_known(self, file: str) -> bool:
        """Whether a compiler has told every use in a file: of definitions that it knows, too."""
        known = self._graph.known
        return known is not None and known.covers(file) and self._all_known

    @cached_property
    def _all_known(self) -> bool:
        known = self._graph.known
        return known is not None and all(map(known.knows, self._definitions))

    def _aliases(self, name: str) -> list[tuple[str, str]]:
        """The other names under which files import the definitions."""
        keys = {one.key for one in self._definitions}
        found: dict[tuple[str, str], None] = {}
        names = [name, "default"] if any(_is_default(one) for one in self._definitions) else [name]
        for imported in names:
            for file, reference in self._graph.references(imported):
                if len(found) >= _MAX_ALIASES or not self._in_time():
                    break
                is_other = reference.kind == "import" and reference.alias not in ("", name)
                if is_other and any(one.definition.key in keys for one in self._resolver.targets(file, reference)):
                    found[file, reference.alias] = None
        return list(found)

    def _take(self, file: str, name: str, stored: Sequence[Reference], *, is_alias: bool) -> None:
        """Judge the words of one file that are spelt like `name`."""
        keys = {one.key for one in self._definitions}
        for site in self._sites(file, name, stored):
            if not self._in_time():
                return
            targets = self._meant(file, site)
            for target in targets:
                if target.definition.key in keys:
                    use = TextUse(file, site.reference, target.confidence, target.why)
                    self._found.meant[target.definition.key].append(use)
            if not targets and not is_alias:
                certainty, why = (SAME_NAME, "same name") if site.local_to is None else (LOCAL, "local name")
                self._found.unexplained.append(TextUse(file, site.reference, certainty, why))

    # --- from the text to sites -----------------------------------------------------------------------------------

    def _sites(self, file: str, name: str, stored: Sequence[Reference]) -> list[_Site]:
        """The words of a file that neither its references nor its definitions account for."""
        language = by_name(self._graph.file_language(file))
        source = _read(self._root, self._graph, file) if language else None
        starts = words(source, name, language) if source is not None and language else []
        if not starts or source is None or language is None:
            return []
        symbols = self._graph.file_symbols(file)
        defined = Counter(symbol.line for symbol in symbols if symbol.name == name)
        lines = [line for line, _ in _numbered(source, starts)]
        if _accounts_for(Counter(lines), stored, defined):
            return []
        found = _without_definitions(occurrences(source, language, name, starts, self._until), defined)
        left, moved = _unaccounted(found, stored)
        self._found.moved.update(((file, name, first), line) for first, line in moved.items())
        return _as_sites(name, found, left, symbols)

    # --- from sites to definitions --------------------------------------------------------------------------------

    def _meant(self, file: str, site: _Site) -> list[Target]:
        """The definitions that a word may mean."""
        reference, resolver = site.reference, self._resolver
        if site.kind == DECLARED:
            return [
                Target(one, _ASSIGNED, "assigned")
                for one in self._definitions
                if one.file == file and owner(one.symbol.qualname) == reference.scope and not reference.receiver
            ]
        if site.kind == KEY:
            named = resolver.guessed(file, reference._replace(receiver="?"), _AS_KEY)
            return [one for one in named if one.definition.symbol.kind not in FUNCTION_LIKE]
        if site.kind == "import":
            if self._graph.file_language(file) in MUST_IMPORT:
                return []
            return resolver.guessed(file, reference._replace(kind="use", receiver=""), _IN_PATH)
        found = resolver.targets(file, reference)
        if site.kind == VARIABLE:
            found = [one for one in found if one.definition.symbol.kind not in FUNCTION_LIKE]
        if site.local_to is None:
            return found
        return [
            Target(one.definition, one.confidence * _PERHAPS_LOCAL, one.why)
            for one in found
            if not site.local_to and one.why in ("import", "scope")
        ]


def _read(root: str, graph: CompiledGraph, file: str) -> bytes | None:
    """The source of a file in the version that is indexed; None if it has changed, since then its lines are others."""
    try:
        data = read_contained(os.fsencode(root), file.encode(), _MAX_BYTES)
    except FileNotFoundError:  # an imported index
        text = stored_text(graph.folder, file)
        return text.encode() if text is not None else None
    except OSError:
        return None
    if file_key(file, xxhash.xxh3_128_hexdigest(data)) != graph.file_key(file):
        return None
    decoded = decode(data)
    return decoded.text.encode() if decoded else None


def _numbered(source: bytes, starts: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Ascending offsets with their lines before them."""
    line, last = 1, 0
    for start in starts:
        line, last = line + source.count(b"\n", last, start), start
        yield line, start


def _accounts_for(lines: Mapping[int, int], stored: Sequence[Reference], defined: Mapping[int, int]) -> bool:
    """Whether each line has as many references and definitions as words: then no word is left."""
    known = Counter(reference.line for reference in stored)
    return all(count <= known[line] + defined.get(line, 0) for line, count in lines.items())


def _without_definitions(found: list[Occurrence], defined: Mapping[int, int]) -> list[Occurrence]:
    """The occurrences that do not give the name to one of the file's definitions."""
    left = dict(defined)
    declared = Counter(one.line for one in found if one.kind == DECLARED)
    kept = []
    for one in found:
        is_name = left.get(one.line, 0) > 0 and (one.kind == DECLARED or not declared[one.line])
        if is_name:
            left[one.line] -= 1
        else:
            kept.append(one)
    return kept


def _unaccounted(found: Sequence[Occurrence], stored: Sequence[Reference]) -> tuple[list[Occurrence], dict[int, int]]:
    """The occurrences that are no stored reference; and the lines of names in imports of several lines."""
    left = list(found)
    moved = {}
    for reference in stored:
        if reference.kind == "import":
            rank = [(one.kind == "import" and one.statement == reference.line, one.line) for one in left]
            at = next((number for number, (is_it, _) in enumerate(rank) if is_it), None)
            if at is not None and left[at].line != reference.line:
                moved[reference.line] = left[at].line
        else:
            here = [number for number, one in enumerate(left) if one.line == reference.line]
            at = max(here, key=lambda number: _likeness(left[number], reference), default=None)
        if at is not None:
            del left[at]
    return left, moved


def _likeness(one: Occurrence, reference: Reference) -> tuple[bool, bool, bool]:
    return one.receiver == reference.receiver, one.kind == reference.kind, one.kind not in (DECLARED, KEY)


def _as_sites(
    name: str, found: Sequence[Occurrence], left: Sequence[Occurrence], symbols: Sequence[Symbol]
) -> list[_Site]:
    """The occurrences in `left` as references, each with its scope."""
    texts: dict[str, int] = {}
    numbers = scope_numbers([one.line for one in found], symbols, texts)
    names = list(texts)
    scope_of = {one.line: names[number] for one, number in zip(found, numbers, strict=True)}
    defined = {symbol.qualname for symbol in symbols if symbol.name == name}
    declared = {scope_of[one.line] for one in found if one.kind == DECLARED and not one.receiver}
    declared = {scope for scope in declared if (f"{scope}.{name}" if scope else name) not in defined}
    sites = []
    for one in left:
        scope = scope_of[one.line]
        kind = one.kind if one.kind in ("call", "inherit", "type", "import") else "use"
        local_to = None if one.receiver else next((outer for outer in scopes(scope) if outer in declared), None)
        sites.append(_Site(Reference(kind, name, one.receiver, one.line, "", scope), one.kind, local_to))
    return sites


def _is_default(definition: Definition) -> bool:
    return definition.symbol.signature.startswith("export default")
