"""Makes a summary of what a model wrote: lenient about the form, strict about sizes.

The JSON may be in a fence or between sentences. A model may write anything: every field has its limits, ids of
messages that it was not given are dropped, and secrets are masked. Prose without JSON is a summary without parts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sage_code.memory.context.clients.asking import Answer, Failed
from sage_code.memory.context.summary import Point, StructuredSummary, Thread, words_in
from sage_code.text.masking import mask

# A model that writes more than this many times what was asked for has failed.
MOST_TIMES_TOO_LONG = 3
# The most of each kind, and of each one's characters. A summary of a hundred words needs a tenth.
_MOST_TOPICS, _TOPIC_CHARS = 12, 80
_MOST_THREADS, _THREAD_CHARS = 20, 300
_MOST_PEOPLE, _NAME_CHARS = 10, 80
_MOST_POINTS, _POINT_CHARS = 30, 400
_MOST_IDS = 20
_TRIES = 20  # braces at which a JSON object is looked for
_UNSTORABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_THOUGHT_END = "</think>"


def summary_of(answer: Answer, ids: Mapping[str, str], max_words: int, by: str) -> StructuredSummary:
    """The summary in an answer; Failed if there is none. `ids` are the real ids of the messages by their short ones."""
    text = answer.text.strip()
    if text.startswith("<think>"):  # local models that think aloud
        text = text.partition(_THOUGHT_END)[2].strip()
    value = _object_in(text)
    if value is None:
        if answer.cut:
            raise Failed("the answer was cut off at its limit of tokens", "raise the setting summariser_max_tokens")
        if text.startswith(("{", "[", "```")):
            raise Failed("the answer is broken JSON")
        value = {"text": text}
    summary = _bounded(StructuredSummary.from_json(value), ids, by)
    if problem := problem_with(summary, max_words):
        raise Failed(problem)
    return summary


def problem_with(summary: StructuredSummary, max_words: int) -> str:
    """Why a summary is none, or nothing."""
    if not summary.text.strip():
        return "it wrote nothing"
    words = words_in(summary.text)
    return f"it wrote {words:,} words instead of {max_words}" if words > MOST_TIMES_TOO_LONG * max_words else ""


def _object_in(text: str) -> dict[str, Any] | None:
    """The first JSON object in a text that has a text itself."""
    decoder = json.JSONDecoder()
    at = -1
    for _ in range(_TRIES):
        at = text.find("{", at + 1)
        if at < 0:
            return None
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and isinstance(value.get("text"), str):
            return value
        at = end - 1
    return None


def _bounded(given: StructuredSummary, ids: Mapping[str, str], by: str) -> StructuredSummary:
    """A summary within the limits of its fields, masked, with the real ids of the messages."""
    known = {**{id_: id_ for id_ in ids.values()}, **ids}

    def real(named: Sequence[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(known[id_] for id_ in named if id_ in known))[:_MOST_IDS]

    def points(found: Sequence[Point]) -> tuple[Point, ...]:
        cleaned = (Point(_clean(one.text, _POINT_CHARS), real(one.message_ids)) for one in found[:_MOST_POINTS])
        return tuple(one for one in cleaned if one.text)

    def threads() -> tuple[Thread, ...]:
        cleaned = (
            replace(
                one,
                what=_clean(one.what, _THREAD_CHARS),
                who=_cleaned(one.who[:_MOST_PEOPLE], _NAME_CHARS),
                message_ids=real(one.message_ids),
            )
            for one in given.threads[:_MOST_THREADS]
        )
        return tuple(one for one in cleaned if one.what)

    return StructuredSummary(
        text=mask(_UNSTORABLE.sub("", given.text))[0].strip(),
        by=by,
        topics=_cleaned(given.topics[:_MOST_TOPICS], _TOPIC_CHARS),
        threads=threads(),
        decisions=points(given.decisions),
        unresolved=points(given.unresolved),
        code_refs=points(given.code_refs),
        # No quotes: a model writes its own sentences, also where it claims to quote.
    )


def _cleaned(texts: Sequence[str], most: int) -> tuple[str, ...]:
    return tuple(filter(None, (_clean(text, most) for text in texts)))


def _clean(text: str, most: int) -> str:
    """A text on one line, masked, with at most so many characters."""
    text = mask(" ".join(_UNSTORABLE.sub(" ", text).split()))[0]
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"
