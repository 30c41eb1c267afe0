"""`sage search`: finds the code that answers a question. Runs before Typer is loaded, as `sage grep` does."""

from __future__ import annotations

import os
import sys

from sage_cli import hot, output
from sage_cli.output import EXIT_FOUND, EXIT_NOTHING, one_line, print_json, say_note, say_warnings
from sage_code.errors import NotIndexed, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sage_code.project import Project
    from sage_code.search.results import SearchResponse

# The flags that are read without Typer, each with its parameter and type; any other, `--help` too, goes to Typer.
# A test compares them with the Typer command.
FLAGS = hot.by_spelling(
    {
        "--exact": ("exact", bool),
        "--regex": ("regex", bool),
        "--ignore-case -i": ("ignore_case", bool),
        "--limit -n": ("limit", int),
        "--lang -l": ("lang", list),
        "--under -u": ("under", list),
        "--kind -k": ("kind", list),
        "--project": ("project", str),
        "--all": ("everywhere", bool),
        "--repo": ("repo", list),
        "--owner": ("owner", list),
        "--context -C": ("context", int),
        "--lines": ("lines", int),
        "--max-tokens -t": ("max_tokens", int),
        "--files": ("files", bool),
        "--vimgrep": ("vimgrep", bool),
        "--open": ("open_editor", bool),
        "--explain": ("explain", bool),
        "--no-refresh": ("no_refresh", bool),
        "--json": ("as_json", bool),
    }
)
MINIMUM = {"limit": 1, "max_tokens": 16, "context": 0, "lines": 0}
DEFAULT_LIMIT = 10


def parse(arguments: list[str]) -> dict[str, Any] | None:
    """The parameters of `run`, or None when the arguments want the full parser."""
    read = hot.parse(arguments, FLAGS, MINIMUM)
    if read is None or not read[0]:
        return None
    return {"words": read[0], **read[1]}


def run(
    words: list[str],
    limit: int = DEFAULT_LIMIT,
    lang: list[str] | None = None,
    under: list[str] | None = None,
    kind: list[str] | None = None,
    project: str = ".",
    everywhere: bool = False,
    context: int = 0,
    lines: int | None = None,
    max_tokens: int | None = None,
    files: bool = False,
    open_editor: bool = False,
    explain: bool = False,
    no_refresh: bool = False,
    as_json: bool = False,
    exact: bool = False,
    regex: bool = False,
    ignore_case: bool = False,
    repo: list[str] | None = None,
    owner: list[str] | None = None,
    vimgrep: bool = False,
) -> int:
    """Print the best hits for a question; without a good one print the nearest and return 1."""
    from sage_code.project import Project

    if vimgrep:
        from sage_cli.vimgrep import check_alone

        check_alone(vimgrep, as_json)
    if exact or regex or ignore_case:
        if exact == regex:
            raise UsageError("--exact or --regex is needed, and one of them", "--ignore-case belongs to these two")
        if explain:
            raise UsageError("--explain is about the ranking of a question", "leave it out: exact text is not scored")
        if repo or owner:
            raise UsageError("--repo and --owner are about questions to a fleet", "ask in words, without --exact")
        from sage_cli import exact_search

        opened = Project.named(project)
        asked = {"regex": regex, "ignore_case": ignore_case, "limit": limit, "language": lang, "paths": under,
                 "kinds": kind, "everywhere": everywhere, "refresh": not no_refresh, "context": context,
                 "max_tokens": max_tokens}  # fmt: skip
        try:
            return exact_search.run(opened, " ".join(words), asked, files, open_editor, as_json, vimgrep)
        except NotIndexed:
            if as_json or everywhere or not _index_first(opened):
                raise
        return exact_search.run(opened, " ".join(words), asked, files, open_editor, as_json, vimgrep)
    # NumPy is loaded next. For one question its threads, which spin, cost more than they save.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    opened = Project.named(project)
    say_warnings(opened.settings.warnings)

    def ask() -> SearchResponse:
        return opened.search(
            " ".join(words),
            limit=limit,
            language=lang,
            paths=under,
            kinds=kind,
            explain=explain,
            everywhere=everywhere,
            repositories=repo,
            owners=owner,
            refresh=not no_refresh,
            lines=0 if files or open_editor else lines,
            context=context,
            max_tokens=max_tokens,
        )

    try:
        response = ask()
    except NotIndexed:
        if as_json or everywhere or repo or owner or not _index_first(opened):
            raise
        response = ask()
    if as_json:
        from sage_code.search.results import document

        print_json(document(response))
    else:
        if output.formatting is not None and not open_editor:
            response = output.formatting.response(response)
        # Who asks for lines, for those around or for reasons gets them all, whether they fit on a screen or not.
        is_full = lines is not None or bool(context) or explain
        _show(response, files, open_editor, is_full, vimgrep)
        if max_tokens is not None and response.truncated:
            print("... and more; a larger --max-tokens or --limit shows it", file=sys.stderr)
    return EXIT_FOUND if response.good else EXIT_NOTHING


def _show(response: SearchResponse, files: bool, open_editor: bool, is_full: bool, vimgrep: bool) -> None:
    """Print the hits or their files, for people or for an editor, or open the best one in an editor."""
    from sage_cli import search_view

    say_note(response.note, as_json=False)
    if not response.good:
        print("no good match" + ("; nearest:" if response.results else ""), file=sys.stderr)
    elif open_editor:
        from sage_cli.editor import open_at

        first = response.results[0]
        if first.repository:
            raise UsageError(f"{first.file} of {first.repository} is not on this machine", "search without --open")
        open_at(os.path.join(first.root or response.root, first.file), first.line)
        return
    if files:
        search_view.print_files(response)
    elif vimgrep:
        search_view.print_vimgrep(response)
    else:
        search_view.print_hits(response, is_full=is_full)


def _index_first(project: Project) -> bool:
    """Ask on a terminal whether to index the project now; True once it is indexed."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print(f"{one_line(project.root)} is not indexed yet. Index it now? [Y/n] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("", "y", "yes"):
        return False
    from sage_cli.terminal import TerminalProgress

    with TerminalProgress() as progress:
        project.index(progress=progress)
    return True
