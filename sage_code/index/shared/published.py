"""What is published of one commit's index: a signed list of pieces, and the pieces, named by their SHA-256.

    indexes/PROJECT/FLAVOUR/COMMIT     the signed list, made once
    pieces/AB/ABCD…                    compressed bytes, shared by all commits and projects

Nothing there is ever changed, so a reader needs no lock and a killed push leaves at most pieces that the next push
uses. A flavour is a model with the versions of all formats: an index that this Sage cannot use is not found.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from typing import Any

import orjson
import xxhash

from sage_code.chunk.version import CHUNKER_VERSION
from sage_code.compiled.inventory import CENTRALITY_FILE
from sage_code.compiled.inventory import FORMAT as COMPILED_FORMAT
from sage_code.compiled.published import SegmentRef
from sage_code.index.manifest import FORMAT as STATES_FORMAT
from sage_code.index.shared.signing import UntrustedError
from sage_code.languages.kinds import TABLES
from sage_code.store.remote.objects import Objects

# History of the format: 1: first version.
FORMAT = 1
# The largest piece, unpacked: a few are in memory at once.
PIECE_BYTES = 8 << 20
MAX_LIST_BYTES = 64 << 20
_MAX_FILE = 16 << 30
_SHA = re.compile(r"[0-9a-f]{64}")
_SEGMENT = re.compile(r"[0-9A-Za-z-]{1,100}\.seg")
_CODEC = "zstd"
# What packing may add to bytes that cannot be compressed, beyond a 64th of them.
_PACKING_BYTES = 1_024


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes: their SHA-256 and how many they are."""

    sha256: str
    size: int

    @property
    def key(self) -> str:
        """The name of the object that holds them."""
        return f"pieces/{self.sha256[:2]}/{self.sha256}"


@dataclass(frozen=True, slots=True)
class PublishedIndex:
    """The signed list of one commit's index."""

    project: str
    flavour: str
    commit: str
    model: str
    dim: int
    made_at: str
    chunks: int
    segments: tuple[SegmentRef, ...]
    files: dict[str, tuple[Piece, ...]]  # of the compiled generation
    states: tuple[Piece, ...]  # what was indexed, file by file
    rows: tuple[Piece, ...]  # chunks with texts and vectors, in frames of some files
    row_keys: tuple[tuple[str, ...], ...]  # the keys of the files in each frame

    def encoded(self) -> bytes:
        """The text that is signed."""
        return orjson.dumps(
            {
                "format": FORMAT,
                "project": self.project,
                "flavour": self.flavour,
                "commit": self.commit,
                "model": self.model,
                "dim": self.dim,
                "made_at": self.made_at,
                "chunks": self.chunks,
                "segments": [ref._asdict() for ref in self.segments],
                "files": {name: _rows(pieces) for name, pieces in self.files.items()},
                "states": _rows(self.states),
                "rows": _rows(self.rows),
                "row_keys": self.row_keys,
            }
        )


def decoded(text: bytes) -> PublishedIndex:
    """The list from its text; `UntrustedError` if it is not one that this Sage can use."""
    try:
        data = orjson.loads(text)
        found = PublishedIndex(
            str(data["project"]), str(data["flavour"]), str(data["commit"]), str(data["model"]), int(data["dim"]),
            str(data["made_at"]), int(data["chunks"]),
            tuple(
                SegmentRef(str(ref["file"]), tuple(map(int, ref["dead"])), int(ref["live_chunks"]))
                for ref in data["segments"]
            ),
            {str(name): _pieces(rows) for name, rows in data["files"].items()},
            _pieces(data["states"]), _pieces(data["rows"]), tuple(tuple(map(str, keys)) for keys in data["row_keys"]),
        )  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UntrustedError(f"its list has an unexpected shape ({type(error).__name__})") from error
    segments = {ref.file for ref in found.segments}
    expected = segments | {f"{table}.json" for table in TABLES} | {CENTRALITY_FILE}
    if found.files.keys() != expected or not all(map(_SEGMENT.fullmatch, segments)):
        raise UntrustedError("its list names other files than those of an index")
    if len(found.rows) != len(found.row_keys):
        raise UntrustedError("its list has frames without keys")
    return found


