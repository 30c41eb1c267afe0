"""What is embedded for a chunk: its scope and signature lead its text.

The path is left out on purpose: a vector is looked up by the hash of this text, and a renamed file must find the
vectors it already has. Paths take part in search through the lexical index instead.
"""

from __future__ import annotations

from sage_code.values import Chunk


def embedded_text(chunk: Chunk) -> str:
    """The text whose hash is the key of the chunk's vector."""
    lead = chunk.qualname
    if chunk.signature and chunk.signature[:40] not in chunk.text:
        lead = f"{lead}\n{chunk.signature}"
    return f"{lead}\n{chunk.text}" if lead else chunk.text
