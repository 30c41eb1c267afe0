"""Options that several commands have; each has one name and one meaning everywhere."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class ScopeChoice(StrEnum):
    """Whose it is: the user's, in every project, or this project's."""

    USER = "user"
    PROJECT = "project"


ProjectOption = Annotated[
    str, typer.Option("--project", metavar="NAME|PATH", help="The project, by its name or any path in it.")
]
ProjectArgument = Annotated[
    str, typer.Argument(metavar="[PROJECT]", help="The project, by its name or any path in it; the same as --project.")
]
NameOption = Annotated[str | None, typer.Option("--name", metavar="NAME", help="Call the project NAME.")]
ScopeOption = Annotated[ScopeChoice, typer.Option("--scope", help="For you in every project, or for this project.")]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=0, help="Show at most this many; 0 shows all.")]
PositiveLimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, help="Show at most this many.")]
FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="A file of the project.")]
NoRefreshOption = Annotated[bool, typer.Option("--no-refresh", help="Do not look for changed files first.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
VimgrepOption = Annotated[bool, typer.Option("--vimgrep", help="Print FILE:LINE:COLUMN:TEXT, for editors.")]
DatesOption = Annotated[bool, typer.Option("--dates", help="Print dates, not how long ago.")]
