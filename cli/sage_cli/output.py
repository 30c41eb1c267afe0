"""What the command line prints: JSON on request, one format of errors, escaped text from foreign files, wrapped lines.

A path is printed as it can be opened from the current folder: relative to it, or absolute if the project is elsewhere.
In JSON, `file` is relative to the project's root.

Imports only `os` and `sys` up front, since `sage grep` goes through here.
"""

from __future__ import annotations

import os
import sys

from sage_code.errors import SageError
from sage_code.text.escaping import in_json, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TextIO

    from sage_cli.shown import Formatting

EXIT_FOUND, EXIT_NOTHING, EXIT_ERROR = 0, 1, 2
CYAN, DIM, MARK, BOLD, END = _COLOURS = ("\x1b[36m", "\x1b[2m", "\x1b[1;33m", "\x1b[1m", "\x1b[0m")
_USUAL_COLUMNS = 80

# What plugins change about the output; set by `entry` while a command runs, if one does.
formatting: Formatting | None = None


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    if formatting is not None and isinstance(value, dict):
        value = formatting.document(value)
    if sys.stdout.isatty():
        import json  # lazy: only people need indentation

        text = json.dumps(value, ensure_ascii=not _utf8(), indent=2)
    else:
        from sage_code.text.light_json import dumps

        text = dumps(value, ensure_ascii=not _utf8())
    if formatting is not None:
        formatting.json(in_json(text))
    else:
        print(in_json(text))


def answer(document: Any, as_json: bool, *lines: str, show: Callable[[str], None] = print) -> None:
    """Print the document with `--json`, else the lines, which are safe to print."""
    if as_json:
        print_json(document)
        return
    for line in lines:
        show(line)


def exit_if_nothing(found: object, message: str = "") -> None:
    """If nothing was found, say so on standard error and exit with 1."""
    if not found:
        from typer import Exit  # lazy: `sage grep` needs no Typer

        if message:
            print(message, file=sys.stderr)
        raise Exit(EXIT_NOTHING)


def say_warnings(warnings: Iterable[str]) -> None:
    """Print the warnings of the settings on standard error."""
    for warning in warnings:
        print(f"warning: {one_line(warning)}", file=sys.stderr)


def say_note(note: str, as_json: bool) -> None:
    """Print on standard error what is to be known about the index; with --json the document says it."""
    if note and not as_json:
        say(f"sage: {one_line(note)}", " " * 6, sys.stderr)


def plain(text: str) -> str:
    """Foreign text that is safe to print: nothing in it controls the terminal, or hides or reorders text."""
    text = visible(text)
    return text if _utf8() else text.encode("ascii", "backslashreplace").decode()


def one_line(text: str) -> str:
    """Foreign text on one line."""
    return plain(text.replace("\n", "\\n"))


def say(line: str, indent: str = "    ", file: TextIO | None = None) -> None:
    """Print one line that is safe to print; on a narrow terminal it is wrapped between words."""
    stream = file or sys.stdout
    print(wrapped(line, indent) if stream.isatty() else line, file=stream)


def wrapped(line: str, indent: str = "    ", width: int = 0) -> str:
    """The line, wrapped between words at a width (the terminal's unless given), indented after the first line."""
    width = width or columns()
    if _seen(line) <= width:
        return line
    body = line.lstrip(" ")
    done, current = [], line[: len(line) - len(body)]
    length, begun = len(current), False
    for word in body.split(" "):
        if begun and length + 1 + _seen(word) > width:
            done.append(current.rstrip(" "))
            current, length, begun = indent, len(indent), False
        if word or begun:
            current += f" {word}" if begun else word
            length += begun + _seen(word)
            begun = True
    return "\n".join([*done, current])


def shown_path(root: str, file: str) -> str:
    """The path of a project's file as it can be opened from the current folder."""
    path = os.path.join(root, file)
    try:
        here = os.getcwd()
        relative = os.path.relpath(path, here)
    except (OSError, ValueError):  # the folder is gone, or on another drive
        return path
    is_inside = os.path.join(here, "").startswith(os.path.join(root, ""))
    return relative if is_inside or not relative.startswith("..") else path


def asked_file(root: str, path: str) -> str:
    """The absolute path of a project's file that `path` names from the current folder; else `path` as it is."""
    here = os.path.realpath(path)
    return here if here.startswith(os.path.join(root, "")) and os.path.isfile(here) else path


def has_colour() -> bool:
    """Whether to print colours: standard output is a terminal that has them, and NO_COLOR is not set."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") not in ("dumb", "unknown")


def colours() -> tuple[str, ...]:
    """Cyan, dim, mark, bold and the end of all of them; empty texts where no colours are printed."""
    return _COLOURS if has_colour() else ("",) * len(_COLOURS)


def say_missing(name: str, nearest: list[str]) -> None:
    """Say that no symbol is called `name`, and which names are nearest."""
    hint = f"; nearest: {one_line(', '.join(nearest))}" if nearest else ""
    say(f"no symbol {one_line(name)}{hint}", file=sys.stderr)


def fail(error: SageError, *, as_json: bool) -> int:
    """Report an error; with --json also as a document. Returns the exit code."""
    if as_json:
        print_json({"error": {"code": error.code, "message": error.message, "hint": error.hint}})
    say(f"sage: {one_line(error.message)}", " " * 6, sys.stderr)
    if error.hint:
        say(f"      {one_line(error.hint)}", " " * 6, sys.stderr)
    return EXIT_ERROR


def columns() -> int:
    """How wide the terminal is."""
    try:
        return int(os.environ.get("COLUMNS") or os.get_terminal_size(sys.stdout.fileno()).columns) or _USUAL_COLUMNS
    except (OSError, ValueError):
        return _USUAL_COLUMNS


def _seen(word: str) -> int:
    """The columns that a word takes; its colours take none."""
    for part in _COLOURS:
        word = word.replace(part, "")
    return len(word)


def _utf8() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
