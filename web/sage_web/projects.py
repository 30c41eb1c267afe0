"""Which project an address means: those that the user has indexed, and no others."""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sage_code.errors import NotIndexed
from sage_code.serving.requester import may_read

if TYPE_CHECKING:
    from sage_code.index.registry import ProjectEntry
    from sage_code.project import Project

# Open projects that are kept, the searches of each ready.
_KEPT_OPEN = 8
_SLUG = re.compile(r"[^A-Za-z0-9._-]+")
_SUFFIX_CHARS = 6
_SLUGS_KEPT_S = 1.0


@dataclass(frozen=True, slots=True)
class ListedProject:
    """A project as an address names it."""

    slug: str
    entry: ProjectEntry

    @property
    def name(self) -> str:
        """Its name for people."""
        return self.entry.name

    @property
    def root(self) -> str:
        """Its folder."""
        return self.entry.root


class Projects:
    """The indexed projects of the user."""

    def __init__(self, root: str = "") -> None:
        self.own = root  # the project that the page was started in
        self._open: dict[str, Project] = {}  # the one that was asked last at the end
        self._lock = threading.Lock()
        self._slugs: dict[str, str] = {}
        self._slugs_until = 0.0

    def listed(self) -> list[ListedProject]:
        """Every project that this request may read, the one that the page was started in first, then by name."""
        from sage_code.discover.roots import why_unusual
        from sage_code.files.provenance import is_known
        from sage_code.index import registry

        entries = [
            entry
            for entry in registry.projects()
            if os.path.isdir(entry.root)
            and is_known(entry.root)
            and not why_unusual(entry.root)
            and may_read(entry.root)
        ]
        slugs = [_slug(entry.name) for entry in entries]
        found = [
            ListedProject(slug if slugs.count(slug) == 1 else f"{slug}~{_suffix(entry.root)}", entry)
            for slug, entry in zip(slugs, entries, strict=True)
        ]
        return sorted(found, key=lambda one: (one.root != self.own, one.name.lower(), one.root))

    def first(self) -> ListedProject | None:
        """The project that is meant if none is named."""
        return next(iter(self.listed()), None)

    def find(self, slug: str) -> ListedProject:
        """The project of an address."""
        for one in self.listed():
            if one.slug == slug:
                return one
        raise NotIndexed(f"no indexed project is called {slug[:80]}", "run `sage index` in its folder")

    def slug_of(self, root: str) -> str:
        """The slug of the project in a folder; empty if it may not be read. May be a moment old: events are many."""
        if not root:
            return ""
        if time.monotonic() > self._slugs_until:
            self._slugs = {one.root: one.slug for one in self.listed()}
            self._slugs_until = time.monotonic() + _SLUGS_KEPT_S
        return self._slugs.get(root, "")

    def open(self, slug: str) -> Project:
        """The project of an address, with everything that its searches keep open."""
        return self.opened(self.find(slug).root)

    def opened(self, root: str) -> Project:
        """The project in a folder, opened once."""
        from sage_code.project import Project

        with self._lock:
            project = self._open.pop(root, None) or Project(root)
            self._open[root] = project
            if len(self._open) > _KEPT_OPEN:
                del self._open[next(iter(self._open))]
        return project


def _slug(name: str) -> str:
    return _SLUG.sub("-", name).strip("-.") or "project"


def _suffix(root: str) -> str:
    return hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()[:_SUFFIX_CHARS]
