"""The references of a file as columns, the form in which the parser makes them and segments store them.

Each text is stored once. Names, receivers and above all scopes repeat, so the JSON string from the worker to the store
has a third of the size that one row for each reference would have, and compiling reads fewer values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import orjson

from sage_code.values import Reference

KINDS = ("call", "inherit", "type", "use", "import", "bind")
KIND_NUMBER = {kind: number for number, kind in enumerate(KINDS)}
TEXTS = ("name", "receiver", "alias", "scope")

# The distinct texts; then for each reference its kind, its line, and for each of TEXTS the number of its text.
Columns = tuple[list[str], list[int], list[int], list[list[int]]]


@dataclass(frozen=True, slots=True)
class References:
    """The references of a file, by line; iterating makes a `Reference` for each."""

    columns: Columns

    @classmethod
    def of(cls, references: Iterable[Reference]) -> References:
        """The columns of these references, in their order."""
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
    """A file's references as one string, as a worker sends it and the store keeps it."""
    return orjson.dumps(references.columns).decode() if len(references) else ""


def decode(encoded: str) -> Columns:
    """The columns of an encoded string."""
    if not encoded:
        return [], [], [], [[] for _ in TEXTS]
    texts, kinds, lines, columns = orjson.loads(encoded)
    return texts, kinds, lines, columns
