"""Labelled questions from public repositories and their history: `python -m training.questions`.

For each repository of repositories.toml one commit of its main line is the snapshot that is searched. What later
commits say is asked of it (`questions_commits`), and so is what its own text gives (`questions_made`). Below DATA:

    <owner>+<name>.jsonl   {"repo", "language", "commit", "kind", "form", "text", "targets", "source", "held_out",
                            "recipe"}

and the snapshots as plain folders, without copies of other projects, in TREES/<owner>+<name>. A repository whose file
is there, by the same recipe, is done; one seed always gives the same questions.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path

from sage_code.discover.looks import is_generated, is_minified
from sage_code.languages.table import HEAD_BYTES, detect
from sage_code.parse.definitions import parse
from sage_code.values import Symbol
from training.extract import xorder
from training.questions_base import VENDORED, Question, Repository, Tree, git
from training.questions_commits import commit_questions
from training.questions_made import made_questions

# Raised when questions are made in another way: files of an older recipe are written anew.
RECIPE = 4
_LIST = Path(__file__).with_name("repositories.toml")
# As many commits as give enough questions after the idle ones are left out ...
_COMMITS_AFTER = 400
# ... but no older tree than this, unless a project is so quiet that it would give almost none.
_MAX_AGE_S = 2 * 365 * 86400
_LEAST_COMMITS = 150
_MAIN_LINE = 6000
MAX_TREE_FILES = 8000
_MAX_TEXT_BYTES = 400_000
# By the clock, so generous: on a busy machine the questions stay the same.
_BUDGET_S = 120.0


def repositories(path: Path, excluded: frozenset[str]) -> list[Repository]:
    """The repositories of the list; an excluded one ends the run."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["repository"]
    found = [Repository(one["name"], one["language"], one["licence"], one.get("held_out", False)) for one in entries]
    wrong = [one.name for one in found if one.name.lower() in excluded]
    if wrong:
        sys.exit(f"{path} names excluded projects: {', '.join(wrong)}")
    # In an order that mixes the languages, so that a part of a run is a sample of the whole.
    return sorted(found, key=lambda one: xorder(one.name))


def read_excluded(path: Path) -> frozenset[str]:
    """The names of the projects that must not be used, in lower case."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return frozenset(line.strip().lower() for line in lines if line.strip() and not line.startswith("#"))


def snapshot_of(repository: Path) -> str:
    """The commit of the main line that is searched: enough commits come after it, and it is not too old."""
    log = git(repository, "log", "--first-parent", f"-n{_MAIN_LINE}", "--format=%H %ct", "HEAD").split("\n")
    line = [(sha, int(when)) for sha, _, when in (entry.partition(" ") for entry in log) if sha]

    @cache
    def after(index: int) -> int:
        return int(git(repository, "rev-list", "--count", "--no-merges", f"{line[index][0]}..HEAD"))

    newest = line[0][1]
    aged = next((index for index, (_sha, when) in enumerate(line) if newest - when > _MAX_AGE_S), len(line) - 1)
    enough = _first(len(line), lambda index: after(index) >= _COMMITS_AFTER)
    least = _first(len(line), lambda index: after(index) >= _LEAST_COMMITS)
    return line[max(min(enough, aged), least)][0]


def _first(count: int, holds: Callable[[int], bool]) -> int:
    """The first index for which `holds`, which then holds for all that follow; the last index if there is none."""
    # From the near end in doubled steps: to count far back takes git seconds.
    low, high = 0, 1
    while high < count - 1 and not holds(high):
        low, high = high + 1, 2 * high
    high = min(high, count - 1)
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def check_out(repository: Path, commit: str, folder: Path, *, whole: bool = False) -> bool:
    """Write a commit's files into `folder`, unless `whole` without copies of other projects; False if there are too
    many."""
    entries = git(repository, "ls-tree", "-r", "-z", commit).split("\0")
    paths = [(head, path) for head, _, path in (entry.partition("\t") for entry in entries) if path]
    kept = [path for head, path in paths if head.startswith("100") and (whole or VENDORED.search(path) is None)]
    if len(kept) > MAX_TREE_FILES:
        return False
    if folder.exists():
        return True
    part = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as index:
        environment = {**os.environ, "GIT_INDEX_FILE": f"{index}/index"}
        command = ["git", "--git-dir", str(repository), "--work-tree", str(part)]
        subprocess.run([*command, "read-tree", commit], env=environment, check=True)
        # Not checked: a file that the mirror lacks is missing from the tree, and the others are there.
        subprocess.run(
            [*command, "checkout-index", "-f", "-q", "-z", "--stdin", f"--prefix={part}/"],
            env=environment,
            input="\0".join(kept).encode(),
            capture_output=True,
            check=False,
        )
    part.rename(folder)
    return True


def read_tree(folder: Path) -> Tree:
    """The text files of a folder, as Sage would read them."""
    texts: dict[str, str] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _MAX_TEXT_BYTES:
            continue
        data = path.read_bytes()
        name = path.relative_to(folder).as_posix()
        if b"\0" in data[:HEAD_BYTES] or detect(name, data[:HEAD_BYTES]) is None:
            continue
        text = data.decode("utf-8", "replace").replace("\r\n", "\n")
        if not is_minified(name, text) and not is_generated(text):
            texts[name] = text
    return Tree(texts)


def repository_questions(mirror: Path, snapshot: str, tree: Tree, seed: str) -> list[Question]:
    """All questions of one repository, at one snapshot."""

    @cache
    def symbols_of(path: str) -> tuple[Symbol, ...]:
        text = tree.texts.get(path, "")
        language = detect(path, text[:HEAD_BYTES].encode())
        parsed = parse(text.encode(), language, _BUDGET_S) if language is not None and text else None
        return parsed.symbols if parsed is not None else ()

    asked = commit_questions(mirror, snapshot, frozenset(tree.texts), symbols_of)
    return asked + made_questions(tree, symbols_of, seed)


def write_questions(path: Path, repository: Repository, commit: str, questions: list[Question]) -> None:
    """Write a repository's questions, all or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with part.open("w", encoding="utf-8") as out:
        for one in questions:
            line = {
                "repo": repository.folder,
                "language": repository.language,
                "commit": commit,
                **asdict(one),
                "held_out": repository.held_out,
                "recipe": RECIPE,
            }
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
    part.replace(path)


