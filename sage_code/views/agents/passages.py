"""The archive of an agent as a page shows it: passages by time, by tags, and by what they say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sage_code.memory.files.code_ref import CodeRef
from sage_code.memory.tiers.archival_memory import tags_of
from sage_code.memory.tiers.ranking.question import read_question
from sage_code.memory.tiers.tables import passages
from sage_code.memory.tiers.values import Passage, now
from sage_code.views.agents.conversations import Piece, marked
from sage_code.views.agents.opened import Paging, masked

if TYPE_CHECKING:
    from sage_code.views.agents.opened import AgentMemory

PASSAGES_A_PAGE = 30
# What a list shows of a long passage, and how many tags.
_LISTED_CHARS = 700
_LISTED_TAGS = 40


@dataclass(frozen=True, slots=True)
class Facet:
    """A tag, and how many of the listed passages have it."""

    tag: str
    count: int
    is_chosen: bool = False


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A passage in a list."""

    passage: Passage
    pieces: tuple[Piece, ...]
    is_cut: bool = False
    score: float | None = None  # None: it was not searched for


@dataclass(frozen=True, slots=True)
class PassageList:
    """A page of passages."""

    passages: tuple[ShownPassage, ...]
    facets: tuple[Facet, ...]
    paging: Paging


@dataclass(frozen=True, slots=True)
class RefView:
    """Code that a passage is about, and what has become of it."""

    file: str
    line: int
    symbol: str
    state: str = ""  # unchanged, moved, changed, gone; empty: its project is not at hand
    now: str = ""  # the file in which it is now
    now_line: int = 1


@dataclass(frozen=True, slots=True)
class PassagePage:
    """One passage with its code."""

    passage: Passage
    refs: tuple[RefView, ...] = ()


def passage_list(memory: AgentMemory, text: str, tags: Sequence[str], page: int) -> PassageList:
    """The passages with all of the tags: newest first, or those that answer a question, best first."""
    chosen = tags_of(tags)
    with memory.engine.reading() as rows:
        every = passages.tags_of_all(rows, memory.agent.id, chosen)
        facets = _facets(every, chosen)
        paging = Paging.at(page, PASSAGES_A_PAGE, len(every))
        wanted = [sequence for sequence, _ in every[paging.skip : paging.last]]
        known = passages.passages_at(rows, memory.agent.id, wanted)
    if not text.strip():
        listed = tuple(_shown(known[sequence], ()) for sequence in wanted)
        return PassageList(listed, facets, paging)
    stems = {term.stem for term in read_question(text, now()).terms}
    found = memory.archive.search(text, PASSAGES_A_PAGE, chosen)
    return PassageList(
        tuple(_shown(one.passage, stems, one.score) for one in found), facets, Paging(1, PASSAGES_A_PAGE, len(found))
    )


def passage_page(memory: AgentMemory, passage_id: str, readable: Collection[str]) -> PassagePage:
    """One passage. What has become of its code is looked up if its project is among the readable ones."""
    found = memory.archive.show(passage_id)
    if found.passage.code_refs and found.passage.project in readable:
        found = memory.archive_of(found.passage.project).show(passage_id)
    refs = []
    for number, given in enumerate(found.passage.code_refs):
        ref = CodeRef.from_dict(given)
        state = found.states[number] if number < len(found.states) else None
        place = state.now if state is not None else None
        refs.append(
            RefView(
                ref.file,
                ref.lines[0] if ref.lines else 1,
                ref.symbol or "",
                state.state if state is not None else "",
                place.file if place is not None else "",
                place.lines[0] if place is not None and place.lines else 1,
            )
        )
    return PassagePage(replace(found.passage, content=masked(found.passage.content)), tuple(refs))


def _facets(every: Sequence[tuple[int, tuple[str, ...]]], chosen: Sequence[str]) -> tuple[Facet, ...]:
    """The tags of passages, the chosen ones first, then the most used ones."""
    counts = Counter(tag for _, own in every for tag in own)
    first = [Facet(tag, counts[tag], is_chosen=True) for tag in chosen]
    others = sorted((-count, tag) for tag, count in counts.items() if tag not in chosen)
    return (*first, *(Facet(tag, -count) for count, tag in others[:_LISTED_TAGS]))


def _shown(passage: Passage, stems: Collection[str], score: float | None = None) -> ShownPassage:
    text = masked(passage.content)
    pieces = marked(text[:_LISTED_CHARS], stems) if stems else (Piece(text[:_LISTED_CHARS]),)
    return ShownPassage(replace(passage, content=""), pieces, len(text) > _LISTED_CHARS, score)
