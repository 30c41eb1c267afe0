"""`sage search --exact` and `--regex`: prints the files with a text, each with its lines. Loads nothing heavy."""

from __future__ import annotations

import os
import sys

from sage_cli import output
from sage_cli.output import EXIT_FOUND, EXIT_NOTHING, colours, one_line, plain, print_json, say, shown_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sage_code.project import Project

# Lines of a file that are printed unless only its file is wanted; the others are counted.
_MAX_LINES = 6


def run(
    opened: Project, text: str, asked: dict[str, Any], files: bool, open_editor: bool, as_json: bool, vimgrep: bool
) -> int:
    """Print the files with a text; returns 1 if there are none."""
    found = opened.find_text(text, **asked, snippets=not files)
    if as_json:
        print_json(found)
    elif vimgrep and found["good"] and not (files or open_editor):
        _print_places(found, "" if asked["regex"] else text)
    elif output.formatting is not None and not open_editor:
        _show(output.formatting.document(found), files, open_editor)
    else:
        _show(found, files, open_editor)
    return EXIT_FOUND if found["good"] else EXIT_NOTHING


def _show(found: dict[str, Any], files: bool, open_editor: bool) -> None:
    """Print the files and their lines, or open the best line in an editor."""
    if found["note"]:
        print(f"sage: {one_line(found['note'])}", file=sys.stderr)
    if not found["good"]:
        print("no match", file=sys.stderr)
        return
    if open_editor:
        from sage_cli.editor import open_at

        best = found["results"][0]
        open_at(os.path.join(best.get("root", found["root"]), best["file"]), best["line"])
        return
    for row in found["results"]:
        path = one_line(shown_path(row.get("root", found["root"]), row["file"]))
        if files:
            print(path)
        else:
            _show_file(path, row)
    counts = f"{_several(found['lines'], 'line')} in {_several(found['files'], 'file')}"
    more = found["files"] - len(found["results"])
    rest = f"; {more:,} files are not shown, --limit shows more" if more > 0 else ""
    print(f"{counts}{rest}", file=sys.stderr)


def _print_places(found: dict[str, Any], text: str) -> None:
    """Print every line with the text, for an editor; of a pattern the column is where the line begins."""
    from sage_cli.vimgrep import print_places

    for row in found["results"]:
        best = row["snippet"].split("\n")[row["line"] - row["snippet_line"]]
        places = [(row["line"], best), *((one["start_line"], one["text"].split("\n")[0]) for one in row["also"])]
        root = row.get("root", found["root"])
        print_places((root, row["file"], line, shown, text) for line, shown in sorted(places))


def _show_file(path: str, row: dict[str, Any]) -> None:
    """Print the best line of a file with what is around it, and some of its other lines."""
    cyan, dim, _, _, end = colours()
    name = f"  {one_line(row['qualname'])}" if row["qualname"] else ""
    say(f"{cyan}{path}:{row['line']}{end}  {dim}{one_line(row['kind'])}{end}{name}")
    for number, line in enumerate(row["snippet"].split("\n"), row["snippet_line"]):
        say(f"{dim}{number:>6}{end}  {plain(line)}", " " * 12)
    shown = row["also"][: _MAX_LINES - 1]
    for other in shown:
        for number, line in enumerate(other["text"].split("\n"), other["start_line"]):
            say(f"{dim}{number:>6}{end}  {plain(line)}", " " * 12)
    left = row["lines"] - 1 - len(shown)
    if left > 0:
        say(f"{dim}        and {_several(left, 'line')} more{end}")
    print()


def _several(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"
