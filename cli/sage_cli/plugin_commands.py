"""`sage plugins`: which plugins there are, which of them run, and a new one to begin with."""

from __future__ import annotations

import os
import shlex
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sage_cli.options import JsonOption
from sage_cli.output import answer, exit_if_nothing, one_line, print_json, say
from sage_cli.tables import answer_table
from sage_code.errors import UsageError

if TYPE_CHECKING:
    from sage_code.events.discovery import FoundPlugin

app = typer.Typer(
    name="plugins", help="Extend Sage by plugins, which run only if you enable them.", no_args_is_help=True
)
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The plugin's name, as `sage plugins list` has it.")]


class HookChoice(StrEnum):
    """The hooks that a plugin can have."""

    PRE_LOAD = "pre_load"
    POST_LOAD = "post_load"
    ON_TIMEOUT = "on_timeout"
    PRE_SEARCH = "pre_search"
    POST_SEARCH = "post_search"
    PRE_FORMAT = "pre_format"
    POST_FORMAT = "post_format"


@app.command("list")
def list_plugins(as_json: JsonOption = False) -> None:
    """List the plugins: those that run in their order, those that you can enable, and the watcher's own.

    Plugins are Python files in ~/.sage/plugins/ and installed packages. Nothing in a project's folder is looked at.

    Example:  sage plugins list
    """
    from sage_code.continuity.watcher.switching import rows as built_in_rows
    from sage_code.events.overview import rows as own_rows

    own = own_rows()
    rows = [*own, *built_in_rows()]
    cells = ((row["name"], _state(row), _order(row), _from(row), row["problem"] or _what(row)) for row in rows)
    answer_table("plugins", rows, ("name", "state", "order", "from", "hooks and events"), cells, as_json)
    if not own and not as_json:
        say("none of your own; `sage plugins new NAME` writes one, docs/PLUGINS.md says how", file=sys.stderr)


