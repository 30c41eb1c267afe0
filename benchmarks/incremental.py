"""Does an index that has grown commit by commit give the same answers and scores as a fresh one?

    python benchmarks/incremental.py REPOSITORY... [--commits 100] [--every 10] [--questions 40]

Each repository (a git directory with history) is checked out commit by commit, oldest first, and indexed in one home.
On the way runs are killed, segments forced to merge or to stay apart, and old commits checked out and left again. At
every tenth commit and at the last one the same tree is indexed afresh in a second home, and both are asked the same:
search (names, docstrings, words of paths, error texts), grep, refs, callers, callees, impact, map, outline, similar and
duplicates, each in a process of its own with its own seed of hashes. Ends with 1 when any answer differs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

from measure import table
from proving import command

from sage_code import Project
from sage_code.compiled import generation
from sage_code.compiled.lookup import open_symbols
from sage_code.index.pipeline import index_project
from sage_code.paths import HOME_VARIABLE
from sage_code.settings.loading import load_settings
from sage_code.xref.answers import callees, callers, impact, references
from sage_code.xref.compiled_graph import CompiledGraph
from sage_code.xref.resolve import Resolver

# One run in so many is killed first, merges everything, keeps small segments apart, comes from an old commit.
_KILLED, _MERGED, _SPLIT, _SWITCHED = 9, 13, 5, 17
_SMALL = 150
_ERROR = re.compile(r"""(?:raise|throw|Errorf?\(|panic\(|errors\.New\()[^"'\n]*["']([^"'\n]{12,80})["']""")


def main() -> int:
    arguments = _parser().parse_args()
    if arguments.answer:
        questions = json.loads(Path(arguments.questions_file).read_bytes())
        print(json.dumps(dict(_answers(Project(arguments.answer), questions))))
        return 0
    rows, differences = [], []
    for repository in arguments.repositories:
        with tempfile.TemporaryDirectory() as folder:
            comparison = _Comparison(Path(folder), repository, arguments)
            rows.append(comparison.run())
            print(*rows[-1], file=sys.stderr, flush=True)
            differences += comparison.differences
    print(table(["project", "commits", "files", "killed", "merged", "compared", "answers", "differing", "s"], rows))
    for difference in differences[: arguments.show]:
        print(difference)
    return 1 if differences else 0


def _parser() -> argparse.ArgumentParser:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="*", help="git directories with history")
    parser.add_argument("--commits", type=int, default=100)
    parser.add_argument("--every", type=int, default=10, help="compare at every so many commits")
    parser.add_argument("--questions", type=int, default=40, help="searches of a comparison")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=20, help="differences that are printed")
    parser.add_argument("--answer", help=argparse.SUPPRESS)
    parser.add_argument("--questions-file", help=argparse.SUPPRESS)
    return parser


