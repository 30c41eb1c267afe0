"""Packs a checkpoint for the wheel: int8 rows, integer weights, the vocabulary, a name, the model card.

    python -m training.pack --run DATA/run --tokens DATA/tokens --out sage_code/embed/model

Each row is scaled to the range of int8 by itself, and its scale goes into the weights of its word. Only the ratios of
the weights count, since every vector gets unit length in the end.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from string import Template

import numpy as np
from numpy.typing import NDArray

from sage_code.embed.packed import FACTS, FORMAT, ROWS, VOCABULARY, WEIGHTS
from training.train import finished
from training.train_batches import TokenPairs

CARD = "CARD.md"
_LARGEST_ENTRY = 127
_LARGEST_WEIGHT = 65_535
# The few heaviest words would leave the others too few whole numbers: they are cut to this quantile.
_HEAVIEST = 0.9999


def quantise(table: NDArray[np.float32], logs: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.uint16]]:
    """The rows as int8, and for each field the weights of the words as whole numbers."""
    scales = np.maximum(np.abs(table).max(axis=1), 1e-12) / _LARGEST_ENTRY
    rows = np.rint(table / scales[:, None]).astype(np.int8)
    weights = np.exp(logs.astype(np.float64)) * scales
    # Questions and code are scaled apart: they are never added to each other.
    for fields in (slice(0, 2), slice(2, 3)):
        weights[fields] *= _LARGEST_WEIGHT / np.quantile(weights[fields], _HEAVIEST)
    return rows, np.clip(np.rint(weights), 0, _LARGEST_WEIGHT).astype(np.uint16)


def write_model(
    out: Path, words: Sequence[str], buckets: int, rows: NDArray[np.int8], weights: NDArray[np.uint16]
) -> str:
    """Write the files that the runtime maps, and return the name of the vectors."""
    out.mkdir(parents=True, exist_ok=True)
    (out / VOCABULARY).write_text("\n".join(words), encoding="utf-8")
    np.save(out / ROWS, np.ascontiguousarray(rows))
    np.save(out / WEIGHTS, np.ascontiguousarray(weights))
    digest = hashlib.sha256()
    for name in (VOCABULARY, ROWS, WEIGHTS):
        digest.update((out / name).read_bytes())
    name = f"bundled@{digest.hexdigest()[:12]}"
    facts = {"format": FORMAT, "name": name, "dim": rows.shape[1], "words": len(words), "buckets": buckets}
    (out / FACTS).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return name


def pack(runs: Sequence[Path], tokens: Path, out: Path) -> str:
    """Pack the last checkpoint of a run, or the mean of several; the name of its vectors."""
    pairs = TokenPairs(tokens)
    model = finished(*runs)
    return write_model(out, pairs.vocabulary, pairs.buckets, *quantise(model.table, model.weights))


def write_card(out: Path, runs: Sequence[Path], tokens: Path, template: Path, figures: Path) -> None:
    """The text of the model card, with the numbers of this run filled in."""
    facts = json.loads((tokens / "tokens.json").read_text())
    names = json.loads((tokens / "names.json").read_text())
    languages = np.bincount(np.load(tokens / "language.npy"), minlength=len(names["language"]))
    kinds = np.bincount(np.load(tokens / "kind.npy"), minlength=len(names["kind"]))
    size = sum((out / name).stat().st_size for name in (FACTS, VOCABULARY, ROWS, WEIGHTS))
    (out / CARD).write_text(
        Template(template.read_text(encoding="utf-8")).substitute(
            json.loads((out / FACTS).read_text()),
            pairs=f"{facts['pairs']:,}",
            packages=f"{len(names['package']):,}",
            languages=_listed(names["language"], languages),
            kinds=_listed(names["kind"], kinds),
            recipe="\n".join((run / "recipe.json").read_text().strip() for run in runs),
            megabytes=f"{size / 1e6:.1f}",
            figures=figures.read_text(encoding="utf-8").strip(),
        ),
        encoding="utf-8",
    )


def _listed(names: Sequence[str], counts: NDArray[np.int64]) -> str:
    return ", ".join(f"{names[number]} {counts[number]:,}" for number in np.argsort(-counts, kind="stable"))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=Path, required=True, nargs="+", help="several runs are averaged")
    parser.add_argument("--tokens", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--card", type=Path, help="text of the model card, with places for the numbers")
    parser.add_argument("--figures", type=Path, help="what benchmarks/model.py printed, for the card")
    chosen = parser.parse_args()
    name = pack(chosen.run, chosen.tokens, chosen.out)
    if chosen.card and chosen.figures:
        write_card(chosen.out, chosen.run, chosen.tokens, chosen.card, chosen.figures)
    print(f"{name} written to {chosen.out}")


if __name__ == "__main__":
    main()
