"""`--vimgrep`: one place a line as FILE:LINE:COLUMN:TEXT, which Vim (`:cexpr`), Emacs and others turn into a list."""

from __future__ import annotations

import re

from sage_cli.output import one_line, shown_path
from sage_code.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# The root, the file, the line, its text with the blanks before it, and the name to point at.
Place = tuple[str, str, int, str, str]
# A line of a minified file is cut; an editor shows the rest.
_MAX_CHARS = 500


def check_alone(is_wanted: bool, as_json: bool) -> None:
    """Refuse two forms of output at once."""
    if is_wanted and as_json:
        raise UsageError("--vimgrep and --json are two forms of the same answer", "give one of them")


def print_places(places: Iterable[Place]) -> None:
    """Print places, one a line."""
    for root, file, line, text, name in places:
        print(f"{one_line(shown_path(root, file))}:{line}:{column(text, name)}:{one_line(text[:_MAX_CHARS])}")


def column(text: str, name: str) -> int:
    """The byte, from 1, at which a name begins in a line, otherwise that of the first character that is no blank."""
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) if name else None
    at = found.start() if found else text.find(name) if name else -1
    if at < 0:
        at = len(text) - len(text.lstrip())
    return len(text[:at].encode("utf-8", "replace")) + 1
