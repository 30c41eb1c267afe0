"""Facets of a search: by which project, language, kind, folder and class of file its candidates can be narrowed.

A value that is chosen becomes a filter of the search. The counts are those of the candidates, which are far fewer than
all files: they say how many of the best would be left. A group with a chosen value is counted without any choice, so
that another value can be seen and chosen instead.
"""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from sage_code.languages.kinds import CHUNK_KIND
from sage_code.search.path_classes import PATH_CLASSES, path_classes

if TYPE_CHECKING:
    from sage_code.search.query import Filters
    from sage_code.search.results import Hit

Tests = Literal["", "no", "only"]
# Values of a group that are offered; more would have to be read, not seen.
MOST_VALUES = 8
_TEST = PATH_CLASSES.index("test")


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a person has chosen; an empty choice allows everything."""

    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()  # of chunks
    folders: tuple[str, ...] = ()  # from the root, without a slash at the end
    tests: Tests = ""

    @property
    def narrows(self) -> bool:
        """Whether anything is chosen."""
        return bool(self.languages or self.kinds or self.folders or self.tests)

    def filters(self) -> Filters:
        """The part of the choice that a search understands; `allows` decides about the rest."""
        from sage_code.search.query import Filters  # lazy: a page knows its addresses before anybody searches

        # A filter takes a folder for a part of any path: it lets more through than is wanted, never less.
        paths = tuple(glob.escape(folder) + "/*" if set(folder) & set("*?[") else folder for folder in self.folders)
        return Filters(self.languages, paths, self.kinds)

    def allows(self, path: str) -> bool:
        """Whether a file is in a chosen folder and of the chosen class."""
        if self.folders and not any(path.startswith(f"{folder}/") for folder in self.folders):
            return False
        return not self.tests or is_test(path) == (self.tests == "only")

    def allows_kind(self, kind: str) -> bool:
        """Whether a definition is of a chosen kind."""
        return not self.kinds or kind in self.kinds or kind_of_chunk(kind) in self.kinds


@dataclass(frozen=True, slots=True)
class FacetValue:
    """One value of a group, with the number of candidates that have it."""

    value: str
    count: int
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Facets:
    """The groups by which candidates can be narrowed, each with its most frequent values."""

    projects: tuple[FacetValue, ...] = ()  # by root
    languages: tuple[FacetValue, ...] = ()
    kinds: tuple[FacetValue, ...] = ()
    folders: tuple[FacetValue, ...] = ()
    tests: int = 0  # candidates that are tests
    others: int = 0  # and that are none


@dataclass(frozen=True, slots=True)
class Candidate:
    """What facets need to know of a hit."""

    root: str
    path: str
    language: str
    kind: str


def is_test(path: str) -> bool:
    """Whether a file belongs to the tests, by its path."""
    return bool(path_classes(path)[_TEST])


def kind_of_chunk(kind: str) -> str:
    """The kind under which a definition is filed: a `struct` is a class."""
    return CHUNK_KIND.get(kind, kind)


def candidate_of(hit: Hit, root: str) -> Candidate:
    """What facets need to know of a hit of a search in `root`, or in several projects."""
    return Candidate(hit.root or root, hit.file, hit.language, kind_of_chunk(hit.kind))


def facets_of(narrowed: Sequence[Candidate], every: Sequence[Candidate], chosen: Chosen) -> Facets:
    """The groups with the counts of the candidates of a search, and of the same search without anything chosen."""
    inside = next(iter(chosen.folders), "") if len(chosen.folders) == 1 else ""
    folders = Counter(filter(None, (_folder(one.path, inside) for one in narrowed)))
    tests = every if chosen.tests else narrowed
    number = sum(is_test(one.path) for one in tests)

    def group(values: tuple[str, ...], of: Callable[[Candidate], str]) -> tuple[FacetValue, ...]:
        return _values(Counter(map(of, every if values else narrowed)), values)

    return Facets(
        group((), lambda one: one.root),
        group(chosen.languages, lambda one: one.language),
        group(chosen.kinds, lambda one: one.kind),
        (*_chosen_folders(narrowed, chosen.folders), *_values(folders, ())),
        number,
        len(tests) - number,
    )


def _values(counts: Counter[str], chosen: Iterable[str]) -> tuple[FacetValue, ...]:
    """The chosen values, then the most frequent others, ties by name."""
    first = [FacetValue(value, counts.pop(value, 0), True) for value in chosen]
    others = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    rest = [FacetValue(value, count) for value, count in others if value]
    return tuple([*first, *rest][: max(MOST_VALUES, len(first))])


def _chosen_folders(candidates: Sequence[Candidate], folders: Sequence[str]) -> list[FacetValue]:
    return [
        FacetValue(folder, sum(one.path.startswith(f"{folder}/") for one in candidates), True) for folder in folders
    ]


def _folder(path: str, inside: str) -> str:
    """The folder right below another one that a file is in; empty if it is in none."""
    if inside and not path.startswith(f"{inside}/"):
        return ""
    below = path[len(inside) + 1 if inside else 0 :]
    name, slash, _ = below.partition("/")
    return (f"{inside}/{name}" if inside else name) if slash else ""
