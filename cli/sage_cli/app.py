"""The Typer application: one function for each command, each a thin layer over `sage_code.Project`."""

from __future__ import annotations

import copy
from typing import Annotated, Any

import typer
import typer.core
import typer.main

import sage_cli.grep as grep_command
import sage_cli.web as web_command
from sage_cli import (
    admin_commands,
    channel_commands,
    checkpoint_commands,
    completion_commands,
    config_commands,
    continuity_commands,
    conversation_commands,
    core_commands,
    doctor_commands,
    eval_commands,
    event_commands,
    fleet_commands,
    graph_commands,
    hooks_commands,
    index_commands,
    index_files,
    knowledge_commands,
    mcp_commands,
    model_commands,
    plugin_commands,
    profile_commands,
    project_commands,
    refs_commands,
    review_commands,
    scheduler_commands,
    scip_commands,
    search_commands,
    serve_commands,
    share_commands,
    skills_commands,
    team_commands,
    template_commands,
    tier_upkeep_commands,
    usage_commands,
    watcher_commands,
)
from sage_cli.options import JsonOption, LimitOption, NoRefreshOption, ProjectOption, VimgrepOption
from sage_cli.output import EXIT_ERROR
from sage_code.errors import UsageError

_TYPERS_INTERRUPT = 130


class _Words(typer.core.TyperGroup):
    """A group whose commands may have two words: `sage index export` does not index a folder `export`, which is spelt
    `./export`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first words name."""
        if len(args) > 1 and (command := self.commands.get(name := " ".join(args[:2]))) is not None:
            return name, command, args[2:]
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            from sage_cli.suggestions import meant  # lazy: only mistakes need it

            near = " or ".join(f"`sage {one}`" for one in meant(args[0], self.commands))
            hint = f"did you mean {near}? `sage --help` lists all" if near else "`sage --help` lists them"
            raise UsageError(f"there is no command {args[0]!r}", hint)
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="sage",
    cls=_Words,
    help="A local code-intelligence engine: index a project, then find anything in it at once.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(config_commands.app)
app.add_typer(project_commands.app)
app.add_typer(model_commands.app)
app.add_typer(admin_commands.app)
app.add_typer(core_commands.app)
app.add_typer(mcp_commands.app)
app.add_typer(hooks_commands.app)
app.add_typer(skills_commands.app)
app.add_typer(checkpoint_commands.app)
app.add_typer(knowledge_commands.app)
app.add_typer(knowledge_commands.todo_app)
app.add_typer(tier_upkeep_commands.app)
app.add_typer(template_commands.app)
app.add_typer(scip_commands.app)
app.add_typer(continuity_commands.app)
app.add_typer(conversation_commands.app)
app.add_typer(channel_commands.app)
app.add_typer(channel_commands.context_app)
app.add_typer(profile_commands.app)
app.add_typer(scheduler_commands.app)
app.add_typer(watcher_commands.app)
app.add_typer(plugin_commands.app)
app.add_typer(event_commands.app)
app.add_typer(fleet_commands.app)
app.add_typer(serve_commands.app)
app.add_typer(share_commands.app)
app.add_typer(team_commands.app)
app.command("index")(index_commands.index)
app.command("index export")(index_files.export)
app.command("index import")(index_files.import_)
app.command("search")(search_commands.search)
app.command("eval")(eval_commands.evaluate)
app.command("status")(index_commands.status)
app.command("doctor")(doctor_commands.doctor)
app.command("analyze")(index_commands.analyze)
app.command("refs")(graph_commands.refs)
app.command("callers")(graph_commands.callers)
app.command("callees")(graph_commands.callees)
app.command("impact")(graph_commands.impact)
app.command("review")(review_commands.review)
app.command("review post")(review_commands.post_review)
app.command("outline")(graph_commands.outline)
app.command("map")(graph_commands.map_project)
app.command("similar")(graph_commands.similar)
app.command("tags")(scip_commands.tags)
app.command("refs-check")(refs_commands.refs_check)
app.command("stale")(refs_commands.stale)
app.command("why")(refs_commands.why)
app.command("still-true")(refs_commands.still_true)
app.command("summarise")(channel_commands.summarise)
app.command("usage")(usage_commands.usage)
app.command("completion")(completion_commands.completion)


