"""Reads from a path which classes a file belongs to (tests, vendored, generated …), and the stems of its name.

Files of most of these classes are rarely the answer. Only the path is read, never the file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from sage_code.search.words import stem
from sage_code.text.lexemes import split_word

_WORD = re.compile(r"[A-Za-z0-9]+")
_VERSION = re.compile(r"((?:[^/]+/)*?)v(\d{1,4})/")
# Paths and names whose words are cached: the candidates of the next query are often the same.
_KEPT = 65_536


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# By class, the names of its folders.
_FOLDERS = {
    "test": _words(
        "test tests spec specs testing __tests__ testdata fixtures fixture t e2e mocks __mocks__ testutil testutils "
        "unittests integration_tests androidtest commontest jvmtest"
    ),
    "example": _words("example examples sample samples demo demos tutorial tutorials playground sandbox"),
    "doc": _words("doc docs documentation site website guide guides man"),
    "vendored": _words(
        "vendor vendors vendored third_party thirdparty 3rdparty node_modules external externals deps extern"
    ),
    # Bundles, stubs and parsers that tools write and people commit.
    "generated": _words("dist generated __generated__ gen autogen bundle bundles umd"),
    "benchmark": _words("bench benches benchmark benchmarks perf"),
    "build": _words(".github .circleci ci scripts script tools build cmake packaging docker .gitlab"),
}
_CLASS_OF_FOLDER = {name: path_class for path_class, names in _FOLDERS.items() for name in names}
_TEST_FILE = re.compile(
    r"(?:^|[._-])(?:tests?|specs?|mocks?)(?=[._-]|$)|^test|(?<=[a-z0-9])(?:Tests?|Specs?|TestCase|IT)(?=\.)|^conftest\.",
)
_GENERATED_FILE = re.compile(r"\.(?:min|bundle|g|pb|designer)\.|[._-]generated\.|_pb2(?:_grpc)?\.pyi?$")
_COMPAT = _words("compat compatibility legacy deprecated polyfill polyfills shim shims backport backports")
_DOC_ENDINGS = (".md", ".mdx", ".rst", ".txt", ".adoc", ".html")
_DATA_ENDINGS = (".json", ".yaml", ".yml", ".toml", ".lock", ".xml", ".cfg", ".ini", ".csv", ".svg", ".properties")
_ENTRY_STEMS = _words("__init__ index mod lib main package-info package")

# A class is named as its feature, without `is_`.
PATH_CLASSES = (
    "test", "example", "doc", "vendored", "generated", "benchmark", "compat", "build", "data", "declarations", "entry"
)  # fmt: skip
# A path class that the query asks for is not ranked lower; these two are asked for by the words of another class.
ASKED_WITH = {"declarations": "doc", "data": "build"}
_RARE = frozenset({"test", "example", "doc", "vendored", "generated", "benchmark", "build", "data"})


@lru_cache(maxsize=_KEPT)
def path_classes(path: str) -> bytes:
    """For each of `PATH_CLASSES`, whether a path belongs to it: 1 or 0."""
    *folders, name = path.split("/")
    found = _of_file(name).union(*map(_of_folder, folders))
    return bytes([path_class in found for path_class in PATH_CLASSES])


@lru_cache(maxsize=_KEPT)
def _of_folder(name: str) -> frozenset[str]:
    found = {_CLASS_OF_FOLDER.get(name.lower(), ""), "" if _COMPAT.isdisjoint(_lexemes(name)) else "compat"}
    return frozenset(found - {""})


@lru_cache(maxsize=_KEPT)
def _of_file(name: str) -> frozenset[str]:
    """The classes that the name of a file gives it."""
    own = name.rpartition(".")[0] or name
    lower = name.lower()
    found = {
        "test": _TEST_FILE.search(name) is not None,
        "doc": lower.endswith(_DOC_ENDINGS),
        "generated": _GENERATED_FILE.search(lower) is not None,
        "compat": not _COMPAT.isdisjoint(_lexemes(name)),
        "data": lower.endswith(_DATA_ENDINGS),
        "declarations": lower.endswith((".d.ts", ".pyi")),
        "entry": own.lower() in _ENTRY_STEMS,
    }
    return frozenset(path_class for path_class, there in found.items() if there)


def _lexemes(name: str) -> set[str]:
    return {lexeme for part in _WORD.findall(name) for lexeme in split_word(part)}


@lru_cache(maxsize=_KEPT)
def rarely_answers(path: str, asked: frozenset[str]) -> bool:
    """Whether a file is of a class that is rarely the answer, and was not asked for."""
    return any(
        has and path_class in _RARE and ASKED_WITH.get(path_class, path_class) not in asked
        for has, path_class in zip(path_classes(path), PATH_CLASSES, strict=True)
    )


def superseded(paths: Sequence[str], asked: Collection[str]) -> list[bool]:
    """Which of `paths` are in the folder of an older version while others are in a newer one: `api/v1/` and `api/v2/`.

    A version that is `asked` for by its name does not count as superseded.
    """
    versions = list(map(_version, paths))
    newest: dict[str, int] = {}
    for folder, version in filter(None, versions):
        newest[folder] = max(newest.get(folder, 0), int(version))
    return [
        found is not None and int(found[1]) < newest[found[0]] and f"v{found[1]}" not in asked for found in versions
    ]


@lru_cache(maxsize=_KEPT)
def _version(path: str) -> tuple[str, str] | None:
    """The folder of the first version in a path, and that version."""
    found = _VERSION.match(path)
    return (found[1], found[2]) if found else None


class Stems(NamedTuple):
    """The stems of some words, in order, and each once."""

    all: tuple[str, ...]
    different: frozenset[str]


@lru_cache(maxsize=_KEPT)
def path_words(path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of the file's name, and those of its folders.

    An entry file (`routing/mod.rs`, `router/index.ts`) has the name of its folder.
    """
    *folders, name = path.split("/")
    own = name.partition(".")[0] or name
    if folders and own.lower() in _ENTRY_STEMS:
        own = folders.pop()
    return _split(own), tuple([word for folder in folders for word in _split(folder)])


@lru_cache(maxsize=_KEPT)
def name_words(qualname: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of the last part of a qualified name, and those of the parts before it."""
    scope, _, own = qualname.rpartition(".")
    return _split(own), _split(scope)


@lru_cache(maxsize=_KEPT)
def path_stems(path: str) -> tuple[Stems, Stems]:
    """The stems of the file's name, and those of its folders."""
    own, folders = path_words(path)
    return _stems(own), _stems(folders)


@lru_cache(maxsize=_KEPT)
def own_stems(qualname: str) -> Stems:
    """The stems of the last part of a qualified name."""
    return _stems(name_words(qualname)[0])


def _stems(words: tuple[str, ...]) -> Stems:
    stems = tuple(map(stem, words))
    return Stems(stems, frozenset(stems))


@lru_cache(maxsize=_KEPT)
def _split(text: str) -> tuple[str, ...]:
    """The parts of the identifiers in `text`, without the whole ones."""
    parts: list[str] = []
    for word in _WORD.findall(text):
        lexemes = split_word(word)
        parts += lexemes[1:] or lexemes
    return tuple(parts)
