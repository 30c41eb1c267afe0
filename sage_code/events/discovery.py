"""Finds plugins, and enables and disables them. Only the user does that; looking at a plugin's code runs it.

Plugins are files in `<home>/plugins/`, and entry points of the group `sage.plugins` in the packages that are installed
beside Sage. Nothing in a project, in the current folder or on PYTHONPATH is looked at. A plugin is loaded in a process
of its own, with a bounded time, before it is recorded.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace

from sage_code.errors import PluginError, UsageError
from sage_code.events import enabled
from sage_code.events.enabled import DEFAULT_LOAD_TIMEOUT_MS, DEFAULT_TIMEOUT_MS, EnabledPlugin
from sage_code.events.process import looked_at
from sage_code.paths import HOME_VARIABLE
from sage_code.text import light_json

# Looking through a thousand packages takes half a second.
_SCAN_S = 20
_MAX_TIMEOUT_MS = 60_000
_MAX_PRIORITY = 1_000_000


@dataclass(frozen=True, slots=True)
class FoundPlugin:
    """A plugin that can be enabled. Its code was not looked at."""

    name: str  # of the record if it is enabled; else of the entry point or the file
    source: str  # `module:attribute`, or the absolute path of a file
    origin: str  # the file; of a package that hides it, the source
    kind: str  # "package" or "file"
    package: str = ""
    version: str = ""  # of the package
    problem: str = ""  # why it cannot be enabled


def discover() -> list[FoundPlugin]:
    """All plugins that can be enabled, by name."""
    names = {one.source: one.name for one in enabled.read()}
    found = [*_files(), *_packages()]
    return sorted(
        (replace(one, name=names.get(one.source, one.name)) for one in found), key=lambda one: (one.name, one.source)
    )


def enable(
    name: str,
    *,
    priority: int | None = None,
    timeout_ms: int | None = None,
    load_timeout_ms: int | None = None,
) -> EnabledPlugin:
    """Load a plugin in a process of its own and record it; what is enabled already is recorded as it is now."""
    _check_range("priority", priority, -_MAX_PRIORITY, _MAX_PRIORITY)
    for option, value in (("timeout", timeout_ms), ("time to load", load_timeout_ms)):
        _check_range(option, value, 1, _MAX_TIMEOUT_MS)
    if why := enabled.distrust():
        raise UsageError(f"no plugin can be enabled: {why}", f"set {HOME_VARIABLE} to a folder outside of all projects")
    found = _the_one(name)
    if found.problem:
        raise PluginError(f"{found.origin}: {found.problem}", "correct that and enable it again")
    known = enabled.read()
    before = next((one for one in known if one.source == found.source), None)
    if timeout_ms is None:
        timeout_ms = before.timeout_ms if before else DEFAULT_TIMEOUT_MS
    if load_timeout_ms is None:
        load_timeout_ms = before.load_timeout_ms if before else DEFAULT_LOAD_TIMEOUT_MS
    plugin = looked_at(_record(found, timeout_ms, load_timeout_ms))
    for other in known:
        if other.name == plugin.name and other.source != plugin.source:
            raise PluginError(
                f"{plugin.origin}: the name {plugin.name} belongs to the enabled plugin of {other.origin}",
                f"rename one of them, or run `sage plugins disable {other.name}`",
            )
    if priority is None and before is not None and before.has_chosen_priority:
        priority = before.priority
    if priority is not None:
        plugin = replace(plugin, priority=priority, has_chosen_priority=True)
    if before is not None and before.name != plugin.name:
        enabled.drop(before.name)
    enabled.put(plugin)
    return plugin


def disable(name: str) -> EnabledPlugin:
    """Take a plugin out of the record; its code and its own files stay."""
    if (gone := enabled.drop(name)) is None:
        names = ", ".join(one.name for one in enabled.read()) or "none is"
        raise UsageError(f"the plugin {name} is not enabled", f"enabled: {names}")
    return gone


def inspect(name: str) -> EnabledPlugin:
    """A plugin as it describes itself now, enabled or not; loads it in a process of its own."""
    for one in enabled.read():
        if one.name == name:
            return looked_at(one)
    found = _the_one(name)
    if found.problem:
        raise PluginError(f"{found.origin}: {found.problem}", "correct that and try it again")
    return looked_at(_record(found, DEFAULT_TIMEOUT_MS, DEFAULT_LOAD_TIMEOUT_MS))


def _record(found: FoundPlugin, timeout_ms: int, load_timeout_ms: int) -> EnabledPlugin:
    return EnabledPlugin(
        found.name, found.source, found.origin, "", timeout_ms=timeout_ms, load_timeout_ms=load_timeout_ms
    )


def _the_one(name: str) -> FoundPlugin:
    """The plugin of a name; an error if there is none or several."""
    everything = discover()
    found = [one for one in everything if name in (one.name, one.source)]
    if not found:
        names = ", ".join(sorted({one.name for one in everything})) or "none"
        raise UsageError(
            f"there is no plugin {name}",
            f"there are: {names}; a plugin is a file in {enabled.plugins_dir()} or an installed package",
        )
    if len(found) > 1:
        places = " and ".join(_place(one) for one in found)
        raise PluginError(f"{len(found)} plugins are named {name}: {places}", "rename or remove all but one of them")
    return found[0]


def _place(found: FoundPlugin) -> str:
    return f"{found.source} of package {found.package}" if found.kind == "package" else found.origin


def _check_range(what: str, value: int | None, least: int, most: int) -> None:
    if value is not None and not least <= value <= most:
        raise UsageError(f"the {what} {value} is out of range", f"from {least} to {most} is possible")


def _files() -> list[FoundPlugin]:
    """The files of the user's folder of plugins."""
    folder = enabled.plugins_dir()
    try:
        names = sorted(os.listdir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []
    paths = [os.path.join(folder, name) for name in names if name.endswith(".py") and name[0] not in "._"]
    return [
        FoundPlugin(
            os.path.basename(path)[:-3].replace("_", "-"), path, path, "file", problem=enabled.file_problem(path)
        )
        for path in paths
    ]


def _packages() -> list[FoundPlugin]:
    """The entry points of installed packages. They are listed by a process with the path that plugins run with."""
    import subprocess  # lazy: not needed to run plugins

    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "package_scan.py")
    try:
        done = subprocess.run(
            [sys.executable, "-E", "-P", script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=os.path.abspath(os.sep),
            timeout=_SCAN_S,
            check=True,
        )
        rows = light_json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise PluginError(f"the installed packages cannot be listed: {error}", "repair Sage's environment") from error
    return [
        FoundPlugin(row["name"], row["source"], row["file"] or row["source"], "package", row["package"], row["version"])
        for row in rows
    ]
