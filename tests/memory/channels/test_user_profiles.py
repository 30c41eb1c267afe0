"""Profiles of people: learned from what they say, taken back by them, edited, forgotten, and never another agent's."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sage_code.errors import UsageError
from sage_code.memory.channels.channel_memory import ChannelMemory
from sage_code.memory.tiers.engines.protocol import Engine
from sage_code.memory.tiers.opened import opened_agent
from sage_code.memory.tiers.values import NewMessage
from sage_code.settings.loading import load_settings


@pytest.fixture
def memory(engine: Engine) -> ChannelMemory:
    settings = load_settings(None)
    return ChannelMemory(engine, opened_agent(engine, settings), settings, "#team")


def test_a_fact_names_its_message_and_is_stored_once(memory: ChannelMemory) -> None:
    id_ = memory.add("user", "I live in Lisbon and I have two dogs.", speaker="Ana")
    memory.add("assistant", "I live in a data centre.", speaker="bot")
    memory.summarise()
    facts = memory.people.facts("Ana")
    assert {fact.message_id for fact in facts} == {id_}
    assert any("Lisbon" in fact.text for fact in facts)
    assert memory.people.facts("bot") == ()
    assert memory.people.facts("") == ()
    # Read again from the beginning, as after something was forgotten: nothing is doubled.
    gone = memory.add("user", "to be forgotten", speaker="Ben")
    memory.recall.forget(message=gone)
    memory.summarise()
    assert memory.people.facts("Ana") == facts


def test_a_correction_retires_the_old_fact_and_keeps_others(memory: ChannelMemory) -> None:
    memory.add("user", "I live in Lisbon. I have two dogs.", speaker="Ana")
    memory.summarise()
    later = memory.add("user", "I moved to Berlin last month.", speaker="Ana")
    memory.summarise()
    text = memory.user_profile("Ana").text
    assert "Berlin" in text
    assert "Lisbon" not in text
    assert "dogs" in text
    retired = [fact for fact in memory.people.facts("Ana", retired=True) if fact.retired_by]
    assert [fact.retired_by for fact in retired] == [later]


def test_nothing_new_leaves_the_profile_as_it_was(memory: ChannelMemory) -> None:
    memory.add("user", "I live in Lisbon. I have two dogs.", speaker="Ana")
    memory.summarise()
    before = memory.user_profile("Ana")
    for text in ("ok, thanks!", "what time is it?", "the build is red in line 3", "see you"):
        memory.add("user", text, speaker="Ana")
    memory.summarise()
    assert memory.user_profile("Ana") == before


def test_one_persons_facts_are_not_anothers(memory: ChannelMemory, engine: Engine) -> None:
    memory.add("user", "I live in Lisbon.", speaker="Ana")
    memory.add("user", "I live in Oslo.", speaker="Ben")
    memory.summarise()
    assert "Oslo" not in memory.user_profile("Ana").text
    assert [name for name, _, _ in memory.people.participants()] == ["Ana", "Ben"]
    settings = load_settings(None)
    for agent in (opened_agent(engine, settings, "other"), opened_agent(engine, settings, user="somebody")):
        assert ChannelMemory(engine, agent, settings, "#team").people.participants() == []


def test_what_a_person_deletes_stays_gone_and_leaves_no_text(memory: ChannelMemory) -> None:
    memory.add("user", "I live in Lisbon. I have two dogs.", speaker="Ana")
    memory.summarise()
    lines = [fact.text for fact in memory.people.facts("Ana")]
    kept = [line for line in lines if "Lisbon" not in line]
    profile = memory.people.edit("Ana", [*kept, "I deploy on Fridays"])
    assert "Lisbon" not in profile.text
    assert "Fridays" in profile.text
    assert all("Lisbon" not in fact.text for fact in memory.people.facts("Ana", retired=True))
    memory.recall.forget(message=memory.add("user", "to be forgotten", speaker="Ben"))  # everything is read again
    memory.summarise()
    assert "Lisbon" not in memory.user_profile("Ana").text
    one = next(fact for fact in memory.people.facts("Ana") if "dogs" in fact.text)
    assert "dogs" not in memory.people.retire("Ana", one.id).text
    with pytest.raises(UsageError, match="no fact"):
        memory.people.retire("Ana", one.id)
    assert "dogs" in memory.people.edit("Ana", ["I have two dogs"]).text  # written again by hand


def test_a_forgotten_profile_comes_back_only_from_what_is_said_later(memory: ChannelMemory) -> None:
    memory.add("user", "I live in Lisbon.", speaker="Ana")
    memory.summarise()
    assert memory.people.forget("Ana") >= 1
    assert memory.people.facts("Ana", retired=True) == ()
    memory.recall.forget(message=memory.add("user", "to be forgotten", speaker="Ben"))
    memory.summarise()
    assert memory.user_profile("Ana").text == ""
    memory.add("user", "I have two dogs.", speaker="Ana")
    memory.summarise()
    assert "dogs" in memory.user_profile("Ana").text


def test_forgotten_facts_are_in_no_file(tmp_path: Path) -> None:
    memory = ChannelMemory.open("#team", uri=str(tmp_path / "memory" / "memory.db"))
    memory.add("user", "I live in Xyloburg.", speaker="Ana", created_at=datetime(2026, 3, 1, tzinfo=UTC))
    memory.summarise()
    assert "Xyloburg" in memory.user_profile("Ana").text
    memory.recall.forget(everything=True)
    memory.people.forget("Ana")
    memory.close()
    for inner, _, names in os.walk(tmp_path):
        for name in names:
            with open(os.path.join(inner, name), "rb") as file:
                assert b"Xyloburg" not in file.read(), name


def test_a_profile_has_at_most_800_characters_and_secrets_are_masked(memory: ChannelMemory) -> None:
    memory.add_all(
        [NewMessage("user", f"I love {thing} and I own a {thing} shop.", speaker="Ana") for thing in _things(80)]
    )
    memory.summarise()
    assert 400 < len(memory.user_profile("Ana").text) <= 800
    token = "ghp_" + "a1B2" * 9
    profile = memory.people.edit("Ana", [f"my token is {token}"])
    assert token not in str(profile)


def _things(count: int) -> list[str]:
    """Words that are made up, and all different."""
    return [f"{first}{second}{end}" for first in "bdfgk" for second in "aeiou" for end in ("tel", "ron", "mik", "sol")][
        :count
    ]
