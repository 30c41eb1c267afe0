"""Which plugins the user has enabled: `<home>/events/plugins.json`.

`sage plugins enable` and `disable` write it, and a plugin's process when the plugin's own file has changed. A record
says everything that is needed to put the plugin on the bus without running it. Nothing in a project is ever looked at,
and a home that is itself inside of a project enables nothing: a clone could bring it.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

from sage_code.errors import ConfigError, UsageError
from sage_code.files.contained import read_regular
from sage_code.paths import DOT_SAGE, HOME_VARIABLE, listeners_dir, sage_home
from sage_code.text import light_json
from sage_code.text.escaping import one_line

# History of the format: 1: first version.
FORMAT = 1
# A search with a plugin that answers in this time still feels as before.
DEFAULT_TIMEOUT_MS = 1_000
# Importing a large library takes a second or two; a search that takes longer is given up.
DEFAULT_LOAD_TIMEOUT_MS = 5_000
# A record takes about 500 bytes: two thousand plugins.
_MAX_BYTES = 1 << 20
_FILE = "plugins.json"
_WRITABLE_BY_OTHERS = 0o022
_WRITABLE_BY_ALL = 0o002  # many users are alone in their group, and share what they write with it
_LOCK_WAIT_S = 10.0
# Set in the processes of plugins: a plugin that searches with Sage, or runs it, would call itself without end.
INSIDE_VARIABLE = "SAGE_INSIDE_PLUGIN"
_VERSIONED = (".git", ".hg", ".jj", DOT_SAGE)


@dataclass(frozen=True, slots=True)
class EnabledPlugin:
    """A plugin that the user has enabled, as its child process has described it."""

    name: str
    source: str  # `module:attribute`, or the absolute path of a file below `<home>/plugins/`
    origin: str  # the file that messages name and whose change reloads the plugin
    version: str
    author: str = ""
    description: str = ""
    hooks: tuple[str, ...] = ()
    events: tuple[str, ...] = ()  # the patterns that it has subscribed to while it was loaded
    priority: int = 100
    timeout_ms: int = DEFAULT_TIMEOUT_MS
    load_timeout_ms: int = DEFAULT_LOAD_TIMEOUT_MS
    has_chosen_priority: bool = False  # by the user: that of the plugin does not count
    stamp: str = ""  # of the origin when the rest was written


def plugins_dir() -> str:
    """The folder of the user's plugin files."""
    return os.path.join(sage_home(), "plugins")


def record_path() -> str:
    """The file of the enabled plugins."""
    return os.path.join(listeners_dir(), _FILE)


def stamp_of(path: str) -> str:
    """What changes when a file does; empty if it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return ""
    return f"{found.st_mtime_ns}-{found.st_size}-{found.st_ino}"


def file_problem(path: str) -> str:
    """Why a file cannot be a plugin of this user, because it might be somebody else's; empty if it can."""
    folder, real = plugins_dir(), os.path.realpath(path)
    if os.path.dirname(real) != os.path.realpath(folder):
        return f"it is {real}, outside of {folder}"
    try:
        found = os.stat(path)
    except OSError as error:
        return str(error.strerror)
    if not stat.S_ISREG(found.st_mode):
        return "it is no regular file"
    if hasattr(os, "geteuid") and found.st_uid not in (os.geteuid(), 0):
        return "it belongs to another user"
    return "all users may change it" if os.name == "posix" and found.st_mode & _WRITABLE_BY_ALL else ""


def distrust() -> str:
    """Why the plugins of this home do not run; empty if they do.

    `~/.sage` is the user's own. A SAGE_HOME that is somewhere else may have come with a project.
    """
    given = os.environ.get(HOME_VARIABLE)
    home, own = sage_home(), os.path.expanduser("~")
    if not given or home == os.path.join(own, DOT_SAGE):
        return ""
    if not os.path.isabs(given):
        return f"{HOME_VARIABLE} is the relative path {given}, so that any project could bring plugins"
    folder = os.path.dirname(os.path.realpath(home))
    own = os.path.realpath(own)
    while folder not in (own, parent := os.path.dirname(folder)):
        for marker in _VERSIONED:
            candidate = os.path.join(folder, marker)
            if os.path.lexists(candidate) and os.path.realpath(candidate) != os.path.realpath(home):
                return f"{HOME_VARIABLE} ({home}) is inside of the project {folder}, which could bring plugins"
        folder = parent
    return ""


def read() -> tuple[EnabledPlugin, ...]:
    """The enabled plugins by priority and name; a record that cannot be trusted or read is an error."""
    path = record_path()
    try:
        _check(path)
        data = light_json.loads(read_regular(path, _MAX_BYTES).strip())
        found = tuple(_entry(row) for row in data["plugins"]) if _is_of_this_format(data) else ()
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise ConfigError(
            f"the list of enabled plugins, {path}, cannot be used: {why}",
            f"delete {path} and run `sage plugins enable NAME` for each plugin; until then none runs",
        ) from error
    if found and (why := distrust()):
        raise ConfigError(f"no plugin runs: {why}", f"set {HOME_VARIABLE} to a folder outside of all projects")
    return tuple(sorted(found, key=lambda one: (one.priority, one.name)))


