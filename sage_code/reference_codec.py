"""How the references of a file travel: as one JSON string, from the worker to the store and into segments.

By columns, each text once: names, receivers and above all scopes repeat, so the string is a third of what a row for
each reference would take, and whoever compiles many files has few values to look at.
"""

from __future__ import annotations

import orjson

from sage_code.values import Reference

KINDS = ("call", "inherit", "type", "use", "import", "bind")
_KIND_NUMBER = {kind: number for number, kind in enumerate(KINDS)}
TEXTS = ("name", "receiver", "alias", "scope")

# The texts that occur; and by reference: its kind, its line, and for each of TEXTS which of the texts it is.
Columns = tuple[list[str], list[int], list[int], list[list[int]]]


def encode(references: tuple[Reference, ...]) -> str:
    """A file's references as one string, the form in which they travel to the store and back."""
    if not references:
        return ""
    number: dict[str, int] = {}
    place = number.setdefault
    kinds, lines = [], []
    names: list[int] = []
    receivers: list[int] = []
    aliases: list[int] = []
    scopes: list[int] = []
    for reference in references:
        kinds.append(_KIND_NUMBER[reference.kind])
        lines.append(reference.line)
        names.append(place(reference.name, len(number)))
        receivers.append(place(reference.receiver, len(number)))
        aliases.append(place(reference.alias, len(number)))
        scopes.append(place(reference.scope, len(number)))
    return orjson.dumps([list(number), kinds, lines, [names, receivers, aliases, scopes]]).decode()


def decode(encoded: str) -> Columns:
    """The columns that `encode` has written."""
    if not encoded:
        return [], [], [], [[] for _ in TEXTS]
    texts, kinds, lines, columns = orjson.loads(encoded)
    return texts, kinds, lines, columns
