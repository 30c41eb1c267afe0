"""From the bytes of one file to its symbols and to the borders where it may be cut."""

from __future__ import annotations

from sage_code.parse.definitions import parse
from sage_code.parse.parsed import ParsedFile

__all__ = ["ParsedFile", "parse"]
