"""`sage-hook`: the one program behind all hooks. Reads the event from standard input, answers on standard output.

Whatever goes wrong, it ends with 0, and says one line that the user sees: a hook must never stop the agent's work. Only
small modules are imported before it is known that there is something to do. `sage-hook capture …` is the save that a
hook leaves behind, in a process of its own, which then brings the new messages into recall memory.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Claude Code sends a few kilobytes, and the last message of the agent.
_MAX_INPUT_BYTES = 32 << 20
_CAPTURE = "capture"
# A save that takes longer hangs; the next one reads the same lines.
_CAPTURE_LIMIT_S = 120
_LOW_PRIORITY = 5
_HELP = """\
usage: sage-hook < EVENT.json

Answers the hooks of Claude Code: reads the event as JSON from standard input and prints an answer, or nothing.
`sage hooks install` puts it into the settings of Claude Code.

Example:  echo '{"hook_event_name": "SessionStart", "session_id": "s1", "cwd": "/src", "source": "startup"}' | sage-hook
"""


def main() -> None:
    """The `sage-hook` command."""
    words = sys.argv[1:]
    if words[:1] == [_CAPTURE] and len(words) == 6:
        _run_capture(*words[1:])
        return
    if words:
        _explain(words)
        return
    answer = _answer()
    if answer:
        from sage_code.text.light_json import dumps

        # In one piece, as the last thing: an answer that was cut off is no JSON and is not used.
        sys.stdout.write(dumps(answer, ensure_ascii=True))
        sys.stdout.flush()
    _settle()
    if "sage_code.events.process" in sys.modules:
        from sage_code.events.process import close_all

        close_all()  # plugins handle what they were sent; without this they would end with the hook
    os._exit(0)  # taking Python apart takes longer than most hooks


_after: list[Any] = []


def _answer() -> dict[str, Any]:
    """The answer to the event on standard input; empty if there is nothing to say."""
    try:
        import gc

        gc.disable()  # a process this short has no garbage
        from sage_code.text.light_json import loads

        data = sys.stdin.buffer.read(_MAX_INPUT_BYTES)
        try:
            given = loads(data.strip())
        except (ValueError, RecursionError):
            given = None
        if not isinstance(given, dict):
            return _trouble("the hook got no JSON object on standard input")
        from sage_code.continuity.hooks import events

        answer, after = events.answer(given)
        if after is not None:
            _after.append(after)
        return answer
    except Exception as error:
        return _trouble(f"{type(error).__name__}: {error}")


def _settle() -> None:
    """Note that an answer was given, now that it was. If this fails, it is given again."""
    try:
        for after in _after:
            after()
    except Exception as error:
        _trouble(f"{type(error).__name__}: {error}")


def _trouble(what: str) -> dict[str, Any]:
    """Write down what went wrong; returns the line for the user."""
    from sage_code.continuity.log import note

    note("hook", what)
    return {"systemMessage": f"Sage: {' '.join(what.split())[:300]}; `sage continuity status` has more"}


def _run_capture(session: str, root: str, trigger: str, confidence: str, end: str) -> None:
    """Save a checkpoint of a session, unless there is no trigger, and remember what was said; a process of its own."""
    import gc
    import signal

    gc.disable()
    if hasattr(signal, "alarm"):
        signal.alarm(_CAPTURE_LIMIT_S)
    if hasattr(os, "nice"):
        os.nice(_LOW_PRIORITY)
    from sage_code.continuity.log import note

    try:
        if trigger:
            from sage_code.continuity.capture import capture

            capture(session, root, trigger, confidence=float(confidence), end=int(end) if int(end) >= 0 else None)
    except Exception as error:
        note(_CAPTURE, f"{type(error).__name__}: {error}")
    from sage_code.continuity.remembering import remember

    remember(session, root, seldom=trigger not in ("", "session_end"))


def _explain(words: list[str]) -> None:
    """For a person who calls it."""
    if words[0] not in ("-h", "--help"):
        sys.stderr.write(f"sage-hook: there is no {words[0]!r}; `sage-hook --help` shows how it is used\n")
        sys.exit(2)
    sys.stdout.write(_HELP)


if __name__ == "__main__":
    main()
