"""Runs the session of the README on this repository, and writes its text and its picture.

    python docs/picture.py

Reads the last commit, cloned into a scratch folder with its own `SAGE_HOME`. Writes what the commands print into the
`console` block of README.md, at most `MOST_LINES` of each, and the outputs of `PICTURED` in colour to
`docs/terminal.svg`. Each command writes to a pseudo-terminal. A command that fails ends the script before it writes.
"""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

TOP = Path(__file__).resolve().parents[1]
COLUMNS = 120
SESSION = (
    "sage index",
    'sage search -n 1 "how is a file written atomically"',
    "sage grep whole_file",
    "sage callers whole_file",
    'sage checkpoint save -t "A crash leaves no half file: whole_file syncs, then renames" --ref whole_file',
    "sed -i /fsync/d sage_code/files/atomic.py",
    "sage stale",
)
PICTURED = SESSION[1:]
MOST_LINES = 8
# Rich's own template loads fonts from other hosts; this one names none.
SVG = """\
<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-family: sans-serif; font-size: 18px; font-weight: bold; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def run(command: str, folder: Path, home: Path) -> str:
    """What the command shows on a terminal, colours included: its standard output, then its standard error."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    settings = {"SAGE_HOME": str(home), "PATH": path, "TERM": "xterm-256color", "NO_COLOR": "", "COLUMNS": str(COLUMNS)}
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        ["sh", "-c", command], cwd=folder, env={**os.environ, **settings}, stdout=theirs, stderr=subprocess.PIPE
    ) as process:
        os.close(theirs)
        with open(ours, "rb", buffering=0) as terminal:
            shown = b""
            try:
                while part := terminal.read(65_536):
                    shown += part
            except OSError:  # how Linux says that the other end is closed
                pass
        said = process.communicate()[1]
    if process.returncode:
        raise SystemExit(f"{command}: exit code {process.returncode}\n{said.decode()}")
    return (shown + said).decode().replace("\r\n", "\n").rstrip()


def picture(shown: dict[str, str]) -> str:
    """The commands and what they show, as an SVG."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for command in PICTURED:
        console.print(Text.assemble(("$ ", "green"), (command, "bold")))
        if shown[command]:
            console.print(Text.from_ansi(shown[command]))
        console.print()
    return console.export_svg(title="Sage", code_format=SVG, unique_id="sage")


def excerpt(command: str, shown: str) -> list[str]:
    """The command and the first lines that it shows, without colours."""
    lines = Text.from_ansi(shown).plain.splitlines()
    return [f"$ {command}", *lines[:MOST_LINES], *(["    …"] if len(lines) > MOST_LINES else [])]


def main() -> None:
    """Run the session, then write both files."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "sage")
        subprocess.run(["git", "clone", "--quiet", str(TOP), str(folder)], check=True)
        shown = {command: run(command, folder, Path(scratch, "home")) for command in SESSION}
    (TOP / "docs" / "terminal.svg").write_text(picture(shown))
    block = "\n".join(
        ("```console", *(line for command in SESSION for line in excerpt(command, shown[command])), "```")
    )
    readme = TOP / "README.md"
    readme.write_text(re.sub(r"```console\n.*?```", lambda _: block, readme.read_text(), count=1, flags=re.DOTALL))


if __name__ == "__main__":
    main()
