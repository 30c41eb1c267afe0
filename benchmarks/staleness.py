"""Do references know what has become of their code? On the real history of real projects, judged by somebody else.

At an old commit, references to a sample of definitions are made the way a session makes them (`capture`, from the lines
that were read). The folder is then brought to a commit 200 commits later and the references are checked. What really
happened to each definition is said by Python's own `ast` over both trees (it knows nothing of tree-sitter or of Sage):
its text is compared, decorators and the comment directly above included, without trailing white space and shared
indentation. `git diff -M` says which files were renamed.

    python benchmarks/staleness.py --repositories GIT_DIR ... [--commits 200] [--windows 1] [--sample 1500] [--index]
"""

from __future__ import annotations

import argparse
import ast
import io
import os
import random
import subprocess
import tarfile
import tempfile
import textwrap
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from measure import machine, table

from sage_code import Project
from sage_code.coderefs.capture import capture
from sage_code.coderefs.check import RefState, check
from sage_code.coderefs.ref import CodeRef
from sage_code.transcripts.context import FileInteraction, build_session_code_context

TARGET_FOLLOWED = 0.95
DEFINITIONS_A_SESSION = 10


class Defined(NamedTuple):
    """A definition as the judge sees it."""

    file: str
    qualname: str
    start: int
    end: int
    text: str
    tree: str  # the syntax tree, without places


class Truth(NamedTuple):
    """What happened to a definition."""

    what: str  # unchanged | moved in its file | moved elsewhere | changed | gone
    places: frozenset[tuple[str, int]] = frozenset()


def definitions(files: dict[str, str]) -> Iterator[Defined]:
    """Functions, methods and classes without methods of every Python file, by `ast`."""
    for file, text in files.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        lines = text.split("\n")
        yield from _inside(file, lines, tree.body, "")


def _inside(file: str, lines: list[str], body: list[ast.stmt], scope: str) -> Iterator[Defined]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield _defined(file, lines, node, scope)
        elif isinstance(node, ast.ClassDef):
            yield from _inside(file, lines, node.body, f"{scope}{node.name}.")
        else:
            for name in ("body", "orelse", "finalbody"):
                yield from _inside(file, lines, getattr(node, name, []), scope)
            for handler in getattr(node, "handlers", []):
                yield from _inside(file, lines, handler.body, scope)


def _defined(file: str, lines: list[str], node: ast.FunctionDef | ast.AsyncFunctionDef, scope: str) -> Defined:
    start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    while start > 1 and lines[start - 2].strip().startswith("#") and not lines[start - 2].startswith("#!"):
        start -= 1
    end = node.end_lineno or node.lineno
    text = textwrap.dedent("\n".join(line.rstrip() for line in lines[start - 1 : end])).strip("\n")
    return Defined(file, scope + node.name, start, end, text, ast.dump(node))


def judge(before: list[Defined], after: list[Defined]) -> dict[tuple[str, str, int], Truth]:
    """What happened to each definition of the old tree."""
    by_name, by_text = defaultdict(list), defaultdict(list)
    for one in after:
        by_name[one.file, one.qualname].append(one)
        by_text[one.text].append(one)
    old_places = defaultdict(set)
    for one in before:
        old_places[one.text].add((one.file, one.qualname))
    return {
        (one.file, one.qualname, one.start): _truth(one, by_name[one.file, one.qualname], by_text, old_places)
        for one in before
    }


def _truth(one: Defined, named: list[Defined], by_text: dict, old_places: dict) -> Truth:
    same = [other for other in named if other.text == one.text]
    if any(other.start == one.start for other in same):
        return Truth("unchanged")
    if same:
        return Truth("moved in its file", frozenset((other.file, other.start) for other in same))
    if named:
        return Truth("changed")
    # Only a place where this text did not stand before is one that it has gone to.
    new = [other for other in by_text.get(one.text, ()) if (other.file, other.qualname) not in old_places[one.text]]
    if new:
        return Truth("moved elsewhere", frozenset((other.file, other.start) for other in new))
    return Truth("gone")


class Repository:
    """A bare repository whose trees are written into a folder."""

    def __init__(self, git_dir: str) -> None:
        self.git_dir = os.path.join(git_dir, "repo") if os.path.isdir(os.path.join(git_dir, "repo")) else git_dir
        self.name = os.path.basename(git_dir.rstrip("/")).rpartition("+")[2]

    def git(self, *words: str) -> bytes:
        """What a git command prints."""
        return subprocess.run(["git", f"--git-dir={self.git_dir}", *words], capture_output=True, check=True).stdout

    def write(self, commit: str, folder: str) -> dict[str, str]:
        """Make `folder` hold the tree of `commit`; returns the text of its Python files."""
        keep = os.path.join(folder, ".sage")
        for name in os.listdir(folder):
            path = os.path.join(folder, name)
            if path != keep:
                subprocess.run(["rm", "-rf", path], check=True)
        with tarfile.open(fileobj=io.BytesIO(self.git("archive", commit))) as archive:
            archive.extractall(folder, filter="data")
        texts = {}
        for base, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(base, name)
                if name.endswith(".py") and not os.path.islink(path):
                    with open(path, encoding="utf-8", errors="replace", newline=None) as file:
                        texts[os.path.relpath(path, folder)] = file.read()
        return texts

    def renames(self, before: str, after: str) -> dict[str, str]:
        """Files that git itself takes for renamed."""
        found = {}
        for line in self.git("diff", "-M", "--name-status", before, after).decode(errors="replace").splitlines():
            status, _, paths = line.partition("\t")
            if status.startswith("R"):
                old, _, new = paths.partition("\t")
                found[old] = new
        return found


