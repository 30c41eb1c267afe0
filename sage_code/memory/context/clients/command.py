"""Asks a program of the user's: the prompt on stdin, the answer on stdout.

The program is started without a shell, in Sage's home (a project's folder could hold files that it obeys), as the head
of a process group of its own. Whatever it has started ends with it: at the deadline, after too much output, and also
after a good answer.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from sage_code.memory.context.clients.asking import MOST_ANSWER_CHARS, Answer, Deadline, Failed, Prompt
from sage_code.paths import sage_home
from sage_code.text.escaping import one_line
from sage_code.text.masking import mask

# What stdout may have: an answer of MOST_ANSWER_CHARS in a script of four bytes a letter.
_MOST_OUT = 4 * MOST_ANSWER_CHARS
_MOST_ERRORS = 16_384
_MOST_SAID = 160
_AT_ONCE = 65_536
# After its end a program's last output arrives at once, unless something that it started holds the pipe.
_LAST_OUTPUT_S = 0.5
_LOOK_EVERY_S = 0.02


@dataclass(frozen=True, slots=True)
class Command:
    """A program with its arguments."""

    words: tuple[str, ...]
    name: str = "command"
    secrets: tuple[str, ...] = ()

    def prepare(self) -> None:
        """See `Model`: nothing is to be loaded."""

    def ask(self, prompt: Prompt, deadline: Deadline) -> Answer:
        """See `Model`."""
        if not self.words:
            raise Failed("no program is chosen", "set summariser_command")
        program = shutil.which(os.path.expanduser(self.words[0]))
        if program is None:
            raise Failed(f"{_short(self.words[0])} is no program", "set summariser_command to one, with its arguments")
        folder = sage_home()
        try:
            os.makedirs(folder, exist_ok=True)
            process = subprocess.Popen(
                [program, *self.words[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or type(error).__name__
            raise Failed(f"{_short(self.words[0])} cannot be started: {why}", "check summariser_command") from None
        try:
            return _answer(process, prompt, deadline)
        finally:
            _end(process)


def _answer(process: subprocess.Popen[bytes], prompt: Prompt, deadline: Deadline) -> Answer:
    """What the program prints, read beside so that no full pipe stops either side."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    given = f"{prompt.instructions}\n\n{prompt.material}\n".encode("utf-8", "replace")
    out, errors = bytearray(), bytearray()
    reading = _beside(_read, process.stdout, out, _MOST_OUT)
    complaints = _beside(_read, process.stderr, errors, _MOST_ERRORS)
    _beside(_write, process.stdin, given)
    while process.poll() is None:
        deadline.left()
        if len(out) > _MOST_OUT:
            raise Failed(f"the program printed more than {_MOST_OUT // 1_000:,} KB", "check summariser_command")
        time.sleep(_LOOK_EVERY_S)
    reading.join(_LAST_OUTPUT_S)
    complaints.join(_LAST_OUTPUT_S)
    if process.returncode != 0:
        said = _short(bytes(errors).decode("utf-8", "replace"))
        ended = f"status {process.returncode}" if process.returncode > 0 else f"signal {-process.returncode}"
        raise Failed(f"the program ended with {ended}{f': {said}' if said else ''}", "check summariser_command")
    return Answer(bytes(out[:_MOST_OUT]).decode("utf-8", "replace"))


def _beside(work: Callable[..., None], *words: object) -> threading.Thread:
    thread = threading.Thread(target=work, args=words, daemon=True)
    thread.start()
    return thread


def _read(pipe: IO[bytes], into: bytearray, most: int) -> None:
    """Keep what a pipe gives up to a limit, and one more so that it shows."""
    with suppress(OSError, ValueError):  # the pipe is closed when the program is ended
        while chunk := os.read(pipe.fileno(), _AT_ONCE):
            into += chunk[: most + 1 - len(into)]


def _write(pipe: IO[bytes], text: bytes) -> None:
    with suppress(OSError, ValueError), pipe:  # a program may answer without reading to the end
        pipe.write(text)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the program and everything that it has started."""
    with suppress(ProcessLookupError, PermissionError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _short(text: str) -> str:
    return one_line(mask(" ".join(text.split()))[0])[:_MOST_SAID]
