"""What was asked, taken apart: filters, names of code, words, and what kind of question it is.

A question is data. Filters are compared with values of the index and never become part of an expression.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sage_code.errors import UsageError
from sage_code.search.words import STOP_WORDS
from sage_code.text.lexemes import split_word

# A longer question is a pasted file or log; its beginning says what it is about.
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
_CAPITALISED = re.compile(r"\b[A-Z][a-z0-9]{2,}\b")
_PATH = re.compile(r"(?:[\w.@-]+/)+[\w.@-]*\w|\b[\w-]+\.[a-z]{1,5}\b(?!\()")
_TRACE = re.compile(r'File "(?P<a>[^"]+)", line (?P<an>\d+)|\bat .*?\(?(?P<b>[\w./@-]+):(?P<bn>\d+)(?::\d+)?\)?')
_ERROR = re.compile(r"\b\w*(?:Error|Exception|panic|Traceback|failed|cannot|undefined)\b")
_CODE_MARKS = re.compile(r"[{};=]|=>|->|\bdef \w|\bfunc \w|\bfn \w|\bclass \w+[:({]|\breturn\b.*[;)]|\bimport ")

# Words with which a question asks for what is otherwise ranked lower.
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


@dataclass(frozen=True, slots=True)
class Filters:
    """Which chunks may answer; empty means all."""

    languages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()  # prefixes, parts or globs of paths
    kinds: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()

    def and_also(self, languages: tuple[str, ...], paths: tuple[str, ...], kinds: tuple[str, ...]) -> Filters:
        """These and those that were given by flags."""
        return Filters(self.languages + languages, self.paths + paths, self.kinds + kinds, self.projects)


@dataclass(frozen=True, slots=True)
class Query:
    """A question, understood."""

    text: str  # without its filters
    kind: str  # symbol path error snippet words
    terms: tuple[str, ...]  # lexemes, each once, those that say nothing left out
    names: tuple[str, ...]  # what looks like a name of code, dotted where it was qualified
    loose_names: tuple[str, ...]  # words that are names only if something is called so
    paths: tuple[str, ...]
    asks_for: frozenset[str]
    filters: Filters = field(default_factory=Filters)


def parse_query(text: str) -> Query:
    """Understand a question; one that says nothing is a usage error."""
    text = text.replace("\x00", " ")[:MAX_QUERY_CHARS]
    filters = _filters(text)
    text = _FILTER.sub(" ", text).strip()
    words = _WORD.findall(text)
    if not words:
        raise UsageError(
            "the question has no words", 'ask in words, or by a name: sage search "where are retries done"'
        )
    lexemes = list(dict.fromkeys(lexeme for word in words for lexeme in split_word(word)))
    telling = [lexeme for lexeme in lexemes if lexeme not in STOP_WORDS and (len(lexeme) > 1 or not lexeme.isascii())]
    names = _names(text)
    loose = tuple(
        dict.fromkeys(word for word in words if word not in names and len(word) > 2 and word.lower() not in STOP_WORDS)
    )
    paths = _paths(text)
    return Query(
        text=text,
        kind=_kind(text, words, names, paths),
        terms=tuple((telling or lexemes)[:_MAX_TERMS]),
        names=names,
        loose_names=loose[:_MAX_TERMS],
        paths=paths,
        asks_for=frozenset(what for what, asked in _ASKS_FOR.items() if not asked.isdisjoint(lexemes)),
        filters=filters,
    )


def _filters(text: str) -> Filters:
    found: dict[str, list[str]] = {"lang": [], "path": [], "kind": [], "in": []}
    for name, value in _FILTER.findall(text):
        found["lang" if name == "language" else name].append(value.strip('"'))
    return Filters(tuple(found["lang"]), tuple(found["path"]), tuple(found["kind"]), tuple(found["in"]))


def _names(text: str) -> tuple[str, ...]:
    """What can only be a name of code."""
    found = [re.sub(r"::|->|#", ".", name.removesuffix("()")) for name in _QUALIFIED.findall(text)]
    for pattern in (_CALLED, _QUOTED, _CAMEL, _SNAKE):
        found += [re.sub(r"::|->", ".", name) for name in pattern.findall(text)]
    names = [name for name in dict.fromkeys(found) if not (name.count(".") == 1 and _PATH.fullmatch(name))]
    return tuple(names[:_MAX_TERMS])


def _paths(text: str) -> tuple[str, ...]:
    traced = [match["a"] or match["b"] for match in _TRACE.finditer(text)]
    return tuple(dict.fromkeys(traced + _PATH.findall(text)))[:_MAX_TERMS]


def _kind(text: str, words: list[str], names: tuple[str, ...], paths: tuple[str, ...]) -> str:
    if _TRACE.search(text) or (_ERROR.search(text) and ("\n" in text or ":" in text)):
        return "error"
    if " " not in text and "/" in text and paths:
        return "path"
    if "\n" in text and len(_CODE_MARKS.findall(text)) >= 2:
        return "snippet"
    bare = " " not in text and re.fullmatch(r"[\w$.:#>\-()]+", text) is not None
    # One word, or a few of which all but one are names.
    if bare or (names and len(words) - len(names) <= 1 and len(names) <= 3 and len(words) <= 4):
        return "symbol"
    return "snippet" if len(_CODE_MARKS.findall(text)) >= 3 else "words"
