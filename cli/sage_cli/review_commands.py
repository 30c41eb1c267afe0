"""`sage review` and `sage review post`: what a change means, as a comment for its pull request."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sage_cli.index_commands import open_project
from sage_cli.options import JsonOption, NoRefreshOption, ProjectOption
from sage_cli.output import answer, one_line, print_json, say_note


def review(
    base: Annotated[
        str, typer.Option("--base", "-b", metavar="REVISION", help="Compare with this commit; else the default branch.")
    ] = "",
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Write the comment there; `-` prints it.")
    ] = "-",
    max_tokens: Annotated[int, typer.Option("--max-tokens", "-t", min=300, help="What the comment may cost.")] = 2_000,
    seconds: Annotated[float, typer.Option("--seconds", "-s", min=1, help="Look no longer than this.")] = 40,
    project: ProjectOption = ".",
    no_refresh: NoRefreshOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say what a change means: what it may break, which memories it makes stale, what it repeats.

    Compares the files as they are with the last commit that they have in common with the base. Prints Markdown for a
    comment. Only memories that are committed with the project are in it. Exits with 0, also when nothing has changed.

    Example:  sage review

    Example:  sage review --base origin/main -o review.md
    """
    from sage_code.files.atomic import write_bytes
    from sage_code.review.comment import comment, document

    opened = open_project(project)
    found = opened.review(base, seconds=seconds, refresh=not no_refresh)
    made = comment(found, max_tokens)
    if output != "-":
        write_bytes(output, made.markdown.encode("utf-8", "replace"))
    if as_json:
        print_json(document(found, made))
    elif output == "-":
        sys.stdout.write(made.markdown)
    else:
        print(one_line(f"{output}: {len(found.definitions):,} changed definitions"))
    for note in found.notes:
        say_note(note, as_json)


def post_review(
    file: Annotated[str, typer.Argument(metavar="FILE", help="What `sage review -o FILE` has written.")],
    as_json: JsonOption = False,
) -> None:
    """Post a review as the one comment of the pull request that this CI job is about, or replace the last one.

    On GitHub with GITHUB_TOKEN, on GitLab with SAGE_REVIEW_TOKEN (scope `api`); the other variables are those that the
    CI sets. Without a token, or with one that may not comment, nothing is posted, and the command says so and exits
    with 1.

    Example:  sage review post review.md
    """
    from sage_code.review.posting import post

    done = post(file)
    answer({"action": done.action, "url": done.url}, as_json, one_line(" ".join(filter(None, (done.action, done.url)))))
    if not done.is_posted:
        raise typer.Exit(1)
