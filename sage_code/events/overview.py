"""The user's plugins as documents: what is enabled, what could be, and what is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple

from sage_code.errors import PluginError, UsageError
from sage_code.events import discovery, enabled
from sage_code.events.discovery import FoundPlugin
from sage_code.events.enabled import EnabledPlugin


def rows() -> list[dict[str, Any]]:
    """The enabled plugins in the order in which they run, then those that can be enabled. No code is looked at."""
    records, found = enabled.read(), discovery.discover()
    by_source = {one.source: one for one in found}
    known = {one.source for one in records}
    enabled_rows = [row_of(one, by_source.get(one.source)) for one in records]
    return enabled_rows + [row_of_found(one) for one in found if one.source not in known]


def plugin_document(name: str) -> dict[str, Any]:
    """One plugin as it describes itself now: it is loaded in a process of its own, and what fails is its problem."""
    row = next((row for row in rows() if row["name"] == name), None)
    if row is None:
        row = row_of_found(named(name))
    about = {"author": "", "description": "", "folder": os.path.join(enabled.plugins_dir(), row["name"])}
    if row["problem"]:
        return row | about
    try:
        now = discovery.inspect(name)
    except PluginError as error:
        return row | about | {"problem": error.message}
    priority = row["priority"] if row["enabled"] else now.priority
    about |= {"author": now.author, "description": now.description}
    return row | _said(now) | about | {"priority": priority, "timeout_ms": now.timeout_ms}


class Problem(NamedTuple):
    """What is wrong with an enabled plugin, and what repairs it."""

    name: str
    what: str
    repair: str


def problems(records: Iterable[EnabledPlugin]) -> Iterator[Problem]:
    """What is wrong with enabled plugins; each is loaded in a process of its own."""
    for one in records:
        off = f"correct it, or `sage plugins disable {one.name}`"
        if missing := _missing(one):
            yield Problem(one.name, missing, f"bring it back, or `sage plugins disable {one.name}`")
            continue
        try:
            now = discovery.inspect(one.name)
        except PluginError as error:
            yield Problem(one.name, error.message, off)
            continue
        if now.name != one.name:
            yield Problem(one.name, f"{one.origin}: it calls itself {now.name} now", off)
        elif new := {*now.hooks, *now.events} - {*one.hooks, *one.events}:
            yield Problem(
                one.name, f"{', '.join(sorted(new))} came after it was enabled", f"`sage plugins enable {one.name}`"
            )


def named(name: str) -> FoundPlugin:
    """A plugin that can be enabled; UsageError with the nearest name if there is none."""
    found = discovery.discover()
    for one in found:
        if name in (one.name, one.source):
            return one
    names = sorted({one.name for one in found})
    near = get_close_matches(name, names, 1, 0.6)
    hint = f"did you mean {near[0]}? " if near else ""
    raise UsageError(
        f"there is no plugin {name[:80]!r}", f"{hint}`sage plugins list` shows all, `sage plugins new` makes one"
    )


def row_of(record: EnabledPlugin, found: FoundPlugin | None) -> dict[str, Any]:
    """An enabled plugin, and what was found of it."""
    kind = found.kind if found else "file" if os.path.isabs(record.source) else "package"
    return {
        "name": record.name,
        "kind": kind,
        "enabled": True,
        "source": record.origin,
        "package": found.package if found else "",
        "priority": record.priority,
        "timeout_ms": record.timeout_ms,
        "problem": found.problem if found else _missing(record) or "it is not installed any more",
        **_said(record),
    }


def row_of_found(found: FoundPlugin) -> dict[str, Any]:
    """A plugin that is not enabled. What it can do is not known: its code was not looked at."""
    return {
        "name": found.name,
        "kind": found.kind,
        "enabled": False,
        "source": found.origin,
        "package": found.package,
        "priority": None,
        "timeout_ms": None,
        "problem": found.problem,
        "version": found.version,
        "hooks": [],
        "events": [],
    }


def _said(record: EnabledPlugin) -> dict[str, Any]:
    return {"version": record.version, "hooks": list(record.hooks), "events": list(record.events)}


def _missing(record: EnabledPlugin) -> str:
    """What is wrong with the file of an enabled plugin without a look at its code."""
    is_there = not os.path.isabs(record.origin) or os.path.isfile(record.origin)
    return "" if is_there else f"its file {record.origin} is gone"
