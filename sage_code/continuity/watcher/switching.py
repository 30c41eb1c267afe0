"""Switches the watcher's built-in plugins on and off, in `<home>/plugins.yaml`."""

from __future__ import annotations

from typing import Any

from sage_code.continuity.watcher.plugins import BUILT_IN, configured, plugins_path
from sage_code.errors import ConfigError
from sage_code.settings import tuning_file

_KEY = "plugins"


def rows() -> list[dict[str, Any]]:
    """The built-in plugins as `sage plugins list --json` has them."""
    found, warnings = configured()
    return [
        {
            "name": one.name,
            "kind": "built-in",
            "enabled": one.enabled,
            "version": "",
            "source": plugins_path(),
            "package": "",
            "hooks": [],
            "events": [str(kind.TYPE) for kind in one.events],
            "priority": one.priority,
            "timeout_ms": None,
            "problem": next((text for text in warnings if f" {one.name}" in text), ""),
        }
        for one in found
    ]


def is_built_in(name: str) -> bool:
    """Whether the watcher has a plugin of this name."""
    return any(one.name == name for one in BUILT_IN)


def switch(name: str, on: bool) -> bool:
    """Switch a built-in plugin; whether that changed anything. A watcher that runs notices the file.

    Everything else in the file stays. Comments between its plugins would be lost, so then it is left to the user.
    """
    if {one.name: one.enabled for one in configured()[0]}[name] is on:
        return False
    path = plugins_path()
    file = tuning_file.read(path)
    entry = file.entries.get(_KEY)
    given: Any = entry.value if entry and entry.value else {}
    own = given.get(name) if isinstance(given, dict) else None
    if not isinstance(given, dict) or not isinstance(own or {}, dict):
        raise ConfigError(f"{path} does not hold plugins by their names", "correct it or delete the file")
    if entry and "#" in file.text[entry.start : entry.end]:
        said = "true" if on else "false"
        raise ConfigError(f"{path} has comments that would be lost", f"set `enabled: {said}` below `{name}:` there")
    changed = {key: value for key, value in (own or {}).items() if key != "enabled"} | (
        {} if on else {"enabled": False}
    )
    rest = {key: value for key, value in given.items() if key != name} | ({name: changed} if changed else {})
    tuning_file.edit(path, {_KEY: rest or None}, private=True)
    return True