@app.command("enable")
def enable(
    name: NameArgument,
    priority: Annotated[
        int | None, typer.Option("--priority", metavar="N", help="A plugin with a lower number runs first.")
    ] = None,
    timeout_ms: Annotated[
        int | None, typer.Option("--timeout-ms", metavar="N", help="How long Sage waits for a call; 1000 unless said.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Let a plugin run from now on, in a process of its own, with your rights.

    It is loaded once to see whether it works. Of a plugin that is enabled already, priority and timeout can be changed.

    Example:  sage plugins enable my-synonyms

    Example:  sage plugins enable sage-path-boosts --priority 200 --timeout-ms 300
    """
    from sage_code.events import discovery, enabled, overview

    if (row := _switched(name, True)) is not None:
        if priority is not None or timeout_ms is not None:
            hint = f"set `priority` below `{name}:` in {row['source']}; it has no timeout"
            raise UsageError(f"{name} is one of the watcher's own plugins", hint)
        _answer_change(row, as_json)
        return
    if sys.stderr.isatty():
        _say_whose(overview.named(name))
    before = enabled.read()
    try:
        record = discovery.enable(name, priority=priority, timeout_ms=timeout_ms)
    except UsageError:
        overview.named(name)  # raises with the nearest name if there is no such plugin
        raise
    _answer_change(overview.row_of(record, None) | {"changed": record not in before}, as_json)


@app.command("disable")
def disable(name: NameArgument, as_json: JsonOption = False) -> None:
    """Let a plugin run no more; its files stay. Exits with 1 if it is not enabled.

    Example:  sage plugins disable my-synonyms
    """
    from sage_code.events import discovery, enabled, overview

    row = _switched(name, False)
    if row is None and any(one.name == name for one in enabled.read()):
        row = overview.row_of(discovery.disable(name), None) | {"changed": True, "enabled": False}
    elif row is None:
        row = overview.row_of_found(overview.named(name)) | {"changed": False}
    _answer_change(row, as_json)
    exit_if_nothing(row["changed"])


@app.command("show")
def show(name: NameArgument, as_json: JsonOption = False) -> None:
    """Show what a plugin says about itself now, where it is, and what is wrong with it. Loads it to see.

    Example:  sage plugins show my-synonyms
    """
    from sage_code.continuity.watcher import switching
    from sage_code.events.overview import plugin_document

    if switching.is_built_in(name):
        row = next(row for row in switching.rows() if row["name"] == name)
        found = row | {"author": "Sage", "description": "One of the watcher's own plugins.", "folder": ""}
    else:
        found = plugin_document(name)
    if as_json:
        print_json(found)
    else:
        _print(found)


@app.command("new")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What it is called: small letters, digits and -.")],
    hooks: Annotated[
        list[HookChoice] | None, typer.Option("--hook", metavar="HOOK", help="A hook that it has; may be repeated.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a plugin that works, and its test, into ~/.sage/plugins/. Nothing is overwritten, nothing is enabled.

    Without --hook it adds words to queries (pre_search).

    Example:  sage plugins new my-synonyms

    Example:  sage plugins new house-rules --hook post_search --hook post_format
    """
    from sage_code.continuity.watcher.switching import is_built_in
    from sage_code.events.new_plugin import DEFAULT_HOOKS, write

    if is_built_in(name):
        raise UsageError(f"{name} is one of the watcher's own plugins", "choose another name")
    made = write(name, [hook.value for hook in hooks] if hooks else DEFAULT_HOOKS)
    test = shlex.join([sys.executable, made.test_path])
    next_ = f"sage plugins enable {made.name}"
    document = {"name": made.name, "path": made.path, "test": made.test_path, "hooks": list(made.hooks), "next": next_}
    lines = [f"wrote {made.path}", f"test it with:    {test}", f"enable it with:  {next_}"]
    answer(document, as_json, *map(one_line, lines), show=say)


def _switched(name: str, on: bool) -> dict[str, Any] | None:
    """Switch a plugin of the watcher and return its row; None if the watcher has no plugin of this name."""
    from sage_code.continuity.watcher import switching

    if not switching.is_built_in(name):
        return None
    changed = switching.switch(name, on)
    return next(row for row in switching.rows() if row["name"] == name) | {"changed": changed}


def _say_whose(found: FoundPlugin) -> None:
    """Say before it runs whose code that is."""
    whose = f"of the package {found.package} {found.version}" if found.package else "a file of yours"
    say(f"{one_line(f'{found.origin}, {whose}')}, will run with your rights:", file=sys.stderr)
    say(
        f"it can read and change what you can; `sage plugins disable {one_line(found.name)}` ends that", file=sys.stderr
    )


def _answer_change(row: dict[str, Any], as_json: bool) -> None:
    """Print what was done about a plugin."""
    document = {
        key: row[key] for key in ("name", "kind", "enabled", "changed", "source", "hooks", "events", "priority")
    }
    state = ("" if row["changed"] else "already " if row["enabled"] else "not ") + "enabled"
    if row["changed"] and not row["enabled"]:
        state = "disabled"
    what = f" ({_what(row)})" if row["enabled"] else ""
    answer(document, as_json, one_line(f"{state}: {row['name']}{what}"), show=say)


def _state(row: dict[str, Any]) -> str:
    if row["problem"]:
        return "broken" if row["enabled"] else "unusable"
    if row["kind"] == "built-in":
        return "built-in" if row["enabled"] else "built-in, off"
    return "enabled" if row["enabled"] else "available"


def _order(row: dict[str, Any]) -> str:
    return "-" if row["priority"] is None else str(row["priority"])


def _what(row: dict[str, Any]) -> str:
    return ", ".join([*row.get("hooks", ()), *row.get("events", ())]) or "-"


def _from(row: dict[str, Any]) -> str:
    """Where a plugin comes from, in short; `sage plugins show` has the whole path."""
    if row["kind"] == "built-in":
        return "the watcher"
    return f"{row['package']} {row['version']}" if row["package"] else os.path.basename(row["source"])


def _print(found: dict[str, Any]) -> None:
    """Print a plugin for people."""
    version = f" {found['version']}" if found["version"] else ""
    say(one_line(f"{found['name']}{version}  ({_state(found)})"))
    limit = f"{found['timeout_ms']:,} ms a call" if found["timeout_ms"] is not None else ""
    for label, value in (
        ("what for", found["description"]),
        ("author", found["author"]),
        ("package", found["package"]),
        ("file", found["source"]),
        ("its folder", found["folder"]),
        ("hooks", ", ".join(found["hooks"])),
        ("events", ", ".join(found["events"])),
        ("order", "" if found["priority"] is None else str(found["priority"])),
        ("time", limit),
        ("problem", found["problem"]),
    ):
        if value:
            say(f"    {label + ':':<12}{one_line(value)}", " " * 16)
