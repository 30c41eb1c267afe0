"""`sage grep`: exact symbol lookup. Light enough to be answered before Typer is loaded."""

from __future__ import annotations

import os
import sys

from sage_cli import hot
from sage_cli.output import EXIT_FOUND, EXIT_NOTHING, one_line, print_json, say_missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# What the hot path understands by itself; anything else, `--help` included, goes to Typer. Flag -> (parameter, type).
# A test holds this against the Typer command.
FLAGS: dict[str, tuple[str, type]] = {
    "--kind": ("kind", str),
    "-k": ("kind", str),
    "--ignore-case": ("ignore_case", bool),
    "-i": ("ignore_case", bool),
    "--prefix": ("prefix", bool),
    "-p": ("prefix", bool),
    "--limit": ("limit", int),
    "-n": ("limit", int),
    "--path": ("path", str),
    "--json": ("as_json", bool),
}
DEFAULT_LIMIT = 50


def parse(arguments: list[str]) -> dict[str, Any] | None:
    """The parameters of `run`, or None when the arguments want the full parser."""
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
    path: str = ".",
    as_json: bool = False,
) -> int:
    """Print the symbols called `name`; on a miss the nearest names."""
    from sage_code.project import Project

    project = Project.open(path)
    matches = project.grep(name, kind=kind, ignore_case=ignore_case, prefix=prefix)
    shown = matches[:limit] if limit else matches
    if as_json:
        document: dict[str, Any] = {"name": name, "matches": shown}
        if len(shown) < len(matches):
            document["truncated"] = len(matches) - len(shown)
        if not matches:
            document["nearest"] = project.nearest(name)
        print_json(document)
        return EXIT_FOUND if matches else EXIT_NOTHING
    if not matches:
        say_missing(name, project.nearest(name))
        return EXIT_NOTHING
    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    place, dim, end = ("\x1b[36m", "\x1b[2m", "\x1b[0m") if colour else ("", "", "")
    here = os.path.relpath(project.root) if sys.stdout.isatty() else ""
    for match in shown:
        file = os.path.join(here, match["file"]) if here not in ("", ".") else match["file"]
        where = f"{place}{one_line(file)}:{match['line']}{end}"
        what = f"{dim}{one_line(match['kind'])}{end} {one_line(match['qualname'])}"
        print(f"{where}  {what}  {dim}{one_line(match['signature'])}{end}")
    if len(shown) < len(matches):
        print(f"... and {len(matches) - len(shown)} more; --limit 0 shows all", file=sys.stderr)
    return EXIT_FOUND
