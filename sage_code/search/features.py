"""Measures candidates: named numbers about each chunk, mostly between 0 and 1, that the ranking weighs.

`FEATURES` says in a few words what each number means; `sage search --explain` prints these words. The names of the
features are part of the format of `weights.json`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sage_code.compiled.segment import KINDS
from sage_code.search.candidates import Definitions, Pool, Signals
from sage_code.search.literals import VERBATIM
from sage_code.search.path_classes import ASKED_WITH, PATH_CLASSES, path_classes
from sage_code.search.path_stems import Stems, name_words, own_stems, path_stems, path_words, superseded
from sage_code.search.query import Query
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.soft import WordMeanings
from sage_code.search.top import Floats, Rows, ordered_in_groups, runs_of, sizes_of
from sage_code.search.verbatim import NOWHERE, Verbatim

FEATURES: dict[str, str] = {
    "body": "words of the question in the text",
    "body_relative": "the same, against the best text of the project",
    "name": "words of the question in the names",
    "name_relative": "the same, against the best names of the project",
    "file_body_best": "words of the question in the text of the file's best chunk",
    "file_name_best": "words of the question in the names of the file's best chunk",
    "file_name_sum": "words of the question in the names of all chunks of the file",
    "file_doc_best": "words of the question in the documentation of the file's best chunk",
    "namesake_used": "how much the file is used, against the other files of its name",
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
    "own_name_near": "share of the question near in meaning to the chunk's own name",
    "own_name_near_share": "share of the chunk's own name near in meaning to the question",
    "scope_near": "share of the question near in meaning to the names around the chunk's own",
    "stem_near": "share of the question near in meaning to the file's name",
    "stem_near_share": "share of the file's name near in meaning to the question",
    "folder_near": "share of the question near in meaning to the folder's names",
    "body_near": "share of the question near in meaning to words of the text",
    "body_near_least": "nearness of the word of the question that is farthest from the text",
    "body_near_share": "share of the text near in meaning to words of the question",
    "dense": "nearness of meaning",
    "dense_relative": "nearness of meaning, against the rest of the project",
    "dense_behind": "how far the meaning is behind the nearest chunk",
    "file_dense": "nearness of meaning of the file's best chunk",
    "file_dense_best": "nearness of meaning of the file's three best chunks",
    "defines": "defines a name that is asked for",
    "file_defines": "the file defines a name that is asked for",
    "path_match": "the path or module that is asked for",
    "loose": "not a definition: imports, statements, prose",
    "large_file": "length of the file",
    "used": "how many files use what the chunk defines",
    "file_used": "how many files use what the file defines",
    **{f"is_{path_class}": f"the path is that of {path_class} code" for path_class in PATH_CLASSES},
    "is_superseded": "the path is that of an older version",
    "rarest": "the rarest word of the question is in the chunk",
    "run": "words of the question that follow each other in the text",
    "run_share": "the same, as a share of the question",
    "literal": "the whole question stands in the text, word after word",
    "pairs": "pairs of adjacent words of the question in the text",
    "file_run": "words of the question that follow each other in the file",
    "whole_body": "words of the whole text in the chunk, against the best of the project",
    "whole_cover": "share of the whole text found in the chunk, against the best of the project",
    "whole_file_cover": "share of the whole text found in the file, against the best of the project",
    "whole_name": "words of the whole text in the names, against the best of the project",
    "whole_path": "words of the whole text in the path",
    "whole_dense": "nearness of the whole text's meaning, against the rest of the project",
    "whole_file_dense": "nearness of the whole text's meaning to the file's best chunk",
    "names_defined": "how many of the names in the question the chunk defines",
    "file_names_defined": "how many of the names in the question the file defines",
    "frame": "the file is in the stack trace",
    "frame_name": "the function is in the stack trace",
    "body_rank": "place of the file by words of the text",
    "name_rank": "place of the file by words of the names",
    "dense_rank": "place of the file by meaning",
    "whole_rank": "place of the file by words of the whole text",
    "chunk_rank": "place of the chunk in its file, by words and meaning",
    "chunk_lines": "length of the chunk",
    "asked_words": "how many words the question has",
    "asked_long": "the question is a long text",
    "asked_names": "how many names of code the question has",
    "asked_symbol": "the question is a name",
    "asked_code": "the question is code or an error",
    "asked_known": "the question names something that the project defines",
    "asked_path": "how well the best path of the project fits the question",
    "asked_run": "how much of the question stands somewhere word after word",
}
NAMES = tuple(FEATURES)
_ROW = {name: row for row, name in enumerate(NAMES)}
# What rules add to the score besides.
MEANINGS = FEATURES | {VERBATIM: "the text that was asked for stands here word for word, and hardly anywhere else"}
# Features that depend on the path; the path-blind evaluation hides them.
PATH_FEATURES = frozenset(
    {"path", "path_cover", "stem_cover", "stem_share", "folder_cover", "path_match", "is_superseded"}
    | {"whole_path", "frame", "asked_path", "stem_near", "stem_near_share", "folder_near", "namesake_used"}
    | {f"is_{path_class}" for path_class in PATH_CLASSES}
)
# A run covers the question from this share on: sums of floats are not quite 1.
_WHOLE = 0.999
# Chunks of a file that tell together how near it is.
_BEST = 3
_IS_LOOSE = np.array([kind in {"module", "fallback"} for kind in KINDS], np.float32)


class Candidates(NamedTuple):
    """The chunks that may answer, with their features."""

    chunks: Rows
    files: Rows
    matrix: Floats  # a row for each chunk, columns as `NAMES`
    by_path: Rows  # of each chunk's file, its number in the order of their paths
    verbatim: Verbatim = NOWHERE


def measure(
    snapshot: SearchSnapshot, query: Query, pool: Pool, chosen: Rows, signals: Signals, meanings: WordMeanings
) -> Candidates:
    """The features of the chunks at the rows `chosen` of the pool, in ascending order."""
    chunks, of_file = pool.chunks[chosen], pool.file_of_chunk[chosen]
    files = pool.files[of_file]
    # What depends on the path is worked out once a file and repeated for its run of chunks.
    starts, runs = runs_of(of_file)
    columns: dict[str, Floats] = {}  # those that are not all 0
    if len(chunks):
        columns |= _by_words(pool, chosen, of_file) | _by_meaning(pool, chosen, of_file, signals)
        columns |= _by_runs(pool, chosen, of_file) | _by_place(pool, chosen, of_file)
        sizes = sizes_of(pool.first, len(pool.chunks))
        columns["large_file"] = (np.log1p(sizes) / 8).astype(np.float32)[of_file]
    columns["used"] = _log_scale(snapshot.chunk_centrality[chunks])
    columns["file_used"] = _log_scale(snapshot.file_centrality[files])
    columns["loose"] = _IS_LOOSE[snapshot.chunk_kind[chunks]]
    columns["chunk_lines"] = _log_scale(snapshot.chunk_end[chunks] - snapshot.chunk_start[chunks] + 1)
    wanted = _WeightedStems(query, signals.title.words.weights)
    paths = snapshot.paths(files[starts])
    asked = {term: signals.title.words.weights[term] for term in query.title_terms}
    columns |= _of_paths(paths, runs, query, wanted)
    for feature, numbers in (("path_match", signals.mentioned), ("frame", signals.framed)):
        if numbers:
            columns[feature] = np.array([numbers.get(file, 0.0) for file in files.tolist()], np.float32)
    columns["namesake_used"] = np.repeat(_among_namesakes(paths, snapshot.file_centrality[files[starts]]), runs)
    qualnames = snapshot.qualnames(chunks)
    columns |= _near(paths, runs, qualnames, asked, meanings)
    bodies = meanings.match_bodies(query.title_terms, snapshot, chunks)
    columns |= {"body_near": bodies.cover, "body_near_least": bodies.least, "body_near_share": bodies.share}
    columns["own_name_cover"], columns["own_name_share"] = wanted.cover_and_share(map(own_stems, qualnames))
    if signals.framed:
        frames = {frame.name: frame.closeness for frame in reversed(query.frames) if frame.name}
        named = [frames.get(qualname.rpartition(".")[2], 0.0) for qualname in qualnames]
        columns["frame_name"] = np.array(named, np.float32) * (columns["frame"] > 0)
    columns |= _by_definitions(snapshot, signals.defining, chunks, files[starts], runs)
    matrix = np.zeros((len(NAMES), len(chunks)), np.float32)
    for name, column in columns.items():
        matrix[_ROW[name]] = column
    for name, value in _of_query(query, signals, pool).items():
        matrix[_ROW[name]] = value
    by_path = np.empty(len(paths), np.int64)
    by_path[sorted(range(len(paths)), key=paths.__getitem__)] = np.arange(len(paths))
    return Candidates(chunks, files, np.ascontiguousarray(matrix.T), np.repeat(by_path, runs), signals.verbatim)


def _by_words(pool: Pool, chosen: Rows, of_file: Rows) -> dict[str, Floats]:
    """The words of the title and of the whole query in texts, names and paths."""
    title, whole = pool.title.lexical, pool.whole.lexical

    def _best(values: Floats) -> Floats:
        return _relative(np.maximum.reduceat(values, pool.first))

    columns = {field: title.fields[field][chosen] for field in ("body", "name", "doc")}
    for field in ("body", "name"):
        columns[f"{field}_relative"] = _relative(title.fields[field])[chosen]
    return columns | {
        "cover": title.chunk_cover[chosen],
        "file_cover": title.file_cover[of_file],
        "file_body": (1 - np.exp(-np.add.reduceat(title.fields["body"], pool.first)))[of_file],
        "file_body_best": _best(title.fields["body"])[of_file],
        "file_name_best": _best(title.fields["name"])[of_file],
        "file_name_sum": (1 - np.exp(-np.add.reduceat(title.fields["name"], pool.first)))[of_file],
        "file_doc_best": np.maximum.reduceat(title.fields["doc"], pool.first)[of_file],
        "path": title.fields["path"][of_file],
        "path_cover": title.path_cover[of_file],
        "rarest": title.rarest[chosen],
        "whole_body": _relative(whole.fields["body"])[chosen],
        "whole_cover": _relative(whole.chunk_cover)[chosen],
        "whole_file_cover": _relative(whole.file_cover)[of_file],
        "whole_name": _relative(whole.fields["name"])[chosen],
        "whole_path": _relative(whole.fields["path"])[of_file],
    }


def _by_meaning(pool: Pool, chosen: Rows, of_file: Rows, signals: Signals) -> dict[str, Floats]:
    """The cosines of chunks and of their files with the title and with the whole query."""
    columns: dict[str, Floats] = {"dense": pool.title.dense[chosen]}
    for prefix, view, near in (("", pool.title, signals.title.near), ("whole_", pool.whole, signals.whole.near)):
        # Up to 15 spreads: in a large project the nearest are all beyond five, and differ.
        relative = np.clip((view.dense[chosen] - near.mean) / near.spread / 5, -1, 3)
        columns["whole_dense" if prefix else "dense_relative"] = relative.astype(np.float32)
        columns[f"{prefix}file_dense"] = np.maximum.reduceat(view.dense, pool.first)[of_file]
    behind = (pool.title.dense[chosen] - pool.title.dense.max()) / signals.title.near.spread / 3
    columns["dense_behind"] = np.maximum(behind, -1).astype(np.float32)
    columns["file_dense_best"] = _best_three(columns["dense"], of_file)
    return columns


def _best_three(values: Floats, of_file: Rows) -> Floats:
    """For each chunk the mean of the three largest values of its file, or of fewer where it has fewer."""
    order = ordered_in_groups(values, of_file)
    starts, counts = runs_of(of_file)
    kept = order[np.arange(len(order)) - np.repeat(starts, counts) < _BEST]
    sums = np.add.reduceat(values[kept], runs_of(of_file[kept])[0])
    return np.repeat(sums / np.minimum(counts, _BEST).astype(np.float32), counts)


def _among_namesakes(paths: Sequence[str], users: NDArray[np.uint32]) -> Floats:
    """How much each file is used, against the most used candidate with the same file name; 0 if it is the only one."""
    by_name: dict[str, list[int]] = {}
    for path, used in zip(paths, users.tolist(), strict=True):
        by_name.setdefault(path.rpartition("/")[2], []).append(used)
    alike = [by_name[path.rpartition("/")[2]] for path in paths]
    shares = [
        (used + 1) / (max(namesakes) + 1) - 0.5 if len(namesakes) > 1 else 0.0
        for used, namesakes in zip(users.tolist(), alike, strict=True)
    ]
    return np.array(shares, np.float32)


def _near(
    paths: Sequence[str], runs: Rows, qualnames: Sequence[str], asked: dict[str, float], meanings: WordMeanings
) -> dict[str, Floats]:
    """How near in meaning the words of the query are to those of each chunk's path, which `runs` of chunks share, and
    to those of its name."""
    stem, folder, own, scope = meanings.match(asked, [(paths, path_words), (qualnames, name_words)])
    return {
        "stem_near": np.repeat(stem.cover, runs), "stem_near_share": np.repeat(stem.share, runs),
        "folder_near": np.repeat(folder.cover, runs), "scope_near": scope.cover,
        "own_name_near": own.cover, "own_name_near_share": own.share,
    }  # fmt: skip


def _by_runs(pool: Pool, chosen: Rows, of_file: Rows) -> dict[str, Floats]:
    """The runs of words of the query."""
    found = pool.runs
    whole = found.information * (found.share >= _WHOLE)
    columns = {"run": found.information[chosen], "run_share": found.share[chosen], "pairs": found.pairs[chosen]}
    # A text that stands in many places tells little about each of them.
    columns["literal"] = whole[chosen] / np.float32(math.sqrt(max(int(np.count_nonzero(whole)), 1)))
    return columns | {"file_run": np.maximum.reduceat(found.information, pool.first)[of_file]}


def _by_place(pool: Pool, chosen: Rows, of_file: Rows) -> dict[str, Floats]:
    """The places of files by one signal each, and of chunks in their file: 1 for the first, 1/2 for the second."""
    columns: dict[str, Floats] = {}
    for name, values in (
        ("body_rank", pool.title.lexical.fields["body"]),
        ("name_rank", pool.title.lexical.fields["name"]),
        ("dense_rank", pool.title.dense),
        ("whole_rank", pool.whole.lexical.fields["body"]),
    ):
        if name == "whole_rank" and pool.whole is pool.title:
            columns[name] = columns["body_rank"]
            continue
        best = np.maximum.reduceat(values, pool.first)
        ordered = np.sort(best)
        ahead = len(best) - ordered.searchsorted(best, side="right")  # equal values share a place
        columns[name] = (1 / (1 + ahead)).astype(np.float32)[of_file]
    both = (_relative(pool.whole.lexical.fields["body"]) + _relative(pool.whole.dense))[chosen]
    order = ordered_in_groups(both, of_file)
    starts, sizes = runs_of(of_file)
    within = np.arange(len(order)) - np.repeat(starts, sizes)
    places = np.empty(len(order), np.float32)
    places[order] = 1 / (1 + within)
    return columns | {"chunk_rank": places}


def _by_definitions(
    snapshot: SearchSnapshot, known: Definitions, chunks: Rows, files: Rows, runs: Rows
) -> dict[str, Floats]:
    """What chunks and files define of what the query names; each of `files` has a run of the chunks."""
    if not known.certainty or not len(chunks):
        return {}
    defining = np.array(list(known.certainty), np.int64)
    row = np.minimum(chunks.searchsorted(defining), len(chunks) - 1)
    is_chunk = chunks[row] == defining
    owner = snapshot.chunk_file[defining]
    row_of_file = np.minimum(files.searchsorted(owner), len(files) - 1)
    is_file = files[row_of_file] == owner
    columns: dict[str, Floats] = {}
    for name, of_chunk in (("defines", known.certainty), ("names_defined", known.sum)):
        values = np.array(list(of_chunk.values()), np.float64)
        own, in_file = np.zeros(len(chunks), np.float32), np.zeros(len(files), np.float64)
        own[row[is_chunk]] = values[is_chunk]
        add = np.maximum if name == "defines" else np.add
        add.at(in_file, row_of_file[is_file], values[is_file])
        both = own, np.repeat(in_file.astype(np.float32), runs)
        columns[name], columns[f"file_{name}"] = both if name == "defines" else (np.log1p(both[0]), np.log1p(both[1]))
    return columns


def _of_query(query: Query, signals: Signals, pool: Pool) -> dict[str, float]:
    """What kind of query it is; the same for all candidates."""
    return {
        "asked_words": math.log1p(len(query.terms)) / 6,
        "asked_long": float(query.title_terms != query.terms),
        "asked_names": math.log1p(len(query.names)) / 4,
        "asked_symbol": float(query.kind in {"symbol", "path"}),
        "asked_code": float(query.kind in {"snippet", "error"}),
        "asked_known": max(signals.defining.certainty.values(), default=0.0),
        "asked_path": float(pool.title.lexical.path_cover.max(initial=0.0)),
        "asked_run": float(pool.runs.share.max(initial=0.0)),
    }


def _relative(values: Floats) -> Floats:
    return values / np.float32(max(float(values.max(initial=0)), 1e-6))


def _log_scale(centrality: NDArray[np.float32] | NDArray[np.uint32]) -> Floats:
    """Centrality on a scale that hardly grows beyond a few hundred users."""
    scaled: Floats = np.log1p(centrality.astype(np.float32))
    return scaled / np.float32(8)


class _WeightedStems:
    """The stems of a query, each with its share of the query."""

    def __init__(self, query: Query, weights: Mapping[str, float]) -> None:
        self._weights: dict[str, float] = {}
        for term, stem in zip(query.title_terms, query.stems, strict=True):
            self._weights[stem] = self._weights.get(stem, 0.0) + weights[term]

    def cover_and_share(self, names: Iterable[Stems]) -> tuple[Floats, Floats]:
        """Of each name, the share of the query that is in its stems, and the share of them that is in the query."""
        covers, shares = [], []
        weights, asked = self._weights, frozenset(self._weights)
        for stems, different in names:
            common = asked & different
            if not common:
                covers.append(0.0)
                shares.append(0.0)
                continue
            if len(common) == 1:
                covers.append(*[weights[stem] for stem in common])
            else:
                covers.append(sum([weight for stem, weight in weights.items() if stem in common]))
            count = len(common) if len(stems) == len(different) else sum([stem in common for stem in stems])
            shares.append(count / len(stems))
        return np.array(covers, np.float32), np.array(shares, np.float32)


def _of_paths(paths: Sequence[str], runs: Rows, query: Query, wanted: _WeightedStems) -> dict[str, Floats]:
    """The features that depend on the path alone; each path has a run of chunks."""
    stems = list(map(path_stems, paths))
    stem_cover, stem_share = wanted.cover_and_share([file for file, _ in stems])
    folder_cover, _ = wanted.cover_and_share([folders for _, folders in stems])
    found = np.array([stem_cover, stem_share, folder_cover, superseded(paths, query.title_terms)], np.float32)
    asked = np.array([ASKED_WITH.get(path_class, path_class) in query.asks_for for path_class in PATH_CLASSES])
    classes = np.frombuffer(b"".join(map(path_classes, paths)), np.uint8).reshape(-1, len(PATH_CLASSES)) * ~asked
    block = np.repeat(np.concatenate([found, classes.T.astype(np.float32)]), runs, axis=1)
    names = ("stem_cover", "stem_share", "folder_cover", "is_superseded", *(f"is_{name}" for name in PATH_CLASSES))
    return dict(zip(names, block, strict=True))
