"""How well memory search finds what was said: LoCoMo's long conversations, one passage a turn, evidence by turn.

    python benchmarks/locomo.py LOCOMO10.JSON [--model NAME] [--tune] [--ablate]

The data is `data/locomo10.json` of the public repository snap-research/LoCoMo; it stays outside of ours. Questions of
the categories 1 to 4 (the fifth has no answer in the conversation). Recall@k is the share of a question's evidence
among the first k turns, averaged over the questions. The passages, the ranking and the model are those that
`sage checkpoint search` uses; weights were chosen on every other conversation (`--tune`), the rest was not looked at.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from sage_code.embed.loading import load_embedder
from sage_code.embed.protocol import Embedder
from sage_code.memory.index.passages import Passages, all_of, record_of
from sage_code.memory.recall.ranking import DEFAULT, Weights, best, signals, words_of

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}


class Conversation:
    """The turns of one conversation as passages, and its questions with their evidence."""

    def __init__(self, sample: dict[str, Any], embedder: Embedder) -> None:
        texts: list[str] = []
        records = []
        talk = sample["conversation"]
        for number in itertools.count(1):
            if f"session_{number}_date_time" not in talk:
                break
            before = ""
            for turn in talk.get(f"session_{number}", []):
                said = f"{turn['text']} {turn.get('blip_caption', '')}".strip()
                texts.append(f"{turn['speaker']}: {said}")
                records.append(record_of(turn["dia_id"], texts[-1], follows=before, names=(turn["speaker"],)))
                before = turn["dia_id"]
        self.passages: Passages = all_of(records, embedder.embed_code(texts))
        self.questions = [
            (question["question"], evidence, question["category"])
            for question in sample["qa"]
            if question["category"] in CATEGORIES
            and (evidence := set(re.findall(r"D\d+:\d+", " ".join(question.get("evidence", [])))))
        ]
        self.vectors = embedder.embed_query([question for question, _, _ in self.questions])


def recall(conversations: Iterable[Conversation], weights: Weights) -> dict[str, float]:
    """Recall at 5 and 10, over all questions and by category."""
    found: dict[str, list[float]] = defaultdict(list)
    for talk in conversations:
        for (question, evidence, category), vector in zip(talk.questions, talk.vectors, strict=True):
            rows = best(signals(talk.passages, words_of(question), vector, weights), 10)
            ids = [talk.passages.records[row].id for row in rows]
            for k in (5, 10):
                share = len(evidence & set(ids[:k])) / len(evidence)
                found[f"R@{k}"].append(share)
                found[f"R@{k} {CATEGORIES[category]}"].append(share)
    return {name: statistics.mean(shares) for name, shares in found.items()}


def tune(conversations: list[Conversation]) -> Weights:
    """The best weights on these conversations: one weight at a time, round after round."""
    choices: dict[str, list[float]] = {
        "k1": [0.3, 0.6, 0.9, 1.2],
        "b": [0.1, 0.2, 0.3, 0.5],
        "dense": [0.0, 0.05, 0.1, 0.15, 0.2, 0.3],
        "near": [0.2, 0.3, 0.4, 0.5, 0.6],
        "far": [0.0, 0.15, 0.25, 0.35, 0.45],
        "name": [0.0, 0.05, 0.1, 0.15, 0.2],
    }
    weights, top = DEFAULT, _goal(conversations, DEFAULT)
    for _ in range(2):
        for name, values in choices.items():
            for value in values:
                tried = replace(weights, **{name: value})
                goal = _goal(conversations, tried)
                if goal > top:
                    weights, top = tried, goal
            print(f"  {name}: {getattr(weights, name)}  ({top:.4f})", flush=True)
    return weights


def _goal(conversations: list[Conversation], weights: Weights) -> float:
    found = recall(conversations, weights)
    return (found["R@5"] + found["R@10"]) / 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--tune", action="store_true", help="choose weights on every other conversation")
    parser.add_argument("--ablate", action="store_true", help="leave one signal out at a time")
    given = parser.parse_args()
    embedder = load_embedder(given.model, "prose")
    conversations = [Conversation(sample, embedder) for sample in json.loads(given.data.read_text())]
    weights = tune(conversations[::2]) if given.tune else DEFAULT
    print(f"{embedder.name}, {weights}")
    halves = {"chosen on": conversations[::2], "not looked at": conversations[1::2], "all": conversations}
    for name, part in halves.items():
        found = recall(part, weights)
        count = sum(len(talk.questions) for talk in part)
        print(f"| {name} | {count} | " + " | ".join(f"{found[key]:.3f}" for key in sorted(found)) + " |")
    print("| | questions | " + " | ".join(sorted(found)) + " |")
    for name in ("dense", "near", "far", "name") if given.ablate else ():
        less = recall(conversations, replace(weights, **{name: 0.0}))
        print(f"without {name}: R@5 {less['R@5']:.3f}, R@10 {less['R@10']:.3f}")
    if given.ablate:
        plain = recall(conversations, Weights(1.2, 0.75, 0, 0, 0, 0))
        print(f"BM25 alone: R@5 {plain['R@5']:.3f}, R@10 {plain['R@10']:.3f}")


if __name__ == "__main__":
    main()
