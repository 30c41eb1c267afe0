"""`sage models`: lists and describes embedding models, and chooses one."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from sage_cli.index_commands import open_project, stats_lines
from sage_cli.options import JsonOption, ProjectOption, ScopeChoice, ScopeOption
from sage_cli.output import answer, one_line, print_json, say
from sage_cli.terminal import TerminalProgress

if TYPE_CHECKING:
    from sage_code.index.models import Model

app = typer.Typer(name="models", help="List, describe and choose embedding models.", no_args_is_help=True)


@app.command("list")
def list_models(project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """List the models that are here or in use, and the tables of vectors in the store.

    Example:  sage models list
    """
    from sage_code.index.models import list_models, list_tables

    settings = open_project(project).settings
    models, tables = list_models(settings), list_tables(settings)
    if as_json:
        print_json({"models": [asdict(model) for model in models], "tables": [asdict(table) for table in tables]})
        return
    for model in models:
        uses = f"  <- {', '.join(model.used_for)}" if model.used_for else ""
        say(f"{one_line(model.name)}  {_dim(model.dim)}, {_size(model)}, {one_line(model.source)}{uses}")
    for table in tables:
        say(f"  store: {one_line(table.name)}  {_dim(table.dim)}, {table.bytes / 1e6:,.1f} MB")


@app.command("info")
def info(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="A model; the one for code without it.")] = "",
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Describe one model: size, dimension, where it came from, who uses it.

    Example:  sage models info bundled
    """
    from sage_code.index.models import model_info

    settings = open_project(project).settings
    model = model_info(name or settings.code_embedding_model, settings)
    facts = [("from", model.source), ("size", f"{_size(model)}, {_dim(model.dim)}"), ("vectors", model.vectors)]
    facts += [("used for", ", ".join(model.used_for)), *(("project", root) for root in model.projects)]
    facts += [("card", model.card)]
    lines = (f"  {name:<9} {one_line(text)}" for name, text in facts if text)
    answer(asdict(model), as_json, one_line(model.name), *lines, show=say)


@app.command("use")
def use(
    name: Annotated[str, typer.Argument(metavar="NAME", help="bundled, hashing, OWNER/NAME from the hub, ./FOLDER.")],
    scope: ScopeOption = ScopeChoice.USER,
    index: Annotated[
        bool, typer.Option("--index/--no-index", help="Embed the project now, or with the next index.")
    ] = True,
    project: ProjectOption = ".",
    as_json: JsonOption = False,
) -> None:
    """Use another model for code, and embed the project here with it if it is indexed.

    Every model keeps its own vectors: going back embeds nothing that has not changed.

    Example:  sage models use BAAI/bge-base-en-v1.5

    Example:  sage models use bundled
    """
    opened = open_project(project)
    with TerminalProgress(quiet=as_json) as progress:
        stats = opened.use_model(name, scope=scope.value, index=index, progress=progress)
    used = opened.settings.code_embedding_model
    source = opened.settings.origin("code_embedding_model")
    if as_json:
        print_json({"model": used, "where": source.where, "index": asdict(stats) if stats else None})
        return
    say(f"the model for code is {one_line(used)} now  ({one_line(source.where)})")
    if source.kind != scope.value:
        print(f"note: {one_line(source.where)} sets the model too, and wins here", file=sys.stderr)
    for line in stats_lines(stats) if stats else ("the next `sage index` uses it",):
        say(line)


def _dim(dim: int | None) -> str:
    return f"{dim} dimensions" if dim else "dimension known once loaded"


def _size(model: Model) -> str:
    if not model.here:
        return "not downloaded"
    return f"{model.size_bytes / 1e6:,.1f} MB" if model.size_bytes else "no files"
