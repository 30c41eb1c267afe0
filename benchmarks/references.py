"""How many of the callers that a referee finds does Sage find too, and how many of Sage's does the referee confirm?

    python benchmarks/references.py jinja celery tornado --repos DIR --jedi-python PYTHON --cache DIR
    python benchmarks/references.py typeorm:src,test --language typescript --repos DIR --tsref FOLDER --cache DIR

Python is judged by Jedi (`referee_jedi.py`, in a virtual environment that has it), TypeScript by the compiler's
language service (`referee_typescript.mjs`; FOLDER holds `node_modules/typescript`). For each project a seeded sample
of functions and methods is drawn from the referee's own list; tests are left out, since nothing calls them by name.
A caller is a function (or class body, or file) that holds a call of the function by its name; for Sage, one at the
default confidence. Shares are over all callers together. The referee is slow: its answers are kept in the cache.

A referee can be asked from both ends, and Jedi's two answers differ: its list of callers leaves out calls that its
own "goto" leads from, call site to function, and takes in calls of other classes' methods of the same name. So a caller
of Sage's that is not on the list counts as right when goto, asked about that very call, names the function. And
since Jedi follows no untyped receiver, both shares are given a second time: precision without those of Sage's callers
where goto leads nowhere, recall without those on the list where goto leads elsewhere.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sage_code.languages.table import detect
from sage_code.parse.definitions import parse
from sage_code.parse.references import SCOPE_KINDS
from sage_code.xref.answers import callers
from sage_code.xref.graph import Definition
from sage_code.xref.language_rules import family
from sage_code.xref.resolve import DEFAULT_CONFIDENCE, Resolver
from tests.xref.projects import ParsedGraph

SAMPLE = 200
SEED = 3
TARGET_RECALL, TARGET_PRECISION = 0.95, 0.85
_SKIPPED = {".git", ".venv", "node_modules", "build", "dist"}
_HERE = Path(__file__).resolve().parent

HERE, ELSEWHERE, NOWHERE = "here", "elsewhere", "nowhere"
Location = tuple[str, str]  # a file, and the qualified name of a definition in it


class Referee:
    """A process that answers questions about one project, with a cache on disk."""

    def __init__(self, command: list[str], cache: Path) -> None:
        self.cache = cache
        self.answers: dict[str, Any] = json.loads(cache.read_text()) if cache.exists() else {}
        self._command = command
        self._process: subprocess.Popen[str] | None = None
        self._unsaved = 0

    def ask(self, op: str, *at: object) -> Any:
        """The answer to one question, from the cache if it is there."""
        request = json.dumps({"op": op, "at": at} if at else {"op": op})
        if not self._command:
            return self.answers.get(request)
        if request not in self.answers:
            if self._process is None:
                self._process = subprocess.Popen(
                    self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
                )
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(request + "\n")
            self._process.stdin.flush()
            self.answers[request] = json.loads(self._process.stdout.readline() or "null")
            self._unsaved += 1
            if self._unsaved % 10 == 0:
                self.save()
        return self.answers[request]

    def save(self) -> None:
        """Write the cache, whole or not at all."""
        self.cache.parent.mkdir(parents=True, exist_ok=True)
        scratch = self.cache.with_suffix(".new")
        scratch.write_text(json.dumps(self.answers))
        scratch.replace(self.cache)

    def close(self) -> None:
        """Save, and end the process."""
        self.save()
        if self._process is not None:
            self._process.terminate()
            self._process.wait()


def sample(referee: Referee, seed: int = SEED) -> list[tuple[str, int, int, str]]:
    """The functions that are asked about, the same in every run."""
    functions = [tuple(function) for function in referee.ask("functions")]
    functions = [function for function in functions if not _is_test(function[3])]
    return Random(seed).sample(functions, min(SAMPLE, len(functions)))


def _is_test(qualname: str) -> bool:
    return qualname.rpartition(".")[2].lower().startswith("test")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The callers of one function by both, and why Sage has those that it has."""

    file: str
    line: int
    qualname: str
    real: dict[Location, int]  # with the line of a call
    ours: dict[Location, tuple[int, str]]  # with the line of a call and the reason
    misses: dict[Location, str]  # what Sage knows of a caller that it does not give

    @property
    def function(self) -> str:
        """The line that is printed."""
        return f"{self.file}:{self.qualname}"


