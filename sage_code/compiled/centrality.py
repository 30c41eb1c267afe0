"""How much the rest of a project uses what a file defines, counted by name when a generation is written.

Nobody has resolved the references yet, so a name that is defined in several files shares its users among them, and one
that is defined in many says nothing about any file. A file's own uses do not count, nor do imports. Names are compared
by their hashes over all segments, dead files left out: the same files give the same counts, however they are spread.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.segment import Segment
from sage_code.parse.reference_codec import KINDS

# In more files than this a name is defined too often to say whose it is.
_MAX_DEFINERS = 3

Numbers = NDArray[np.int64]


def centrality(segments: Sequence[tuple[Segment, Collection[int]]]) -> dict[str, NDArray[Any]]:
    """`chunk_uses`, the users of the most used name that each chunk defines, by its definers; `file_users`, the files
    that use anything a file defines. Chunks and files are numbered through, and those of dead files have none."""
    files, chunks_in_all = (sum(segment.meta[what] for segment, _ in segments) for what in ("files", "chunks"))
    known, defined, owners, chunks = _defined(segments)
    names, users = _used(segments, known)
    uses = np.bincount(names, minlength=len(known))
    starts = np.cumsum(uses) - uses
    # Which name is defined where, each pair once.
    pairs, pair_of = np.unique(defined * files + owners, return_inverse=True)
    name, owner = np.divmod(pairs, max(files, 1))
    definers = np.bincount(name, minlength=len(known))[name]
    own = np.isin(pairs, names * files + users)
    others = uses[name] - own
    chunk_uses = np.zeros(chunks_in_all, np.float32)
    np.maximum.at(chunk_uses, chunks, (others / np.maximum(definers, 1)).astype(np.float32)[pair_of])
    # The users of every name that tells whose it is, side by side; each file of them once.
    telling = (definers <= _MAX_DEFINERS) & (others > 0)
    name, owner = name[telling], owner[telling]
    counts = uses[name]
    places = np.repeat(starts[name] - (np.cumsum(counts) - counts), counts) + np.arange(int(counts.sum()))
    owner = np.repeat(owner, counts)
    using = np.unique((owner * files + users[places])[owner != users[places]])
    file_users = np.bincount(using // max(files, 1), minlength=files)
    return {"chunk_uses": chunk_uses, "file_users": file_users.astype(np.uint32)}


def _defined(
    segments: Sequence[tuple[Segment, Collection[int]]],
) -> tuple[NDArray[np.uint64], Numbers, Numbers, Numbers]:
    """The hashes of the names that are defined, in order; and of every definition its name among them, its file and
    its chunk."""
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


def _used(segments: Sequence[tuple[Segment, Collection[int]]], known: NDArray[np.uint64]) -> tuple[Numbers, Numbers]:
    """Which of the `known` names which file uses, each pair once, by name."""
    names, users = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    first_file = 0
    for segment, dead in segments if len(known) else ():
        arrays = segment.arrays
        place = np.minimum(np.searchsorted(known, arrays["ref_hash"]), len(known) - 1)
        is_known = known[place] == arrays["ref_hash"]
        ends = arrays["ref_ends"].astype(np.int64)
        user = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
        counts = (arrays["ref_kind"] < KINDS.index("import")) & is_known[arrays["ref_name"]] & segment.alive(dead)[user]
        pairs = np.unique(place[arrays["ref_name"][counts]] * len(ends) + user[counts])
        name, user = np.divmod(pairs, max(len(ends), 1))
        names.append(name)
        users.append(user + first_file)
        first_file += segment.meta["files"]
    name = np.concatenate(names)
    order = np.argsort(name, kind="stable")
    return name[order], np.concatenate(users)[order]
