"""`sage config`: shows settings and where each comes from, changes and resets them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sage_cli.options import JsonOption, ProjectOption, ScopeChoice, ScopeOption
from sage_cli.output import answer, exit_if_nothing, one_line, print_json, say, say_warnings

if TYPE_CHECKING:  # the library is loaded by the command that runs, not by `sage --help`
    from sage_code.settings.loading import Settings
    from sage_code.settings.table import Value

app = typer.Typer(name="config", help="Show and change settings.", no_args_is_help=True, add_completion=False)

_LONGEST_KEY = 10_000

KeyArgument = Annotated[str, typer.Argument(metavar="KEY", help="A setting; `sage config list` shows all.")]


@app.command("list")
def list_settings(as_json: JsonOption = False, project: ProjectOption = ".") -> None:
    """Show every setting that is in use: its value, where that came from and what it does.

    Example:  sage config list --json
    """
    from sage_code.settings.table import TABLE

    settings = _load(project)
    if as_json:
        print_json({"settings": [_record(settings, key) for key in TABLE], "warnings": list(settings.warnings)})
        return
    for key, known in TABLE.items():
        source, value = settings.origin(key), one_line(_text(settings, key))
        if sys.stdout.isatty():
            say(f"{key} = {value}  ({'default' if source.kind == 'default' else one_line(source.where)})")
            say(f"    {known.help}")
        else:
            print(f"{key}\t{value}\t{source.kind}\t{one_line(source.where)}\t{known.help}")


@app.command("get")
def get_setting(key: KeyArgument, as_json: JsonOption = False, project: ProjectOption = ".") -> None:
    """Show the value of one setting.

    Example:  sage config get recall_threshold
    """
    from sage_code.settings.table import setting

    setting(key)  # an unknown key is refused before anything else can be wrong
    settings = _load(project)
    answer(_record(settings, key), as_json, one_line(_text(settings, key)))


@app.command("set")
def set_setting(
    key: KeyArgument,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="Lists: items with commas, or a JSON list.")],
    scope: ScopeOption = ScopeChoice.USER,
    project: ProjectOption = ".",
) -> None:
    """Give a setting a value, for yourself or for one project. For a key, `-` reads it from stdin.

    Example:  sage config set code_embedding_model BAAI/bge-base-en-v1.5

    Example:  sage config set exclude 'vendor/,*.min.js' --scope project
    """
    from sage_code.settings.loading import file_of, set_value
    from sage_code.settings.table import setting

    root = _root(project)
    if value == "-" and setting(key).secret:  # what is typed as an argument stays in the history of the shell
        value = sys.stdin.readline(_LONGEST_KEY)
    written = set_value(key, value, scope.value, root)
    say(f"{key} = {one_line(_as_typed(setting(key).shown(written)))}  ({one_line(file_of(key, scope.value, root))})")
    winner = _load(project).origin(key)
    if winner.kind != scope.value:
        print(f"note: {one_line(winner.where)} sets {key} too, and wins here", file=sys.stderr)


@app.command("reset")
def reset_settings(
    key: Annotated[str | None, typer.Argument(metavar="[KEY]", help="One setting; all without it.")] = None,
    scope: ScopeOption = ScopeChoice.USER,
    project: ProjectOption = ".",
) -> None:
    """Remove settings from the user's file, or the project's; then the next file or the default counts again.

    A key of a service is removed only if it is named. Exits with 1 when there was nothing to remove.

    Example:  sage config reset recall_threshold
    """
    from sage_code.settings.loading import file_of, reset

    root = _root(project)
    removed = reset(scope.value, root, key)
    where = file_of(key, scope.value, root)
    exit_if_nothing(removed, f"nothing to reset in {one_line(where)}")
    print(f"reset {', '.join(removed)}  ({one_line(where)})")


def _root(project: str) -> str:
    from sage_code.project import Project

    return Project.named(project).root


def _load(project: str) -> Settings:
    from sage_code.settings.loading import load_settings

    settings = load_settings(_root(project))
    say_warnings(settings.warnings)
    return settings


def _record(settings: Settings, key: str) -> dict[str, Any]:
    """A setting with its value, origin and meaning, as `--json` prints it."""
    from sage_code.settings.loading import TABLE

    source = settings.origin(key)
    return {
        "key": key,
        "value": TABLE[key].shown(getattr(settings, key)),
        "default": TABLE[key].default,
        "source": source.kind,
        "where": source.where,
        "allowed": TABLE[key].allowed,
        "help": TABLE[key].help,
    }


def _text(settings: Settings, key: str) -> str:
    """The value of a setting as `sage config set` would take it, but for secrets and passwords."""
    from sage_code.settings.loading import TABLE

    return _as_typed(TABLE[key].shown(getattr(settings, key)))


def _as_typed(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        plain = all("," not in item and item == item.strip(" ") and item[0] != "[" for item in value)
        return ",".join(value) if plain else json.dumps(value, ensure_ascii=False)
    return str(value)
