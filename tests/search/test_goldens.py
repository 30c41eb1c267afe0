"""Ranking is pinned: forty questions over `fixtures/`, one readable golden each, and their statistics.

A change of the ranking, the model or a fixture shows up as a diff. `make goldens` writes them again; read the diff.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sage_code import Project
from sage_code.search.evaluation import Label, PathRule, locations, read_labels, report, score
from sage_code.search.results import SearchResponse

HERE = Path(__file__).parent
FIXTURES = HERE.parents[1] / "fixtures"
GOLDENS = HERE / "goldens"
LABELS = read_labels(str(HERE / "queries.jsonl"))
PROJECTS = {"harbor": FIXTURES / "search" / "harbor", "languages": FIXTURES / "languages"}
WRITE = bool(os.environ.get("WRITE_GOLDENS"))
TOP = 3


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory, shared_home: Path) -> Iterator[dict[str, Project]]:
    """The fixtures, copied and indexed with the default model."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAGE_HOME", str(shared_home))
        indexed = {}
        for name, folder in PROJECTS.items():
            root = tmp_path_factory.mktemp(name) / name
            shutil.copytree(folder, root)
            indexed[name] = Project(str(root))
            indexed[name].index()
        yield indexed


def _slug(number: int, label: Label) -> str:
    words = re.findall(r"[a-z0-9]+", label.query.lower())
    return f"{number:02d}-{'-'.join(words)[:48].strip('-')}"


NUMBERED = {_slug(number, label): label for number, label in enumerate(LABELS, 1)}


def _ask(projects: dict[str, Project], label: Label) -> SearchResponse:
    return projects[label.repo].search(label.query, refresh=False)


def _golden(label: Label, response: SearchResponse) -> str:
    lines = [f"# {label.repo}, {label.category}: {' '.join(expected.path for expected in label.expected)}"]
    lines += [f"? {line}" for line in label.query.split("\n")]
    if not response.good:
        lines.append("no good match; nearest:")
    for hit in response.results[:TOP]:
        right = score(label, locations([replace(hit, rank=1)]), PathRule()).ranks
        lines.append(f"{'*' if right else ' '} {hit.file}:{hit.start_line}  {hit.kind} {hit.qualname}".rstrip())
    return "\n".join(lines) + "\n"


def _check(path: Path, text: str) -> None:
    if WRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} is another now; if that is better: make goldens"


@pytest.mark.parametrize("name", NUMBERED)
def test_the_top_three(projects: dict[str, Project], name: str) -> None:
    label = NUMBERED[name]
    _check(GOLDENS / f"{name}.txt", _golden(label, _ask(projects, label)))


def test_statistics(projects: dict[str, Project]) -> None:
    scores = [score(label, locations(_ask(projects, label).results), PathRule()) for label in LABELS]
    lines = [f"{'':12} questions  recall@1  recall@5    MRR  NDCG@10"]
    parts = {"all": scores}
    for one in scores:
        parts.setdefault(one.label.category, []).append(one)
    for name, part in parts.items():
        found = report(part)
        figures = f"{found.hit['1']:9.3f} {found.hit['5']:9.3f} {found.mrr:6.3f} {found.ndcg_micro:8.3f}"
        lines.append(f"{name:12} {len(part):9} {figures}")
    _check(HERE / "statistics.txt", "\n".join(lines) + "\n")


def test_every_golden_has_its_question() -> None:
    assert len(NUMBERED) == len(LABELS) == 40
    assert {path.stem for path in GOLDENS.iterdir()} == NUMBERED.keys()
