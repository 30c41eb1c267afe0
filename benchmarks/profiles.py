"""How well lasting facts about people are found, kept within 800 characters, and taken back.

    python benchmarks/profiles.py MSC_DIR [--parts turns coverage corrections speed] [--show N]

MSC_DIR has `session_{1..4}.valid.txt`, the persona summaries of the validation part of Multi-Session Chat, from
`data/msc/msc/msc_personasummary/` of the public repository Nitrogen216/Rsum. The weights were learned on the even
dialogues and every threshold was chosen there; the odd ones are shown beside them. Measured are
- turns that hold a lasting fact, against the rule "has a pronoun of the first person";
- the share of the persona's words (ROUGE-1 recall, stemmed) in the profile after each session, against the last 800
  characters of the same facts and of the messages;
- invented corrections (`profile_corrections*.txt`): the old fact is gone, the others stay;
- messages read in a second of processor time.
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from statistics import mean

from measure import machine, table
from rouge import tokens_of

from sage_code.memory.context.profile.facts import TURN_LEAST, Fact, durable_score, facts_in, retired
from sage_code.memory.context.profile.rendering import PROFILE_CHARS, profile_text

HERE = Path(__file__).parent
SESSIONS = (1, 2, 3, 4)
_START = datetime(2026, 1, 1)
_PRONOUN = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours|im|ive)\b")
# Where F1 is highest on the even dialogues; the default favours precision.
F1_LEAST = 0.30
_PRECISE = 0.90


@dataclass(frozen=True, slots=True)
class Said:
    """A message."""

    id: str
    content: str
    speaker: str
    created_at: datetime
    role: str = "user"


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of MSC with what it tells about its speaker."""

    said: Said
    before: tuple[Said, ...]
    persona: str
    session: int
    dialogue: int


def turns_of(folder: Path) -> list[Turn]:
    """Every turn of the four sessions."""
    found = []
    for session in SESSIONS:
        for dialogue, line in enumerate((folder / f"session_{session}.valid.txt").read_text().splitlines()):
            before: tuple[Said, ...] = ()
            for number, turn in enumerate(json.loads(line)["dialog"]):
                at = _START + timedelta(days=session, minutes=number)
                said = Said(f"{dialogue}.{session}.{number}", turn["text"], turn["id"], at)
                found.append(Turn(said, before, turn.get("persona_text") or "", session, dialogue))
                before = (said,)
    return found


def show_turns(turns: Sequence[Turn]) -> None:
    """F1, precision and recall by session and half."""
    scores = {turn.said.id: durable_score(turn.said, turn.before) for turn in turns}
    found = {turn.said.id: bool(facts_in(turn.said, turn.before)) for turn in turns}
    rows = []
    for parity, half in enumerate(("tuned on (even)", "unseen (odd)")):
        for session in (*SESSIONS, 0):
            chosen = [t for t in turns if t.dialogue % 2 == parity and session in (0, t.session)]
            if not chosen:
                continue
            gold = [bool(turn.persona) for turn in chosen]
            own = [scores[turn.said.id] for turn in chosen]
            rule = _measured([bool(_PRONOUN.search(turn.said.content.lower())) for turn in chosen], gold)
            best = _measured([score >= F1_LEAST for score in own], gold)
            default = _measured([score >= TURN_LEAST for score in own], gold)
            facts = _measured([found[turn.said.id] for turn in chosen], gold)
            rows.append(
                (
                    half,
                    session or "all",
                    len(chosen),
                    *map(_three, (rule, best, default, facts)),
                    f"{_recall_at(own, gold):.3f}",
                )
            )
    head = (
        "half",
        "session",
        "turns",
        "pronoun rule P/R/F1",
        f"score ≥ {F1_LEAST}",
        f"default ≥ {TURN_LEAST}",
        "a fact is kept",
        f"recall at precision {_PRECISE}",
    )
    print(table(head, rows), "\n")


def _measured(said: Sequence[bool], gold: Sequence[bool]) -> tuple[float, float, float]:
    hits = sum(one and other for one, other in zip(said, gold, strict=True))
    precision, recall = hits / max(sum(said), 1), hits / max(sum(gold), 1)
    return precision, recall, 2 * precision * recall / max(precision + recall, 1e-9)


def _three(values: tuple[float, float, float]) -> str:
    return "/".join(f"{value:.3f}" for value in values)


def _recall_at(scores: Sequence[float], gold: Sequence[bool]) -> float:
    """The highest recall at which the precision is still what is asked for."""
    hits, best = 0, 0.0
    for count, (_, holds) in enumerate(sorted(zip(scores, gold, strict=True), reverse=True), 1):
        hits += holds
        if hits >= _PRECISE * count:
            best = hits / sum(gold)
    return best


