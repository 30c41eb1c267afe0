"""What the search page keeps open between requests: the searches of code and of memories, and who is next."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING

from sage_web.searching.turns import Turns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.requests import Request

    from sage_code.project import Project
    from sage_code.views.found.code_search import Finding, Found
    from sage_code.views.found.freshness import IndexAges
    from sage_code.views.found.remembered import MemoryFinding, Remembered
    from sage_web.searching.asked import Asked

_making = threading.Lock()


class Finders:
    """Everything that searches; each is loaded when it is first asked."""

    def __init__(self) -> None:
        self._by_meaning, self._by_text = Turns(), Turns()  # a slow pattern does not hold up the others

    @cached_property
    def code(self) -> Finding:
        """Finds code by words and meaning."""
        from sage_code.views.found.code_search import Finding  # lazy: NumPy

        return Finding()

    @cached_property
    def ages(self) -> IndexAges:
        """Knows which indexes are up to date."""
        from sage_code.views.found.freshness import IndexAges  # lazy: the port is open before it is needed

        return IndexAges()

    @cached_property
    def memory(self) -> MemoryFinding:
        """Finds memories."""
        from sage_code.views.found.remembered import MemoryFinding  # lazy: the same

        return MemoryFinding()

    def turn(self, asked: Asked, page: str, number: int) -> AbstractContextManager[bool]:
        """Wait for the turn of a search."""
        turns = self._by_text if asked.mode in ("exact", "regex") else self._by_meaning
        return turns.turn(page, number)

    def find(self, asked: Asked, roots: Sequence[str]) -> Found:
        """What was found in some projects."""
        if asked.mode == "":
            return self.code.search(asked.text, roots, asked.chosen, asked.limit)
        from sage_code.views.found.exact_search import find_symbols, find_text  # lazy: not for most searches

        if asked.mode == "symbol":
            return find_symbols(asked.text, roots, asked.chosen, asked.limit)
        return find_text(asked.text, roots, asked.chosen, asked.limit, regex=asked.mode == "regex")

    def remembered(
        self, question: str, projects: Sequence[Project], limit: int, *, said_in: str = "", alone: bool = False
    ) -> tuple[Remembered, ...]:
        """What is remembered about a question."""
        memories = {one.root: one.memory for one in projects}
        if not question.strip():
            return ()
        return self.memory.search(question, memories, limit, said_in=said_in, alone=alone)

    def words(self, question: str) -> tuple[str, ...]:
        """The words of a question that are marked in code."""
        from sage_code.errors import UsageError
        from sage_code.search.query import parse_query  # lazy: with the search

        try:
            return tuple(word for word in parse_query(question).terms if len(word) > 1)
        except UsageError:  # it has none
            return ()


def finders_of(request: Request) -> Finders:
    """The finders of the running page."""
    state = request.app.state
    with _making:
        if not hasattr(state, "finders"):
            state.finders = Finders()
        found: Finders = state.finders
    return found
