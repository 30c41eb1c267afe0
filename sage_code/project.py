"""The façade: faces, scripts and tests ask everything about a project through `Project`.

What answers from the index brings it up to date first (`refresh`), unless `refresh=False` is given. The module imports
almost nothing; each method loads what it needs, so that `sage grep` stays light.
"""

from __future__ import annotations

import os

from sage_code.compiled.inventory import reading
from sage_code.errors import UsageError
from sage_code.files.looking import Looking
from sage_code.files.stamps import first_look
from sage_code.paths import find_root, has_memories

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    from sage_code.index.freshness import Freshness
    from sage_code.index.outcome import IndexStats
    from sage_code.index.portable.exporting import ExportReport
    from sage_code.index.portable.importing import ImportReport
    from sage_code.index.status import Preview, Status
    from sage_code.lookup.changed import ChangedFiles
    from sage_code.lookup.map import ProjectMap
    from sage_code.lookup.outline import Outline
    from sage_code.lookup.related import Related, Relation
    from sage_code.lookup.similar import Duplicate, SimilarChunk
    from sage_code.memory.code.staleness import CheckedMemory
    from sage_code.memory.files.core_files import CoreFile
    from sage_code.memory.memory import Memory
    from sage_code.progress import Progress
    from sage_code.review.review import Review
    from sage_code.search.everywhere import Searchers
    from sage_code.search.exact.answer import Finders
    from sage_code.search.results import SearchResponse
    from sage_code.settings.loading import Settings
    from sage_code.values import Location, Scope
    from sage_code.views.views import Views


