"""Parses what was asked into a `Query`: filters, names of code, words with their stems, and the kind of query.

`parse_query` is called once a search; everything after it reads the `Query`. It reads no file. Filters are compared
with values of the index and never become part of an expression.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from sage_code.errors import UsageError
from sage_code.search.zone_kinds import CODE, NOISE, Frame, Zone
from sage_code.search.zones import divide
from sage_code.text.lexemes import split_word, words_of
from sage_code.text.stems import STOP_WORDS, stem

# A longer text is a pasted file or log, and its beginning is enough; this bounds what a query costs.
MAX_QUERY_CHARS = 65_536
# A text of several lines with more words is a report; with fewer it may be a snippet or a pasted message.
_FEW_WORDS = 40
# Names and paths that are looked up, words whose order is compared; of longer queries the first.
_MAX_NAMES = 96
_MAX_RUN_WORDS = 1_200

# The patterns below try a run of signs from each of its places: a run that is much longer takes minutes.
_MAX_RUN_CHARS = 400
_LONG_RUN = re.compile(rf"\S{{{_MAX_RUN_CHARS + 1},}}|[^\S\n]{{{_MAX_RUN_CHARS + 1},}}")
_FILTER = re.compile(r"(?<!\S)(lang|language|path|kind|in|repo|owner):(\"[^\"]*\"|\S+)")
# In the order of `Filters`.
_FILTER_NAMES = ("lang", "path", "kind", "in", "repo", "owner")
_ALL_QUOTED = re.compile(r"\"[^\"]*\"")
_WORD = re.compile(r"\w+")
# A dotted, scoped or called name: `Foo::bar`, `foo.bar()`, `a->b`.
_QUALIFIED = re.compile(r"(?:[A-Za-z_$][\w$]*(?:::|\.|->|#))+[A-Za-z_$][\w$!?]*(?:\(\))?")
_CALLED = re.compile(r"\b([A-Za-z_$][\w$]*)\(\)?")
_CAMEL = re.compile(r"\b(?:[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+(?:[A-Z]\w*)+|[A-Z]{2,}[a-z]\w*)\b")
_SNAKE = re.compile(r"\b_*[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+\b|\b_+[a-z]\w*\b")
_QUOTED = re.compile(r"[`'\"]([A-Za-z_$][\w$.:]*)[`'\"]")
# A path has a slash, or is a file's name with a usual ending: `Anchor.drop` is none.
_PATH = re.compile(
    r"(?:[\w.@-]+/)+[\w.@-]*\w|\b[\w-]+\.(?:pyi?|pyx|[cm]?jsx?|[cm]?tsx?|vue|go|rs|java|kts?|c|h|cc|cpp|cxx|hpp|hh|cs|rb|php|"
    r"swift|m|scala|exs?|erl|lua|hs|ml|clj|jl|r|pl|sh|bash|zig|dart|sql|proto|html?|s?css|md|rst|txt|json|ya?ml|toml|cfg|"
    r"ini|conf|xml|gradle|cmake|lock)\b(?!\()"
)
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
    repositories: tuple[str, ...] = ()  # of a fleet
    owners: tuple[str, ...] = ()

    def and_also(self, more: Filters) -> Filters:
        """These filters and the values of `more`."""
        return Filters(*(own + other for own, other in zip(self, more, strict=True)))


class Query(NamedTuple):
    """A parsed query."""

    asked: str  # as it was typed
    text: str  # without its filters
    title: str  # what a long text is about; all of a short one
    kind: str  # symbol path error snippet report words
    terms: tuple[str, ...]  # lexemes without stop words, each once
    importance: tuple[float, ...]  # of each term: how often it occurs, and where
    title_terms: tuple[str, ...]  # of the title
    stems: tuple[str, ...]  # of each term of the title
    names: tuple[str, ...]  # what looks like a name of code, dotted where it was qualified
    loose_names: tuple[str, ...]  # words that may also be names, and names in the code of a report
    paths: tuple[str, ...]
    frames: tuple[Frame, ...]  # of stack traces, innermost first
    runs: tuple[tuple[str, ...], ...]  # line by line, the words in their order
    asks_for: frozenset[str]  # path classes
    filters: Filters = Filters()


def parse_query(asked: str, filters: Filters | None = None) -> Query:
    """The query with its own filters and the given ones; one without words is a usage error."""
    text = _LONG_RUN.sub(_cut_run, asked.replace("\x00", " ")[:MAX_QUERY_CHARS])
    # A query in quotes is text, even if it looks like a filter. So is a single filter: `path:src` may be a setting.
    unfiltered = _FILTER.sub(" ", text)
    is_alone = len(text.split()) == 1 and not _WORD.search(unfiltered)
    is_text = is_alone or _ALL_QUOTED.fullmatch(text.strip()) is not None
    own_filters = Filters() if is_text else _filters(text)
    text = (text if is_text else unfiltered).strip()
    words = _WORD.findall(text)
    if not words:
        raise UsageError(
            "the question has no words",
            'ask in words, or by a name: sage search "where are retries done"; for signs: sage search --exact "->*"',
        )
    divided = divide(text)
    counted = _count(divided.zones, whole=not divided.is_long)
    title_terms = tuple(_count((Zone(1.0, divided.title),), whole=True)) if divided.is_long else tuple(counted)
    spoken = "\n".join(zone.text for zone in divided.zones if zone.weight not in (CODE, CODE / 2, NOISE))
    names = _names(spoken if divided.is_long else text)
    loose = _names(text) if divided.is_long else ()
    loose += tuple(word for word in _WORD.findall(divided.title) if len(word) > 2 and word.lower() not in STOP_WORDS)
    paths = _paths(text)
    title_terms = title_terms or tuple(counted)
    return Query(
        asked=asked,
        text=text,
        title=divided.title or text,
        kind=_kind(text, words, names, paths, is_long=divided.is_long),
        terms=tuple(counted),
        importance=tuple(counted.values()),
        title_terms=title_terms,
        stems=tuple(map(stem, title_terms)),
        names=names,
        loose_names=tuple(word for word in dict.fromkeys(loose) if word not in names)[:_MAX_NAMES],
        paths=paths,
        frames=divided.frames[:_MAX_NAMES],
        runs=_runs(divided.zones),
        asks_for=frozenset(what for what, asking in _ASKS_FOR.items() if not asking.isdisjoint(title_terms)),
        filters=own_filters if filters is None else own_filters.and_also(filters),
    )


def _count(zones: Sequence[Zone], *, whole: bool) -> dict[str, float]:
    """The lexemes of some zones, each with its importance; `whole`: they are all that was asked, and count alike."""
    counted: dict[str, float] = {}
    for weight in dict.fromkeys(zone.weight for zone in zones):
        words = [word for zone in zones if zone.weight == weight for word in _WORD.findall(zone.text)]
        for lexeme, count in Counter(lexeme for word in words for lexeme in split_word(word)).items():
            counted[lexeme] = counted.get(lexeme, 0.0) + weight * (1 + math.log(count))
    telling = {
        lexeme: 1.0 if whole else importance
        for lexeme, importance in counted.items()
        if lexeme not in STOP_WORDS and (len(lexeme) > 1 or not lexeme.isascii()) and (whole or not lexeme.isdigit())
    }
    return telling or dict.fromkeys(counted, 1.0)


def _runs(zones: Sequence[Zone]) -> tuple[tuple[str, ...], ...]:
    """The words of each line as the index numbers them, without noise."""
    runs: list[tuple[str, ...]] = []
    room = _MAX_RUN_WORDS
    for zone in zones:
        if zone.weight == NOISE:
            continue
        run = tuple(lexemes[0] for word in words_of(zone.text)[:room] if (lexemes := split_word(word)))
        room -= len(run)
        if run:
            runs.append(run)
    return tuple(runs)


def _cut_run(found: re.Match[str]) -> str:
    """A long run of signs in pieces, a long run of blanks as one blank."""
    run = found[0]
    return " ".join(run[start : start + _MAX_RUN_CHARS] for start in range(0, len(run), _MAX_RUN_CHARS)).strip() or " "


def _filters(text: str) -> Filters:
    """The `lang:`, `path:`, `kind:`, `in:`, `repo:` and `owner:` of a text."""
    found: dict[str, list[str]] = {name: [] for name in _FILTER_NAMES}
    for name, value in _FILTER.findall(text):
        found["lang" if name == "language" else name].append(value.strip('"'))
    return Filters(*(tuple(found[name]) for name in _FILTER_NAMES))


def _names(text: str) -> tuple[str, ...]:
    """The words of a text that can only be names of code."""
    found = [re.sub(r"::|->|#", ".", name.removesuffix("()")) for name in _QUALIFIED.findall(text)]
    for pattern in (_CALLED, _QUOTED, _CAMEL, _SNAKE):
        found += [re.sub(r"::|->", ".", name) for name in pattern.findall(text)]
    names = [name for name in dict.fromkeys(found) if not (name.count(".") == 1 and _PATH.fullmatch(name))]
    return tuple(names[:_MAX_NAMES])


def _paths(text: str) -> tuple[str, ...]:
    """The paths in a text, those of a stack trace first."""
    traced = [match["a"] or match["b"] for match in _TRACE.finditer(text)]
    return tuple(dict.fromkeys(traced + _PATH.findall(text)))[:_MAX_NAMES]


def _kind(text: str, words: list[str], names: tuple[str, ...], paths: tuple[str, ...], *, is_long: bool) -> str:
    """What kind of query a text is."""
    if is_long and len(words) > _FEW_WORDS:
        return "report"
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
