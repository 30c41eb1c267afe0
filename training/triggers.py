"""Learns by which features and words a new topic is recognised, for `sage_code/continuity/triggers/weights.py`.

    python benchmarks/triggers.py … --dump ROWS.jsonl
    python -m training.triggers ROWS.jsonl > sage_code/continuity/triggers/weights.py
    python -m training.triggers ROWS.jsonl --compare        # what each group of features adds, by cross-validation

A row is a place in a conversation: the features of `context.py`, the words around it, and whether a topic begins there.
Rows that the benchmark marks as held out are not learned from. Every set of conversations weighs the same. Cue words
come from a closed list of general words of talk, so that no topic of the data is learned by heart.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sage_code.continuity.triggers.context import FEATURES

Floats = NDArray[np.float64]
# Strength of the prior that weights are zero; features are scaled up, so that it binds them less than the words.
_RIDGE_FEATURES, _RIDGE_WORDS = 1.0, 6.0
# Rarer words say nothing certain.
_LEAST_COUNT = 30
# Rows that each set counts for, whatever its size.
_SET_WEIGHT = 5000
_KINDS = ("HERE", "BEFORE", "AFTER")
_WORDS = frozenset((
    "a", "about", "actually", "after", "again", "all", "also", "alright", "am", "an", "and", "another", "any",
    "anything", "are", "as", "at", "back", "be", "because", "been", "before", "but", "by", "bye", "can", "change",
    "could", "did", "different", "do", "does", "doing", "done", "don't", "else", "ever", "excellent", "far",
    "favorite", "fine", "find", "first", "for", "forward", "from", "get", "go", "going", "good", "goodbye", "got",
    "great", "had", "happy", "has", "have", "hello", "help", "her", "here", "hey", "hi", "him", "his", "how",
    "however", "i", "i'd", "i'll", "i'm", "i've", "if", "in", "instead", "into", "is", "it", "it's", "its", "just",
    "know", "last", "let", "let's", "like", "look", "looking", "love", "lot", "me", "more", "much", "my", "name",
    "need", "new", "next", "nice", "no", "not", "now", "of", "off", "oh", "ok", "okay", "on", "one", "or", "other",
    "our", "out", "over", "perfect", "please", "question", "really", "right", "say", "see", "she", "should", "so",
    "some", "something", "sorry", "still", "sure", "switch", "talk", "tell", "than", "thank", "thanks", "that",
    "that's", "the", "their", "them", "then", "there", "there's", "these", "they", "thing", "think", "this", "those",
    "to", "today", "too", "topic", "try", "two", "up", "us", "very", "wait", "want", "was", "way", "we", "welcome",
    "well", "were", "what", "what's", "when", "where", "which", "while", "who", "why", "will", "with", "won't",
    "work", "would", "yeah", "yep", "yes", "you", "you're", "your",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rows:
    """Places of conversations, as arrays."""

    sets: list[str]
    held: NDArray[np.bool_]
    labels: Floats
    features: Floats
    words: list[set[tuple[int, str]]]


def read_rows(path: str) -> Rows:
    """The rows of a file that the benchmark wrote."""
    with open(path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    words = [
        {(kind, word) for kind, said in enumerate(row["words"]) for word in said if word in _WORDS} for row in rows
    ]
    return Rows(
        [row["set"] for row in rows],
        np.array([row["held"] for row in rows], bool),
        np.array([row["begins"] for row in rows], float),
        np.array([row["features"] for row in rows], float),
        words,
    )


def vocabulary_of(rows: Rows, learned: NDArray[np.bool_]) -> list[tuple[int, str]]:
    """The words that occur often enough where is learned."""
    counts = Counter(word for place in np.flatnonzero(learned) for word in rows.words[place])
    return sorted(word for word, count in counts.items() if count >= _LEAST_COUNT)


def matrix_of(rows: Rows, vocabulary: list[tuple[int, str]], dropped: frozenset[int] = frozenset()) -> Floats:
    """Features, words and a constant, as columns."""
    number = {word: column for column, word in enumerate(vocabulary)}
    words = np.zeros((len(rows.words), len(vocabulary)))
    for place, said in enumerate(rows.words):
        for word in said:
            if word in number:
                words[place, number[word]] = 1
    features = rows.features.copy()
    features[:, sorted(dropped)] = 0
    return np.hstack([features, words, np.ones((len(rows.words), 1))])


def learn(columns: Floats, rows: Rows, learned: NDArray[np.bool_], features: int) -> Floats:
    """Weights of the columns by logistic regression with ridge, in Newton's steps."""
    sizes = Counter(name for name, used in zip(rows.sets, learned, strict=True) if used)
    balance = np.array([_SET_WEIGHT / sizes[name] if sizes[name] else 0.0 for name in rows.sets])[learned]
    x, y = columns[learned], rows.labels[learned]
    ridge = np.full(x.shape[1], _RIDGE_WORDS)
    ridge[:features] = _RIDGE_FEATURES
    ridge[-1] = 1e-3
    weights: Floats = np.zeros(x.shape[1])
    for _ in range(30):
        chance = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        slope = x.T @ (balance * (y - chance)) - ridge * weights
        bend = (x * (balance * chance * (1 - chance))[:, None]).T @ x + np.diag(ridge)
        step = np.linalg.solve(bend, slope)
        weights += step
        if float(np.abs(step).max()) < 1e-6:
            break
    return weights


