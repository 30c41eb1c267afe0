"""What a plugin is: metadata and the methods of its hooks. Inheriting from these classes is convenient, not required.

Every hook may return None, which leaves things as they are. What a hook returns is checked by Sage before it is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

HOOKS = ("pre_load", "post_load", "on_timeout", "pre_search", "post_search", "pre_format", "post_format")
DEFAULT_PRIORITY = 100


@dataclass(frozen=True, slots=True)
class PluginMetadata:
    """What a plugin says about itself."""

    name: str
    version: str
    author: str = ""
    description: str = ""
    hooks: list[str] = field(default_factory=list)
    priority: int = DEFAULT_PRIORITY  # a lower one runs first


@runtime_checkable
class Plugin(Protocol):
    """The least that makes a plugin; a method for each of its hooks comes on top."""

    @property
    def metadata(self) -> PluginMetadata:
        """What the plugin says about itself."""


class PluginBase:
    """A plugin without hooks."""

    @property
    def metadata(self) -> PluginMetadata:
        """What the plugin says about itself."""
        raise NotImplementedError

    def on_load(self, context: Mapping[str, Any]) -> None:
        """The plugin was loaded. `context` has `folder` (for its own files), `bus` and `registry`."""

    def on_unload(self) -> None:
        """The plugin is about to be unloaded."""


class LoaderPlugin(PluginBase):
    """Changes what is loaded: core files, knowledge, checkpoints, blocks (`layer`)."""

    def pre_load(self, layer: str, path: str) -> str | None:  # noqa: ARG002 - for those who override it
        """Another path to load, inside of the same folder."""
        return None

    def post_load(self, layer: str, content: str) -> str | None:  # noqa: ARG002
        """Another content."""
        return None

    def on_timeout(self, layer: str, elapsed_ms: int) -> str | None:  # noqa: ARG002
        """A content instead of the one that did not come in time."""
        return None


class SearchPlugin(PluginBase):
    """Changes what is searched for and what is found (`where`: code, checkpoints, knowledge, messages, passages)."""

    def pre_search(self, where: str, query: str, filters: dict[str, Any]) -> str | dict[str, Any] | None:  # noqa: ARG002
        """Another query, or `{"query": ..., "filters": ...}`."""
        return None

    def post_search(self, where: str, query: str, results: list[dict[str, Any]]) -> list[dict[str, Any]] | None:  # noqa: ARG002
        """The results in another order, with other scores, fewer or more of them."""
        return None


class FormatPlugin(PluginBase):
    """Changes what is shown (`command`: that of the terminal, or the name of a tool)."""

    def pre_format(self, command: str, document: dict[str, Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """The document with other values."""
        return None

    def post_format(self, command: str, text: str) -> str | None:  # noqa: ARG002
        """Another text."""
        return None
