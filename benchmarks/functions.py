"""Does a search show the right function, not just the right file?

    python benchmarks/functions.py QUESTIONS.jsonl ... --roots DIR [--named]

Questions are lines as `training/questions.py` writes them; their projects, DIR/REPO or a question's own `root`, are
indexed. Asked are those with the lines of a function; with `--named` also those that name exactly one definition of a
file that answers, which is then the function. Counts how often the first result is in the right file, how often its
lines are those of the function, and how often these or one of its other places ("also") are.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from measure import table

from sage_code import Project
from sage_code.errors import SageError
from sage_code.languages.kinds import CHUNK_KIND
from sage_code.search.snapshot import SearchSnapshot

_NAME = re.compile(r"[A-Za-z_][\w]*")
_DEFINITIONS = frozenset({"function", "method", "class", "type"})
_LEAST_CHARS = 4


def spans(question: dict[str, Any], snapshot: SearchSnapshot, *, named: bool) -> dict[str, list[tuple[int, int]]]:
    """By file, the lines of the functions that answer."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for target in question["targets"]:
        if target.get("start"):
            found[target["path"]].append((target["start"], target["end"]))
    if found or not named:
        return found
    words = {word for word in _NAME.findall(question["text"]) if len(word) >= _LEAST_CHARS}
    for target in question["targets"]:
        file = snapshot.file_numbers.get(target["path"])
        symbols = snapshot.symbols(file) if file is not None else []
        own = [one for one in symbols if one.name in words and CHUNK_KIND.get(one.kind) in _DEFINITIONS]
        if len(own) == 1:
            found[target["path"]].append((own[0].start_line, own[0].end_line))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", type=Path, nargs="+")
    parser.add_argument("--roots", type=Path, required=True)
    parser.add_argument("--named", action="store_true")
    given = parser.parse_args()
    by_root: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for path in given.questions:
        for line in path.read_text().splitlines():
            question = json.loads(line)
            by_root[str(given.roots / question.get("root", question["repo"]))].append(question)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for root, questions in by_root.items():
        try:
            snapshot = SearchSnapshot(root)
        except SageError as error:
            print(f"left out: {error.message}")
            continue
        project = Project.open(root)
        for question in questions:
            wanted = spans(question, snapshot, named=given.named)
            if not wanted:
                continue
            hits = project.search(question["text"], refresh=False).results
            kind = f"{question['kind']}{' (held out)' if question['held_out'] else ''}"
            for count in (counts[kind], counts["all"]):
                count["asked"] += 1
                if not hits or hits[0].file not in wanted:
                    continue
                count["file"] += 1
                own = wanted[hits[0].file]
                places = [(hits[0].start_line, hits[0].end_line)]
                places += [(other.start_line, other.end_line) for other in hits[0].also]
                right = [any(first <= end and last >= start for start, end in own) for first, last in places]
                count["first"] += right[0]
                count["shown"] += any(right)
    rows = [["questions", "asked", "file first", "function first", "function shown"]]
    for kind, count in counts.items():
        shares = [f"{count[name] / count['asked']:.3f}" for name in ("file", "first", "shown")]
        rows.append([kind, str(count["asked"]), *shares])
    print(table(rows[0], rows[1:]))


if __name__ == "__main__":
    main()
