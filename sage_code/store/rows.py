"""What the store holds: the chunks of one version of one file, addressed by content.

A row's key is made of the file's path, its content and the chunker's version, and of no project: two worktrees of a
repository, or a branch that is switched to and back, share their rows. Which rows are a project's own says its
manifest. A vector belongs to the hash of the text that was embedded, so a renamed file finds its vectors again.
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
