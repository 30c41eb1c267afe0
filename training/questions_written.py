"""Turns questions that were written by hand into labelled questions: `python -m training.questions_written`.

Reads the lines of `questions_written.jsonl`, `{"repo", "language", "category", "query", "targets": [{"path",
"symbol"}]}`, and the snapshots that `training.questions` has checked out; writes lines of the same form as it does, of
kind `written`, with the lines of each symbol. A question whose files are gone from the snapshot is left out.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from sage_code.languages.table import HEAD_BYTES, detect
from sage_code.parse.definitions import parse
from training.questions import RECIPE, repositories

_LIST = Path(__file__).with_name("repositories.toml")
_WRITTEN = Path(__file__).with_name("questions_written.jsonl")
_BUDGET_S = 120.0


def located(tree: Path, target: dict[str, str]) -> dict[str, Any] | None:
    """A target with the lines of its symbol, where it names one that the file defines; None without the file."""
    path = tree / target["path"]
    if not path.is_file():
        return None
    found: dict[str, Any] = {"path": target["path"], "start": None, "end": None, "line": None}
    data = path.read_bytes()
    language = detect(target["path"], data[:HEAD_BYTES])
    parsed = parse(data, language, _BUDGET_S) if target.get("symbol") and language is not None else None
    name = target.get("symbol", "").rpartition(".")[2]
    for symbol in parsed.symbols if parsed is not None else ():
        if symbol.name == name:
            found |= {"start": symbol.start_line, "end": symbol.end_line, "line": symbol.line}
            break
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
        for line in given.written.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            targets = [found for target in one["targets"] if (found := located(given.trees / one["repo"], target))]
            if targets:
                kept += 1
                question = {
                    "repo": one["repo"], "language": one["language"], "commit": "", "kind": "written",
                    "form": one["category"], "text": one["query"], "targets": targets, "source": "",
                    "held_out": held_out[one["repo"]], "recipe": RECIPE,
                }  # fmt: skip
                out.write(json.dumps(question, ensure_ascii=False) + "\n")
    print(f"{kept} questions")


if __name__ == "__main__":
    main()