def auroc(labels: Floats, scores: Floats) -> float:
    """The chance that a beginning scores higher than another place."""
    order = np.argsort(np.argsort(scores, kind="stable"), kind="stable") + 1.0
    positive = labels > 0
    count = float(positive.sum())
    return float((order[positive].sum() - count * (count + 1) / 2) / (count * (len(labels) - count)))


def f1(labels: Floats, scores: Floats, share: float = 1.0) -> float:
    """F1 when `share` times as many places are named as there are."""
    named = int(share * labels.sum())
    hits = labels[np.argsort(-scores, kind="stable")[:named]].sum()
    return float(2 * hits / (named + labels.sum()))


def compare(rows: Rows) -> None:
    """Print what each group of features adds: AUROC and F1 of a part that is not learned from."""
    number = {name: column for column, name in enumerate(FEATURES)}
    groups = {
        "all": (set[str](), (0, 1, 2)),
        "without words": (set(), ()),
        "without the words after": (set(), (0, 1)),
        "without the answer": (
            {"near cosine", "near overlap", "far overlap", "seen", "no terms", "file overlap", "no files",
             "length after", "question after", "near cosine in work", "near overlap in work", "far overlap in work",
             "seen in work", "length after in work"},
            (0, 1),
        ),
        "without files": ({"file overlap", "no files"}, (0, 1, 2)),
        "without lengths and questions": (
            {name for name in FEATURES if "length" in name or "question" in name},
            (0, 1, 2),
        ),
    }  # fmt: skip
    names = sorted(set(rows.sets))
    # Every third row of the learned part is set aside; conversations are not cut, for their rows follow each other.
    blocks = np.arange(len(rows.sets)) // 500 % 3 == 0
    for title, (dropped, kinds) in groups.items():
        words = [{word for word in said if word[0] in kinds} for said in rows.words]
        shown = Rows(rows.sets, rows.held, rows.labels, rows.features, words)
        learned = ~rows.held & ~blocks
        vocabulary = vocabulary_of(shown, learned)
        columns = matrix_of(shown, vocabulary, frozenset(number[name] for name in dropped))
        scores = columns @ learn(columns, shown, learned, len(FEATURES))
        print(f"{title:32}", end="")
        for name in names:
            judged = np.array([one == name for one in rows.sets]) & ~rows.held & blocks
            if judged.any() and rows.labels[judged].any():
                labels, marks = rows.labels[judged], scores[judged]
                print(f" {name} {auroc(labels, marks):.3f} {f1(labels, marks):.3f}", end=";")
        print()


def write(rows: Rows) -> None:
    """Print the module of the weights, learned from everything that is not held out."""
    learned = ~rows.held
    vocabulary = vocabulary_of(rows, learned)
    columns = matrix_of(rows, vocabulary)
    weights = learn(columns, rows, learned, len(FEATURES))
    print('"""How much each feature and cue word says for a new topic; made by `python -m training.triggers`."""\n')
    print("from __future__ import annotations\n")
    print(f"CONSTANT = {weights[-1]:.3f}\n# In the order of `context.FEATURES`.\nFEATURE_WEIGHTS = (")
    for name, weight in zip(FEATURES, weights, strict=False):
        print(f"    {weight:.3f},  # {name}")
    print(")")
    for kind, title in enumerate(_KINDS):
        entries = [
            f"{json.dumps(word)}: {weight:.2f},"
            for (number, word), weight in zip(vocabulary, weights[len(FEATURES) :], strict=False)
            if number == kind and abs(weight) >= 0.005
        ]
        print(f"# Words {('of the message', 'before it', 'of its answer')[kind]}.\n{title} = {{")
        line = "   "
        for entry in entries:
            if len(line) + len(entry) > 118:
                print(line)
                line = "   "
            line += f" {entry}"
        print(f"{line}\n}}  # fmt: skip")
    scores = columns @ weights
    for name in sorted(set(rows.sets)):
        judged = np.array([one == name for one in rows.sets])
        parts = [("learned", judged & ~rows.held), ("held out", judged & rows.held)]
        for part, places in parts:
            if places.any() and rows.labels[places].any():
                labels, said = rows.labels[places], scores[places]
                print(
                    f"{name:12} {part:9} {len(labels):6} AUROC {auroc(labels, said):.3f} F1 {f1(labels, said):.3f}",
                    file=sys.stderr,
                )
    edges = np.arange(-6, 6.01, 0.25)
    counts = np.histogram(np.clip(scores[learned], -5.99, 5.99), edges)[0]
    print("prior of distances.py:", (100 * counts / counts.sum()).round().astype(int).tolist(), file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", help="what `benchmarks/triggers.py --dump` wrote")
    parser.add_argument("--compare", action="store_true")
    options = parser.parse_args()
    rows = read_rows(options.rows)
    (compare if options.compare else write)(rows)


if __name__ == "__main__":
    main()
