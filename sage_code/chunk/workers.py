"""Chunks many files in several processes, in order, each file within a time limit.

Parsing holds the interpreter's lock, so threads would not help; and a grammar may hang in native code, so a worker
must be a process, which can be killed. Workers exchange length-prefixed JSON over pipes, and columns of numbers as they
are in memory: no pickle, and nothing needed in the caller's `__main__`. A worker that is silent for too long is killed
and its file is cut by lines. Workers end with their parent, because their input ends.

A file that was read already is sent with its text: that takes 20 µs, and reading it again 90 µs.
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import IO, TypeAlias

import orjson

from sage_code.chunk.files import ChunkedFile, chunk_file
from sage_code.chunk.words import from_bytes, to_bytes
from sage_code.discover.reading import SourceText
from sage_code.discover.rules import DiscoverRules
from sage_code.languages.table import detect
from sage_code.parse.definitions import BUDGET_S
from sage_code.values import Chunk, SkippedFile, SkipReason, SourceFile, Symbol

# Below this much source, starting a worker (about 150 ms) takes longer than it saves.
_MIN_BYTES_FOR_WORKERS = 400_000
# Files that wait for one worker; enough to keep it busy until the thread that gives it the next ones has its turn.
_QUEUED_FILES = 48
# Source whose results may wait, for an earlier, slower file or for the parent, which embeds and writes half as much at
# a time. It bounds the memory; `_FILE_BYTES` is what a file costs beside its text.
_AHEAD_BYTES = 4_000_000
_FILE_BYTES = 1_000
# On top of the budget that the parser keeps itself; only native code that hangs takes longer.
_GRACE_S = 10.0
# How long a worker may take to start: half a second, but minutes on a machine that does too much at a time. No file is
# to blame for that.
_START_S = 300.0
# How often a file is given to another worker when somebody else has killed the one that had it: Ray ends the children
# of a worker that it ends. More often, and it is the file that takes all memory.
_MOST_KILLED = 3

_POLL_S = 0.5
_SIZE_BYTES = 4
# What waits in the pipe of a worker: its reader has its turn only some times in a tenth of a second while the caller
# computes, and takes all that is there.
_PIPE_BYTES = 1 << 20
_FROM_OUTSIDE = frozenset() if sys.platform == "win32" else frozenset({-signal.SIGKILL, -signal.SIGTERM})

# The parent has more to do than each worker, and what it waits for they wait for too: with as many workers as cores it
# would lose a third of its time to them (django: 8.8 s instead of 8.1; 7.8 with 10, but on a busy machine without end).
_NICE = 5
# Objects that a worker allocates before it collects garbage: with the default, the nodes of a large file are scanned
# dozens of times, a tenth of a worker's time.
_GC_THRESHOLD = 200_000

Result = ChunkedFile | SkippedFile
Frames: TypeAlias = list[bytes]
# A file with its number and the frames of its result; without a file: the worker is gone.
Inbox: TypeAlias = "queue.SimpleQueue[tuple[_Worker, tuple[int, SourceFile, Frames] | None]]"


def chunk_files(
    root: str,
    files: Iterable[SourceFile],
    rules: DiscoverRules,
    *,
    sources: Mapping[str, SourceText] | None = None,
    workers: int = 0,
    budget_s: float = 5.0,
) -> Iterator[Result]:
    """The chunks of `files`, one result a file, in their order. A file whose path is in `sources` is not read again.

    `workers` 0 means as many as there are cores.
    """
    queue, sources = list(files), sources or {}
    count = workers or os.cpu_count() or 1
    few = sum(file.size for file in queue) < _MIN_BYTES_FOR_WORKERS or count < 1
    if few and not any(_may_crash(file) for file in queue):
        for file in queue:
            yield chunk_here(root, file, rules, budget_s, sources.get(file.path))
        return
    pool = _Pool(root, rules, sources, budget_s)
    try:
        yield from pool.run(queue, 1 if few else min(count, len(queue)))
    finally:
        pool.close()


def chunk_here(
    root: str, file: SourceFile, rules: DiscoverRules, budget_s: float = BUDGET_S, source: SourceText | None = None
) -> Result:
    """The chunks of one file, made in this process unless its grammar may crash."""

    def elsewhere(source: SourceText) -> Result:
        pool = _Pool(root, rules, {file.path: source}, budget_s)
        try:
            return next(pool.run([file], 1))
        finally:
            pool.close()

    return _chunk(root, file, rules, budget_s, source, elsewhere)


def _may_crash(file: SourceFile) -> bool:
    """Whether its grammar may crash, by its name; a script without an extension is only known when it is read."""
    language = detect(file.path)
    return language is not None and language.may_crash


def _chunk(
    root: str,
    file: SourceFile,
    rules: DiscoverRules,
    budget_s: float,
    source: SourceText | None,
    elsewhere: Callable[[SourceText], Result] | None = None,
) -> Result:
    """The chunks of one file; if parsing fails, the file is cut by lines."""
    try:
        return chunk_file(root, file, rules, source=source, budget_s=budget_s, elsewhere=elsewhere)
    except Exception:  # one bad file never ends a run
        return chunk_file(root, file, rules, source=source, plain=True)


class _Worker:
    """A child process, the files it has been given (oldest first), and two threads that send and receive.

    A pipe holds 64 KB: without the threads a full pipe would stop the worker, or this process.
    """

    def __init__(
        self, root: str, rules: DiscoverRules, budget_s: float, inbox: Inbox, on_answer: Callable[[], None]
    ) -> None:
        command = [sys.executable, "-P", "-m", "sage_code.chunk.workers"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=_PIPE_BYTES,
            env=environment,
            process_group=0,  # Ctrl-C is for the parent; in a session of its own Linux would not heed how nice it is
        )
        assert self.process.stdout is not None
        _enlarge(self.process.stdout)
        self.files: deque[tuple[int, SourceFile]] = deque()
        self.heard = time.monotonic()
        self.is_ready = False
        self._on_answer = on_answer
        self._requests: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._requests.put({"root": root, "rules": rules, "budget_s": budget_s})
        self._threads = [
            threading.Thread(target=self._listen, args=(inbox,), daemon=True),
            threading.Thread(target=self._send, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def give(self, number: int, file: SourceFile, source: SourceText | None) -> None:
        if not self.files:
            self.heard = time.monotonic()
        self.files.append((number, file))
        self._requests.put((file, tuple(source) if source else None))

    def was_killed(self) -> bool:
        """Whether it has ended by a signal that grammars do not cause: neither a crash nor its own alarm."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.process.wait(_POLL_S) in _FROM_OUTSIDE
        return False

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._requests.put(None)
        for thread in self._threads:
            thread.join()
        for pipe in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):  # what was still buffered for a dead worker
                if pipe is not None:
                    pipe.close()

    def _send(self) -> None:
        assert self.process.stdin is not None
        # `_listen` notices a worker that died; its files are given to another one.
        with contextlib.suppress(BrokenPipeError):
            for message in iter(self._requests.get, None):
                self.process.stdin.write(_message([orjson.dumps(message)]))
                if self._requests.empty():  # together: after each writing this thread waits for its turn again
                    self.process.stdin.flush()

    def _listen(self, inbox: Inbox) -> None:
        assert self.process.stdout is not None
        while (frames := _read_message(self.process.stdout)) is not None:
            self.heard = time.monotonic()
            if self.is_ready:
                inbox.put((self, (*self.files.popleft(), frames)))
                self._on_answer()
            self.is_ready = True
        inbox.put((self, None))


