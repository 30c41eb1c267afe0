"""What a file must contain to have a match: words, or parts of words, joined by "and" and "or".

The index knows which files have which words. So a need narrows the files that are read; it never decides what matches.
A need that says too little is right, one that says too much loses matches.
"""

from __future__ import annotations

from sage_code.text.long_words import LONG_WORD, MAX_LEXEME_CHARS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypeAlias

    from sage_code.compiled.plain_segment import PlainSegment

    # (`word`, text, whether it begins there, whether it ends there), (`and`, needs), (`or`, needs); None: anything.
    Need: TypeAlias = tuple[str, str, bool, bool] | tuple[str, Sequence["Need"]] | None

# Shorter parts of words are in too many words.
_MIN_PART_CHARS = 3
# Parts of words that are looked for, the longest first: each is one pass over all words of the project.
_MAX_PARTS = 2
# A part that is in more different words narrows little.
_MAX_WORDS = 20_000
# With so few files left, reading them is faster than narrowing further.
_FEW_FILES = 24
# Their small letters depend on the letters around them, or are other letters in another case.
_ODD_LETTERS = frozenset("ΣσςİıſK")
# Words that a search without regard to case may match although they are spelt with other letters.
_ODD_PARTS = ("ſ", "ı", "i\u0307")


def is_word(char: str) -> bool:
    """Whether a character is part of a word, as `\\w` and the index see it."""
    return char == "_" or char.isalnum()


def need_of(text: str, *, ignore_case: bool = False) -> Need:
    """What a file with this text in it must contain."""
    if ignore_case and not text.isascii():
        return None
    needs: list[Need] = []
    start = None
    for place, char in enumerate([*text, ""]):
        if char and is_word(char):
            start = place if start is None else start
        elif start is not None:
            needs.append(_word(text[start:place], begins=start > 0, ends=place < len(text)))
            start = None
    return both(needs)


def _word(word: str, *, begins: bool, ends: bool) -> Need:
    """The need for a word, or for a part of one where it is not known to begin or to end."""
    if not word.isascii() and not _ODD_LETTERS.isdisjoint(word):
        return None
    if begins and ends and len(word) > MAX_LEXEME_CHARS:
        return ("word", LONG_WORD, True, True)
    # The index has a word of one part without the underscores around it.
    bare = word.strip("_")
    if not bare or (len(bare) < _MIN_PART_CHARS and not (begins and ends)):
        return None
    if begins and ends:
        whole: Need = ("word", word.lower(), True, True)
        return whole if bare == word else ("or", (whole, ("word", bare.lower(), True, True)))
    return ("word", bare.lower(), begins and word[0] != "_", ends and word[-1] != "_")


def both(needs: Iterable[Need]) -> Need:
    """The need for all of them."""
    found = [need for need in needs if need is not None]
    return ("and", found) if len(found) > 1 else found[0] if found else None


def either(needs: Sequence[Need]) -> Need:
    """The need for one of them."""
    if any(need is None for need in needs) or not needs:
        return None
    return ("or", needs) if len(needs) > 1 else needs[0]


def files_with(segment: PlainSegment, need: Need, *, ignore_case: bool) -> set[int] | None:
    """The files of a segment that may have what is needed; None: all of them."""
    found = _files(segment, need)
    if found is not None and ignore_case:
        for part in _ODD_PARTS:
            rows = segment.rows_containing(part.encode(), ending=False, most=_MAX_WORDS)
            if rows is None:
                return None
            found |= segment.files_with(rows)
    return found


def _files(segment: PlainSegment, need: Need) -> set[int] | None:
    """The same for one need."""
    if need is None:
        return None
    if need[0] == "or":
        found: set[int] = set()
        for one in need[1]:
            files = _files(segment, one)  # type: ignore[arg-type]
            if files is None:
                return None
            found |= files
        return found
    return _all_of(segment, need[1] if need[0] == "and" else (need,))  # type: ignore[arg-type]


def _all_of(segment: PlainSegment, needs: Sequence[Need]) -> set[int] | None:
    """The files that have all of what is needed; whole words first, which are found at once."""
    left: set[int] | None = None
    parts = 0
    for need in sorted(needs, key=_effort):
        assert need is not None
        if left is not None and len(left) <= _FEW_FILES:
            break
        if need[0] == "word":
            is_part = not need[2]  # type: ignore[misc]
            parts += is_part
            if is_part and parts > _MAX_PARTS:
                continue
            files = _files_of_word(segment, *need[1:])
        else:
            files = _files(segment, need)
        if files is not None:
            left = files if left is None else left & files
    return left


def _effort(need: Need) -> tuple[int, int]:
    """What is looked up first: whole words, beginnings, parts, the longer the sooner, then alternatives."""
    assert need is not None
    if need[0] != "word":
        return 3, 0
    _, text, begins, ends = need  # type: ignore[misc]
    return 2 - begins - (begins and ends), -len(text)


def _files_of_word(segment: PlainSegment, text: str, begins: bool, ends: bool) -> set[int] | None:
    """The files that have a word, or a part of one; those with words too long for the index may have any part."""
    term = text.encode("utf-8", "surrogatepass")
    rows: Iterable[int] | None
    if begins and ends:
        rows = segment.rows_equal(term)
    elif begins:
        rows = segment.rows_beginning(term)
    else:
        rows = segment.rows_containing(term, ending=ends, most=_MAX_WORDS)
    if rows is None:
        return None
    if not (begins and ends):
        rows = [*rows, *segment.rows_equal(LONG_WORD.encode())]
    return segment.files_with(rows)
