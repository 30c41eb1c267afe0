"""Ids of messages: those that are made together are stored together."""

from __future__ import annotations

import uuid

from sage_code.memory.tiers.message_ids import id_of, new_id


def test_a_new_id_is_a_uuid_that_begins_with_the_time() -> None:
    made = [new_id() for _ in range(1_000)]
    assert len(set(made)) == len(made)
    for id_ in made:
        known = uuid.UUID(id_)
        assert (str(known), known.version, known.variant) == (id_, 7, uuid.RFC_4122)
    assert [id_[:13] for id_ in made] == sorted(id_[:13] for id_ in made)


def test_the_id_of_a_key_is_that_of_version_5() -> None:
    space = uuid.UUID(int=7)
    assert id_of(space.bytes, "a key") == str(uuid.uuid5(space, "a key"))
