"""Replaces bytes by blanks, one for one and never a line break, so that all offsets and line numbers stay valid."""

from __future__ import annotations

# A table for `bytes.translate`.
TO_BLANKS = bytes(byte if byte in b"\r\n" else 0x20 for byte in range(256))


def blank(text: bytearray, start: int, end: int) -> None:
    """Blank `text[start:end]` in place."""
    text[start:end] = text[start:end].translate(TO_BLANKS)
