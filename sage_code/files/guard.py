"""A process that watches a large project between questions, so that `sage grep` need not look at every file.

Looking at 20,000 files takes three times as long as the start of Python. So a `sage grep` that has done so starts a
guard: it watches the project's folders (`files/watch.py`) and answers, over a socket in Sage's private home, which
notes still hold. It ends at the first change, when it has not been asked for a while, or when the notes are replaced;
then the next question looks at every file again. No answer depends on a guard: without one it only takes longer.

The first half is on the path of `sage grep`; the second runs in the guard.
"""

from __future__ import annotations

import os
import sys
import zlib

from sage_code.files.stamps import UNUSABLE, Notes
from sage_code.paths import sage_home, stamps_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sage_code.files.watch import Watch

# Looking at fewer files keeps `sage grep` within two and a half times the start of Python.
_MANY = 3_000
# An address that is longer does not fit into a `sockaddr_un`.
_MAX_ADDRESS_BYTES = 100
# A guard that takes longer to answer is no help.
_PATIENCE_S = 0.1
# A guard that nobody has asked for so long ends.
_IDLE_S = 600.0
# So long a new guard waits for the end of the last one.
_TURN_S = 2.0
_ANSWER_BYTES = 256
_started: list[int] = []


def said_if_same(root: str) -> str | None:
    """What was said after the last comparison, if nothing has changed since; None if the files must be compared.

    If that took a look at every file of a large project, a guard is started for the next question.
    """
    try:
        notes = Notes(root)
        if not notes.are_of_now():
            return None
        is_large = notes.may_be_guarded and notes.count >= _MANY
        if is_large and _is_known(notes):
            return notes.said
        if not notes.are_same():
            return None
    except UNUSABLE:
        return None  # one is gone, or there are no notes, or damaged ones
    if is_large:
        start(root)
    return notes.said


def _is_known(notes: Notes) -> bool:
    """Whether a guard has watched the project since these notes were made, and nothing has changed."""
    address = _address(notes.root)
    if not os.path.exists(address):
        return False
    import _socket  # `socket` would load ten modules more

    question = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        question.settimeout(_PATIENCE_S)
        question.connect(address)
        return question.recv(_ANSWER_BYTES) == notes.identity.encode()
    except OSError:
        return False
    finally:
        question.close()


def start(root: str) -> None:
    """Start a guard for a project, if one can watch it; does not wait for it."""
    address = os.fsencode(_address(root))
    if not sys.platform.startswith("linux") or len(address) > _MAX_ADDRESS_BYTES:
        return
    silence = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in (0, 1, 2)]
    try:
        command = [sys.executable, "-P", "-m", __name__, root]
        _started.append(os.posix_spawn(sys.executable, command, _environment(), file_actions=silence))
    except OSError:
        return


def bury() -> None:
    """Take note of the end of guards that this process has started; one that lives on does so once in a while."""
    for guard in _started:
        try:
            ended, _ = os.waitpid(guard, os.WNOHANG)
        except OSError:
            ended = guard  # somebody else has
        if ended:
            _started.remove(guard)
            return


def _address(root: str) -> str:
    return os.path.join(sage_home(), "codebase", "guards", f"{zlib.crc32(os.fsencode(root)):08x}")


def _environment() -> dict[str, str]:
    """The environment of a guard, which finds Sage where this process has found it."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


# -- in the guard -----------------------------------------------------------------------------------------------------


def main() -> None:
    """Guard the project that the command line names."""
    os.closerange(3, min(1 << 16, os.sysconf("SC_OPEN_MAX")))
    os.setsid()
    os.chdir("/")
    root = sys.argv[1]
    from sage_code.errors import Busy
    from sage_code.files.locks import locked
    from sage_code.files.private import make_private
    from sage_code.files.watch import Watch

    address = _address(root)
    try:
        make_private(os.path.dirname(address))
        with locked(f"{address}.lock", timeout_s=_TURN_S):
            written = _written(root)
            notes = Notes(root)
            if notes.are_of_now():
                _guard(Watch(notes), notes, written, address)
    except (Busy, *UNUSABLE):
        return  # the next question looks at every file


def _guard(watch: Watch, notes: Notes, written: tuple[int, int], address: str) -> None:
    """Answer until something changes."""
    import select
    import socket
    import time

    from sage_code.files.atomic import remove

    remove(address)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as door:
        try:
            door.bind(address)
            door.listen()
            asked = time.monotonic()
            while (left := asked + _IDLE_S - time.monotonic()) > 0:
                ready, _, _ = select.select([watch.fileno(), door.fileno()], [], [], left)
                # Looked at after the question has come: what changed before it was asked is seen.
                if not watch.is_quiet() or _written(notes.root) != written:
                    return
                if door.fileno() in ready:
                    asked = time.monotonic()
                    question, _ = door.accept()
                    with question:
                        question.send(notes.identity.encode() if watch.is_quiet() else b"")
        finally:
            remove(address)


def _written(root: str) -> tuple[int, int]:
    """Which file of notes is there."""
    facts = os.stat(stamps_path(root))
    return facts.st_ino, facts.st_mtime_ns


if __name__ == "__main__":
    main()
