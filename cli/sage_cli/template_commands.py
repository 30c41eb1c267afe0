"""`sage templates`: shows and checks the layouts of checkpoints."""

from __future__ import annotations

from typing import Annotated

import typer

from sage_cli.options import JsonOption
from sage_cli.output import answer, one_line, plain, print_json
from sage_cli.tables import answer_table

app = typer.Typer(name="templates", help="See and check the layouts of checkpoints.", no_args_is_help=True)
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The template's name.")]


@app.command("list")
def list_templates(as_json: JsonOption = False) -> None:
    """List the templates: Sage's own, and yours in ~/.sage/templates/.

    Example:  sage templates list
    """
    from sage_code.memory.documents import template_rows

    rows = template_rows()
    cells = ((row["name"], row["problem"] or row["description"]) for row in rows)
    answer_table("templates", rows, ("name", "what for"), cells, as_json)


@app.command("show")
def show_template(name: NameArgument, as_json: JsonOption = False) -> None:
    """Show a template's file.

    Example:  sage templates show decision
    """
    from sage_code.memory.documents import template_document
    from sage_code.memory.files import templates

    if as_json:
        print_json(template_document(templates.load(name)))
    else:
        print(plain(templates.source(name)).rstrip("\n"))


@app.command("validate")
def validate(name: NameArgument, as_json: JsonOption = False) -> None:
    """Check a template by laying out a made-up checkpoint with it.

    Example:  sage templates validate my-template
    """
    from sage_code.memory.documents import template_document
    from sage_code.memory.files import templates

    found = templates.validate(name)
    needs = one_line(", ".join(found.required_fields)) or "nothing"
    answer(template_document(found), as_json, f"{one_line(found.name)} is sound; it needs {needs}")
