"""Does search find a function by its documentation? In packages that were not used for training, without their docs.

The functions of a held-out package (`training/clean.py` writes them, documentation removed) become the files of a
scratch project, one each, under meaningless names. It is indexed like any project, and every question is a sentence of
the documentation that was removed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import orjson

from sage_code import Project
from sage_code.languages.table import by_name
from sage_code.search.evaluation import Expected, Label, Score
from sage_code.search.trials import Setup, run

# Of each package, so many functions, and questions about so many of them.
_FUNCTIONS = 1_000
_QUESTIONS = 100
# Without it a PHP file is all text.
_HEADS = {"php": "<?php\n"}


def scores(heldout: Path, scratch: Path) -> Iterator[tuple[str, list[Score]]]:
    """By language, the scores of its packages."""
    for language in sorted(heldout.iterdir()):
        labels = [label for package in sorted(language.glob("*.jsonl")) for label in _written(package, scratch)]
        yield language.name, run(labels, Setup(str(scratch), {}, path_blind=True))


def _written(package: Path, scratch: Path) -> Iterator[Label]:
    """Write a package's functions as files; a label for each documented one."""
    language, name = package.parent.name, package.stem.replace("+", "-")
    known = by_name(language)
    assert known is not None, language
    chance = random.Random(name)
    functions = [orjson.loads(line) for line in package.read_bytes().splitlines()]
    functions = chance.sample(functions, min(_FUNCTIONS, len(functions)))
    folder = scratch / name
    folder.mkdir(parents=True, exist_ok=True)
    asked = []
    for number, function in enumerate(functions):
        file = f"f{number:04d}.{known.extensions[0]}"
        Path(folder, file).write_text(_HEADS.get(language, "") + function["code"].partition("\n")[2] + "\n")
        if function.get("query"):
            asked.append(Label(function["query"], (Expected(file, file),), name, language, "documentation"))
    Project(str(folder)).index(name=name)
    yield from chance.sample(asked, min(_QUESTIONS, len(asked)))
