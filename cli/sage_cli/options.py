"""The options that commands share: each is called the same and means the same everywhere."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class ScopeChoice(StrEnum):
    """For whom: oneself in every project, or everybody in this one."""

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
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DatesOption = Annotated[bool, typer.Option("--dates", help="Print dates, not how long ago.")]
