"""The columns of the store's tables as arrays: hashes as numbers, vectors as a matrix. Damaged values do not raise."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_HASH_BYTES = 16
_NO_HASH = bytes(_HASH_BYTES)


def prefixes(hashes: Sequence[str] | pa.Array | pa.ChunkedArray) -> NDArray[np.uint64]:
    """The first 64 bits of hexadecimal hashes, which identify texts. Among ten million texts two collide with a
    probability of one in half a million; then every run embeds one of them again."""
    values = hashes.to_pylist() if isinstance(hashes, pa.Array | pa.ChunkedArray) else hashes
    try:
        data = bytes.fromhex("".join(values))
    except (TypeError, ValueError):
        data = b""
    if len(data) != len(values) * _HASH_BYTES:  # a damaged row gets a hash that no text has
        return _first_halves(b"".join(bytes.fromhex(value) if is_hash(value) else _NO_HASH for value in values))
    return _first_halves(data)


def prefixes_of(texts: pa.Array | Sequence[bytes]) -> NDArray[np.uint64]:
    """The same for packed hashes, one file after the other."""
    values = texts.to_pylist() if isinstance(texts, pa.Array) else texts
    return _first_halves(b"".join(whole_hashes(part) for part in values))


def _first_halves(data: bytes) -> NDArray[np.uint64]:
    return np.frombuffer(data, dtype=">u8")[::2].astype(np.uint64)


def is_hash(value: object) -> bool:
    """Whether this can be the hash of a text."""
    return isinstance(value, str) and len(value) == 2 * _HASH_BYTES and not value.strip(string.hexdigits)


def whole_hashes(texts: bytes | None) -> bytes:
    """Packed hashes without an incomplete one at the end, which a damaged row may have."""
    return (texts or b"")[: len(texts or b"") // _HASH_BYTES * _HASH_BYTES]


def split_hashes(texts: bytes | None) -> tuple[str, ...]:
    """The hexadecimal hashes of the texts that a file is made of."""
    texts = whole_hashes(texts)
    return tuple(texts[at : at + _HASH_BYTES].hex() for at in range(0, len(texts), _HASH_BYTES))


def matrix(column: Any, dim: int) -> NDArray[np.float32]:
    """A column of vectors, one a row."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    flat: NDArray[np.float32] = array.flatten().to_numpy(zero_copy_only=False)
    return flat.reshape(-1, dim)


def broken(matrix: NDArray[np.float32]) -> NDArray[np.bool_]:
    """The rows with a NaN or an infinity: their sum is not finite."""
    with np.errstate(all="ignore"):
        finite: NDArray[np.bool_] = np.isfinite(matrix.sum(axis=1))
    return ~finite
