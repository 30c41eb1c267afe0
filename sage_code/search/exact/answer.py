"""Answers a search for exact text with the document of `compiled_schema/search.json`: of one project, or of all."""

from __future__ import annotations

import os
from time import perf_counter

from sage_code.errors import NotIndexed, SageError, UsageError
from sage_code.files.looking import Looking
from sage_code.search.exact.finding import Asked, Finder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sage_code.settings.table import Settings


class Finders:
    """The finders of a process: that of its own project, and those of other projects that were searched."""

    def __init__(self, root: str, settings: Callable[[], Settings], looking: Looking | None) -> None:
        """For the process's own project: what reads its settings anew, and what looks for changes (`Finder`)."""
        self._root = root
        self._known = {root: Finder(root, settings, looking)}

    def answer(self, asked: Asked, *, everywhere: bool = False, max_tokens: int | None = None) -> dict[str, Any]:
        """The document of an answer."""
        started = perf_counter()
        found = self._everywhere(asked) if everywhere else self._here(asked)
        if max_tokens is not None:
            _fit(found, max_tokens)
        found["took_ms"] = round((perf_counter() - started) * 1000, 2)
        return found

    def _here(self, asked: Asked) -> dict[str, Any]:
        finder = self._known[self._root]
        found, rows = finder.find(asked)
        return _document(asked, finder.name, self._root, rows, len(found.files), found.lines)

    def _everywhere(self, asked: Asked) -> dict[str, Any]:
        """The best files of all registered projects; a project that cannot be searched is named in the note."""
        from sage_code.index import registry
        from sage_code.settings.loading import load_settings

        ranked: list[tuple[tuple[object, ...], dict[str, Any]]] = []
        files = lines = 0
        failed: list[str] = []
        roots = [entry.root for entry in registry.projects()]
        if not roots:
            raise NotIndexed("no project is indexed yet", "run `sage index` in one")
        for root in roots:
            finder = self._known.setdefault(root, Finder(root, lambda root=root: load_settings(root), Looking(root)))  # type: ignore[misc]
            try:
                found, rows = finder.find(asked)
            except UsageError:
                raise  # the question is wrong for all of them
            except SageError as error:
                failed.append(error.message)
                continue
            files += len(found.files)
            lines += found.lines
            for file, row in zip(found.files, rows, strict=False):
                ranked.append(((*file.order[:3], root, file.path), row | {"project": finder.name, "root": root}))
        ranked.sort(key=_order)
        rows = [row | {"rank": rank} for rank, (_, row) in enumerate(ranked[: asked.limit], 1)]
        document = _document(asked, "", "", rows, files, lines)
        document["note"] = f"{len(roots) - len(failed)} projects"
        if failed:
            document["note"] += f"; left out: {'; '.join(failed)}"
        return document


def _order(one: tuple[tuple[object, ...], dict[str, Any]]) -> Any:
    return one[0]


def _document(
    asked: Asked, project: str, root: str, rows: list[dict[str, Any]], files: int, lines: int
) -> dict[str, Any]:
    """The answer, without its time."""
    return {
        "query": asked.text,
        "project": project or os.path.basename(root),
        "root": root,
        "results": rows,
        "good": bool(rows),
        "truncated": files > len(rows),
        "took_ms": 0.0,
        "note": "",
        "files": files,
        "lines": lines,
    }


def _fit(document: dict[str, Any], max_tokens: int) -> None:
    """Leaves out, from the end, what a budget has no room for; the first line of the first file stays."""
    from sage_code.text.tokens import count_tokens  # lazy: loads `re`

    kept: list[dict[str, Any]] = []
    room = max_tokens
    for row in document["results"]:
        room -= count_tokens(f"{row['file']}:{row['line']} {row['kind']} {row['qualname']}\n{row['snippet']}")
        if room < 0 and kept:
            break
        also = []
        for other in row["also"]:
            room -= count_tokens(f"{other['start_line']} {other['text']}")
            if room < 0:
                break
            also.append(other)
        document["truncated"] |= len(also) < len(row["also"])
        kept.append(row | {"also": also})
    document["truncated"] |= len(kept) < len(document["results"])
    document["results"] = kept
