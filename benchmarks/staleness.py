"""Does staleness recognise what happened to referenced code? On the history of real projects, with a neutral judge.

At an old commit, references to a sample of definitions are made the way a session makes them (`capture`, from the lines
that were read). The folder is then brought to a commit 200 commits later and the references are checked. Python's own
`ast` over both trees, independent of tree-sitter and Sage, says what really happened to each definition: its text is
compared, decorators and the comment directly above included, without trailing white space and shared indentation. For
other languages (`--judge git`, see `staleness_git.py`) the hunks of `git diff -M` say it.

    python benchmarks/staleness.py --repositories GIT_DIR ... [--judge ast|git] [--commits 200] [--windows 1] \\
        [--sample 1500] [--index] [--show N]
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import sys
import tempfile
import textwrap
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from measure import machine, table
from staleness_git import Repository, judge_by_git, sample_refs

from sage_code import Project
from sage_code.memory.code.capture import capture
from sage_code.memory.code.check import RefState, check
from sage_code.memory.files.code_ref import CodeRef
from sage_code.transcripts.code_context import FileInteraction, build_session_code_context

TARGET_FOLLOWED = 0.95
DEFINITIONS_A_SESSION = 10


class Defined(NamedTuple):
    """A definition, for the judge."""

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
    """The functions in a list of statements, with those of classes and branches."""
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
    """What happened to one definition, by the definitions of the new tree."""
    same = [other for other in named if other.text == one.text]
    if any(other.start == one.start for other in same):
        return Truth("unchanged")
    if same:
        return Truth("moved in its file", frozenset((other.file, other.start) for other in same))
    if named:
        return Truth("changed")
    # The text has moved only to locations that did not have it before.
    new = [other for other in by_text.get(one.text, ()) if (other.file, other.qualname) not in old_places[one.text]]
    if any((other.file, other.start) == (one.file, one.start) for other in new):
        return Truth("unchanged")  # only its scope has another name
    if new:
        return Truth("moved elsewhere", frozenset((other.file, other.start) for other in new))
    return Truth("gone")


def make_refs(folder: str, sample: list[Defined]) -> dict[Defined, CodeRef]:
    """References as a session makes them from what it reads, a few definitions of one file each."""
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
    parser.add_argument("--judge", choices=("ast", "git"), default="ast")
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
        for number in range(given.windows):
            after = repository.git("rev-parse", f"HEAD~{number * given.commits}").decode().strip()
            before = repository.git("rev-parse", f"{after}~{given.commits}").decode().strip()
            with tempfile.TemporaryDirectory() as folder:
                window = _by_git if given.judge == "git" else _by_ast
                right, total, unmade, shown = window(repository, before, after, folder, given)
            totals.update({("right", what): count for what, count in right.items()})
            totals.update({("total", what): count for what, count in total.items()})
            cells = [f"{right[what]} of {total[what]}" if total[what] else "–" for what in KINDS]
            rows.append((repository.name, f"{before[:8]}..{after[:8]}", sum(total.values()), unmade, *cells))
            print(rows[-1], file=sys.stderr, flush=True)  # a window takes minutes
            for line in shown[: given.show]:
                print(line)
    print(machine())
    print(table(("project", "commits", "references", "not judged", *KINDS), rows))
    moved = ("moved in its file", "moved elsewhere")
    right, total = (sum(totals[which, what] for what in moved) for which in ("right", "total"))
    print(f"moved and followed: {right} of {total} ({right / max(total, 1):.1%}, target {TARGET_FOLLOWED:.0%})")
    for what in ("changed", "gone", "unchanged"):
        right, total = totals["right", what], totals["total", what]
        told = "said to be so" if what == "unchanged" else "flagged"
        print(f"{what} and {told}: {right} of {total} ({right / max(total, 1):.1%}, target 100%)")


KINDS = ("unchanged", "moved in its file", "moved elsewhere", "changed", "gone")


Outcome = tuple[Counter, Counter, int, list[str]]


def _by_ast(repository: Repository, before: str, after: str, folder: str, given: argparse.Namespace) -> Outcome:
    old = list(definitions(_python(repository.write(before, folder))))
    sample = random.Random(given.seed).sample(old, min(given.sample, len(old)))
    refs = make_refs(folder, sample)
    truths = judge(old, list(definitions(_python(repository.write(after, folder)))))
    told = [truths[one.file, one.qualname, one.start] for one in refs]
    return _compared(repository.name, folder, list(refs.values()), told, len(sample) - len(refs), given)


def _by_git(repository: Repository, before: str, after: str, folder: str, given: argparse.Namespace) -> Outcome:
    changes = repository.changes(before, after)
    old = repository.write(before, folder)
    refs = sample_refs(folder, old, changes, given.sample, random.Random(given.seed))
    truths = judge_by_git(refs, old, repository.write(after, folder), changes)
    judged = [(ref, Truth(*truth)) for ref, truth in zip(refs, truths, strict=True) if truth is not None]
    return _compared(repository.name, folder, [ref for ref, _ in judged], [truth for _, truth in judged],
                     len(refs) - len(judged), given)  # fmt: skip


def _compared(
    name: str, folder: str, refs: list[CodeRef], truths: list[Truth], unmade: int, given: argparse.Namespace
) -> Outcome:
    """Check the references, and count the right verdicts by what really happened."""
    if given.index:
        os.environ["SAGE_HOME"] = os.path.join(folder, ".sage", "home")
        Project.open(folder).index()
    right, total, shown = Counter(), Counter(), []
    for ref, truth, found in zip(refs, truths, check(folder, refs), strict=True):
        total[truth.what] += 1
        is_right = _is_right(truth, found)
        right[truth.what] += is_right
        if not is_right:
            place = f"{found.now.file}:{found.now.lines} {found.now.symbol}" if found.now else "nowhere"
            said = f"{truth.what} {sorted(truth.places)}; Sage: {found.state} {place}"
            shown.append(f"{name} {ref.file}:{ref.lines} {ref.symbol}: {said}")
    return right, total, unmade, shown


def _python(texts: dict[str, str]) -> dict[str, str]:
    return {path: text for path, text in texts.items() if path.endswith(".py")}


if __name__ == "__main__":
    main()
