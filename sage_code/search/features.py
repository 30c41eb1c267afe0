"""Measures candidates: named numbers about each chunk, mostly between 0 and 1, that the ranking weighs.

`FEATURES` says in a few words what each number means; `sage search --explain` prints these words. The names of the
features are part of the format of `weights.json`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.segment import KINDS
from sage_code.search.candidates import Pool, Signals
from sage_code.search.path_classes import PATH_CLASSES, Stems, own_stems, path_classes, path_stems, superseded
from sage_code.search.query import Query
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.top import Floats, Rows

FEATURES: dict[str, str] = {
    "body": "words of the question in the text",
    "body_relative": "the same, against the best text of the project",
    "name": "words of the question in the names",
    "name_relative": "the same, against the best names of the project",
    "doc": "words of the question in the documentation",
    "cover": "share of the question found in the chunk",
    "file_cover": "share of the question found anywhere in the file",
    "file_body": "how many chunks of the file have words of the question",
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
    **{f"is_{path_class}": f"the path is that of {path_class} code" for path_class in PATH_CLASSES},
    "is_superseded": "the path is that of an older version",
}
NAMES = tuple(FEATURES)
# Features that depend on the path; the path-blind evaluation hides them.
PATH_FEATURES = frozenset(
    {"path", "path_cover", "stem_cover", "stem_share", "folder_cover", "path_match", "is_superseded"}
    | {f"is_{path_class}" for path_class in PATH_CLASSES}
)
_IS_LOOSE = np.array([kind in {"module", "fallback"} for kind in KINDS], np.float32)
# A path class that the query asks for is not ranked lower; these two are asked for by the words of another class.
_ASKED_WITH = {"declarations": "doc", "data": "build"}


class Candidates(NamedTuple):
    """The chunks that may answer, with their features."""

    chunks: Rows
    files: Rows
    matrix: Floats  # a row for each chunk, columns as `NAMES`
    by_path: Rows  # of each chunk's file, its number in the order of their paths


def measure(snapshot: SearchSnapshot, query: Query, pool: Pool, chosen: Rows, signals: Signals) -> Candidates:
    """The features of the chunks at the rows `chosen` of the pool, in ascending order."""
    chunks, of_file = pool.chunks[chosen], pool.file_of_chunk[chosen]
    files = pool.files[of_file]
    # What depends on the path is worked out once a file and repeated for its run of chunks.
    starts = np.flatnonzero(np.diff(of_file, prepend=-1))
    runs = np.diff(starts, append=len(of_file))
    columns: dict[str, Floats] = {name: np.zeros(len(chunks), np.float32) for name in NAMES}
    lexical, dense, near = pool.lexical, pool.dense[chosen], signals.near
    for field in ("body", "name", "doc"):
        columns[field] = lexical.fields[field][chosen]
    for field in ("body", "name"):
        columns[f"{field}_relative"] = columns[field] / max(float(lexical.fields[field].max(initial=0)), 1e-6)
    columns["cover"], columns["file_cover"] = lexical.chunk_cover[chosen], lexical.file_cover[of_file]
    columns["path"], columns["path_cover"] = lexical.fields["path"][of_file], lexical.path_cover[of_file]
    columns["dense"] = dense
    columns["dense_relative"] = np.clip((dense - near.mean) / near.spread / 5, -1, 1)
    columns["used"] = _log_scale(snapshot.chunk_centrality[chunks])
    columns["file_used"] = _log_scale(snapshot.file_centrality[files])
    columns["loose"] = _IS_LOOSE[snapshot.chunk_kind[chunks]]
    if len(chunks):
        columns["file_body"] = (1 - np.exp(-np.add.reduceat(lexical.fields["body"], pool.first)))[of_file]
        columns["file_dense"] = np.maximum.reduceat(pool.dense, pool.first)[of_file]
        sizes = np.diff(pool.first, append=len(pool.chunks))
        columns["large_file"] = (np.log1p(sizes) / 8).astype(np.float32)[of_file]
    wanted = _WeightedStems(query, signals.words.weights)
    paths = snapshot.paths(files[starts])
    for feature, values in _of_paths(paths, query, wanted).items():
        columns[feature] = np.repeat(values, runs)
    own_words = [own_stems(qualname) for qualname in snapshot.qualnames(chunks)]
    columns["own_name_cover"] = np.array([wanted.cover(own) for own in own_words], np.float32)
    columns["own_name_share"] = np.array([wanted.share(own) for own in own_words], np.float32)
    if defining := signals.defining:
        by_file: dict[int, float] = {}
        for chunk, certainty in defining.items():
            file = int(snapshot.chunk_file[chunk])
            by_file[file] = max(by_file.get(file, 0.0), certainty)
        columns["defines"] = np.array([defining.get(chunk, 0.0) for chunk in chunks.tolist()], np.float32)
        columns["file_defines"] = np.array([by_file.get(file, 0.0) for file in files.tolist()], np.float32)
    matrix = np.stack([columns[name] for name in NAMES], axis=1).astype(np.float32)
    by_path = np.empty(len(paths), np.int64)
    by_path[sorted(range(len(paths)), key=paths.__getitem__)] = np.arange(len(paths))
    return Candidates(chunks, files, matrix, np.repeat(by_path, runs))


def _log_scale(centrality: NDArray[np.float32] | NDArray[np.uint32]) -> Floats:
    """Centrality on a scale that hardly grows beyond a few hundred users."""
    scaled: Floats = np.log1p(centrality.astype(np.float32))
    return scaled / np.float32(8)


class _WeightedStems:
    """The stems of a query, each with its share of the query."""

    def __init__(self, query: Query, weights: Mapping[str, float]) -> None:
        self._weights: dict[str, float] = {}
        for term, stem in zip(query.terms, query.stems, strict=True):
            self._weights[stem] = self._weights.get(stem, 0.0) + weights[term]

    def cover(self, stems: Stems) -> float:
        """The share of the query that is in `stems`."""
        if stems.different.isdisjoint(self._weights):
            return 0.0
        return sum([weight for stem, weight in self._weights.items() if stem in stems.different])

    def share(self, stems: Stems) -> float:
        """The share of `stems` that is in the query."""
        if not stems.all or stems.different.isdisjoint(self._weights):
            return 0.0
        return sum([stem in self._weights for stem in stems.all]) / len(stems.all)


def _of_paths(paths: Sequence[str], query: Query, wanted: _WeightedStems) -> dict[str, Floats]:
    """The features that depend on the path alone, for each path."""
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
    asked = np.array([_ASKED_WITH.get(path_class, path_class) in query.asks_for for path_class in PATH_CLASSES])
    classes = np.array([path_classes(path) for path in paths], np.float32).reshape(-1, len(PATH_CLASSES)) * ~asked
    return {
        **{name: np.array(values, np.float32) for name, values in found.items()},
        **{f"is_{path_class}": classes[:, number] for number, path_class in enumerate(PATH_CLASSES)},
    }
