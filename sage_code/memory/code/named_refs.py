"""From the code that somebody names to references: `FILE:LINE`, `FILE:LINE-LINE`, a file or a symbol.

What is named is looked at as it is now, like what a session has changed, so that the reference knows later whether it
still says the same. A place that is not there is an error: a conclusion about nothing helps nobody.
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
from sage_code.memory.files.code_ref import CodeRef, relative_file
from sage_code.transcripts.context import FileInteraction, SessionCodeContext

# More definitions of one name are no longer what somebody means.
_MOST_DEFINITIONS = 5


def resolve_refs(root: str | None, given: Iterable[Any]) -> tuple[CodeRef, ...]:
    """References to what is named, each a text, a mapping with `file` and `lines`, or a reference already."""
    found: dict[CodeRef, None] = {}
    for options in given:
        if isinstance(options, CodeRef):
            found[options] = None
            continue
        if root is None:
            raise UsageError("code can be named only inside a project", "run it there, or give --project")
        refs = _of_text(root, options) if isinstance(options, str) else _of_record(root, options)
        found.update(dict.fromkeys(refs))
    return tuple(found)


def _of_record(root: str, record: Any) -> tuple[CodeRef, ...]:
    given = CodeRef.from_dict(record if isinstance(record, Mapping) else {})
    if given.content_hash:
        return (given,)  # somebody has looked already
    if given.symbol and given.lines is None:
        refs = tuple(ref for ref in _of_symbol(root, given.symbol) if ref.file == given.file)
        if not refs:
            raise UsageError(f"{given.file} defines no {given.symbol[:80]}", "`sage outline FILE` shows what it does")
    else:
        refs = _at(root, relative_path(root, os.path.join(root, given.file)), given.lines)
    return tuple(replace(ref, relevance=given.relevance) for ref in refs)


def _of_text(root: str, text: str) -> tuple[CodeRef, ...]:
    if not text.strip():
        raise UsageError("a code reference is empty", "name it as FILE:LINE, FILE:LINE-LINE or SYMBOL")
    location = parse_location(root, text)
    if location is None:
        return _of_symbol(root, text.strip())
    path = relative_file(relative_path(root, location.file))
    first, last = location.start_line, location.end_line
    return _at(root, path, (first, last) if first and last else None)


def _of_symbol(root: str, name: str) -> tuple[CodeRef, ...]:
    from sage_code.compiled.lookup import open_symbols  # lazy: only a symbol asks the index

    symbols = open_symbols(root)
    matches = symbols.find(name)
    if not matches:
        near = symbols.nearest(name)
        hint = f"nearest: {', '.join(near)}" if near else "name a place as FILE:LINE"
        raise UsageError(f"no symbol is called {name[:80]}", hint)
    if len(matches) > _MOST_DEFINITIONS:
        raise UsageError(f"{len(matches)} definitions are called {name[:80]}", "qualify the name, or give FILE:LINE")
    refs: list[CodeRef] = []
    for match in matches:
        there = _at(root, match["file"], (match["line"], match["end_line"]))
        # A class is spoken of as what it is made of.
        named = [ref for ref in there if f"{ref.symbol}.".startswith(f"{match['qualname']}.")]
        refs += named or there
    return tuple(refs)


def _at(root: str, path: str, lines: tuple[int, int] | None) -> tuple[CodeRef, ...]:
    absolute = os.path.join(root, *path.split("/"))
    # A change needs one line of a definition to be about it; so does somebody who points at a line.
    pointed = FileInteraction(absolute, "edit", "", lines)
    refs = capture(root, SessionCodeContext((pointed,)))
    if lines is not None and any(
        ref.lines is None or ref.lines[0] > lines[1] or ref.lines[1] < lines[0] for ref in refs
    ):
        raise UsageError(f"{path} has no line {lines[0]}", "give lines that are there")
    if not refs:
        where = f"{path}:{lines[0]}" if lines else path
        raise UsageError(
            f"there is no code at {where}", "the line is blank, or the file is binary, generated or a link"
        )
    return refs
