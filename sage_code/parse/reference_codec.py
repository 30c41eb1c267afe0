"""The references of a file, as they are made, travel and are stored: by columns, from the parser into segments.

Each text is there once: names, receivers and above all scopes repeat, so the JSON string that travels is a third of
what a row for each reference would take, and whoever makes or compiles many has few values to look at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import orjson

from sage_code.values import Reference

KINDS = ("call", "inherit", "type", "use", "import", "bind")
KIND_NUMBER = {kind: number for number, kind in enumerate(KINDS)}
TEXTS = ("name", "receiver", "alias", "scope")

# The texts that occur; and by reference: its kind, its line, and for each of TEXTS which of the texts it is.
Columns = tuple[list[str], list[int], list[int], list[list[int]]]


@dataclass(frozen=True, slots=True)
class References:
    """What a file refers to, by line; its parts are `Reference`s, made when they are looked at."""

    columns: Columns

    @classmethod
    def of(cls, references: Iterable[Reference]) -> References:
        """These, in their order."""
        number: dict[str, int] = {}
        kinds, lines = [], []
        uses: list[list[int]] = [[] for _ in TEXTS]
        for kind, name, receiver, line, alias, scope in references:
            kinds.append(KIND_NUMBER[kind])
            lines.append(line)
            for column, text in zip(uses, (name, receiver, alias, scope), strict=True):
                column.append(number.setdefault(text, len(number)))
        return cls((list(number), kinds, lines, uses))

    def __len__(self) -> int:
        return len(self.columns[1])

    def __iter__(self) -> Iterator[Reference]:
        texts, kinds, lines, uses = self.columns
        for kind, line, name, receiver, alias, scope in zip(kinds, lines, *uses, strict=True):
            yield Reference(KINDS[kind], texts[name], texts[receiver], line, texts[alias], texts[scope])


NO_REFERENCES = References.of(())


def encode(references: References) -> str:
    """A file's references as one string, the form in which they travel to the store and back."""
    return orjson.dumps(references.columns).decode() if len(references) else ""


def decode(encoded: str) -> Columns:
    """The columns that `encode` has written."""
    if not encoded:
        return [], [], [], [[] for _ in TEXTS]
    texts, kinds, lines, columns = orjson.loads(encoded)
    return texts, kinds, lines, columns
