"""Our entry in somebody's document: where it belongs, how it gets into the text, how it gets out.

Every edit is checked by reading its result: it must be the old document with our entry, or without it, and no
more.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from sage_code.agents import jsonc, toml
from sage_code.agents.files import TextFile
from sage_code.agents.record import Written
from sage_code.agents.table import SERVER_NAME, Agent
from sage_code.errors import ConfigError


def keys_in(agent: Agent, file: TextFile) -> tuple[str, ...]:
    """Where this file lists its servers: newer versions of an agent may have moved them."""
    servers = below(document_of(agent, file), agent.newer_keys) if agent.newer_keys else None
    return agent.newer_keys if isinstance(servers, dict) and "command" not in servers else agent.keys


def document_of(agent: Agent, file: TextFile) -> Any:
    """What the file says; one that says nothing is empty, and one that cannot be read is left alone."""
    try:
        document = _parse(agent, file.text)
    except ValueError as error:
        raise ConfigError(
            f"{file.path} is no valid {'TOML' if agent.format == 'toml' else 'JSON'}: {error}",
            "mend it first; it was left as it is",
        ) from error
    if not isinstance(document, dict):
        raise ConfigError(f"{file.path} holds no object", "mend it first; it was left as it is")
    return document


def _parse(agent: Agent, text: str) -> Any:
    if agent.format == "toml":
        return toml.parse(text)
    return {} if jsonc.is_blank(text) else jsonc.parse(text).value


def insertion(agent: Agent, text: str, keys: tuple[str, ...], entry: dict[str, Any]) -> tuple[int, str]:
    """Where to insert what, so that the entry stands below `keys`."""
    try:
        return toml.insertion(text, keys, entry) if agent.format == "toml" else jsonc.insertion(text, keys, entry)
    except ValueError as error:
        raise ConfigError(
            f"the configuration of {agent.title} has no room for a server: {error}",
            "it was left as it is; `--print` shows what to add by hand",
        ) from error


def without_entry(agent: Agent, file: TextFile, keys: tuple[str, ...], known: Written | None) -> str:
    """The text without our entry: the very insertion taken back, or else the entry cut out."""
    wanted = with_entry(document_of(agent, file), keys, None)
    cut: Callable[[str, tuple[str, ...]], str] = toml.cut if agent.format == "toml" else jsonc.cut
    candidates = [cut(file.text, keys)]
    if known is not None and file.text.count(known.inserted) == 1:
        candidates.insert(0, file.text.replace(known.inserted, ""))
    for text in candidates:
        try:
            document = _parse(agent, text)
        except ValueError:
            continue
        if _trimmed(document, keys) == _trimmed(wanted, keys):
            return text
    raise ConfigError(
        f"the entry {SERVER_NAME} in {file.path} cannot be taken out safely", "remove it by hand; nothing was changed"
    )


def verify(agent: Agent, file: TextFile, text: str, wanted: Any) -> None:
    """Whether the new text says what it should, and all that was said before."""
    try:
        good = _parse(agent, text) == wanted
    except ValueError:
        good = False
    if not good:
        raise ConfigError(
            f"{file.path} is written in a way that Sage cannot add to",
            "it was left as it is; `--print` shows what to add by hand",
        )


def below(document: Any, keys: tuple[str, ...]) -> Any:
    """What stands below `keys`; None when nothing does."""
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def with_entry(document: Any, keys: tuple[str, ...], entry: Any) -> Any:
    """A copy of the document with another entry below `keys`, or with none."""
    document = place = copy.deepcopy(document)
    for key in keys[:-1]:
        place = place.setdefault(key, {})
        if not isinstance(place, dict):
            return None  # no document: nothing can stand there
    if entry is None:
        place.pop(keys[-1], None)
    else:
        place[keys[-1]] = entry
    return document


def _trimmed(document: Any, keys: tuple[str, ...]) -> Any:
    """A copy without the empty objects that lead to an entry: ours may have brought them."""
    document = copy.deepcopy(document)
    for depth in range(len(keys) - 1, 0, -1):
        parent = below(document, keys[: depth - 1])
        if isinstance(parent, dict) and parent.get(keys[depth - 1]) == {}:
            del parent[keys[depth - 1]]
    return document