class _Pool:
    """Several workers: gives them files, collects results in order, replaces those that hang or die.

    The thread that hears an answer gives the next file: the caller embeds and writes between two results, and its
    workers would wait for it.
    """

    def __init__(self, root: str, rules: DiscoverRules, sources: Mapping[str, SourceText], budget_s: float) -> None:
        self._root, self._rules, self._sources, self._budget_s = root, rules, sources, budget_s
        self._workers: list[_Worker] = []
        self._inbox: Inbox = queue.SimpleQueue()
        self._killed = Counter[int]()  # by the number of the file that a worker had when somebody killed it
        self._giving = threading.Lock()  # for the workers and the two below
        self._waiting = deque[tuple[int, SourceFile]]()
        self._ahead = 0  # bytes of the files that were given and whose results the caller does not have

    def run(self, files: list[SourceFile], count: int) -> Iterator[Result]:
        """The results of all files in their order, from `count` workers."""
        self._waiting.extend(enumerate(files))
        ready: dict[int, Result] = {}
        for _ in range(count):
            self._start()
        for number, file in enumerate(files):
            while number not in ready:
                self._feed()
                self._collect(ready)
            yield ready.pop(number)
            with self._giving:
                self._ahead -= _cost(file)

    def close(self) -> None:
        with self._giving:
            self._waiting.clear()
        for worker in self._workers:
            worker.end()

    def _start(self) -> None:
        self._workers.append(_Worker(self._root, self._rules, self._budget_s, self._inbox, self._feed))

    def _feed(self) -> None:
        """Give files to the workers that have few."""
        with self._giving:
            while self._waiting and self._workers and (not self._ahead or self._ahead < _AHEAD_BYTES):
                worker = min(self._workers, key=lambda worker: len(worker.files))
                if len(worker.files) >= _QUEUED_FILES:
                    return
                number, file = self._waiting.popleft()
                self._ahead += _cost(file)
                worker.give(number, file, self._sources.get(file.path))

    def _collect(self, ready: dict[int, Result]) -> None:
        """Wait for one answer and add its result; replace workers that died or hang."""
        try:
            worker, answer = self._inbox.get(timeout=_POLL_S)
        except queue.Empty:
            self._end_silent(ready)
            return
        if answer is not None:
            number, file, frames = answer
            ready[number] = _decode(file, frames)
        elif worker in self._workers:
            self._replace(worker, ready)

    def _end_silent(self, ready: dict[int, Result]) -> None:
        for worker in list(self._workers):
            limit = self._budget_s + _GRACE_S if worker.is_ready else _START_S
            if worker.files and time.monotonic() - worker.heard > limit:
                self._replace(worker, ready)

    def _replace(self, worker: _Worker, ready: dict[int, Result]) -> None:
        """Replace a worker that hangs or died: its oldest file is cut by lines, the others go to the new worker.

        Of a worker that somebody else has killed, all files go there.
        """
        was_killed = worker.was_killed()
        with self._giving:
            self._workers.remove(worker)
        worker.end()  # what it has answered is in the inbox after this
        oldest = worker.files[0][0] if worker.files else -1
        self._killed[oldest] += was_killed
        if worker.files and not (was_killed and self._killed[oldest] <= _MOST_KILLED):
            number, file = worker.files.popleft()
            ready[number] = chunk_file(self._root, file, self._rules, source=self._sources.get(file.path), plain=True)
        with self._giving:
            self._start()
            for number, file in worker.files:
                self._workers[-1].give(number, file, self._sources.get(file.path))


