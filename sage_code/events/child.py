"""A child process and its pipes: orders go in, answers come out, and no call waits longer than it may.

Both pipes are non-blocking: a child that does not read, does not answer or answers without end costs time, never more
than the caller allows. What the child runs is in `host.py`.
"""

from __future__ import annotations

import contextlib
import errno
import marshal
import os
import select
import signal
import sys
import time
from collections import deque
from typing import Any

from sage_code.events.enabled import INSIDE_VARIABLE
from sage_code.text import light_json

# What starts `host.py`: nothing of the folder that Sage was called in, and nothing that an environment variable names,
# is on the path. Where Sage itself is comes first, unless it is installed among the packages.
_START = (
    "import os,sys;os.chdir(os.sep);home=sys.argv[1];home in sys.path or sys.path.insert(0,home);"
    "from sage_code.events.host import main;main()"
)
_SAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_HEAD_BYTES = 4
# The longest answer that the child sends, with what is around it.
_MAX_LINE = (16 << 20) * 4 + 1024
_PART = 1 << 16
# Events that the child has not handled yet; more of them are dropped.
_MAX_PENDING = 256
_REAP_S = 2.0
# An answer usually comes within this time. To be woken up when it does takes longer than to look for it.
_AT_ONCE_S = 0.0003
# A process closes its pipes a moment before it has ended.
_ENDING_S = 0.05


class ChildError(Exception):
    """The child is of no more use: `kind` is timeout, ended or garbage."""

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind, self.reason = kind, reason


class HookError(Exception):
    """The plugin's hook has raised an error; the child goes on."""


