"""Two indexers and four readers on one project that is being edited, all at once, for a while.

    python benchmarks/concurrency.py --seconds 60

Every file of the made-up project names its revision in a function, a class and a constant, which are in three compiled
files: a reader that sees two revisions has seen half of an index. At the end no row of the store may be double and
`sage admin verify` must be clean. Ends with 1 when a promise was broken.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import made_up
from measure import table
from proving import Violation, command, demand, expected, own_home, published, sage

from sage_code.compiled.lookup import open_symbols
from sage_code.errors import SageError

_ROLES = ("indexer", "indexer", "symbols", "symbols", "segments", "grep")
_TABLES_WITH_REVISION = 3
_EDIT_EVERY_S = 0.1
_NUMBER = re.compile(r"\d+")


def _one_revision(symbols: Iterable[dict[str, str]]) -> int:
    """The number of files, each with one revision in all three tables."""
    revisions: dict[str, list[str]] = defaultdict(list)
    for symbol in symbols:
        revisions[symbol["file"]].append(_NUMBER.findall(symbol["name"])[0])
    for file, numbers in revisions.items():
        demand(len(numbers) == _TABLES_WITH_REVISION and len(set(numbers)) == 1, f"{file} has revisions {numbers}")
    demand(revisions, "an index without files")
    return len(revisions)


def _index(root: Path) -> None:
    from sage_code import Project

    stats = Project.open(root).index()
    demand(stats.files_indexed + stats.files_unchanged > 0, "a run that found nothing")


def _read_symbols(root: Path) -> None:
    files = open_symbols(str(root))
    seen = _one_revision(files.find("revision", prefix=True, ignore_case=True))
    demand(files.counts()["functions"] > seen, "a symbol file was cut short")


def _read_segments(root: Path) -> None:
    state = published(root)
    assert state is not None
    symbols = [json.loads(line.rstrip(b",")) for data in state.symbols.values() for line in data.splitlines()[1:-1]]
    files = _one_revision(symbol for symbol in symbols if symbol["name"].lower().startswith("revision"))
    demand({symbol["file"] for symbol in symbols} == state.keys.keys(), "segments and symbol files name other files")
    demand(files == len(state.keys), "a file without a revision")


def _grep(root: Path) -> None:
    """The last index, whole; then the files as they are, of which it may be said that they have changed."""
    grep = ("grep", "revision", "-p", "-i", "--limit", "0", "--path", root)
    _one_revision(sage(*grep, "--no-refresh")["matches"])
    answer = sage(*grep, ok=(0, 1))
    demand(answer["matches"] or answer.get("note"), "a grep that found nothing and did not say why")


_WORK: dict[str, Callable[[Path], None]] = {
    "indexer": _index, "symbols": _read_symbols, "segments": _read_segments, "grep": _grep,
}  # fmt: skip


def play(role: str, root: Path, seconds: float) -> int:
    """What a child does: its work again and again, then it prints how often."""
    times, until = 0, float("inf")
    while time.monotonic() < until:
        try:
            _WORK[role](root)
        except (Violation, SageError, OSError) as error:
            print(json.dumps({"role": role, "times": times, "error": f"{type(error).__name__}: {error}"}))
            return 1
        times += 1
        if times == 1:  # everything is imported: now the time counts
            until = time.monotonic() + seconds
    print(json.dumps({"role": role, "times": times, "error": ""}))
    return 0


def prove(folder: Path, seconds: float, files: int, seed: int) -> list[dict[str, object]]:
    """Run everything at once and check the result; returns the report of each child."""
    project = made_up.Project(folder / "project", Random(seed), files, definitions=8)
    _index(project.root)
    script = [sys.executable, __file__, "--root", str(project.root), "--seconds", str(seconds), "--role"]
    children = [subprocess.Popen([*script, role], stdout=subprocess.PIPE, text=True) for role in _ROLES]
    edits = 0
    while any(child.poll() is None for child in children):
        project.edit(most=2)
        edits += 1
        time.sleep(_EDIT_EVERY_S)
    reports = [json.loads(child.communicate()[0].splitlines()[-1]) for child in children]
    reports.append({"role": "editor", "times": edits, "error": ""})
    _index(project.root)
    check_store(project.root)
    return reports


def prove_twins(folder: Path, files: int, seed: int) -> dict[str, object]:
    """Index two projects with the same files at once: they share every row."""
    roots = [made_up.Project(folder / name, Random(seed), files, definitions=8).root for name in ("one", "two")]
    children = [subprocess.Popen(command("index", root), stdout=subprocess.DEVNULL) for root in roots]
    demand([child.wait() for child in children] == [0, 0], "both runs succeed")
    rows = check_store(*roots)
    texts = {digest for hashes in expected(roots[0]).hashes.values() for digest in hashes}
    demand(rows == len(texts), f"{rows} rows for two projects with the same {len(texts)} texts")
    return {"role": "two equal projects at once", "times": 1, "error": ""}


def check_store(*roots: Path) -> int:
    """Check that each index matches its files and nothing is stored twice; returns the number of texts."""
    from sage_code.embed import default_embedder
    from sage_code.index.upkeep import verify_project  # lazy, like `_index`: most children can do without LanceDB
    from sage_code.settings.loading import Settings
    from sage_code.store.lance import Store, store_uri

    embedder = default_embedder()
    store = Store(store_uri(""), embedder.name, embedder.dim)
    checked = store.check()
    demand(not checked.bad_files, f"{len(checked.bad_files)} files are doubled or made of bad texts")
    demand(not checked.bad_texts, f"{len(checked.bad_texts)} texts are doubled or have broken vectors")
    for root in roots:
        new = expected(root)
        demand(published(root) == new, f"the index of {root} is that of its files")
        wrong = [path for path, key in new.keys.items() if checked.texts.get(key) != new.chunks[path]]
        demand(not wrong, f"{wrong} lack texts")
        demand(verify_project(str(root), Settings(), mend=False).clean, "verify is clean")
    return store.count()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="for how long (default: 60)")
    parser.add_argument("--files", type=int, default=150, help="files of the project (default: 150)")
    parser.add_argument("--seed", type=int, default=1, help="names the project and its edits (default: 1)")
    parser.add_argument("--role", choices=_WORK, help=argparse.SUPPRESS)
    parser.add_argument("--root", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.role:
        return play(given.role, given.root, given.seconds)
    with own_home() as folder:
        try:
            reports = [prove_twins(folder, given.files, given.seed)]
            reports += prove(folder, given.seconds, given.files, given.seed)
        except Violation as violation:
            print(f"broken (seed {given.seed}): {violation}")
            return 1
    print(table(["process", "times", "error"], [list(report.values()) for report in reports]))
    return int(any(report["error"] for report in reports))


if __name__ == "__main__":
    sys.exit(main())
