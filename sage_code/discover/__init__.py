"""Finds the files of a project and reads them.

    list_files(root, rules)        the folder → `SourceFile`s and, with a reason, `SkippedFile`s
    read_source(root, file, rules) one file → its text, or why it is skipped

The folder is hostile input: nothing in it is executed, no link is followed, no pipe is opened, and one bad
file or folder never ends a run.
"""

from __future__ import annotations

from sage_code.discover.listing import list_files
from sage_code.discover.reading import SourceText, read_source
from sage_code.discover.rules import DEFAULT_MAX_FILE_BYTES, DEFAULT_RULES, DiscoverRules, discover_rules

__all__ = [
    "DEFAULT_MAX_FILE_BYTES",
    "DEFAULT_RULES",
    "DiscoverRules",
    "SourceText",
    "discover_rules",
    "list_files",
    "read_source",
]
