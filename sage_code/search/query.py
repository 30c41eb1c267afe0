"""Parses what was asked into a `Query`: filters, names of code, words with their stems, and the kind of query.

`parse_query` is called once a search; everything after it reads the `Query`. It reads no file. Filters are compared
with values of the index and never become part of an expression.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sage_code.errors import UsageError
from sage_code.search.words import STOP_WORDS, stem
from sage_code.text.lexemes import split_word

# A longer query is a pasted file or log; its beginning is enough.
MAX_QUERY_CHARS = 8_192
_MAX_TERMS = 64

_FILTER = re.compile(r"(?<!\S)(lang|language|path|kind|in):(\"[^\"]*\"|\S+)")
_WORD = re.compile(r"\w+")
# A dotted, scoped or called name: `Foo::bar`, `foo.bar()`, `a->b`.
_QUALIFIED = re.compile(r"(?:[A-Za-z_$][\w$]*(?:::|\.|->|#))+[A-Za-z_$][\w$!?]*(?:\(\))?")
_CALLED = re.compile(r"\b([A-Za-z_$][\w$]*)\(\)?")
_CAMEL = re.compile(r"\b(?:[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+(?:[A-Z]\w*)+|[A-Z]{2,}[a-z]\w*)\b")
_SNAKE = re.compile(r"\b_*[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+\b|\b_+[a-z]\w*\b")
_QUOTED = re.compile(r"[`'\"]([A-Za-z_$][\w$.:]*)[`'\"]")
_PATH = re.compile(r"(?:[\w.@-]+/)+[\w.@-]*\w|\b[\w-]+\.[a-z]{1,5}\b(?!\()")
_TRACE = re.compile(r'File "(?P<a>[^"]+)", line (?P<an>\d+)|\bat .*?\(?(?P<b>[\w./@-]+):(?P<bn>\d+)(?::\d+)?\)?')
_ERROR = re.compile(r"\b\w*(?:Error|Exception|panic|Traceback|failed|cannot|undefined)\b")
_CODE_MARKS = re.compile(r"[{};=]|=>|->|\bdef \w|\bfunc \w|\bfn \w|\bclass \w+[:({]|\breturn\b.*[;)]|\bimport ")

# By path class that is ranked lower, the words of a query that ask for it.
_ASKS_FOR = {
    "test": frozenset({"test", "tests", "testing", "tested", "spec", "specs", "fixture", "fixtures", "mock"}),
    "example": frozenset({"example", "examples", "sample", "samples", "demo", "demos", "tutorial"}),
    "doc": frozenset({"doc", "docs", "documentation", "readme", "changelog", "guide", "markdown"}),
    "build": frozenset({"ci", "workflow", "workflows", "dockerfile", "makefile", "cmake", "build", "config"}),
    "vendored": frozenset({"vendor", "vendored", "thirdparty", "external"}),
    "generated": frozenset({"generated", "dist", "bundle", "bundles", "protobuf"}),
    "benchmark": frozenset({"bench", "benchmark", "benchmarks"}),
    "compat": frozenset({"compat", "compatibility", "legacy", "deprecated", "polyfill", "shim"}),
}  # fmt: skip


class Filters(NamedTuple):
    """Which chunks may answer; an empty filter allows all."""

    languages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # prefixes, parts or globs of paths
    kinds: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()

    def and_also(self, more: Filters) -> Filters:
        """These filters and the values of `more`."""
        return Filters(*(own + other for own, other in zip(self, more, strict=True)))


class Query(NamedTuple):
    """A parsed query."""

    asked: str  # as it was typed
    text: str  # without its filters
    kind: str  # symbol path error snippet words
    terms: tuple[str, ...]  # lexemes without stop words, each once
    stems: tuple[str, ...]  # of each term
    names: tuple[str, ...]  # what looks like a name of code, dotted where it was qualified
    loose_names: tuple[str, ...]  # words that may also be names
    paths: tuple[str, ...]
    asks_for: frozenset[str]  # path classes
    filters: Filters = Filters()


def parse_query(asked: str, filters: Filters | None = None) -> Query:
    """The query with its own filters and the given ones; one without words is a usage error."""
    text = asked.replace("\x00", " ")[:MAX_QUERY_CHARS]
    own_filters = _filters(text)
    text = _FILTER.sub(" ", text).strip()
    words = _WORD.findall(text)
    if not words:
        raise UsageError(
            "the question has no words", 'ask in words, or by a name: sage search "where are retries done"'
        )
    lexemes = list(dict.fromkeys(lexeme for word in words for lexeme in split_word(word)))
    telling = [lexeme for lexeme in lexemes if lexeme not in STOP_WORDS and (len(lexeme) > 1 or not lexeme.isascii())]
    terms = tuple((telling or lexemes)[:_MAX_TERMS])
    names = _names(text)
    loose = tuple(
        dict.fromkeys(word for word in words if word not in names and len(word) > 2 and word.lower() not in STOP_WORDS)
    )
    paths = _paths(text)
    return Query(
        asked=asked,
        text=text,
        kind=_kind(text, words, names, paths),
        terms=terms,
        stems=tuple(map(stem, terms)),
        names=names,
        loose_names=loose[:_MAX_TERMS],
        paths=paths,
        asks_for=frozenset(what for what, asking in _ASKS_FOR.items() if not asking.isdisjoint(lexemes)),
        filters=own_filters if filters is None else own_filters.and_also(filters),
    )


def _filters(text: str) -> Filters:
    """The `lang:`, `path:`, `kind:` and `in:` of a text."""
    found: dict[str, list[str]] = {"lang": [], "path": [], "kind": [], "in": []}
    for name, value in _FILTER.findall(text):
        found["lang" if name == "language" else name].append(value.strip('"'))
    return Filters(tuple(found["lang"]), tuple(found["path"]), tuple(found["kind"]), tuple(found["in"]))


def _names(text: str) -> tuple[str, ...]:
    """The words of a text that can only be names of code."""
    found = [re.sub(r"::|->|#", ".", name.removesuffix("()")) for name in _QUALIFIED.findall(text)]
    for pattern in (_CALLED, _QUOTED, _CAMEL, _SNAKE):
        found += [re.sub(r"::|->", ".", name) for name in pattern.findall(text)]
    names = [name for name in dict.fromkeys(found) if not (name.count(".") == 1 and _PATH.fullmatch(name))]
    return tuple(names[:_MAX_TERMS])


def _paths(text: str) -> tuple[str, ...]:
    """The paths in a text, those of a stack trace first."""
    traced = [match["a"] or match["b"] for match in _TRACE.finditer(text)]
    return tuple(dict.fromkeys(traced + _PATH.findall(text)))[:_MAX_TERMS]


def _kind(text: str, words: list[str], names: tuple[str, ...], paths: tuple[str, ...]) -> str:
    """What kind of query a text is, which decides the weights that rank its answers."""
    if _TRACE.search(text) or (_ERROR.search(text) and ("\n" in text or ":" in text)):
        return "error"
    if " " not in text and "/" in text and paths:
        return "path"
    if "\n" in text and len(_CODE_MARKS.findall(text)) >= 2:
        return "snippet"
    bare = " " not in text and re.fullmatch(r"[\w$.:#>\-()]+", text) is not None
    # One word, or a few words that are names except for one.
    if bare or (names and len(words) - len(names) <= 1 and len(names) <= 3 and len(words) <= 4):
        return "symbol"
    return "snippet" if len(_CODE_MARKS.findall(text)) >= 3 else "words"
