"""The keywords of all items at once: which of them a question holds, without asking every item."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from sage_code.lexemes import lexemes
from sage_code.memory.recall import EXACT, MIN_PART_CHARS, PART
from sage_code.search.words import STOP_WORDS, stem


class Keywords:
    """From keywords to the items that have them."""

    def __init__(self, of_items: Mapping[str, Iterable[str]]) -> None:
        self._items: dict[str, list[str]] = defaultdict(list)  # by keyword, in lower case
        for id_, keywords in of_items.items():
            for keyword in dict.fromkeys(keyword.lower() for keyword in keywords):
                self._items[keyword].append(id_)
        self._by_first: dict[str, list[tuple[str, frozenset[str]]]] = defaultdict(list)
        for keyword in self._items:
            parts = [stem(word) for word in lexemes(keyword) if word not in STOP_WORDS] or lexemes(keyword)
            if parts:
                self._by_first[parts[0]].append((keyword, frozenset(parts)))

    def scores(self, question: str) -> dict[str, float]:
        """The items of which a keyword stands in the question, each with how surely it is meant."""
        asked = question.lower()
        words = [word for word in lexemes(question) if word not in STOP_WORDS]
        stems = set(map(stem, words))
        exact = {word for first in stems for word, parts in self._by_first.get(first, ()) if parts <= stems}
        long_words = [word for word in words if len(word) >= MIN_PART_CHARS]
        doubts: dict[str, float] = defaultdict(lambda: 1.0)
        for keyword, ids in self._items.items():
            if keyword in exact:
                doubt = 1 - EXACT
            elif (len(keyword) >= MIN_PART_CHARS and keyword in asked) or any(word in keyword for word in long_words):
                doubt = 1 - PART
            else:
                continue
            for id_ in ids:
                doubts[id_] *= doubt
        return {id_: 1 - doubt for id_, doubt in doubts.items()}
