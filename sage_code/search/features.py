"""What speaks for a chunk as the answer: named numbers, mostly between 0 and 1, that the ranking weighs.

Every number has a meaning that can be said in a few words (`FEATURES`); `sage search --explain` says them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.segment import KINDS
from sage_code.search.dense import Nearness
from sage_code.search.lexical import Lexical, Words
from sage_code.search.path_classes import PATH_CLASSES, Stems, own_stems, path_classes, path_stems, superseded
from sage_code.search.query import Query
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.top import Floats, Places
from sage_code.search.words import stem

FEATURES: dict[str, str] = {
    "body": "words of the question in the text",
    "body_relative": "the same, against the best text of the project",
    "name": "words of the question in the names",
    "name_relative": "the same, against the best names of the project",
    "doc": "words of the question in the documentation",
    "cover": "share of the question found in the chunk",
    "file_cover": "share of the question found anywhere in the file",
    "file_body": "how many chunks of the file speak of it",
    "path": "words of the question in the path",
    "path_cover": "share of the question found in the path",
    "stem_cover": "share of the question found in the file's name",
    "stem_share": "share of the file's name found in the question",
    "folder_cover": "share of the question found in the folder's names",
    "own_name_cover": "share of the question found in the chunk's own name",
    "own_name_share": "share of the chunk's own name found in the question",
    "dense": "nearness of meaning",
    "dense_relative": "nearness of meaning, against the rest of the project",
    "file_dense": "nearness of meaning of the file's best chunk",
    "defines": "defines a name that is asked for",
    "file_defines": "the file defines a name that is asked for",
    "path_match": "the path that is asked for",
    "loose": "not a definition: imports, statements, prose",
    "large_file": "length of the file",
    "used": "how many files use what the chunk defines",
    "file_used": "how many files use what the file defines",
    **{f"is_{place}": f"lies among {place} code" for place in PATH_CLASSES},
    "is_superseded": "lies in an older version of what is there in a newer one",
}
NAMES = tuple(FEATURES)
# Those that know the path; the path-blind measurement hides them.
PATH_FEATURES = frozenset(
    {
        "path",
        "path_cover",
        "stem_cover",
        "stem_share",
        "folder_cover",
        "path_match",
        "is_superseded",
        *(f"is_{place}" for place in PATH_CLASSES),
    }
)
_IS_LOOSE = np.array([kind in {"module", "fallback"} for kind in KINDS], np.float32)
# What asks for a place by name lifts its demotion; these are asked for by the words of another.
_ASKED_WITH = {"declarations": "doc", "data": "build"}


@dataclass(frozen=True)
class Pool:
    """Files that may hold the answer, all their chunks in order, and what words and meaning say of them."""

    files: Places
    chunks: Places
    first: Places  # where the chunks of each file start
    words: Lexical
    dense: Floats

    @cached_property
    def file_of_chunk(self) -> Places:
        """The place of each chunk's file among the files."""
        return np.repeat(np.arange(len(self.files)), np.diff(self.first, append=len(self.chunks)))


class Candidates(NamedTuple):
    """The chunks that may be the answer, with their features."""

    chunks: Places
    files: Places
    matrix: Floats  # a row a chunk, columns as `NAMES`
    by_path: Places  # the place of each chunk's file among them, by path


