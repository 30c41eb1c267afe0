"""Finds equal and nearly equal pieces of code: by a hash of the tokens, and a MinHash signature of runs of tokens.

Comments and blanks do not count. Two pieces are near-identical when their sets of five-token runs overlap by `SAME`.
The signature estimates the overlap, and its bands find the candidates without comparing every pair.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from zlib import crc32

import numpy as np
import xxhash
from numpy.typing import NDArray

from sage_code.languages.table import Language

SAME = 0.8
_RUN = 5
_BANDS = 4
_ROWS = 5
_TOKEN = re.compile(r"\w+|[^\w\s]")
_random = np.random.default_rng(4)
_FACTORS = (_random.integers(1, 1 << 62, size=(_BANDS * _ROWS, 1), dtype=np.uint64) << np.uint64(1)) + np.uint64(1)
_POWERS = np.array([31**power for power in range(_RUN)], dtype=np.uint64)

Signature = NDArray[np.uint32]


def normalised(code: str, language: Language | None) -> list[str]:
    """The tokens of the code, comments left out."""
    if language is not None:
        if language.block_comments:
            opening, closing = language.block_comments
            code = re.sub(f"{re.escape(opening)}.*?(?:{re.escape(closing)}|\\Z)", " ", code, flags=re.DOTALL)
        for marker in language.line_comments:
            code = re.sub(rf"(?:^|(?<=\s)){re.escape(marker)}[^\n]*", " ", code, flags=re.MULTILINE)
    return _TOKEN.findall(code)


def exact_hash(tokens: list[str]) -> str:
    """A hash of the tokens."""
    return xxhash.xxh64_hexdigest(" ".join(tokens).encode())


def signature(tokens: list[str]) -> Signature:
    """The MinHash signature of the runs of tokens."""
    hashes = np.fromiter((crc32(token.encode()) for token in tokens), dtype=np.uint64, count=len(tokens))
    if len(hashes) < _RUN:
        hashes = np.concatenate([hashes, np.zeros(_RUN - len(hashes), dtype=np.uint64)])
    count = len(hashes) - _RUN + 1
    runs = np.zeros(count, dtype=np.uint64)
    for place, power in enumerate(_POWERS):
        runs += hashes[place : place + count] * power
    smallest: Signature = ((runs[np.newaxis, :] * _FACTORS) >> np.uint64(32)).min(axis=1).astype(np.uint32)
    return smallest


def pack_signature(value: Signature) -> str:
    """A signature as text for a JSON line."""
    return b64encode(value.tobytes()).decode()


def unpack_signature(text: str) -> Signature:
    """What `pack_signature` packed."""
    return np.frombuffer(b64decode(text), dtype=np.uint32)


class Seen:
    """The code seen so far, to find duplicates."""

    def __init__(self) -> None:
        self._exact: set[str] = set()
        self._signatures: list[Signature] = []
        self._bands: list[dict[bytes, int]] = [{} for _ in range(_BANDS)]

    def __len__(self) -> int:
        return len(self._exact)

    def has(self, exact: str, packed: str) -> bool:
        """Whether this piece, or one nearly identical, was added before."""
        return exact in self._exact or self._has_near(unpack_signature(packed))

    def add(self, exact: str, packed: str) -> None:
        """Remember a piece."""
        self._exact.add(exact)
        value = unpack_signature(packed)
        self._signatures.append(value)
        for band, key in zip(self._bands, _keys(value), strict=True):
            band.setdefault(key, len(self._signatures) - 1)

    def _has_near(self, value: Signature) -> bool:
        candidates = {band[key] for band, key in zip(self._bands, _keys(value), strict=True) if key in band}
        return any(float((self._signatures[index] == value).mean()) >= SAME for index in candidates)


def _keys(value: Signature) -> list[bytes]:
    return [value[start : start + _ROWS].tobytes() for start in range(0, _BANDS * _ROWS, _ROWS)]