def is_done(path: Path) -> bool:
    """Whether a repository's questions are there and made by this recipe."""
    if not path.exists():
        return False
    with path.open(encoding="utf-8") as lines:
        first = lines.readline()
    return not first or json.loads(first).get("recipe") == RECIPE


def report(data: Path) -> str:
    """How many questions there are, by kind and by language, as a table."""
    counts: dict[str, Counter[str]] = {}
    kinds: Counter[str] = Counter()
    held: Counter[str] = Counter()
    repos: dict[str, set[str]] = {}
    spans: Counter[str] = Counter()
    for path in sorted(data.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            counts.setdefault(one["language"], Counter())[one["kind"]] += 1
            repos.setdefault(one["language"], set()).add(one["repo"])
            kinds[one["kind"]] += 1
            held[one["kind"]] += one["held_out"]
            spans[one["kind"]] += any(target["start"] for target in one["targets"])
    names = sorted(kinds)
    rows = [["language", "repos", *names, "all"]]
    for language, row in sorted(counts.items(), key=lambda item: -item[1].total()):
        rows.append([language, str(len(repos[language])), *(str(row[name]) for name in names), str(row.total())])
    total = str(sum(len(one) for one in repos.values()))
    rows.append(["all", total, *(str(kinds[name]) for name in names), str(kinds.total())])
    rows.append(["held out", "", *(str(held[name]) for name in names), str(held.total())])
    rows.append(["with a span", "", *(str(spans[name]) for name in names), str(spans.total())])
    return "\n".join("  ".join(cell.rjust(11) for cell in row) for row in rows)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", type=Path, required=True, help="bare repositories, OWNER+NAME/repo")
    parser.add_argument("--exclude", type=Path, required=True, help="projects that must not be used, a name a line")
    parser.add_argument("--data", type=Path, required=True, help="where the questions go")
    parser.add_argument("--trees", type=Path, help="where the snapshots go: DATA/../trees unless told")
    parser.add_argument("--list", type=Path, default=_LIST, help="of repositories")
    parser.add_argument("--limit", type=int, default=1 << 30, help="repositories in this run")
    parser.add_argument("--seed", default="sage")
    parser.add_argument("--report", action="store_true", help="only count what is there")
    arguments = parser.parse_args()
    data: Path = arguments.data
    trees: Path = arguments.trees or data.parent / "trees"
    done = 0
    for one in [] if arguments.report else repositories(arguments.list, read_excluded(arguments.exclude)):
        target = data / f"{one.folder}.jsonl"
        mirror = (arguments.mirror / one.folder / "repo").absolute()
        if is_done(target) or not mirror.exists() or done >= arguments.limit:
            continue
        began = time.monotonic()
        try:
            snapshot = snapshot_of(mirror)
            if not check_out(mirror, snapshot, (trees / one.folder).absolute()):
                sys.stdout.write(f"{one.name}: more than {MAX_TREE_FILES} files, left out\n")
                continue
            questions = repository_questions(
                mirror, snapshot, read_tree(trees / one.folder), f"{arguments.seed} {one.name}"
            )
        except subprocess.CalledProcessError as error:
            sys.stdout.write(f"{one.name}: {error}\n")
            continue
        write_questions(target, one, snapshot, questions)
        done += 1
        kinds = dict(sorted(Counter(question.kind for question in questions).items()))
        sys.stdout.write(f"{one.name} {len(questions)} in {time.monotonic() - began:.0f} s {json.dumps(kinds)}\n")
        sys.stdout.flush()
    sys.stdout.write(report(data) + "\n")


if __name__ == "__main__":
    main()
