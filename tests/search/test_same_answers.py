"""The same tree gives the same answers, score for score, however its index came about."""

from __future__ import annotations

import math
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from sage_code import Project
from sage_code.compiled import generation
from sage_code.compiled.published import current
from sage_code.search import dense

FIXTURES = Path(__file__).parents[2] / "fixtures"
HARBOR = FIXTURES / "search" / "harbor"
QUESTIONS = (
    "how are retries backed off", "queue refuses jobs", "worker", "parsing the settings file", "Queue",
    "where is the log", "run a job", "config.load", "harbor/queue", "timeout while waiting for the lock",
)  # fmt: skip


def _answers(root: Path) -> dict[str, Any]:
    project = Project(str(root))
    found: dict[str, Any] = {}
    for question in QUESTIONS * 2:  # the first is answered in another way than those that follow
        response = project.search(question, refresh=False, explain=True)
        found[question] = (response.good, response.truncated, [asdict(hit) for hit in response.results])
    symbols = project.grep("", prefix=True)
    for name in sorted({symbol["name"] for symbol in symbols})[::5]:
        for relation in ("references", "callers"):
            related = project.related(name, relation, depth=2, seconds=math.inf)
            found[f"{relation} {name}"] = [asdict(use) for use in related.uses]
    for symbol in symbols[::9]:
        place = (symbol["file"], symbol["line"])
        found[f"similar {place}"] = [asdict(one) for one in project.similar(*place)]
    found["duplicates"] = [asdict(one) for one in project.duplicates()]
    found["map"] = asdict(project.map(max_tokens=4096))
    found["symbols"] = symbols
    return found


def _grow(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of the fixture with a past: other files, other texts, names and places, several segments."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and ".sage" not in path.parts)
    texts = {path: path.read_text() for path in files}
    project = Project(str(root))
    noise = sorted((FIXTURES / "languages").rglob("*.*"))[:30]
    for number, path in enumerate(noise):
        shutil.copy(path, root / f"noise_{number}{path.suffix}")
    for path in files[::2]:
        path.write_text(texts[path].replace("e", "a"))
    project.index()
    monkeypatch.setattr(generation, "_SEGMENT_CHUNKS", 4)
    monkeypatch.setattr(generation, "_MERGED_CHUNKS", 8)
    for path in files[1::3]:
        path.rename(path.with_name(f"moved_{path.name}"))
    project.index()
    for path in files[1::3]:
        path.with_name(f"moved_{path.name}").rename(path)
    for path in root.glob("noise_*"):
        path.unlink()
    project.index()
    for path in files[::-1]:
        path.write_text(texts[path])
        if path in files[::4]:
            project.index()
    project.index()
    monkeypatch.undo()


@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
def test_an_index_with_a_past_answers_as_a_fresh_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    grown, fresh = (shutil.copytree(HARBOR, tmp_path / name / "harbor") for name in ("grown", "fresh"))
    with pytest.MonkeyPatch.context() as patch:
        _grow(grown, patch)
    Project(str(fresh)).index()
    before, after = current(str(grown)), current(str(fresh))
    assert before is not None
    assert after is not None
    assert len(before.segments) > 1
    assert any(ref.dead for ref in before.segments)
    assert len(after.segments) == 1
    if large:  # the way of a project with more chunks than are compared one by one
        monkeypatch.setattr(dense, "_MAX_EXACT", 0)
        monkeypatch.setattr(dense, "_SHORTLIST", 40)
        monkeypatch.setattr(dense, "_SAMPLE", 16)
        monkeypatch.setattr(dense, "_EVERY", 2)
    expected, found = _answers(fresh), _answers(grown)
    for what, answer in expected.items():
        assert found[what] == answer, what
