"""Does an ordinary search find text that stands in the code, and show it at its line?

    python benchmarks/literals.py FOLDER ... [--count 500] [--seed 0] [--show 20]

Each folder is indexed in SAGE_HOME unless it is already. From all folders together `--count` texts are drawn that stand
on exactly one line of their project, upper and lower case told apart. Half are messages: texts of at least three words
in quotes, those of `raise`, `panic`, `log` and the like first; of a message with holes (`{name}`, `%s`) the longest
piece between them. Half are rare words: words, numbers and constants that no other line has as a whole word, and short
texts in quotes. Each is asked as it stands, and in quotes. Counted are answers whose first file is the right one, whose
line is the right one and is among the shown lines, and answers that say "no good match". `rg -F` is asked for the same
texts. Besides, messages with holes are asked with values in them, which stand nowhere literally.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.measure import machine, table
from sage_code import Project
from sage_code.discover.listing import list_files
from sage_code.discover.reading import SourceText, read_source
from sage_code.discover.rules import discover_rules
from sage_code.index.manifest import load_manifest
from sage_code.languages.table import detect
from sage_code.values import SourceFile

TARGET = 0.99
# Of ten sampled files so many are of a programming language; the others are any files, prose and data too.
_CODE_SHARE = 0.8
_NOT_CODE = frozenset({"markdown", "json", "yaml", "toml", "text", "rst", "csv", "xml", "html", "ini", "properties"})
_MIN_MESSAGE_WORDS = 3
# Files that are drawn for one text before the sampling gives up.
_TRIES = 400
_QUOTED = re.compile(r"\"((?:[^\"\\\n]|\\.){4,200})\"|'((?:[^'\\\n]|\\.){4,200})'|`((?:[^`\\\n]|\\.){4,200})`")
_SAID = re.compile(
    r"\b(?:raise|throw|panic|fatal|error|err|warn|warning|log|logger|print\w*|abort|fail|exception|errorf|bail|expect)\b",
    re.IGNORECASE,
)
# What is filled in when a message is made, and escapes that are no text.
_HOLE = re.compile(
    r"#?\$?\{[^{}]*\}|%[-+ #0]*[\d.*]*(?:l|ll|z|h)?[a-zA-Z]|%%|\\(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)|\$\w+"
)
_WORD = re.compile(r"\w+")
_VALUES = ("42", "users", "/tmp/data.bin", "Widget", "7")


class Sample(NamedTuple):
    """A text that stands on one line of a project."""

    root: str
    kind: str  # message, word, quoted, filled
    text: str
    file: str
    line: int


class Texts:
    """The texts of one project, and on how many lines of them something stands."""

    def __init__(self, root: str) -> None:
        self.root = root
        manifest = load_manifest(root)
        assert manifest is not None
        rules = discover_rules(Project.open(root).settings)
        self.files: dict[str, list[str]] = {}
        for file in list_files(root, rules):
            if isinstance(file, SourceFile) and file.path in manifest.files:
                source = read_source(root, file, rules)
                if isinstance(source, SourceText):
                    self.files[file.path] = source.text.split("\n")
        self.all = "\n".join(line for lines in self.files.values() for line in lines)
        self.lines_of_word = Counter(
            word for lines in self.files.values() for line in lines for word in set(_WORD.findall(line))
        )
        self.code = [path for path in self.files if (found := detect(path)) and found.name not in _NOT_CODE]

    def is_unique(self, text: str) -> bool:
        """Whether a text stands on one line only."""
        first = self.all.find(text)
        end = self.all.find("\n", first)
        return first >= 0 and (end < 0 or self.all.find(text, end) < 0)


def main() -> None:
    """Draw, ask and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=0, help="print so many failures")
    given = parser.parse_args()
    print(machine(), flush=True)
    rows: list[list[object]] = []
    sums: dict[tuple[str, str], Counter[str]] = {}
    projects = len(given.folders)
    shown = 0
    for number, folder in enumerate(given.folders):
        project = Project.open(folder)
        if load_manifest(project.root) is None:
            project.index()
        own = given.count * (number + 1) // projects - given.count * number // projects
        samples = list(drawn(Texts(project.root), random.Random(f"{given.seed} {number}"), own))
        totals: Counter[str] = Counter()
        for sample in samples:
            found = asked(project, sample)
            for form, result in found.items():
                counted = sums.setdefault((sample.kind, form), Counter())
                counted.update(result)
                if sample.kind != "filled":
                    totals.update({f"{form} {name}": value for name, value in result.items()})
                    if (result["refused"] or not result["line"]) and shown < given.show:
                        shown += 1
                        print(form, sample.kind, dict(result), sample, found_at(project, sample, form), flush=True)
        rows.append([os.path.basename(project.root), totals["plain asked"], *shares(totals)])
    total: Counter[str] = Counter()
    for (kind, form), counted in sums.items():
        if kind != "filled":
            total.update({f"{form} {name}": value for name, value in counted.items()})
    rows.append(["**all**", total["plain asked"], *shares(total)])
    head = ["project", "texts", *(f"{form}: {what}" for form in ("plain", "quoted") for what in WHAT)]
    print(table(head, rows))
    kinds = [
        [kind, form, counted["asked"], *(f"{counted[name] / counted['asked']:.1%}" for name in COUNTED)]
        for (kind, form), counted in sorted(sums.items())
    ]
    print(table(["kind", "asked", "texts", *WHAT], kinds))
    reached = all(total[f"{form} {name}"] >= TARGET * total[f"{form} asked"] for form in FORMS for name in COUNTED[:2])
    refused = sum(total[f"{form} refused"] for form in FORMS)
    print("reached" if reached and not refused else "not reached", f"(file and line {TARGET:.0%}, 0 refused)")


