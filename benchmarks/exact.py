"""Does `sage search --exact` and `--regex` find what ripgrep finds, and how fast?

    python benchmarks/exact.py FOLDER ... [--literals 200] [--patterns 50] [--timed 12]

Each folder is indexed in SAGE_HOME unless it is already. Random pieces of its indexed files (names, messages,
operators, foreign letters, pieces with spaces) and patterns made of its words are searched for by both. The lines are
compared on the indexed files; a difference is explained by the file (not UTF-8, line ends with carriage returns, marks
beside letters) or it is unexplained. Then some of the questions are timed: `rg` and `sage` as whole processes in turns,
by the clock and by processor time (`rg` uses all cores), and Sage in this process. Needs `rg` in the path.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
import time
import unicodedata
from collections import Counter
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import machine, table, verdict, wall_and_cpu
from sage_code import Project
from sage_code.index.manifest import load_manifest
from sage_code.search.exact.finding import Asked, Finder

COLD_LIMIT, WARM_LIMIT = 3.0, 1.0
_SAGE = str(Path(sys.executable).with_name("sage"))
_RG = shutil.which("rg") or "rg"
_SAMPLED_FILES = 400
Lines = set[tuple[str, int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--literals", type=int, default=200)
    parser.add_argument("--patterns", type=int, default=50)
    parser.add_argument("--timed", type=int, default=12)
    given = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    print(machine(), flush=True)
    rows, times = [], []
    for folder in given.folders:
        project = Project.open(folder)
        if load_manifest(project.root) is None:
            project.index()
        dice = random.Random(0)
        questions = literals(project.root, dice, given.literals) + patterns(project.root, dice, given.patterns)
        rows.append([os.path.basename(project.root), *compared(project, questions)])
        print(rows[-1], flush=True)
        timed = dice.sample(questions, min(given.timed, len(questions)))
        times += [[os.path.basename(project.root), *row] for row in timings(project, timed)]
        print(times[-2:], flush=True)
    head = ["project", "files", "questions", "lines", "same", "explained", "unexplained"]
    print(table(head, rows))
    head = [
        "project",
        "questions",
        "rg, ms",
        "cold, ms",
        "cold / rg",
        "warm, ms",
        "warm / rg",
        "cold / rg, CPU",
        "CPU: cold, rg, bare Python, ms",
    ]
    print(table(head, times))


def literals(root: str, dice: random.Random, count: int) -> list[tuple[str, bool]]:
    """Pieces of the project's text, as many of each sort."""
    text = _sample(root, dice)
    sorts = [
        re.findall(r"[A-Za-z_]\w{3,40}", text),
        re.findall(r"[\"']([^\"'\n\\]{8,60})[\"']", text),
        re.findall(r"[^\w\s]{2,8}", text),
        re.findall(r"\S*[^\x00-\x7f]+\S*", text) or ["é"],
        re.findall(r"\S+ \S+(?: \S+)?", text),
    ]
    return [(dice.choice(sorts[number % len(sorts)]), False) for number in range(count)]


def patterns(root: str, dice: random.Random, count: int) -> list[tuple[str, bool]]:
    """Patterns that ripgrep and Python read alike, made of the project's words."""
    words = re.findall(r"[A-Za-z_]\w{4,30}", _sample(root, dice))
    shapes = (
        r"\b{a}\b", r"{a}\s*\(", r"{a}|{b}", r"(?i){a}", r"{a}.*{b}", r"^\s*(def|func|class|type)\s+{p}\w*",
        r"{p}\w+\.\w+", r"[A-Z]{{3,}}_{p}", r"\b\d{{4}}-\d{{2}}-\d{{2}}\b", r"[^\w\s]{{5,}}$",
        r"return {p}\w*$", r"\w+{p}\(",
    )  # fmt: skip
    return [
        (
            shapes[number % len(shapes)].format(a=dice.choice(words), b=dice.choice(words), p=dice.choice(words)[:4]),
            True,
        )
        for number in range(count)
    ]


def _sample(root: str, dice: random.Random) -> str:
    """The text of some indexed files."""
    manifest = load_manifest(root)
    assert manifest is not None
    paths = dice.sample(sorted(manifest.files), min(_SAMPLED_FILES, len(manifest.files)))
    return "\n".join(Path(root, path).read_bytes().decode("utf-8", "ignore") for path in paths)