def parsed(root: Path, subfolders: list[str], language: str) -> ParsedGraph:
    """The graph of the project by Sage: definitions and references."""
    files = {}
    for top in [root / subfolder for subfolder in subfolders] or [root]:
        for path in sorted(top.rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.is_file() and not _SKIPPED.intersection(path.parts):
                found = detect(name)
                if found is not None and family(found.name) == family(language):
                    result = parse(path.read_bytes(), found)
                    if result is not None:
                        files[name] = (found.name, result.symbols, tuple(result.references))
    return ParsedGraph(files)


def outcomes(graph: ParsedGraph, referee: Referee, seed: int) -> Iterator[Outcome]:
    """Each function of the sample that the referee answers for."""
    resolver = Resolver(graph)
    for file, line, column, qualname in sample(referee, seed):
        sites = referee.ask("callers", file, line, column)
        symbol = next((symbol for symbol in graph.file_symbols(file) if symbol.line == line), None)
        if sites is None or symbol is None:
            continue
        definition = Definition(file, graph.file_language(file), symbol)
        real = {(site[0], _scope(graph, site[0], site[1])): site[1] for site in sites}
        found = callers(resolver, definition, min_confidence=0.0)
        # Only what is called by this name: the referee does not count `Foo()` as a call of its constructor, nor a
        # function that is handed on.
        called = [caller for caller in found if caller.why != "constructs" and caller.kind == "call"]
        known = {(caller.file, caller.scope): caller for caller in called}
        ours = {place: (c.line, c.why) for place, c in known.items() if c.confidence >= DEFAULT_CONFIDENCE}
        misses = {
            place: f"{known[place].why} {known[place].confidence:.2f}"
            if place in known
            else f"not seen, line {real[place]}"
            for place in real.keys() - ours.keys()
        }
        yield Outcome(file, line, qualname, real, ours, misses)


def _scope(graph: ParsedGraph, file: str, line: int) -> str:
    """The innermost definition around a line, for the referee's call sites as for Sage's."""
    around = [symbol for symbol in graph.file_symbols(file) if symbol.line <= line <= symbol.end_line]
    around = [symbol for symbol in around if symbol.kind in SCOPE_KINDS]
    return max(around, key=lambda symbol: (symbol.line, -symbol.end_line)).qualname if around else ""


def report(name: str, results: list[Outcome], referee: Referee, differences: int) -> bool:
    """Print one project's figures; whether the targets are met."""
    real = sum(len(result.real) for result in results)
    hits = sum(len(result.real.keys() & result.ours.keys()) for result in results)
    given = sum(len(result.ours) for result in results)
    unlisted = [
        (leads(referee, result, place, line), result.function, place, line, why)
        for result in results
        for place, (line, why) in result.ours.items()
        if place not in result.real
    ]
    missed = [
        (leads(referee, result, place, result.real[place]), result.function, place, result.real[place], why)
        for result in results
        for place, why in result.misses.items()
    ]
    right = hits + sum(led == HERE for led, *_ in unlisted)
    wrong = [entry for entry in unlisted if entry[0] != HERE]
    unsaid = sum(led == NOWHERE for led, *_ in wrong)
    elsewhere = sum(led == ELSEWHERE for led, *_ in missed)
    recall, ruled_recall = hits / max(1, real), hits / max(1, real - elsewhere)
    precision, ruled_precision = right / max(1, given), right / max(1, given - unsaid)
    print(f"{name}: {len(results)} functions, {real} real callers, {given} given, {right - hits} confirmed by goto")
    print(f"  recall {recall:.1%}, without {elsewhere} callers that goto denies {ruled_recall:.1%}")
    print(f"  precision {precision:.1%}, without {unsaid} where goto leads nowhere {ruled_precision:.1%}")
    reasons = Counter(why for result in results for place, (_, why) in result.ours.items() if place in result.real)
    print("  right by reason:", dict(reasons.most_common()))
    print("  wrong by reason:", dict(Counter(why for *_, why in wrong).most_common()))
    print("  missed by reason:", dict(Counter(why.split()[0] for *_, why in missed).most_common()))
    for led, function, place, line, why in missed[:differences]:
        print(f"  missed  {function}  from {place[0]}:{line} {place[1]}  ({why}; goto leads {led})")
    for led, function, place, line, why in wrong[:differences]:
        print(f"  wrong   {function}  from {place[0]}:{line} {place[1]}  ({why}; goto leads {led})")
    return recall >= TARGET_RECALL and precision >= TARGET_PRECISION


def leads(referee: Referee, result: Outcome, place: Location, line: int) -> str:
    """Where the referee's "goto" leads from a call: to this function, to something else, or nowhere."""
    found = referee.ask("goto", place[0], line, result.qualname.rpartition(".")[2])
    if not found:
        return NOWHERE
    # The referee answers with whole paths.
    return HERE if any(path.endswith(f"/{result.file}") and at == result.line for path, at in found) else ELSEWHERE


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="+", help="folder names, with subfolders after a colon: typeorm:src,test")
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True, help="a folder for the referee's answers")
    parser.add_argument("--jedi-python")
    parser.add_argument("--tsref")
    parser.add_argument("--language", default="python")
    parser.add_argument("--seed", type=int, default=SEED, help="another one gives functions that nothing was tuned on")
    parser.add_argument("--differences", type=int, default=0)
    arguments = parser.parse_args()
    good = True
    for project in arguments.projects:
        name, _, rest = project.partition(":")
        subfolders = rest.split(",") if rest else []
        root = arguments.repos / name
        command: list[str] = []  # none: the cache alone answers
        if arguments.tsref:
            command = ["node", "--max-old-space-size=6000", str(_HERE / "referee_typescript.mjs"), arguments.tsref]
            command += [str(root), *subfolders]
        elif arguments.jedi_python:
            command = [arguments.jedi_python, str(_HERE / "referee_jedi.py"), str(root)]
        referee = Referee(command, arguments.cache / f"{name}.json")
        graph = parsed(root, subfolders, arguments.language)
        good &= report(name, list(outcomes(graph, referee, arguments.seed)), referee, arguments.differences)
        referee.close()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
