"""The id of a checkpoint, which is the name of its file: from its time and its first words."""

from __future__ import annotations

import re

from sage_code.memory.files.checkpoint import Checkpoint
from sage_code.memory.files.homes import safe_id

_SLUG_WORDS = 6


def new_id(checkpoint: Checkpoint) -> str:
    """An id from the time of a checkpoint and the first words of its question."""
    when = re.sub(r"[:.]", "-", checkpoint.ts.removesuffix("Z"))[:19] or "undated"
    words = re.findall(r"[a-z0-9]+", (checkpoint.core_question or checkpoint.thesis).lower())
    return safe_id(f"{when}_{'-'.join(words[:_SLUG_WORDS])[:60] or 'checkpoint'}")
