"""Tokenise the pairs: choose the vocabulary, then write every pair as rows and counts that training maps from the disk.

    python -m training.tokenise --pairs DATA/pairs --out DATA/tokens --words 60000 --buckets 4096

A word is chosen by how many packages use it, not by how often: a word that one generator repeats a million times is of
no use elsewhere. Words of queries count more, since there are fewer of them and all of them matter.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from sage_code.embed.words import Vocabulary, split_identifier
from sage_code.text.lexemes import words_of

FIELDS = ("query", "lead", "body", "more")
# Training looks at no more of a text than this; the runtime allows more, and few chunks have it.
MAX_CHARS = 6_000
MAX_TF = 255
# A word that fewer packages use is left to the buckets.
MIN_PACKAGES = 3
# A package that uses a word in its queries counts as so many that use it in code.
QUERY_WORTH = 4
# Longer ones in a vocabulary are base64 and the like.
_MAX_WORD = 24


@dataclass(frozen=True, slots=True)
class Encoded:
    """A part of the pairs in numbers: for each field the entries and the start of each pair, and a few columns."""

    ids: dict[str, NDArray[np.int32]]
    tf: dict[str, NDArray[np.uint8]]
    sizes: dict[str, NDArray[np.int32]]
    named: NDArray[np.bool_]  # for each entry of the body: its word is in the name too
    columns: dict[str, NDArray[Any]]


def read_pairs(path: Path) -> Iterator[dict[str, str]]:
    """The pairs of one file, plain, .gz or .zst."""
    with _open(path) as file:
        for line in file:
            yield json.loads(line)


def _open(path: Path) -> TextIO:
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8")
    if path.suffix == ".zst":
        import zstandard  # type: ignore[import-not-found]  # only where the data are packed that way

        packed: TextIO = zstandard.open(path, "rt", encoding="utf-8")
        return packed
    return path.open(encoding="utf-8")


def shards(folder: Path) -> list[Path]:
    """The files of pairs below a folder, in a fixed order."""
    return sorted(path for path in folder.rglob("*") if ".jsonl" in path.name and path.is_file())


def choose_words(paths: Sequence[Path], size: int, workers: int) -> list[str]:
    """The vocabulary: the words and compounds that most packages use, most used first."""
    words: dict[str, int] = {}
    packages: dict[str, int] = {}
    uses: list[NDArray[np.int64]] = []
    with ProcessPoolExecutor(workers) as pool:
        for found in pool.map(_survey, paths):
            word = np.array([words.setdefault(name, len(words)) for name in found.words], dtype=np.int64)
            package = np.array([packages.setdefault(name, len(packages)) for name in found.packages], dtype=np.int64)
            uses.append(np.stack([word[found.uses[0]], package[found.uses[1]], found.uses[2]]))
    # A package is spread over the files: each of its uses of a word counts once. One number a use sorts faster.
    word, package, asked = np.concatenate(uses, axis=1)
    word, rest = np.divmod(np.unique((word * len(packages) + package) * 2 + asked), 2 * len(packages))
    asked = rest % 2
    used = np.bincount(word[asked == 0], minlength=len(words))
    queried = np.bincount(word[asked == 1], minlength=len(words))
    worth = used + QUERY_WORTH * queried
    names = list(words)
    able = np.flatnonzero(np.maximum(used, queried) >= MIN_PACKAGES)
    return [names[number] for number in sorted(able, key=lambda number: (-worth[number], names[number]))[:size]]


@dataclass(frozen=True, slots=True)
class _Survey:
    """Which package uses which word, in its code (0) or in its queries (1), in one file."""

    words: list[str]
    packages: list[str]
    uses: NDArray[np.int64]  # three rows: word, package, where


def _survey(path: Path) -> _Survey:
    """Note which package uses which word, in one file of pairs."""
    words: dict[str, int] = {}
    packages: dict[str, int] = {}
    cache: dict[str, tuple[int, ...]] = {}
    seen: dict[tuple[int, int], set[int]] = {}
    for pair in read_pairs(path):
        package = packages.setdefault(pair["package"], len(packages))
        for where, text in enumerate((pair["code"][:MAX_CHARS], pair["query"])):
            found = seen.setdefault((package, where), set())
            for word in words_of(text):
                known = cache.get(word)
                if known is None:
                    parts = _candidates(word)
                    known = cache[word] = tuple(words.setdefault(part, len(words)) for part in parts)
                found.update(known)
    uses = [
        np.stack([np.fromiter(found, dtype=np.int64), np.full(len(found), package), np.full(len(found), where)])
        for (package, where), found in seen.items()
    ]
    return _Survey(list(words), list(packages), np.concatenate(uses, axis=1))


def _candidates(word: str) -> tuple[str, ...]:
    parts = split_identifier(word) if len(word) <= 2 * _MAX_WORD else []
    if len(parts) > 1:
        parts.append("".join(parts))
    return tuple(part for part in parts if len(part) <= _MAX_WORD and not (part.isdigit() and len(part) > 4))


def encode(pairs: Iterable[dict[str, str]], words: Sequence[str], buckets: int) -> Encoded:
    """Pairs as numbers."""
    vocabulary = Vocabulary(words, buckets)
    ids: dict[str, list[int]] = {field: [] for field in FIELDS}
    tf: dict[str, list[int]] = {field: [] for field in FIELDS}
    sizes: dict[str, list[int]] = {field: [] for field in FIELDS}
    named: list[bool] = []
    columns: dict[str, list[Any]] = {name: [] for name in ("package", "language", "kind", "asked", "code")}
    for pair in pairs:
        lead, _, body = pair["code"][:MAX_CHARS].partition("\n")
        counts = {
            "query": vocabulary.count(pair["query"]),
            "lead": vocabulary.count(lead),
            "body": vocabulary.count(body),
            "more": vocabulary.count(pair.get("more", "")),
        }
        if not counts["query"] or not counts["body"]:
            continue
        for field, found in counts.items():
            ids[field] += found.keys()
            tf[field] += (min(count, MAX_TF) for count in found.values())
            sizes[field].append(len(found))
        named += (number in counts["lead"] for number in counts["body"])
        for name in ("package", "language", "kind"):
            columns[name].append(pair[name])
        columns["asked"].append(zlib.crc32(pair["query"].strip().lower().encode()))
        columns["code"].append(zlib.crc32(body.encode("utf-8", "surrogatepass")))
    return Encoded(
        {field: np.array(ids[field], dtype=np.int32) for field in FIELDS},
        {field: np.array(tf[field], dtype=np.uint8) for field in FIELDS},
        {field: np.array(sizes[field], dtype=np.int32) for field in FIELDS},
        np.array(named, dtype=bool),
        {
            name: np.array(values, dtype=np.uint32 if name in ("asked", "code") else object)
            for name, values in columns.items()
        },
    )


def write(parts: Iterable[Encoded], out: Path) -> int:
    """Join the parts and write one .npy file for each array; returns the number of pairs."""
    joined = list(parts)
    for field in FIELDS:
        np.save(out / f"{field}_ids.npy", np.concatenate([part.ids[field] for part in joined]))
        np.save(out / f"{field}_tf.npy", np.concatenate([part.tf[field] for part in joined]))
        sizes = np.concatenate([part.sizes[field] for part in joined])
        np.save(out / f"{field}_starts.npy", np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))))
    np.save(out / "body_named.npy", np.concatenate([part.named for part in joined]))
    names: dict[str, list[str]] = {}
    count = 0
    for column in joined[0].columns:
        values = np.concatenate([part.columns[column] for part in joined])
        count = len(values)
        if values.dtype == object:
            distinct, numbers = np.unique(values.astype(str), return_inverse=True)
            names[column] = distinct.tolist()
            values = numbers.astype(np.int32)
        np.save(out / f"{column}.npy", values)
    (out / "names.json").write_text(json.dumps(names))
    return count


def _encode_file(path: Path, words: Sequence[str], buckets: int) -> Encoded:
    return encode(read_pairs(path), words, buckets)


def tokenise(
    pairs: Path, out: Path, size: int, buckets: int, workers: int = 2, *, vocabulary: Path | None = None
) -> int:
    """Write the vocabulary, then the pairs; returns the number of pairs. `vocabulary` is one to keep, a word a line."""
    out.mkdir(parents=True, exist_ok=True)
    paths = shards(pairs)
    if not paths:
        sys.exit(f"there are no pairs in {pairs}: run collect, extract, pair and clean first")
    words = vocabulary.read_text(encoding="utf-8").split("\n") if vocabulary else choose_words(paths, size, workers)
    (out / "vocabulary.txt").write_text("\n".join(words), encoding="utf-8")
    with ProcessPoolExecutor(workers) as pool:
        count = write(pool.map(partial(_encode_file, words=words, buckets=buckets), paths), out)
    facts = {"words": len(words), "buckets": buckets, "pairs": count}
    (out / "tokens.json").write_text(json.dumps(facts))
    return count


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--words", type=int, default=60_000)
    parser.add_argument("--buckets", type=int, default=4_096)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--vocabulary", type=Path, help="the words of an earlier model, to continue its training")
    chosen = parser.parse_args()
    count = tokenise(
        chosen.pairs, chosen.out, chosen.words, chosen.buckets, chosen.workers, vocabulary=chosen.vocabulary
    )
    print(f"{count:,} pairs written to {chosen.out}")


if __name__ == "__main__":
    main()
