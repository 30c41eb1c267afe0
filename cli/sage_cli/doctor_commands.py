"""`sage doctor`: shows what is wrong with Sage on this machine, and how to mend it."""

from __future__ import annotations

from dataclasses import asdict

import typer

from sage_cli.options import JsonOption, ProjectArgument, ProjectOption
from sage_cli.output import EXIT_ERROR, EXIT_FOUND, EXIT_NOTHING, one_line, print_json, say

_EXIT = {"ok": EXIT_FOUND, "note": EXIT_FOUND, "warning": EXIT_NOTHING, "error": EXIT_ERROR}
_MARKS = {"ok": "ok     ", "note": "note   ", "warning": "warning", "error": "ERROR  "}


def doctor(named: ProjectArgument = "", project: ProjectOption = ".", as_json: JsonOption = False) -> None:
    """Check everything between a question and its answer: Python, store, model, index, agents, a real MCP round trip.

    Exits with 0 when all is well, 1 when something could be better, 2 when something does not work. Changes nothing.

    Example:  sage doctor

    Example:  sage doctor ~/src/server --json
    """
    from sage_code import __version__
    from sage_code.doctor.examination import examine, worst
    from sage_code.project import Project

    root = Project.named(named or project).root
    findings = examine(root, __version__)
    level = worst(findings)
    if as_json:
        rows = [asdict(found) for found in findings]
        print_json({"version": __version__, "root": root, "level": level, "findings": rows})
    for found in [] if as_json else findings:
        say(f"{_MARKS[found.level]} {found.check:<8} {one_line(found.message)}", " " * 17)
        if found.fix:
            say(f"{'':16} → {one_line(found.fix)}", " " * 19)
    raise typer.Exit(_EXIT[level])
