"""`sage eval`: how good search is on labelled questions."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from sage_cli.options import JsonOption
from sage_cli.output import one_line, print_json

if TYPE_CHECKING:
    from sage_code.search.evaluation import Report


def evaluate(
    labels: Annotated[str, typer.Argument(metavar="LABELS.jsonl", help="A labelled question a line.")],
    repos: Annotated[
        str | None, typer.Option("--repos", metavar="FILE", help="JSON: which folder of each repository is indexed.")
    ] = None,
    roots: Annotated[
        str, typer.Option("--roots", metavar="DIR", help="The project; or checkouts by the labels' `repo`.")
    ] = ".",
    whole: Annotated[bool, typer.Option("--whole", help="Whole repositories are indexed; paths strictly.")] = False,
    path_blind: Annotated[bool, typer.Option("--path-blind", help="Hide file and folder names.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Measure search on labelled questions: NDCG@10, recall, MRR, latency, by language and category.

    A line is {"query": "...", "relevant": ["src/a.py"]}, with "secondary", "repo", "language" and "category" if known;
    a target may be {"path": ..., "start_line": ..., "end_line": ...}. What is measured must be indexed.

    Example:  sage eval questions.jsonl

    Example:  sage eval dev.jsonl --repos dev_repos.json --roots ~/checkouts --json
    """
    from sage_code.search.evaluation import read_labels, report
    from sage_code.search.trials import Setup, read_folders, run

    below = read_folders(repos) if repos and not whole else {}
    setup = Setup(roots, below, strict=whole, path_blind=path_blind)
    found = report(run(read_labels(labels), setup, None if as_json else _say_done))
    if as_json:
        print_json(asdict(found))
    else:
        _print(found)


def _say_done(repo: str) -> None:
    if repo and sys.stderr.isatty():
        print(f"  {one_line(repo)}", file=sys.stderr)


def _print(found: Report) -> None:
    print(f"{found.queries:,} questions, {found.repos:,} repositories")
    print(f"  NDCG@10    {found.ndcg:.4f} (over all questions alike {found.ndcg_micro:.4f}), MRR {found.mrr:.3f}")
    print(f"  recall     {', '.join(f'@{k} {value:.3f}' for k, value in found.recall.items())}")
    print(f"  first hit  {', '.join(f'@{k} {value:.3f}' for k, value in found.hit.items())}")
    print(f"  latency    {', '.join(f'{name} {value:.1f} ms' for name, value in found.latency_ms.items())}")
    for what, values in (("category", found.by_category), ("language", found.by_language)):
        if any(values):
            print(f"  {what:10} {', '.join(f'{one_line(name)} {value:.3f}' for name, value in values.items())}")