def show_coverage(turns: Sequence[Turn], show: int) -> None:
    """Recall of the persona's words after each session."""
    speakers: dict[tuple[int, str], list[Turn]] = defaultdict(list)
    for turn in turns:
        speakers[turn.dialogue, turn.said.speaker].append(turn)
    values: dict[tuple[int, int], list[tuple[float, ...]]] = defaultdict(list)
    wrong = total = 0
    for (dialogue, _), own in speakers.items():
        facts: list[Fact] = []
        every: list[Fact] = []
        persona, messages = "", ""
        for session in SESSIONS:
            for turn in own:
                if turn.session == session:
                    gone = {fact.id for fact in retired(facts, turn.said, turn.before)}
                    facts = [replace(f, retired_by=turn.said.id) if f.id in gone else f for f in facts]
                    wrong += len(gone)
                    new = facts_in(turn.said, turn.before)
                    facts += new
                    every += new
                    total += len(new)
                    persona += f"{turn.persona}\n"
                    messages += f"{turn.said.content}\n"
            profile = profile_text(facts)
            assert len(profile) <= PROFILE_CHARS
            current = "\n".join(fact.text for fact in facts if not fact.retired_by)
            known = "\n".join(fact.text for fact in every)
            texts = (profile, current[-PROFILE_CHARS:], known[-PROFILE_CHARS:], messages[-PROFILE_CHARS:])
            values[dialogue % 2, session].append(
                (*(_recall(text, persona) for text in texts), len(profile), len(known))
            )
            if session == SESSIONS[-1] and dialogue % 2 == 0 and dialogue // 2 < show:
                print(profile, "\n--- gold\n", persona, "\n", sep="")
    rows = [
        (
            "unseen (odd)" if parity else "tuned on (even)",
            session,
            len(one),
            *(f"{mean(column):.3f}" for column in list(zip(*one, strict=True))[:4]),
            *(f"{mean(column):.0f}" for column in list(zip(*one, strict=True))[4:]),
        )
        for (parity, session), one in sorted(values.items())
    ]
    head = (
        "half",
        "after session",
        "speakers",
        "profile",
        "last 800 of current facts",
        "last 800 of all facts",
        "last 800 of messages",
        "profile's chars",
        "facts' chars",
    )
    print(table(head, rows))
    print(f"{wrong} of {total} facts were taken back by later messages\n")


def _recall(text: str, persona: str) -> float:
    own, gold = Counter(tokens_of(text)), Counter(tokens_of(persona))
    return (own & gold).total() / max(gold.total(), 1)


@dataclass(frozen=True, slots=True)
class Correction:
    """What was true, what stays true, and what is said later."""

    old: str
    keep: tuple[str, ...]
    asked: str
    says: str


def corrections_of(path: Path) -> Iterator[Correction]:
    """The blocks of a file."""
    for block in path.read_text().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.splitlines() if line and not line.startswith("#"))
        if lines:
            keep = tuple(one.strip() for one in lines["keep"].split(";"))
            yield Correction(lines["old"], keep, lines.get("asked", ""), lines["says"])


def show_corrections(path: Path) -> tuple[object, ...]:
    """How many old facts are gone, and how many others with them."""
    gone = unknown = lost = others = missed = 0
    for number, one in enumerate(corrections_of(path)):
        facts: list[Fact] = []
        of_old: set[str] = set()
        # The old fact is said in the middle, so that neither the first nor the last one is right by its place.
        middle = len(one.keep) // 2
        for place, text in enumerate((*one.keep[:middle], one.old, *one.keep[middle:])):
            said = Said(f"{number}.{place}", f"{text}.", "ann", _START + timedelta(days=place))
            found = facts_in(said)
            facts += found
            if text == one.old:
                of_old = {fact.id for fact in found}
            else:
                missed += not found
        unknown += not of_old
        later = _START + timedelta(days=30)
        before = (Said(f"{number}.asked", one.asked, "", later, "assistant"),) if one.asked else ()
        back = {fact.id for fact in retired(facts, Said(f"{number}.says", one.says, "ann", later), before)}
        gone += bool(of_old) and of_old <= back
        if not of_old or not of_old <= back:
            print(f"  not gone: {one.old!r} ({'was not found' if not of_old else one.says!r})")
        for fact in facts:
            if fact.id not in of_old:
                others += 1
                lost += fact.id in back
                if fact.id in back:
                    print(f"  wrongly gone: {fact.text!r} by {one.says!r}")
    return path.name, number + 1, gone, unknown, f"{lost} of {others} ({lost / max(others, 1):.1%})", missed


def show_speed(turns: Sequence[Turn]) -> None:
    """Messages a second of processor time."""
    rows = []
    facts = [fact for turn in turns[:400] for fact in facts_in(turn.said)][:50]
    for name, work in (
        ("durable_score", lambda turn: durable_score(turn.said, turn.before)),
        ("facts_in", lambda turn: facts_in(turn.said, turn.before)),
        ("retired, of 50 facts", lambda turn: retired(facts, turn.said, turn.before)),
    ):
        started = time.process_time()
        for turn in turns[:6000]:
            work(turn)
        rows.append((name, f"{len(turns[:6000]) / (time.process_time() - started):,.0f}"))
    print(table(("function", "messages a second"), rows), "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("msc", type=Path)
    parser.add_argument("--parts", nargs="+", default=["turns", "coverage", "corrections", "speed"])
    parser.add_argument("--halves", nargs="+", type=int, default=[0, 1], help="0: the even dialogues, 1: the odd ones")
    parser.add_argument("--show", type=int, default=0, help="profiles to print")
    options = parser.parse_args()
    print(machine(), "\n")
    turns = [turn for turn in turns_of(options.msc) if turn.dialogue % 2 in options.halves]
    if "turns" in options.parts:
        show_turns(turns)
    if "coverage" in options.parts:
        show_coverage(turns, options.show)
    if "corrections" in options.parts:
        rows = [show_corrections(path) for path in sorted(HERE.glob("profile_corrections*.txt"))]
        print(
            table(
                (
                    "file",
                    "corrections",
                    "old fact gone",
                    "old fact never found",
                    "others wrongly gone",
                    "others never found",
                ),
                rows,
            ),
            "\n",
        )
    if "speed" in options.parts:
        show_speed(turns)


if __name__ == "__main__":
    main()
