"""Blanks in place of what is to be overlooked, byte for byte: every position and every line stays true."""

from __future__ import annotations

# Everything but line breaks becomes a blank.
BLANK = bytes(byte if byte in b"\r\n" else 0x20 for byte in range(256))


def blank(text: bytearray, start: int, end: int) -> None:
    """Blank a part of `text`."""
    text[start:end] = text[start:end].translate(BLANK)