class Child:
    """A process that is started at once and loads while the caller does other things."""

    def __init__(self, order: dict[str, Any], seconds: float) -> None:
        """Start a process whose first order this is; it has so many seconds to carry it out."""
        if not hasattr(os, "posix_spawn") or not sys.executable:
            raise OSError(errno.ENOSYS, "plugins do not run on this system")
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        try:
            self.pid: int | None = os.posix_spawn(
                sys.executable,
                # -E and -P: no path from the environment, none from the folder.
                [sys.executable, "-E", "-P", "-c", _START, _SAGE, str(order["load"])],
                {**os.environ, INSIDE_VARIABLE: "1"},
                file_actions=[(os.POSIX_SPAWN_DUP2, orders, 0), (os.POSIX_SPAWN_DUP2, answers, 1)],
                setsid=True,  # Ctrl-C in the terminal is for Sage, not for its plugins
                setsigmask=(),
                setsigdef=(signal.SIGALRM, signal.SIGXCPU),  # they end a process that Sage has left behind
            )
        except BaseException:
            os.close(self._orders)
            os.close(self._answers)
            raise
        finally:
            os.close(orders)
            os.close(answers)
        os.set_blocking(self._orders, False)
        os.set_blocking(self._answers, False)
        self.deadline = time.monotonic() + seconds
        self.loaded: dict[str, Any] | None = None
        self.pending = 0  # events that were sent and not handled yet
        self.dropped = 0
        self.waiting_since = 0.0  # how long the oldest of them waits
        self.problems: list[str] = []  # what went wrong with events, to be said by the caller
        self._outgoing = memoryview(b"")
        self._incoming = bytearray()
        self._lines: deque[bytes] = deque()
        self._number = 0
        self._is_over = False
        self._poll = select.poll()
        self._poll.register(self._answers, select.POLLIN)
        self._put(order)

    def load(self) -> dict[str, Any]:
        """What the plugin says about itself; waits until it is loaded. `failed` is there instead if it could not be."""
        while self.loaded is None:
            self._receive(self.deadline)
        return self.loaded

    def ask(self, hook: str, given: list[Any], seconds: float) -> Any:
        """The answer of a hook, None for no change; HookError if it has raised an error."""
        self._number += 1
        deadline = time.monotonic() + seconds
        self._put({"n": self._number, "call": hook, "given": given})
        while True:
            answer = self._receive(deadline)
            number = answer.get("n")
            if number == self._number:
                if "error" in answer:
                    raise HookError(str(answer["error"]))
                return answer.get("value")
            if number is not None and not (isinstance(number, int) and number < self._number):
                raise ChildError("garbage", "it has answered a question that was not asked")

    def tell(self, event: dict[str, Any]) -> None:
        """Send an event without waiting for anything. If the child is too far behind, the event is dropped."""
        self.look()
        if self.pending >= _MAX_PENDING or self._outgoing:
            self.dropped += 1
            return
        if not self.pending:
            self.waiting_since = time.monotonic()
        self._put({"event": event})
        self.pending += 1

    def look(self) -> None:
        """Take in what the child has sent, and send what is left to send, without waiting."""
        try:
            while self._transfer(0.0):
                pass
        finally:  # a process that has ended may have said why
            while self._lines:
                self._understand(self._lines.popleft())

    def let_go(self) -> None:
        """Let the child come to its end: there are no more orders."""
        if self._orders >= 0 and not self._outgoing:
            os.close(self._orders)
            self._orders = -1

    def wait(self, seconds: float) -> None:
        """Take in what the child still has to say until it has ended or the time is over."""
        deadline = time.monotonic() + seconds
        try:
            while True:
                self._receive(deadline)
        except ChildError:
            return

    def end(self) -> str:
        """End the process and everything in its group; how it had ended, if it had."""
        for descriptor in (self._orders, self._answers):
            if descriptor >= 0:
                os.close(descriptor)
        self._orders = self._answers = -1
        if self.pid is None:
            return ""
        pid, self.pid = self.pid, None
        status = _reap(pid, _ENDING_S if self._is_over else 0.0)
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended, with all of its group
            os.killpg(pid, signal.SIGKILL)
        if status is None:
            _reap(pid, _REAP_S)
        return _described(status)

    def _put(self, order: dict[str, Any]) -> None:
        """Send an order as far as the pipe takes it; the rest goes out while an answer is waited for."""
        try:
            body = marshal.dumps(order)
        except ValueError:  # a value that is more than a plain one, an enum or an array
            body = marshal.dumps(light_json.loads(light_json.dumps(order).encode("utf-8", "surrogatepass")))
        data = len(body).to_bytes(_HEAD_BYTES, "little") + body
        if self._outgoing:
            self._outgoing = memoryview(bytes(self._outgoing) + data)
            return
        self._outgoing = memoryview(data)
        self._write()

    def _write(self) -> None:
        try:
            while self._outgoing:
                self._outgoing = self._outgoing[os.write(self._orders, self._outgoing) :]
        except BlockingIOError:
            return
        except OSError:  # it has ended; reading says how
            self._outgoing = memoryview(b"")

    def _receive(self, deadline: float) -> dict[str, Any]:
        """The next message of the child."""
        soon = min(time.monotonic() + _AT_ONCE_S, deadline)
        while not self._lines and time.monotonic() < soon:
            self._transfer(0.0)
        while not self._lines:
            left = deadline - time.monotonic()
            if left <= 0 or not self._transfer(left):
                raise ChildError("timeout", "")
        return self._understand(self._lines.popleft())

    def _transfer(self, seconds: float) -> bool:
        """Move bytes in both directions as soon as that is possible; whether it was in time."""
        has_more = bool(self._outgoing)
        if has_more:
            self._poll.register(self._orders, select.POLLOUT)
        try:
            ready = self._poll.poll(seconds * 1000)
        finally:
            if has_more:
                self._poll.unregister(self._orders)
        for descriptor, _ in ready:
            if descriptor == self._orders:
                self._write()
            else:
                self._read()
        return bool(ready)

    def _read(self) -> None:
        """Take in what is in the pipe, and cut it into lines."""
        try:
            part = os.read(self._answers, _PART)
        except BlockingIOError:
            return
        if not part:
            self._is_over = True
            raise ChildError("ended", "its process has ended")
        if len(self._incoming) + len(part) > _MAX_LINE:
            raise ChildError("garbage", f"its answer is longer than {_MAX_LINE:,} bytes")
        self._incoming += part
        if b"\n" in part:
            *lines, rest = self._incoming.split(b"\n")
            self._lines.extend(bytes(line) for line in lines)
            self._incoming = bytearray(rest)

    def _understand(self, line: bytes) -> dict[str, Any]:
        """A message of the child, after what it says about loading and events is noted."""
        try:
            message = light_json.loads(line)
        except (ValueError, RecursionError):
            raise ChildError("garbage", "something else than an answer came out of its process") from None
        if not isinstance(message, dict):
            raise ChildError("garbage", "something else than an answer came out of its process")
        if self.loaded is None and ("loaded" in message or "failed" in message):
            found = message.get("loaded", message)
            self.loaded = found if isinstance(found, dict) else {"failed": "it does not say what it is"}
        elif "done" in message:
            self.pending = max(self.pending - 1, 0)
            self.waiting_since = time.monotonic()
        if "problem" in message or ("done" in message and "error" in message):
            self.problems.append(str(message.get("problem") or message["error"]))
        return message


def _reap(pid: int, seconds: float) -> int | None:
    """The status of a process that has ended; None if it does not end in time."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            ended, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # this program lets the system forget its children
            return None
        if ended:
            return status
        if time.monotonic() >= deadline:
            return None
        time.sleep(0.0005)


def _described(status: int | None) -> str:
    """How a process has ended by itself."""
    if status is None:
        return ""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            return f"by {signal.Signals(number).name}"
        except ValueError:
            return f"by signal {number}"
    return f"with exit code {os.WEXITSTATUS(status)}"
