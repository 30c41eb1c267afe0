"""Gives the source of definitions, and single lines, as the files are now, even if the index is older.

Reads the symbol files, the manifest and the files. If a file is missing, as after an import of an index, it reads the
text in the index.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

from sage_code.chunk.workers import chunk_here
from sage_code.compiled.lookup import open_symbols
from sage_code.compiled.texts import stored_text
from sage_code.discover.reading import SourceText, read_source
from sage_code.discover.rules import discover_rules
from sage_code.index.manifest import load_manifest
from sage_code.settings.loading import Settings
from sage_code.values import SkippedFile, SourceFile, Symbol


def analyze(root: str, settings: Settings, name: str) -> list[dict[str, Any]]:
    """The symbols called `name` with their `source`, without those that are no longer in their file."""
    symbols = open_symbols(root)
    manifest = load_manifest(root)
    found = []
    for match in symbols.find(name):
        state = manifest.files.get(match["file"]) if manifest else None
        text = _text(root, settings, match["file"], state.content_hash if state else "", symbols.folder)
        if text is None:
            continue
        if state is None or text.content_hash != state.content_hash:
            symbol = find_again(root, settings, match, text)
            if symbol is None:
                continue
            match = {**match, **{key: getattr(symbol, key) for key in Symbol.__dataclass_fields__}}
        lines = text.text.split("\n")[match["start_line"] - 1 : match["end_line"]]
        found.append({**match, "source": "\n".join(lines)})
    return found


def lines_at(
    root: str, settings: Settings, lines: Iterable[tuple[str, int]], *, is_indented: bool = False
) -> list[str]:
    """The line at each (file, line) as it is now, without the blanks around it, or `is_indented` with those before it;
    empty where there is none."""
    generation = open_symbols(root).folder
    files: dict[str, list[str]] = {}
    found = []
    for path, line in lines:
        if path not in files:
            text = _text(root, settings, path, "", generation)
            files[path] = text.text.split("\n") if text else []
        found.append(files[path][line - 1].rstrip() if line <= len(files[path]) else "")
    return found if is_indented else [line.lstrip() for line in found]


def _file(root: str, path: str) -> SourceFile | None:
    try:
        facts = os.stat(os.path.join(root, path))
    except OSError:
        return None
    return SourceFile(path, facts.st_size, facts.st_mtime_ns)


def read_text(root: str, settings: Settings, path: str) -> SourceText | None:
    """The text of a file as it is now; None if it is gone or does not belong to the index any more."""
    file = _file(root, path)
    source = read_source(root, file, discover_rules(settings)) if file else None
    return source if isinstance(source, SourceText) else None


def _text(root: str, settings: Settings, path: str, indexed_hash: str, generation: str) -> SourceText | None:
    """The text of a file, or of a missing one its text in the index, which has `indexed_hash`."""
    if _file(root, path) is None and (stored := stored_text(generation, path)) is not None:
        return SourceText(stored, indexed_hash, "utf-8")
    return read_text(root, settings, path)


def find_again(root: str, settings: Settings, match: dict[str, Any], text: SourceText) -> Symbol | None:
    """The symbol in the changed text of its file, by qualified name and kind; of several the nearest to the old one."""
    file = _file(root, match["file"])
    chunked = chunk_here(root, file, discover_rules(settings), source=text) if file else None
    if chunked is None or isinstance(chunked, SkippedFile):
        return None
    symbols = [symbol for chunk in chunked.chunks for symbol in chunk.symbols]
    same = [symbol for symbol in symbols if (symbol.qualname, symbol.kind) == (match["qualname"], match["kind"])]
    return min(same, key=lambda symbol: abs(symbol.line - match["line"]), default=None)
