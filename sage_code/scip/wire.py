"""The wire format of protocol buffers, as much as SCIP needs of it: reading with bounds, and writing.

Input is foreign. A varint that does not end, a length that leads out of its message and an unknown wire type raise
`WireError`; nothing is allocated on the word of a length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

Buffer: TypeAlias = bytes | memoryview
# A field: a number for varints and fixed sizes, the bytes of strings and messages.
Value: TypeAlias = int | memoryview

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5
# Ten groups of seven bits hold 64 bits.
_MAX_VARINT = 10


class WireError(ValueError):
    """The bytes are no message."""


def varint(data: memoryview, at: int) -> tuple[int, int]:
    """The number at `at`, and where it ends."""
    if at < len(data) and data[at] < 0x80:
        return data[at], at + 1
    value = shift = 0
    for position in range(at, min(at + _MAX_VARINT, len(data))):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFF_FFFF_FFFF_FFFF, position + 1
        shift += 7
    raise WireError("a number does not end")


def fields(data: Buffer) -> Iterator[tuple[int, Value]]:
    """The fields of a message with their numbers, in the order in which they are written."""
    view = memoryview(data)
    at, end = 0, len(view)
    while at < end:
        key, at = varint(view, at)
        wire, number = key & 7, key >> 3
        if not number:
            raise WireError("a field has the number 0")
        if wire == VARINT:
            value, at = varint(view, at)
            yield number, value
            continue
        if wire == LENGTH:
            length, at = varint(view, at)
        elif wire in (FIXED64, FIXED32):
            length = 8 if wire == FIXED64 else 4
        else:
            raise WireError(f"a field has the unknown wire type {wire}")
        if length > end - at:
            raise WireError("a field is longer than its message")
        piece = view[at : at + length]
        at += length
        yield number, piece if wire == LENGTH else int.from_bytes(piece, "little")


def numbers(value: Value, most: int) -> list[int]:
    """The numbers of a repeated field, packed or single; more than `most` are an error."""
    if isinstance(value, int):
        return [value]
    found: list[int] = []
    at = 0
    while at < len(value):
        if len(found) >= most:
            raise WireError("a list has too many numbers")
        number, at = varint(value, at)
        found.append(number)
    return found


def text(value: Value) -> str:
    """A string; bytes that are no UTF-8 are replaced, a number is an error."""
    if isinstance(value, int):
        raise WireError("a text is a number")
    return bytes(value).decode("utf-8", "replace")


def message(value: Value) -> memoryview:
    """The bytes of a message."""
    if isinstance(value, int):
        raise WireError("a message is a number")
    return value


def number(value: Value) -> int:
    """A number."""
    if not isinstance(value, int):
        raise WireError("a number is a text")
    return value


def encoded_varint(value: int) -> bytes:
    """A number of at least 0."""
    if value < 0x80:
        return bytes((value,))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field_bytes(number: int, value: bytes | str) -> bytes:
    """A string, or a message; empty ones are written too, since a repeated field may hold them."""
    data = value.encode("utf-8", "replace") if isinstance(value, str) else value
    return encoded_varint(number << 3 | LENGTH) + encoded_varint(len(data)) + data


def field_text(number: int, value: str) -> bytes:
    """A string of a field that is left out when it is empty."""
    return field_bytes(number, value) if value else b""


def field_number(number: int, value: int) -> bytes:
    """A number of a field that is left out when it is 0."""
    return encoded_varint(number << 3) + encoded_varint(value) if value else b""


def field_numbers(number: int, values: Iterable[int]) -> bytes:
    """A packed list of numbers."""
    return field_bytes(number, b"".join(map(encoded_varint, values)))
