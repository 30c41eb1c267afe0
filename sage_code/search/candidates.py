"""Chooses the chunks that are worth measuring, by signals that are cheap to work out for a whole snapshot.

Words, meaning, paths and names propose files; of the best of these files the best few chunks are chosen.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sage_code.compiled.segment import CHUNK_FIELDS
from sage_code.languages.kinds import TEXT_KINDS
from sage_code.search.dense import Nearness
from sage_code.search.filters import Allowed
from sage_code.search.lexical import LexicalScores, TermPostings
from sage_code.search.path_stems import rarely_answers
from sage_code.search.phrases import Phrases, Runs
from sage_code.search.query import Query
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.top import Floats, Rows, distinct, ordered_in_groups, runs_of, sizes_of
from sage_code.search.verbatim import Verbatim

# Chunks and files that each signal may propose.
_BY_SIGNAL = 200
_BY_PATH = 60
# Chunks that are chosen, and how many of each file at most; the same for a long text, which has words of many files.
_CHUNKS, _PER_FILE = 256, 4
_CHUNKS_LONG, _PER_FILE_LONG = 600, 3
# Added to the score of a chunk that is measured in any case: more than all signals together.
_CERTAIN = 100.0
# What the score of a test, a document or another file that is rarely the answer counts when files are chosen: without
# it, half of the chosen files are such, and 4 % of the right ones are not chosen.
_RARE_FILE = 0.6
# A name with more definitions than this says little about any of them.
_MAX_DEFINITIONS = 40
# A name that more symbols have, keys and headings included, is not looked up.
_MAX_NAMESAKES = 200
# How certain it is that a word which is also a name is meant as that name.
_LOOSE_CERTAINTY = 0.6
# How surely a file is meant whose module a dotted name ends with, and from which share on two paths are the same file.
_MODULE_SHARE = 0.7
_SAME_PATH = 0.5
# A name mostly means the type or the function, not a member of the same name.
_CERTAINTY = {
    "constructor": 0.8, "method": 0.8, "constant": 0.7, "variable": 0.6, "field": 0.5, "property": 0.5, "module": 0.6
}  # fmt: skip


class View(NamedTuple):
    """The words and the meaning of the title, or of the whole query; of a short query they are the same."""

    words: TermPostings
    near: Nearness


class Signals(NamedTuple):
    """What is known about all chunks of a snapshot, for one query."""

    title: View
    whole: View
    defining: Definitions
    mentioned: dict[int, float]  # by file, how surely the query names its path or module
    framed: dict[int, float]  # by file, how near the innermost frame of a stack trace is
    phrases: Phrases
    verbatim: Verbatim

    @property
    def views(self) -> tuple[View, ...]:
        """The different ones."""
        return (self.title,) if self.whole is self.title else (self.title, self.whole)


class Definitions(NamedTuple):
    """The chunks that define what the query names, by chunk."""

    certainty: dict[int, float]  # how certain it is that one of the names means the chunk
    sum: dict[int, float]  # of all names that it defines, each divided by its number of definitions


class PoolView(NamedTuple):
    """The scores of a pool's chunks for one view of the query."""

    lexical: LexicalScores
    dense: Floats


class Pool(NamedTuple):
    """The proposed files and all their chunks, with their scores by words and by meaning."""

    files: Rows
    chunks: Rows
    first: Rows  # where the chunks of each file start in `chunks`
    file_of_chunk: Rows  # as a row of `files`
    title: PoolView
    whole: PoolView
    runs: Runs  # of each chunk; 0 for those that have few words of the query


def defining_chunks(snapshot: SearchSnapshot, query: Query) -> Definitions:
    """The chunks that define what the query names, and how certain it is that they are meant."""
    defining: dict[int, float] = {}
    sums: dict[int, float] = {}
    for names, certainty in ((query.names, 1.0), (query.loose_names, _LOOSE_CERTAINTY)):
        for name in names:
            found = _definitions(snapshot, name)
            if not found or len(found) > _MAX_DEFINITIONS:
                continue
            for symbol in found:
                file = snapshot.file_numbers.get(symbol["file"])
                if file is not None:
                    chunk = snapshot.chunk_at_line(file, symbol["line"])
                    own = certainty * _CERTAINTY.get(symbol["kind"], 1.0)
                    defining[chunk] = max(defining.get(chunk, 0.0), own)
                    sums[chunk] = sums.get(chunk, 0.0) + own / len(found)
    return Definitions(defining, sums)


def _definitions(snapshot: SearchSnapshot, name: str) -> list[dict[str, Any]]:
    """The symbols that a name may mean; of a dotted name with an unknown owner (`np.hstack`), of its last part."""
    found = snapshot.opened.symbols.find(name, patience=_MAX_NAMESAKES)
    if not found and "." in name:
        found = snapshot.opened.symbols.find(name.rpartition(".")[2], patience=_MAX_NAMESAKES)
    return [symbol for symbol in found if symbol["kind"] not in TEXT_KINDS]


def mentioned_files(snapshot: SearchSnapshot, query: Query) -> dict[int, float]:
    """The files whose path or module the query names: 1 for a whole path, less for a part of it."""
    found: dict[int, float] = {}
    if snapshot.hides_paths:
        return found
    for asked in query.paths:
        for file, share in _files_like(snapshot, asked):
            found[file] = max(found.get(file, 0.0), share)
    for name in query.names + query.loose_names:
        parts = name.split(".")
        if len(parts) > 1:
            # The last part of a dotted name is a definition or a module: `sklearn.linear_model.ridge`.
            for end in range(len(parts), 1, -1):
                if files := snapshot.files_by_module.get((parts[end - 2], parts[end - 1])):
                    for file in files[:_MAX_DEFINITIONS]:
                        found[file] = max(found.get(file, 0.0), _MODULE_SHARE)
                    break
    return found


