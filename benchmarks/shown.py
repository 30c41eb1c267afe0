"""Whether what a search shows belongs together: `python benchmarks/shown.py PROJECT ... [--labels FILE]`.

Asks each project, which must be indexed, the questions of a labels file whose `repo` is the name of its folder, and
questions that are made here, by chance from a fixed seed: the words of a definition's name, and literal lines of files,
in quotes. Counts, over all hits that have a snippet:

    torn      the label's definition covers less than half of the shown lines
    unnamed   the label names no definition
    wordless  the snippet has none of the query's words although the found lines have one
    inner     a smaller definition than the label's covers all lines of the snippet that have words of the query
    off line  a literal line of a file is asked for, the file is found, and the line is not shown

and prints what an answer costs: its tokens, and how long it takes.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from measure import machine, table

from sage_code import Project
from sage_code.languages.kinds import CHUNK_KIND
from sage_code.search.evaluation import percentiles, read_labels
from sage_code.search.query import parse_query
from sage_code.search.results import Hit
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.snippets import SNIPPET_LINES, LineMatcher
from sage_code.text.tokens import count_tokens
from sage_code.values import Symbol

# A literal line that is asked for has this many characters: fewer stand in many files.
_LITERAL_CHARS = (25, 90)
_WORD = re.compile(r"[A-Za-z]{2,}")


class Question(NamedTuple):
    """A question, and for a literal one where it stands."""

    text: str
    kind: str
    file: str = ""
    lines: frozenset[int] = frozenset()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="+", help="indexed folders")
    parser.add_argument("--labels", help="labelled questions, JSON lines")
    parser.add_argument("--made", type=int, default=40, help="questions of each kind that are made for a project")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=0, help="print this many findings of each sort")
    given = parser.parse_args()
    labels = read_labels(given.labels) if given.labels else []
    counts: Counter[tuple[str, str]] = Counter()
    shown: Counter[str] = Counter()
    tokens: list[int] = []
    took: list[float] = []
    for root in given.projects:
        root = os.path.realpath(root)
        project, snapshot = Project(root), SearchSnapshot(root)
        asked = [Question(one.query, "labelled") for one in labels if one.repo == os.path.basename(root)]
        asked += made_questions(snapshot, random.Random(f"{given.seed} {os.path.basename(root)}"), given.made)
        symbols = {snapshot.path(file): snapshot.symbols(file) for file in range(snapshot.files)}
        for question in asked:
            started = time.perf_counter()
            response = project.search(question.text, refresh=False)
            took.append((time.perf_counter() - started) * 1000)
            tokens.append(sum(count_tokens(hit.snippet) for hit in response.results))
            matcher = LineMatcher(parse_query(question.text))
            for hit in response.results:
                lines = Path(root, hit.file).read_text(encoding="utf-8", errors="replace").split("\n")
                for finding in findings(question, hit, symbols[hit.file], matcher, lines):
                    counts[question.kind, finding] += 1
                    if finding in {"torn", "wordless", "off line", "inner"} and shown[finding] < given.show:
                        shown[finding] += 1
                        where = f"{hit.file}:{hit.snippet_line}-{hit.snippet_line + hit.snippet.count(chr(10))}"
                        print(f"{finding}: {question.text!r} {where} {hit.kind} {hit.qualname}")
    print(machine())
    kinds = list(dict.fromkeys(kind for kind, _ in counts))
    names = ("hits", "torn", "unnamed", "wordless", "inner", "literal", "off line")
    print(table(["questions", *names], [[kind, *(str(counts[kind, name]) for name in names)] for kind in kinds]))
    print(f"tokens of all snippets of an answer of {SNIPPET_LINES} lines each: median {statistics.median(tokens):.0f}")
    print(f"a search, warm, ms: {percentiles(took)}")


def made_questions(snapshot: SearchSnapshot, chance: random.Random, count: int) -> Iterator[Question]:
    """Names as words, and literal lines, of definitions that are drawn."""
    files = sorted((file for file in range(snapshot.files) if snapshot.alive[file]), key=snapshot.path)
    drawn = [(file, symbol) for file in files for symbol in snapshot.symbols(file) if len(symbol.name) > 5]
    for _file, symbol in chance.sample(drawn, min(count, len(drawn))):
        yield Question(" ".join(symbol.qualname.replace("_", " ").split(".")), "name in words")
    wanted = count
    for file in chance.sample(files, len(files)):
        if not wanted:
            break
        path = snapshot.path(file)
        with open(os.path.join(snapshot.root, path), encoding="utf-8", errors="replace") as opened:
            text = opened.read()
        lines = text.split("\n")
        long = [
            line.strip() for line in lines
            if _LITERAL_CHARS[0] <= len(line.strip()) <= _LITERAL_CHARS[1] and '"' not in line
            and line.isascii() and len(_WORD.findall(line)) > 2
        ]  # fmt: skip
        if long:
            literal = chance.choice(long)
            at = frozenset(number for number, line in enumerate(lines, 1) if literal in line)
            wanted -= 1
            yield Question(f'"{literal}"', "literal", path, at)


def findings(
    question: Question, hit: Hit, symbols: list[Symbol], matcher: LineMatcher, lines: list[str]
) -> Iterator[str]:
    """What is to be counted about a hit."""
    yield "hits"
    if question.file == hit.file:
        yield "literal"
    if not hit.snippet:
        return
    first, last = hit.snippet_line, hit.snippet_line + hit.snippet.count("\n")
    if question.file == hit.file and not any(first <= line <= last for line in question.lines):
        yield "off line"
    if not hit.qualname:
        yield "unnamed"
    elif (
        2 * max((_common(one, first, last) for one in symbols if one.qualname == hit.qualname), default=0)
        < last - first + 1
    ):
        yield "torn"
    with_words = [number for number in range(first, last + 1) if matcher.stems_in(lines[number - 1])]
    if not with_words:
        if any(matcher.stems_in(line) for line in lines[hit.start_line - 1 : hit.end_line]):
            yield "wordless"
        return
    size = min((one.end_line - one.start_line for one in symbols if one.qualname == hit.qualname), default=1 << 30)
    blocks = (one for one in symbols if CHUNK_KIND.get(one.kind) != "constant" and one.end_line - one.start_line < size)
    if any(one.start_line <= with_words[0] and with_words[-1] <= one.end_line for one in blocks):
        yield "inner"


def _common(symbol: Symbol, first: int, last: int) -> int:
    return min(symbol.end_line, last) - max(symbol.start_line, first) + 1


if __name__ == "__main__":
    main()
