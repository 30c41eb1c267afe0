"""Whether a checkpoint is proposed when one is due: topic boundaries, decisions and conclusions, whole sessions.

    python benchmarks/triggers.py --dts DIR --sessions DIR_OR_GIT [--parity even] [--labels FILE] [--dump ROWS]

Boundaries are judged at their exact place, pooled over all conversations of a set, with one setting for all; a set is
a project, whose distances are kept from conversation to conversation. "The spec's rule" is a cosine below 0.50 to the
centroid of the last five messages, by the vectors of the bundled model. `held out` is what the weights were not
learned from; constants were chosen with a look at it, so that only sessions of odd minutes are wholly new. AUROC is
over the places where a boundary may be: all but the first message, and in spliced sessions every exchange. Branch
points, constraints and syntheses are judged message by message, without the detector's pauses between triggers, on
messages read by hand (`trigger_labels.txt`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from conversations import SETS, Conversation, is_held, labelled, spliced, turns_of
from measure import table
from session_logs import Session, exchanges_of, sessions_of

from sage_code.continuity.triggers.context import USER, Context, Said
from sage_code.continuity.triggers.detector import TriggerDetector, spoken_scores
from sage_code.continuity.triggers.distances import Distances
from sage_code.continuity.triggers.values import Dials, TriggerType
from sage_code.embed.bundled import BundledEmbedder
from sage_code.text.prose import said

_LABELS = Path(__file__).with_name("trigger_labels.txt")
_KINDS = {
    "b": TriggerType.BRANCH_POINT,
    "c": TriggerType.CONSTRAINT_DISCOVERED,
    "s": TriggerType.SYNTHESIS,
}
_SPEC_CENTROID, _SPEC_COSINE = 5, 0.50


@dataclass(slots=True)
class Marks:
    """What was found in one conversation: the places of boundaries, and a score for each place that has one."""

    places: set[int] = field(default_factory=set)
    scores: dict[int, float] = field(default_factory=dict)


Marker = Callable[[Conversation], Marks]


def detector_marks() -> Marker:
    """Marks by Sage's detector, with the distances of the conversations before."""
    distances = Distances()

    def mark(conversation: Conversation) -> Marks:
        detector = TriggerDetector(distances=distances)
        marks = Marks()
        for place, turn in enumerate(conversation.turns):
            result = detector.analyze(turn.text, turn.role, files=turn.files)
            if result.boundary is not None:
                marks.scores[place - 1] = result.boundary
            if result.trigger and result.trigger.type is TriggerType.TOPIC_SHIFT:
                marks.places.add(place - result.trigger.at)
        return marks

    return mark


def spec_marks(embedder: BundledEmbedder, known: dict[str, np.ndarray]) -> Marker:
    """Marks by the spec's rule."""

    def mark(conversation: Conversation) -> Marks:
        units = _units(conversation)
        texts = [text for _, text in units]
        if missing := [text for text in dict.fromkeys(texts) if text not in known]:
            known.update(zip(missing, embedder.embed_query([said(text) for text in missing]), strict=True))
        vectors = np.array([known[text] for text in texts])
        marks = Marks()
        for number in range(1, len(units)):
            centroid = vectors[max(0, number - _SPEC_CENTROID) : number].mean(axis=0)
            cosine = float(vectors[number] @ centroid / (np.linalg.norm(centroid) + 1e-9))
            place = units[number][0]
            marks.scores[place] = -cosine
            if cosine < _SPEC_COSINE:
                marks.places.add(place)
        return marks

    return mark


def _units(conversation: Conversation) -> list[tuple[int, str]]:
    """What the spec's rule compares: messages, and in coding sessions exchanges."""
    turns = conversation.turns
    if not any(turn.files for turn in turns):
        return [(place, turn.text) for place, turn in enumerate(turns)]
    return [(place, f"{turns[place].text}\n{turns[place + 1].text}") for place in range(0, len(turns), 2)]


