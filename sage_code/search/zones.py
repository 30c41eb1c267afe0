"""Divides a long question into zones: title, prose, code, error messages, stack frames, noise.

A bug report, a pasted log or a commit message says the same thing several times, with words that say nothing about the
code in between: versions, a template's headings, other people's libraries. Each word counts by the zone that it is in,
so nothing has to be cut at a fixed number of words. A short question is all title. Reads nothing but the text.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from sage_code.search.zone_kinds import TITLE, Frame, Zone

# A question with more lines or words than these is divided.
_MAX_LINES, _MAX_WORDS = 1, 24

# What a name in backticks counts in addition.
_QUOTED = 1.0

_INLINE = re.compile(r"`([^`\n]{1,80})`")


class Divided(NamedTuple):
    """A question in zones; a short one is a single zone that counts 1."""

    title: str
    zones: tuple[Zone, ...]
    frames: tuple[Frame, ...]
    quoted: tuple[str, ...]  # what stands in backticks

    @property
    def is_long(self) -> bool:
        """Whether there is more than a title."""
        return len(self.zones) > 1


def divide(text: str) -> Divided:
    """The zones of a question."""
    lines = text.strip().splitlines()
    words = text.split()
    quoted = tuple(dict.fromkeys(_INLINE.findall(text)))
    if len(lines) <= _MAX_LINES and len(words) <= _MAX_WORDS:
        return Divided(text, (Zone(1.0, text),), (), quoted)
    from sage_code.search.reports import body_of, frames_of, title_of  # lazy: most questions are short

    title, rest = title_of(lines)
    zones = [Zone(TITLE, title)] if title else []
    zones += body_of(rest)
    zones += [Zone(_QUOTED, name) for name in quoted]
    return Divided(title, tuple(zones), frames_of(lines), quoted)
