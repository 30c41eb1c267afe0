"""Parsers and compiled queries, made on first use and kept: one parser per language and thread.

tree-sitter's newer progress callbacks crash the interpreter in the binding that Sage uses (0.25.2), so the
time limits are the deprecated `timeout_micros`; this module is the only place that knows.
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
# By capture, where its nodes begin and end; a node that two patterns capture is there twice.
Spans = dict[str, list[tuple[int, int]]]

# A parser keeps state while it works: each thread has its own.
_local = threading.local()


def parse_tree(source: bytes, language: Language, limit_s: float) -> Tree | None:
    """The syntax tree, or None when the time limit passed."""
    parser = _parser(language, limit_s)
    if language.wants_last_newline and not source.endswith(b"\n"):
        source += b"\n"
    try:
        return parser.parse(source)
    except ValueError:  # "Parsing failed": how the binding reports a timeout
        parser.reset()
        return None


def matches(tree: Tree, language: Language, limit_s: float) -> tuple[list[Match], Spans] | None:
    """What the language's queries find: definitions as (pattern, captures), references as the places of each capture.

    In one walk: to move through the tree costs more than to match. Where that takes half of the time, definitions are
    looked for alone in the other half; None when there was no time for them either.
    """
    started = time.monotonic()
    both, definitions = queries(language)
    found = _matches(both, tree, limit_s / 2)
    if time.monotonic() - started < limit_s / 2:
        return _parted(found, definitions)
    found = _matches(_definitions(language), tree, limit_s - (time.monotonic() - started))
    return (found, {}) if time.monotonic() - started < limit_s else None


def _parted(found: list[Match], definitions: int) -> tuple[list[Match], Spans]:
    """The matches of the first patterns, and the places of what the others capture.

    There are so many that each node is looked at once, and then only numbers are left of it."""
    defined: list[Match] = []
    spans: Spans = {}
    for match in found:
        pattern, captures = match
        if pattern < definitions:
            defined.append(match)
            continue
        for capture, nodes in captures.items():
            places = spans.get(capture)
            if places is None:
                places = spans[capture] = []
            for node in nodes:
                places.append(node.byte_range)
    return defined, spans


def _matches(query: Query, tree: Tree, limit_s: float) -> list[Match]:
    # Not `captures`: for each node that looks at every match under way, and never at the clock. Code that is nested
    # 10,000 deep took it a minute, and this a tenth of a second.
    return QueryCursor(query, timeout_micros=max(1, int(limit_s * 1e6))).matches(tree.root_node)


def _parser(language: Language, limit_s: float) -> Parser:
    parsers: dict[str, tuple[Parser, float]] = _local.__dict__.setdefault("parsers", {})
    parser, limit_now = parsers.get(language.name) or (Parser(grammar(language)), 0.0)
    if limit_now != limit_s:  # rare: files have equal limits, only what is embedded or read twice has what is left
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
    """The compiled queries of a language, and how many of their patterns are definitions; the largest take a second."""
    definitions = definition_patterns(language)
    both = Query(grammar(language), definitions + reference_patterns(language))
    size = len(definitions.encode())
    patterns = range(both.pattern_count)  # type: ignore[call-overload]  # a property, which the stub takes for a method
    return both, sum(both.start_byte_for_pattern(pattern) < size for pattern in patterns)


@cache
def _definitions(language: Language) -> Query:
    return Query(grammar(language), definition_patterns(language))


def definition_patterns(language: Language) -> str:
    """What marks definitions, as it is written."""
    return _written(language.queries, "definitions.scm")


def reference_patterns(language: Language) -> str:
    """What marks references, as it is written; nothing for a language without."""
    return _written(dict.fromkeys((*language.queries, language.name)), "references.scm")


def _written(folders: Iterable[str], name: str) -> str:
    paths = [Path(assets_dir("grammars"), folder, name) for folder in folders]
    return "".join(f"{path.read_text('utf-8')}\n" for path in paths if path.is_file())
