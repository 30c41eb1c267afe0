"""Does a cold index grow in proportion to the project, and does its memory stay?

    python benchmarks/growth.py --sources DIR... [--sizes 1000 10000 100000 1000000] [--whole DIR]

A project of each size is made of the sources: their files, then copies of them in which the rarer words have other
names, so that no text and no vector is known from another copy. `sage index` runs over each as a user runs it, in a
home of its own, and its whole process tree is watched. What is printed: seconds of the clock and of the processor, in
all and for 1,000 chunks, and the peak memory of the process and of it with its workers, where pages that they share
count once. `--whole` indexes real trees too, as they are. A project that was made is kept in `--scratch` for the next
run, its index is not.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from measure import machine, run, table

from sage_code.discover.listing import list_files
from sage_code.discover.reading import SourceText, read_source
from sage_code.discover.rules import DEFAULT_RULES
from sage_code.values import SourceFile

# Words that get other names in a copy: long ones, but not the most common, among which are the keywords.
_WORD = re.compile(r"[A-Za-z]{5,}")
_COMMON = 1_500
# What a chunk has of characters, about: how many copies a size needs.
_CHARS_A_CHUNK = 900
_MEMORY_LIMIT_MB = 600


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", nargs="*", default=[], help="real projects that are copied")
    parser.add_argument("--sizes", nargs="+", type=int, default=[1_000, 10_000, 100_000, 1_000_000], help="chunks")
    parser.add_argument("--whole", nargs="*", default=[], help="trees to index as they are")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir(), "sage-growth"))
    given = parser.parse_args()
    projects = [(f"{size:,} asked", grown(given.scratch, given.sources, size)) for size in given.sizes if given.sources]
    projects += [(os.path.basename(os.path.realpath(tree)), Path(tree)) for tree in given.whole]
    rows = []
    for name, root in projects:
        rows.append([name, *measure(root)])
        print(rows[-1], file=sys.stderr, flush=True)
    print(machine(), end="\n\n")
    columns = [
        "files",
        "chunks",
        "clock s",
        "CPU s",
        "a 1,000 chunks",
        "CPU",
        "own peak MB",
        "with workers MB",
        "disk MB",
    ]
    print(table(["project", *columns], rows))


def measure(root: Path) -> list[object]:
    """A row about a cold run of `sage index`."""
    with tempfile.TemporaryDirectory(prefix="sage-growth-") as home:
        shutil.rmtree(root / ".sage", ignore_errors=True)
        before = _children_cpu()
        command = [sys.executable, "-m", "sage_cli.entry", "index", "--json", "--yes", str(root)]
        done = run(command, {"SAGE_HOME": home}, shared_once=True)
        cpu = _children_cpu() - before
        stats = done.json()
        disk = _size(Path(home)) + _size(root / ".sage")
        shutil.rmtree(root / ".sage")
    thousands = (stats["chunks_created"] + stats["chunks_reused"]) / 1_000
    return [
        f"{stats['files_indexed']:,}", f"{1_000 * thousands:,.0f}", f"{done.seconds:.1f}", f"{cpu:.1f}",
        f"{done.seconds / thousands:.3f}", f"{cpu / thousands:.3f}",
        f"{done.own_mb:.0f} {'✓' if done.own_mb <= _MEMORY_LIMIT_MB else '✗'}", f"{done.tree_mb:.0f}",
        f"{disk / (1 << 20):,.0f}",
    ]  # fmt: skip


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def grown(scratch: Path, sources: list[str], size: int) -> Path:
    """A project of about so many chunks; one that is there is used again."""
    root, done = scratch / str(size), scratch / f"{size}.json"
    if done.exists() and json.loads(done.read_text()) == sources:
        return root
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    common = _common_words(sources)
    left = size * _CHARS_A_CHUNK
    for number in count():
        for path, text in _texts(sources):
            target = root / f"copy{number:04d}" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_WORD.sub(_renamed(number, common), text) if number else text, "utf-8", newline="")
            left -= len(text)
            if left <= 0:
                done.write_text(json.dumps(sources))
                return root
    raise AssertionError("counting has no end")


def _renamed(number: int, common: frozenset[str]) -> Callable[[re.Match[str]], str]:
    """Gives the rarer words of a copy an ending that no other copy has."""
    ending = "".join(chr(ord("a") + int(digit)) for digit in str(number))
    return lambda found: found[0] if found[0] in common else found[0] + ending


def _common_words(sources: list[str]) -> frozenset[str]:
    counted: Counter[str] = Counter()
    for _, text in _texts(sources):
        counted.update(_WORD.findall(text))
    return frozenset(word for word, _ in counted.most_common(_COMMON))


def _texts(sources: list[str]) -> Iterator[tuple[str, str]]:
    """The files of the sources that Sage indexes, each with the name of its source before its path."""
    for source in sources:
        root = os.path.realpath(source)
        for file in list_files(root):
            if isinstance(file, SourceFile):
                read = read_source(root, file, DEFAULT_RULES)
                if isinstance(read, SourceText):
                    yield f"{os.path.basename(root)}/{file.path}", read.text


if __name__ == "__main__":
    subprocess.run([sys.executable, "-c", "import sage_cli.entry"], check=True)  # bytecode is there, as for any user
    main()
