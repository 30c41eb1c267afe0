"""What a session reads about its project once, with its first answer: the core files, and memories.

Each of `SOURCES` gives a section for a project within a budget, or none. The text comes with the project and may be
hostile: it is shown as the project's, without invisible characters.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sage_code.text.escaping import one_line, visible

if TYPE_CHECKING:
    from sage_code.project import Project

# What the opening may cost, over and above the budget of the answer that it comes with.
OPENING_TOKENS = 800
# Clients of the newest protocol have no session over HTTP: after so long a silence a new one begins.
_SESSION_S = 3_600.0
_KEPT_SESSIONS = 1_024


@dataclass(frozen=True, slots=True)
class Section:
    """A part of an opening."""

    title: str
    text: str


def core_files(project: Project, max_tokens: int) -> Section | None:
    """The project's core files with their summaries."""
    from sage_code.memory.files.core_files import brief

    files = project.core_files()
    chosen = brief(files, max_tokens)
    if not chosen:
        return None
    lines = [f"- {one_line(file.path)}" + (f": {one_line(file.summary)}" if file.summary else "") for file in chosen]
    left = sum(file.exists for file in files) - len(chosen)
    lines += [f"- and {left} more: sage_list_core"] if left else []
    return Section("Core files of this project (.sage/core.md)", "\n".join(lines))


def memories(project: Project, max_tokens: int) -> Section | None:
    """The knowledge that the project's names recall, and the todos that are due."""
    from sage_code.memory.session_opening import session_opening

    text = session_opening(project.root, max_tokens)
    return Section("What is remembered about this project", text) if text else None


SOURCES: list[Callable[[Project, int], Section | None]] = [core_files, memories]


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


def sections(project: Project) -> list[Section]:
    """The sections that a project has."""
    share = OPENING_TOKENS // len(SOURCES)
    return [section for source in SOURCES if (section := source(project, share))]


def as_text(parts: list[Section]) -> str:
    """The sections as text."""
    return "\n\n".join(f"{part.title}:\n{visible(part.text)}" for part in parts)
