"""Centrality: how much the rest of a project uses what a chunk or a file defines.

It is counted by name when a generation is written. References are not resolved then, so a name that several files
define divides its count among them, and a name that many files define counts for none. A file's use of its own names
does not count, nor do imports. Names are compared by their hashes over all segments, without dead files: the same files
give the same counts, however segments divide them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.segment import Segment
from sage_code.parse.reference_codec import KINDS

# A name that more files define does not tell which file is meant.
_MAX_DEFINERS = 3

Numbers = NDArray[np.int64]


def centrality(segments: Sequence[tuple[Segment, Collection[int]]]) -> dict[str, NDArray[Any]]:
    """The two sections of the centrality file.

    `chunk_uses`: for each chunk, of the name that it defines and most files refer to, those files divided by the files
    that define it. `file_users`: for each file, the files that refer to anything it defines. Chunks and files are
    numbered over all segments; those of dead files count zero.
    """
    files, chunks_in_all = (sum(segment.meta[what] for segment, _ in segments) for what in ("files", "chunks"))
    known, defined, owners, chunks = _defined(segments)
    names, referrers = _referred(segments, known)
    references = np.bincount(names, minlength=len(known))
    starts = np.cumsum(references) - references
    # Each pair of a name and a file that defines it, once.
    pairs, pair_of = np.unique(defined * files + owners, return_inverse=True)
    name, owner = np.divmod(pairs, max(files, 1))
    definers = np.bincount(name, minlength=len(known))[name]
    own = np.isin(pairs, names * files + referrers)
    others = references[name] - own
    of_chunks = np.zeros(chunks_in_all, np.float32)
    np.maximum.at(of_chunks, chunks, (others / np.maximum(definers, 1)).astype(np.float32)[pair_of])
    # For every name that few files define, the files that refer to it; each pair of files counts once.
    telling = (definers <= _MAX_DEFINERS) & (others > 0)
    name, owner = name[telling], owner[telling]
    counts = references[name]
    rows = np.repeat(starts[name] - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
    owner = np.repeat(owner, counts)
    referring = np.unique((owner * files + referrers[rows])[owner != referrers[rows]])
    of_files = np.bincount(referring // max(files, 1), minlength=files)
    return {"chunk_uses": of_chunks, "file_users": of_files.astype(np.uint32)}


def _defined(
    segments: Sequence[tuple[Segment, Collection[int]]],
) -> tuple[NDArray[np.uint64], Numbers, Numbers, Numbers]:
    """The sorted hashes of the defined names; and for every definition the row of its name in them, its file and its
    chunk."""
    hashes, owners, chunks = [np.empty(0, np.uint64)], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    first_file = first_chunk = 0
    for segment, dead in segments:
        arrays = segment.arrays
        chunk = arrays["def_chunk"].astype(np.int64)
        owner = arrays["chunk_file"].astype(np.int64)[chunk]
        alive = segment.alive(dead)[owner]
        hashes.append(arrays["ref_hash"][arrays["def_name"][alive]])
        owners.append(owner[alive] + first_file)
        chunks.append(chunk[alive] + first_chunk)
        first_file += segment.meta["files"]
        first_chunk += segment.meta["chunks"]
    known, defined = np.unique(np.concatenate(hashes), return_inverse=True)
    return known, defined, np.concatenate(owners), np.concatenate(chunks)


def _referred(
    segments: Sequence[tuple[Segment, Collection[int]]], known: NDArray[np.uint64]
) -> tuple[Numbers, Numbers]:
    """Pairs of a row in `known` and a file that refers to that name, each once, sorted by name."""
    names, referrers = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    first_file = 0
    for segment, dead in segments if len(known) else ():
        arrays = segment.arrays
        row = np.minimum(np.searchsorted(known, arrays["ref_hash"]), len(known) - 1)
        is_known = known[row] == arrays["ref_hash"]
        ends = arrays["ref_ends"].astype(np.int64)
        file = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        counts = (arrays["ref_kind"] < KINDS.index("import")) & is_known[arrays["ref_name"]] & segment.alive(dead)[file]
        pairs = np.unique(row[arrays["ref_name"][counts]] * len(ends) + file[counts])
        name, file = np.divmod(pairs, max(len(ends), 1))
        names.append(name)
        referrers.append(file + first_file)
        first_file += segment.meta["files"]
    name = np.concatenate(names)
    order = np.argsort(name, kind="stable")
    return name[order], np.concatenate(referrers)[order]
