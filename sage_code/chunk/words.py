"""The words of a file's chunks as columns, split once where the file is cut.

The vectors of the bundled model and the postings of a segment are both counts of words. Workers have the texts at
hand, so they split them there, and send every distinct word of a file once, and the words of its chunks as numbers. No
NumPy here: a worker does not need it.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

from sage_code.chunk.embedded_text import lead_of
from sage_code.text.lexemes import words_of
from sage_code.text.numbering import Numbering
from sage_code.values import Chunk

# The runs of words of a chunk, in their order. The embedded text is the lead, if there is one, and the text; its first
# line counts more in a vector, so it has a run of its own: it is the first line of the lead, or else of the text.
LEAD, MORE_LEAD, FIRST_LINE, TEXT, NAMES, DOCS = range(6)
RUNS = 6
# Numbers travel in four bytes.
_NUMBER = "I"


@dataclass(frozen=True, slots=True)
class FileWords:
    """The words of a file's chunks."""

    words: list[str]  # each distinct word, in the order of its first appearance
    numbers: array[int]  # the words of all runs of all chunks, in order, as places in `words`
    sizes: array[int]  # how many words each run has: `RUNS` numbers a chunk


def count_words(chunks: Iterable[Chunk]) -> FileWords:
    """The words of the chunks of one file."""
    known = Numbering[str]()
    number_of = known.__getitem__
    numbers: list[int] = []  # a list takes an iterator in a third of the time of an array
    sizes = array(_NUMBER)
    for chunk in chunks:
        lead, more = lead_of(chunk), ""
        first, text = "", chunk.text
        if lead:
            lead, _, more = lead.partition("\n")
        else:
            first, _, text = text.partition("\n")
        for run in (lead, more, first, text, _names(chunk), _docs(chunk)):
            if not run:
                sizes.append(0)
                continue
            words = words_of(run)
            numbers += map(number_of, words)
            sizes.append(len(words))
    return FileWords(list(known), array(_NUMBER, numbers), sizes)


def to_bytes(words: FileWords) -> tuple[str, bytes, bytes]:
    """As a worker sends them: no word has a space in it."""
    return " ".join(words.words), words.numbers.tobytes(), words.sizes.tobytes()


def from_bytes(words: str, numbers: bytes, sizes: bytes) -> FileWords:
    """What `to_bytes` has packed, on the same machine."""
    return FileWords(words.split(" ") if words else [], array(_NUMBER, numbers), array(_NUMBER, sizes))


def _names(chunk: Chunk) -> str:
    """The names of a chunk: its own, and those of the symbols in it."""
    return " ".join(dict.fromkeys((chunk.qualname, *(symbol.name for symbol in chunk.symbols))))


def _docs(chunk: Chunk) -> str:
    return "\n".join(dict.fromkeys((chunk.docstring, *(symbol.docstring for symbol in chunk.symbols))))
