"""Inserts Sage's entry into the text of a configuration file, and removes it.

Every edit is verified by parsing its result: it must be the old document with the entry, or without it, and nothing
else.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from sage_code.agents import jsonc, toml
from sage_code.agents.files import TextFile
from sage_code.agents.record import Insertion
from sage_code.agents.table import SERVER_NAME, Agent
from sage_code.errors import ConfigError


def entry_keys(agent: Agent, document: Any) -> tuple[str, ...]:
    """The keys that lead to Sage's entry; newer versions of an agent may list their servers below other keys."""
    servers = below(document, agent.newer_keys) if agent.newer_keys else None
    is_newer = isinstance(servers, dict) and "command" not in servers
    return (*(agent.newer_keys if is_newer else agent.keys), SERVER_NAME)


def document_of(agent: Agent, file: TextFile) -> Any:
    """The parsed file, an empty object for a blank one; ConfigError if it cannot be parsed."""
    try:
        document = _parse(agent, file.text)
    except ValueError as error:
        raise ConfigError(
            f"{file.path} is no valid {'TOML' if agent.format == 'toml' else 'JSON'}: {error}",
            "correct it first; it was not changed",
        ) from error
    if not isinstance(document, dict):
        raise ConfigError(f"{file.path} holds no object", "correct it first; it was not changed")
    return document


def _parse(agent: Agent, text: str) -> Any:
    if agent.format == "toml":
        return toml.parse(text)
    return {} if jsonc.is_blank(text) else jsonc.parse(text).value


def insertion(agent: Agent, text: str, keys: tuple[str, ...], entry: dict[str, Any]) -> tuple[int, str]:
    """The offset and the text of the insertion that puts the entry below `keys`."""
    try:
        return toml.insertion(text, keys, entry) if agent.format == "toml" else jsonc.insertion(text, keys, entry)
    except ValueError as error:
        raise ConfigError(
            f"the configuration of {agent.title} cannot take a server: {error}",
            "it was not changed; `--print` shows what to add by hand",
        ) from error


def without_entry(agent: Agent, file: TextFile, document: Any, keys: tuple[str, ...], known: Insertion | None) -> str:
    """The text without Sage's entry: the recorded insertion is removed, or else the entry is cut out."""
    wanted = with_entry(document, keys, None)
    cut: Callable[[str, tuple[str, ...]], str] = toml.cut if agent.format == "toml" else jsonc.cut
    candidates = [cut(file.text, keys)]
    if known is not None and len(known.pieces) == 1 and file.text.count(known.pieces[0]) == 1:
        candidates.insert(0, file.text.replace(known.pieces[0], ""))
    for text in candidates:
        try:
            document = _parse(agent, text)
        except ValueError:
            continue
        if _trimmed(document, keys) == _trimmed(wanted, keys):
            return text
    raise ConfigError(
        f"the entry {SERVER_NAME} in {file.path} cannot be removed safely", "remove it by hand; nothing was changed"
    )


def verify(agent: Agent, file: TextFile, text: str, wanted: Any) -> None:
    """ConfigError unless the new text parses to the wanted document."""
    try:
        good = _parse(agent, text) == wanted
    except ValueError:
        good = False
    if not good:
        raise ConfigError(
            f"{file.path} is written in a way that Sage cannot add to",
            "it was not changed; `--print` shows what to add by hand",
        )


def below(document: Any, keys: tuple[str, ...]) -> Any:
    """The value below `keys`; None if there is none."""
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def with_entry(document: Any, keys: tuple[str, ...], entry: Any) -> Any:
    """A copy of the document with `entry` below `keys`, or without an entry if that is None."""
    document = parent = copy.deepcopy(document)
    for key in keys[:-1]:
        parent = parent.setdefault(key, {})
        if not isinstance(parent, dict):
            return None  # the keys lead through a value that is no object
    if entry is None:
        parent.pop(keys[-1], None)
    else:
        parent[keys[-1]] = entry
    return document


def _trimmed(document: Any, keys: tuple[str, ...]) -> Any:
    """A copy without the empty objects on the way to an entry, since the insertion may have added them."""
    document = copy.deepcopy(document)
    for depth in range(len(keys) - 1, 0, -1):
        parent = below(document, keys[: depth - 1])
        if isinstance(parent, dict) and parent.get(keys[depth - 1]) == {}:
            del parent[keys[depth - 1]]
    return document