def _files_like(snapshot: SearchSnapshot, asked: str) -> list[tuple[int, float]]:
    """The files with the name of a path, and how much of the two paths agrees, from their ends."""
    wanted = asked.replace("\\", "/").strip("./").split("/")
    alike = []
    for file in snapshot.files_by_name.get(wanted[-1], ())[:_MAX_NAMESAKES]:
        parts = snapshot.path(file).split("/")
        same = 0
        while same < min(len(parts), len(wanted)) and parts[-1 - same] == wanted[-1 - same]:
            same += 1
        alike.append((file, same / min(len(parts), len(wanted))))
    return alike


def framed_files(snapshot: SearchSnapshot, query: Query) -> dict[int, float]:
    """The files of the stack frames; 1 for the innermost one that is in the project."""
    found: dict[int, float] = {}
    if snapshot.hides_paths:
        return found
    nearest = 0.0
    for frame in query.frames:
        for file, share in _files_like(snapshot, frame.path):
            if share >= _SAME_PATH:
                nearest = nearest or frame.closeness
                found[file] = max(found.get(file, 0.0), frame.closeness / nearest * share)
    return found


def propose(snapshot: SearchSnapshot, signals: Signals, allowed: Allowed) -> Pool:
    """The files that any signal proposes, with all their chunks."""
    proposed = np.zeros(snapshot.files, dtype=bool)
    by_body = []
    for words, near in signals.views:
        for field in CHUNK_FIELDS:
            best = words.best(field, _BY_SIGNAL, allowed.chunks)
            proposed[snapshot.chunk_file[best]] = True
            if field == "body":
                by_body.append(best)
        proposed[snapshot.chunk_file[near.best(snapshot, _BY_SIGNAL, allowed.chunks)]] = True
        proposed[words.best("path", _BY_PATH, allowed.files)] = True
    literal = distinct(np.concatenate(by_body))
    proposed[snapshot.chunk_file[list(signals.defining.certainty)]] = True
    proposed[[*signals.mentioned, *signals.framed, *signals.verbatim.lines]] = True
    files = np.flatnonzero(proposed)
    chunks, first = snapshot.chunks_of(files)
    file_of_chunk = np.repeat(np.arange(len(files)), sizes_of(first, len(chunks)))
    views = [PoolView(words.scores_of(files, chunks, first), near.of(chunks)) for words, near in signals.views]
    runs = Runs(*(np.zeros(len(chunks), np.float32) for _ in Runs._fields))
    at = chunks.searchsorted(literal)
    for column, values in zip(runs, signals.phrases.of(snapshot, literal), strict=True):
        column[at] = values
    return Pool(files, chunks, first, file_of_chunk, views[0], views[-1], runs)


def choose(snapshot: SearchSnapshot, query: Query, pool: Pool, signals: Signals, allowed: Allowed) -> Rows:
    """The rows of the pool's chunks that are measured: the best few of each of the best files."""
    columns = []
    for lexical, dense in (pool.title, pool.whole) if pool.title is not pool.whole else (pool.title,):
        columns += [lexical.fields["body"], lexical.fields["name"], lexical.fields["doc"], dense]
    scores = np.zeros(len(pool.chunks), np.float32)
    for column in columns:
        scores += column / max(float(column.max(initial=0.0)), 1e-6)
    scores += np.float32(len(columns)) * pool.runs.information * pool.runs.share
    scores[np.searchsorted(pool.chunks, sorted(signals.defining.certainty))] += len(columns) / 2
    scores[np.searchsorted(pool.chunks, sorted(signals.verbatim.chunks))] += _CERTAIN
    rows = np.arange(len(pool.chunks)) if allowed.chunks is None else np.flatnonzero(allowed.chunks[pool.chunks])
    of_row = pool.file_of_chunk[rows]
    starts, sizes = runs_of(of_row)
    if not len(starts):
        return rows
    files = of_row[starts]
    cover = pool.title.lexical
    best_of_file = np.maximum.reduceat(scores[rows], starts)
    file_scores = best_of_file + cover.file_cover[files] + 2 * cover.path_cover[files]
    rare = [rarely_answers(path, query.asks_for) for path in snapshot.paths(pool.files[files])]
    file_scores *= np.where(rare, np.float32(_RARE_FILE), np.float32(1))
    named = np.zeros(len(pool.files), np.float32)
    for numbers in (signals.mentioned, signals.framed):
        for file, value in numbers.items():
            named[np.searchsorted(pool.files, file)] += value * len(columns)
    file_scores += named[files]
    most, each = (_CHUNKS, _PER_FILE) if pool.title is pool.whole else (_CHUNKS_LONG, _PER_FILE_LONG)
    best = np.lexsort((snapshot.file_hash[pool.files[files]], -file_scores))
    is_best = np.zeros(len(files), dtype=bool)
    is_best[best[np.cumsum(np.minimum(sizes, each)[best]) <= most]] = True
    # Only the chunks of the chosen files are put in order.
    rows, sizes = rows[np.repeat(is_best, sizes)], sizes[is_best]
    order = ordered_in_groups(scores[rows], pool.file_of_chunk[rows])
    rank_in_file = np.arange(len(rows)) - np.repeat(sizes.cumsum() - sizes, sizes)
    return np.sort(rows[order[rank_in_file < each]])
