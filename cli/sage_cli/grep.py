"""`sage grep`: exact symbol lookup, answered without loading Typer."""

from __future__ import annotations

import sys

from sage_cli import hot, output
from sage_cli.output import (
    EXIT_FOUND,
    EXIT_NOTHING,
    colours,
    one_line,
    print_json,
    say,
    say_missing,
    say_note,
    shown_path,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sage_code.project import Project

# The flags that are read without Typer: flag -> (parameter, type). With any other, such as `--help`, Typer answers.
# A test compares this with the Typer command.
FLAGS = hot.by_spelling(
    {
        "--kind -k": ("kind", str),
        "--ignore-case -i": ("ignore_case", bool),
        "--prefix -p": ("prefix", bool),
        "--limit -n": ("limit", int),
        "--names": ("names", bool),
        "--vimgrep": ("vimgrep", bool),
        "--project": ("project", str),
        "--refresh": ("refresh", bool),
        "--no-refresh": ("no_refresh", bool),
        "--json": ("as_json", bool),
    }
)
DEFAULT_LIMIT = 50


def parse(arguments: list[str]) -> dict[str, Any] | None:
    """The parameters of `run`; None if the arguments need Typer."""
    read = hot.parse(arguments, FLAGS)
    if read is None or len(read[0]) != 1:
        return None
    return {"name": read[0][0], **read[1]}


def run(
    name: str,
    kind: str | None = None,
    ignore_case: bool = False,
    prefix: bool = False,
    limit: int = DEFAULT_LIMIT,
    names: bool = False,
    project: str = ".",
    refresh: bool = False,
    no_refresh: bool = False,
    as_json: bool = False,
    vimgrep: bool = False,
) -> int:
    """Print the symbols called `name`, or the nearest names if there are none."""
    from sage_code.project import Project

    if vimgrep:
        from sage_cli.vimgrep import check_alone

        check_alone(vimgrep, as_json)
    opened = Project.named(project)
    if refresh or no_refresh:
        note = "" if no_refresh else opened.refresh()
        matches = opened.grep(name, kind=kind, ignore_case=ignore_case, prefix=prefix, refresh=False)
    else:
        matches, note = opened.quick_grep(name, kind=kind, ignore_case=ignore_case, prefix=prefix)
    say_note(note, as_json)
    shown = matches[:limit] if limit else matches
    more = len(matches) - len(shown)
    others = opened.grep(name, ignore_case=ignore_case, prefix=prefix, refresh=False) if kind and not matches else []
    kinds = sorted({match["kind"] for match in others})
    if as_json:
        document: dict[str, Any] = {"name": name, "matches": shown}
        if more:
            document["truncated"] = more
        if kinds:
            document["kinds"] = kinds
        elif not matches:
            document["nearest"] = opened.nearest(name)
        if note:
            document["note"] = note
        print_json(document)
    elif kinds:
        say(f"no {one_line(kind or '')} {one_line(name)}; there is: {one_line(', '.join(kinds))}", file=sys.stderr)
    elif not matches:
        say_missing(name, opened.nearest(name))
    elif vimgrep:
        _print_places(opened, shown)
    elif output.formatting is not None:
        _print(opened.root, output.formatting.document({"name": name, "matches": shown})["matches"], names, more)
    else:
        _print(opened.root, shown, names, more)
    return EXIT_FOUND if matches else EXIT_NOTHING


def _print(root: str, shown: list[dict[str, Any]], names: bool, more: int) -> None:
    """Print the matches, or only their names."""
    if names:
        for one in dict.fromkeys(match["name"] for match in shown):
            print(one_line(one))
        return
    _show(root, shown)
    if more:
        print(f"... and {more} more; --limit 0 shows all", file=sys.stderr)


def _print_places(project: Project, shown: list[dict[str, Any]]) -> None:
    """Print the matches for an editor."""
    from sage_cli.vimgrep import print_places

    lines = project.lines_at(((match["file"], match["line"]) for match in shown), is_indented=True)
    print_places(
        (project.root, one["file"], one["line"], text, one["name"]) for one, text in zip(shown, lines, strict=True)
    )


def _show(root: str, matches: list[dict[str, Any]]) -> None:
    cyan, dim, _, _, end = colours()
    for match in matches:
        where = f"{cyan}{one_line(shown_path(root, match['file']))}:{match['line']}{end}"
        what = f"{dim}{one_line(match['kind'])}{end} {one_line(match['qualname'])}"
        say(f"{where}  {what}  {dim}{one_line(match['signature'])}{end}".rstrip())
