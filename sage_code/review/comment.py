"""A review as Markdown for a pull request, within a budget, and as a document.

Every name, path, signature and title comes from the change, which anybody may have sent: each is masked and becomes a
code span (`text/markdown.py`). Sections share the budget in turns, so that a long one does not hide the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Any

from sage_code.lookup.similar import ChunkLocation
from sage_code.memory.code.check import RefState
from sage_code.review.review import MadeStale, Review, ReviewedDefinition
from sage_code.text.markdown import code_span
from sage_code.text.masking import mask, mask_all
from sage_code.text.tokens import count_tokens
from sage_code.views.graph.breakage import is_test
from sage_code.xref.answers import Affected

# The first line of a comment: the one that is replaced by the next review of the same pull request.
MARKER = "<!-- sage-review -->"
DEFAULT_TOKENS = 2_000
# The head of a comment and what is said of sections without room.
LEAST_TOKENS = 300
# GitHub refuses comments of more than 65,536 characters.
_MOST_CHARS = 60_000
_SHORT_COMMIT = 12
_NAME_CHARS, _PATH_CHARS, _TEXT_CHARS = 80, 120, 160
_NAMES_IN_A_LINE = 8
_NOTES = 6
# Between the parts of a comment, and at its end.
_LINE_ENDS = 4
_WHY = re.compile(r"(calls|inherits from|names the type|uses|imports) (.+?)(, which is gone)?")
_GROUPED = {"removed": "removed from", "added": "added to", "changed": "changed in"}


@dataclass(slots=True)
class _Section:
    """A part of the comment: its heading, and the lines that compete for the budget."""

    heading: str
    lines: Sequence[str]
    shown: list[str] = field(default_factory=list)

    @property
    def left(self) -> int:
        return len(self.lines) - len(self.shown)

    def rest(self) -> str:
        """The line that says how much is not shown."""
        return f"- {self.left:,} more" if self.left else ""

    def text(self) -> str:
        return "\n".join(filter(None, (f"\n#### {self.heading}", *self.shown, self.rest())))


@dataclass(frozen=True, slots=True)
class Comment:
    """A review as it is read in a pull request."""

    markdown: str
    is_truncated: bool


def comment(review: Review, max_tokens: int = DEFAULT_TOKENS) -> Comment:
    """The review in Markdown, in at most so many tokens."""
    sections = [section for section in _sections(review) if section.lines]
    head = [MARKER, "### What this change means", *_headline(review)]
    notes = [f"- {code_span(mask(note)[0], _TEXT_CHARS)}" for note in review.notes[:_NOTES]]
    if len(review.notes) > _NOTES:
        notes.append(f"- {len(review.notes) - _NOTES:,} more")
    foot = ["\n#### Left out", *notes] if notes else []
    more = f"\n`sage review --max-tokens {max(max_tokens * 4, DEFAULT_TOKENS * 4)}` shows more."
    fixed = "\n".join([*head, *foot, more])
    tokens = max_tokens - count_tokens(fixed) - _LINE_ENDS - sum(map(_least_cost, sections))
    chars = _MOST_CHARS - len(fixed) - sum(len(one.text()) + 1 for one in sections)
    _fill(sections, tokens, chars)
    is_truncated = any(section.left for section in sections)
    parts = [*head, *(section.text() for section in sections), *foot, *([more] if is_truncated else [])]
    return Comment("\n".join(parts) + "\n", is_truncated)


def _least_cost(section: _Section) -> int:
    """The tokens of a section of which nothing is shown."""
    return count_tokens(section.text()) + 1


def _fill(sections: Sequence[_Section], tokens: int, chars: int) -> None:
    """Show lines of all sections in turns, until the next line of each is too long."""
    open_sections = list(sections)
    while open_sections:
        for section in list(open_sections):
            line = section.lines[len(section.shown)]
            cost = count_tokens(line) + 1
            if cost > tokens or len(line) + 1 > chars:
                open_sections.remove(section)
                continue
            section.shown.append(line)
            tokens, chars = tokens - cost, chars - len(line) - 1
            if not section.left:
                open_sections.remove(section)


def _headline(review: Review) -> Iterator[str]:
    """What has changed, in numbers."""
    since = f"`{review.base.commit[:_SHORT_COMMIT]}` ({_span(review.base.revision, _NAME_CHARS)})"
    if not review.files:
        yield f"Nothing has changed since {since}."
        return
    counts: dict[str, int] = {}
    for one in review.definitions:
        counts[one.change] = counts.get(one.change, 0) + 1
    words = {"removed": "removed", "signature": "with another signature", "changed": "changed", "moved": "moved"}
    words["added"] = "added"
    kinds = ", ".join(f"{counts[change]:,} {word}" for change, word in words.items() if change in counts)
    files = f"{len(review.files):,} {'file' if len(review.files) == 1 else 'files'}"
    yield f"{files} changed since {since}; definitions: {kinds or 'none'}."
    if not review.tests and any(one.change != "added" and not is_test(one.file) for one in review.definitions):
        yield "\nNo test is known that reaches what was changed."


def _sections(review: Review) -> Iterator[_Section]:
    yield _Section("May break: it was removed, or is called otherwise now", list(map(_place, review.breaks)))
    yield _Section("Memories that this change makes stale", list(map(_memory, review.stale)))
    yield _Section(
        "New code that is nearly the same as other code",
        [f"- {_chunk(one.first)} is like {_chunk(one.second)} ({_percent(one.similarity)})" for one in review.similar],
    )
    yield _Section("Changed definitions", list(_definitions(review.definitions)))
    yield _Section("Uses what works otherwise now", list(map(_place, review.uses)))
    yield _Section("Tests that reach the change", list(_tests(review.tests)))


def _definitions(definitions: Sequence[ReviewedDefinition]) -> Iterator[str]:
    """Changed signatures one by one, the others by file."""
    for one in definitions:
        if one.change == "signature":
            before, after = (_span(text, _TEXT_CHARS) for text in (one.before, one.signature))
            yield f"- {_at(one.file, one.line)}: {before} is now {after}"
    for change, words in _GROUPED.items():
        for file, some in groupby((one for one in definitions if one.change == change), lambda one: one.file):
            outer = _outermost(list(some))
            yield f"- {words} {_span(file, _PATH_CHARS)}: {_names(one.qualname for one in outer)}"
    moved = sorted((one.file, one.moved_from, one.line, one.qualname) for one in definitions if one.change == "moved")
    for (file, old), names in groupby(moved, lambda row: row[:2]):
        yield f"- moved from {_span(old, _PATH_CHARS)} to {_span(file, _PATH_CHARS)}: {_names(row[3] for row in names)}"


def _outermost(definitions: Sequence[ReviewedDefinition]) -> list[ReviewedDefinition]:
    """The definitions of a file without those inside of others."""
    names = {one.qualname for one in definitions}

    def is_inner(qualname: str) -> bool:
        steps = qualname.split(".")
        return any(".".join(steps[:count]) in names for count in range(1, len(steps)))

    return [one for one in definitions if not is_inner(one.qualname)]


def _tests(places: Sequence[Affected]) -> Iterator[str]:
    by_file: dict[str, list[Affected]] = {}
    for one in places:
        by_file.setdefault(one.file, []).append(one)
    for file, some in by_file.items():
        names = [one.scope for one in some if one.scope] or [f"line {one.line}" for one in some]
        yield f"- {_span(file, _PATH_CHARS)}: {_names(names)}"


def _place(one: Affected) -> str:
    found = _WHY.fullmatch(one.why)
    why = f"{found[1]} {_span(found[2], _NAME_CHARS)}{found[3] or ''}" if found else _span(one.why, _TEXT_CHARS)
    scope = f" {_span(one.scope, _NAME_CHARS)}" if one.scope else ""
    steps = f", {one.distance} steps away" if one.distance > 1 else ""
    return f"- {_at(one.file, one.line)}{scope} {why} ({_percent(one.confidence)}{steps})"


def _memory(one: MadeStale) -> str:
    memory = one.memory
    title = f" {_span(memory.title, _TEXT_CHARS)}" if memory.title else ""
    return f"- {memory.kind} {_span(memory.id, _NAME_CHARS)}{title}: {', '.join(map(_state, one.states))}"


def _state(state: RefState) -> str:
    ref = state.ref
    lines = f":{ref.lines[0]}-{ref.lines[1]}" if ref.lines else ""
    symbol = f" {_span(ref.symbol, _NAME_CHARS)}" if ref.symbol else ""
    return f"{_span(f'{ref.file}{lines}', _PATH_CHARS)}{symbol} {'is gone' if state.state == 'gone' else 'has changed'}"


def _chunk(chunk: ChunkLocation) -> str:
    name = f" {_span(chunk.qualname, _NAME_CHARS)}" if chunk.qualname else ""
    return f"{_at(chunk.file, chunk.line)}{name}"


def _names(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    known = list(dict.fromkeys(names))
    more = f" and {len(known) - _NAMES_IN_A_LINE:,} more" if len(known) > _NAMES_IN_A_LINE else ""
    return ", ".join(_span(name, _NAME_CHARS) for name in known[:_NAMES_IN_A_LINE]) + more


def _at(file: str, line: int) -> str:
    return _span(f"{file}:{line}", _PATH_CHARS)


def _span(text: str, most: int) -> str:
    return code_span(mask(text)[0], most)


def _percent(share: float) -> str:
    return f"{share * 100:.0f} %"


def document(review: Review, made: Comment) -> dict[str, Any]:
    """The review as `compiled_schema/review.json` describes it, with its secrets masked."""
    found = {
        "base": review.base.commit,
        "against": review.base.revision,
        "head": review.base.head,
        "files": [
            {
                "file": one.file,
                "change": one.change,
                "added": one.difference.added if one.difference else 0,
                "removed": one.difference.removed if one.difference else 0,
                "note": one.note,
            }
            for one in review.files
        ],
        "definitions": [asdict(one) for one in review.definitions],
        "breaks": [_rounded(one) for one in review.breaks],
        "uses": [_rounded(one) for one in review.uses],
        "tests": [_rounded(one) for one in review.tests],
        "memories": [
            {
                "id": one.memory.id,
                "kind": one.memory.kind,
                "title": one.memory.title,
                "refs": [
                    {
                        "file": state.ref.file,
                        "lines": list(state.ref.lines) if state.ref.lines else None,
                        "symbol": state.ref.symbol,
                        "state": state.state,
                    }
                    for state in one.states
                ],
            }
            for one in review.stale
        ],
        "similar": [{**asdict(one), "similarity": round(one.similarity, 4)} for one in review.similar],
        "notes": list(review.notes),
        "truncated": made.is_truncated,
        "markdown": made.markdown,
    }
    return mask_all(found, [])


def _rounded(one: Affected) -> dict[str, Any]:
    return {**asdict(one), "confidence": round(one.confidence, 3)}
