"""What a teacher says of sentences: which of them mean the same. Training follows it, besides the pairs.

    python training/train_init.py sentences PAIRS SENTENCES.npz --most 90000      # a vector of MiniLM for each sentence
    python -m training.train_sentences --vectors SENTENCES.npz... --tokens TOKENS # writes TOKENS/sentences.npz

The loss of a block of sentences compares two distributions over the other sentences of the block, for each of them: the
teacher's, and the student's, which embeds a sentence once as a question and once as the lines of a stored text. Blocks
are made of runs of sentences that the teacher finds similar: to tell those apart is what it can teach.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sage_code.embed.words import Vocabulary
from training.train_batches import Entries, Floats, Ints, TokenPairs, blocks, nearby_runs

SENTENCES = "sentences.npz"
_FEWEST_WORDS = 2


class Sentences:
    """Sentences as rows of the table, with the teacher's vectors."""

    def __init__(self, path: Path) -> None:
        with np.load(path, allow_pickle=False) as kept:
            self._ids, self._tf, self._starts = kept["ids"], kept["tf"], kept["starts"]
            self.vectors: Floats = kept["vectors"].astype(np.float32)
        self.count = len(self.vectors)

    def entries(self, chosen: Ints) -> Entries:
        """The words of some sentences."""
        starts = self._starts[chosen]
        sizes = self._starts[chosen + 1] - starts
        owner = np.repeat(np.arange(len(chosen)), sizes)
        places = np.arange(len(owner)) + np.repeat(starts - np.cumsum(sizes) + sizes, sizes)
        return Entries(owner, self._ids[places].astype(np.int64), 1 + np.log(self._tf[places].astype(np.float32)))

    def order(self, size: int, run: int, rng: np.random.Generator) -> list[Ints]:
        """All of them in blocks of `size`, made of runs of similar ones."""
        return list(blocks(nearby_runs(self.vectors, np.arange(self.count), run, rng), size))


def neighbourhood(
    asked: Floats, stored: Floats, teacher: Floats, temperature: float, teacher_temperature: float
) -> tuple[Floats, Floats, float]:
    """Both slopes of the cross entropy between the teacher's and the student's neighbours, and the loss."""
    likely = np.exp((teacher @ teacher.T - 1) / np.float32(teacher_temperature))
    np.fill_diagonal(likely, 0)
    likely /= likely.sum(axis=1, keepdims=True)
    sharpness = np.float32(1 / temperature)
    score = np.exp((asked @ stored.T - 1) * sharpness)
    np.fill_diagonal(score, 0)
    by_row, by_column = score / score.sum(axis=1, keepdims=True), score / score.sum(axis=0, keepdims=True)
    slope = (by_row - likely) + (by_column - likely.T)
    slope *= sharpness / np.float32(2 * len(asked))
    tiny = np.float32(1e-12)
    loss = -float((likely * np.log(by_row + tiny)).sum() + (likely.T * np.log(by_column + tiny)).sum()) / 2 / len(asked)
    return slope @ stored, slope.T @ asked, loss


def write(vectors: Sequence[Path], tokens: Path) -> int:
    """Write the sentences that have enough known words as arrays; returns how many."""
    pairs = TokenPairs(tokens)
    vocabulary = Vocabulary(pairs.vocabulary, pairs.buckets)
    ids: list[int] = []
    tf: list[int] = []
    starts = [0]
    chosen = []
    for path in vectors:
        texts, of_texts = vectors_of(path)
        rows = []
        for row, text in enumerate(texts):
            found = vocabulary.count(text)
            if len(found) >= _FEWEST_WORDS:
                ids += found.keys()
                tf += found.values()
                starts.append(len(ids))
                rows.append(row)
        chosen.append(of_texts[rows].astype(np.float16))
    arrays = {"ids": np.array(ids, dtype=np.int32), "tf": np.array(tf, dtype=np.uint8), "starts": np.array(starts)}
    np.savez(tokens / SENTENCES, vectors=np.concatenate(chosen), **arrays)  # type: ignore[arg-type]
    return len(starts) - 1


def vectors_of(path: Path) -> tuple[list[str], Floats]:
    """The texts and vectors of a file of `train_init.py`."""
    with np.load(path, allow_pickle=False) as kept:
        return kept["words"].tolist(), kept["vectors"].astype(np.float32)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--vectors", type=Path, required=True, nargs="+")
    parser.add_argument("--tokens", type=Path, required=True)
    chosen = parser.parse_args()
    print(f"{write(chosen.vectors, chosen.tokens):,} sentences written")


if __name__ == "__main__":
    main()
