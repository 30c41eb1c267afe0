"""From ranked chunks to what is shown: the lines that matched, where they stand, and why they were chosen."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sage_code.discover import DiscoverRules, SourceText, read_source
from sage_code.lexemes import lexemes, split_word
from sage_code.search.query import Query, parse_query
from sage_code.search.words import stem
from sage_code.tokens import count_tokens
from sage_code.values import SourceFile

# Lines of a snippet unless more are asked for.
SNIPPET_LINES = 12
_WORD = re.compile(r"[A-Za-z_$][\w$]*|\w+")
_MAX_LINE = 240


@dataclass(frozen=True, slots=True)
class Span:
    """Another good place in the same file."""

    start_line: int
    end_line: int
    name: str


@dataclass(frozen=True, slots=True)
class Hit:
    """An answer. The chunk is `start_line` to `end_line`; the snippet is the part of it that matched."""

    rank: int
    score: float  # how likely this is an answer, 0 to 1
    file: str  # relative to the project's root
    start_line: int
    end_line: int
    kind: str
    name: str
    qualname: str
    language: str
    signature: str
    snippet: str
    snippet_line: int  # the line of the file at which the snippet starts
    project: str = ""  # its name
    root: str = ""  # and its folder
    also: tuple[Span, ...] = ()
    memory: tuple[str, ...] = ()
    explain: Mapping[str, float] = field(default_factory=dict)  # what each signal brought
    callers: int | None = None  # counted only with `explain`; None also for what cannot be called
    callees: int | None = None


@dataclass(frozen=True, slots=True)
class SearchResponse:
    """The answers, best first. Without a good one, the nearest few."""

    query: str
    project: str  # its name; empty when several were searched
    root: str  # and its folder
    results: tuple[Hit, ...]
    good: bool  # whether the first is likely enough to be called an answer
    truncated: bool
    took_ms: float
    note: str = ""  # about the freshness of the index


def snippet(
    root: str, rules: DiscoverRules, path: str, span: tuple[int, int], query: Query, lines: int, context: int = 0
) -> tuple[str, int]:
    """The `lines` lines of a chunk that match best, `context` more of the file on both sides, and where they start.

    Empty when the file cannot be read, or nothing is to be shown.
    """
    first, last = span
    if not lines:
        return "", first
    source = _lines(root, rules, path)
    part = source[first - 1 : last]
    if not part:
        return "", first
    start = first - 1 + _window(part, query, lines)
    end = min(start + lines, last) + context
    start = max(start - context, 0)
    shown = [line[:_MAX_LINE] for line in source[start:end]]
    return "\n".join(shown).rstrip(), start + 1


def _lines(root: str, rules: DiscoverRules, path: str) -> Sequence[str]:
    try:
        size = os.lstat(os.path.join(root, path)).st_size
    except OSError:
        return ()
    source = read_source(root, SourceFile(path, size, 0), rules)
    return source.text.split("\n") if isinstance(source, SourceText) else ()


def _window(part: Sequence[str], query: Query, lines: int) -> int:
    """Where the best run of `lines` lines starts: most different words of the question, then most of them."""
    if len(part) <= lines:
        return 0
    wanted = {stem(term) for term in query.terms}
    found = [{stem(lexeme) for lexeme in lexemes(line)} & wanted for line in part]
    best, best_start = (-1, -1), 0
    for start in range(len(part) - lines + 1):
        window = found[start : start + lines]
        worth = (len(set().union(*window)), sum(map(len, window)))
        if worth > best:
            best, best_start = worth, start
    # The head of a definition says what it is: keep it when the best part is near.
    return 0 if best_start <= lines // 3 else best_start


def within(response: SearchResponse, max_tokens: int) -> SearchResponse:
    """As many answers as fit into a budget of tokens; the first is cut rather than left out."""
    kept: list[Hit] = []
    spent = 0
    for hit in response.results:
        cost = count_tokens(f"{hit.file}:{hit.start_line} {hit.kind} {hit.qualname} {hit.signature}\n{hit.snippet}")
        if spent + cost > max_tokens:
            if not kept:
                kept.append(replace(hit, snippet=_cut(hit.snippet, max_tokens - (cost - count_tokens(hit.snippet)))))
            break
        kept.append(hit)
        spent += cost
    return replace(response, results=tuple(kept), truncated=response.truncated or len(kept) < len(response.results))


def _cut(text: str, max_tokens: int) -> str:
    lines: list[str] = []
    for line in text.split("\n"):
        if count_tokens("\n".join([*lines, line])) > max_tokens:
            break
        lines.append(line)
    return "\n".join(lines)


def document(response: SearchResponse) -> dict[str, Any]:
    """What `sage search --json` and the MCP tool answer: `compiled_schema/search.json`."""
    return {
        "query": response.query,
        "project": response.project,
        "root": response.root,
        "results": [_row(hit) for hit in response.results],
        "good": response.good,
        "truncated": response.truncated,
        "took_ms": response.took_ms,
        "note": response.note,
    }


def _row(hit: Hit) -> dict[str, Any]:
    row = asdict(hit)
    if not hit.root:  # the answer says once which project it is about
        del row["project"], row["root"]
    if hit.explain:
        row["explain"] = {name: round(share, 4) for name, share in hit.explain.items()}
    else:
        del row["explain"], row["callers"], row["callees"]
    return row


def matches(text: str, query: str) -> list[tuple[int, int]]:
    """Where in `text` words of the question stand, as starts and ends; identifiers count as a whole."""
    wanted = {stem(term) for term in parse_query(query).terms}
    return [
        word.span()
        for word in _WORD.finditer(text)
        if not wanted.isdisjoint(stem(lexeme) for lexeme in split_word(word.group()))
    ]
