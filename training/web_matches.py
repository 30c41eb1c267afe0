"""Pairs of a web question and a function whose documentation says the same, by the judgement of a teacher.

    python -m training.web_matches --pairs PAIRS --asked ASKED.npz --said SAID.npz --out PAIRS

`training/web.py` pairs a question with the snippet that answers it on the web; what Sage searches are functions with
their documentation. `ASKED.npz` holds MiniLM's vectors of web questions and `SAID.npz` those of sentences of
documentation (`training/train_init.py`). A question and a sentence that it puts close together make a pair; the code
has the sentence in it, as it stands in a project. Written as `PAIRS/match-000.jsonl.gz`, of the kind `match`.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from training.extract import write_lines
from training.tokenise import read_pairs
from training.train_batches import Floats
from training.train_sentences import vectors_of

# Below this cosine a question and a sentence often mean different things.
CLOSE = 0.65
_NEAREST = 8
# A question has few right answers; a sentence that answers everything says nothing.
_MOST_OF_QUESTION, _MOST_OF_SENTENCE = 2, 6
_AT_ONCE = 1_024


def matches(asked: Floats, said: Floats, close: float = CLOSE) -> Iterator[tuple[int, int]]:
    """Numbers of questions and sentences that are close, the closest first."""
    found: list[tuple[float, int, int]] = []
    for start in range(0, len(asked), _AT_ONCE):
        score = asked[start : start + _AT_ONCE] @ said.T
        nearest = np.argpartition(-score, min(_NEAREST, len(said) - 1), axis=1)[:, :_NEAREST]
        for row, columns in enumerate(nearest):
            found += [(float(score[row, one]), start + row, int(one)) for one in columns if score[row, one] >= close]
    of_question: Counter[int] = Counter()
    of_sentence: Counter[int] = Counter()
    for _score, question, sentence in sorted(found, reverse=True):
        if of_question[question] < _MOST_OF_QUESTION and of_sentence[sentence] < _MOST_OF_SENTENCE:
            of_question[question] += 1
            of_sentence[sentence] += 1
            yield question, sentence


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=Path, required=True, help="where the documentation comes from")
    parser.add_argument("--asked", type=Path, required=True)
    parser.add_argument("--said", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    questions, asked = vectors_of(arguments.asked)
    sentences, said = vectors_of(arguments.said)
    documented: dict[str, list[dict[str, str]]] = {}
    for path in sorted(arguments.pairs.glob("train-*.jsonl.gz")):
        for pair in read_pairs(path):
            if pair["kind"] == "doc":
                documented.setdefault(pair["query"].strip(), []).append(pair)
    made = []
    for question, sentence in matches(asked, said):
        of_code = documented.get(sentences[sentence], [])
        if of_code and questions[question].lower() != sentences[sentence].lower():
            pair = random.Random(7 * question + sentence).choice(of_code)
            lead, _, body = pair["code"].partition("\n")
            code = f"{lead}\n{sentences[sentence]}\n{body}"
            package = f"match-{pair['language']}"
            made.append({**pair, "query": questions[question], "code": code, "package": package, "kind": "match"})
    write_lines(arguments.out / "match-000.jsonl.gz", made)
    print(f"{len(made):,} pairs of {len(questions):,} questions and {len(sentences):,} sentences")


if __name__ == "__main__":
    main()
