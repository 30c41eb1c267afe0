"""The stems of the words in paths and names, and which folders of versions are superseded. Only the path is read."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import NamedTuple

from sage_code.search.path_classes import ENTRY_STEMS
from sage_code.search.words import stem
from sage_code.text.lexemes import split_word

_WORD = re.compile(r"[A-Za-z0-9]+")
_VERSION = re.compile(r"((?:[^/]+/)*?)v(\d{1,4})/")
# Paths and names whose words are cached: the candidates of the next query are often the same.
_KEPT = 65_536


def superseded(paths: Sequence[str], asked: Collection[str]) -> list[bool]:
    """Which of `paths` are in the folder of an older version while others are in a newer one: `api/v1/` and `api/v2/`.

    A version that is `asked` for by its name does not count as superseded.
    """
    versions = [_VERSION.match(path) for path in paths]
    newest: dict[str, int] = {}
    for version in filter(None, versions):
        newest[version[1]] = max(newest.get(version[1], 0), int(version[2]))
    return [
        version is not None and int(version[2]) < newest[version[1]] and f"v{version[2]}" not in asked
        for version in versions
    ]


class Stems(NamedTuple):
    """The stems of some words, in order, and each once."""

    all: tuple[str, ...]
    different: frozenset[str]


@lru_cache(maxsize=_KEPT)
def path_stems(path: str) -> tuple[Stems, Stems]:
    """The stems of the file's name, and those of its folders.

    An entry file (`routing/mod.rs`, `router/index.ts`) has the name of its folder.
    """
    *folders, name = path.split("/")
    own = name.partition(".")[0] or name
    if folders and own.lower() in ENTRY_STEMS:
        own = folders.pop()
    above = [_stems(folder) for folder in folders]
    return _stems(own), Stems(
        tuple([stemmed for stems in above for stemmed in stems.all]),
        frozenset().union(*[stems.different for stems in above]),
    )


def own_stems(qualname: str) -> Stems:
    """The stems of the last part of a qualified name."""
    return _stems(qualname.rpartition(".")[2])


@lru_cache(maxsize=_KEPT)
def _stems(text: str) -> Stems:
    stems = tuple(stem(word) for word in _split(text))
    return Stems(stems, frozenset(stems))


def _split(text: str) -> tuple[str, ...]:
    """The parts of the identifiers in `text`, without the whole ones."""
    parts: list[str] = []
    for word in _WORD.findall(text):
        lexemes = split_word(word)
        parts += lexemes[1:] or lexemes
    return tuple(parts)
