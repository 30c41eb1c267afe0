"""Parsers and compiled queries, made on first use and kept: one parser per language and thread.

tree-sitter's newer progress callbacks crash the interpreter in the binding that Sage uses (0.25.2), so the
time limits are the deprecated `timeout_micros`; this module is the only place that knows.
"""

from __future__ import annotations

import threading
import warnings
from functools import cache
from pathlib import Path

from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Query, QueryCursor, Tree

from sage_code.languages import Language
from sage_code.paths import assets_dir

Match = tuple[int, dict[str, list[Node]]]

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


def matches(tree: Tree, language: Language, limit_s: float) -> list[Match]:
    """What the language's definitions query finds, as (pattern, captures); cut short at the time limit."""
    cursor = QueryCursor(query(language), timeout_micros=max(1, int(limit_s * 1e6)))
    return cursor.matches(tree.root_node)


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
def query(language: Language) -> Query:
    """The compiled definitions query of a language; the largest take a second to compile."""
    folder = Path(assets_dir("grammars"))
    parts = [(folder / name / "definitions.scm").read_text("utf-8") for name in language.queries]
    return Query(grammar(language), "\n".join(parts))
