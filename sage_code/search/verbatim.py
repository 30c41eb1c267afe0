"""Finds the few places of a project where the text of a query stands word for word: a message, a phrase, a rare word.

Such a place comes first, whatever its score, because nobody quotes by chance. The words of every chunk are in the
index in their order, so places are found among all files; then the files themselves are read, because case and signs
tell places apart. A text that stands in many files is none of this, and the ranking decides.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.segment import Segment
from sage_code.search.filters import Allowed
from sage_code.search.literals import NAME, quoted_texts
from sage_code.search.query import Query
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.top import Mask, Rows, distinct
from sage_code.text.lexemes import split_word, words_of
from sage_code.text.long_words import LONG_WORD

# The text of a file by its path; empty if it cannot be read.
ReadText = Callable[[str], str]

# A longer text is pasted code or a report, whose words the ranking weighs.
_MAX_WORDS = 64
# A word that more chunks have is not rare, nor is a text whose rarest word it is.
_MAX_CHUNKS = 4_096
# With more places of its inner words, a text whose first or last word may be part of a longer one is not looked for.
_MAX_INNER_CHUNKS = 512
# Files that are read to tell places apart; more files with the same words make a common text of it. Mostly a few are
# read: a text that the first ones have letter for letter is common.
_MAX_READ, _MAX_READ_QUOTED = 96, 400
# Files that a text may stand in to be a quotation, by its number of words: two words follow each other by chance.
_MANY_WORDS, _FEW_FILES = 3, 3
# Of one word, the files that come before all others: more have it where a definition is asked for, and are ranked.
_FEW_FILES_OF_WORD = 3
# How well a place matches: letter for letter, but for case, or but for the signs between the words.
_EXACT, _OTHER_CASE, _OTHER_SIGNS, _NOT_READ = 3, 2, 1, 0
# What begins so is a question, even if a test or a script asks it too: the ranking decides.
_QUESTION_WORDS = frozenset({"how", "where", "what", "why", "which", "who", "when"})
# Languages of documents, which have the words of many questions.
_PROSE = frozenset({"asciidoc", "html", "markdown", "mdx", "rst", "text"})
_IS_WORD = re.compile(r"\w")
# A name with more definitions is one of many, and none of them is asked for.
_MAX_NAMESAKES = 200


class Asked(NamedTuple):
    """A text that may stand in the code as it was typed."""

    text: str
    words: tuple[str, ...]  # as the index has them
    is_quoted: bool
    is_inside: bool = False  # whether it may begin or end inside of a word: `\\nfailed` has the word `nfailed`


class Verbatim(NamedTuple):
    """Where the text of a query stands, and hardly anywhere else."""

    chunks: frozenset[int]
    lines: Mapping[int, tuple[int, ...]]  # by file, its lines with the text; none of a file that could not be read
    leads: bool = True  # whether it comes first; words that only prose has may be a question about the code


NOWHERE = Verbatim(frozenset(), {})


def asked_texts(query: Query) -> list[Asked]:
    """The texts of a query that may be meant literally: all of a short one, and what it has in quotes."""
    if query.kind == "report":
        return []
    whole, quoted = quoted_texts(query.text)
    found = []
    for text, is_quoted in [(whole, whole != query.text), *((one, True) for one in quoted)]:
        words = tuple((split_word(word) or (LONG_WORD,))[0] for word in words_of(text))
        # In a longer query, a single word in quotes is a name, and the query is about it.
        if words and len(words) <= _MAX_WORDS and (len(words) > 1 or text == whole):
            found.append(Asked(text, words, is_quoted))
    return found


def find_verbatim(snapshot: SearchSnapshot, query: Query, allowed: Allowed, read: ReadText | None) -> Verbatim:
    """The allowed places of the first text that stands in a few files only, of all that are alive."""
    for asked in asked_texts(query):
        chunks = _chunks_with(snapshot, asked.words)
        if not len(chunks) and len(asked.words) >= _MANY_WORDS:
            chunks = _chunks_with(snapshot, asked.words, is_inside=True)
            asked = asked._replace(is_inside=True)
        if len(chunks):
            found = _few(snapshot, asked, chunks, read)
            if found.chunks:
                return found if allowed.chunks is None else _only(found, snapshot, allowed.chunks)
    return NOWHERE


def _only(found: Verbatim, snapshot: SearchSnapshot, allowed: Mask) -> Verbatim:
    """The places that pass the filters."""
    chunks = frozenset(chunk for chunk in found.chunks if allowed[chunk])
    files = {int(snapshot.chunk_file[chunk]) for chunk in chunks}
    return Verbatim(chunks, {file: lines for file, lines in found.lines.items() if file in files}, found.leads)


def _few(snapshot: SearchSnapshot, asked: Asked, chunks: Rows, read: ReadText | None) -> Verbatim:
    """The places that match best, if they are few and the text is meant literally."""
    files = distinct(snapshot.chunk_file[chunks]).tolist()
    few = _FEW_FILES if len(asked.words) >= _MANY_WORDS else _FEW_FILES_OF_WORD if len(asked.words) == 1 else 1
    most = _MAX_READ_QUOTED if asked.is_quoted else _MAX_READ
    if len(files) > (most if read is not None else few):
        return NOWHERE
    closeness, lines = _NOT_READ, dict[int, tuple[int, ...]]()
    if read is not None:
        closeness, lines = _closest(asked, ((file, read(snapshot.path(file))) for file in files), few)
        if not lines and len(files) > few and len(asked.words) == 1:
            return NOWHERE  # all of them have it in another case
    lines = lines or dict.fromkeys(files, ())  # none of the files is as it was indexed
    if len(lines) > few or not (asked.is_quoted or _is_quotation(snapshot, asked, closeness)):
        return NOWHERE
    own = {chunk for chunk in chunks.tolist() if int(snapshot.chunk_file[chunk]) in lines}
    # Where the lines are known, the chunks with these lines: another chunk may have the words in another case.
    exact = {int(chunk) for file in lines for chunk in snapshot.chunks_at_lines(file, lines[file])}
    if len(asked.words) == 1 and not asked.is_quoted:
        meant = _also_meant(snapshot, asked.text)
        lines |= {file: () for file in distinct(snapshot.chunk_file[sorted(meant)]).tolist() if file not in lines}
        if len(lines) > few:
            return NOWHERE
        own, exact = own | meant, exact | meant
    is_prose = all(snapshot.language(file) in _PROSE for file in lines)
    may_ask = len(asked.words) > 1 and asked.text.islower() and asked.text.replace(" ", "").isalpha()
    is_question = len(asked.words) > 1 and asked.words[0].lower() in _QUESTION_WORDS
    leads = asked.is_quoted or not (is_question or (is_prose and may_ask))
    return Verbatim(frozenset(exact or own), lines, leads)


def _is_quotation(snapshot: SearchSnapshot, asked: Asked, closeness: int) -> bool:
    """Whether a text without quotes is meant as it stands, and not as words of a question or as a qualified name."""
    if len(asked.words) == 1 or (len(asked.words) >= _MANY_WORDS and not NAME.fullmatch(asked.text)):
        return True
    # `Anchor.drop` asks for its definition, if there is one.
    return closeness == _EXACT and not (NAME.fullmatch(asked.text) and _definitions(snapshot, asked.text))


def _also_meant(snapshot: SearchSnapshot, word: str) -> set[int]:
    """The chunks that a word may also mean without being in them: of the file that is called so, and in small letters
    the class. The ranking decides between them and the places of the word."""
    called = [] if snapshot.hides_paths else snapshot.files_by_stem.get(word, [])
    chunks = {chunk for file in called for chunk in range(*snapshot.first_chunk[file : file + 2].tolist())}
    for symbol in _definitions(snapshot, word.capitalize()) if word.islower() else ():
        file = snapshot.file_numbers.get(symbol["file"])
        if file is not None:
            chunks.add(snapshot.chunk_at_line(file, symbol["line"]))
    return chunks


def _definitions(snapshot: SearchSnapshot, name: str) -> list[dict[str, Any]]:
    """The definitions of a name, which may have any signs between its parts."""
    dotted = re.sub(r"::|->|#", ".", name.removesuffix("()"))
    return snapshot.opened.symbols.find(dotted, patience=_MAX_NAMESAKES)


def _closest(asked: Asked, texts: Iterable[tuple[int, str]], most: int) -> tuple[int, dict[int, tuple[int, ...]]]:
    """How well the text stands in those files in which it stands best, and in which lines; it is not looked for any
    more once it stands in more than `most`."""
    exact = re.escape(asked.text)
    if not asked.is_inside:
        before, behind = (bool(_IS_WORD.match(end)) for end in (asked.text[0], asked.text[-1]))
        exact = r"(?<!\w)" * before + exact + r"(?!\w)" * behind
    found: dict[int, tuple[int, ...]] = {}
    others: dict[int, str] = {}
    for file, text in texts:
        # Whether it is there at all is said faster than by the pattern.
        if asked.text in text and (lines := _lines_with(re.compile(exact), text)):
            found[file] = lines
            if len(found) > most:
                break
        else:
            others[file] = text
    if found or (len(asked.words) == 1 and len(others) > most):
        return _EXACT, found
    # Signs between words may differ, and white space in what goes over several lines does.
    loose = r"\b" + r"\W+".join(map(re.escape, words_of(asked.text))) + r"\b"
    for closeness, pattern in ((_OTHER_CASE, exact), (_OTHER_SIGNS, loose)):
        compiled = re.compile(pattern, re.IGNORECASE)
        found = {file: lines for file, text in others.items() if (lines := _lines_with(compiled, text))}
        if found:
            return closeness, found
    return _NOT_READ, {}


def _lines_with(pattern: re.Pattern[str], text: str) -> tuple[int, ...]:
    """The lines in which matches of a pattern begin."""
    lines: dict[int, None] = {}
    line, counted = 1, 0
    for found in pattern.finditer(text):
        line += text.count("\n", counted, found.start())
        counted = found.start()
        lines[line] = None
    return tuple(lines)


def _chunks_with(snapshot: SearchSnapshot, words: Sequence[str], *, is_inside: bool = False) -> Rows:
    """The chunks in which the words follow each other, or begin to; the first and the last of them as parts
    of longer words, if it `is_inside`."""
    sought = words[1:-1] if is_inside else words
    found = [np.empty(0, np.int64)]
    for segment, start in zip(snapshot.segments, snapshot.chunk_at, strict=False):
        terms = _terms(segment, sought)
        starts = _starts(segment, terms, _MAX_INNER_CHUNKS if is_inside else _MAX_CHUNKS)
        if is_inside and len(starts):
            starts = _with_ends(segment, starts, len(terms), words[0], words[-1])
        if len(starts):
            found.append(_chunks_at(segment, starts, len(words)) + start)
    chunks = np.concatenate(found)
    return chunks if snapshot.all_alive else chunks[snapshot.chunk_alive[chunks]]


def _terms(segment: Segment, words: Sequence[str]) -> NDArray[np.int64]:
    """The rows of words among the terms of a segment; none if it lacks one of them."""
    known: dict[str, int] = {}
    # The longest first: they are the rarest, and one that is missing saves the others.
    for word in sorted(set(words), key=len, reverse=True):
        row = segment.terms.find(word)
        if row is None:
            return np.empty(0, np.int64)
        known[word] = row
    return np.array([known[word] for word in words], np.int64)


def _starts(segment: Segment, terms: NDArray[np.int64], most: int) -> Rows:
    """Where terms follow each other in the words of a segment; nowhere if even the rarest is in more than `most`
    chunks."""
    if not len(terms):
        return np.empty(0, np.int64)
    arrays = segment.arrays
    ends = arrays["posting_ends"]
    counts = ends[terms + 1, 0].astype(np.int64) - ends[terms, 0]
    rarest = int(np.argmin(counts))
    if not 0 < counts[rarest] <= most:
        return np.empty(0, np.int64)
    having = arrays["body_docs"][int(ends[terms[rarest], 0]) : int(ends[terms[rarest] + 1, 0])].astype(np.int64)
    words, at = arrays["words"], arrays["words_at"]
    first = at[having].astype(np.int64)
    lengths = at[having + 1].astype(np.int64) - first
    places = np.repeat(first - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))
    starts: Rows = places[words[places] == terms[rarest]] - rarest
    starts = starts[(starts >= 0) & (starts + len(terms) <= len(words))]
    for number, term in enumerate(terms.tolist()):
        if number != rarest and len(starts):
            starts = starts[words[starts + number] == term]
    return starts


def _with_ends(segment: Segment, starts: Rows, count: int, first: str, last: str) -> Rows:
    """Of places of `count` words, where those before them begin that have a word before that ends with `first`, and one
    behind that begins with `last`."""
    words = segment.arrays["words"]
    starts = starts[(starts > 0) & (starts + count < len(words))]
    for offset in (-1, count):
        rows = words[starts + offset]
        spelt = {row: segment.string("terms", row) for row in distinct(rows.astype(np.int64)).tolist()}
        good = [row for row, word in spelt.items() if (word.endswith(first) if offset < 0 else word.startswith(last))]
        starts = starts[np.isin(rows, good)]
    return starts - 1


def _chunks_at(segment: Segment, starts: Rows, count: int) -> Rows:
    """The chunks of texts of `count` words that begin at `starts`."""
    at, file = segment.arrays["words_at"], segment.arrays["chunk_file"]
    chunks = np.searchsorted(at, starts, side="right") - 1
    # The words of a file's chunks follow each other: a text may end in the next chunk, but not in the next file.
    last = np.searchsorted(at, starts + count - 1, side="right") - 1
    return distinct(chunks[file[chunks] == file[last]].astype(np.int64))
