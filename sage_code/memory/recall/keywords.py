"""Finds the items whose keywords are in a question, with indexes over all keywords instead of a loop over the items."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

from sage_code.memory.recall.knowledge_score import EXACT, MIN_PART_CHARS, PARTIAL
from sage_code.text.lexemes import lexemes
from sage_code.text.stems import STOP_WORDS, stem


class Keywords:
    """Maps keywords to items; the keywords of an item may change at any time."""

    def __init__(self, of_items: Mapping[str, Iterable[str]] | None = None) -> None:
        self._of_item: dict[str, tuple[str, ...]] = {}
        self._items: dict[str, set[str]] = {}  # by keyword, in lower case
        self._by_first: dict[str, list[tuple[str, frozenset[str]]]] = defaultdict(list)
        self._long: list[str] | None = None
        for id_, keywords in (of_items or {}).items():
            self.put(id_, keywords)

    def put(self, id_: str, keywords: Iterable[str]) -> None:
        """Set the keywords of an item."""
        new = tuple(dict.fromkeys(keyword.lower() for keyword in keywords))
        old = self._of_item.get(id_, ())
        if new == old:
            return
        for keyword in old:
            self._items[keyword].discard(id_)
        for keyword in new:
            if keyword not in self._items:
                self._add(keyword)
            self._items[keyword].add(id_)
        self._of_item[id_] = new

    def keep_only(self, ids: Collection[str]) -> None:
        """Remove all other items."""
        for id_ in [id_ for id_ in self._of_item if id_ not in ids]:
            self.put(id_, ())
            del self._of_item[id_]

    def scores(self, question: str) -> dict[str, float]:
        """The items that have a keyword in the question, each with the probability that it is meant, 0 to 1."""
        asked = question.lower()
        words = [word for word in lexemes(question) if word not in STOP_WORDS]
        stems = set(map(stem, words))
        exact = {word for first in stems for word, parts in self._by_first.get(first, ()) if parts <= stems}
        partly = self._overlapping(asked, [word for word in words if len(word) >= MIN_PART_CHARS]) - exact
        doubts: dict[str, float] = defaultdict(lambda: 1.0)
        for found, probability in ((exact, EXACT), (partly, PARTIAL)):
            for keyword in found:
                for id_ in self._items[keyword]:
                    doubts[id_] *= 1 - probability
        return {id_: 1 - doubt for id_, doubt in doubts.items()}

    def _add(self, keyword: str) -> None:
        self._items[keyword] = set()
        self._long = None
        parts = [stem(word) for word in lexemes(keyword) if word not in STOP_WORDS] or lexemes(keyword)
        if parts:
            self._by_first[parts[0]].append((keyword, frozenset(parts)))

    def _overlapping(self, asked: str, long_words: Collection[str]) -> set[str]:
        """The keywords that are part of the question's text, or contain one of its longer words."""
        if self._long is None:
            self._long = [keyword for keyword in self._items if len(keyword) >= MIN_PART_CHARS and "\n" not in keyword]
        found = {keyword for keyword in self._long if keyword in asked}
        text = "\n".join(self._long)
        for word in dict.fromkeys(long_words):
            offset = text.find(word)
            while offset >= 0:
                start, end = text.rfind("\n", 0, offset) + 1, text.find("\n", offset)
                end = end if end >= 0 else len(text)
                found.add(text[start:end])
                offset = text.find(word, end)
        return found
