"""What takes seconds or loads Lance, made in a child process: a server goes on answering, and stays small.

The child prints one line of JSON and ends. It also ends when its parent dies, which closes its input.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict
from datetime import date
from typing import TYPE_CHECKING, Any

from sage_code.doctor.findings import Finding
from sage_code.errors import SageError, StoreError
from sage_code.index.process import leave_with_parent

if TYPE_CHECKING:
    from sage_code.transcripts.usage import UsageReport

# A round trip of MCP and a large store on a busy machine; whatever takes longer hangs.
_LONGEST_S = 120.0

_children: set[subprocess.Popen[bytes]] = set()


def findings(root: str, version: str) -> list[Finding]:
    """What `sage doctor` of this version finds about a project and this machine."""
    return [Finding(**one) for one in _ask({"what": "doctor", "root": root, "version": version})]


def used_by_day(since: date, project: str | None = None) -> UsageReport:
    """The tokens of agents by day, of one project or of all."""
    from sage_code.transcripts.prices import Tokens
    from sage_code.transcripts.usage import UsageReport, UsageRow

    given = _ask({"what": "usage", "since": since.isoformat(), "project": project})

    def row(one: dict[str, Any]) -> UsageRow:
        return UsageRow(**{**one, "keys": tuple(one["keys"]), "tokens": Tokens(**one["tokens"])})

    rows = tuple(map(row, given.pop("rows")))
    by, models = tuple(given.pop("by")), tuple(given.pop("unpriced_models"))
    return UsageReport(**{**given, "by": by, "rows": rows, "total": row(given["total"]), "unpriced_models": models})


def end_all() -> None:
    """End every child: the program that asked them ends, and does not wait for them."""
    for child in tuple(_children):
        child.kill()


def _ask(order: dict[str, Any]) -> Any:
    """The answer of a child to an order."""
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "sage_code.views.state.apart"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        _children.add(child)
        clock = threading.Timer(_LONGEST_S, child.kill)
        clock.start()
        try:
            child.stdin.write(json.dumps(order).encode() + b"\n")
            child.stdin.flush()
            answer = child.stdout.readline()
        except BrokenPipeError:
            answer = b""
        finally:
            clock.cancel()
            child.kill()
            _children.discard(child)
            with contextlib.suppress(BrokenPipeError):  # the order is still here: the child has ended before it read
                child.stdin.close()
    if not answer:
        raise StoreError(f"the process for {order['what']} ended without an answer", "run it in a terminal to see why")
    given = json.loads(answer)
    if "failed" in given:
        raise SageError(given["failed"], given["hint"])
    return given["answer"]


def _doctor(order: dict[str, Any]) -> Any:
    from sage_code.doctor.examination import examine

    return [asdict(one) for one in examine(order["root"], order["version"])]


def _usage(order: dict[str, Any]) -> Any:
    from sage_code.transcripts.usage import usage

    return asdict(usage(("day",), date.fromisoformat(order["since"]), order["project"]))


_ANSWERS: dict[str, Callable[[dict[str, Any]], Any]] = {"doctor": _doctor, "usage": _usage}


def main() -> None:
    """The child process."""
    order = json.loads(sys.stdin.readline())
    threading.Thread(target=leave_with_parent, daemon=True).start()
    try:
        given = {"answer": _ANSWERS[order["what"]](order)}
    except SageError as error:
        given = {"failed": error.message, "hint": error.hint}
    sys.stdout.write(json.dumps(given) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
