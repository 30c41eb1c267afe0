"""`sage config`: show settings and where each came from, change them, put them back."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sage_cli.output import one_line, print_json

if TYPE_CHECKING:  # the library is loaded by the command that runs, not by `sage --help`
    from sage_code.settings import Settings

app = typer.Typer(
    name="config",
    help="Show and change settings.",
    no_args_is_help=True,
    add_completion=False,
)

PathOption = Annotated[
    str, typer.Option("--path", metavar="PATH", help="The project, by any folder in it; this one by default.")
]
ProjectOption = Annotated[
    bool, typer.Option("--project", help="In the project's .sage/tuning.yaml instead of the user's.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
KeyArgument = Annotated[str, typer.Argument(metavar="KEY", help="A setting; `sage config list` shows all.")]


@app.command("list")
def list_settings(as_json: JsonOption = False, path: PathOption = ".") -> None:
    """Show every setting that is in use, its value and where that came from.

    Example:  sage config list --json
    """
    from sage_code.settings_table import LISTED

    settings = _load(path)
    if as_json:
        rows = [_record(settings, key) for key in LISTED]
        print_json({"settings": rows, "warnings": list(settings.warnings)})
    elif sys.stdout.isatty():
        _print_table(settings)
    else:
        for key in LISTED:
            source = settings.source(key)
            print(one_line(f"{key}\t{_text(getattr(settings, key))}\t{source.kind}\t{source.where}"))


@app.command("get")
def get_setting(key: KeyArgument, as_json: JsonOption = False, path: PathOption = ".") -> None:
    """Show the value of one setting.

    Example:  sage config get recall_threshold
    """
    from sage_code.settings_table import setting

    setting(key)  # an unknown key is refused before anything else can be wrong
    settings = _load(path)
    if as_json:
        print_json(_record(settings, key))
    else:
        print(one_line(_text(getattr(settings, key))))


@app.command("set")
def set_setting(
    key: KeyArgument,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Lists: items with commas, or a JSON list.")],
    project: ProjectOption = False,
    path: PathOption = ".",
) -> None:
    """Give a setting a value, for yourself or for one project.

    Example:  sage config set code_embedding_model BAAI/bge-base-en-v1.5

    Example:  sage config set exclude 'vendor/,*.min.js' --project
    """
    from sage_code.settings import TABLE, set_value, tuning_path

    scope, root = _scope(project), _root(path)
    written = set_value(key, value, scope, root)
    print(one_line(f"{key} = {_text(written)}  ({tuning_path(scope, root)})"))
    if TABLE[key].reserved:
        print(f"note: nothing reads {key} yet", file=sys.stderr)
    winner = _load(path).source(key)
    if winner.kind != scope:
        print(f"note: {one_line(winner.where)} sets {key} too, and wins here", file=sys.stderr)


@app.command("reset")
def reset_settings(
    key: Annotated[str | None, typer.Argument(metavar="[KEY]", help="One setting; all without it.")] = None,
    project: ProjectOption = False,
    path: PathOption = ".",
) -> None:
    """Take settings out of the user's file, or the project's, so that what lies below holds again.

    Exits with 1 when there was nothing to take out.

    Example:  sage config reset recall_threshold
    """
    from sage_code.settings import reset, tuning_path

    scope, root = _scope(project), _root(path)
    removed = reset(scope, root, key)
    where = tuning_path(scope, root)
    if not removed:
        print(f"nothing to reset in {one_line(where)}", file=sys.stderr)
        raise typer.Exit(1)
    print(f"reset {', '.join(removed)}  ({one_line(where)})")


def _scope(project: bool) -> Literal["user", "project"]:
    return "project" if project else "user"


def _root(path: str) -> str:
    import os

    from sage_code.errors import UsageError
    from sage_code.paths import find_root

    if not os.path.isdir(path):
        raise UsageError(f"there is no folder {path}", "--path takes a project's folder")
    return find_root(path)


def _load(path: str) -> Settings:
    from sage_code.settings import load_settings

    settings = load_settings(_root(path))
    for warning in settings.warnings:
        print(f"warning: {one_line(warning)}", file=sys.stderr)
    return settings


def _record(settings: Settings, key: str) -> dict[str, Any]:
    from sage_code.settings import TABLE

    source = settings.source(key)
    return {
        "key": key,
        "value": getattr(settings, key),
        "default": TABLE[key].default,
        "source": source.kind,
        "where": source.where,
        "allowed": TABLE[key].allowed,
        "help": TABLE[key].help,
    }


def _text(value: object) -> str:
    """A value as `sage config set` would take it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        plain = all("," not in item and item == item.strip(" ") and item[0] != "[" for item in value)
        return ",".join(value) if plain else json.dumps(value, ensure_ascii=False)
    return str(value)


def _print_table(settings: Settings) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from sage_code.settings_table import LISTED

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("setting", "value", "from", "what it does"):
        table.add_column(heading, overflow="fold")
    for key, known in LISTED.items():
        source = settings.source(key)
        changed = source.kind != "default"
        # As Text, because a value may look like Rich's markup.
        cells = (key, _text(getattr(settings, key)), source.where if changed else "default", known.help)
        table.add_row(*(Text(one_line(cell)) for cell in cells), style="" if changed else "dim")
    Console().print(table)
