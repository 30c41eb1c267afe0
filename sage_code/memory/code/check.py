"""Checks whether the code of a reference is unchanged, moved, changed or gone.

The checker looks for the same text at the old location, then elsewhere in the file. A definition with the same name in
the file then counts as changed. Otherwise it looks for the same text in other files, and last for code that resembles
the quotation, which counts as changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

from sage_code.memory.code.candidate_files import CandidateFiles
from sage_code.memory.code.code_files import CodeFile, CodeFiles, span
from sage_code.memory.code.code_text import likeness, short_diff
from sage_code.memory.files.code_ref import CodeRef
from sage_code.paths import anybody_listens
from sage_code.values import Symbol

State = Literal["unchanged", "moved", "changed", "gone"]

# With a smaller share of common lines, code is something else and not a changed version.
_MIN_LIKENESS = 0.5
# Shorter lines are in too many files to identify code.
_DISTINCTIVE_CHARS = 12
_DISTINCTIVE_LINES = 3
# Bounds the comparisons when lines are searched in a file, in lines hashed.
_MAX_WINDOW_LINES = 20_000


@dataclass(frozen=True, slots=True)
class RefState:
    """A reference and the state of its code."""

    ref: CodeRef  # as it was written
    state: State
    now: CodeRef | None = None  # the reference to the code as it is now; None if it is gone
    diff: str = ""  # between the quotation and changed code, shortened

    @property
    def is_stale(self) -> bool:
        """Whether the conclusion may no longer be true."""
        return self.state in ("changed", "gone")


def check(project_root: str, refs: Iterable[CodeRef]) -> tuple[RefState, ...]:
    """The state of each reference, in the same order."""
    checker = Checker(project_root)
    return tuple(map(checker.check, refs))


def holds(file: CodeFile, ref: CodeRef) -> bool:
    """Whether a version of a file has the code of a reference, at its old place or another one."""
    return _is_unchanged(file, ref) or _same_text(file, ref) is not None


class Checker:
    """Checks references of one project; each file is read once, and each reference checked once."""

    def __init__(self, project_root: str) -> None:
        self._code_files = CodeFiles(os.path.realpath(project_root))
        self._candidates = CandidateFiles(self._code_files)
        self._known: dict[CodeRef, RefState] = {}

    def check(self, ref: CodeRef) -> RefState:
        """The state of one reference."""
        if ref not in self._known:
            self._known[ref] = self._check(ref)
        return self._known[ref]

    def judge(self, kind: str, id_: str, title: str, refs: Iterable[CodeRef]) -> tuple[RefState, ...]:
        """The state of each reference of a memory. That the memory is stale is published."""
        states = tuple(map(self.check, refs))
        if anybody_listens() and any(found.is_stale for found in states):
            from sage_code.events import publishing  # lazy: most of the time there is no listener

            stale = ((one.ref, one.state) for one in states if one.is_stale)
            places = [(ref.file, ref.lines[0] if ref.lines else 0, ref.symbol, state) for ref, state in stale]
            publishing.staleness_found(self._code_files.root, kind, id_, title, places)
        return states

    def _check(self, ref: CodeRef) -> RefState:
        """Look for the code of a reference, in the order of the module's docstring."""
        file = self._code_files.get(ref.file)
        if file is not None:
            if _is_unchanged(file, ref):
                return RefState(ref, "unchanged", ref)
            if (found := _same_text(file, ref)) is not None:
                return _moved(ref, found)
        # A definition that still has its name has changed, even if its old text is in another file.
        changed = _same_name(file, ref) if file is not None else None
        if changed is None and (found := self._in_other_files(ref)) is not None:
            return _moved(ref, found)
        if changed is None and file is not None and not ref.symbol:
            changed = _nearest_lines(file, ref)
        changed = changed or self._most_similar(ref, file)
        if changed is None:
            return RefState(ref, "gone")
        now, lines = changed
        return RefState(ref, "changed", now, short_diff(ref.snippet, lines) if ref.snippet else "")

    def _in_other_files(self, ref: CodeRef) -> CodeRef | None:
        """The same text in another file; among several copies, the one with the most similar path."""
        found = self._same_texts(ref, self._candidates.renamed(ref.file))
        if not any(one.symbol == ref.symbol for one in found):
            found += self._same_texts(ref, self._files_to_search(ref))

        def distance(one: CodeRef) -> tuple[bool, float, str]:
            return one.symbol != ref.symbol, -SequenceMatcher(None, ref.file, one.file).ratio(), one.file

        best = min(found, key=distance, default=None)
        if best is not None:
            self._candidates.note_found(ref.file, best.file)
        return best

    def _same_texts(self, ref: CodeRef, files: Iterable[CodeFile]) -> list[CodeRef]:
        found = (_same_text(file, ref) for file in files if file.path != ref.file)
        return [one for one in found if one is not None]

    def _files_to_search(self, ref: CodeRef) -> Iterator[CodeFile]:
        """The files that define the reference's name, then those that contain its distinctive lines."""
        if not ref.content_hash and not ref.symbol:
            return
        name = ref.symbol.rpartition(".")[2]
        seen = set()
        for file in self._candidates.defining(name) if name else ():
            seen.add(file.path)
            yield file
        lines = _distinctive_lines(ref)
        if lines or name:
            yield from (file for file in self._candidates.containing(*(lines or [name])) if file.path not in seen)

    def _most_similar(self, ref: CodeRef, file: CodeFile | None) -> tuple[CodeRef, list[str]] | None:
        """The definition that resembles the quotation most: renamed in its file, or moved and changed."""
        if not ref.snippet:
            return None
        name = ref.symbol.rpartition(".")[2]
        best, most = None, _MIN_LIKENESS
        others = self._candidates.defining(name) if name else ()
        for one in [*([file] if file else []), *others]:
            for symbol in one.symbols:
                if one is not file and symbol.name != name:
                    continue
                score = likeness(ref.snippet, one.piece(span(symbol)))
                if score > most:
                    best, most = (one, symbol), score
        return _changed(ref, *best) if best else None


