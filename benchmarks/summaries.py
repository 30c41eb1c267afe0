"""Extractive summaries against the first sentences, the longest sentences and the last messages, in one run.

    python benchmarks/summaries.py --dialogsum FILE --locomo FILE --sessions DIR_OR_GIT [--words 300] [--show N]

Dialogues: ROUGE-1, ROUGE-2 and ROUGE-L (F1, Porter's stemmer) against the reference, with as many words as the
reference has. `lead` and `longest` are the first and the longest sentences with their speakers, cut at that number of
words; "over" lets the last sentence go beyond it, as the published figures do, and the summariser beside it gets as
many words as that text has. Coding sessions: the share of files changed, and of labelled instructions and decisions
of which one line has 60 % of the words, in a text of `--words` words. One setting for all; half of each set was
looked at while weights were learned and tuned (`summary_weights.py`), the other half was not. Times are processor
time, in made-up conversations of real sentences.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from measure import machine, table
from rouge import rouge
from summary_data import TUNED, UNSEEN, Dialogue, Turn, WorkSession, dialogsum, locomo, sentences_of, work_sessions
from survival import stands, words

from sage_code.memory.context.extractive import ExtractiveSummariser
from sage_code.memory.context.summary import Spoken, words_in

HALVES = (TUNED, UNSEEN, "all")
_SPEAKERS = ("user", "assistant")
_SIZES = (120, 2_000, 10_000)


def sage(turns: Sequence[Spoken], budget: int) -> str:
    """The text of Sage's summary."""
    text = ExtractiveSummariser().summarise(turns, budget).text
    assert words_in(text) <= budget, (words_in(text), budget)
    return text


def filled(sentences: Iterable[tuple[int, str]], budget: int, *, over: bool = False) -> str:
    """Sentences one after another until the words are used up, in the order of their numbers."""
    kept: dict[int, str] = {}
    for number, sentence in sentences:
        if budget <= 0:
            break
        some = sentence.split() if over else sentence.split()[:budget]
        kept[number] = " ".join(some)
        budget -= len(some)
    return "\n".join(kept[number] for number in sorted(kept))


def labelled(turns: Sequence[Spoken]) -> list[tuple[int, str]]:
    """The numbered sentences of messages, each with its speaker."""
    return [(at, f"{who}: {text}" if who else text) for at, (who, text) in enumerate(sentences_of(turns))]


def lead(turns: Sequence[Spoken], budget: int, *, over: bool = False) -> str:
    """The first sentences."""
    return filled(labelled(turns), budget, over=over)


def longest(turns: Sequence[Spoken], budget: int, *, over: bool = False) -> str:
    """The longest sentences."""
    return filled(sorted(labelled(turns), key=lambda one: -len(one[1].split())), budget, over=over)


def last(turns: Sequence[Spoken], budget: int) -> str:
    """The last messages, the earliest of them from its beginning."""
    first = len(turns)
    while first and budget > sum(len(turn.content.split()) for turn in turns[first:]):
        first -= 1
    over = sum(len(turn.content.split()) for turn in turns[first:]) - budget
    sentences = [text for _, text in labelled(turns[first : first + 1])]
    kept = filled(enumerate(sentences), len(turns[first].content.split()) - max(over, 0)) if turns else ""
    return "\n".join([kept, *(text for _, text in labelled(turns[first + 1 :]))])


def dialogue_rows(name: str, dialogues: Sequence[Dialogue]) -> list[list[str]]:
    """The rows of a table: set, half, text, three scores, and each score as a ratio to the best baseline."""
    makers: dict[str, Callable[[Dialogue], str]] = {
        "lead": lambda one: lead(one.turns, one.words),
        "longest": lambda one: longest(one.turns, one.words),
        "sage": lambda one: sage(one.turns, one.words),
        "lead, over": lambda one: lead(one.turns, one.words, over=True),
        "longest, over": lambda one: longest(one.turns, one.words, over=True),
        "sage, as many words as lead, over": lambda one: sage(
            one.turns, len(lead(one.turns, one.words, over=True).split())
        ),
    }
    rows = []
    scores = {
        maker: [(one.half, rouge(make(one), one.reference)) for one in dialogues] for maker, make in makers.items()
    }
    for half in HALVES:
        means = {
            maker: [100 * statistics.mean(score[at] for of, score in found if half in (of, "all")) for at in range(3)]
            for maker, found in scores.items()
        }
        for maker, values in means.items():
            others = ["lead, over", "longest, over"] if "over" in maker else ["lead", "longest"]
            best = [max(means[other][at] for other in others) for at in range(3)]
            ratio = "/".join(f"{value / top:.2f}" for value, top in zip(values, best, strict=True))
            count = sum(half in (one.half, "all") for one in dialogues)
            rows.append([name, f"{half} ({count})", maker, *(f"{value:.1f}" for value in values), ratio])
    return rows


