"""Runs tree-sitter. Parsers and compiled queries are made on first use and kept: one parser per language and thread.

The progress callbacks of the binding that Sage uses (0.25.2) crash the interpreter, so the time limits use the
deprecated `timeout_micros`, in this module only.
"""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Query, QueryCursor, Tree

from sage_code.languages.table import Language
from sage_code.paths import assets_dir

Match = tuple[int, dict[str, list[Node]]]
# By capture, where its nodes begin and end; a node that two patterns capture is listed twice.
Spans = dict[str, list[tuple[int, int]]]

# A parser keeps state while it works: each thread has its own.
_local = threading.local()


def parse_tree(source: bytes, language: Language, limit_s: float) -> Tree | None:
    """The syntax tree, or None if the time limit passed."""
    parser = _parser(language, limit_s)
    if language.wants_last_newline and not source.endswith(b"\n"):
        source += b"\n"
    try:
        return parser.parse(source)
    except ValueError:  # "Parsing failed": how the binding reports a timeout
        parser.reset()
        return None


def matches(tree: Tree, language: Language, limit_s: float) -> tuple[list[Match], Spans] | None:
    """What the language's queries find: definitions as (pattern, captures), references as spans by capture.

    Both are found in one walk, because moving through the tree costs more than matching. If that takes half of the
    time, the other half is for definitions alone; None if they are not found in time either.
    """
    started = time.monotonic()
    both, definitions = queries(language)
    found = _matches(both, tree, limit_s / 2)
    if time.monotonic() - started < limit_s / 2:
        return _separate(found, definitions)
    found = _matches(_definitions(language), tree, limit_s - (time.monotonic() - started))
    return (found, {}) if time.monotonic() - started < limit_s else None


def _separate(found: list[Match], definitions: int) -> tuple[list[Match], Spans]:
    """The matches of the first patterns, and the spans of the nodes that the others capture.

    There are many, so each node is read once and replaced by numbers."""
    defined: list[Match] = []
    spans: Spans = {}
    for match in found:
        pattern, captures = match
        if pattern < definitions:
            defined.append(match)
            continue
        for capture, nodes in captures.items():
            ranges = spans.get(capture)
            if ranges is None:
                ranges = spans[capture] = []
            for node in nodes:
                ranges.append(node.byte_range)
    return defined, spans


def _matches(query: Query, tree: Tree, limit_s: float) -> list[Match]:
    # `captures` compares each node with every unfinished match and ignores the time limit: code that is nested 10,000
    # deep takes it a minute, and `matches` a tenth of a second.
    return QueryCursor(query, timeout_micros=max(1, int(limit_s * 1e6))).matches(tree.root_node)


def _parser(language: Language, limit_s: float) -> Parser:
    parsers: dict[str, tuple[Parser, float]] = _local.__dict__.setdefault("parsers", {})
    parser, limit_now = parsers.get(language.name) or (Parser(grammar(language)), 0.0)
    if limit_now != limit_s:  # rare: only embedded scripts and files parsed twice get the time that is left
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            parser.timeout_micros = max(1, int(limit_s * 1e6))  # type: ignore[misc]  # the stub lacks the setter
        parsers[language.name] = (parser, limit_s)
    return parser


@cache
def grammar(language: Language) -> Grammar:
    """The compiled grammar of a language that has one."""
    # Imported here: the pack costs 60 ms, and most of Sage's commands never parse.
    from tree_sitter_language_pack import get_language

    return get_language(language.grammar)  # type: ignore[arg-type]  # a name from our table, tested against the pack


@cache
def queries(language: Language) -> tuple[Query, int]:
    """The compiled queries of a language, and how many patterns find definitions; compiling takes up to a second."""
    definitions = _query_text(language.queries, "definitions.scm")
    references = _query_text(dict.fromkeys((*language.queries, language.name)), "references.scm")
    both = Query(grammar(language), definitions + references)
    size = len(definitions.encode())
    patterns = range(both.pattern_count)  # type: ignore[call-overload]  # a property, which the stub takes for a method
    return both, sum(both.start_byte_for_pattern(pattern) < size for pattern in patterns)


@cache
def _definitions(language: Language) -> Query:
    return Query(grammar(language), _query_text(language.queries, "definitions.scm"))


def _query_text(folders: Iterable[str], name: str) -> str:
    """The text of a query; empty for a language that has none."""
    paths = [Path(assets_dir("grammars"), folder, name) for folder in folders]
    return "".join(f"{path.read_text('utf-8')}\n" for path in paths if path.is_file())
