"""Chooses the chunks that are worth measuring, by signals that are cheap to work out for a whole snapshot.

Words, meaning, paths and names propose files; of the best of these files the best few chunks are chosen.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sage_code.compiled.segment import CHUNK_FIELDS
from sage_code.languages.kinds import TEXT_KINDS
from sage_code.search.dense import Nearness
from sage_code.search.filters import Allowed
from sage_code.search.lexical import LexicalScores, TermPostings
from sage_code.search.query import Query
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.top import Floats, Rows

# Chunks and files that each signal may propose.
_BY_SIGNAL = 200
_BY_PATH = 60
# Files that are chosen, and chunks of each.
_FILES = 64
_PER_FILE = 3
# A name with more definitions than this says little about any of them.
_MAX_DEFINITIONS = 40
# A name that more symbols have, keys and headings included, is not looked up.
_MAX_NAMESAKES = 200
# How certain it is that a word which is also a name is meant as that name.
_LOOSE_CERTAINTY = 0.6
# A name mostly means the type or the function, not a member of the same name.
_CERTAINTY = {
    "constructor": 0.8, "method": 0.8, "constant": 0.7, "variable": 0.6, "field": 0.5, "property": 0.5, "module": 0.6
}  # fmt: skip


class Signals(NamedTuple):
    """What is known about all chunks of a snapshot, for one query."""

    words: TermPostings
    near: Nearness
    defining: dict[int, float]  # by chunk, how certain it is that it defines what the query names


class Pool(NamedTuple):
    """The proposed files and all their chunks, with their scores by words and by meaning."""

    files: Rows
    chunks: Rows
    first: Rows  # where the chunks of each file start in `chunks`
    file_of_chunk: Rows  # as a row of `files`
    lexical: LexicalScores
    dense: Floats


def defining_chunks(snapshot: SearchSnapshot, query: Query) -> dict[int, float]:
    """The chunks that define what the query names, and how certain it is that they are meant."""
    defining: dict[int, float] = {}
    for names, certainty in ((query.names, 1.0), (query.loose_names, _LOOSE_CERTAINTY)):
        for name in names:
            found = snapshot.opened.symbols.find(name, patience=_MAX_NAMESAKES)
            found = [symbol for symbol in found if symbol["kind"] not in TEXT_KINDS]
            if len(found) > _MAX_DEFINITIONS:
                continue
            for symbol in found:
                file = snapshot.file_numbers.get(symbol["file"])
                if file is not None:
                    chunk = snapshot.chunk_at_line(file, symbol["line"])
                    own = certainty * _CERTAINTY.get(symbol["kind"], 1.0)
                    defining[chunk] = max(defining.get(chunk, 0.0), own)
    return defining


def propose(snapshot: SearchSnapshot, signals: Signals, allowed: Allowed) -> Pool:
    """The files that any signal proposes, with all their chunks."""
    words, near, defining = signals
    proposed = np.zeros(snapshot.files, dtype=bool)
    for field in CHUNK_FIELDS:
        proposed[snapshot.chunk_file[words.best(field, _BY_SIGNAL, allowed.chunks)]] = True
    proposed[snapshot.chunk_file[near.best(snapshot, _BY_SIGNAL, allowed.chunks)]] = True
    proposed[words.best("path", _BY_PATH, allowed.files)] = True
    proposed[snapshot.chunk_file[list(defining)]] = True
    files = np.flatnonzero(proposed)
    chunks, first = snapshot.chunks_of(files)
    file_of_chunk = np.repeat(np.arange(len(files)), np.diff(first, append=len(chunks)))
    return Pool(files, chunks, first, file_of_chunk, words.scores_of(files, chunks, first), near.of(chunks))


def choose(snapshot: SearchSnapshot, pool: Pool, signals: Signals, allowed: Allowed) -> Rows:
    """The rows of the pool that are worth measuring, in ascending order: the best few chunks of the best files."""
    lexical = pool.lexical
    columns = (*(lexical.fields[field] for field in CHUNK_FIELDS), pool.dense)
    scores = np.zeros(len(pool.chunks), np.float32)
    for column in columns:
        scores += column / max(float(column.max(initial=0.0)), 1e-6)
    scores[np.searchsorted(pool.chunks, sorted(signals.defining))] += len(columns)
    rows = np.arange(len(pool.chunks)) if allowed.chunks is None else np.flatnonzero(allowed.chunks[pool.chunks])
    files = pool.file_of_chunk[rows]
    order = np.lexsort((-scores[rows], files))
    starts = np.flatnonzero(np.diff(files[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    rank_in_file = np.arange(len(order)) - np.repeat(starts, sizes)
    files = files[order[starts]]
    file_scores = scores[rows[order[starts]]] + lexical.file_cover[files] + 2 * lexical.path_cover[files]
    is_best = np.zeros(len(files), dtype=bool)
    is_best[np.lexsort((snapshot.file_hash[pool.files[files]], -file_scores))[:_FILES]] = True
    return np.sort(rows[order[(rank_in_file < _PER_FILE) & np.repeat(is_best, sizes)]])