FORMS = ("plain", "quoted")
COUNTED = ("file", "line", "refused", "rg")
WHAT = ("file first", "line shown", "no good match", "rg -F has it")


def shares(totals: Counter[str]) -> list[str]:
    """The counted figures of both forms as shares."""
    return [
        f"{totals[f'{form} {name}'] / max(totals[f'{form} asked'], 1):.1%}" if name != "refused"
        else str(totals[f"{form} {name}"])
        for form in FORMS
        for name in COUNTED
    ]  # fmt: skip


def drawn(texts: Texts, dice: random.Random, count: int) -> Iterator[Sample]:
    """Texts of one project: half messages, half rare words; and messages that are filled, a tenth as many."""
    known: set[str] = set()
    for kind, wanted in (("message", count // 2), ("word", count - count // 2), ("filled", max(count // 10, 1))):
        for _ in range(wanted):
            for _ in range(_TRIES):
                among = texts.code if dice.random() < _CODE_SHARE and texts.code else list(texts.files)
                path = dice.choice(among)
                find = {"message": _message, "word": _rare_word, "filled": _filled}[kind]
                found = find(texts, path, dice)
                if found is not None and found.text not in known:
                    known.add(found.text)
                    yield found
                    break


def _literals(texts: Texts, path: str) -> list[tuple[int, str, bool]]:
    """The texts in quotes of a file: line, text, and whether something is said with it."""
    return [
        (number, next(filter(None, groups)), bool(_SAID.search(line)))
        for number, line in enumerate(texts.files[path], 1)
        if len(line) < 1_000
        for groups in _QUOTED.findall(line)
    ]


def _message(texts: Texts, path: str, dice: random.Random) -> Sample | None:
    """A message of a file that stands on one line of the project."""
    found = [
        (said, number, piece)
        for number, text, said in _literals(texts, path)
        if (piece := max(_HOLE.split(text), key=len).strip()) and len(_WORD.findall(piece)) >= _MIN_MESSAGE_WORDS
    ]
    dice.shuffle(found)
    for _, number, piece in sorted(found, key=lambda one: not one[0])[:8]:
        if texts.is_unique(piece):
            return Sample(texts.root, "message", piece, path, number)
    return None


def _rare_word(texts: Texts, path: str, dice: random.Random) -> Sample | None:
    """A word, a number or a short text in quotes of a file that stands on one line of the project."""
    if dice.random() < 0.2:
        quoted = [(number, text) for number, text, _ in _literals(texts, path) if _WORD.search(text) and len(text) < 40]
        dice.shuffle(quoted)
        for number, text in quoted[:8]:
            if texts.is_unique(text) and text == text.strip():
                return Sample(texts.root, "short text", text, path, number)
        return None
    words = [
        (number, word)
        for number, line in enumerate(texts.files[path], 1)
        if len(line) < 1_000
        for word in set(_WORD.findall(line))
        if len(word) > 2 and texts.lines_of_word[word] == 1
    ]
    if not words:
        return None
    number, word = dice.choice(sorted(words))
    return Sample(texts.root, "word", word, path, number)


def _filled(texts: Texts, path: str, dice: random.Random) -> Sample | None:
    """A message with holes, with values in them."""
    for number, text, said in _literals(texts, path):
        pieces = _HOLE.split(text)
        if not said or len(pieces) < 2 or "\\" in text or len(_WORD.findall(" ".join(pieces))) < _MIN_MESSAGE_WORDS:
            continue
        if texts.is_unique(max(pieces, key=len)) and len(_WORD.findall(max(pieces, key=len))) > 1:
            filled = _HOLE.sub(lambda _: dice.choice(_VALUES), text)
            return Sample(texts.root, "filled", filled, path, number)
    return None


def asked(project: Project, sample: Sample) -> dict[str, Counter[str]]:
    """How a text is answered, as it stands and in quotes."""
    found: dict[str, Counter[str]] = {}
    has = rg_has(sample)
    for form in FORMS:
        text = sample.text if form == "plain" else f'"{sample.text}"'
        response = project.search(text, refresh=False)
        first = response.results[0] if response.results else None
        is_file = first is not None and first.file == sample.file
        is_line = False
        if first is not None and is_file:
            last = first.snippet_line + first.snippet.count("\n")
            is_line = first.line == sample.line and first.snippet_line <= sample.line <= last
        found[form] = Counter(asked=1, file=is_file, line=is_line, refused=not response.good, rg=has)
    return found


def found_at(project: Project, sample: Sample, form: str) -> str:
    """What was shown instead."""
    text = sample.text if form == "plain" else f'"{sample.text}"'
    results = project.search(text, refresh=False).results
    return ", ".join(f"{hit.file}:{hit.line} {hit.score}" for hit in results[:2])


def rg_has(sample: Sample) -> bool:
    """Whether ripgrep finds a text on that line."""
    command = [shutil.which("rg") or "rg", "--no-config", "-nF", "--hidden", "--no-ignore", "--text"]
    command += ["-e", sample.text, "--", sample.file]
    printed = subprocess.run(command, cwd=sample.root, capture_output=True).stdout
    return re.search(rf"^{sample.line}:".encode(), printed, re.MULTILINE) is not None


if __name__ == "__main__":
    main()
