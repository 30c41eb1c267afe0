"""A summariser that needs no language model.

`ExtractiveSummariser` chooses sentences and never rewrites them. Work with an agent is summed up in parts: what was
asked, insisted on and done, where it stands, what comes next, which files and names it is about (`work.py`). Talk
between people is summed up by its most telling sentences, each with its speaker. A summary among the messages, or the
previous one, is merged: its request stays, its other sentences compete with the new ones for half of the room, and its
decisions and open questions are kept (`merging.py`). The same messages give the same summary.
"""

from __future__ import annotations

from collections.abc import Sequence

from sage_code.memory.context.cues import DECIDED
from sage_code.memory.context.merging import (
    MAX_DECISIONS,
    MAX_UNRESOLVED,
    lines_before,
    merged_points,
    merged_threads,
    merged_topics,
    refs_before,
)
from sage_code.memory.context.naming import code_refs_of
from sage_code.memory.context.scoring import scores_of
from sage_code.memory.context.selecting import Line, best_lines, cut_to, laid_out
from sage_code.memory.context.sentences import folded
from sage_code.memory.context.structuring import decisions_of, open_questions, still_open, topics_of
from sage_code.memory.context.summary import EXTRACTIVE, SUMMARY_WORDS, Point, Spoken, StructuredSummary, words_in
from sage_code.memory.context.threads import threads_of
from sage_code.memory.context.utterances import Utterance, first_words, utterances_of
from sage_code.memory.context.work import NAMES, work_lines

# Of the room, what sentences of the summary before may take in talk.
_SHARE_OF_BEFORE = 0.5
# What a sentence of talk gains that decides something.
_DECIDES = 0.1
# The sentences of talk that have a chance to be chosen; the others are not looked at for that.
_TRIED = 600


class ExtractiveSummariser:
    """Chooses sentences of the messages; see the module's docstring."""

    name = EXTRACTIVE

    def summarise(
        self, messages: Sequence[Spoken], max_words: int = SUMMARY_WORDS, previous: StructuredSummary | None = None
    ) -> StructuredSummary:
        """See `Summariser`."""
        said = [message for message in messages if message.role in ("user", "assistant")]
        summaries = [message for message in messages if message.role == "summary"]
        is_work = _is_work(said) or (not said and _was_work(previous, summaries))
        sentences = utterances_of(said)
        scores = scores_of(sentences, max_words)
        before = lines_before(previous, summaries, is_work=is_work)
        refs = code_refs_of(messages, refs_before(previous, summaries))
        if is_work:
            lines = work_lines(sentences, scores, before, refs, max_words)
        else:
            lines = _talk_lines(sentences, scores, before, max_words)
        lines = _within(lines, max_words) or _anything(said, before, max_words)
        known = previous or StructuredSummary("", "")
        unresolved = open_questions(sentences, said)
        open_ids = frozenset(id_ for point in unresolved for id_ in point.message_ids)
        threads = threads_of(sentences, scores, said, is_work=is_work, open_ids=open_ids)
        old = decisions_of(utterances_of(summaries))
        return StructuredSummary(
            text=laid_out(lines) or cut_to(f"{len(messages)} messages without a sentence to quote", max_words),
            by=self.name,
            topics=merged_topics(known.topics, topics_of(sentences, {one.speaker for one in sentences})),
            threads=merged_threads(known.threads, threads),
            decisions=merged_points([*known.decisions, *old], decisions_of(sentences), MAX_DECISIONS),
            unresolved=merged_points(still_open(known.unresolved, sentences), unresolved, MAX_UNRESOLVED),
            code_refs=refs,
            quotes=tuple(Point(line.text, line.ids) for line in lines if line.label != NAMES),
        )


def _is_work(said: Sequence[Spoken]) -> bool:
    """Whether an agent speaks with one person, and not several people with each other."""
    people = {message.speaker for message in said if message.role == "user"}
    return len(people) <= 1 and any(message.role == "assistant" for message in said)


def _was_work(previous: StructuredSummary | None, summaries: Sequence[Spoken]) -> bool:
    texts = [summary.content for summary in summaries] + ([previous.text] if previous is not None else [])
    return any(text.startswith("Request: ") for text in texts)


def _talk_lines(
    said: Sequence[Utterance], scores: Sequence[float], before: Sequence[Line], max_words: int
) -> list[Line]:
    """Sentences of the summary before, then the most telling ones of now, in the order in which they were said."""
    kept: list[Line] = []
    if before:
        room = int(max_words * _SHARE_OF_BEFORE) if said else max_words
        kept = best_lines(zip(_scores_before(before, max_words), before, strict=True), room)
    left = max_words - sum(line.cost for line in kept)
    ranked = sorted(zip(scores, said, strict=True), key=lambda one: (-one[0], one[1].order))[:_TRIED]
    new = [(score + _DECIDES * bool(DECIDED.search(one.text)), _line(one)) for score, one in ranked]
    return [*kept, *best_lines(new, left, kept)]


def _scores_before(before: Sequence[Line], max_words: int) -> list[float]:
    """How much each sentence of an earlier summary says, compared with the others in it."""
    said = [
        Utterance(
            text=line.text,
            message=at,
            order=at,
            place=0,
            of=1,
            id="",
            role="summary",
            speaker=line.label,
            words=max(words_in(line.text), 1),
            terms=tuple(sorted(line.terms)),
            term_set=line.terms,
        )
        for at, line in enumerate(before)
    ]
    scores = scores_of(said, max_words)
    return [score + _DECIDES * bool(DECIDED.search(one.text)) for one, score in zip(said, scores, strict=True)]


def _line(one: Utterance) -> Line:
    speaker = folded(one.speaker[:200])[:60] or ("assistant" if one.role == "assistant" else "")
    return Line(speaker, one.text, (one.id,), one.order, one.message, one.term_set)


def _within(lines: Sequence[Line], max_words: int) -> list[Line]:
    """The lines that fit together; the counts of the parts may be one word off."""
    kept: list[Line] = []
    for line in lines:
        if words_in(laid_out([*kept, line])) <= max_words:
            kept.append(line)
    return kept


def _anything(said: Sequence[Spoken], before: Sequence[Line], max_words: int) -> list[Line]:
    """The beginning of the first thing that was said, where nothing is a sentence or nothing fits."""
    for message in said:
        if text := first_words(message.content):
            label = folded(message.speaker[:200])[:60]
            line = Line(label, cut_to(text, max(max_words - words_in(f"{label}: "), 1)), (message.id,), 0)
            plain = Line("", cut_to(text, max(max_words, 1)), (message.id,), 0)
            return [line] if label and words_in(laid_out([line])) <= max_words else [plain]
    for earlier in before:
        return [Line("", cut_to(earlier.text, max(max_words, 1)), earlier.ids, 0)]
    return []
