"""The embedded text of a chunk: its qualified name and signature, then its text.

It has no path, because vectors are found by the hash of this text and a renamed file must find its own. The lexical
index searches paths.
"""

from __future__ import annotations

from sage_code.values import Chunk


def embedded_text(chunk: Chunk) -> str:
    """The text whose hash is the key of the chunk's vector."""
    lead = chunk.qualname
    if chunk.signature and chunk.signature[:40] not in chunk.text:
        lead = f"{lead}\n{chunk.signature}"
    return f"{lead}\n{chunk.text}" if lead else chunk.text
