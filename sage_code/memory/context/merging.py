"""Merges a summary with the one before it, so that nothing decided and no open question falls out.

Points that say the same become one, with the messages of both. Beyond a limit the weakest go, of equal ones the oldest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sage_code.memory.context.selecting import Line
from sage_code.memory.context.sentences import CUT
from sage_code.memory.context.structuring import MAX_TOPICS, strength_of
from sage_code.memory.context.summary import Point, Spoken, StructuredSummary, Thread
from sage_code.memory.context.terms import likeness, overlap, terms_of
from sage_code.memory.context.threads import MAX_THREADS, bounded
from sage_code.memory.context.utterances import sentences_in
from sage_code.memory.context.work import DONE, NAMES, REQUEST, is_own_text
from sage_code.text.lexemes import words_of

# What a summary holds at most. A decision is about 20 words: the limit keeps a stored summary below some 10 kB.
MAX_DECISIONS, MAX_UNRESOLVED = 64, 24
_MAX_IDS = 8
_SAID_AGAIN = 0.05
# Threads that share so many terms are one.
_SAME_THREAD = 0.5
# A summary in another form is read up to here.
_MAX_SENTENCES = 40
_EARLIER = "Earlier"
# How the summaries of coding agents begin, before they say anything.
_PREAMBLE = ("This session is being continued", "The summary below", "The conversation is summarized", "Analysis:")
_MAX_LABEL_CHARS = 60


def lines_before(previous: StructuredSummary | None, summaries: Sequence[Spoken], *, is_work: bool) -> list[Line]:
    """The sentences of earlier summaries as lines, oldest first, under the labels that they had.

    In work the first sentence of a summary in another form is the request.
    """
    found: list[Line] = []
    for summary in summaries:
        found += _lines_of_text(summary.content, (summary.id,), is_work=is_work)
    if previous is not None:
        found += _lines_of_quotes(previous) or _lines_of_text(previous.text, (), is_work=is_work)
    return [
        replace(line, order=order - len(found), terms=frozenset(terms_of(line.text)))
        for order, line in enumerate(found)
        if line.label != NAMES
    ]


def refs_before(previous: StructuredSummary | None, summaries: Sequence[Spoken]) -> list[Point]:
    """The names of code in earlier summaries."""
    found = [*previous.code_refs] if previous is not None else []
    for summary in summaries:
        if is_own_text(summary.content):
            last = summary.content.rpartition("\n")[2]
            if last.startswith(f"{NAMES}: "):
                found += [Point(name, (summary.id,)) for name in last.removeprefix(f"{NAMES}: ").split(", ") if name]
    return found


def merged_points(old: Iterable[Point], new: Iterable[Point], limit: int) -> tuple[Point, ...]:
    """Old and new points, in order, each once; beyond the limit the weakest go, of equal ones the oldest."""
    found: dict[str, Point] = {}
    for point in [*old, *new]:
        key = _key(point.text)
        known = found.get(key)
        if known is not None:
            ids = tuple(dict.fromkeys([*known.message_ids, *point.message_ids]))
            point = Point(_longer(known.text, point.text), ids[:1] + ids[1:][-_MAX_IDS + 1 :])
        found[key] = point
    points = list(found.values())
    if len(points) > limit:
        ranked = sorted(range(len(points)), key=lambda at: (_strength(points[at]), at), reverse=True)
        points = [points[at] for at in sorted(ranked[:limit])]
    return tuple(points)


def merged_threads(old: Sequence[Thread], new: Sequence[Thread]) -> tuple[Thread, ...]:
    """Old threads, updated by those that go on with them, then new ones; the oldest that are done go first."""
    found = list(old)
    for thread in new:
        terms = frozenset(terms_of(thread.what))
        at = next((at for at, one in enumerate(found) if _goes_on(one, thread, terms)), None)
        if at is None:
            found.append(thread)
            continue
        before = found.pop(at)  # it goes to the end: it is what was talked about last
        who = tuple(dict.fromkeys([*before.who, *thread.who]))
        ids = bounded(list(dict.fromkeys([*before.message_ids, *thread.message_ids])))
        found.append(Thread(before.what, who, thread.state, ids))
    while len(found) > MAX_THREADS:
        found.remove(next((one for one in found if one.state == "done"), found[0]))
    return tuple(found)


def merged_topics(old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    """The topics of now, then those of before."""
    found: dict[str, str] = {}
    for topic in [*new, *old]:
        found.setdefault(topic.casefold(), topic)
    return tuple(found.values())[:MAX_TOPICS]


def _goes_on(one: Thread, thread: Thread, terms: frozenset[str]) -> bool:
    if set(one.message_ids) & set(thread.message_ids):
        return True
    known = frozenset(terms_of(one.what))
    return min(len(known), len(terms)) >= 2 and overlap(known, terms) >= _SAME_THREAD and likeness(known, terms) > 0.3


def _key(text: str) -> str:
    """What two points that say the same have in common: their words and numbers."""
    return " ".join(words_of(text.removesuffix(CUT).lower())) or text


def _strength(point: Point) -> float:
    """How plainly a point decides; one that was said again counts a little more."""
    return strength_of(point.text, "user") + _SAID_AGAIN * len(point.message_ids)


def _longer(one: str, other: str) -> str:
    return other if one.endswith(CUT) and not other.endswith(CUT) else one


def _lines_of_quotes(previous: StructuredSummary) -> list[Line]:
    """The quotes of a summary, each with the label of its line in the text."""
    rows = [row.partition(": ") for row in previous.text.split("\n")]
    found = []
    at = 0
    for quote in previous.quotes:
        while at < len(rows) and quote.text not in rows[at][2] and quote.text not in rows[at][0]:
            at += 1
        label = rows[at][0] if at < len(rows) and rows[at][2] and len(rows[at][0]) <= _MAX_LABEL_CHARS else ""
        found.append(Line(label, quote.text, quote.message_ids, 0))
        at = 0 if at >= len(rows) else at
    return found


def _lines_of_text(text: str, ids: tuple[str, ...], *, is_work: bool) -> list[Line]:
    """The sentences of a summary of which only the text is known."""
    if is_own_text(text):
        rows = [row.partition(": ") for row in text.split("\n")]
        return [Line(label, said, ids, 0) for label, _, said in rows if said]
    sentences = [one for one in sentences_in(text) if not one.startswith(_PREAMBLE)]
    sentences = (sentences or [" ".join(text.split())[:500]])[:_MAX_SENTENCES]
    labels = [REQUEST, *[DONE] * len(sentences)] if is_work else [_EARLIER] * len(sentences)
    return [Line(label, said, ids, 0) for label, said in zip(labels, sentences, strict=False) if said]
