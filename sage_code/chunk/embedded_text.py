"""The embedded text of a chunk: its qualified name and signature, then its text.

It has no path, because vectors are found by the hash of this text and a renamed file must find its own. The lexical
index searches paths.
"""

from __future__ import annotations

from sage_code.values import Chunk


def embedded_text(chunk: Chunk) -> str:
    """The text whose hash is the key of the chunk's vector."""
    lead = lead_of(chunk)
    return f"{lead}\n{chunk.text}" if lead else chunk.text


def lead_of(chunk: Chunk) -> str:
    """What is before the chunk's own text: its qualified name, and its signature if the text does not have it."""
    if chunk.signature and chunk.signature[:40] not in chunk.text:
        return f"{chunk.qualname}\n{chunk.signature}"
    return chunk.qualname
