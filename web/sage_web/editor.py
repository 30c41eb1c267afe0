"""Open a file at a line in the user's editor, on the machine that the page runs on.

A page can start an editor that has a window; one that needs a terminal would wait for keys that nobody can press. For
those there is a link that VS Code and its relatives understand.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from urllib.parse import quote

# How each editor with a window takes a line number, by the name of its program.
_GOTO = "code code-insiders codium vscodium cursor windsurf positron"
_COLON = "subl sublime_text zed zeditor atom lapce"
_LINE = "kate kwrite mate idea pycharm webstorm goland clion rider rubymine phpstorm rustrover studio fleet"
_PLUS = "gvim mvim gedit gnome-text-editor"
_STYLES = {
    **dict.fromkeys(_GOTO.split(), ("--goto", "{file}:{line}")),
    **dict.fromkeys(_COLON.split(), ("{file}:{line}",)),
    **dict.fromkeys(_LINE.split(), ("--line", "{line}", "{file}")),
    **dict.fromkeys(_PLUS.split(), ("+{line}", "{file}")),
}
_VARIABLES = ("SAGE_EDITOR", "VISUAL", "EDITOR")
# Options that make an editor wait for its window to be closed: nobody waits here.
_WAITING = frozenset({"-w", "--wait", "-W", "-f", "--nofork"})


def editor_words(environ: Mapping[str, str] | None = None) -> list[str]:
    """The command of the user's editor, if it is one with a window that can be started; empty otherwise."""
    for variable in _VARIABLES:
        try:
            words = shlex.split((os.environ if environ is None else environ).get(variable, ""))
        except ValueError:  # an open quote
            continue
        if words and _program(words) in _STYLES and shutil.which(words[0]):
            return [words[0], *(word for word in words[1:] if word not in _WAITING)]
    return []


def editor_name(environ: Mapping[str, str] | None = None) -> str:
    """The name of that editor for people; empty if there is none."""
    words = editor_words(environ)
    return _program(words) if words else ""


def command_for(words: list[str], path: str, line: int) -> list[str]:
    """The command line that opens a file at a line."""
    file = os.path.abspath(path)  # absolute: an editor cannot take it for an option
    return [*words, *(part.format(file=file, line=line) for part in _STYLES[_program(words)])]


def open_at(path: str, line: int) -> bool:
    """Start the editor without waiting for it, and never through a shell; False if there is none to start."""
    words = editor_words()
    if not words:
        return False
    try:
        subprocess.Popen(
            command_for(words, path, line),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C in the terminal of the page does not end the editor
        )
    except OSError:
        return False
    return True


def editor_link(path: str, line: int) -> str:
    """An address that VS Code opens; Cursor and others take it over if they are asked to."""
    return f"vscode://file{quote(os.fsencode(os.path.abspath(path)), safe='/')}:{line}"


def _program(words: list[str]) -> str:
    return os.path.basename(words[0]).removesuffix(".exe").removesuffix(".cmd").lower()
