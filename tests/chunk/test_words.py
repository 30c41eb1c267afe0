"""The words of chunks as columns: the same words, counts and vectors as from the texts."""

from __future__ import annotations

import numpy as np

from sage_code.chunk.embedded_text import embedded_text
from sage_code.chunk.word_arrays import NumberLists, counted, join
from sage_code.chunk.words import (
    DOCS,
    FIRST_LINE,
    LEAD,
    MORE_LEAD,
    NAMES,
    RUNS,
    TEXT,
    FileWords,
    count_words,
    from_bytes,
    to_bytes,
)
from sage_code.embed.bundled import MAX_CHARS, BundledEmbedder
from sage_code.text.lexemes import words_of
from sage_code.values import Chunk, Symbol

_SYMBOL = Symbol(
    "function", "parseHeader", "Reader.parseHeader", 3, 3, 5, "def parseHeader(self)", "Reads größere Köpfe."
)
CHUNKS = (
    Chunk(
        "function",
        "parseHeader",
        "Reader.parseHeader",
        3,
        5,
        "def parseHeader(self)",
        "",
        "def parseHeader(self):\n  x",
        (_SYMBOL,),
    ),
    Chunk("module", "", "", 6, 8, "", "", "import os\nimport os, sys\n\nprint(os.größe)"),
    Chunk("class", "Reader", "Reader", 9, 9, "class Reader(Base)", "A reader.", "    more = 1"),
    Chunk("module", "", "", 10, 10, "signature alone", "", ""),
    Chunk("fallback", "", "", 11, 11, "", "", "0, " * (MAX_CHARS // 2) + "\nlast words"),
    Chunk("fallback", "", "", 12, 12, "", "", "..."),
)


def _runs(words: FileWords) -> list[list[list[str]]]:
    """For each chunk the words of each run."""
    numbers = iter(words.numbers)
    sizes = np.array(words.sizes).reshape(-1, RUNS).tolist()
    return [[[words.words[next(numbers)] for _ in range(size)] for size in row] for row in sizes]


def test_runs_make_up_the_embedded_text_and_the_chunks_own_text() -> None:
    for chunk, runs in zip(CHUNKS, _runs(count_words(CHUNKS)), strict=True):
        assert runs[LEAD] + runs[MORE_LEAD] + runs[FIRST_LINE] + runs[TEXT] == words_of(embedded_text(chunk))
        assert runs[FIRST_LINE] + runs[TEXT] == words_of(chunk.text)
        assert runs[LEAD] + runs[FIRST_LINE] == words_of(embedded_text(chunk).split("\n")[0])
    first = _runs(count_words(CHUNKS))[0]
    assert first[NAMES] == ["Reader", "parseHeader", "parseHeader"]
    assert first[DOCS] == ["Reads", "größere", "Köpfe"]


def test_a_word_of_a_file_is_listed_once() -> None:
    words = count_words(CHUNKS).words
    assert len(words) == len(set(words))


def test_words_travel_as_bytes() -> None:
    assert from_bytes(*to_bytes(count_words(CHUNKS))) == count_words(CHUNKS)
    assert from_bytes(*to_bytes(count_words(()))) == count_words(())


def test_vectors_of_words_are_those_of_texts_to_the_last_bit() -> None:
    model = BundledEmbedder()
    files = [CHUNKS[:2], CHUNKS[2:], CHUNKS[1:2] * 300]
    texts = [embedded_text(chunk) for chunks in files for chunk in chunks]
    words = join([count_words(chunks) for chunks in files])
    assert np.array_equal(model.embed_words(words, texts), model.embed_code(texts))
    chosen = [1, 2, 5]
    some = model.embed_words(words.of_chunks(chosen), [texts[place] for place in chosen])
    assert np.array_equal(some, model.embed_code(texts)[chosen])


def test_no_files_have_no_vectors() -> None:
    assert BundledEmbedder().embed_words(join([]), []).shape == (0, BundledEmbedder().dim)


def test_lists_of_numbers_are_spread_and_counted() -> None:
    lists = NumberLists([(5,), (7, 8), (), (9, 9)])
    values, taken = lists.of(np.array([1, 3, 2, 0, 1]))
    assert values.tolist() == [7, 8, 9, 9, 5, 7, 8]
    assert taken.tolist() == [2, 2, 0, 1, 2]
    keys, counts = counted(values)
    assert dict(zip(keys.tolist(), counts.tolist(), strict=True)) == {5: 1, 7: 2, 8: 2, 9: 2}
