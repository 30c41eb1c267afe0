"""Makes references from the lines that a session changed, without a parser: for saves that nobody waits for.

A reference to lines has a hash and a quotation of them and is followed when they move, like one to a definition; only
the name of the definition is missing. Loading the parser takes as long as the rest of such a save.
"""

from __future__ import annotations

import os

from sage_code.errors import UsageError
from sage_code.files.contained import read_contained
from sage_code.memory.code.code_text import content_hash, quotation
from sage_code.memory.files.code_ref import CodeRef, relative_file
from sage_code.paths import DOT_SAGE
from sage_code.transcripts.code_context import SessionCodeContext

# What was changed last says most about what was concluded.
MAX_REFS = 24
_MAX_REFS_A_FILE = 4
_MAX_FILE_BYTES = 1_000_000
# A longer run of lines says no more.
_MAX_LINES = 40
_OWN_FOLDERS = frozenset({DOT_SAGE, ".git", ".hg", ".jj", ".svn"})
_CHANGES = ("edit", "write")


def line_refs(project_root: str, context: SessionCodeContext) -> tuple[CodeRef, ...]:
    """References to the changed lines of a session, the latest first; a new file is referred to as a whole."""
    root = os.path.realpath(project_root)
    found: dict[tuple[str, tuple[int, int] | None], CodeRef] = {}
    counts: dict[str, int] = {}
    texts: dict[str, list[str]] = {}
    for interaction in reversed(context.interactions):
        if interaction.action not in _CHANGES or len(found) >= MAX_REFS:
            continue
        path = inside(root, project_root, interaction.file)
        if not path or counts.get(path, 0) >= _MAX_REFS_A_FILE:
            continue
        if path not in texts:
            texts[path] = _lines(root, path)
        lines = texts[path]
        span = interaction.lines
        if not lines or (span is not None and span[0] > len(lines)):
            continue
        if span is not None:
            span = (span[0], min(span[1], len(lines), span[0] + _MAX_LINES - 1))
        if (path, span) not in found:
            piece = lines if span is None else lines[span[0] - 1 : span[1]]
            found[path, span] = CodeRef(path, span, quotation(piece) or None, content_hash=content_hash(piece))
            counts[path] = counts.get(path, 0) + 1
    return tuple(found.values())


def inside(root: str, given_root: str, file: str) -> str:
    """An absolute path relative to the project; empty if it is outside, or in `.sage/` or a version control folder."""
    for path in (file, os.path.realpath(file) if os.path.isabs(file) and "\0" not in file else ""):
        for top in (root, os.path.abspath(given_root)):
            if path.startswith(top.rstrip(os.sep) + os.sep):
                try:
                    relative = relative_file(os.path.relpath(path, top).replace(os.sep, "/"))
                except (UsageError, ValueError):
                    return ""
                return "" if relative.partition("/")[0] in _OWN_FOLDERS else relative
    return ""


def _lines(root: str, path: str) -> list[str]:
    """The lines of a text file of the project; none if it is gone, a link, too large or no text."""
    try:
        data = read_contained(os.fsencode(root), os.fsencode(path), _MAX_FILE_BYTES + 1)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    return text.removesuffix("\n").split("\n") if text and len(data) <= _MAX_FILE_BYTES and "\0" not in text else []
