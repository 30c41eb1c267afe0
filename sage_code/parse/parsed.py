"""What parsing a file gives, whether a grammar and its query read it or one of Sage's own readers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sage_code.parse.borders import Borders
from sage_code.parse.reference_codec import NO_REFERENCES, References
from sage_code.values import Symbol


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """What one file defines and refers to, and where it may be cut."""

    symbols: tuple[Symbol, ...]  # by start_line, then the longer first
    borders: Borders
    references: References = NO_REFERENCES


# Parses a part of a file that is written in another language: its source, and the name of the language.
ParseInside = Callable[[bytes, str], ParsedFile | None]