def session_rows(sessions: Sequence[WorkSession], budget: int) -> list[list[str]]:
    """The rows of a table: half, text, three shares, their mean."""
    counts: dict[tuple[str, str], list[list[int]]] = defaultdict(lambda: [[0, 0], [0, 0], [0, 0], [0, 0]])
    for session in sessions:
        spoken = [one for one in session.messages if one.role in _SPEAKERS]
        texts = {
            "lead": lead(spoken, budget),
            "longest": longest(spoken, budget),
            "last messages": last(spoken, budget),
            "sage": sage(session.messages, budget),
        }
        for name, text in texts.items():
            lines = [words(line) for line in text.split("\n")]
            found = (
                [sum(file in text for file in session.files), len(session.files)],
                [sum(stands(one, lines) for one in session.instructions), len(session.instructions)],
                [sum(stands(one, lines) for one in session.decisions), len(session.decisions)],
                [len(text.split()), 1],
            )
            for half in (session.half, "all"):
                for total, (hits, of) in zip(counts[half, name], found, strict=True):
                    total[0] += hits
                    total[1] += of
    rows = []
    for half in HALVES:
        for name in ("lead", "longest", "last messages", "sage"):
            if (half, name) not in counts:
                continue
            *kinds, length = counts[half, name]
            shares = [hits / max(of, 1) for hits, of in kinds]
            cells = [f"{share:.2f} ({hits}/{of})" for share, (hits, of) in zip(shares, kinds, strict=True)]
            rows.append([half, name, *cells, f"{statistics.mean(shares):.3f}", str(length[0] // length[1])])
    return rows


def time_rows(dialogues: Sequence[Dialogue]) -> list[list[str]]:
    """The processor time of summaries of many messages, the best of three."""
    every = [turn for one in dialogues for turn in one.turns]
    rows = []
    for size in _SIZES:
        some = [every[at % len(every)] for at in range(size)]
        turns = [Turn(str(at), one.content, one.speaker) for at, one in enumerate(some)]
        taken = []
        for _ in range(3):
            started = time.process_time()
            ExtractiveSummariser().summarise(turns)
            taken.append(time.process_time() - started)
        rows.append([f"{size:,}", f"{1000 * min(taken):.1f}"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dialogsum", type=Path, help="dialogsum.dev.jsonl")
    parser.add_argument("--locomo", type=Path, help="locomo10.json")
    parser.add_argument("--sessions", type=Path, help="a folder of logs, or the bare repository")
    parser.add_argument("--words", type=int, default=300, help="of a summary of a coding session")
    parser.add_argument("--show", type=int, default=0, help="print so many summaries of each set, of the half tuned on")
    given = parser.parse_args()
    print(machine())
    rows = []
    sets = [("DialogSum dev", given.dialogsum, dialogsum), ("LoCoMo sessions", given.locomo, locomo)]
    for name, path, read in sets:
        if path is None:
            continue
        dialogues = read(path)
        rows += dialogue_rows(name, dialogues)
        for one in [one for one in dialogues if one.half == TUNED][: given.show]:
            print(f"{one.reference}\n---\n{sage(one.turns, one.words)}\n")
    if rows:
        print(table(["set", "half", "text", "R-1", "R-2", "R-L", "to the best baseline"], rows))
    if given.sessions is not None:
        sessions = list(work_sessions(given.sessions))
        for session in [one for one in sessions if one.half == TUNED][: given.show]:
            print(f"{sage(session.messages, given.words)}\n")
        kinds = ["half", "text", "files changed", "instructions", "decisions", "mean", "words"]
        print(table(kinds, session_rows(sessions, given.words)))
    if given.locomo is not None:
        print(table(["messages", "ms"], time_rows(locomo(given.locomo))))


if __name__ == "__main__":
    main()
