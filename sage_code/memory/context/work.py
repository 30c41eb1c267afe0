"""The text of a summary of work with an agent: what was asked, insisted on, done, where it stands, what comes next.

Each part has a share of the words; what one leaves is given to what was asked and done. Sentences of an earlier summary
compete for half of their part.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sage_code.memory.context.cues import DONE as RESULT
from sage_code.memory.context.cues import (
    LEAST_WORTH,
    NARRATION,
    NEXT,
    worth_of_agent,
    worth_of_person,
)
from sage_code.memory.context.naming import names_within
from sage_code.memory.context.selecting import Line, best_lines, fitting
from sage_code.memory.context.summary import Point, words_in
from sage_code.memory.context.utterances import Utterance

REQUEST, ASKED, DONE, STATE, NEXT_STEP, NAMES = "Request", "Asked", "Done", "State", "Next", "Names"
LABELS = (REQUEST, ASKED, DONE, STATE, NEXT_STEP, NAMES)
# The shares of the words, tuned on part A of `benchmarks/session_labels.txt` at 300 words.
_SHARES = {REQUEST: 0.10, ASKED: 0.30, DONE: 0.32, STATE: 0.08, NEXT_STEP: 0.08, NAMES: 0.12}
# A part of a short summary has the words of one sentence, unless that is more than a sixth of all.
_LEAST_ROOM, _LEAST_SHARE = 12, 6
# Of the room of a part, what sentences of the summary before may take.
_SHARE_OF_BEFORE = 0.5
_MOST_WORDS = 30
# Where the work stands is said in one of the agent's last messages.
_LATEST_MESSAGES = 4
# Lines of a change or of code in what a person pasted.
_PASTED = ("+", "//", "@@", "diff ", "#!")
# A message of more sentences is not only the person's own words.
_OWN_SENTENCES = 6
# How much the model of talk (`scoring.py`) counts beside the cues: it orders sentences without any.
_MODEL = 0.3


def work_lines(
    said: Sequence[Utterance],
    scores: Sequence[float],
    before: Sequence[Line],
    refs: Sequence[Point],
    max_words: int,
) -> list[Line]:
    """The lines of the text, in order."""
    least = max(min(_LEAST_ROOM, max_words // _LEAST_SHARE), 1)
    room = {label: max(int(share * max_words), least) for label, share in _SHARES.items()}
    earlier = {label: [line for line in before if line.label == label] for label in LABELS}
    chosen: dict[str, list[Line]] = {}
    chosen[REQUEST] = _first(earlier[REQUEST] or _opening(said), room[REQUEST])
    latest = _latest(said)
    if latest:  # where the work was before is now something that was done
        earlier[DONE] += earlier[STATE]
    taken = [*chosen[REQUEST]]
    chosen[STATE] = _first(_unsaid(latest or earlier[STATE], taken), room[STATE])
    taken += chosen[STATE]
    chosen[NEXT_STEP] = _first(_unsaid([*_coming(said), *earlier[NEXT_STEP]][:2], taken), room[NEXT_STEP])
    taken += chosen[NEXT_STEP]
    names = names_within(refs, room[NAMES] - 1)
    chosen[NAMES] = [Line(NAMES, ", ".join(names), (), 0)] if names else []
    left = max_words - sum(line.cost for label in (REQUEST, STATE, NEXT_STEP, NAMES) for line in chosen[label])
    share = _SHARES[ASKED] / (_SHARES[ASKED] + _SHARES[DONE])
    chosen[ASKED] = _part(_instructions(said, scores), earlier[ASKED], int(left * share), taken)
    left -= sum(line.cost for line in chosen[ASKED])
    taken += chosen[ASKED]
    chosen[DONE] = _part(_results(said, scores), earlier[DONE], left, taken)
    return [line for label in LABELS for line in chosen[label]]


def _part(new: Iterable[tuple[float, Line]], old: Sequence[Line], room: int, taken: Sequence[Line]) -> list[Line]:
    """The lines of a part: earlier ones in at most their share, then new ones."""
    ranked = [(worth_of_agent(line.text, is_stressed=False, is_answer=False)[0], line) for line in old]
    kept = best_lines(ranked, int(room * _SHARE_OF_BEFORE), taken, _MOST_WORDS)
    label = kept[0].label if kept else ""
    kept = [Line(label, line.text, line.ids, line.order, -1, line.terms) for line in kept]
    room -= sum(line.cost for line in kept)
    return [*kept, *best_lines(new, room, [*taken, *kept], _MOST_WORDS)]


def _first(lines: Iterable[Line], room: int) -> list[Line]:
    """The first of the lines that fit, the very first one cut if it must be."""
    kept: list[Line] = []
    for line in lines:
        fitted = fitting(line, room, _MOST_WORDS)
        if fitted is None or (kept and fitted.text != line.text):
            break
        kept.append(fitted)
        room -= fitted.cost
    return kept


def _unsaid(lines: Iterable[Line], taken: Sequence[Line]) -> list[Line]:
    said = {line.text.casefold() for line in taken}
    return [line for line in lines if line.text.casefold() not in said]


def _line(label: str, one: Utterance) -> Line:
    return Line(label, one.text, (one.id,), one.order, -1, one.term_set)


def _opening(said: Sequence[Utterance]) -> list[Line]:
    """What the person asked for first."""
    first = next((one.message for one in said if one.role == "user"), said[0].message if said else -1)
    return [_line(REQUEST, one) for one in said if one.message == first][:2]


def _latest(said: Sequence[Utterance]) -> list[Line]:
    """What the agent said last that is a result: the first one with a cue, else the first sentence of any kind."""
    plain: Utterance | None = None
    result: Utterance | None = None
    messages: set[int] = set()
    for one in reversed(said):
        if one.role != "assistant" or _is_aside(one):
            continue
        messages.add(one.message)
        if len(messages) > _LATEST_MESSAGES or (result is not None and result.message != one.message):
            break
        if plain is None or plain.message == one.message:
            plain = one
        if RESULT.search(one.text):
            result = one
    chosen = result or plain
    return [_line(STATE, chosen)] if chosen is not None else []


def _coming(said: Sequence[Utterance]) -> list[Line]:
    """What the person asked for last, if no result followed, and the last next step that was named since."""
    last = next((one.message for one in reversed(said) if one.role == "user"), -1)
    asked = [one for one in said if one.message == last]
    behind = [one for one in said if one.message > last]
    found: list[Line] = []
    if asked and not any(RESULT.search(one.text) for one in behind):
        found.append(_line(NEXT_STEP, next((one for one in asked if NEXT.search(one.text)), asked[0])))
    steps = [one for one in (*asked, *behind) if NEXT.search(one.text) and not NARRATION.match(one.text)]
    if steps and (not found or steps[-1].text != found[0].text) and (found or steps[-1].message > last):
        found.append(_line(NEXT_STEP, steps[-1]))
    return found


def _instructions(said: Sequence[Utterance], scores: Sequence[float]) -> list[tuple[float, Line]]:
    """What the person insists on, with its worth."""
    found = []
    for one in said:
        if one.role == "user" and not one.asks and not one.text.endswith(":") and not one.text.startswith(_PASTED):
            worth = worth_of_person(one.text, is_own=one.of <= _OWN_SENTENCES)
            if worth:
                found.append((worth + _MODEL * scores[one.order], _line(ASKED, one)))
    return found


def _results(said: Sequence[Utterance], scores: Sequence[float]) -> list[tuple[float, Line]]:
    """What the agent concluded, with its worth; what has no cue comes last."""
    found = []
    answers = _answers(said)
    for one in said:
        if one.role != "assistant" or _is_aside(one):
            continue
        worth, _ = worth_of_agent(one.text, is_stressed=one.is_stressed, is_answer=one.message in answers)
        if worth >= LEAST_WORTH:
            found.append((worth + _MODEL * scores[one.order], _line(DONE, one)))
    return found


def _is_aside(one: Utterance) -> bool:
    """Whether a sentence of an agent is no result: a question, a heading, what it is about to do."""
    return one.asks or one.text.endswith(":") or bool(NARRATION.match(one.text))


def _answers(said: Sequence[Utterance]) -> set[int]:
    """The messages with which an agent ends its turn."""
    found: set[int] = set()
    role = "user"  # of the sentence behind
    for one in reversed(said):
        if one.role == "assistant" and role == "user":
            found.add(one.message)
        role = one.role
    return found


def is_own_text(text: str) -> bool:
    """Whether a text is one that `work_lines` made."""
    lines = text.split("\n")
    return all(line.partition(": ")[0] in LABELS for line in lines) and words_in(text) > 0
