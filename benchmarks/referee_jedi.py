"""Jedi as the referee of `references.py`: answers questions about a Python project, a JSON line for each.

    PYTHON_WITH_JEDI benchmarks/referee_jedi.py PROJECT_FOLDER

    {"op": "functions"}                           every function and method: [[file, line, column, qualname], ...]
    {"op": "callers", "at": [file, line, column]} where it is called: [[file, line, scope], ...]
    {"op": "goto", "at": [file, line, name]}      what the call of `name` on that line means: [[file, line], ...]

An answer is null where Jedi raised or took longer than the limit. Imports nothing of Sage: it runs elsewhere.
"""

from __future__ import annotations

import ast
import json
import re
import signal
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jedi
from jedi.inference import references as jedi_references

# Of processor time: a busy machine must not change what is judged.
LIMIT_S = {"functions": 0, "callers": 15, "goto": 5}
# Jedi stops after 30 files that hold the name; a referee has to look at all of them.
jedi_references._PARSED_FILE_LIMIT = 2_000
_SKIPPED = {".git", ".venv", "node_modules", "build", "dist"}
_CALLED = re.compile(r"\s*\(")
_DECORATES = re.compile(r"\s*@[\w.\s]*$")
_ENDS = re.compile(r"\s*(?:#.*)?$")

_ROOT = Path(sys.argv[1]).resolve()
_ENVIRONMENT = jedi.InterpreterEnvironment()
_PROJECT = jedi.Project(_ROOT, added_sys_path=[str(folder) for folder in (_ROOT / "src", _ROOT) if folder.is_dir()])


def _functions() -> list[list[Any]]:
    found = []
    for path in sorted(_ROOT.rglob("*.py")):
        if not _SKIPPED.intersection(path.relative_to(_ROOT).parts):
            for node, qualname in _definitions(path):
                if not isinstance(node, ast.ClassDef):
                    line = _lines(path)[node.lineno - 1]
                    column = line.index(node.name, line.index("def", node.col_offset))
                    found.append([str(path.relative_to(_ROOT)), node.lineno, column, qualname])
    return found


def _callers(file: str, line: int, column: int) -> list[list[Any]]:
    """The calls of the function at a position, as Jedi finds them."""
    script = jedi.Script(path=_ROOT / file, project=_PROJECT, environment=_ENVIRONMENT)
    sites = []
    for name in script.get_references(line, column, scope="project"):
        path = name.module_path
        if path is None or not path.is_relative_to(_ROOT):
            continue
        text = _lines(path)[name.line - 1]
        before, after = text[: name.column], text[name.column + len(name.name) :]
        defines = before.rstrip().endswith(("def", "class"))
        if not defines and (_CALLED.match(after) or (_DECORATES.match(before) and _ENDS.match(after))):
            sites.append([str(path.relative_to(_ROOT)), name.line, _scope(path, name.line)])
    return sites


def _goto(file: str, line: int, name: str) -> list[list[Any]]:
    script = jedi.Script(path=_ROOT / file, project=_PROJECT, environment=_ENVIRONMENT)
    text = _lines(_ROOT / file)[line - 1]
    found = []
    for match in re.finditer(rf"\b{re.escape(name)}\b", text):
        targets = script.goto(line, match.start(), follow_imports=True)
        found.extend([str(target.module_path or ""), target.line or 0] for target in targets)
    return found


def _scope(path: Path, line: int) -> str:
    """The innermost function or class around a line; its decorators are outside."""
    best = ""
    for node, qualname in _definitions(path):
        if node.lineno <= line <= (node.end_lineno or line):
            best = qualname
    return best


@cache
def _definitions(path: Path) -> list[tuple[Any, str]]:
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except (SyntaxError, ValueError):
        return []
    return sorted(_walk(tree, ""), key=lambda found: found[0].lineno)


def _walk(tree: ast.AST, prefix: str) -> Iterator[tuple[Any, str]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node, prefix + node.name
            yield from _walk(node, f"{prefix}{node.name}.")
        else:
            yield from _walk(node, prefix)


@cache
def _lines(path: Path) -> list[str]:
    return path.read_text("utf-8", "replace").split("\n")


def _expired(*_: object) -> None:
    raise TimeoutError


def main() -> None:
    signal.signal(signal.SIGPROF, _expired)
    answer = {"functions": _functions, "callers": _callers, "goto": _goto}
    for line in sys.stdin:
        request = json.loads(line)
        # It rings again and again: Jedi has places where an exception is swallowed.
        signal.setitimer(signal.ITIMER_PROF, LIMIT_S[request["op"]], 1)
        try:
            result = answer[request["op"]](*request.get("at", ()))
        except Exception:  # the function is dropped
            result = None
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
