"""What a session reads about its project once, with its first answer: the core files, and memories.

The text comes with the project and may be hostile: the context builder puts it into an element that it cannot close.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sage_code.memory.context.components import Component
    from sage_code.project import Project

# What the opening may cost, over and above the budget of the answer that it comes with.
OPENING_TOKENS = 800
# The list of core files can be asked for; what is remembered comes only here.
_CORE_SHARE = 0.5
_CORE_TITLE = "Core files of this project (.sage/core.md)"
# Clients of the newest protocol have no session over HTTP: after so long a silence a new one begins.
_SESSION_S = 3_600.0
_KEPT_SESSIONS = 1_024


@dataclass(frozen=True, slots=True)
class Section:
    """A part of an opening."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Opening:
    """What a session reads about a project: as one text, and the same by sections."""

    text: str
    sections: tuple[Section, ...]


def opening(project: Project) -> Opening | None:
    """The opening of a project, within its budget; None if there is nothing to say."""
    from sage_code.memory.context.builder import ContextBuilder  # lazy: most answers are not the first of a session
    from sage_code.memory.session_opening import opening_components

    builder = ContextBuilder(OPENING_TOKENS, element="sage-opening", about="What Sage knows about this project.")
    core, memories = _core_files(project), opening_components(project.root)
    for component in (core, *memories):
        builder.add(component)
    built = builder.build()
    of_memory = [f"{one.title}:\n{kept.text}" for one in memories if (kept := built.part(one.name)).items_kept]
    sections = (
        Section(core.title, built.part(core.name).text),
        Section("What is remembered about this project", "\n".join(of_memory)),
    )
    return Opening(built.text, tuple(section for section in sections if section.text)) if built.text else None


def _core_files(project: Project) -> Component:
    """The project's core files with their summaries."""
    from sage_code.memory.context.components import Component, Priority
    from sage_code.memory.files.core_files import by_worth

    files = [f"{file.path}: {file.summary}" if file.summary else file.path for file in by_worth(project.core_files())]
    return Component(
        "core", Priority.HIGH, files, _CORE_TITLE, _CORE_SHARE, bullet="- ", rest="- and {left} more: sage_list_core",
        max_share=_CORE_SHARE,
    )  # fmt: skip


class Openings:
    """Remembers which sessions have read the opening of which project."""

    def __init__(self) -> None:
        self._opened: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()

    def due(self, session: str, root: str) -> bool:
        """Whether this session has not read the opening of this project yet; from now on it has."""
        now = time.monotonic()
        with self._lock:
            last = self._opened.pop((session, root), float("-inf"))
            self._opened[session, root] = now
            if len(self._opened) > _KEPT_SESSIONS:
                del self._opened[next(iter(self._opened))]
        return last == float("-inf") or (session.startswith("client ") and now - last > _SESSION_S)