def compared(project: Project, questions: list[tuple[str, bool]]) -> list[object]:
    """How the lines of both compare, over all questions."""
    manifest = load_manifest(project.root)
    assert manifest is not None
    finder = Finder(project.root, lambda: project.settings, None)
    total: Counter[str] = Counter()
    for text, regex in questions:
        found, _ = finder.find(Asked(text, regex=regex, limit=1))
        own: Lines = {(file.path, match.line) for file in found.files for match in file.matches}
        theirs = {line for line in rg_lines(project.root, text, regex) if line[0] in manifest.files}
        total["lines"] += len(own | theirs)
        total["same"] += own == theirs
        for file, line in own ^ theirs:
            why = explained(os.path.join(project.root, file), line if regex else 0)
            total["explained" if why else "unexplained"] += 1
            if not why:
                print(f"unexplained: {text!r} {file}:{line} {'sage' if (file, line) in own else 'rg'}", file=sys.stderr)
    counts = [total[name] for name in ("lines", "same", "explained", "unexplained")]
    return [f"{len(manifest.files):,}", len(questions), *counts]


def rg_lines(root: str, text: str, regex: bool) -> Lines:
    """What ripgrep finds in all files."""
    command = [_RG, "--no-config", "--hidden", "--no-ignore", "--text", "-n0", "--no-heading", "-H", "--color=never"]
    command += ["-g", "!.git", "-g", "!.sage", *([] if regex else ["-F"]), "-e", text, "./"]
    printed = subprocess.run(command, cwd=root, capture_output=True).stdout
    found = re.findall(rb"^\./([^\0\n]+)\0(\d+):", printed, re.MULTILINE)
    return {(os.fsdecode(path), int(line)) for path, line in found}


def explained(path: str, line: int) -> str:
    """Why the lines of a file may differ, or one line that a pattern matches; empty if nothing explains it."""
    data = Path(path).read_bytes()
    text = data.decode("utf-8", "replace").split("\n")[line - 1] if line else ""
    if any(unicodedata.category(char) in ("Mn", "Mc", "Me", "Cf", "Pc") and char != "_" for char in text):
        return "marks, which are letters of words to ripgrep and not to Python"
    try:
        data.decode()
    except UnicodeDecodeError:
        return "not UTF-8"
    return "lone carriage returns" if re.search(rb"\r(?!\n)", data) else "CRLF" if b"\r" in data else ""


def timings(project: Project, questions: list[tuple[str, bool]]) -> list[list[object]]:
    """The medians of whole processes and of this process, for texts and for patterns."""
    rows: list[list[object]] = []
    os.chdir(project.root)
    home = {name: value for name, value in os.environ.items() if name == "SAGE_HOME"}
    for regex, name in ((False, "--exact"), (True, "--regex")):
        taken: dict[str, list[float]] = {"rg": [], "cold": [], "warm": []}
        used: dict[str, list[float]] = {"python": [], "rg": [], "cold": []}
        project.find_text("warm", 10)
        for text, is_regex in questions:
            if is_regex != regex:
                continue
            rg = [_RG, "--no-config", "-n", *([] if regex else ["-F"]), "-e", text, "./"]
            sage = [_SAGE, "search", name, "--json", "--", text]
            for key, command in dice_order({"rg": rg, "cold": sage, "python": [sys.executable, "-c", "pass"]}):
                seconds, cpu = zip(*(wall_and_cpu(command, home, codes=(0, 1)) for _ in range(3)), strict=True)
                used[key].append(min(cpu))
                if key in taken:
                    taken[key].append(min(seconds))
            started = time.perf_counter()
            project.find_text(text, 10, regex=regex)
            first = time.perf_counter() - started
            started = time.perf_counter()
            project.find_text(text, 10, regex=regex)
            taken["warm"].append(min(first, time.perf_counter() - started))
        if not taken["rg"]:
            continue
        rg_ms, cold, warm = (median(values) * 1000 for values in taken.values())
        ratios = {key: median(a / b for a, b in zip(taken[key], taken["rg"], strict=True)) for key in ("cold", "warm")}
        rows.append([
            f"{len(taken['rg'])} {name}", f"{rg_ms:.0f}", f"{cold:.0f}", verdict(ratios["cold"], COLD_LIMIT),
            f"{warm:.0f}", verdict(ratios["warm"], WARM_LIMIT),
            verdict(median(a / b for a, b in zip(used["cold"], used["rg"], strict=True)), COLD_LIMIT),
            " / ".join(f"{median(used[key]) * 1000:.0f}" for key in ("cold", "rg", "python")),
        ])  # fmt: skip
    return rows


def dice_order(commands: dict[str, list[str]]) -> list[tuple[str, list[str]]]:
    """The commands in random order, so that neither always finds the other's pages in the cache."""
    return random.sample(list(commands.items()), len(commands))


if __name__ == "__main__":
    main()
