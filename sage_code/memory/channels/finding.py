"""Finds a channel by what a person or an agent types: its name, a project, a path; or the part of a name."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sage_code.errors import UsageError
from sage_code.memory.tiers.tables import channels
from sage_code.paths import find_root

if TYPE_CHECKING:
    from sage_code.memory.tiers.engines.protocol import Engine
    from sage_code.memory.tiers.tables.channels import Channel
    from sage_code.memory.tiers.values import Agent

_SHOWN = 5


def channels_of_agent(engine: Engine, agent: Agent) -> list[Channel]:
    """All channels of an agent, the last used first."""
    with engine.reading() as rows:
        return channels.channels_of(rows, agent.id)


def channel_named(engine: Engine, agent: Agent, name: str, folder: str = "") -> Channel:
    """The channel with this name, or the project around this path, or the only channel whose name ends so.

    A path is relative to `folder`; without a name it is the project around it.
    """
    known = {one.name: one for one in channels_of_agent(engine, agent)}
    if name in known:
        return known[name]
    path = os.path.join(folder or os.getcwd(), os.path.expanduser(name or "."))
    if os.path.isdir(path) and (root := find_root(path)) in known:
        return known[root]
    ends = [one for other, one in known.items() if name and other.rsplit("/", 1)[-1] == name]
    if len(ends) == 1:
        return ends[0]
    if ends:
        raise UsageError(f"{len(ends)} channels end with {name[:100]}", _some([one.name for one in ends]))
    wanted = name[:100] or find_root(path)
    hint = _some(list(known)) if known else "nothing was said yet; `sage conversations import` reads transcripts"
    raise UsageError(f"there is no channel {wanted}", hint)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"there are {', '.join(names[:_SHOWN])}{more}" if len(names) > 1 else f"there is {names[0]}"
