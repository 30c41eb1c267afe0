"""Indexing in a child process, for a server that must answer meanwhile and never import Lance.

The child writes lines of JSON; the parent passes them on to a `Progress`. The child ends when the progress raises an
exception or when the parent dies, which closes the child's input. The last good index stays, and the next run finds in
the store what the child has embedded.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from dataclasses import asdict
from typing import Any

from sage_code import errors
from sage_code.progress import Progress, Silent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sage_code.index.outcome import IndexStats

# How often the progress is called while the child is silent, so that it can cancel.
_HEARTBEAT_S = 0.2
# How long a child may take to end by itself before it is killed.
_GRACE_S = 2.0


def index_in_child(
    root: str, *, full: bool = False, name: str | None = None, progress: Progress | None = None
) -> IndexStats:
    """Bring the index of `root` up to date, as `Project.index` does, in a child process."""
    progress = progress or Silent()
    order = json.dumps({"root": root, "full": full, "name": name})
    child = subprocess.Popen(
        [sys.executable, "-P", "-m", "sage_code.index.process"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        cwd=root,
    )
    try:
        return _follow(child, order, progress)
    finally:
        _end(child)


def _follow(child: subprocess.Popen[bytes], order: str, progress: Progress) -> IndexStats:
    """Send the order, pass the child's lines on to `progress`, return its result."""
    from sage_code.index.outcome import IndexStats

    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it has ended already: its output or its exit code says why
        child.stdin.write(order.encode() + b"\n")
        child.stdin.flush()
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(child, lines), daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=_HEARTBEAT_S)
        except queue.Empty:
            progress.advance(0)
            continue
        if not line:
            raise errors.StoreError(
                f"the process that indexes ended unexpectedly ({child.wait()})", "run `sage index` to see why"
            )
        word, given = json.loads(line)
        if word == "done":
            return IndexStats(**{**given, "languages": tuple(given["languages"])})
        if word == "failed":
            raise _error(given)
        getattr(progress, word)(*given)


def _read(child: subprocess.Popen[bytes], lines: queue.SimpleQueue[bytes]) -> None:
    assert child.stdout is not None
    for line in child.stdout:
        lines.put(line)
    lines.put(b"")


def _end(child: subprocess.Popen[bytes]) -> None:
    assert child.stdin is not None
    with contextlib.suppress(OSError):
        child.stdin.close()
    try:
        child.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _error(given: dict[str, str]) -> errors.SageError:
    kinds = {kind.code: kind for kind in errors.SageError.__subclasses__()}
    return kinds.get(given["code"], errors.SageError)(given["message"], given["hint"])


class _Lines:
    """The child's side of a `Progress`."""

    def stage(self, name: str, total: int | None = None) -> None:
        """A stage begins."""
        _say("stage", (name, total))

    def advance(self, steps: int = 1) -> None:
        """Some steps are done."""
        _say("advance", (steps,))

    def note(self, text: str) -> None:
        """One line for the user."""
        _say("note", (text,))


def _say(word: str, given: Any) -> None:
    sys.stdout.write(json.dumps((word, given)) + "\n")
    sys.stdout.flush()


def leave_with_parent() -> None:
    """End this process when its input ends: the parent is gone."""
    sys.stdin.read()
    os._exit(1)


def main() -> None:
    """The child process."""
    from sage_code.index.pipeline import index_project
    from sage_code.settings.loading import load_settings

    order = json.loads(sys.stdin.readline())
    threading.Thread(target=leave_with_parent, daemon=True).start()
    try:
        root = order["root"]
        stats = index_project(root, load_settings(root), full=order["full"], name=order["name"], progress=_Lines())
        _say("done", asdict(stats))
    except errors.SageError as error:
        _say("failed", {"code": error.code, "message": error.message, "hint": error.hint})
    except Exception as error:
        hint = "this is a bug: run `sage --debug index` and report what it prints"
        _say("failed", {"code": "error", "message": f"unexpected {type(error).__name__}: {error}", "hint": hint})


if __name__ == "__main__":
    main()
