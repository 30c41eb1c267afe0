"""Searches for exact text in a child process that can be ended, for a server: some patterns never come to an end.

The child stays for the next question, with its index open. A question that takes too long ends it: the parent kills it,
and an alarm does if the parent is gone. Without a question it ends when the parent dies, which closes its input.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

from sage_code import errors
from sage_code.files.looking import Looking
from sage_code.search.exact.answer import Finders
from sage_code.search.exact.finding import Asked

# More projects than a client asks about in turn.
_MAX_PROJECTS = 8
# The parent ends the child first.
_GRACE_S = 1.0


class _Child:
    """A process that answers one question after the other."""

    def __init__(self) -> None:
        self.home = os.environ.get("SAGE_HOME")
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "sage_code.search.exact.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
            cwd=os.path.abspath(os.sep),
        )
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def ask(self, order: dict[str, Any], seconds: float) -> dict[str, Any] | None:
        """The answer; None if it took too long or the child has ended. The child is then of no more use."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=seconds)
        except (OSError, queue.Empty):
            return None
        return json.loads(line) if line else None

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


# One child is enough: questions of several threads wait for each other, each no longer than its time.
_lock = threading.Lock()
_child: list[_Child] = []


def answer_in_child(
    root: str, asked: Asked, everywhere: bool, max_tokens: int | None, seconds: float
) -> dict[str, Any]:
    """The document of an answer; a usage error if it is not there in time."""
    order = {
        "root": root,
        "asked": {name: getattr(asked, name) for name in Asked.__slots__},
        "everywhere": everywhere,
        "max_tokens": max_tokens,
        "seconds": seconds,
    }
    with _lock:
        if _child and _child[0].home != os.environ.get("SAGE_HOME"):  # a child keeps the environment of its start
            _child.pop().end()
        if not _child:
            _child.append(_Child())
        found = _child[0].ask(order, seconds)
        if found is None:
            _child.pop().end()
            raise errors.UsageError(
                f"the search was ended after {seconds:g} s",
                "make the pattern simpler: no repeats inside of repeats, a word that every match has, fewer files",
            )
    if "error" in found:
        kinds = {kind.code: kind for kind in errors.SageError.__subclasses__()}
        error = found["error"]
        raise kinds.get(error["code"], errors.SageError)(error["message"], error["hint"])
    return found


def _answers(known: dict[str, Finders], order: dict[str, Any]) -> dict[str, Any]:
    """What the child answers."""
    from sage_code.settings.loading import load_settings

    root = order["root"]
    if len(known) > _MAX_PROJECTS:
        known.clear()
    finders = known.setdefault(root, Finders(root, lambda: load_settings(root), Looking(root)))
    given = order["asked"]
    try:
        asked = Asked(given.pop("text"), **given)
        return finders.answer(asked, everywhere=order["everywhere"], max_tokens=order["max_tokens"])
    except errors.SageError as error:
        return {"error": {"code": error.code, "message": error.message, "hint": error.hint}}
    except Exception as error:
        hint = "this is a bug: run `sage --debug search` and report what it prints"
        message = f"unexpected {type(error).__name__}: {error}"
        return {"error": {"code": "error", "message": message, "hint": hint}}


def main() -> None:
    """The child process."""
    known: dict[str, Finders] = {}
    for line in sys.stdin.buffer:
        order = json.loads(line)
        # While a pattern runs no Python does, so only a signal ends it.
        with _alarm_after(order["seconds"] + _GRACE_S):
            document = _answers(known, order)
        sys.stdout.write(json.dumps(document) + "\n")
        sys.stdout.flush()


@contextlib.contextmanager
def _alarm_after(seconds: float) -> Iterator[None]:
    """A block that the system ends, with this process, after that time."""
    if not hasattr(signal, "setitimer"):  # Windows
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main()