def make_refs(folder: str, sample: list[Defined]) -> dict[Defined, CodeRef]:
    """References made from what sessions read, a few definitions of one file in each."""
    refs, by_file = {}, defaultdict(list)
    for one in sample:
        by_file[one.file].append(one)
    for file, defined in by_file.items():
        for first in range(0, len(defined), DEFINITIONS_A_SESSION):
            read = defined[first : first + DEFINITIONS_A_SESSION]
            path = os.path.join(folder, file)
            context = build_session_code_context(
                FileInteraction(path, "read", "", (one.start, one.end)) for one in read
            )
            made = {(ref.symbol, ref.lines): ref for ref in capture(folder, context)}
            refs |= {one: made[key] for one in read if (key := (one.qualname, (one.start, one.end))) in made}
    return refs


def _is_right(truth: Truth, found: RefState) -> bool:
    if truth.what == "unchanged":
        return found.state == "unchanged"
    if truth.what.startswith("moved"):
        place = found.now and found.now.lines and (found.now.file, found.now.lines[0])
        return found.state == "moved" and place in truth.places
    return found.is_stale


def main() -> None:
    """Run every window of every repository, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repositories", nargs="+", required=True)
    parser.add_argument("--commits", type=int, default=200)
    parser.add_argument("--windows", type=int, default=1)
    parser.add_argument("--sample", type=int, default=1500)
    parser.add_argument("--index", action="store_true", help="index the new tree first, as a user would have")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", type=int, default=0, help="print so many wrong answers")
    given = parser.parse_args()
    rows, totals = [], Counter()
    for git_dir in given.repositories:
        repository = Repository(git_dir)
        for window in range(given.windows):
            after = repository.git("rev-parse", f"HEAD~{window * given.commits}").decode().strip()
            before = repository.git("rev-parse", f"{after}~{given.commits}").decode().strip()
            with tempfile.TemporaryDirectory() as folder:
                right, total, unmade, shown = _window(repository, before, after, folder, given)
            totals.update({("right", what): count for what, count in right.items()})
            totals.update({("total", what): count for what, count in total.items()})
            cells = [f"{right[what]} of {total[what]}" if total[what] else "–" for what in KINDS]
            rows.append((repository.name, f"{before[:8]}..{after[:8]}", sum(total.values()), unmade, *cells))
            print(rows[-1], flush=True)
            for line in shown[: given.show]:
                print(line)
    print(machine())
    print(table(("project", "commits", "references", "not made", *KINDS), rows))
    moved = ("moved in its file", "moved elsewhere")
    right, total = (sum(totals[which, what] for what in moved) for which in ("right", "total"))
    print(f"moved and followed: {right} of {total} ({right / max(total, 1):.1%}, target {TARGET_FOLLOWED:.0%})")
    for what in ("changed", "gone", "unchanged"):
        right, total = totals["right", what], totals["total", what]
        told = "said to be so" if what == "unchanged" else "flagged"
        print(f"{what} and {told}: {right} of {total} ({right / max(total, 1):.1%}, target 100%)")


KINDS = ("unchanged", "moved in its file", "moved elsewhere", "changed", "gone")


def _window(
    repository: Repository, before: str, after: str, folder: str, given: argparse.Namespace
) -> tuple[Counter, Counter, int, list[str]]:
    old = list(definitions(repository.write(before, folder)))
    sample = random.Random(given.seed).sample(old, min(given.sample, len(old)))
    refs = make_refs(folder, sample)
    new = list(definitions(repository.write(after, folder)))
    truths = judge(old, new)
    if given.index:
        os.environ["SAGE_HOME"] = os.path.join(folder, ".sage", "home")
        Project.open(folder).index()
    states = check(folder, refs.values())
    renames = repository.renames(before, after)
    right, total, shown = Counter(), Counter(), []
    for one, found in zip(refs, states, strict=True):
        truth = truths[one.file, one.qualname, one.start]
        total[truth.what] += 1
        is_right = _is_right(truth, found)
        right[truth.what] += is_right
        if not is_right:
            place = f"{found.now.file}:{found.now.lines} {found.now.symbol}" if found.now else "nowhere"
            git = f", git: renamed to {renames[one.file]}" if one.file in renames else ""
            places = sorted(truth.places)
            shown.append(
                f"{repository.name} {one.file}:{one.start} {one.qualname}: {truth.what} {places}{git}; "
                f"Sage: {found.state} {place}"
            )
    return right, total, len(sample) - len(refs), shown


if __name__ == "__main__":
    main()