class Project:
    """One project on disk, indexed or not.

    >>> project = Project.open(".")
    >>> project.index()
    >>> project.grep("parse_config")
    >>> project.search("where are retries backed off").results[0].file
    """

    def __init__(self, root: str, overrides: Mapping[str, object] | None = None) -> None:
        self.root = root
        self._overrides = overrides
        self._settings: Settings | None = None
        self._searchers: Searchers | None = None  # what a search opens stays open for the next
        self._finders: Finders | None = None
        self._looking = None if overrides else Looking(root)  # what it watches too
        self._freshness: Freshness | None = None
        self._is_stale = False  # the last refresh had something to say
        self._memory: Memory | None = None

    @classmethod
    def open(cls, path: str | os.PathLike[str] = ".", *, overrides: Mapping[str, object] | None = None) -> Project:
        """The project around `path`; `overrides` are settings that win over all files."""
        path = os.fspath(path)
        if not os.path.exists(path):
            raise UsageError(f"there is no {path}", "give the path of a project's folder")
        return cls(find_root(path), overrides)

    @classmethod
    def named(cls, name: str, here: str = "") -> Project:
        """The project with this registered name, or the one around this path, which may be relative to `here`."""
        path = os.path.join(here, os.path.expanduser(name))
        if os.sep not in os.path.expanduser(name) and not name.startswith(".") and name:
            from sage_code.index import registry
            from sage_code.search.everywhere import find_project

            if any(entry.name == name for entry in registry.projects()):
                return cls(find_project(name).root)
            if not os.path.exists(path):
                names = ", ".join(sorted({entry.name for entry in registry.projects()})[:20])
                hint = f"there are: {names}" if names else "run `sage index` in one"
                raise UsageError(f"there is no {name[:200]}, and no indexed project of that name", hint)
        return cls.open(path)

    @property
    def settings(self) -> Settings:
        """The settings of this project, from all files, the environment and `overrides`."""
        if self._settings is None:
            from sage_code.settings.loading import load_settings

            self._settings = load_settings(self.root, self._overrides)
        return self._settings

    def _read_settings(self) -> Settings:
        """The settings as they are now."""
        self._settings = None
        return self.settings

    @property
    def memory(self) -> Memory:
        """The memories of this project: checkpoints and knowledge."""
        if self._memory is None:
            from sage_code.memory.memory import Memory

            self._memory = Memory(self.root, self.settings)
        return self._memory

    @property
    def views(self) -> Views:
        """What a page shows of this project: code with its names linked, its graph, its map, its state."""
        from sage_code.views.views import Views

        return Views(self.root, self.settings)

    def index(
        self,
        full: bool = False,
        progress: Progress | None = None,
        name: str | None = None,
        *,
        apart: bool = False,
        anywhere: bool = False,
    ) -> IndexStats:
        """Bring the index up to date; `full` reads every file again, `apart` does it in a child process.

        A home folder, a system folder or the root of the disk is refused unless it is indexed or `anywhere` is set.
        """
        if apart:
            from sage_code.index.process import index_in_child

            return index_in_child(self.root, full=full, name=name, progress=progress)
        from sage_code.index.pipeline import index_project

        return index_project(self.root, self.settings, full=full, name=name, anywhere=anywhere, progress=progress)

    def unusual(self) -> str:
        """Why the user should be asked before the folder is indexed (`a home folder`, ...); empty for a usual one."""
        from sage_code.discover.roots import why_unusual
        from sage_code.files.provenance import is_known

        return "" if is_known(self.root) else why_unusual(self.root)

    def export_index(self, archive: str | os.PathLike[str], progress: Progress | None = None) -> ExportReport:
        """Write the index, as it was last made, to one file that can be imported elsewhere."""
        from sage_code.index.portable.exporting import export_index

        return export_index(self.root, self.settings, os.fspath(archive), progress=progress)

    @classmethod
    def import_index(
        cls,
        archive: str | os.PathLike[str],
        path: str | os.PathLike[str] = ".",
        *,
        name: str | None = None,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Import an exported index into the project at `path`, which need not exist yet."""
        from sage_code.index.portable.importing import import_index

        project = cls(find_root(path := os.fspath(path)) if os.path.exists(path) else os.path.realpath(path))
        return import_index(project.root, project.settings, os.fspath(archive), name=name, progress=progress)

    def preview(self) -> Preview:
        """What `index` would do, without doing it."""
        from sage_code.index.status import preview

        return preview(self.root, self.settings)

    def status(self) -> Status:
        """What is indexed, how fresh it is, and what was left out."""
        from sage_code.index.status import status

        return status(self.root, self.settings)

    def refresh(self) -> str:
        """Bring the index up to date if few files have changed since; otherwise a note that says what is not in it.

        A project without an index is left without one.
        """
        notes = self._looking.notes() if self._looking else None
        said = notes.said if notes is not None and notes.said is not None else self._fresh().compare()
        self._is_stale = bool(said)
        return said

    def _fresh(self) -> Freshness:
        if self._freshness is None:
            from sage_code.index.freshness import Freshness

            self._freshness = Freshness(self.root, self._read_settings, self._looking)
        return self._freshness

    def _changed(self, refresh: bool) -> ChangedFiles | None:
        """The files that an answer must not believe the index about; None if it is up to date."""
        if refresh:
            self.refresh()
        if not self._is_stale:
            return None
        from sage_code.lookup.changed import ChangedFiles

        return ChangedFiles(self.root, self.settings)

    def search(
        self,
        query: str,
        limit: int = 10,
        language: str | Sequence[str] | None = None,
        paths: str | Sequence[str] | None = None,
        kinds: str | Sequence[str] | None = None,
        explain: bool = False,
        *,
        everywhere: bool = False,
        repositories: str | Sequence[str] | None = None,
        owners: str | Sequence[str] | None = None,
        refresh: bool = True,
        lines: int | None = None,
        context: int = 0,
        max_tokens: int | None = None,
    ) -> SearchResponse:
        """The best hits for a question in words, a name, a path, an error message or a piece of code.

        `paths` are folders, parts of paths or globs; `in:NAME` asks another project, `everywhere` all and the fleet.
        A snippet has at most `lines` lines (0: none) and `context` more on both sides; `max_tokens` bounds the whole.
        """
        from sage_code.search.everywhere import Searchers
        from sage_code.search.query import Filters, parse_query
        from sage_code.search.results import within
        from sage_code.search.snippets import SNIPPET_LINES, SearchOptions
        from sage_code.search.wanted import several

        if limit < 1 or context < 0 or (max_tokens is not None and max_tokens < 1):
            raise UsageError("a limit is at least 1, a context at least 0", "ask for fewer or more")
        parsed = parse_query(query, Filters(*map(several, (language, paths, kinds, None, repositories, owners))))
        shown = SNIPPET_LINES if lines is None else max(lines, 0)
        options = SearchOptions(limit, explain, refresh, shown, context, folds=lines is None)
        if self._searchers is None:
            self._searchers = Searchers(self.root, self.settings, self._fresh())
        response = self._searchers.search(parsed, options, everywhere=everywhere)
        if any(
            has_memories(root) for root in {hit.root or response.root for hit in response.results if not hit.repository}
        ):
            from sage_code.memory.code.attached import with_memories  # lazy: most projects have no memories

            response = with_memories(response)
        return within(response, max_tokens) if max_tokens is not None else response

    def find_text(
        self,
        text: str,
        limit: int = 10,
        language: str | Sequence[str] | None = None,
        paths: str | Sequence[str] | None = None,
        kinds: str | Sequence[str] | None = None,
        *,
        regex: bool = False,
        ignore_case: bool = False,
        everywhere: bool = False,
        refresh: bool = True,
        snippets: bool = True,
        context: int = 0,
        max_tokens: int | None = None,
        seconds: float | None = None,
    ) -> dict[str, Any]:
        """The files with exactly this text, or with a match of a regular expression, as `compiled_schema/search.json`.

        `limit` counts files; each has all its lines. With `seconds` a child process searches and is ended after that
        time, because some patterns never come to an end.
        """
        from sage_code.search.exact.answer import Finders
        from sage_code.search.exact.finding import Asked
        from sage_code.search.wanted import several

        if limit < 1 or context < 0 or (max_tokens is not None and max_tokens < 1):
            raise UsageError("a limit is at least 1, a context at least 0", "ask for fewer or more")
        asked = Asked(
            text, regex=regex, ignore_case=ignore_case, limit=limit, refresh=refresh, snippets=snippets,
            context=context, languages=several(language), paths=several(paths), kinds=several(kinds),
        )  # fmt: skip
        if seconds is not None:
            from sage_code.search.exact.child import answer_in_child

            return answer_in_child(self.root, asked, everywhere, max_tokens, seconds)
        if self._finders is None:
            self._finders = Finders(self.root, self._read_settings, self._looking)
        return self._finders.answer(asked, everywhere=everywhere, max_tokens=max_tokens)

    def quick_look(
        self, query: str, limit: int = 10, language: str | None = None, paths: str | None = None
    ) -> SearchResponse:
        """Search without an index, in a second or two: the files that contain most of the question's words."""
        from sage_code.search.query import Filters, parse_query
        from sage_code.search.unindexed import quick_look

        parsed = parse_query(query, Filters(*((one,) if one else () for one in (language, paths))))
        return quick_look(self.root, self.settings, parsed, limit)

    def grep(
        self,
        name: str,
        *,
        kind: str | None = None,
        ignore_case: bool = False,
        prefix: bool = False,
        refresh: bool = True,
    ) -> list[dict[str, Any]]:
        """Symbols by exact name, bare or qualified; each as `compiled_schema/symbol.json` describes."""
        from sage_code.compiled.lookup import open_symbols

        changed = self._changed(refresh)
        with reading(self.root):
            found = open_symbols(self.root).find(name, kind=kind, ignore_case=ignore_case, prefix=prefix)
        return found if changed is None else changed.found_again(found)

    def quick_grep(
        self, name: str, *, kind: str | None = None, ignore_case: bool = False, prefix: bool = False
    ) -> tuple[list[dict[str, Any]], str]:
        """The same in the time that `sage grep` has, and a note about what may be missing.

        Looks at a bounded number of files of the project, and at those with the symbols; at all of them if there are no
        such symbols, or one of their files has changed.
        """
        notes = first_look(self.root) if self._looking else None
        if notes is not None and notes.said is not None:
            self._is_stale = bool(notes.said)
            found = self.grep(name, kind=kind, ignore_case=ignore_case, prefix=prefix, refresh=False)
            if not notes.unseen:
                return found, notes.said
            if found and all(map(notes.is_same, {match["file"] for match in found})):
                unseen = f"{notes.unseen:,} files were not looked at for changes: --refresh looks at all"
                return found, "; ".join(filter(None, (notes.said, unseen)))
        note = self.refresh()
        return self.grep(name, kind=kind, ignore_case=ignore_case, prefix=prefix, refresh=False), note

    def nearest(self, name: str) -> list[str]:
        """Names that look like one that was not found."""
        from sage_code.compiled.lookup import open_symbols

        with reading(self.root):
            return open_symbols(self.root).nearest(name)

    def related(
        self,
        name: str,
        relation: Relation,
        *,
        depth: int = 1,
        min_confidence: float | None = None,
        seconds: float | None = None,
        most: int | None = None,
        check: Callable[[], None] | None = None,
        refresh: bool = True,
    ) -> Related:
        """What refers to the definitions of a name, calls them, is called by them, or may break with them (`impact`,
        also of a file), in one list.

        Looks no longer than `seconds` (8 unless given), and at no further definition once there are `most` uses;
        `check` is called before each definition and may raise.
        """
        from sage_code.lookup import related as lookup

        changed = self._changed(refresh)
        with reading(self.root):
            found = lookup.related(
                self.root, name, relation, depth=depth, min_confidence=min_confidence, seconds=seconds, most=most,
                check=check,
            )  # fmt: skip
        return found if changed is None else changed.related(found)

    def locate(self, what: str, *, refresh: bool = True) -> Location | None:
        """The location that `FILE:LINE` or `FILE:LINE-LINE` names, or that of the first definition called `what`."""
        from sage_code.lookup.location import parse_location
        from sage_code.values import Location

        location = parse_location(self.root, what)
        if location is not None and location.start_line is not None:
            return location
        found = self.grep(what, refresh=refresh)
        return Location(found[0]["file"], found[0]["line"], found[0]["line"]) if found else None

    def contains(self, path: str) -> bool:
        """Whether a file is one of those that are indexed, or would be: not ignored, nor kept by Sage or git."""
        from sage_code.index.status import is_listed

        return is_listed(self.root, self.settings, path)

    def outline(self, path: str) -> Outline:
        """The skeleton of a file."""
        from sage_code.lookup.outline import outline

        return outline(self.root, self.settings, path)

    def map(self, below: str = "", max_tokens: int = 1024, *, refresh: bool = True) -> ProjectMap:
        """The most important symbols, by reference centrality, within a budget of tokens."""
        from sage_code.lookup.map import project_map

        changed = self._changed(refresh)
        with reading(self.root):
            return project_map(self.root, below=below.strip("/"), max_tokens=max_tokens, without=changed or ())

    def similar(self, file: str, line: int, limit: int = 10, *, refresh: bool = True) -> list[SimilarChunk]:
        """The chunks most like the one at a line of a file."""
        from sage_code.lookup.similar import VectorSnapshot

        changed = self._changed(refresh)
        with reading(self.root):
            found = VectorSnapshot(self.root).nearest(file, line, limit)
        return found if changed is None else changed.left_out(found, lambda one: (one.chunk.file, file))

    def duplicates(self, limit: int = 50, *, refresh: bool = True) -> list[Duplicate]:
        """Near-identical code across the project."""
        from sage_code.lookup.similar import VectorSnapshot

        changed = self._changed(refresh)
        with reading(self.root):
            found = VectorSnapshot(self.root).duplicates(limit)
        return found if changed is None else changed.left_out(found, lambda pair: (pair.first.file, pair.second.file))

    def core_files(self) -> list[CoreFile]:
        """The files that everybody who works here should know, by path."""
        from sage_code.memory.files.core_files import core_files

        return core_files(self.root)

    def mark_core(self, path: str, summary: str = "") -> CoreFile:
        """Mark a file as core, for everybody who shares the project."""
        from sage_code.memory.files.core_files import mark

        return mark(self.root, path, summary)

    def unmark_core(self, path: str) -> str | None:
        """Remove a mark; the path that was listed, or None when none was."""
        from sage_code.memory.files.core_files import unmark

        return unmark(self.root, path)

    def use_model(
        self, name: str, *, scope: Scope = "user", index: bool = True, progress: Progress | None = None
    ) -> IndexStats | None:
        """Use another model for code, and embed the project with it; None when it is not indexed or not to be."""
        from sage_code.index.models import use_model

        stats = use_model(self.root, name, scope, index=index, progress=progress)
        self._settings = self._searchers = self._freshness = None  # read again: one of them has changed
        return stats

    def rebuild_embeddings(self, progress: Progress | None = None) -> tuple[IndexStats, dict[str, int]]:
        """Embed every chunk and every memory again; the outcome of the run, and how many memories of each kind."""
        from sage_code.index.upkeep import rebuild_embeddings

        return rebuild_embeddings(self.root, self.settings, progress=progress), self.memory.rebuild()

    def refs_check(self) -> list[CheckedMemory]:
        """Every memory, with the state of the code that it refers to."""
        from sage_code.memory.code.staleness import refs_check

        return refs_check(self.root)

    def stale(self) -> list[CheckedMemory]:
        """The memories whose code has changed or is gone: they need another look."""
        from sage_code.memory.code.staleness import stale

        return stale(self.root)

    def why(self, what: str) -> list[CheckedMemory]:
        """Every memory about FILE:LINE, a file or a symbol."""
        from sage_code.memory.code.staleness import why

        return why(self.root, what)

    def review(self, base: str = "", *, seconds: float | None = None, refresh: bool = True) -> Review:
        """What the change since a commit means, by default since the default branch: what breaks, what goes stale."""
        from sage_code.review.review import DEFAULT_SECONDS, review

        note = self.refresh() if refresh else ""
        return review(self.root, self.settings, base, seconds=seconds or DEFAULT_SECONDS, note=note)

    def lines_at(self, lines: Iterable[tuple[str, int]], *, is_indented: bool = False) -> list[str]:
        """The line of code at each (file, line) as it is on the disk now; empty where there is none."""
        from sage_code.lookup.definition import lines_at

        return lines_at(self.root, self.settings, lines, is_indented=is_indented)

    def analyze(self, name: str, *, refresh: bool = True) -> list[dict[str, Any]]:
        """The definitions called `name`, each with its whole source as it is on the disk now."""
        from sage_code.lookup.definition import analyze

        if refresh:
            self.refresh()
        with reading(self.root):
            return analyze(self.root, self.settings, name)
