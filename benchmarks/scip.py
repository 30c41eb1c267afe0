"""How well `sage refs` agrees with a compiler: without its SCIP index, and with it as an overlay.

Example:  python benchmarks/scip.py /tmp/flask /tmp/flask.scip /tmp/hono /tmp/hono.scip

The referee is the index itself, read without Sage's importer: every occurrence of a symbol that is defined in the
project and not local, as (file, line), definitions left out. A symbol counts when it is a function, a method, a type, a
constant or an attribute, and its definition is in a file that Sage indexes. Sage is asked for each symbol of a
sample by its bare name; of its answers with a confidence of at least 0.4, those of that definition in files of
the index count. The projects are copied to a temporary folder and indexed there in a home of their own.
A symbol that only the overlay knows counts as missed without it.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

# scip-typescript calls a getter `<get>name`, and a constructor `<constructor>`.
_ACCESSOR = re.compile("^<(?:get|set)>")
KINDS = ("type", "method", "term", "macro")


@dataclass
class Judged:
    """What the index says about one symbol."""

    definitions: set[tuple[str, int]] = field(default_factory=set)
    uses: set[tuple[str, int]] = field(default_factory=set)
    name: str = ""


@dataclass
class Score:
    """Uses that both know, that only the index knows, and that only Sage knows."""

    both: int = 0
    missed: int = 0
    extra: int = 0
    seconds: float = 0.0

    @property
    def recall(self) -> float:
        """Of the uses that the index knows, the share that Sage knows."""
        return self.both / max(1, self.both + self.missed)

    @property
    def precision(self) -> float:
        """Of the uses that Sage names, the share that the index knows."""
        return self.both / max(1, self.both + self.extra)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="+", metavar="PROJECT INDEX", help="a project and the SCIP index of it")
    parser.add_argument("--symbols", type=int, default=400, help="ask about so many symbols of each project")
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--show", type=int, default=0, help="print so many misses and extra uses")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SAGE_HOME"] = os.path.join(folder, ".sage")
        print("| project | tool | symbols | uses | overlay | recall | precision | CPU ms a question |")
        print("|---|---|---|---|---|---|---|---|")
        for project, index in zip(arguments.pairs[::2], arguments.pairs[1::2], strict=True):
            measure(project, index, folder, arguments)
    print(f"load average {os.getloadavg()[0]:.1f}", file=sys.stderr)


def measure(source: str, index: str, folder: str, arguments: argparse.Namespace) -> None:
    """Index a copy of a project and ask about its symbols, without and with the overlay."""
    from sage_code.exchange.scip_import import import_scip
    from sage_code.project import Project
    from sage_code.scip import reader

    root = os.path.join(folder, os.path.basename(os.path.normpath(source)))
    shutil.copytree(source, root, symlinks=True, ignore=shutil.ignore_patterns(".git", ".sage", "node_modules"))
    os.makedirs(os.path.join(root, ".sage"))
    project = Project(root)
    project.index()
    with reader.opened(index) as opened:
        tool = opened.tool().name
    judged, covered = referee(index, root)
    chosen = sorted(judged)
    random.Random(arguments.seed).shuffle(chosen)
    chosen = chosen[: arguments.symbols]
    uses = sum(len(judged[one].uses) for one in chosen)
    head = f"| {os.path.basename(root)} | {tool} | {len(chosen)} | {uses} "
    for overlay in ("without", "with"):
        if overlay == "with":
            began = time.process_time()
            done = import_scip(root, index)
            print(f"{done} in {time.process_time() - began:.1f} CPU s", file=sys.stderr)
        score = Score()
        for one in chosen:
            ask(root, judged[one], covered, score, arguments.show)
        took = score.seconds * 1000 / len(chosen)
        print(f"{head}| {overlay} | {score.recall:.3f} | {score.precision:.3f} | {took:.1f} |", flush=True)


def ask(root: str, judged: Judged, covered: set[str], score: Score, show: int) -> None:
    """Ask Sage for the uses of one symbol, and count."""
    from sage_code.compiled.inventory import reading
    from sage_code.lookup.related import related

    began = time.process_time()
    with reading(root):
        found = related(root, judged.name, "references", seconds=math.inf)  # whatever else the machine does
    score.seconds += time.process_time() - began
    mine = {
        (use.file, use.line)
        for use in found.uses
        if (use.definition.file, use.definition.symbol.line) in judged.definitions and use.file in covered
    }
    score.both += len(mine & judged.uses)
    score.missed += len(judged.uses - mine)
    score.extra += len(mine - judged.uses)
    if (score.missed + score.extra) <= show:
        for what, places in (("missed", judged.uses - mine), ("extra", mine - judged.uses)):
            for place in places:
                print(what, judged.name, place, judged.definitions, file=sys.stderr)


def referee(index: str, root: str) -> tuple[dict[str, Judged], set[str]]:
    """What an index says about each of its symbols, and the files that it covers."""
    from sage_code.scip import reader
    from sage_code.scip.symbol_names import parse
    from sage_code.xref.compiled_graph import CompiledGraph

    graph = CompiledGraph(root)
    judged: dict[str, Judged] = defaultdict(Judged)
    covered = set()
    with reader.opened(index) as opened:
        for document in opened.documents():
            if not graph.file_key(document.path):
                continue
            covered.add(document.path)
            for one in document.occurrences:
                steps = parse(one.symbol)
                if not steps or steps[-1].kind not in KINDS or one.range[1] == one.range[3]:
                    continue
                place = (document.path, one.range[0] + 1)
                if one.roles & reader.DEFINITION:
                    judged[one.symbol].definitions.add(place)
                    judged[one.symbol].name = _ACCESSOR.sub("", steps[-1].name).strip("<>")
                else:
                    judged[one.symbol].uses.add(place)
    return {symbol: one for symbol, one in judged.items() if one.definitions and one.uses}, covered


if __name__ == "__main__":
    main()