def _cost(file: SourceFile) -> int:
    return file.size + _FILE_BYTES


def _enlarge(pipe: IO[bytes]) -> None:
    """Make a pipe hold more than 64 KB where the system can, so that a worker need not wait for its reader."""
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):  # more than the system allows a user
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _message(frames: Sequence[bytes]) -> bytes:
    """A message: how many frames it has, the size of each, the frames."""
    head = b"".join(size.to_bytes(_SIZE_BYTES, "little") for size in (len(frames), *map(len, frames)))
    return b"".join((head, *frames))


def _write_message(pipe: IO[bytes], frames: Sequence[bytes]) -> None:
    pipe.write(_message(frames))
    pipe.flush()


def _read_message(pipe: IO[bytes]) -> list[bytes] | None:
    """The frames of the next message, or None when the other side is gone."""
    count = int.from_bytes(pipe.read(_SIZE_BYTES), "little")
    head = pipe.read(_SIZE_BYTES * count)
    sizes = [int.from_bytes(head[at : at + _SIZE_BYTES], "little") for at in range(0, len(head), _SIZE_BYTES)]
    frames = [pipe.read(size) for size in sizes]
    return frames if count and [*map(len, frames)] == sizes and len(sizes) == count else None


def _encode(result: Result) -> list[bytes]:
    """The frames of a result: JSON, and of a chunked file the numbers of its words and the sizes of their runs."""
    if isinstance(result, SkippedFile):
        return [orjson.dumps([result.reason.value, result.detail])]
    words, numbers, sizes = to_bytes(result.words)
    rows = [_row(chunk) for chunk in result.chunks]
    head = orjson.dumps([result.content_hash, result.language, rows, result.references, words])
    return [head, numbers, sizes]


def _row(chunk: Chunk) -> tuple[object, ...]:
    """A chunk by its fields' places: names in every row would double the time to read it."""
    return (
        chunk.kind, chunk.name, chunk.qualname, chunk.start_line, chunk.end_line, chunk.signature, chunk.docstring,
        chunk.text, [symbol.row() for symbol in chunk.symbols],
    )  # fmt: skip


def _decode(file: SourceFile, message: Sequence[bytes]) -> Result:
    head = orjson.loads(message[0])
    if len(message) == 1:
        return SkippedFile(file.path, SkipReason(head[0]), head[1])
    content_hash, language, rows, references, words = head
    for row in rows:
        row[-1] = tuple(starmap(Symbol, row[-1]))
    chunks = tuple(starmap(Chunk, rows))
    return ChunkedFile(file, content_hash, language, chunks, references, from_bytes(words, *message[1:]))


def _serve(
    read: IO[bytes],
    write: IO[bytes],
    work: Callable[[str, SourceFile, DiscoverRules, float, SourceText | None], Result],
) -> None:
    """The worker's loop: setup first, then one answer for each file."""
    first = _read_message(read)
    if first is None:
        return
    setup = orjson.loads(first[0])
    given = setup["rules"]
    rules = DiscoverRules(**{**given, "extra_excludes": tuple(given["extra_excludes"])})
    _write_message(write, [b""])  # ready
    while (request := _read_message(read)) is not None:
        fields, sent = orjson.loads(request[0])
        source = SourceText(*sent) if sent else None
        _write_message(write, _encode(work(setup["root"], SourceFile(**fields), rules, setup["budget_s"], source)))


def _chunk_or_die(
    root: str, file: SourceFile, rules: DiscoverRules, budget_s: float, source: SourceText | None
) -> Result:
    """As `_chunk`, with an alarm that ends this process even in native code: its parent may be dead."""
    signal.alarm(math.ceil(budget_s + _GRACE_S))
    try:
        return _chunk(root, file, rules, budget_s, source)
    finally:
        signal.alarm(0)


if __name__ == "__main__":
    gc.freeze()  # imported modules stay, so they need not be scanned
    gc.set_threshold(_GC_THRESHOLD)
    if sys.platform != "win32":
        os.nice(_NICE)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # no traceback when the parent is gone
    _serve(sys.stdin.buffer, sys.stdout.buffer, _chunk if sys.platform == "win32" else _chunk_or_die)
