"""The `sage` command: runs `grep`, `search` and `web` directly, the rest by Typer, and turns errors into exit codes."""

from __future__ import annotations

import gc
import os
import sys

from sage_cli.output import fail
from sage_code.errors import SageError, UsageError, explain
from sage_code.paths import anybody_listens

_INTERRUPTED = 130


def main() -> None:
    """The `sage` command."""
    arguments = sys.argv[1:]
    debug = "--debug" in arguments or bool(os.environ.get("SAGE_DEBUG"))
    arguments = [_present_name(word) for word in arguments if word != "--debug"]
    try:
        code = _formatted(arguments) if anybody_listens() else _dispatch(arguments)
        sys.stdout.flush()  # raises BrokenPipeError here, not while Python shuts down
    except BrokenPipeError:
        # The reader (`head`, a pager) has closed the pipe. Python would fail again while it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except (Exception, KeyboardInterrupt) as error:
        if debug:
            raise
        code = _report(error, as_json="--json" in arguments)
    if "threading" not in sys.modules:
        # Without threads nothing is left to wait for, and taking Python apart takes as long as a search for exact text.
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _formatted(arguments: list[str]) -> int:
    """Run the command with what plugins change about its output; returns the exit code."""
    from sage_cli import output
    from sage_cli.shown import formatting  # lazy: most users have no plugins

    output.formatting = shown = formatting(arguments, _command_name)
    if shown is None:
        return _dispatch(arguments)
    shown.begin()
    try:
        return _dispatch(arguments)
    finally:
        output.formatting = None
        shown.end()  # also after an error, or Ctrl-C: what was printed is shown


def _command_name(arguments: list[str]) -> str:
    """The words of a command without its arguments: `search`, `checkpoint list`."""
    if arguments[0] in ("grep", "search"):
        return arguments[0]
    from sage_cli.app import command_name  # lazy: Typer, which runs this command

    return command_name(arguments)


def _report(error: BaseException, *, as_json: bool) -> int:
    """Print what went wrong; returns the exit code."""
    if isinstance(error, KeyboardInterrupt):
        print("\nsage: interrupted; what was saved before is untouched", file=sys.stderr)
        return _INTERRUPTED
    if isinstance(error, OSError):
        error = explain(error)
    elif not isinstance(error, SageError):
        hint = "this is a bug: run again with --debug and report what it prints"
        error = SageError(f"unexpected {type(error).__name__}: {error}", hint)
    return fail(error, as_json=as_json)


def _present_name(word: str) -> str:
    """`--path`, an older name of `--project`, as `--project`."""
    return f"--project{word[6:]}" if word == "--path" or word.startswith("--path=") else word


def _dispatch(arguments: list[str]) -> int:
    """Run the command without Typer if possible; returns the exit code."""
    if any("\0" in word for word in arguments):
        raise UsageError("an argument holds a NUL character", "leave it out: no path and no name has one")
    command, words = arguments[:1], arguments[1:]
    gc.disable()  # a process this short has no garbage, and looking for it costs a tenth of the start
    try:
        if command == ["grep"]:
            from sage_cli import grep

            if (asked := grep.parse(words)) is not None:
                return grep.run(**asked)
        elif command == ["search"]:
            from sage_cli import search

            if (asked := search.parse(words)) is not None:
                return search.run(**asked)
        elif command == ["web"]:
            from sage_cli import web

            if (asked := web.parse(words)) is not None:
                return web.run(**asked)
    finally:
        gc.enable()
    from sage_code.index.allocator import collect_rarely

    collect_rarely()
    from sage_cli.app import run  # lazy: Typer and Rich take about 130 ms

    return run(arguments)


if __name__ == "__main__":
    main()
