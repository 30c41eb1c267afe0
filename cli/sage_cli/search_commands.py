"""`sage search` for Typer: its flags and its help. `search.py`, which needs no Typer, does the work."""

from __future__ import annotations

from typing import Annotated

import typer

import sage_cli.search as search_command
from sage_cli.options import JsonOption, NoRefreshOption, PositiveLimitOption, ProjectOption, VimgrepOption


def search(
    words: Annotated[
        list[str],
        typer.Argument(metavar="QUERY", help="A question, a name, a path, an error message or a bit of code."),
    ],
    exact: Annotated[bool, typer.Option("--exact", help="The files with exactly this text.")] = False,
    regex: Annotated[bool, typer.Option("--regex", help="The files with lines that match a pattern.")] = False,
    ignore_case: Annotated[
        bool, typer.Option("--ignore-case", "-i", help="With --exact or --regex: in any case.")
    ] = False,
    limit: PositiveLimitOption = search_command.DEFAULT_LIMIT,
    lang: Annotated[
        list[str] | None, typer.Option("--lang", "-l", metavar="LANGUAGE", help="Only this language: go, py ...")
    ] = None,
    under: Annotated[
        list[str] | None, typer.Option("--under", "-u", metavar="PATH", help="Only below a folder, or like a glob.")
    ] = None,
    kind: Annotated[
        list[str] | None, typer.Option("--kind", "-k", metavar="KIND", help="Only this: function, class, struct ...")
    ] = None,
    project: ProjectOption = ".",
    everywhere: Annotated[
        bool, typer.Option("--all", help="In every project that was indexed, and in the fleet.")
    ] = False,
    repo: Annotated[
        list[str] | None, typer.Option("--repo", metavar="NAME", help="Only this repository of the fleet.")
    ] = None,
    owner: Annotated[
        list[str] | None, typer.Option("--owner", metavar="NAME", help="Only repositories of this owner.")
    ] = None,
    context: Annotated[int, typer.Option("--context", "-C", min=0, help="Lines around what matched.")] = 0,
    lines: Annotated[
        int | None, typer.Option("--lines", min=0, help="Lines of each; without it, what fits on a screen.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", "-t", min=16, help="What the answer may cost an agent.")
    ] = None,
    files: Annotated[bool, typer.Option("--files", help="Print paths only.")] = False,
    vimgrep: VimgrepOption = False,
    open_editor: Annotated[bool, typer.Option("--open", help="Open the best match in $VISUAL or $EDITOR.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Say how the score adds up; count callers.")] = False,
    no_refresh: NoRefreshOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find the code that answers a question.

    The question may contain filters: lang:go path:src/ kind:class in:project. Each flag may be repeated.
    Without a good match the nearest are shown, and the exit code is 1.

    Example:  sage search "how are retries backed off"

    Example:  sage search parseConfig --kind function --lang ts

    Example:  sage search "session timeout path:src/" --max-tokens 800 --json

    Example:  sage search "open the database" --open

    Example:  sage search --exact "connection refused"

    Example:  sage search "retry with backoff" --all --owner platform --lang go

    Example:  sage search --regex "def \\w+_async\\(" --under src
    """
    asked = (words, limit, lang, under, kind, project, everywhere, context, lines, max_tokens)
    modes = (exact, regex, ignore_case, repo, owner)
    raise typer.Exit(search_command.run(*asked, files, open_editor, explain, no_refresh, as_json, *modes, vimgrep))
