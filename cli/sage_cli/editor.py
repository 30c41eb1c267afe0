"""Open a file at a line in the user's editor: `$VISUAL` or `$EDITOR`, started directly and never through a shell."""

from __future__ import annotations

import os
import shlex
import subprocess

from sage_code.errors import UsageError

# How each editor takes a line number, by the name of its program; other editors get the file alone.
_PLUS = "vi vim nvim view gvim mvim nano pico emacs emacsclient micro kak joe ne jed mg mcedit gedit less"
_GOTO = "code code-insiders codium vscodium cursor windsurf positron"
_COLON = "subl sublime_text hx helix zed zeditor atom lapce"
_LINE = "kate kwrite mate idea pycharm webstorm goland clion rider rubymine phpstorm rustrover studio fleet"
_STYLES = {
    **dict.fromkeys(_PLUS.split(), ("+{line}", "{file}")),
    **dict.fromkeys(_GOTO.split(), ("--goto", "{file}:{line}")),
    **dict.fromkeys(_COLON.split(), ("{file}:{line}",)),
    **dict.fromkeys(_LINE.split(), ("--line", "{line}", "{file}")),
}


def open_at(path: str, line: int) -> None:
    """Start the editor and wait for it."""
    command = editor_command(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "", path, line)
    try:
        subprocess.run(command, check=False)
    except OSError as error:
        raise UsageError(f"{command[0]} cannot be started: {error.strerror}", "set $VISUAL or $EDITOR") from error


def editor_command(setting: str, path: str, line: int) -> list[str]:
    """The command line for a setting such as `code --wait`."""
    try:
        words = shlex.split(setting)
    except ValueError as error:
        raise UsageError(f"$VISUAL or $EDITOR cannot be read: {error}", "set it to a program: EDITOR=vim") from error
    if not words:
        raise UsageError("neither $VISUAL nor $EDITOR is set", "set one to your editor: EDITOR=vim")
    program = os.path.basename(words[0]).removesuffix(".exe").removesuffix(".cmd").lower()
    file = os.path.abspath(path)  # absolute: an editor cannot take it for an option
    return [*words, *(part.format(file=file, line=line) for part in _STYLES.get(program, ("{file}",)))]
