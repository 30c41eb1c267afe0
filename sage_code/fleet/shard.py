"""What a worker does: makes rows of the fleet's table from the files of a shard, as fragments that no reader sees yet.

A worker needs this package and the way to the store, nothing else: texts come from the store, and the keys to the store
from the worker's own environment or settings, never with the order. The first worker that finishes a shard wins;
another one deletes what it wrote. Grammars that hang or crash end a child of the worker, as in `sage index`.
"""

from __future__ import annotations

import functools
import os
import socket
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from sage_code.errors import StoreError, UsageError
from sage_code.fleet.state import FleetState, ShardResult
from sage_code.index.manifest import file_key

if TYPE_CHECKING:
    import pyarrow as pa

    from sage_code.chunk.files import ChunkedFile
    from sage_code.embed.protocol import Embedder
    from sage_code.store.remote.address import Address

# Child processes that parse for one worker, while the worker embeds and writes.
_PARSERS = 1
# Limits of time are by the clock, and a cluster's machine may do many shards at a time: with the limits of `sage index`
# a busy one cut ordinary files by lines, so that the table depended on who did a shard. Files that hang are rare.
_PATIENCE = 6.0
# Chunks that are embedded together.
_BATCH_CHUNKS = 2_048


@dataclass(frozen=True, slots=True)
class Order:
    """One shard to be done: plain words and numbers, which any cluster can carry."""

    store: str  # the store's address
    table: str
    run: str
    shard: str
    model: str  # as the setting names it
    vectors: str  # as the model calls its vectors
    dim: int
    cutter: str  # the key of an empty file: workers of another version cut otherwise
    parse_timeout_s: float


def do_shard(order: dict[str, Any]) -> dict[str, Any]:
    """Do one shard and return its result, or the one that another worker has left; this is what executors call."""
    from sage_code.settings.loading import load_settings
    from sage_code.store.remote.address import address_of
    from sage_code.store.remote.objects import Objects

    wanted = Order(**order)
    if file_key("", "") != wanted.cutter:
        raise UsageError(
            "this worker has another version of Sage, which cuts files otherwise", "install the same version"
        )
    address = address_of(wanted.store, load_settings(None))
    state = FleetState(Objects(address), wanted.table)
    known = state.result(wanted.run, wanted.shard)
    if known is None:
        known = _done(wanted, address, state)
    return asdict(known)


def _done(order: Order, address: Address, state: FleetState) -> ShardResult:
    """Make the rows of a shard, write them, and be the first to say so."""
    started, used = time.monotonic(), _processor_seconds()
    files = state.input(order.run, order.shard)
    if files is None:
        raise StoreError(f"the input of shard {order.shard} is gone", "the run is over, or was given up")
    seconds = {"read": time.monotonic() - started, "cut": 0.0, "embed": 0.0, "write": 0.0}
    embedder = _embedder(order.model)
    if (embedder.name, embedder.dim) != (order.vectors, order.dim):
        raise UsageError(f"this worker's {order.model} makes other vectors", "use the same model on all workers")
    table = _rows(order, embedder, files, seconds)
    begun = time.monotonic()
    fragments = _write(address.below(f"{order.table}.lance"), table) if table.num_rows else []
    seconds["write"] = time.monotonic() - begun
    seconds["processor"] = _processor_seconds() - used
    worker = f"{socket.gethostname()}:{os.getpid()}"
    result = ShardResult(order.shard, tuple(fragments), len(files), table.num_rows, seconds, worker)
    if state.finish(order.run, result):
        return result
    _unwrite(address, order.table, fragments)
    winner = state.result(order.run, order.shard)
    if winner is None:
        raise StoreError(f"the result of shard {order.shard} is gone", "the run is over")
    return winner


def _processor_seconds() -> float:
    """What this process and its children that have ended have used of a core; what cuts a shard ends with it."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


@functools.lru_cache(maxsize=1)
def _embedder(model: str) -> Embedder:
    """The model, loaded once for all shards of a worker."""
    from sage_code.embed.loading import load_embedder
    from sage_code.settings.loading import load_settings

    return load_embedder(model, "code", load_settings(None))


def _rows(order: Order, embedder: Embedder, files: list[list[str]], seconds: dict[str, float]) -> pa.Table:
    """The rows of all files of the shard, in their order."""
    import pyarrow as pa

    from sage_code.index.vectors import VectorSource
    from sage_code.store.fleet_table import fleet_rows, fleet_schema

    vectors = VectorSource(None, embedder)
    parts = []
    clock = time.monotonic()
    for repository, owner, batch in _chunked(order, files):
        now = time.monotonic()
        seconds["cut"] += now - clock
        parts.append(fleet_rows(repository, owner, vectors.rows(batch), order.dim))
        clock = time.monotonic()
        seconds["embed"] += clock - now
    seconds["cut"] += time.monotonic() - clock
    return pa.concat_tables(parts) if parts else fleet_schema(order.dim).empty_table()


def _chunked(order: Order, files: list[list[str]]) -> Iterator[tuple[str, str, list[ChunkedFile]]]:
    """The files cut into chunks, in batches that belong to one repository."""
    from sage_code.chunk.workers import chunk_files
    from sage_code.discover.reading import SourceText
    from sage_code.discover.rules import DEFAULT_RULES
    from sage_code.values import SkippedFile, SourceFile

    # Two repositories may have the same path: a number before it tells them apart until the file is cut.
    sources, listed = {}, []
    for number, (_, _, path, text, content_hash) in enumerate(files):
        name = f"{number}/{path}"
        sources[name] = SourceText(text, content_hash, "utf-8")
        listed.append(SourceFile(name, len(text), 0))
    results = chunk_files(
        os.devnull, listed, DEFAULT_RULES, sources=sources, workers=_PARSERS, budget_s=order.parse_timeout_s * _PATIENCE
    )
    batch: list[ChunkedFile] = []
    of, chunks = ("", ""), 0
    for (repository, owner, path, _, _), result in zip(files, results, strict=True):
        if batch and (of != (repository, owner) or chunks >= _BATCH_CHUNKS):
            yield *of, batch
            batch, chunks = [], 0
        of = (repository, owner)
        if not isinstance(result, SkippedFile) and result.chunks:
            batch.append(_with_path(result, path))
            chunks += len(result.chunks)
    if batch:
        yield *of, batch


def _with_path(file: ChunkedFile, path: str) -> ChunkedFile:
    from dataclasses import replace

    return replace(file, file=replace(file.file, path=path))


def _write(address: Address, table: pa.Table) -> list[dict[str, Any]]:
    """Write the rows beside the table; they are invisible until a commit names them."""
    from lance.fragment import write_fragments

    written = write_fragments(table, address.uri, mode="append", storage_options=address.options or None)
    return [fragment.to_json() for fragment in written]


def _unwrite(address: Address, table: str, fragments: list[dict[str, Any]]) -> None:
    """Delete fragments that no commit will name."""
    from sage_code.store.remote.objects import Objects

    objects = Objects(address)
    for fragment in fragments:
        for file in fragment["files"]:
            objects.delete(f"{table}.lance/data/{file['path']}")
