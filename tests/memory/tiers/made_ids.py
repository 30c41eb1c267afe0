"""Ids for tests: each is new, and they are the same in every run."""

from __future__ import annotations

from itertools import count
from uuid import NAMESPACE_OID, UUID, uuid5

_numbers = count()


def new_uuid() -> UUID:
    """The next id of this process."""
    return uuid5(NAMESPACE_OID, f"test {next(_numbers)}")