def boundary_row(name: str, conversations: Sequence[Conversation], marker: Marker, step: int) -> list[str]:
    """Every figure of a set."""
    hits = named = true = windows = 0
    pk = difference = purity = coverage = 0.0
    labels: list[bool] = []
    scores: list[float] = []
    for conversation in conversations:
        marks = marker(conversation)
        gold = {place for place, begins in enumerate(conversation.begins) if begins}
        hits += len(marks.places & gold)
        named += len(marks.places)
        true += len(gold)
        for place in range(step, len(conversation.turns), step):
            if place in marks.scores:
                labels.append(place in gold)
                scores.append(marks.scores[place])
        units = len(conversation.turns) // step
        errors = _window_errors([p // step for p in gold], [p // step for p in marks.places], units)
        pk, difference, windows = pk + errors[0], difference + errors[1], windows + errors[2]
        purity += _purity(gold, marks.places, len(conversation.turns))
        coverage += _purity(marks.places, gold, len(conversation.turns))
    count = len(conversations)
    return [
        name,
        f"{2 * hits / max(1, named + true):.3f}",
        f"{hits / max(1, named):.2f}",
        f"{hits / max(1, true):.2f}",
        f"{named / max(1, true):.2f}",
        f"{_auroc(labels, scores):.3f}",
        f"{pk / max(1, windows):.3f}",
        f"{difference / max(1, windows):.3f}",
        f"{purity / count:.2f}",
        f"{coverage / count:.2f}",
    ]


def _window_errors(gold: Iterable[int], named: Iterable[int], length: int) -> tuple[float, float, int]:
    """Errors of Pk and of WindowDiff, and the windows; a window is half a true segment."""
    gold, named = set(gold), set(named)
    size = max(1, round(length / (len(gold) + 1) / 2))
    pk = difference = 0
    windows = max(0, length - size)
    for start in range(windows):
        inside = range(start + 1, start + size + 1)
        one, other = sum(place in gold for place in inside), sum(place in named for place in inside)
        pk += (one > 0) != (other > 0)
        difference += one != other
    return float(pk), float(difference), windows


def _purity(gold: set[int], named: set[int], length: int) -> float:
    """The share of messages in named segments that are of the true segment which has most of them."""
    kept = 0
    segment = np.cumsum([place in gold for place in range(length)])
    edges = [0, *sorted(named - {0}), length]
    for start, end in itertools.pairwise(edges):
        if end > start:
            kept += int(np.bincount(segment[start:end]).max())
    return kept / max(1, length)


def _auroc(labels: Sequence[bool], scores: Sequence[float]) -> float:
    """The chance that a boundary scores higher than another place; equal scores count half."""
    truth = np.array(labels, bool)
    _, ranks, counts = np.unique(np.array(scores), return_inverse=True, return_counts=True)
    order = (np.cumsum(counts) - (counts - 1) / 2)[ranks]
    count = int(truth.sum())
    if not count or count == len(truth):
        return float("nan")
    return float((order[truth].sum() - count * (count + 1) / 2) / (count * (len(truth) - count)))


def whole_sessions(sessions: Sequence[Session]) -> list[list[str]]:
    """Triggers for each 100 exchanges of real sessions, in the order in which they took place."""
    distances = Distances()
    reported: Counter[str] = Counter()
    found: Counter[str] = Counter()
    exchanges, most = 0, 0
    for session in sorted(sessions, key=lambda one: (one.messages[0].time or 0 if one.messages else 0, one.id)):
        detector = TriggerDetector(distances=distances)
        said_here = exchanges_of(session)
        exchanges += len(said_here)
        for turn in turns_of(said_here, whole=True):
            result = detector.analyze(
                turn.text,
                turn.role,
                files=turn.files,
                time=turn.time,
                committed=turn.committed,
                web_searches=turn.web_searches,
            )
            kinds = {*result.found}
            if turn.role != USER:
                # The detector itself looks for these only when it could report them.
                spoken = spoken_scores(said(turn.text))
                kinds |= {kind for kind, score in spoken.items() if score >= Dials().trigger_threshold}
            found.update(kind.value for kind in kinds)
            if result.trigger:
                reported[result.trigger.type.value] += 1
            most = max(most, len(json.dumps(detector.state())))
    rows = [
        [kind, str(found[kind]), str(reported[kind]), f"{100 * reported[kind] / exchanges:.2f}"]
        for kind in sorted({*found, *reported})
    ]
    total = sum(reported.values())
    rows.append([f"all, {exchanges} exchanges", str(sum(found.values())), str(total), f"{100 * total / exchanges:.2f}"])
    rows.append(["largest state, bytes", str(most), "", ""])
    return rows


def message_rows(sessions: Sequence[Session], labels: Path) -> list[list[str]]:
    """Precision and recall of what messages say, by hand-read messages."""
    by_id = {session.id: session for session in sessions}
    counts: dict[tuple[str, str], Counter[str]] = {}
    for line in labels.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        part, session, number, label = line.split()
        if session not in by_id or int(number) >= len(by_id[session].messages):
            continue
        scores = spoken_scores(said(by_id[session].messages[int(number)].text))
        for letter, kind in _KINDS.items():
            is_true, is_found = letter in label, scores.get(kind, 0.0) >= Dials().trigger_threshold
            count = counts.setdefault((part, kind.value), Counter())
            count["messages"] += 1
            count["true"] += is_true
            count["found"] += is_found
            count["hits"] += is_true and is_found
    return [
        [part, kind, str(count["messages"]), str(count["true"]), str(count["found"]),
         f"{count['hits'] / max(1, count['found']):.2f}", f"{count['hits'] / max(1, count['true']):.2f}"]
        for (part, kind), count in sorted(counts.items())
    ]  # fmt: skip


def dump(path: Path, sets: dict[str, list[Conversation]]) -> None:
    """Write the rows that `training/triggers.py` learns from."""
    with path.open("w", encoding="utf-8") as file:
        for name, conversations in sets.items():
            for conversation in conversations:
                context = Context()
                for place, turn in enumerate(conversation.turns):
                    message = Said(said(turn.text), turn.role, turn.files)
                    if features := context.features(message):
                        row = {
                            "set": name.split(" ")[0],
                            "held": conversation.held,
                            "begins": conversation.begins[place - 1],
                            "features": features,
                            "words": [sorted(words) for words in context.cues(message)],
                        }
                        file.write(f"{json.dumps(row)}\n")
                    context.add(message)


def cost() -> str:
    """The CPU of one exchange of 2,000 characters, with state and distances read and written."""
    text = ("The parser reads the header first and then the body of every record, which the index keeps. " * 30)[:1000]
    state: dict[str, object] = {}
    distances: dict[str, object] = {}
    for number in range(40):
        detector = TriggerDetector(state=json.loads(json.dumps(state)), distances=json.loads(json.dumps(distances)))
        if number == 20:
            started = time.process_time()
        for role in ("user", "agent"):
            detector.analyze(f"{text} {number * 7919 % 1000} topic{number}", role)
        state, distances = detector.state(), detector.distances.state()
    return f"{1000 * (time.process_time() - started) / 20:.1f} ms an exchange, warm"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dts", type=Path, required=True, help="folder with Def-DTS's JSON lines")
    parser.add_argument("--sessions", required=True, help="folder of SpecStory's Markdown, or a bare git repository")
    parser.add_argument("--parity", choices=["even", "odd"])
    parser.add_argument("--labels", type=Path, default=_LABELS)
    parser.add_argument("--dump", type=Path, help="write what training/triggers.py learns from, and end")
    options = parser.parse_args()
    sessions = sessions_of(options.sessions, options.parity)
    sets = {name: labelled(options.dts / file, name) for name, file in SETS.items() if (options.dts / file).is_file()}
    learned = [session for session in sessions if not is_held(session)]
    kept = [session for session in sessions if is_held(session)]
    if options.dump:
        halves = spliced(learned, 1, held=False) + spliced(kept, 2, held=True)
        dump(options.dump, {**sets, "spliced": halves})
        return
    is_judging = options.parity == "odd"
    sets["spliced, all"] = spliced(sessions, 3, held=is_judging)
    sets["spliced"] = spliced(kept, 2, held=True)
    embedder, known = BundledEmbedder(), {}
    rows = []
    for name, conversations in sets.items():
        step = 2 if name.startswith("spliced") else 1
        rows.append(boundary_row(name, conversations, detector_marks(), step))
        held = [conversation for conversation in conversations if conversation.held]
        if held and len(held) < len(conversations):
            rows.append(boundary_row("  held out", held, detector_marks(), step))
        elif held:
            rows[-1][0] += " (held out)"
        rows.append(boundary_row("  the spec's rule", conversations, spec_marks(embedder, known), step))
    head = ["set", "F1", "P", "R", "named/true", "AUROC", "Pk", "WinDiff", "purity", "coverage"]
    print(table(head, rows))
    print()
    print(table(["whole sessions", "found", "reported", "per 100 exchanges"], whole_sessions(sessions)))
    if options.labels.is_file() and (messages := message_rows(sessions, options.labels)):
        print()
        print(table(["labels", "kind", "messages", "true", "found", "precision", "recall"], messages))
    print(f"\nthreshold {Dials().trigger_threshold}; {cost()}")


if __name__ == "__main__":
    main()