_said: set[str] = set()


def enabled() -> tuple[EnabledPlugin, ...]:
    """The enabled plugins for the work of Sage: a damaged record is said once on stderr and enables none."""
    try:
        return () if INSIDE_VARIABLE in os.environ else read()
    except ConfigError as error:
        say(f"{error.message}; {error.hint}")
        return ()


def say(message: str) -> None:
    """Print a line about plugins on stderr, each only once in a process."""
    if message in _said:
        return
    _said.add(message)
    try:
        sys.stderr.write(f"sage: {one_line(message)}\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):  # a process without stderr has no reader for it
        return


def put(plugin: EnabledPlugin) -> None:
    """Add a plugin to the record, or replace the one of its name."""
    _change(lambda known: (*(one for one in known if one.name != plugin.name), plugin))


def refresh(plugin: EnabledPlugin) -> None:
    """Replace the plugin of that name if it is still enabled from the same source."""
    _change(
        lambda known: tuple(plugin if (one.name, one.source) == (plugin.name, plugin.source) else one for one in known)
    )


def drop(name: str) -> EnabledPlugin | None:
    """Take a plugin out of the record and return it; None if it was not enabled."""
    gone: list[EnabledPlugin] = []

    def without(known: tuple[EnabledPlugin, ...]) -> tuple[EnabledPlugin, ...]:
        gone.extend(one for one in known if one.name == name)
        return tuple(one for one in known if one.name != name)

    _change(without)
    return gone[0] if gone else None


def _change(changed: Callable[[tuple[EnabledPlugin, ...]], tuple[EnabledPlugin, ...]]) -> None:
    """Write the record that `changed` makes of the present one; without plugins, remove it and an empty folder."""
    from sage_code.files.atomic import PRIVATE_FILE, remove, write_bytes  # lazy: a search only reads
    from sage_code.files.locks import locked
    from sage_code.files.private import make_private

    if why := distrust():
        raise UsageError(f"no plugin can be enabled: {why}", f"set {HOME_VARIABLE} to a folder outside of all projects")
    folder, path = listeners_dir(), record_path()
    # Beside the plugins: the folder of the record exists only while there is something in it.
    with locked(os.path.join(plugins_dir(), ".lock"), timeout_s=_LOCK_WAIT_S):
        before = read()
        after = changed(before)
        if after == before:
            return
        if not after:
            remove(path)
            remove_if_empty(folder)
            return
        document = {"format": FORMAT, "plugins": [_row(one) for one in after]}
        data = light_json.dumps(document).encode("utf-8", "surrogatepass")
        while True:
            make_private(folder)
            try:
                write_bytes(path, data, mode=PRIVATE_FILE)
                break
            except FileNotFoundError:  # a tail that ended has removed the folder, which was empty
                continue


def remove_if_empty(folder: str) -> None:
    """Remove the folder of those who listen unless something is in it."""
    try:
        os.rmdir(folder)
    except OSError:  # a tail has its pipe there, or another process was faster
        return


def _check(path: str) -> None:
    """Raise ValueError unless the folder and the file belong to this user alone, and are no links."""
    if not hasattr(os, "geteuid"):  # Windows protects a user's folders by itself
        return
    for one, is_kind, kind in ((os.path.dirname(path), stat.S_ISDIR, "folder"), (path, stat.S_ISREG, "regular file")):
        found = os.lstat(one)
        if not is_kind(found.st_mode):
            raise ValueError(f"{one} is no {kind}")
        if found.st_uid != os.geteuid():
            raise ValueError(f"{one} belongs to another user")
        if found.st_mode & _WRITABLE_BY_OTHERS:
            raise ValueError(f"other users may change {one}")


def _is_of_this_format(data: Any) -> bool:
    if not isinstance(data, dict) or not isinstance(data.get("format"), int):
        raise ValueError("it is no list of plugins")
    if data["format"] > FORMAT:
        raise ValueError("a newer Sage has written it")
    return True


_TYPES: dict[str, type] = {"str": str, "int": int, "bool": bool, "tuple[str, ...]": list}


def _entry(row: Any) -> EnabledPlugin:
    """One plugin of the record; every value has the type that it must have."""
    known = {one.name: _TYPES[str(one.type)] for one in fields(EnabledPlugin)}
    values: dict[str, Any] = {name: row[name] for name in known if name in row}
    for name, value in values.items():
        if type(value) is not known[name] or (
            isinstance(value, list) and not all(isinstance(one, str) for one in value)
        ):
            raise ValueError(f"{name} of a plugin has the wrong type")
    values |= {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    return EnabledPlugin(**values)


def _row(plugin: EnabledPlugin) -> dict[str, Any]:
    return {one.name: getattr(plugin, one.name) for one in fields(plugin)}