@app.callback(invoke_without_command=True)
def common(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.", is_eager=True)] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,  # noqa: ARG001 - read by `entry`
) -> None:
    """A local code-intelligence engine with a memory attached."""
    if version:
        from sage_code import __version__

        print(f"sage {__version__}")
        raise typer.Exit


@app.command("grep")
def grep(
    name: Annotated[str, typer.Argument(metavar="SYMBOL", help="A name, bare or qualified: `run`, `Server.run`.")],
    kind: Annotated[
        str | None, typer.Option("--kind", "-k", help="Only this kind: function, method, class ...")
    ] = None,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", "-i", help="Ignore upper and lower case.")] = False,
    prefix: Annotated[bool, typer.Option("--prefix", "-p", help="Names that start like this.")] = False,
    limit: LimitOption = grep_command.DEFAULT_LIMIT,
    names: Annotated[bool, typer.Option("--names", help="Print names only, each once.")] = False,
    project: ProjectOption = ".",
    refresh: Annotated[bool, typer.Option("--refresh", help="Look at every file for changes first.")] = False,
    no_refresh: NoRefreshOption = False,
    as_json: JsonOption = False,
    vimgrep: VimgrepOption = False,
) -> None:
    """Find a symbol by its exact name.

    Exits with 1 when there is none, and names the nearest ones.

    Example:  sage grep parse_config

    Example:  sage grep Server.start --json

    Example:  sage grep handle --prefix --kind method
    """
    raise typer.Exit(
        grep_command.run(name, kind, ignore_case, prefix, limit, names, project, refresh, no_refresh, as_json, vimgrep)
    )


@app.command("web")
def web(
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65535, help="The port; 7244, or a free one if that is taken.")
    ] = None,
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the address and open no browser.")] = False,
    project: ProjectOption = ".",
) -> None:
    """Open a page on this machine: search, read code with its memories, follow callers, see what has gone stale.

    It shows the projects that you have indexed, and only to a browser that has opened the printed address.

    Example:  sage web

    Example:  sage web --port 8000 --no-open
    """
    raise typer.Exit(web_command.run(port, no_open, project))


def command_name(arguments: list[str]) -> str:
    """The words of a command line that name its command: `checkpoint list`, `index export`; `sage` if none do."""
    command: Any = typer.main.get_command(app)
    words: list[str] = []
    rest = [word for word in arguments if not word.startswith("-")]
    while rest and (known := getattr(command, "commands", None)):
        count = 2 if " ".join(rest[:2]) in known else 1
        if (name := " ".join(rest[:count])) not in known:
            break
        words.append(name)
        command, rest = known[name], rest[count:]
    return " ".join(words) or "sage"


def _only(arguments: list[str]) -> typer.Typer:
    """The application with only the commands that begin with the first word: Typer builds all it has, for 50 ms."""
    word = arguments[0] if arguments else ""
    if word == "completion":  # lists all of them
        return app
    chosen = copy.copy(app)
    chosen.registered_groups = [one for one in app.registered_groups if _first_word(one) == word]
    chosen.registered_commands = [one for one in app.registered_commands if _first_word(one) == word]
    return chosen if chosen.registered_groups or chosen.registered_commands else app


def _first_word(registered: Any) -> str:
    """Of the name of a command, or of a group, whose own application has its name."""
    named = getattr(registered, "typer_instance", registered)
    return str(getattr(named, "info", named).name).partition(" ")[0]


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code. A `SageError` passes through to the entry."""
    try:
        result = _only(arguments)(args=arguments, prog_name="sage", standalone_mode=False)
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except SystemExit as ended:
        raise BrokenPipeError from ended  # Typer does this when the reader of a pipe is gone; its own `Exit` returns
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        if context and error.format_message() == context.get_help():  # a group without a command shows its help
            print(context.get_help())
            return EXIT_ERROR
        command = context.command_path if context else " ".join(["sage", *arguments[:1]])
        message = error.format_message().replace("Value error, ", "")  # pydantic's word for its own readers
        raise UsageError(message, f"`{command} --help` shows how") from error
    if result == _TYPERS_INTERRUPT:
        raise KeyboardInterrupt  # Typer swallows it and says nothing
    return result if isinstance(result, int) else 0
