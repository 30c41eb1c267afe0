"""The facets, chips and modes of the search page as links, each to the address with one thing chosen otherwise."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sage_web.searching.asked import Asked, Mode

if TYPE_CHECKING:
    from sage_code.views.found.facets import Facets, FacetValue
    from sage_web.projects import ListedProject

_MODES: tuple[tuple[Mode, str, str], ...] = (
    ("", "Meaning", "by words and meaning: questions, names, error messages"),
    ("symbol", "Symbols", "definitions whose name begins with this"),
    ("exact", "Exact", "this text as it is written, in every file"),
    ("regex", "Regex", "a regular expression of Python, in every file"),
)
_KINDS = {"fallback": "other code", "module": "top level"}


@dataclass(frozen=True, slots=True)
class FacetLink:
    """One value of a group."""

    label: str
    href: str
    chosen: bool
    count: int | None = None
    title: str = ""


@dataclass(frozen=True, slots=True)
class FacetGroup:
    """A group of values."""

    name: str
    title: str
    links: tuple[FacetLink, ...]


def groups_of(asked: Asked, facets: Facets | None, listed: Sequence[ListedProject]) -> list[FacetGroup]:
    """The groups that have something to choose; without facets only those that do not need a search."""
    groups = [FacetGroup("what", "Show", _what(asked))]
    if len(listed) > 1:
        groups.append(FacetGroup("project", "Project", _projects(asked, facets, listed)))
    if facets is None:
        return groups
    inside = asked.chosen.folders[0] if len(asked.chosen.folders) == 1 else ""
    groups += [
        FacetGroup("language", "Language", _toggles(asked, "languages", facets.languages)),
        FacetGroup("kind", "Kind", _toggles(asked, "kinds", facets.kinds)),
        FacetGroup("folder", "Folder", tuple(_folder(asked, one, inside) for one in facets.folders)),
        FacetGroup("tests", "Tests", _tests(asked, facets)),
    ]
    return [group for group in groups if _is_useful(group)]


def _is_useful(group: FacetGroup) -> bool:
    """Whether there is something to choose, or to take back."""
    return any(link.chosen for link in group.links) or sum(link.count != 0 for link in group.links) > 1


def _what(asked: Asked) -> tuple[FacetLink, ...]:
    everything, memories = asked.but(memory_only=False), asked.but(memory_only=True)
    return (
        FacetLink("Code", everything.address(), not asked.memory_only),
        FacetLink("Memory only", memories.address(), asked.memory_only),
    )


def _projects(asked: Asked, facets: Facets | None, listed: Sequence[ListedProject]) -> tuple[FacetLink, ...]:
    """All projects, then the chosen one and those with the most candidates."""
    counts = {one.value: one.count for one in facets.projects} if facets and not asked.slug else {}
    first = FacetLink("All", asked.but(slug="").address(), not asked.slug)
    ordered = sorted(listed, key=lambda one: (one.slug != asked.slug, -counts.get(one.root, 0)))
    return (
        first,
        *(
            FacetLink(
                one.name, asked.but(slug=one.slug).address(), one.slug == asked.slug, counts.get(one.root), one.root
            )
            for one in ordered
        ),
    )


def _toggles(asked: Asked, group: str, values: Iterable[FacetValue]) -> tuple[FacetLink, ...]:
    """The values of a group, each as a link that chooses it or takes it back."""
    return tuple(
        FacetLink(
            _KINDS.get(one.value, one.value),
            asked.toggled(group, one.value).address(),
            one.chosen,
            one.count,
            one.value,
        )
        for one in values
    )


def _folder(asked: Asked, one: FacetValue, inside: str) -> FacetLink:
    """A folder: one below the chosen folder takes its place."""
    is_below = bool(inside) and not one.chosen
    after = asked.choosing(folders=(one.value,)) if is_below else asked.toggled("folders", one.value)
    label = os.path.basename(one.value) if is_below else one.value
    return FacetLink(f"{label}/", after.address(), one.chosen, one.count, one.value)


def _tests(asked: Asked, facets: Facets) -> tuple[FacetLink, ...]:
    """With tests alone or without them; choosing the same again takes it back."""
    now = asked.chosen.tests
    return (
        FacetLink(
            "Without tests",
            asked.choosing(tests="" if now == "no" else "no").address(),
            now == "no",
            facets.others,
            "no",
        ),
        FacetLink(
            "Only tests",
            asked.choosing(tests="" if now == "only" else "only").address(),
            now == "only",
            facets.tests,
            "only",
        ),
    )


def chips_of(asked: Asked) -> list[FacetLink]:
    """What is chosen, each as a link that takes it back."""
    one = asked.chosen
    chips = [
        FacetLink(_KINDS.get(value, value), asked.toggled(group, value).address(), True)
        for group in ("languages", "kinds", "folders")
        for value in getattr(one, group)
    ]
    if one.tests:
        label = "without tests" if one.tests == "no" else "only tests"
        chips.append(FacetLink(label, asked.choosing(tests="").address(), True))
    return chips


def modes_of(asked: Asked) -> list[FacetLink]:
    """How to search."""
    return [
        FacetLink(label, asked.but(mode=mode, memory_only=False).address(), asked.mode == mode, title=title)
        for mode, label, title in _MODES
    ]
