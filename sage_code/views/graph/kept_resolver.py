"""Keeps what resolving references has learned about files between two questions about the same index.

A click in a graph asks about the files of the click before it, and reading what they import and define takes most of
the time of an answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sage_code.xref.compiled_graph import CompiledGraph
from sage_code.xref.resolve import Resolver

# Projects whose resolver is kept, and the files that one may know: a file takes some 100 kB.
_KEPT_PROJECTS = 2
_KEPT_FILES = 2_000


class KeptResolver(Resolver):
    """A resolver that answers one question after the other."""

    def __init__(self, graph: CompiledGraph) -> None:
        super().__init__(graph)
        self.folder = graph.folder
        self.lock = threading.Lock()

    def begin(self, seconds: float) -> None:
        """Begin a question that takes at most so long."""
        self._until, self.ran_out = time.monotonic() + seconds, False

    @property
    def is_worth_keeping(self) -> bool:
        """Whether what it knows is whole and does not take too much memory."""
        return not self.ran_out and len(self._views) <= _KEPT_FILES


_kept: dict[str, KeptResolver] = {}  # the one that was asked last at the end
_lock = threading.Lock()


@contextmanager
def kept_resolver(root: str, seconds: float) -> Iterator[KeptResolver]:
    """The resolver of the published index of a project, for one question at a time."""
    found = _found(root)
    is_good = False
    try:
        with found.lock:
            found.begin(seconds)
            yield found
            is_good = found.is_worth_keeping
    finally:
        if not is_good:
            with _lock:
                if _kept.get(root) is found:
                    del _kept[root]


def _found(root: str) -> KeptResolver:
    """The one that is kept, unless another generation was published since."""
    graph = CompiledGraph(root)
    with _lock:
        found = _kept.pop(root, None)
        if found is None or found.folder != graph.folder:
            found = KeptResolver(graph)
        _kept[root] = found
        if len(_kept) > _KEPT_PROJECTS:
            del _kept[next(iter(_kept))]
    return found
