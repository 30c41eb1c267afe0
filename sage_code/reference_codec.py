"""How the references of a file travel: as one JSON string, from the worker to the store and into segments."""

from __future__ import annotations

import orjson

from sage_code.values import Reference

KINDS = ("call", "inherit", "type", "use", "import", "bind")
_KIND_NUMBER = {kind: number for number, kind in enumerate(KINDS)}
TEXTS = ("name", "receiver", "alias", "scope")


def encode(references: tuple[Reference, ...]) -> str:
    """A file's references as one string, the form in which they travel to the store and back."""
    if not references:
        return ""
    rows = [
        (
            _KIND_NUMBER[reference.kind],
            reference.line,
            reference.name,
            reference.receiver,
            reference.alias,
            reference.scope,
        )
        for reference in references
    ]
    return orjson.dumps(rows).decode()
