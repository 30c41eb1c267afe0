"""A quick look at a project that has no index yet: its files are read, and only words count.

For the first question of an agent, while the index is being made: better than nothing, bounded in time, and said to be
what it is. Files whose path speaks of the question are read first.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass

from sage_code.discover import DiscoverRules, SourceText, discover_rules, list_files, read_source
from sage_code.languages.table import detect
from sage_code.search.query import parse_query
from sage_code.search.results import Hit, SearchResponse
from sage_code.search.service import NEAREST, SearchOptions
from sage_code.search.words import stem
from sage_code.settings.loading import Settings
from sage_code.text.lexemes import split_word
from sage_code.values import SourceFile

# What a look may take; an agent that gets nothing in a minute gives up, and one that waits for seconds does not notice.
SECONDS = 2.0
# Words alone say little: no such answer is taken for a sure one.
_MOST = 0.5
_PATH_SHARE = 0.3
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file that speaks of the question: how much, and in which line most."""

    file: SourceFile
    worth: float
    line: int
    lines: Sequence[str]


def quick_look(
    root: str, settings: Settings, text: str, options: SearchOptions, seconds: float = SECONDS
) -> SearchResponse:
    """The files that hold most of the question's words, as far as they could be read in time."""
    started = time.perf_counter()
    query = parse_query(text)
    languages = (*query.filters.languages, *options.filters.languages)
    paths = (*query.filters.paths, *options.filters.paths)
    rules = discover_rules(settings)
    wanted = {stem(term) for term in query.terms}
    files = [file for file in list_files(root, rules) if isinstance(file, SourceFile)]
    files = [file for file in files if _is_wanted(file.path, languages, paths)]
    files.sort(key=lambda file: -len(wanted & _stems(file.path)))
    seen: list[_Seen] = []
    read = 0
    for file in files:
        read += 1
        if found := _look_at(root, file, rules, wanted):
            seen.append(found)
        if time.perf_counter() - started > seconds:
            break
    seen.sort(key=lambda found: -found.worth)
    shown = seen[: options.limit]
    good = bool(shown) and shown[0].worth >= 1 - _PATH_SHARE
    hits = [_hit(rank, found, options.lines) for rank, found in enumerate(shown if good else shown[:NEAREST], 1)]
    note = f"not indexed yet: a look at {read:,} of {len(files):,} files, by words alone"
    took = round((time.perf_counter() - started) * 1000, 2)
    name = os.path.basename(root) or root
    return SearchResponse(text, name, root, tuple(hits), good, good and len(seen) > len(shown), took, note)


def _is_wanted(path: str, languages: Sequence[str], paths: Sequence[str]) -> bool:
    language = detect(path) if languages else None
    known = not languages or (language is not None and language.name in {given.lower() for given in languages})
    return known and (not paths or any(part.strip("/*") in path for part in paths))


def _stems(text: str) -> set[str]:
    return {stem(part) for word in _WORD.findall(text) for part in split_word(word)}


def _look_at(root: str, file: SourceFile, rules: DiscoverRules, wanted: set[str]) -> _Seen | None:
    source = read_source(root, file, rules)
    if not isinstance(source, SourceText) or not wanted:
        return None
    low = source.text.lower()
    near = [word for word in wanted if word in low]  # a stem begins the words that have it
    if not near:
        return None
    lines = source.text.split("\n")
    held = [wanted & _stems(line) if any(word in line.lower() for word in near) else set[str]() for line in lines]
    in_text = set[str]().union(*held)
    best = max(range(len(lines)), key=lambda number: (len(held[number]), -number))
    in_path = wanted & _stems(file.path)
    worth = (1 - _PATH_SHARE) * len(in_text) / len(wanted) + _PATH_SHARE * len(in_path) / len(wanted)
    return _Seen(file, worth, best + 1, lines) if in_text else None


def _hit(rank: int, found: _Seen, lines: int) -> Hit:
    first = max(1, found.line - lines // 3)
    last = min(len(found.lines), first + max(lines, 1) - 1)
    language = detect(found.file.path)
    return Hit(
        rank=rank,
        score=round(found.worth * _MOST, 4),
        file=found.file.path,
        line=found.line,
        start_line=first,
        end_line=last,
        kind="fallback",
        name="",
        qualname="",
        language=language.name if language else "text",
        signature="",
        snippet="\n".join(line[:240] for line in found.lines[first - 1 : last]).rstrip() if lines else "",
        snippet_line=first,
    )