def measure(
    snapshot: SearchSnapshot,
    query: Query,
    pool: Pool,
    chosen: Places,
    words: Words,
    near: Nearness,
    defined: Mapping[int, float],
) -> Candidates:
    """The features of the chunks at the places `chosen` of the pool, in ascending order.

    `defined` says how surely a chunk defines what is asked for.
    """
    chunks, of_file = pool.chunks[chosen], pool.file_of_chunk[chosen]
    files = pool.files[of_file]
    # What a path says is worked out once a file and spread over its run of chunks.
    starts = np.flatnonzero(np.diff(of_file, prepend=-1))
    runs = np.diff(starts, append=len(of_file))
    columns: dict[str, Floats] = {name: np.zeros(len(chunks), np.float32) for name in NAMES}
    found, dense = pool.words, pool.dense[chosen]
    for field in ("body", "name", "doc"):
        columns[field] = found.fields[field][chosen]
    for field in ("body", "name"):
        columns[f"{field}_relative"] = columns[field] / max(float(found.fields[field].max(initial=0)), 1e-6)
    columns["cover"], columns["file_cover"] = found.chunk_cover[chosen], found.file_cover[of_file]
    columns["path"], columns["path_cover"] = found.fields["path"][of_file], found.path_cover[of_file]
    columns["dense"] = dense
    columns["dense_relative"] = np.clip((dense - near.mean) / near.spread / 5, -1, 1)
    columns["used"] = _fame(snapshot.chunk_uses[chunks])
    columns["file_used"] = _fame(snapshot.file_users[files])
    columns["loose"] = _IS_LOOSE[snapshot.chunk_kind[chunks]]
    if len(chunks):
        columns["file_body"] = (1 - np.exp(-np.add.reduceat(found.fields["body"], pool.first)))[of_file]
        columns["file_dense"] = np.maximum.reduceat(pool.dense, pool.first)[of_file]
        sizes = np.diff(pool.first, append=len(pool.chunks))
        columns["large_file"] = (np.log1p(sizes) / 8).astype(np.float32)[of_file]
    wanted = _Wanted(query, words)
    paths = snapshot.paths(files[starts])
    for feature, values in _of_paths(paths, query, wanted).items():
        columns[feature] = np.repeat(values, runs)
    own_words = [own_stems(qualname) for qualname in snapshot.qualnames(chunks)]
    columns["own_name_cover"] = np.array([wanted.cover(own) for own in own_words], np.float32)
    columns["own_name_share"] = np.array([wanted.share(own) for own in own_words], np.float32)
    by_file: dict[int, float] = {}
    for chunk, surety in defined.items():
        file = int(snapshot.chunk_file[chunk])
        by_file[file] = max(by_file.get(file, 0.0), surety)
    if defined:
        columns["defines"] = np.array([defined.get(chunk, 0.0) for chunk in chunks.tolist()], np.float32)
        columns["file_defines"] = np.array([by_file.get(file, 0.0) for file in files.tolist()], np.float32)
    matrix = np.stack([columns[name] for name in NAMES], axis=1).astype(np.float32)
    by_path = np.empty(len(paths), np.int64)
    by_path[sorted(range(len(paths)), key=paths.__getitem__)] = np.arange(len(paths))
    return Candidates(chunks, files, matrix, np.repeat(by_path, runs))


def _fame(users: NDArray[np.float32] | NDArray[np.uint32]) -> Floats:
    """How many files use something, as a number that hardly grows beyond a few hundred."""
    fame: Floats = np.log1p(users.astype(np.float32))
    return fame / np.float32(8)


class _Wanted:
    """The words of a question by their stems, each with its share of the question."""

    def __init__(self, query: Query, words: Words) -> None:
        self._weights: dict[str, float] = {}
        for term in query.terms:
            self._weights[stem(term)] = self._weights.get(stem(term), 0.0) + words.weights.get(term, 0.0)

    def cover(self, stems: Stems) -> float:
        """How much of the question these words are."""
        if stems.different.isdisjoint(self._weights):
            return 0.0
        return sum([weight for stemmed, weight in self._weights.items() if stemmed in stems.different])

    def share(self, stems: Stems) -> float:
        """How many of these words are in the question."""
        if not stems.all or stems.different.isdisjoint(self._weights):
            return 0.0
        return sum([stemmed in self._weights for stemmed in stems.all]) / len(stems.all)


def _of_paths(paths: Sequence[str], query: Query, wanted: _Wanted) -> dict[str, Floats]:
    """What the paths of the files say, by feature."""
    stems = [path_stems(path) for path in paths]
    found = {
        "stem_cover": [wanted.cover(file) for file, _ in stems],
        "stem_share": [wanted.share(file) for file, _ in stems],
        "folder_cover": [wanted.cover(folders) for _, folders in stems],
        "path_match": [
            any(path.endswith(asked.lstrip("./")) or asked.endswith(path) for asked in query.paths) for path in paths
        ],
        "is_superseded": superseded(paths, query.terms),
    }
    asked = [_ASKED_WITH.get(place, place) in query.asks_for for place in PATH_CLASSES]
    lies = np.array([path_classes(path) for path in paths], np.float32).reshape(-1, len(PATH_CLASSES)) * ~np.array(
        asked
    )
    return {
        **{name: np.array(values, np.float32) for name, values in found.items()},
        **{f"is_{place}": lies[:, number] for number, place in enumerate(PATH_CLASSES)},
    }
