"""Turns questions that were written by hand into labelled questions: `python -m training.questions_written`.

Reads `questions_written.tsv`, which says how its lines are made, and the snapshots that `training.questions` has
checked out; writes lines of the same form as it does, of kind `written`, with the lines of each symbol. A question
whose files are not in the snapshot is left out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sage_code.languages.table import HEAD_BYTES, detect
from sage_code.parse.definitions import parse
from training.questions import RECIPE, repositories

_LIST = Path(__file__).with_name("repositories.toml")
_WRITTEN = Path(__file__).with_name("questions_written.tsv")
_BUDGET_S = 120.0


class Written(NamedTuple):
    """A question, and the files that answer it, each with the name of a symbol or none."""

    repo: str
    language: str
    category: str
    text: str
    targets: tuple[tuple[str, str], ...]


def read_written(path: Path) -> Iterator[Written]:
    """The questions of the file."""
    repo = language = ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("= "):
            repo, language = line[2:].replace("/", "+").split(" ")
        elif not line.startswith("#"):
            category, text, *answers = line.split("\t")
            targets = [answer.partition("::") for answer in answers]
            yield Written(repo, language, category, text, tuple((file, symbol) for file, _, symbol in targets))


def located(tree: Path, file: str, name: str) -> dict[str, Any] | None:
    """A target with the lines of its symbol, if the file defines it; None without the file."""
    path = tree / file
    if not path.is_file():
        return None
    found: dict[str, Any] = {"path": file, "start": None, "end": None, "line": None}
    data = path.read_bytes()
    language = detect(file, data[:HEAD_BYTES])
    parsed = parse(data, language, _BUDGET_S) if name and language is not None else None
    for symbol in parsed.symbols if parsed is not None else ():
        if symbol.name == name.rpartition(".")[2]:
            return found | {"start": symbol.start_line, "end": symbol.end_line, "line": symbol.line}
    return found


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--written", type=Path, default=_WRITTEN)
    parser.add_argument("--trees", type=Path, required=True, help="the snapshots, OWNER+NAME")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    held_out = {one.folder: one.held_out for one in repositories(_LIST, frozenset())}
    kept = 0
    with given.out.open("w", encoding="utf-8") as out:
        for one in read_written(given.written):
            tree = given.trees / one.repo
            targets = [found for file, symbol in one.targets if (found := located(tree, file, symbol))]
            if targets:
                kept += 1
                question = {
                    "repo": one.repo, "language": one.language, "commit": "", "kind": "written",
                    "form": one.category, "text": one.text, "targets": targets, "source": "",
                    "held_out": held_out[one.repo], "recipe": RECIPE,
                }  # fmt: skip
                out.write(json.dumps(question, ensure_ascii=False) + "\n")
    print(f"{kept} questions")


if __name__ == "__main__":
    main()
