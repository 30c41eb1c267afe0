"""How the command line speaks: JSON on request, one error format, clean text from foreign files.

Only `sys` is imported up front: `sage grep` goes through here.
"""

from __future__ import annotations

import sys

from sage_code.errors import SageError
from sage_code.text.escaping import in_json, visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

EXIT_FOUND, EXIT_NOTHING, EXIT_ERROR = 0, 1, 2


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    import json

    text = json.dumps(value, ensure_ascii=not _utf8(), indent=2 if sys.stdout.isatty() else None)
    print(in_json(text))


def plain(text: str) -> str:
    """Foreign text as a terminal may have it: nothing in a file can drive it, or hide or reorder what it shows."""
    text = visible(text)
    return text if _utf8() else text.encode("ascii", "backslashreplace").decode()


def one_line(text: str) -> str:
    """Foreign text on one line."""
    return plain(text.replace("\n", "\\n"))


def say_missing(name: str, nearest: list[str]) -> None:
    """Nothing is called `name`; what comes closest is."""
    hint = f"; nearest: {one_line(', '.join(nearest))}" if nearest else ""
    print(f"no symbol {one_line(name)}{hint}", file=sys.stderr)


def fail(error: SageError, *, as_json: bool) -> int:
    """Report an error; with --json also as a document. Returns the exit code."""
    if as_json:
        print_json({"error": {"code": error.code, "message": error.message, "hint": error.hint}})
    print(f"sage: {one_line(error.message)}", file=sys.stderr)
    if error.hint:
        print(f"      {one_line(error.hint)}", file=sys.stderr)
    return EXIT_ERROR


def _utf8() -> bool:
    return (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