def _is_unchanged(file: CodeFile, ref: CodeRef) -> bool:
    """Whether the same text is at the reference's location; without a hash, whether the location exists."""
    if not ref.content_hash:
        is_there = ref.lines is None or ref.lines[1] <= len(file.lines)
        return is_there and (not ref.symbol or any(one.qualname == ref.symbol for one in file.symbols))
    if ref.lines is None:
        return not ref.symbol and file.hash(None) == ref.content_hash
    if ref.lines[1] > len(file.lines) or file.hash(ref.lines) != ref.content_hash:
        return False
    # A definition that has grown at its end still has the old text in the old lines, so its end is compared too.
    return not ref.symbol or not file.symbols or any(span(one) == ref.lines for one in file.symbols)


def _same_text(file: CodeFile, ref: CodeRef) -> CodeRef | None:
    """The same text anywhere in a file."""
    if ref.symbol:
        if not ref.content_hash:
            same = [one for one in file.symbols if one.qualname == ref.symbol]
        else:
            any_name = _is_distinctive(ref)
            same = [
                one
                for one in file.symbols
                if (any_name or one.qualname == ref.symbol) and file.hash(span(one)) == ref.content_hash
            ]
        bare, line = ref.symbol.rpartition(".")[2], ref.lines[0] if ref.lines else 1
        best = min(
            same,
            key=lambda one: (one.qualname != ref.symbol, one.name != bare, abs(one.start_line - line)),
            default=None,
        )
        return file.ref(span(best), best.qualname) if best else None
    if ref.lines is None:
        return file.ref(None) if file.hash(None) == ref.content_hash else None
    return _same_lines(file, ref)


def _same_lines(file: CodeFile, ref: CodeRef) -> CodeRef | None:
    """The run of lines with the reference's hash that is nearest to its old lines."""
    if ref.lines is None or not ref.content_hash:
        return None
    count = ref.lines[1] - ref.lines[0] + 1
    first = ref.snippet.partition("\n")[0].strip() if ref.snippet else ""
    starts = [
        number
        for number in range(1, len(file.lines) - count + 2)
        if not first or file.lines[number - 1].strip().startswith(first)
    ]
    line = ref.lines[0]
    for start in sorted(starts, key=lambda number: abs(number - line))[: max(1, _MAX_WINDOW_LINES // count)]:
        if file.hash((start, start + count - 1)) == ref.content_hash:
            return file.ref((start, start + count - 1))
    return None


def _same_name(file: CodeFile, ref: CodeRef) -> tuple[CodeRef, list[str]] | None:
    """The definition with the reference's name; among several, the one most like the quotation."""
    if not ref.symbol:
        return None
    same = [one for one in file.symbols if one.qualname == ref.symbol]
    line = ref.lines[0] if ref.lines else 1
    best = max(
        same,
        key=lambda one: (likeness(ref.snippet or "", file.piece(span(one))), -abs(one.start_line - line)),
        default=None,
    )
    return _changed(ref, file, best) if best else None


def _nearest_lines(file: CodeFile, ref: CodeRef) -> tuple[CodeRef, list[str]]:
    """The lines that are now where a run of lines was, aligned by the first of its lines that still exists."""
    if ref.lines is None:
        return replace(file.ref(None), relevance=ref.relevance), file.lines
    count, start = ref.lines[1] - ref.lines[0], ref.lines[0]
    for offset, text in enumerate((ref.snippet or "").split("\n")):
        numbers = [number for number, line in enumerate(file.lines, 1) if line.strip() == text.strip()]
        if len(text.strip()) >= _DISTINCTIVE_CHARS and numbers:
            start = min(numbers, key=lambda number: abs(number - start)) - offset
            break
    start = max(1, min(start, len(file.lines)))
    lines = (start, max(start, min(start + count, len(file.lines))))
    return replace(file.ref(lines), relevance=ref.relevance), file.piece(lines)


def _distinctive_lines(ref: CodeRef) -> list[str]:
    """The longest lines of the quotation; a file without them does not contain the text."""
    lines = [line.strip() for line in (ref.snippet or "").split("\n")[:-1] or [ref.snippet or ""]]
    long = (line for line in lines if len(line) >= _DISTINCTIVE_CHARS)
    return sorted(long, key=len, reverse=True)[:_DISTINCTIVE_LINES]


def _is_distinctive(ref: CodeRef) -> bool:
    """Whether the text identifies the code even under another name; two lines with `pass` do not."""
    lines = [line for line in (ref.snippet or "").split("\n") if line.strip()]
    return len(lines) >= _DISTINCTIVE_LINES and sum(map(len, lines)) >= _DISTINCTIVE_CHARS * _DISTINCTIVE_LINES


def _moved(ref: CodeRef, found: CodeRef) -> RefState:
    return RefState(ref, "moved", replace(found, relevance=ref.relevance))


def _changed(ref: CodeRef, file: CodeFile, symbol: Symbol) -> tuple[CodeRef, list[str]]:
    """The reference to a definition that has changed, and the definition's lines."""
    now = file.ref(span(symbol), symbol.qualname)
    return replace(now, relevance=ref.relevance), file.piece(span(symbol))
