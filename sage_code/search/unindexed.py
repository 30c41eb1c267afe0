"""Answers a query about a project that has no index yet, by reading its files and comparing words alone.

For the first query of an agent, while the index is being made. Reads files for at most `SECONDS`, first those whose
path matches, and writes nothing. The note of the response says how many files were read.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from sage_code.discover.listing import list_files
from sage_code.discover.reading import SourceText, read_source
from sage_code.discover.rules import DiscoverRules, discover_rules
from sage_code.errors import UsageError
from sage_code.languages.table import detect
from sage_code.paths import anybody_listens
from sage_code.search.query import Filters, Query
from sage_code.search.results import Hit, SearchResponse
from sage_code.search.service import NEAREST
from sage_code.search.snippets import MAX_LINE_CHARS, SNIPPET_LINES, LineMatcher, SearchOptions
from sage_code.settings.loading import Settings
from sage_code.text.stems import stems_of
from sage_code.values import SourceFile

# Agents wait for a few seconds without trouble.
SECONDS = 2.0
# Words alone say little, so no score is higher.
_MAX_SCORE = 0.5
_PATH_SHARE = 0.3
_WORD = re.compile(r"\w+")


class _MatchingFile(NamedTuple):
    """A file with words of the query."""

    file: SourceFile
    share: float  # of the query's words that it has
    line: int  # the one with most of them
    lines: Sequence[str]


def quick_look(
    root: str, settings: Settings, query: Query, limit: int = 10, seconds: float = SECONDS
) -> SearchResponse:
    """The files that hold most words of the query, among those that could be read in `seconds`."""
    if not anybody_listens():
        return _quick_look(root, settings, query, limit, seconds)
    from sage_code.search.plugged import answered, asked  # lazy: most users have no plugins

    plugged = asked(query, limit, _one_project)
    response = _quick_look(root, settings, plugged.query, limit + plugged.more, seconds)

    def hit_at(root: str, file: str, line: int, score: float) -> Hit | None:
        return _hit_at(root, settings, plugged.query, file, line, score)

    return answered(response, plugged, SearchOptions(limit), root, hit_at)


def _one_project(name: str) -> None:
    raise UsageError(f"{name[:80]!r} cannot be searched: this project has no index yet", "ask without `in:`")


def _hit_at(root: str, settings: Settings, query: Query, path: str, line: int, score: float) -> Hit | None:
    """A line of a file of the project as a hit; None if there is no such line."""
    rules = discover_rules(settings)
    file = next((one for one in list_files(root, rules) if isinstance(one, SourceFile) and one.path == path), None)
    source = read_source(root, file, rules) if file is not None else None
    lines = source.text.split("\n") if isinstance(source, SourceText) else []
    if file is None or not 1 <= line <= len(lines):
        return None
    return replace(_hit(0, _MatchingFile(file, 0.0, line, lines), LineMatcher(query)), score=score)


def _quick_look(root: str, settings: Settings, query: Query, limit: int, seconds: float) -> SearchResponse:
    """The answer without plugins."""
    started = time.perf_counter()
    rules = discover_rules(settings)
    wanted = set(query.stems)
    files = [file for file in list_files(root, rules) if isinstance(file, SourceFile)]
    files = [file for file in files if _is_wanted(file.path, query.filters)]
    files.sort(key=lambda file: -len(wanted & _stems(file.path)))
    matching: list[_MatchingFile] = []
    read = 0
    for file in files:
        read += 1
        if found := _match(root, file, rules, wanted):
            matching.append(found)
        if time.perf_counter() - started > seconds:
            break
    matching.sort(key=lambda found: -found.share)
    good = bool(matching) and matching[0].share >= 1 - _PATH_SHARE
    shown = matching[: limit if good else min(limit, NEAREST)]
    matcher = LineMatcher(query)
    hits = tuple(_hit(rank, found, matcher) for rank, found in enumerate(shown, 1))
    note = f"not indexed yet: a look at {read:,} of {len(files):,} files, by words alone"
    took = round((time.perf_counter() - started) * 1000, 2)
    name = os.path.basename(root) or root
    return SearchResponse(query, name, root, hits, good, good and len(matching) > len(shown), took, note)


def _is_wanted(path: str, filters: Filters) -> bool:
    """Whether a file passes the filters for languages and paths."""
    language = detect(path) if filters.languages else None
    names = {name.lower() for name in filters.languages}
    known = not names or (language is not None and language.name in names)
    return known and (not filters.paths or any(part.strip("/*") in path for part in filters.paths))


def _stems(text: str) -> set[str]:
    return set[str]().union(*map(stems_of, _WORD.findall(text)))


def _match(root: str, file: SourceFile, rules: DiscoverRules, wanted: set[str]) -> _MatchingFile | None:
    """How well a file matches the wanted stems; None if its text has none of them."""
    source = read_source(root, file, rules)
    if not isinstance(source, SourceText) or not wanted:
        return None
    low = source.text.lower()
    near = [word for word in wanted if word in low]  # a word begins with its stem
    if not near:
        return None
    lines = source.text.split("\n")
    held = [wanted & _stems(line) if any(word in line.lower() for word in near) else set[str]() for line in lines]
    in_text = set[str]().union(*held)
    best = max(range(len(lines)), key=lambda number: (len(held[number]), -number))
    in_path = wanted & _stems(file.path)
    share = (1 - _PATH_SHARE) * len(in_text) / len(wanted) + _PATH_SHARE * len(in_path) / len(wanted)
    return _MatchingFile(file, share, best + 1, lines) if in_text else None


def _hit(rank: int, found: _MatchingFile, matcher: LineMatcher) -> Hit:
    """A matching file as a hit: the lines around its best one."""
    first = max(1, found.line - SNIPPET_LINES // 3)
    last = min(len(found.lines), first + SNIPPET_LINES - 1)
    language = detect(found.file.path)
    snippet = "\n".join(line[:MAX_LINE_CHARS] for line in found.lines[first - 1 : last]).rstrip()
    return Hit(
        rank=rank,
        score=round(found.share * _MAX_SCORE, 4),
        file=found.file.path,
        line=found.line,
        start_line=first,
        end_line=last,
        kind="fallback",
        name="",
        qualname="",
        language=language.name if language else "text",
        signature="",
        snippet=snippet,
        snippet_line=first,
        match_spans=matcher.spans(snippet),
    )
