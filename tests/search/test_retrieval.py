"""The signals that propose candidates give the same as a plain computation: BM25 term by term, cosines one by one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sage_code import Project
from sage_code.embed import default_embedder
from sage_code.embed.bundled import BundledEmbedder
from sage_code.search import dense
from sage_code.search.dense import DenseIndex
from sage_code.search.engine import SearchEngine
from sage_code.search.lexical import TermPostings, forms
from sage_code.search.query import parse_query
from sage_code.search.snapshot import SearchSnapshot
from sage_code.search.soft import WordMeanings
from sage_code.search.top import top

HARBOR = Path(__file__).parents[2] / "fixtures" / "search" / "harbor"
QUESTIONS = ("how are retries backed off", "queue refuses jobs", "worker", "parsing the settings file")


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory, shared_home: Path) -> Iterator[SearchSnapshot]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAGE_HOME", str(shared_home))
        root = tmp_path_factory.mktemp("harbor") / "harbor"
        shutil.copytree(HARBOR, root)
        Project(str(root)).index()
        yield SearchSnapshot(str(root))


@given(st.lists(st.floats(-1, 4, width=32), max_size=60), st.integers(1, 20))
def test_top_takes_the_largest_above_zero(values: list[float], count: int) -> None:
    rows = top(np.array(values, np.float32), count, lambda equal: equal.astype(np.uint64)).tolist()
    taken = sorted((values[row] for row in rows), reverse=True)
    best = sorted((value for value in values if value > 0), reverse=True)
    assert taken == best[:count]


def test_top_takes_the_equal_values_with_the_lowest_ties() -> None:
    values = np.array([2, 1, 1, 3, 1], np.float32)
    order = np.array([4, 3, 0, 2, 1], np.uint64)
    assert sorted(top(values, 4, order.__getitem__).tolist()) == [0, 2, 3, 4]


@pytest.mark.parametrize("question", QUESTIONS)
def test_scores_by_words_are_those_of_bm25(snapshot: SearchSnapshot, question: str) -> None:
    words = TermPostings(snapshot, dict.fromkeys(parse_query(question).terms, 1.0))
    files = np.arange(snapshot.files)
    chunks, first = snapshot.chunks_of(files)
    scores = words.scores_of(files, chunks, first)
    (segment,) = snapshot.segments
    lengths = segment.arrays["body_lengths"].astype(float)
    expected, cover = np.zeros(len(chunks)), np.zeros(len(chunks))
    for term, weight in words.weights.items():
        often = np.zeros(len(chunks))
        anywhere = np.zeros(len(chunks), bool)
        for row, _, factor in forms(segment.terms, term):
            postings = segment.postings(row)
            for chunk, count in zip(*postings.get("body", ((), ())), strict=True):
                often[chunk] += count * factor
            for field in ("body", "name", "doc"):
                anywhere[list(postings.get(field, ((), ()))[0])] = True
        expected += weight * often / (often + 1.5 * (0.25 + 0.75 * lengths / lengths.mean()))
        cover += weight * anywhere
    assert expected.any()
    np.testing.assert_allclose(scores.fields["body"], expected, rtol=1e-4)
    np.testing.assert_allclose(scores.chunk_cover, cover, rtol=1e-4)
    assert set(words.best("body", 1, None)) <= set(np.argsort(-expected)[:3])


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_scores_of_some_files_are_those_of_all(snapshot: SearchSnapshot, question: str) -> None:
    words = TermPostings(snapshot, dict.fromkeys(parse_query(question).terms, 1.0))
    everything = np.arange(snapshot.files)
    all_chunks, all_first = snapshot.chunks_of(everything)
    whole = words.scores_of(everything, all_chunks, all_first)
    some = everything[::2]
    chunks, first = snapshot.chunks_of(some)
    part = words.scores_of(some, chunks, first)
    for field in ("body", "name", "doc"):
        np.testing.assert_array_equal(part.fields[field], whole.fields[field][chunks])
    np.testing.assert_array_equal(part.fields["path"], whole.fields["path"][some])
    np.testing.assert_array_equal(part.file_cover, whole.file_cover[some])
    np.testing.assert_array_equal(part.path_cover, whole.path_cover[some])


def test_no_files_have_no_scores(snapshot: SearchSnapshot) -> None:
    none = np.empty(0, np.int64)
    scores = TermPostings(snapshot, {"worker": 1.0}).scores_of(none, none, none)
    assert not len(scores.chunk_cover)
    assert not len(scores.fields["path"])


def _large(snapshot: SearchSnapshot, monkeypatch: pytest.MonkeyPatch, shortlist: int = 40) -> DenseIndex:
    """A small snapshot, searched as a large one is."""
    monkeypatch.setattr(dense, "_MAX_EXACT", 0)
    monkeypatch.setattr(dense, "_SHORTLIST", shortlist)
    monkeypatch.setattr(dense, "_EVERY", 1)
    return DenseIndex(snapshot)


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_comparison_by_signs_finds_the_nearest(
    snapshot: SearchSnapshot, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    vector = default_embedder().embed_query([question])[0]
    every = np.arange(snapshot.chunks)
    exact = DenseIndex(snapshot).nearness(vector)
    near = _large(snapshot, monkeypatch).nearness(vector)
    assert near.chunks is not None
    assert len(near.chunks) < snapshot.chunks
    assert set(exact.best(snapshot, 5, None)) <= set(near.chunks)
    known = np.isin(every, near.chunks)
    np.testing.assert_allclose(near.of(every)[known], exact.of(every)[known], atol=1e-5)
    assert not near.of(every)[~known].any()


def test_in_a_large_snapshot_only_allowed_chunks_are_near(
    snapshot: SearchSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    vector = default_embedder().embed_query(["worker"])[0]
    index = _large(snapshot, monkeypatch)
    for share in (2, 7, snapshot.chunks):
        allowed = np.arange(snapshot.chunks) % share == 1
        near = index.nearness(vector, allowed)
        assert near.chunks is not None
        assert len(near.chunks)
        assert allowed[near.chunks].all()
        assert set(near.best(snapshot, 3, allowed)) <= set(np.flatnonzero(allowed))
    near = index.nearness(vector, np.zeros(snapshot.chunks, bool))
    assert not len(near.best(snapshot, 3, None))
    assert not near.of(np.arange(snapshot.chunks)).any()


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_large_snapshot_answers_as_a_small_one(
    snapshot: SearchSnapshot, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    query = parse_query(question)
    small = SearchEngine(snapshot, default_embedder()).rank(query, 3)
    _large(snapshot, monkeypatch, shortlist=60)
    large = SearchEngine(snapshot, default_embedder()).rank(query, 3)
    assert [found.chunk for found in large][:1] == [found.chunk for found in small][:1]


@pytest.mark.parametrize("question", QUESTIONS)
def test_words_are_compared_with_bodies_one_by_one(snapshot: SearchSnapshot, question: str) -> None:
    model = BundledEmbedder()
    terms = parse_query(question).terms
    weights = model.word_weights(terms)
    chunks = np.arange(snapshot.chunks)
    together = WordMeanings(model).match_bodies(terms, snapshot, chunks)
    (segment,) = snapshot.segments
    for chunk in (0, 7, snapshot.chunks - 1):
        alone = WordMeanings(model).match_bodies(terms, snapshot, chunks[[chunk]])
        assert [column[0] for column in alone] == [column[chunk] for column in together]
        start, end = segment.arrays["words_at"][chunk : chunk + 2].tolist()
        words = segment.terms.many(segment.arrays["words"][start:end].astype(np.int64))
        near = np.maximum(model.word_vectors(terms) @ model.word_vectors(words).T - 0.1, 0) / 0.9
        assert alone.cover[0] == pytest.approx(float(weights @ near.max(axis=1) / weights.sum()), abs=0.02)
        assert alone.least[0] == pytest.approx(float(near.max(axis=1).min()), abs=0.02)
        assert alone.share[0] == pytest.approx(float(near.max(axis=0).mean()), abs=0.02)


def test_a_query_without_words_is_near_no_body(snapshot: SearchSnapshot) -> None:
    assert not any(column.any() for column in WordMeanings(BundledEmbedder()).match_bodies((), snapshot, np.arange(3)))
