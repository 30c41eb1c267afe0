"""The façade of the views: `Project.views` has a method for each."""

from __future__ import annotations

from sage_code.settings.table import Settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from sage_code.memory.changing import Kind
    from sage_code.memory.memory import Memory
    from sage_code.views.code.coloured import ColouredLines
    from sage_code.views.code.folders import Folder
    from sage_code.views.code.linked import LinkedLines
    from sage_code.views.code.margin import MarginNote
    from sage_code.views.graph.breakage import Breakage
    from sage_code.views.graph.measures import FolderMeasures, Measure
    from sage_code.views.graph.neighbourhood import Neighbourhood, Opened
    from sage_code.views.graph.uncommitted import Uncommitted
    from sage_code.views.remembered.memories import MemoryPage, MemoryQuery
    from sage_code.views.remembered.memory_detail import MemoryView
    from sage_code.views.remembered.stale_queue import StaleQueue
    from sage_code.views.state.health import MemoryFigures, SkippedGroup
    from sage_code.xref.graph import Definition


class Views:
    """The views of one project."""

    def __init__(self, root: str, settings: Settings) -> None:
        self._root, self._settings = root, settings

    # --- code -------------------------------------------------------------------------------------------------------

    def coloured(self, path: str, first: int = 1, last: int | None = None, *, at_once: bool = False) -> ColouredLines:
        """Lines of a file in colour; `at_once`: a long file has colours only at its beginning."""
        from sage_code.views.code.coloured import coloured

        return coloured(self._root, self._settings, path, first, last, at_once=at_once)

    def linked(self, path: str, first: int = 1, last: int | None = None, *, is_stale: bool = False) -> LinkedLines:
        """Lines of a file with every name linked; `is_stale`: files may have changed since the index was made."""
        from sage_code.lookup.changed import ChangedFiles
        from sage_code.views.code.linked import linked

        changed = ChangedFiles(self._root, self._settings) if is_stale else ()
        return linked(self._root, self._settings, path, first, last, is_changed=changed.__contains__)

    def margin(self, path: str) -> tuple[MarginNote, ...]:
        """The memories about a file, beside the lines where their code is now."""
        from sage_code.views.code.margin import margin

        return margin(self._root, path)

    def folder(self, path: str = "") -> Folder:
        """The files and folders in a folder of the index."""
        from sage_code.views.code.folders import folder

        return folder(self._root, path.strip("/"))

    def masked(self, texts: Iterable[str]) -> list[str]:
        """Single lines of code with their secrets masked."""
        from sage_code.text.masking import mask

        return [mask(text)[0] for text in texts]

    def content_hash(self, path: str) -> str:
        """The hash of a file as it is now; empty if it is gone."""
        from sage_code.views.code.source import content_hash_of

        return content_hash_of(self._root, self._settings, path)

    # --- graph and map ----------------------------------------------------------------------------------------------

    def centres(self, name: str, file: str = "") -> list[Definition]:
        """The definitions that a name may mean, of which each has a neighbourhood."""
        from sage_code.views.graph.neighbourhood import centres

        return centres(self._root, name, file)

    def neighbourhood(self, centre: Definition, opened: Iterable[Opened] = ()) -> Neighbourhood:
        """Who calls a definition and what it calls, further where it was opened."""
        from sage_code.views.graph.neighbourhood import neighbourhood

        return neighbourhood(self._root, centre, opened)

    def breakage(self, what: str) -> Breakage:
        """What may break when FILE, FILE:LINE or a name changes."""
        from sage_code.views.graph.breakage import breakage

        return breakage(self._root, what)

    def uncommitted(self) -> Uncommitted:
        """What has changed since the last commit, what that may break, and which memories it makes stale."""
        from sage_code.views.graph.uncommitted import uncommitted

        return uncommitted(self._root, self._settings)

    def measures(self, by: Measure = "size", below: str = "", *, only_code: bool = False) -> FolderMeasures:
        """The folders and files below a folder with their lines, their use, their age or their stale memories."""
        from sage_code.views.graph.measures import folder, is_code, measures

        files = measures(self._root, by)
        return folder([one for one in files if is_code(one)] if only_code else files, below)

    # --- health -----------------------------------------------------------------------------------------------------

    def skipped(self, containing: str = "", most: int = 200) -> list[SkippedGroup]:
        """What an index run leaves out, by reason; `containing` is a part of the path."""
        from sage_code.views.state.health import skipped

        return skipped(self._root, self._settings, containing, most)

    def memory_figures(self) -> MemoryFigures:
        """How many memories there are, and how many no longer hold."""
        from sage_code.memory.memory import Memory
        from sage_code.views.state.health import memory_figures

        return memory_figures(self._root, Memory(self._root, self._settings))

    # --- memory -----------------------------------------------------------------------------------------------------

    def memories(self, memory: Memory, query: MemoryQuery) -> MemoryPage:
        """A page of the list of memories; `memory` is that of the project, which keeps its indexes open."""
        from sage_code.views.remembered.memories import memory_page

        return memory_page(memory, query)

    def memory(self, memory: Memory, kind: Kind, id_: str) -> MemoryView:
        """One memory, with what has become of its code."""
        from sage_code.views.remembered.memory_detail import memory_view

        return memory_view(memory, kind, id_)

    def stale_queue(self, memory: Memory, at: str = "", done: int = 0) -> StaleQueue:
        """The stale memories one after the other, at the one that is called `at`."""
        from sage_code.views.remembered.stale_queue import stale_queue

        return stale_queue(memory, at, done)

    def checks_quickly(self) -> bool:
        """Whether all memories can be compared with the code while a person waits for a page."""
        from sage_code.views.remembered.memory_states import states_of

        return states_of(self._root).is_quick()
