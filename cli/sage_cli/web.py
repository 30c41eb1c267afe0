"""`sage web`: the page, started without loading Typer."""

from __future__ import annotations

from sage_cli import hot

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# The flags that are read without Typer; a test compares this with the Typer command.
FLAGS = hot.by_spelling({"--port": ("port", int), "--no-open": ("no_open", bool), "--project": ("project", str)})


def parse(arguments: list[str]) -> dict[str, Any] | None:
    """The parameters of `run`; None if the arguments need Typer."""
    read = hot.parse(arguments, FLAGS)
    return None if read is None or read[0] else read[1]


def run(port: int | None = None, no_open: bool = False, project: str = ".") -> int:
    """Serve the page until Ctrl-C."""
    from sage_cli.becoming import become

    words = [*(["--port", str(port)] if port is not None else []), *(["--no-open"] if no_open else [])]
    return become("sage_web.server", [*words, "--project", project])
