"""Asks the questions that people have labelled and keeps their candidates: `python -m training.rank_sets --help`.

    labelled   questions with their files: of the labelled folders, of whole trees, and with all paths hidden
    reports    bug reports, each asked of its project as it was when it was reported
    web        CoSQA's development questions, over its functions, one a file

Repositories are read from bare clones, MIRROR/OWNER+NAME/repo. Trees, indexes and DATA/gathered/*.npz are written
below DATA, which also is Sage's home meanwhile. `training/rank.py` learns from the files.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from sage_code import Project
from training.questions import check_out
from training.questions_base import git
from training.rank_gather import foreign, gather

_COSQA = "Jun-jie-Huang/CoCLR"
_COSQA_DEV, _COSQA_CODE = "data/search/cosqa-retrieval-dev-500.json", "data/search/code_idx_map.txt"
# Questions about other projects that each project is asked, so that refusals can be calibrated.
_FOREIGN = 4


def repository(mirror: Path, name: str) -> Path:
    """The bare clone of OWNER/NAME."""
    return (mirror / name.replace("/", "+") / "repo").absolute()


def question(
    repo: str, root: str, kind: str, text: str, targets: list[dict[str, Any]], language: str
) -> dict[str, Any]:
    """A question as `rank_gather.py` reads it."""
    fields = {"repo": repo, "root": root, "language": language, "kind": kind, "text": text}
    return {**fields, "targets": targets, "held_out": False}


def labelled(data: Path, mirror: Path, labels: Path, repos: Path) -> None:
    """Gather the labelled questions in three ways."""
    known = {one["name"]: one for one in json.loads(repos.read_text())}
    for one in known.values():
        for way in ("folders", "whole"):
            tree = data / way / one["name"]
            check_out(repository(mirror, one["repository"]), one["commit"], tree, whole=True)
            Project(str(tree / (one["benchmark_root"] if way == "folders" else ""))).index()
    asked: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in labels.read_text().splitlines():
        label = json.loads(line)
        below = known[label["repo"]]["benchmark_root"]
        for way, folder in (("folders", below), ("whole", "")):
            targets = [
                {"path": os.path.relpath(one["repo_path"], folder or "."), "start": one.get("start_line")}
                | {"end": one.get("end_line")}
                for one in (*label["relevant"], *label["secondary"])
            ]
            inside = [one for one in targets if not one["path"].startswith("..")]
            root, kind = os.path.join(way, label["repo"], folder), f"labelled {label['category']}"
            asked[way].append(question(label["repo"], root, kind, label["query"], inside, label["language"]))
    folders = asked["folders"]
    save(data, "dev", gather(folders + foreign(folders, _FOREIGN), data))
    save(data, "whole", gather(asked["whole"], data))
    save(data, "blind", gather(folders, data, blind=True))


def reports(data: Path, mirror: Path, labels: Path) -> None:
    """Gather bug reports, the oldest of each project first, so that little has to be indexed again."""
    by_project: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in labels.read_text().splitlines():
        report = json.loads(line)
        by_project[report["repository"]].append(report)
    for name, own in by_project.items():
        bare, folder = repository(mirror, name), name.replace("/", "+")
        tree = data / "reports" / folder
        tree.mkdir(parents=True, exist_ok=True)
        paths = {"GIT_DIR": str(bare), "GIT_WORK_TREE": str(tree), "GIT_INDEX_FILE": f"{tree}.index"}
        parts = []
        for report in sorted(own, key=lambda one: int(git(bare, "log", "-1", "--format=%ct", one["commit"]))):
            command = ["git", "read-tree", "--reset", "-u", report["commit"]]
            subprocess.run(command, cwd=tree, env=os.environ | paths, check=True)
            Project(str(tree)).index()
            targets = [{"path": path, "start": None, "end": None} for path in report["targets"]]
            asked = question(folder, f"reports/{folder}", "report real", report["report"], targets, "python")
            parts.append(gather([asked], data))
        joined = {key: np.concatenate([part[key] for part in parts]) for key in parts[0] if key != "names"}
        save(data, f"report_{folder}", {**joined, "names": parts[0]["names"]})


def web(data: Path, mirror: Path) -> None:
    """Gather CoSQA's development questions; its test questions are not read."""
    bare = repository(mirror, _COSQA)
    tree = data / "cosqa"
    tree.mkdir(parents=True, exist_ok=True)
    for code, number in json.loads(git(bare, "show", f"HEAD:{_COSQA_CODE}")).items():
        (tree / f"f{number:05d}.py").write_text(code + "\n")
    Project(str(tree)).index()
    asked = []
    for one in json.loads(git(bare, "show", f"HEAD:{_COSQA_DEV}")):
        target = {"path": f"f{one['retrieval_idx']:05d}.py", "start": None, "end": None}
        asked.append(question("cosqa", "cosqa", "web", one["doc"], [target], "python"))
    save(data, "cosqa", gather(asked, data))


def save(data: Path, name: str, gathered: dict[str, Any]) -> None:
    """Write what was gathered."""
    (data / "gathered").mkdir(exist_ok=True)
    np.savez(data / "gathered" / f"{name}.npz", **gathered)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("which", choices=("labelled", "reports", "web"))
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--mirror", type=Path, required=True, help="bare repositories, OWNER+NAME/repo")
    parser.add_argument("--labels", type=Path, help="the questions, JSON lines; not for `web`")
    parser.add_argument("--repos", type=Path, help="the repositories of labelled questions, JSON")
    given = parser.parse_args()
    os.environ["SAGE_HOME"] = str(given.data.absolute() / "home")
    if given.which == "web":
        web(given.data, given.mirror)
    elif given.labels is None or (given.which == "labelled" and given.repos is None):
        parser.error("--labels is needed, and for `labelled` --repos too")
    elif given.which == "labelled":
        labelled(given.data, given.mirror, given.labels, given.repos)
    else:
        reports(given.data, given.mirror, given.labels)


if __name__ == "__main__":
    main()
