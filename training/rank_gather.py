"""Asks labelled questions of indexed projects and keeps the features of their candidates, for `training/rank.py`.

    python -m training.rank_gather --questions FILE.jsonl ... --roots DIR --out DATA/gathered/NAME.npz [--foreign N]

A question is a line `{"repo", "language", "kind", "text", "targets": [{"path", "start", "end"}], "held_out"}`; its
project is the folder DIR/REPO, or the question's own `root` below DIR, and has been indexed. `start` and `end` are the
lines of the function that answers, where it is known. `--foreign N` asks every project N questions about others, which
nothing answers. Reads indexes only; the same index and questions give the same file.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sage_code.embed import default_embedder
from sage_code.errors import SageError
from sage_code.search.engine import SearchEngine
from sage_code.search.features import NAMES
from sage_code.search.query import parse_query
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.trials import PathBlindSnapshot

# A row of a candidate: in a file that answers, and in the function that answers.
IN_FILE, IN_FUNCTION = 1, 2
_SEED = 7


def read_questions(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """The questions of some files."""
    return [json.loads(line) for path in paths for line in path.read_text().splitlines()]


def labels(
    snapshot: SearchSnapshot, files: np.ndarray[Any, Any], chunks: np.ndarray[Any, Any], targets: list[dict[str, Any]]
) -> np.ndarray[Any, Any]:
    """For each candidate whether it is in a target's file or function."""
    marks = np.zeros(len(files), np.uint8)
    for target in targets:
        file = snapshot.file_numbers.get(target["path"], -1)
        inside = files == file
        marks[inside] = np.maximum(marks[inside], IN_FILE)
        if target.get("start"):
            first, last = snapshot.chunk_start[chunks], snapshot.chunk_end[chunks]
            marks[inside & (first <= target["end"]) & (last >= target["start"])] = IN_FUNCTION
    return marks


def gather(questions: list[dict[str, Any]], roots: Path, *, blind: bool = False) -> dict[str, Any]:
    """The candidates of every question, question by question in columns."""
    by_root: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for question in questions:
        by_root[os.path.normpath(roots / question.get("root", question["repo"]))].append(question)
    embedder = default_embedder()
    matrices, files, spans, marks, counts, kept = [], [], [], [], [], []
    for root, own in by_root.items():
        try:
            snapshot = (PathBlindSnapshot if blind else SearchSnapshot)(root)
        except SageError as error:
            print(f"left out: {error.message}")
            continue
        engine = SearchEngine(snapshot, embedder)
        for question in own:
            found = engine.candidates(parse_query(question["text"]))
            lines = np.stack([snapshot.chunk_start[found.chunks], snapshot.chunk_end[found.chunks]], axis=1)
            marked = labels(snapshot, found.files, found.chunks, question["targets"])
            wanted = {target["path"] for target in question["targets"]}
            matrices.append(found.matrix.astype(np.float16))
            files.append(found.files.astype(np.int32))
            spans.append(lines.astype(np.int32))
            marks.append(marked)
            counts.append(len(found.files))
            reached = len({int(file) for file, mark in zip(found.files, marked, strict=True) if mark})
            kept.append({**question, "files": len(wanted), "reached": reached})
        print(f"{root}: {len(own)} questions", flush=True)
    return {
        "matrix": np.concatenate(matrices), "files": np.concatenate(files), "span": np.concatenate(spans),
        "mark": np.concatenate(marks), "count": np.array(counts), "names": np.array(NAMES),
        "questions": np.array([json.dumps(question) for question in kept]),
    }  # fmt: skip


def foreign(questions: list[dict[str, Any]], each: int) -> list[dict[str, Any]]:
    """For every project some questions about other projects: nothing answers them."""
    rng = random.Random(_SEED)
    projects = {question.get("root", question["repo"]): question for question in questions}
    made = []
    for root, own in projects.items():
        others = [question for question in questions if question["repo"] != own["repo"] and question["kind"] != "name"]
        made += [
            {**question, "repo": own["repo"], "root": root, "targets": [], "kind": f"foreign {question['kind']}"}
            for question in rng.sample(others, min(each, len(others)))
        ]
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, nargs="+", required=True)
    parser.add_argument("--roots", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--foreign", type=int, default=0)
    parser.add_argument("--blind", action="store_true", help="hide all paths")
    given = parser.parse_args()
    questions = read_questions(given.questions)
    questions += foreign(questions, given.foreign) if given.foreign else []
    np.savez(given.out, **gather(questions, given.roots, blind=given.blind))


if __name__ == "__main__":
    main()
