"""Decodes the bytes of a file. Every text can be decoded, and line numbers are those of an editor.

UTF-8 is tried first; UTF-16 and UTF-32 by their byte order mark, UTF-16 also without one when the zero bytes show it.
Other files are damaged UTF-8 or a Western single-byte encoding, whichever fits better. In the result lines end with
`\\n`, form feeds and U+2028 are ordinary characters, and there are no lone surrogates.
"""

from __future__ import annotations

import codecs
from typing import NamedTuple

# Random bytes have 10 % control characters, text hardly any; form feed, backspace and escape (terminal recordings)
# occur in text.
MAX_CONTROL_SHARE = 0.02
_CONTROLS = bytes(set(range(32)) - set(b"\b\t\n\f\r\x1b")) + b"\x7f"
# Tests of parsers contain a zero byte or two; binary formats contain many.
MAX_ZERO_SHARE = 0.001
# Western text in UTF-16 has a zero byte in nearly every character.
_UTF16_ZERO_SHARE = 0.7

_MARKS = (  # UTF-32 first: its little-endian mark starts with that of UTF-16
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Decoded(NamedTuple):
    """Text and the Python codec that it was read with."""

    text: str
    encoding: str


def decode(data: bytes) -> Decoded | None:
    """The text of a file; None when it is not text."""
    encoding = next((codec for mark, codec in _MARKS if data.startswith(mark)), None) or _utf16_without_mark(data)
    if encoding and encoding != "utf-8-sig":
        return _checked(data.decode(encoding, "replace"), encoding)
    if data.count(0) > MAX_ZERO_SHARE * len(data):
        return None
    try:
        return _checked(data.decode(encoding or "utf-8"), encoding or "utf-8")
    except UnicodeDecodeError:
        return _checked(*_damaged_or_western(data, encoding or "utf-8"))


def _damaged_or_western(data: bytes, utf8: str) -> Decoded:
    mended = data.decode(utf8, "replace")
    bad = mended.count("\ufffd")
    good = sum(char > "\x7f" for char in mended) - bad
    if good > bad or utf8 == "utf-8-sig":
        return Decoded(mended, utf8)
    try:
        return Decoded(data.decode("cp1252"), "cp1252")
    except UnicodeDecodeError:  # five bytes are undefined in cp1252
        return Decoded(data.decode("latin-1"), "latin-1")


def _utf16_without_mark(data: bytes) -> str | None:
    if len(data) % 2 or 0 not in data:
        return None
    for codec, high, low in (("utf-16-le", data[1::2], data[::2]), ("utf-16-be", data[::2], data[1::2])):
        if high.count(0) >= _UTF16_ZERO_SHARE * len(high) and not low.count(0):
            return codec
    return None


def _checked(text: str, encoding: str) -> Decoded | None:
    """Text with `\\n` line ends; None when it has too many control characters."""
    # Characters beyond Latin-1 become "?": only control characters are counted, and `translate` is fast.
    plain = text.encode("latin-1", "replace")
    controls = len(plain) - len(plain.translate(None, _CONTROLS))
    if encoding.startswith(("utf-16", "utf-32")):
        controls += text.count("\ufffd")  # the mark was there by chance
    if controls > MAX_CONTROL_SHARE * len(plain):
        return None
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return Decoded(text.replace("\0", "\ufffd"), encoding)
