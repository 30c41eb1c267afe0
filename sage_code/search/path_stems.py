"""The stems of the words in paths and names, which files rarely answer, and which folders of versions are superseded.

Only the path is read.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from sage_code.search.path_classes import ASKED_WITH, ENTRY_STEMS, PATH_CLASSES, RARE_CLASSES, path_classes
from sage_code.text.lexemes import split_word
from sage_code.text.stems import stem

_WORD = re.compile(r"[A-Za-z0-9]+")
_VERSION = re.compile(r"((?:[^/]+/)*?)v(\d{1,4})/")
# Paths and names whose words are cached: the candidates of the next query are often the same.
_KEPT = 65_536


@lru_cache(maxsize=_KEPT)
def rarely_answers(path: str, asked: frozenset[str]) -> bool:
    """Whether a file is of a class that is rarely the answer, and was not asked for."""
    return any(
        has and path_class in RARE_CLASSES and ASKED_WITH.get(path_class, path_class) not in asked
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
    if folders and own.lower() in ENTRY_STEMS:
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
