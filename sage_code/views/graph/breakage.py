"""What may break when a file, a definition or a line changes: by file, tests apart, with distance and reason."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sage_code.compiled.inventory import reading
from sage_code.errors import UsageError
from sage_code.languages.kinds import TEXT_KINDS
from sage_code.lookup.location import parse_location
from sage_code.search.path_classes import PATH_CLASSES, path_classes
from sage_code.values import Symbol
from sage_code.xref import answers
from sage_code.xref.answers import Affected
from sage_code.xref.compiled_graph import CompiledGraph
from sage_code.xref.graph import Definition
from sage_code.xref.language_rules import MUST_IMPORT, family
from sage_code.xref.resolve import DEFAULT_CONFIDENCE, Resolver
from sage_code.xref.text_uses import TextUses, find_text_uses

DEFAULT_SECONDS = 6.0
# Of that time, what reading the text of the files may take.
_TEXT_SHARE = 0.5
_TEST = PATH_CLASSES.index("test")
# A use of a name that the diff removes and that nothing else defines: what else could it have meant?
_LOST, _PERHAPS_LOST = 0.9, 0.45
_STEPS = re.compile(r"[./\\:]+")
_VERBS = {"call": "calls", "inherit": "inherits from", "type": "names the type", "use": "uses", "import": "imports"}


@dataclass(frozen=True, slots=True)
class Subject:
    """What changes: a definition, or a whole file (`qualname` is empty)."""

    file: str
    line: int
    kind: str
    qualname: str


@dataclass(frozen=True, slots=True)
class AffectedFile:
    """A file with what may break in it, the nearest and most certain first."""

    file: str
    is_test: bool
    places: tuple[Affected, ...]

    @property
    def distance(self) -> int:
        """How many steps away the nearest place is."""
        return min(place.distance for place in self.places)

    @property
    def confidence(self) -> float:
        """How certain the most certain place is."""
        return max(place.confidence for place in self.places)


@dataclass(frozen=True, slots=True)
class Breakage:
    """What may break with some subjects."""

    subjects: tuple[Subject, ...]
    files: tuple[AffectedFile, ...]
    tests: tuple[AffectedFile, ...]
    is_complete: bool = True  # False: the time was over

    @property
    def places(self) -> int:
        """How many definitions or files may break."""
        return sum(len(one.places) for one in (*self.files, *self.tests))


def breakage(root: str, what: str, *, seconds: float = DEFAULT_SECONDS) -> Breakage:
    """What may break when FILE, FILE:LINE or every definition called SYMBOL changes."""
    with reading(root):
        breaking = Breaking(root, seconds)
        location = parse_location(root, what)
        if location is None:
            definitions = [one for one in breaking.graph.definitions(what) if one.symbol.kind not in TEXT_KINDS]
            if not definitions:
                raise UsageError(
                    f"nothing is called {what[:200]}", "give a file, FILE:LINE or the name of a definition"
                )
            return breaking.of_definitions(list({one.key: one for one in definitions}.values()))
        if location.file not in breaking.graph.files():
            raise UsageError(f"{location.file[:200]} is not in the index", "give a file that is, or a name")
        inside = breaking.around(location.file, location.start_line) if location.start_line is not None else None
        return breaking.of_definitions([inside]) if inside else breaking.of_file(location.file)


class Breaking:
    """Answers what breaks, within one limit of time, from one state of the index."""

    def __init__(self, root: str, seconds: float) -> None:
        self._root = root
        self._text_until = time.monotonic() + seconds * _TEXT_SHARE
        self.graph = CompiledGraph(root)
        self.resolver = Resolver(self.graph, seconds)
        self._files_left = 0

    def around(self, file: str, line: int) -> Definition | None:
        """The innermost definition around a line."""
        symbol = innermost(self.graph.file_symbols(file), line)
        return Definition(file, self.graph.file_language(file), symbol) if symbol else None

    def of_file(self, file: str) -> Breakage:
        """What may break when a whole file changes."""
        return self._grouped([Subject(file, 1, "file", "")], answers.impact(self.resolver, file))

    def of_definitions(self, definitions: Sequence[Definition], lost: Iterable[Affected] = ()) -> Breakage:
        """What may break with any of some definitions, and what is `lost` already."""
        found = list(lost)
        by_name: dict[str, list[Definition]] = {}
        for one in definitions:
            by_name.setdefault(one.symbol.name, []).append(one)
        for same in by_name.values():
            text = self._text_uses(same)
            for one in same:
                found += answers.impact(self.resolver, one, DEFAULT_CONFIDENCE, text=text)
        subjects = [Subject(one.file, one.symbol.line, one.symbol.kind, one.symbol.qualname) for one in definitions]
        return self._grouped(subjects, found)

    def lost(self, file: str, removed: Symbol, language: str) -> list[Affected]:
        """The uses of a definition that is gone: in its own file, in files that import it, and where no other is meant.

        In a language that imports what it uses, a file that does not import the name means something else by it.
        """
        users = [(user, one) for user, one in self.graph.references(removed.name) if self._is_alike(user, language)]
        importers = {user for user, one in users if one.kind == "import" and _names_module(one.receiver, file)}
        found = []
        for user, one in users:
            if not self.resolver.in_time():
                break
            if one.kind == "import" and user not in importers:
                continue
            is_sure = user == file or user in importers
            if (one.receiver and one.kind != "import") or (not is_sure and language in MUST_IMPORT):
                is_sure = is_sure and one.receiver in ("self", "this", "cls")
                if not is_sure and (language in MUST_IMPORT and not one.receiver):
                    continue
            if not self.resolver.targets(user, one):
                why = f"{_VERBS[one.kind]} {removed.qualname}, which is gone"
                found.append(Affected(user, one.line, one.scope, 1, _LOST if is_sure else _PERHAPS_LOST, why))
        return found

    def _is_alike(self, file: str, language: str) -> bool:
        return family(self.graph.file_language(file)) == family(language)

    def _text_uses(self, definitions: Sequence[Definition]) -> TextUses:
        left = self._text_until - time.monotonic()
        if left <= 0:
            self._files_left += 1
            return TextUses()
        found = find_text_uses(self.resolver, self.graph, self._root, definitions, left)
        self._files_left += found.files_left
        return found

    def _grouped(self, subjects: Sequence[Subject], found: Iterable[Affected]) -> Breakage:
        """What was found by file: each place once, at its shortest distance, without the subjects themselves."""
        own = {(one.file, one.qualname) for one in subjects}
        best: dict[tuple[str, str], Affected] = {}
        for one in found:
            key = (one.file, one.scope)
            known = best.get(key)
            if key not in own and (known is None or _rank(one) < _rank(known)):
                best[key] = one
        by_file: dict[str, list[Affected]] = {}
        for one in sorted(best.values(), key=_rank):
            by_file.setdefault(one.file, []).append(one)
        files = [AffectedFile(file, is_test(file), tuple(places)) for file, places in by_file.items()]
        files.sort(key=lambda one: (one.distance, -one.confidence, -len(one.places), one.file))
        complete = not (self.resolver.ran_out or self._files_left)
        code, tests = (tuple(one for one in files if one.is_test == wanted) for wanted in (False, True))
        return Breakage(tuple(subjects), code, tests, complete)


def _names_module(module: str, file: str) -> bool:
    """Whether the module of an import may be a file, by the last step of both."""
    *folders, name = file.split("/")
    step = _STEPS.split(module.rstrip("./"))[-1]
    return bool(step) and step in (name.partition(".")[0], name, folders[-1] if folders else "")


def innermost(symbols: Iterable[Symbol], line: int) -> Symbol | None:
    """The smallest definition in code that a line belongs to."""
    around = [one for one in symbols if one.start_line <= line <= one.end_line and one.kind not in TEXT_KINDS]
    return min(around, key=lambda one: (one.end_line - one.start_line, -one.start_line), default=None)


def is_test(path: str) -> bool:
    """Whether a file is a test, by its path."""
    return bool(path_classes(path)[_TEST])


def _rank(one: Affected) -> tuple[int, float, str, int]:
    return one.distance, -one.confidence, one.file, one.line
