"""Does the code of a reference still say what it said? Unchanged, moved, changed or gone.

Followed in this order: the same text in its place; the definition of the same name in the file; the same text
elsewhere in the file; the same text elsewhere in the project; and what looks most like it, which then has changed.
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

State = Literal["unchanged", "moved", "changed", "gone"]

# Below this share of common lines two definitions of one name are two things, not one that has changed.
_SAME_THING = 0.5
# Shorter lines stand everywhere.
_TELLING_CHARS = 12
# Windows of a file that are compared with a run of lines whose first line is not known.
_MAX_WINDOWS = 20_000
_TELLING_LINES = 3


@dataclass(frozen=True, slots=True)
class RefState:
    """A reference and what has become of its code."""

    ref: CodeRef  # as it was written
    state: State
    now: CodeRef | None = None  # where its code is now: itself, the new place, the changed text; None: gone
    diff: str = ""  # of what has changed, shortened

    @property
    def is_stale(self) -> bool:
        """Whether what was concluded may not hold any more."""
        return self.state in ("changed", "gone")


def check(project_root: str, refs: Iterable[CodeRef]) -> tuple[RefState, ...]:
    """The state of each reference, in the same order."""
    checker = Checker(project_root)
    return tuple(map(checker.check, refs))


class Checker:
    """Checks references of one project; files are read once for all of them."""

    def __init__(self, project_root: str) -> None:
        self._sources = CodeFiles(os.path.realpath(project_root))
        self._candidate_files = CandidateFiles(self._sources)
        self._known: dict[CodeRef, RefState] = {}

    def check(self, ref: CodeRef) -> RefState:
        """What has become of one reference."""
        if ref not in self._known:
            self._known[ref] = self._check(ref)
        return self._known[ref]

    def _check(self, ref: CodeRef) -> RefState:
        source = self._sources.get(ref.file)
        if source is not None:
            if _stands(source, ref):
                return RefState(ref, "unchanged", ref)
            place = _in_file(source, ref)
            if place is not None:
                return _moved(ref, place)
        # A definition that is still there under its name has changed, wherever else its old text may stand.
        changed = _same_name(source, ref) if source is not None else None
        if changed is None and (place := self._somewhere(ref)) is not None:
            return _moved(ref, place)
        if changed is None and source is not None and not ref.symbol:
            changed = _nearest_lines(source, ref)
        changed = changed or self._most_alike(ref, source)
        if changed is None:
            return RefState(ref, "gone")
        now, lines = changed
        return RefState(ref, "changed", now, short_diff(ref.snippet, lines) if ref.snippet else "")

    def _somewhere(self, ref: CodeRef) -> CodeRef | None:
        """The same text in another file: files of the same name before others, the nearest path first."""
        found = self._in_one_of(ref, self._candidate_files.likely(ref.file))
        if not any(place.symbol == ref.symbol for place in found):
            found += self._in_one_of(ref, self._candidates(ref))

        def distance(place: CodeRef) -> tuple[bool, float, str]:
            # Copies of one text in many folders: the one whose path is most like the old one.
            return place.symbol != ref.symbol, -SequenceMatcher(None, ref.file, place.file).ratio(), place.file

        best = min(found, key=distance, default=None)
        if best is not None:
            self._candidate_files.found(ref.file, best.file)
        return best

    def _in_one_of(self, ref: CodeRef, sources: Iterable[CodeFile]) -> list[CodeRef]:
        found = (_in_file(source, ref) for source in sources if source.path != ref.file)
        return [place for place in found if place is not None]

    def _candidates(self, ref: CodeRef) -> Iterator[CodeFile]:
        if not ref.content_hash and not ref.symbol:
            return
        name = ref.symbol.rpartition(".")[2]
        seen = set()
        for source in self._candidate_files.defining(name) if name else ():
            seen.add(source.path)
            yield source
        telling = _telling_lines(ref)
        if telling or name:
            yield from (one for one in self._candidate_files.holding(*(telling or [name])) if one.path not in seen)

    def _most_alike(self, ref: CodeRef, source: CodeFile | None) -> tuple[CodeRef, list[str]] | None:
        """A definition that is mostly what the reference quotes: renamed in its file, or moved and changed."""
        if not ref.snippet:
            return None
        name = ref.symbol.rpartition(".")[2]
        best, most = None, _SAME_THING
        others = self._candidate_files.defining(name) if name else ()
        for one in [*([source] if source else []), *others]:
            for symbol in one.symbols:
                if one is not source and symbol.name != name:
                    continue
                score = likeness(ref.snippet, one.piece(span(symbol)))
                if score > most:
                    best, most = (one, symbol), score
        if best is None:
            return None
        one, symbol = best
        return _like(ref, one.ref(span(symbol), symbol.qualname)), one.piece(span(symbol))


def _stands(source: CodeFile, ref: CodeRef) -> bool:
    """Whether the text stands where it stood."""
    if not ref.content_hash:
        is_there = ref.lines is None or ref.lines[1] <= len(source.lines)
        return is_there and (not ref.symbol or any(one.qualname == ref.symbol for one in source.symbols))
    if ref.lines is None:
        return not ref.symbol and source.ref(None).content_hash == ref.content_hash
    if ref.lines[1] > len(source.lines) or source.hash(ref.lines) != ref.content_hash:
        return False
    # A definition that has grown at its end still has its old text in its old lines: it must end there, too.
    return not ref.symbol or not source.symbols or any(span(one) == ref.lines for one in source.symbols)


def _in_file(source: CodeFile, ref: CodeRef) -> CodeRef | None:
    """The same text somewhere in a file."""
    if ref.symbol:
        if not ref.content_hash:
            same = [one for one in source.symbols if one.qualname == ref.symbol]
        else:
            anywhere = _is_telling(ref)
            same = [
                one
                for one in source.symbols
                if (anywhere or one.qualname == ref.symbol) and source.hash(span(one)) == ref.content_hash
            ]
        bare, line = ref.symbol.rpartition(".")[2], ref.lines[0] if ref.lines else 1
        best = min(
            same,
            key=lambda one: (one.qualname != ref.symbol, one.name != bare, abs(one.start_line - line)),
            default=None,
        )
        return source.ref(span(best), best.qualname) if best else None
    if ref.lines is None:
        whole = source.ref(None)
        return whole if whole.content_hash == ref.content_hash else None
    return _window(source, ref)


def _window(source: CodeFile, ref: CodeRef) -> CodeRef | None:
    """A run of lines with the hash of the reference's, the nearest to its old place."""
    if ref.lines is None or not ref.content_hash:
        return None
    count = ref.lines[1] - ref.lines[0] + 1
    first = ref.snippet.partition("\n")[0].strip() if ref.snippet else ""
    starts = [
        number
        for number in range(1, len(source.lines) - count + 2)
        if not first or source.lines[number - 1].strip().startswith(first)
    ]
    line = ref.lines[0]
    for start in sorted(starts, key=lambda number: abs(number - line))[: max(1, _MAX_WINDOWS // count)]:
        if source.hash((start, start + count - 1)) == ref.content_hash:
            return source.ref((start, start + count - 1))
    return None


def _same_name(source: CodeFile, ref: CodeRef) -> tuple[CodeRef, list[str]] | None:
    """The definition that has the reference's name now; of several the one most like it."""
    if not ref.symbol:
        return None
    same = [one for one in source.symbols if one.qualname == ref.symbol]
    line = ref.lines[0] if ref.lines else 1
    best = max(
        same,
        key=lambda one: (likeness(ref.snippet or "", source.piece(span(one))), -abs(one.start_line - line)),
        default=None,
    )
    return (_like(ref, source.ref(span(best), best.qualname)), source.piece(span(best))) if best else None


def _nearest_lines(source: CodeFile, ref: CodeRef) -> tuple[CodeRef, list[str]]:
    """The lines that now stand where a run of lines stood: from the first of them that is still there."""
    if ref.lines is None:
        return _like(ref, source.ref(None)), source.lines
    count, start = ref.lines[1] - ref.lines[0], ref.lines[0]
    for offset, text in enumerate((ref.snippet or "").split("\n")):
        places = [number for number, line in enumerate(source.lines, 1) if line.strip() == text.strip()]
        if len(text.strip()) >= _TELLING_CHARS and places:
            start = min(places, key=lambda number: abs(number - start)) - offset
            break
    start = max(1, min(start, len(source.lines)))
    lines = (start, max(start, min(start + count, len(source.lines))))
    return _like(ref, source.ref(lines)), source.piece(lines)


def _telling_lines(ref: CodeRef) -> list[str]:
    """The longest lines of the quotation: where they are not, the text is not."""
    lines = [line.strip() for line in (ref.snippet or "").split("\n")[:-1] or [ref.snippet or ""]]
    return sorted((line for line in lines if len(line) >= _TELLING_CHARS), key=len, reverse=True)[:_TELLING_LINES]


def _is_telling(ref: CodeRef) -> bool:
    """Whether the same text under another name is the same thing: two lines with `pass` are everywhere."""
    lines = [line for line in (ref.snippet or "").split("\n") if line.strip()]
    return len(lines) >= _TELLING_LINES and sum(map(len, lines)) >= _TELLING_CHARS * _TELLING_LINES


def _moved(ref: CodeRef, place: CodeRef) -> RefState:
    return RefState(ref, "moved", _like(ref, place))


def _like(ref: CodeRef, place: CodeRef) -> CodeRef:
    return replace(place, relevance=ref.relevance)
