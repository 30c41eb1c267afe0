"""The lines of a chunk that show why it was found, read from the file as it is now; of an imported index without its
files, as it was."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache

from sage_code.compiled.texts import stored_text
from sage_code.discover import DiscoverRules, SourceText, read_source
from sage_code.search.query import Query, parse_query
from sage_code.search.words import head_of, stem
from sage_code.text.lexemes import split_word
from sage_code.values import SourceFile

# Lines of a snippet unless more are asked for.
SNIPPET_LINES = 12
# What is shown of a line: minified code has lines of a megabyte.
_MAX_LINE = 240
_WORD = re.compile(r"[A-Za-z_$][\w$]*|\w+")
# Files whose lines are kept for the next question, and words whose stems are.
_KEPT_FILES = 256
_KEPT_WORDS = 65_536


def snippet(
    root: str,
    rules: DiscoverRules,
    path: str,
    span: tuple[int, int],
    query: Query,
    lines: int,
    context: int = 0,
    *,
    generation: str = "",
) -> tuple[str, int]:
    """The `lines` lines of a chunk that match best, `context` more of the file on both sides, and where they start.

    Empty when the file cannot be read, or nothing is to be shown. A file that is not there is read from the folder of
    the `generation` that names it.
    """
    first, last = span
    if not lines:
        return "", first
    source = _lines(root, rules, path, generation)
    part = source[first - 1 : last]
    if not part:
        return "", first
    start = first - 1 + _window(part, query, lines)
    end = min(start + lines, last) + context
    start = max(start - context, 0)
    shown = [line[:_MAX_LINE] for line in source[start:end]]
    return "\n".join(shown).rstrip(), start + 1


def matches(text: str, query: str) -> list[tuple[int, int]]:
    """Where in `text` words of the question stand, as starts and ends; identifiers count as a whole."""
    wanted = {stem(term) for term in parse_query(query).terms}
    return [word.span() for word in _WORD.finditer(text) if not wanted.isdisjoint(_stems(word.group()))]


def _lines(root: str, rules: DiscoverRules, path: str, generation: str) -> Sequence[str]:
    try:
        state = os.lstat(os.path.join(root, path))
    except OSError:
        return (stored_text(generation, path) or "").split("\n")
    return _read(root, rules, SourceFile(path, state.st_size, state.st_mtime_ns, state.st_ctime_ns))


@lru_cache(maxsize=_KEPT_FILES)
def _read(root: str, rules: DiscoverRules, file: SourceFile) -> Sequence[str]:
    """The lines of a file in the state that `file` describes."""
    source = read_source(root, file, rules)
    return source.text.split("\n") if isinstance(source, SourceText) else ()


def _window(part: Sequence[str], query: Query, lines: int) -> int:
    """Where the best run of `lines` lines starts: most different words of the question, then most of them."""
    if len(part) <= lines:
        return 0
    wanted = {stem(term) for term in query.terms}
    # Every form of a word begins with its head: most lines hold none, and their words need not be looked at.
    heads = tuple(head_of(stemmed) for stemmed in wanted)
    found = [_in_line(line, wanted) if any(map(line.lower().__contains__, heads)) else set() for line in part]
    if not any(found):
        return 0
    best, best_start = (-1, -1), 0
    for start in range(len(part) - lines + 1):
        window = found[start : start + lines]
        worth = (len(set().union(*window)), sum(map(len, window)))
        if worth > best:
            best, best_start = worth, start
    # The head of a definition says what it is: keep it when the best part is near.
    return 0 if best_start <= lines // 3 else best_start


def _in_line(line: str, wanted: set[str]) -> set[str]:
    return wanted.intersection(set().union(*map(_stems, _WORD.findall(line))))


@lru_cache(maxsize=_KEPT_WORDS)
def _stems(word: str) -> frozenset[str]:
    return frozenset(stem(lexeme) for lexeme in split_word(word))
