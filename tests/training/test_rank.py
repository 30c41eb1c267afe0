"""From labelled questions to a ranking: gathered from real indexes, learned in miniature, run by NumPy as by torch."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from sage_code.search.features import NAMES
from sage_code.search.ranking import from_json
from training import rank, rank_sets

TOP = Path(__file__).parents[2]
HARBOR = TOP / "fixtures" / "search" / "harbor"
UNSET = {"signs": {}, "offset": 0.0, "line": 0.0}


def git(folder: Path, *arguments: str) -> str:
    """One git command in the made repository."""
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for what is gathered, with Sage's home in it."""
    monkeypatch.setenv("SAGE_HOME", str(tmp_path / "data" / "home"))
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


@pytest.fixture
def mirror(tmp_path: Path) -> tuple[Path, str]:
    """A mirror with the repository me/harbor, and its commit."""
    work = tmp_path / "work"
    shutil.copytree(HARBOR, work)
    git(work, "init", "-q", "-b", "main")
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "Begin")
    bare = tmp_path / "mirror" / "me+harbor" / "repo"
    git(work, "clone", "-q", "--bare", ".", str(bare))
    return tmp_path / "mirror", git(work, "rev-parse", "HEAD")


def test_labelled_questions_teach_a_ranking(
    mirror: tuple[Path, str], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, commit = mirror
    names = ("harbor", "port")  # two repositories, so that each can be ranked by what the other taught
    repos = [
        {"name": name, "repository": "me/harbor", "commit": commit, "benchmark_root": below}
        for name, below in zip(names, ("src", ""), strict=True)
    ]
    (tmp_path / "repos.json").write_text(json.dumps(repos))
    lines = []
    for line in (TOP / "tests" / "search" / "queries.jsonl").read_text().splitlines():
        label = json.loads(line)
        files = [path for path in label["relevant"] if isinstance(path, str) and path.startswith("src/")]
        if label["repo"] == "harbor" and files:
            found = [{"path": path, "repo_path": path} for path in files]
            own = {"language": "python", "category": "semantic", "relevant": found, "secondary": []}
            lines += [json.dumps({"repo": name, "query": label["query"], **own}) for name in names]
    (tmp_path / "labels.jsonl").write_text("\n".join(lines))
    rank_sets.labelled(data, folder, tmp_path / "labels.jsonl", tmp_path / "repos.json")

    # Here other threads run, beside which a process must not be forked.
    monkeypatch.setattr(rank, "in_processes", lambda work, count: map(work, range(count)))
    for name, value in (("_SHOWN", 1500), ("SEEDS", 1), ("UNITS", 4), ("_FOLDS", 2), ("_LEAST_EPOCHS", 1)):
        monkeypatch.setattr(rank, name, value)
    sets = [rank.load(data / "gathered" / f"{name}.npz") for name in ("dev", "whole", "blind")]
    assert all(question["targets"] or question["kind"].startswith("foreign") for question in sets[0].asked)
    assert not sets[2].matrix[:, NAMES.index("stem_cover")].any()  # paths are hidden
    scores = rank.cross_validated(sets, rank.hide(frozenset()))
    judged = rank.judge(sets[0], scores[0])
    assert len(judged) == len(lines)
    assert np.mean([row["10"] for row in judged]) > 0.9
    net = rank.fit(sets, lambda _: True, rank.hide(frozenset()))
    calibration = {"none": 0.0, "slope": 0.0, "offset": 0.0, "by_meaning": UNSET, "by_words": UNSET}
    shipped = from_json({"network": rank.packed(net), "calibration": calibration})
    assert np.allclose(shipped.scores(sets[0].matrix), net.scores(sets[0].matrix), atol=0.05)


def test_a_report_is_asked_of_the_state_that_it_is_about(mirror: tuple[Path, str], data: Path, tmp_path: Path) -> None:
    folder, commit = mirror
    report = {"repository": "me/harbor", "commit": commit, "targets": ["src/harbor/retry.py"], "id": "1"}
    (tmp_path / "reports.jsonl").write_text(json.dumps({**report, "report": "Retries never back off\n\nThey go on."}))
    rank_sets.reports(data, folder, tmp_path / "reports.jsonl")
    found = rank.load(data / "gathered" / "report_me+harbor.npz")
    assert [question["reached"] for question in found.asked] == [1]
    assert rank.weight_of(found.asked[0]) > rank.weight_of({"kind": "name"})
