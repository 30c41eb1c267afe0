"""One file from the disk to its chunks: read, detect the language, parse, cut."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sage_code.chunk.chunker import chunk_plain, chunk_text
from sage_code.chunk.words import FileWords, count_words
from sage_code.discover.reading import SourceText, read_source
from sage_code.discover.rules import DiscoverRules
from sage_code.languages.table import HEAD_BYTES, detect
from sage_code.parse.borders import Borders
from sage_code.parse.definitions import BUDGET_S, parse
from sage_code.parse.reference_codec import encode
from sage_code.values import Chunk, SkippedFile, SourceFile

# The language of files that the language table does not know.
PLAIN_TEXT = "text"


@dataclass(frozen=True, slots=True)
class ChunkedFile:
    """A file's content hash, language, chunks, encoded references, and the words of its chunks."""

    file: SourceFile
    content_hash: str
    language: str
    chunks: tuple[Chunk, ...]
    references: str
    words: FileWords


def chunk_file(
    root: str,
    file: SourceFile,
    rules: DiscoverRules,
    *,
    budget_s: float = BUDGET_S,
    source: SourceText | None = None,
    plain: bool = False,
    elsewhere: Callable[[SourceText], ChunkedFile | SkippedFile] | None = None,
) -> ChunkedFile | SkippedFile:
    """Read one file, unless its `source` is given, and cut it into chunks.

    `plain` cuts by lines without a grammar. `elsewhere` does the work in another process, for a grammar that may crash.
    """
    found = source or read_source(root, file, rules)
    if isinstance(found, SkippedFile):
        return found
    data = found.text.encode()
    language = detect(file.path, data[:HEAD_BYTES])
    if elsewhere is not None and language is not None and language.may_crash:
        return elsewhere(found)
    parsed = parse(data, language, budget_s) if language is not None and not plain else None
    if parsed is None:
        chunks = chunk_plain(found.text)
    else:
        chunks = chunk_text(found.text, parsed.symbols, _until(time.monotonic() + budget_s / 2, parsed.borders))
    name = language.name if language else PLAIN_TEXT
    references = encode(parsed.references) if parsed else ""
    return ChunkedFile(file, found.content_hash, name, tuple(chunks), references, count_words(chunks))


def _until(deadline: float, borders: Borders) -> Borders:
    """The same borders until the deadline, then none: code nested 10,000 deep would take too long, so it is cut by
    lines."""

    def bounded(start: int, end: int) -> Sequence[int]:
        return borders(start, end) if time.monotonic() < deadline else ()

    return bounded
