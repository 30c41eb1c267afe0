"""The value that the store keeps: the chunks of one version of one file, with their embedded texts and vectors.

The key of a file is made of its path, its content and the chunker's version, not of a project: worktrees and branches
share their rows. A project's manifest names its keys. A vector is found by the hash of its embedded text, so a renamed
file finds its vectors again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xxhash
from numpy.typing import NDArray

from sage_code.values import Chunk


@dataclass(frozen=True, slots=True)
class FileRows:
    """All chunks of one version of one file, with their vectors."""

    key: str
    path: str
    language: str
    chunks: tuple[Chunk, ...]
    texts: tuple[str, ...]  # the embedded text of each chunk
    text_hashes: tuple[str, ...]
    vectors: NDArray[np.float32]
    references: str = ""  # of the file, encoded; see `sage_code.parse.reference_codec`


def text_hash(text: str) -> str:
    """The key of an embedded text and of its vector."""
    return xxhash.xxh3_128_hexdigest(text.encode())