def flavour_of(model: str, dim: int) -> str:
    """The flavour of an index that this Sage makes with a model."""
    versions = [FORMAT, STATES_FORMAT, COMPILED_FORMAT, CHUNKER_VERSION, model, dim]
    return xxhash.xxh3_64_hexdigest(orjson.dumps(versions))


def place_of(project: str, flavour: str) -> str:
    """The prefix of a project's indexes."""
    slug = re.sub(r"[^A-Za-z0-9.]+", "-", project).strip("-.").lower()[:60]
    return f"indexes/{slug}-{hashlib.sha256(project.encode('utf-8', 'surrogateescape')).hexdigest()[:16]}/{flavour}"


def project_name(remote: str, below: str) -> str:
    """The name of a project: the address of its repository without scheme, user and password, and its folder in it."""
    name = re.sub(r"^[a-z0-9+.-]+://", "", remote.strip(), flags=re.IGNORECASE)
    name = name.rpartition("@")[2] if "@" in name.split("/")[0] else name
    name = re.sub(r"^([^/:]+):(?!\d+/)", r"\1/", name)  # git@host:owner/name
    host, slash, path = name.partition("/")
    name = re.sub(r":\d+$", "", host).lower() + slash + path.rstrip("/").removesuffix(".git")
    return f"{name}#{below.rstrip('/')}" if below else name


def pieces_of(size: int) -> list[tuple[int, int]]:
    """The parts, as begin and length, that so many bytes are cut into."""
    return [(begin, min(PIECE_BYTES, size - begin)) for begin in range(0, size, PIECE_BYTES)]


def named(data: bytes) -> Piece:
    """The piece that these bytes are."""
    return Piece(hashlib.sha256(data).hexdigest(), len(data))


def upload(objects: Objects, piece: Piece, data: bytes) -> int:
    """Upload a piece unless it is there; returns the bytes that were sent."""
    import pyarrow as pa  # heavy

    if objects.has(piece.key):
        return 0
    packed = pa.compress(data, codec=_CODEC, asbytes=True)
    return len(packed) if objects.create(piece.key, packed) else 0


def download(objects: Objects, piece: Piece) -> bytes:
    """The bytes of a piece; `UntrustedError` if it is missing or not what the signed list says."""
    import pyarrow as pa  # heavy

    found = objects.get(piece.key, piece.size + piece.size // 64 + _PACKING_BYTES)
    if found is None:
        raise UntrustedError(f"its piece {piece.sha256[:12]} is missing")
    try:
        data: bytes = pa.decompress(found.data, piece.size, codec=_CODEC, asbytes=True)
    except (OSError, ValueError) as error:
        raise UntrustedError(f"its piece {piece.sha256[:12]} cannot be unpacked") from error
    if named(data) != piece:
        raise UntrustedError(f"its piece {piece.sha256[:12]} is not what was signed")
    return data


def write_piece(objects: Objects, path: str, begin: int, piece: Piece) -> None:
    """Write a piece into a file that is there, where the piece begins; those of one file may come in any order."""
    data = download(objects, piece)
    with open(path, "r+b") as file:
        file.seek(begin)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _rows(pieces: tuple[Piece, ...]) -> list[tuple[str, int]]:
    return [(piece.sha256, piece.size) for piece in pieces]


def _pieces(rows: Any) -> tuple[Piece, ...]:
    pieces = tuple(Piece(sha, size) for sha, size in rows)
    if not all(_SHA.fullmatch(piece.sha256) and 0 <= piece.size <= _MAX_FRAME for piece in pieces):
        raise ValueError("no piece")
    if sum(piece.size for piece in pieces) > _MAX_FILE:
        raise ValueError("too large")
    return pieces


# A frame of rows is one piece: it may hold one file of the largest indexable size, with its vectors.
_MAX_FRAME = 1 << 30
