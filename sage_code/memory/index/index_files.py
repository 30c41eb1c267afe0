"""The vectors and words of memories on disk; they can be made again from the Markdown files at any time.

`<kind>.npz` holds the memories of the last packing, `<kind>.log` has one line for each change since. A save appends one
line, however many memories there are; opening packs both into one file once the log has grown. A line that a crash cut
off is ignored. The files are flat because importing Lance takes longer than everything here.
"""

from __future__ import annotations

import base64
import io
import os
import stat
import struct
import zipfile
import zlib
from typing import Any

import numpy as np
import orjson
import xxhash

from sage_code.files.atomic import PRIVATE_FILE, remove, write_bytes
from sage_code.files.contained import read_regular
from sage_code.memory.files.homes import MemoryHome
from sage_code.memory.index.passages import Floats, Passages, Postings, Record

# History of the format: 1: first version. Since then each line of the log carries a checksum; a line without one is
# damaged.
FORMAT = 1
_LOG_BEFORE_PACKING = 256
# A larger file is damaged: a hundred thousand memories take half of this.
_MAX_BYTES = 300_000_000
_CHECKSUM_CHARS = 16
_MISSING = (0, 0)  # `_stat` of a file that does not exist
_UNREADABLE = (
    OSError, EOFError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, MemoryError, RuntimeError,
    zipfile.BadZipFile, zlib.error, struct.error,
)  # fmt: skip
_APPEND = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class IndexFiles:
    """The two files of one kind of memory in one home, and the passages that they hold."""

    def __init__(self, home: MemoryHome, kind: str, model: str, dim: int) -> None:
        self._home, self._kind, self._model, self._dim = home, kind, model, dim
        self.passages = Passages(dim)
        self._packed_stat = _MISSING
        self._log_bytes = 0  # of the log, that were read
        self._log_lines = 0
        self._is_damaged = False  # the packed file cannot be read and has to be written again
        self._log_is_damaged = False  # the log is no regular file and has to be replaced

    def refresh(self) -> None:
        """Read what other processes have written since the last call."""
        packed = _stat(self._packed)
        if packed != self._packed_stat or _stat(self._log)[1] < self._log_bytes:
            self.passages = Passages(self._dim)
            self._packed_stat, self._log_bytes, self._log_lines = packed, 0, 0
            if packed != _MISSING:
                self._load_packed()
        self._load_log()

    def add(self, records: list[Record], vectors: Floats, *, write: bool = True) -> None:
        """Add memories; the caller holds the home's lock, or does not `write` them."""
        if write:
            self._append([_line(record, vector, self._model) for record, vector in zip(records, vectors, strict=True)])
        for record, vector in zip(records, vectors, strict=True):
            # With the precision that it has on disk.
            self.passages.add(record, vector.astype(np.float16).astype(np.float32))

    def remove(self, ids: list[str], *, write: bool = True) -> None:
        """Remove memories; the caller holds the home's lock, or does not `write` it."""
        if write:
            self._append([orjson.dumps({"gone": id_, "model": self._model}) for id_ in ids])
        for id_ in ids:
            self.passages.remove(id_)

    @property
    def wants_packing(self) -> bool:
        """Whether the log is so long that reading it costs more than packing."""
        return self._is_damaged or self._log_lines > max(_LOG_BEFORE_PACKING, len(self.passages) // 8)

    def pack(self) -> None:
        """Write all living passages into one file and start a new log; the caller holds the lock."""
        passages = self.passages
        living = np.flatnonzero(passages.alive)
        records = [passages.records[row] for row in living]
        postings = passages.merged()
        head = {"format": FORMAT, "model": self._model, "dim": self._dim}
        out = io.BytesIO()
        np.savez(
            out,
            head=_as_bytes(orjson.dumps(head)),
            records=_as_bytes(b"\n".join(orjson.dumps(_plain(record)) for record in records)),
            vectors=passages.vectors[living].astype(np.float16),
            lengths=passages.lengths[living],
            terms=_as_bytes("\n".join(postings.word_numbers).encode("utf-8", "surrogatepass")),
            starts=postings.starts,
            rows=postings.rows,
            counts=postings.counts,
        )
        write_bytes(self._packed, out.getvalue(), mode=PRIVATE_FILE)
        # A reader that comes now applies the old log to the new packed file, which changes nothing.
        remove(self._log)
        self._packed_stat = _MISSING
        self.refresh()

    def clear(self) -> None:
        """Delete both files; the caller embeds all memories again."""
        for path in (self._packed, self._log):
            remove(path)
        self.passages = Passages(self._dim)
        self._packed_stat, self._log_bytes, self._log_lines = _MISSING, 0, 0

    @property
    def _packed(self) -> str:
        return os.path.join(self._home.derived, f"{self._kind}.npz")

    @property
    def _log(self) -> str:
        return os.path.join(self._home.derived, f"{self._kind}.log")

    def _load_packed(self) -> None:
        """Fill the passages from the packed file; a file of another model or a damaged one leaves them empty."""
        try:
            self._is_damaged = False
            data = io.BytesIO(read_regular(self._packed, _MAX_BYTES))
            if _is_compressed(data):
                raise ValueError("Sage writes it uncompressed")
            with np.load(data, allow_pickle=False) as file:
                head = orjson.loads(file["head"].tobytes())
                if head["format"] != FORMAT or head["model"] != self._model or head["dim"] != self._dim:
                    return
                records = [
                    _record({**orjson.loads(line), "terms": {}}) for line in file["records"].tobytes().splitlines()
                ]
                terms = file["terms"].tobytes().decode("utf-8", "surrogatepass")
                word_numbers = {term: number for number, term in enumerate(terms.split("\n"))} if terms else {}
                postings = Postings(word_numbers, file["starts"], file["rows"], file["counts"])
                _check(postings, len(records))
                vectors, lengths = file["vectors"].astype(np.float32), file["lengths"]
                if vectors.shape != (len(records), self._dim) or lengths.shape != (len(records),):
                    raise ValueError("the arrays do not belong together")
                self.passages.load(records, lengths, vectors, postings)
        except _UNREADABLE:
            self.passages = Passages(self._dim)  # made again from the Markdown files
            self._is_damaged = True

    def _load_log(self) -> None:
        """Apply the lines that were appended to the log since it was last read."""
        try:
            facts = os.lstat(self._log)
            if stat.S_ISREG(facts.st_mode) and facts.st_size == self._log_bytes:
                return
            data = read_regular(self._log, _MAX_BYTES)[self._log_bytes :]
        except FileNotFoundError:
            return
        except OSError:
            self._log_is_damaged = True
            return
        whole = data[: data.rfind(b"\n") + 1]
        self._log_bytes += len(whole)
        for line in whole.splitlines():
            self._log_lines += 1
            try:
                row = orjson.loads(_checked(line))
                if row.get("model") != self._model:
                    continue
                if "gone" in row:
                    self.passages.remove(row["gone"])
                else:
                    vector = np.frombuffer(base64.b64decode(row["vector"]), np.float16).astype(np.float32)
                    self.passages.add(_record(row), vector)
            except (ValueError, LookupError, TypeError, AttributeError):
                continue  # the memory of a damaged line is embedded again

    def _append(self, lines: list[bytes]) -> None:
        """Append lines with their checksums to the log."""
        if not lines:
            return
        if self._log_is_damaged:
            remove(self._log)
            self._log_is_damaged, self._log_bytes, self._log_lines = False, 0, 0
        data = b"".join(b"%s\t%s\n" % (line, xxhash.xxh3_64_hexdigest(line).encode()) for line in lines)
        with os.fdopen(os.open(self._log, _APPEND, PRIVATE_FILE), "r+b") as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
                if file.read(1) != b"\n":
                    data = b"\n" + data  # ends the line that a killed writer left; it counts as damaged
            file.write(data)
        if size == self._log_bytes:
            self._log_bytes += len(data)
            self._log_lines += len(lines)


def _line(record: Record, vector: Floats, model: str) -> bytes:
    encoded = base64.b64encode(vector.astype(np.float16).tobytes()).decode()
    return orjson.dumps({**_plain(record), "terms": record.terms, "vector": encoded, "model": model})


def _plain(record: Record) -> dict[str, Any]:
    return {name: getattr(record, name) for name in ("id", "stamp", "follows", "names", "shown")}


def _checked(line: bytes) -> bytes:
    """A line of the log without its checksum; ValueError if the checksum is wrong."""
    data, _, checksum = line.rpartition(b"\t")
    if len(checksum) != _CHECKSUM_CHARS or xxhash.xxh3_64_hexdigest(data).encode() != checksum:
        raise ValueError("a damaged line")
    return data


def _is_compressed(data: io.BytesIO) -> bool:
    """Whether the file is compressed, so that unpacking it could fill the memory."""
    with zipfile.ZipFile(data) as file:
        return any(part.compress_type != zipfile.ZIP_STORED for part in file.infolist())


def _record(row: dict[str, Any]) -> Record:
    texts = [row["id"], row["stamp"], row["follows"], *row["names"], *row["terms"]]
    if not all(isinstance(text, str) for text in texts) or not isinstance(row["shown"], dict):
        raise ValueError("not a record")
    return Record(row["id"], row["stamp"], row["terms"], row["follows"], tuple(row["names"]), row["shown"])


def _check(postings: Postings, rows: int) -> None:
    """ValueError if the arrays do not belong together."""
    starts = postings.starts
    ordered = len(starts) == len(postings.word_numbers) + 1 and bool((np.diff(starts) >= 0).all())
    inside = not len(postings.rows) or (int(postings.rows.min()) >= 0 and int(postings.rows.max()) < rows)
    if not (ordered and inside and starts[-1] == len(postings.rows) == len(postings.counts)):
        raise ValueError("the arrays do not belong together")


def _as_bytes(data: bytes) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.frombuffer(data, np.uint8)


def _stat(path: str) -> tuple[int, int]:
    """When a file was written, and its size."""
    try:
        found = os.stat(path)
    except OSError:
        return _MISSING
    return found.st_mtime_ns, found.st_size
