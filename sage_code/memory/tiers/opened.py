"""Opens the memory that the settings name: the database, the user in it, the agent of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sage_code.memory.tiers.engines.opening import open_engine
from sage_code.memory.tiers.tables import agents
from sage_code.settings.table import Settings

if TYPE_CHECKING:
    from sage_code.memory.tiers.engines.protocol import Engine
    from sage_code.memory.tiers.recall_memory import RecallMemory
    from sage_code.memory.tiers.values import Agent


def user_of(settings: Settings) -> str:
    """Whose memory it is: the setting `memory_user`, or the name of the login."""
    if settings.memory_user:
        return settings.memory_user
    import getpass  # lazy: only needed here

    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a container without a name for its user
        import os

        return f"uid-{os.getuid()}" if hasattr(os, "getuid") else "user"


def opened_agent(engine: Engine, settings: Settings, name: str = "", user: str = "") -> Agent:
    """The agent with this name, or the one of the settings, which is made if there is none."""
    user, name = user or user_of(settings), name or settings.memory_agent
    with engine.reading() as rows:
        agent = agents.agent_of(rows, user, name)
    if agent is None:
        with engine.writing() as rows:
            agent = agents.make_agent(rows, user, name)
    return agent


def opened_recall(settings: Settings, uri: str | None = None) -> RecallMemory:
    """The conversations of the agent of the settings."""
    from sage_code.memory.tiers.recall_memory import RecallMemory  # lazy: the masker

    engine = open_engine(settings.memory_uri if uri is None else uri)
    return RecallMemory(engine, opened_agent(engine, settings), settings)
