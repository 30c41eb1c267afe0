"""Every line of every file in exactly one chunk, on real projects: `lines.py --repos DIR [NAME ...]`.

Reads each project as `sage index` would, in the same workers, and counts files, lines and chunks by language; a line
that no chunk holds, or that two hold, is a violation and the exit code is 1.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

from sage_code.chunk.lines import split_lines
from sage_code.chunk.workers import chunk_files
from sage_code.discover.listing import list_files
from sage_code.discover.reading import SourceText, read_source
from sage_code.discover.rules import DEFAULT_RULES
from sage_code.values import SkippedFile, SourceFile


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("names", nargs="*", help="projects below it; all without")
    given = parser.parse_args()
    totals: dict[str, Counter[str]] = {}
    wrong: list[str] = []
    for root in [given.repos / name for name in given.names] or sorted(given.repos.iterdir()):
        check(str(root), totals, wrong)
    print("| language | files | lines | chunks |\n| --- | --- | --- | --- |")
    for language, counts in sorted(totals.items(), key=lambda item: -item[1]["lines"]):
        print(f"| {language} | {counts['files']:,} | {counts['lines']:,} | {counts['chunks']:,} |")
    print(f"{sum(c['lines'] for c in totals.values()):,} lines, {len(wrong)} files with a line in no chunk or in two")
    print("\n".join(wrong[:20]))
    sys.exit(1 if wrong else 0)


def check(root: str, totals: dict[str, Counter[str]], wrong: list[str]) -> None:
    """Count one project."""
    files = [file for file in list_files(root) if isinstance(file, SourceFile)]
    for file, result in zip(files, chunk_files(root, files, DEFAULT_RULES), strict=True):
        if isinstance(result, SkippedFile):
            continue
        source = read_source(root, file)
        lines = len(split_lines(source.text)) if isinstance(source, SourceText) else 0
        spans = [(chunk.start_line, chunk.end_line) for chunk in result.chunks]
        follows = [start == end + 1 for (_, end), (start, _) in pairwise(spans)]
        if not spans or spans[0][0] != 1 or spans[-1][1] != lines or not all(follows):
            wrong.append(f"{root}/{file.path}")
        counts = totals.setdefault(result.language, Counter())
        counts.update(files=1, lines=lines, chunks=len(spans))


if __name__ == "__main__":
    main()
