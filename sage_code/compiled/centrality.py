"""How much the rest of a project uses what a file defines, counted by name when a segment is written.

Nobody has resolved the references yet, so a name that is defined in several files shares its users among them, and one
that is defined in many says nothing about any file. A file's own uses do not count, nor do imports.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sage_code.reference_codec import KINDS

# In more files than this a name is defined too often to say whose it is.
_MAX_DEFINERS = 3

Numbers = NDArray[np.int64]


def famous(
    arrays: dict[str, NDArray[Any]], chunk_uses: NDArray[np.float32], file_users: NDArray[np.uint32]
) -> dict[str, NDArray[Any]]:
    """How much chunks and files are used: by those of the segment, or as much as was known before."""
    found = centrality(arrays, len(file_users))
    return {
        "chunk_uses": np.maximum(found["chunk_uses"], chunk_uses),
        "file_users": np.maximum(found["file_users"], file_users),
    }


def centrality(arrays: dict[str, NDArray[Any]], files: int) -> dict[str, NDArray[Any]]:
    """`chunk_uses`, the users of the most used name that each chunk defines, by its definers; `file_users`, the files
    that use anything a file defines."""
    names, users = _used(arrays)
    defined, chunks = arrays["def_name"].astype(np.int64), arrays["def_chunk"].astype(np.int64)
    owners = arrays["chunk_file"].astype(np.int64)[chunks]
    most = int(max(names.max(initial=0), defined.max(initial=0))) + 1
    uses = np.bincount(names, minlength=most)
    starts = np.cumsum(uses) - uses
    # Which name is defined where, each pair once.
    pairs, pair_of = np.unique(defined * files + owners, return_inverse=True)
    name, owner = np.divmod(pairs, max(files, 1))
    definers = np.bincount(name, minlength=most)[name]
    own = np.isin(pairs, names * files + users)
    others = uses[name] - own
    chunk_uses = np.zeros(len(arrays["chunk_file"]), np.float32)
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


def _used(arrays: dict[str, NDArray[Any]]) -> tuple[Numbers, Numbers]:
    """Names and the files that use them, each pair once, by name."""
    order, ends = arrays["ref_by_name"], arrays["ref_ends"].astype(np.int64)
    order = order[arrays["ref_kind"][order] < KINDS.index("import")]
    names = arrays["ref_name"][order].astype(np.int64)
    users = np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))[order]
    # References of a name are in the order of their files, so the same file stands together.
    first = np.ones(len(order), dtype=bool)
    first[1:] = (np.diff(names) != 0) | (np.diff(users) != 0)
    return names[first], users[first]
