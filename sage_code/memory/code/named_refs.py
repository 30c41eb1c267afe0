"""Makes references to the code that an author names: `FILE:LINE`, `FILE:LINE-LINE`, a file or a symbol.

The code is read as it is now, so that a later check can tell whether it has changed. It is an error to name code that
does not exist.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sage_code.errors import UsageError
from sage_code.files.inside import relative_path
from sage_code.lookup.location import parse_location
from sage_code.memory.code.capture import capture
from sage_code.memory.code.code_files import CodeFiles
from sage_code.memory.files.code_ref import CodeRef, relative_file
from sage_code.transcripts.code_context import FileInteraction, SessionCodeContext

# With more definitions of one name, the author has to say which one is meant.
_MAX_DEFINITIONS = 5


def resolve_refs(root: str | None, given: Iterable[Any]) -> tuple[CodeRef, ...]:
    """The references that are named, each by a text, a mapping with `file` and `lines`, or a `CodeRef`."""
    found: dict[CodeRef, None] = {}
    code_files = CodeFiles(os.path.realpath(root)) if root is not None else None
    for one in given:
        if isinstance(one, CodeRef):
            found[one] = None
            continue
        if code_files is None:
            raise UsageError("code can be named only inside a project", "run it there, or give --project")
        refs = _from_text(code_files, one) if isinstance(one, str) else _from_record(code_files, one)
        found.update(dict.fromkeys(refs))
    return tuple(found)


def _from_record(code_files: CodeFiles, record: Any) -> tuple[CodeRef, ...]:
    """The references that a mapping names, with its relevance."""
    given = CodeRef.from_dict(record if isinstance(record, Mapping) else {})
    if given.content_hash:
        return (given,)  # it is complete already
    if given.symbol and given.lines is None:
        refs = tuple(ref for ref in _of_symbol(code_files, given.symbol) if ref.file == given.file)
        if not refs:
            raise UsageError(f"{given.file} defines no {given.symbol[:80]}", "`sage outline FILE` shows what it does")
    else:
        path = relative_path(code_files.root, os.path.join(code_files.root, given.file))
        refs = _at(code_files, path, given.lines)
    return tuple(replace(ref, relevance=given.relevance) for ref in refs)


def _from_text(code_files: CodeFiles, text: str) -> tuple[CodeRef, ...]:
    """The references that a text names: a file with or without lines, or a symbol."""
    if not text.strip():
        raise UsageError("a code reference is empty", "name it as FILE:LINE, FILE:LINE-LINE or SYMBOL")
    location = parse_location(code_files.root, text)
    if location is None:
        return _of_symbol(code_files, text.strip())
    path = relative_file(relative_path(code_files.root, location.file))
    first, last = location.start_line, location.end_line
    return _at(code_files, path, (first, last) if first and last else None)


def _of_symbol(code_files: CodeFiles, name: str) -> tuple[CodeRef, ...]:
    """The references to the definitions of a name, as the compiled index knows them."""
    from sage_code.compiled.lookup import open_symbols  # lazy: only a symbol needs the index

    symbols = open_symbols(code_files.root)
    matches = symbols.find(name)
    if not matches:
        near = symbols.nearest(name)
        hint = f"nearest: {', '.join(near)}" if near else "name the code as FILE:LINE"
        raise UsageError(f"no symbol is called {name[:80]}", hint)
    if len(matches) > _MAX_DEFINITIONS:
        raise UsageError(f"{len(matches)} definitions are called {name[:80]}", "qualify the name, or give FILE:LINE")
    refs: list[CodeRef] = []
    for match in matches:
        there = _at(code_files, match["file"], (match["line"], match["end_line"]))
        # A class is referred to by its methods.
        named = [ref for ref in there if f"{ref.symbol}.".startswith(f"{match['qualname']}.")]
        refs += named or there
    return tuple(refs)


def _at(code_files: CodeFiles, path: str, lines: tuple[int, int] | None) -> tuple[CodeRef, ...]:
    """The references to a file or to lines of it; UsageError if there is no code."""
    # As for an edit, one line of a definition is enough to refer to it.
    pointed = FileInteraction(os.path.join(code_files.root, *path.split("/")), "edit", "", lines)
    refs = capture(code_files.root, SessionCodeContext((pointed,)), code_files)
    if lines is not None and any(
        ref.lines is None or ref.lines[0] > lines[1] or ref.lines[1] < lines[0] for ref in refs
    ):
        raise UsageError(f"{path} has no line {lines[0]}", "give lines that exist")
    if not refs:
        where = f"{path}:{lines[0]}" if lines else path
        raise UsageError(
            f"there is no code at {where}", "the line is blank, or the file is binary, generated or a link"
        )
    return refs
