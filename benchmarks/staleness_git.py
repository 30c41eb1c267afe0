"""What happened to a piece of code by `git diff`: the judge of `staleness.py` for every language.

Lines that no hunk of `git diff -U0 -M` touches are where the hunks put them. Lines that were touched have changed,
unless the same text is somewhere in the new tree and was nowhere else in the old one: then it has moved there. If a
change is directly beside the lines, git cannot tell whether it belongs to them: such references are not judged.
"""

from __future__ import annotations

import io
import os
import random
import re
import subprocess
import tarfile
import textwrap
from typing import NamedTuple

from sage_code.memory.code.capture import capture
from sage_code.memory.code.code_files import CodeFiles, span
from sage_code.memory.files.code_ref import CodeRef
from sage_code.transcripts.code_context import FileInteraction, build_session_code_context

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_MAX_FILE = 1_000_000
_REFS_A_FILE = 10
# Of the sampled files, those that have changed; the rest is there to be unchanged.
_CHANGED_SHARE = 0.9


class FileChange(NamedTuple):
    """A change of a file, by git."""

    new_path: str  # empty: deleted
    hunks: list[tuple[int, int, int]]  # old start, old lines, new lines


class Repository:
    """A bare repository whose trees are written into a folder."""

    def __init__(self, git_dir: str) -> None:
        self.git_dir = os.path.join(git_dir, "repo") if os.path.isdir(os.path.join(git_dir, "repo")) else git_dir
        self.name = os.path.basename(git_dir.rstrip("/")).rpartition("+")[2]

    def git(self, *words: str) -> bytes:
        """What a git command prints."""
        return subprocess.run(["git", f"--git-dir={self.git_dir}", *words], capture_output=True, check=True).stdout

    def write(self, commit: str, folder: str) -> dict[str, str]:
        """Make `folder` hold the tree of `commit`; returns its texts by path."""
        for name in os.listdir(folder):
            if name != ".sage":
                subprocess.run(["rm", "-rf", os.path.join(folder, name)], check=True)
        with tarfile.open(fileobj=io.BytesIO(self.git("archive", commit))) as archive:
            archive.extractall(folder, filter="data")
        texts = {}
        for base, below, names in os.walk(folder):
            below[:] = [name for name in below if name != ".sage"]
            for name in names:
                path = os.path.join(base, name)
                if not os.path.islink(path) and os.path.getsize(path) <= _MAX_FILE:
                    with open(path, encoding="utf-8", errors="replace", newline=None) as file:
                        texts[os.path.relpath(path, folder)] = file.read()
        return texts

    def changes(self, before: str, after: str) -> dict[str, FileChange]:
        """Every file that has changed, by its old path."""
        found: dict[str, FileChange] = {}
        diff = self.git("-c", "core.quotePath=false", "diff", "-U0", "-M", "-l0", "--no-color", before, after)
        old = ""
        for line in diff.decode("utf-8", "replace").split("\n"):
            if line.startswith("--- "):
                old = line[6:] if line.startswith("--- a/") else ""
            elif line.startswith("+++ ") and old:
                found[old] = FileChange(line[6:] if line.startswith("+++ b/") else "", [])
            elif line.startswith("rename from "):
                old = line.removeprefix("rename from ")
            elif line.startswith("rename to "):
                found[old] = FileChange(line.removeprefix("rename to "), [])
            elif old in found and (hunk := _HUNK.match(line)):
                start, lines, _, new = (int(number) if number is not None else 1 for number in hunk.groups())
                found[old].hunks.append((start, lines, new))
        return found


def sample_refs(
    folder: str, texts: dict[str, str], changes: dict[str, FileChange], count: int, chance: random.Random
) -> list[CodeRef]:
    """References as a session makes them, to definitions of files most of which will change."""
    changed = [path for path in sorted(texts) if path in changes]
    others = [path for path in sorted(texts) if path not in changes]
    chance.shuffle(changed)
    chance.shuffle(others)
    refs: list[CodeRef] = []
    sources = CodeFiles(os.path.realpath(folder))
    while len(refs) < count and (changed or others):
        path = changed.pop() if changed and (chance.random() < _CHANGED_SHARE or not others) else others.pop()
        source = sources.get(path)
        units = list(source.units) if source else []
        read = [
            FileInteraction(os.path.join(folder, path), "read", "", span(unit))
            for unit in chance.sample(units, min(_REFS_A_FILE, len(units)))
        ]
        wanted = {one.lines for one in read}
        refs += [ref for ref in capture(folder, build_session_code_context(read)) if ref.lines in wanted]
    return refs[:count]


def judge_by_git(
    refs: list[CodeRef], old: dict[str, str], new: dict[str, str], changes: dict[str, FileChange]
) -> list[tuple[str, frozenset[tuple[str, int]]] | None]:
    """What happened to each reference; None if git cannot tell."""
    return [_truth(ref, old, new, changes.get(ref.file)) for ref in refs]


def _truth(
    ref: CodeRef, old: dict[str, str], new: dict[str, str], change: FileChange | None
) -> tuple[str, frozenset[tuple[str, int]]] | None:
    """What happened to a reference's lines, by the hunks of their file; None if git cannot tell."""
    assert ref.lines is not None
    first, last = ref.lines
    if change is None:
        return "unchanged", frozenset()
    touched = beside = False
    shift = 0
    for start, lines, added in change.hunks:
        # A pure insertion is after line `start`.
        low, high = (start, start + lines - 1) if lines else (start + 0.5, start + 0.5)
        touched |= low <= last and high >= first
        beside |= first - 1 <= high < first or last < low <= last + 1
        shift += added - lines if high < first else 0
    if change.new_path and not touched:
        if beside:
            return None
        place = frozenset({(change.new_path, first + shift)})
        if change.new_path != ref.file:
            return "moved elsewhere", place
        return ("moved in its file", place) if shift else ("unchanged", frozenset())
    text = _plain(old[ref.file].split("\n")[first - 1 : last])
    if len(_places(text, old)) > 1:
        return None  # the text was in several locations, so its new one is unknown
    now = _places(text, new)
    if not now:
        return ("changed" if change.new_path else "gone"), frozenset()
    is_here = {path for path, _ in now} == {ref.file}
    return ("moved in its file" if is_here else "moved elsewhere"), frozenset(now)


def _places(text: str, tree: dict[str, str]) -> list[tuple[str, int]]:
    """Where a text occurs as whole lines, with any indentation."""
    wanted = text.split("\n")
    telling = max(wanted, key=len).strip()
    found = []
    for path, content in tree.items():
        if telling not in content:
            continue
        lines = content.split("\n")
        for number in range(len(lines) - len(wanted) + 1):
            is_start = lines[number].strip() == wanted[0].strip()
            if is_start and _plain(lines[number : number + len(wanted)]) == text:
                found.append((path, number + 1))
    return found


def _plain(lines: list[str]) -> str:
    return textwrap.dedent("\n".join(line.rstrip() for line in lines)).strip("\n")
