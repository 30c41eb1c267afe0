"""The profile of a channel: what stays true of it when its talk has passed. No language model is needed.

It is made of the profile before it and the latest rolling summary. Decisions stay, and so do topics and code that come
back; threads and open questions are transient and are left out. Nothing new leaves the profile as it was.
"""

from __future__ import annotations

from collections.abc import Iterable

from sage_code.memory.context.summary import EXTRACTIVE, Point, StructuredSummary, words_in

MAX_DECISIONS, MAX_TOPICS, MAX_CODE = 40, 12, 20
# A name that so many messages have is part of what the channel is about, however often others come.
_OFTEN = 3
_MAX_IDS = 20


def merged_profile(before: StructuredSummary | None, rolling: StructuredSummary, max_words: int) -> StructuredSummary:
    """The next version of a profile."""
    old = before or StructuredSummary("", EXTRACTIVE)
    decisions = _merged_points(old.decisions, rolling.decisions)[-MAX_DECISIONS:]
    topics = _returning(old.topics, rolling.topics)[:MAX_TOPICS]
    code = _merged_points(old.code_refs, rolling.code_refs)
    # The names that come up most; of equal ones the older, so that a profile changes little.
    ranked = sorted(range(len(code)), key=lambda at: (-min(len(code[at].message_ids), _OFTEN), at))[:MAX_CODE]
    kept = tuple(code[at] for at in sorted(ranked))
    text = _laid_out(topics, decisions, kept, max_words)
    return StructuredSummary(text, EXTRACTIVE, tuple(topics), (), tuple(decisions), (), kept)


def _merged_points(old: Iterable[Point], new: Iterable[Point]) -> list[Point]:
    """The points of both, oldest first; one that is said again gets the messages of both."""
    found: dict[str, Point] = {}
    for point in (*old, *new):
        key = " ".join(point.text.lower().split())
        before = found.get(key)
        ids = dict.fromkeys((*before.message_ids, *point.message_ids) if before else point.message_ids)
        found[key] = Point(before.text if before else point.text, tuple(ids)[:_MAX_IDS])
    return list(found.values())


def _returning(old: Iterable[str], new: Iterable[str]) -> list[str]:
    """Topics: those that came back first, then the others as they were, then new ones."""
    before, now = list(dict.fromkeys(old)), list(dict.fromkeys(new))
    return [
        *(topic for topic in before if topic in now),
        *(topic for topic in before if topic not in now),
        *(topic for topic in now if topic not in before),
    ]


def _laid_out(topics: Iterable[str], decisions: list[Point], code: Iterable[Point], max_words: int) -> str:
    """The profile as lines, the newest decisions that fit."""
    head = [f"{name}: {', '.join(texts)}" for name, texts in (
        ("About", list(topics)), ("Code", [point.text for point in code]),
    ) if texts]  # fmt: skip
    room, kept = max_words - sum(map(words_in, head)), []
    for point in reversed(decisions):
        line = f"Decided: {point.text}"
        if words_in(line) > room:
            break
        room -= words_in(line)
        kept.append(line)
    return "\n".join([*head, *reversed(kept)])