class _Comparison:
    """One repository with its growing index, and fresh ones."""

    def __init__(self, folder: Path, repository: str, arguments: argparse.Namespace) -> None:
        self._name = Path(repository).name if Path(repository).name != "repo" else Path(repository).parent.name
        self._folder, self._arguments = folder, arguments
        self._random = Random(arguments.seed)
        self._grown, self._fresh = folder / "grown" / "project", folder / "fresh" / "project"
        for root in (self._grown, self._fresh):
            subprocess.run(["git", "clone", "-q", "--no-checkout", repository, str(root)], check=True)
        self.differences: list[str] = []
        self._counts: Counter[str] = Counter()

    def run(self) -> list[object]:
        """Index commit after commit and compare at some; a row of the table."""
        started = time.perf_counter()
        listed = _git(self._grown, "rev-list", "--first-parent", f"--max-count={self._arguments.commits}", "HEAD")
        commits = listed.split()[::-1]
        for number, commit in enumerate(commits, 1):
            if number % _SWITCHED == 0:  # to another branch and back
                self._index_at(commits[max(number - 12, 0)], number)
            self._index_at(commit, number)
            if number % self._arguments.every == 0 or number == len(commits):
                self._compare(commit)
        files = len(_git(self._grown, "ls-files").splitlines())
        counts = self._counts
        took = round(time.perf_counter() - started)
        return [
            self._name, len(commits), files, counts["killed"], counts["merged"], counts["compared"],
            f"{counts['answers']:,}", len(self.differences), took,
        ]  # fmt: skip

    def _index_at(self, commit: str, number: int) -> None:
        """Index one commit, at times after a killed run or with segments merged or split."""
        _checkout(self._grown, commit)
        os.environ[HOME_VARIABLE] = str(self._folder / "home")
        if number % _KILLED == 0:
            self._kill_a_run()
        settings = load_settings(str(self._grown))
        before = (generation._MAX_SMALL_SEGMENTS, generation._SEGMENT_CHUNKS, generation._MERGED_CHUNKS)
        if number % _MERGED == 0:
            generation._MAX_SMALL_SEGMENTS = 0
            self._counts["merged"] += 1
        elif number % _SPLIT == 0:
            generation._SEGMENT_CHUNKS = generation._MERGED_CHUNKS = _SMALL
        index_project(str(self._grown), settings)
        generation._MAX_SMALL_SEGMENTS, generation._SEGMENT_CHUNKS, generation._MERGED_CHUNKS = before

    def _kill_a_run(self) -> None:
        process = subprocess.Popen(
            command("index", self._grown), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        try:
            process.wait(self._random.uniform(0.5, 5))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self._counts["killed"] += 1

    def _compare(self, commit: str) -> None:
        """Ask the grown index and a fresh one the same questions, and note the differences."""
        _checkout(self._fresh, commit)
        shutil.rmtree(self._fresh / ".sage", ignore_errors=True)
        home = self._folder / "fresh home"
        shutil.rmtree(home, ignore_errors=True)
        os.environ[HOME_VARIABLE] = str(home)
        index_project(str(self._fresh), load_settings(str(self._fresh)))
        questions = self._folder / "questions.json"
        asked = _questions(self._fresh, self._random, self._arguments.questions)
        questions.write_text(json.dumps(asked))
        grown = self._ask(self._grown, self._folder / "home", questions)
        fresh = self._ask(self._fresh, home, questions)
        self._counts["compared"] += 1
        self._counts["answers"] += len(fresh)
        for what in fresh.keys() | grown.keys():
            if grown.get(what) != fresh.get(what):
                where = _difference(grown.get(what), fresh.get(what))
                self.differences.append(f"{self._name} {commit[:8]} {what[:80]}: {where}")

    def _ask(self, root: Path, home: Path, questions: Path) -> dict[str, Any]:
        environment = {
            **os.environ, HOME_VARIABLE: str(home), "PYTHONHASHSEED": str(self._random.randrange(1, 1 << 30))
        }  # fmt: skip
        words = [sys.executable, __file__, "--answer", str(root), "--questions-file", str(questions)]
        found = subprocess.run(words, env=environment, stdout=subprocess.PIPE, check=True)
        answers: dict[str, Any] = json.loads(found.stdout)
        return answers


def _questions(root: Path, random: Random, count: int) -> dict[str, list[Any]]:
    """The questions about a tree, made from its files."""
    symbols = list(open_symbols(str(root)).all())
    names = sorted({symbol["name"] for symbol in symbols})
    docs = sorted({s["docstring"].strip().partition("\n")[0] for s in symbols if len(s["docstring"]) > 20})
    files = sorted({symbol["file"] for symbol in symbols})
    errors = sorted({text for file in files for text in _ERROR.findall((root / file).read_text(errors="replace"))})
    paths = [" ".join(re.findall(r"[A-Za-z]+", file)) for file in files]
    searches = [question for source in (names, docs, paths, errors) for question in _some(random, source, count // 4)]
    places = [(s["file"], s["line"]) for s in _some(random, symbols, 8)]
    return {
        "search": [question for question in searches if re.search(r"\w", question)],
        "names": _some(random, names, 12),
        "files": _some(random, files, 4),
        "places": places,
    }


def _some(random: Random, items: list[Any], count: int) -> list[Any]:
    return random.sample(items, min(count, len(items)))


def _answers(project: Project, questions: dict[str, list[Any]]) -> Iterator[tuple[str, Any]]:
    """Every answer of a project, by question."""
    for question in questions["search"]:
        response = project.search(question, refresh=False, explain=question == questions["search"][0])
        yield f"search {question}", [response.good, response.truncated, [asdict(hit) for hit in response.results]]
    for name in questions["names"]:
        yield f"grep {name}", project.grep(name)
        yield f"grep -i -p {name}", project.grep(name[:4], ignore_case=True, prefix=True)
        yield f"nearest {name}", project.nearest(name[:-1] + "x")
        graph = CompiledGraph(project.root)
        resolver = Resolver(graph)
        for number, one in enumerate(graph.definitions(name)[:4]):
            yield f"refs {name} {number}", [asdict(use) for use in references(resolver, one)]
            yield f"callers {name} {number}", [asdict(use) for use in callers(resolver, one, 2)]
            yield f"callees {name} {number}", [asdict(use) for use in callees(resolver, one, 2)]
            yield f"impact {name} {number}", [asdict(use) for use in impact(resolver, one)]
    for file in questions["files"]:
        yield f"impact {file}", [asdict(use) for use in impact(Resolver(CompiledGraph(project.root)), file)]
        yield f"outline {file}", asdict(project.outline(file))
    for file, line in questions["places"]:
        yield f"similar {file}:{line}", [asdict(one) for one in project.similar(file, line)]
    yield "duplicates", [asdict(one) for one in project.duplicates()]
    yield "map", asdict(project.map(max_tokens=4096))


def _difference(grown: Any, fresh: Any) -> str:
    """The first difference of two answers."""
    if type(grown) is type(fresh) and isinstance(grown, list | dict) and len(grown) == len(fresh):
        keys = range(len(grown)) if isinstance(grown, list) else sorted(grown.keys() & fresh.keys())
        for key in keys:
            if grown[key] != fresh[key]:
                return f"[{key}]{_difference(grown[key], fresh[key])}"
    return f" {str(grown)[:150]} instead of {str(fresh)[:150]}"


def _checkout(root: Path, commit: str) -> None:
    _git(root, "checkout", "-q", "-f", "--detach", commit)
    _git(root, "clean", "-qfdx", "-e", ".sage")


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True, text=True)
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
