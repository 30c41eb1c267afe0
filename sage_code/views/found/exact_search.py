"""Searches for exact text, patterns and names of symbols, as a page shows them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sage_code.compiled.inventory import reading
from sage_code.compiled.lookup import open_symbols
from sage_code.errors import SageError, UsageError
from sage_code.search.exact.child import answer_in_child
from sage_code.search.exact.finding import Asked
from sage_code.text.masking import mask
from sage_code.views.found.code_search import WIDE, Found, FoundHit
from sage_code.views.found.facets import Candidate, Chosen, facets_of, kind_of_chunk
from sage_code.views.found.marked_lines import FoundLine, occurrences, shown_lines

# A pattern that runs longer is ended: it may never come to an end.
_SECONDS = 5.0
# Lines of a file that are shown; the others are counted.
_MOST_LINES = 4
_MAX_TEXT_CHARS = 2_000
# A shorter beginning of a name is that of nearly all names.
_LEAST_PREFIX = 3
_MOST_SYMBOLS = 4_000


def find_text(
    text: str, roots: Sequence[str], chosen: Chosen, limit: int, *, regex: bool = False, ignore_case: bool = False
) -> Found:
    """The files that have a text as it is written, or matches of a pattern."""
    started = time.perf_counter()
    if not roots or len(text) > _MAX_TEXT_CHARS:
        problem = f"a text has at most {_MAX_TEXT_CHARS:,} characters" if roots else "no project is indexed yet"
        raise UsageError(problem, "ask for less" if roots else "run `sage index` in one")
    filters = chosen.filters()
    asked = Asked(
        text, regex=regex, ignore_case=ignore_case, limit=WIDE, languages=filters.languages, paths=filters.paths,
        kinds=filters.kinds,
    )  # fmt: skip
    document = answer_in_child(roots[0], asked, len(roots) > 1, None, _SECONDS)
    rows = [
        row for row in document["results"] if row.get("root", document["root"]) in roots and chosen.allows(row["file"])
    ]
    wanted = "" if regex or ignore_case else text
    hits = tuple(_text_hit(row, document["root"], wanted) for row in rows[:limit])
    narrowed = [
        Candidate(row.get("root", document["root"]), row["file"], row["language"], kind_of_chunk(row["kind"]))
        for row in rows
    ]
    took = round((time.perf_counter() - started) * 1000, 1)
    count = document["files"] if len(rows) == len(document["results"]) else None
    more = len(rows) > limit or document["truncated"]
    return Found(hits, facets_of(narrowed, narrowed, chosen), bool(hits), more, took, document["note"], count)


def _text_hit(row: dict[str, Any], root: str, wanted: str) -> FoundHit:
    """A file with some of its lines that match; `wanted` is marked in them."""
    lines = list(shown_lines(row["snippet"], row["snippet_line"], occurrences(row["snippet"], wanted)))
    for other in row["also"][: _MOST_LINES - 1]:
        lines += shown_lines(other["text"], other["start_line"], occurrences(other["text"], wanted))
    return FoundHit(
        root=row.get("root", root),
        file=row["file"],
        line=row["line"],
        kind=row["kind"],
        name=mask(row["qualname"])[0],
        language=row["language"],
        score=None,
        lines=tuple(lines),
        more_lines=max(row["lines"] - 1 - len(row["also"][: _MOST_LINES - 1]), 0),
    )


def find_symbols(name: str, roots: Sequence[str], chosen: Chosen, limit: int) -> Found:
    """The definitions whose name begins with a text; those that are called exactly so come first."""
    started = time.perf_counter()
    name = name.strip()
    found: list[tuple[str, dict[str, Any]]] = []
    failed: list[str] = []
    for root in roots if name else ():
        try:
            found += [(root, symbol) for symbol in _symbols(root, name)]
        except SageError as error:
            failed.append(error.message)
    every = [Candidate(root, one["file"], one["language"], kind_of_chunk(one["kind"])) for root, one in found]
    kept = [
        (root, one, candidate)
        for (root, one), candidate in zip(found, every, strict=True)
        if chosen.allows(one["file"])
        and chosen.allows_kind(one["kind"])
        and (not chosen.languages or one["language"] in chosen.languages)
    ]
    kept.sort(key=lambda row: (row[1]["name"] != name, row[1]["name"].lower() != name.lower(), len(row[1]["name"])))
    hits = tuple(_symbol_hit(root, one, name) for root, one, _ in kept[:limit])
    took = round((time.perf_counter() - started) * 1000, 1)
    facets = facets_of([candidate for _, _, candidate in kept], every, chosen)
    return Found(hits, facets, bool(hits), len(kept) > limit, took, "; ".join(failed), len(kept))


def _symbols(root: str, name: str) -> list[dict[str, Any]]:
    with reading(root):
        symbols = open_symbols(root)
        begun = []
        if len(name) >= _LEAST_PREFIX:
            begun = symbols.find(name, ignore_case=True, prefix=True, patience=_MOST_SYMBOLS)
        return begun or symbols.find(name, ignore_case=True)


def _symbol_hit(root: str, one: dict[str, Any], name: str) -> FoundHit:
    signature = one["signature"] or one["qualname"]
    at = signature.lower().find(name.lower().rpartition(".")[2])
    spans = [(at, at + len(name.rpartition(".")[2]))] if at >= 0 else []
    lines: list[FoundLine] = list(shown_lines(signature.split("\n", 1)[0], one["line"], spans))
    if summary := one["docstring"].strip().split("\n", 1)[0]:
        lines += [FoundLine(0, line.pieces) for line in shown_lines(summary, 0)]
    return FoundHit(root, one["file"], one["line"], one["kind"], one["qualname"], one["language"], None, tuple(lines))
