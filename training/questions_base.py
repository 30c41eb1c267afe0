"""What the steps of `training.questions` share: the values, git, and which files can be an answer."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from sage_code.languages.table import detect
from training.collect_unpack import LANGUAGES
from training.extract import TEST_PATH

_T = TypeVar("_T")

# Copies of other projects: neither answers nor distractors, and perhaps of a project that must not be learned from.
VENDORED = re.compile(
    r"(^|/)(_?vendor|vendored|third[_-]?party|3rdparty|externals?|extern|deps|bower_components|node_modules)/",
    re.IGNORECASE,
)
_NOT_SOURCE = re.compile(
    r"(^|/)(docs?|documentation|examples?|samples?|demos?|benchmarks?|bench|testdata|fixtures?|e2e|integration[-_]?tests?"
    r"|playground|\.github|ci|changelog\w*|migrations|locales?|i18n|generated|dist|build)/"
    r"|(^|/)(\.\w|changelog|changes|history|news|authors|setup\.py|conf\.py|version\.\w+|_version\.py)"
    r"|\.(min\.js|d\.ts|lock|pb\.go|md|rst|txt)$|Tests?/|(^|/)[^/]*(Tests?|Spec)\.\w+$|(^|/)tests?[-_.][^/]*$|-tests?/",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Target:
    """A file that answers a question; the lines of the function in it, and the very line, where they are known."""

    path: str
    start: int | None = None
    end: int | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its answers. `form` says how the text of its kind was made."""

    kind: str
    form: str
    text: str
    targets: tuple[Target, ...]
    source: str = ""  # the commit that it was taken from


@dataclass(frozen=True, slots=True)
class Repository:
    """A line of repositories.toml."""

    name: str  # owner/name
    language: str
    licence: str
    held_out: bool = False

    @property
    def folder(self) -> str:
        """Its name in the mirror and below the data."""
        return self.name.replace("/", "+")


@dataclass(frozen=True, slots=True)
class Tree:
    """The text files of a snapshot, by path."""

    texts: dict[str, str] = field(default_factory=dict)

    def holding(self, piece: str, most: int = 2) -> list[str]:
        """The files in which a piece of text stands, up to `most`."""
        found: list[str] = []
        for path, text in self.texts.items():
            if piece in text:
                found.append(path)
                if len(found) >= most:
                    break
        return found


def git(repository: Path, *arguments: str) -> str:
    """What a git command prints; nothing is run of what a repository configures."""
    command = ["git", "--git-dir", str(repository), "-c", "core.quotepath=off", *arguments]
    done = subprocess.run(command, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def is_code(path: str) -> bool:
    """Whether a path is a file of a programming language, tests included."""
    language = detect(path)
    return language is not None and language.name in LANGUAGES and VENDORED.search(path) is None


def is_source(path: str) -> bool:
    """Whether a path is code that a question can be about: no test, example, document or copy."""
    return is_code(path) and TEST_PATH.search(path) is None and _NOT_SOURCE.search(path) is None


def spread(items: Sequence[_T], count: int) -> list[_T]:
    """At most `count` of the items, evenly over the whole sequence."""
    if len(items) <= count:
        return list(items)
    return [items[index * len(items) // count] for index in range(count)]
