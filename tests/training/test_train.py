"""The way from pairs to a packed model, in miniature: it runs, it learns, and it can be ended and taken up again."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("scipy")

from sage_code.embed.bundled import BundledEmbedder
from training import evaluate, pack, tokenise, train
from training.train_batches import TokenPairs, nearby_runs, package_runs
from training.train_sentences import SENTENCES, Sentences, neighbourhood, write

# What is asked, and what the code says instead: nothing but training can bring them together.
MEANINGS = {
    "remove": ["unlink", "rmdir", "purge"],
    "network": ["socket", "dial", "tcp"],
    "compress": ["gzip", "deflate", "zlib"],
    "random": ["shuffle", "entropy", "dice"],
    "picture": ["pixel", "bitmap", "png"],
    "calendar": ["weekday", "month", "leap"],
    "password": ["bcrypt", "salt", "digest"],
    "average": ["mean", "sum", "divide"],
}
OBJECTS = ["account", "report", "invoice", "session", "ticket", "folder", "planet", "letter"]
SMALL = train.Recipe(
    dim=16, epochs=30, block=64, blocks_a_step=2, run=8, rate=0.02, weight_rate=0.02, nearby_run=8, nearby_from=0.6
)


def _pairs(packages: int, seed: int) -> list[dict[str, str]]:
    rng = np.random.default_rng(seed)
    made = []
    for package in range(packages):
        for asked, answers in MEANINGS.items():
            thing = OBJECTS[rng.integers(len(OBJECTS))]
            used = rng.choice(answers, 2, replace=False)
            code = f"run_{thing}\ndef run_{thing}({thing}):\n    {used[0]}({thing})\n    return {used[1]}(value)\n"
            query = f"{asked} the {thing}"
            pair = {"query": query, "code": code, "more": f"{thing} or nothing", "package": f"p{seed}{package}"}
            made.append({**pair, "language": "python", "kind": "doc"})
    return made


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("training")
    (folder / "pairs").mkdir()
    for shard in range(2):
        with gzip.open(folder / "pairs" / f"{shard}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(pair) + "\n" for pair in _pairs(40, shard))
    assert tokenise.tokenise(folder / "pairs", folder / "tokens", 200, 16, workers=1) == 640
    return folder / "tokens"


def _quality(model: BundledEmbedder) -> float:
    """NDCG@10 inside packages that training has not seen."""
    figures = []
    for number in range(5):
        pairs = _pairs(1, 100 + number)
        scores = (
            model.embed_query([pair["query"] for pair in pairs]) @ model.embed_code([pair["code"] for pair in pairs]).T
        )
        figures.append(evaluate.measure(scores, np.arange(len(pairs))).ndcg)
    return float(np.mean(figures))


def _packed(model: train.Model, pairs: TokenPairs, folder: Path) -> BundledEmbedder:
    rows, weights = pack.quantise(model.table, model.weights)
    pack.write_model(folder, pairs.vocabulary, pairs.buckets, rows, weights)
    return BundledEmbedder(str(folder))


def test_from_pairs_to_a_model_that_has_learned(tokens: Path, tmp_path: Path) -> None:
    pairs = TokenPairs(tokens)
    untrained = _packed(train.initial(pairs, SMALL), pairs, tmp_path / "untrained")
    lines: list[str] = []
    train.train(pairs, SMALL, tmp_path / "run", watch=lambda _: "seen", log=lines.append)
    assert lines[-1].endswith("seen")
    name = pack.pack([tmp_path / "run"], tokens, tmp_path / "model")
    model = BundledEmbedder(str(tmp_path / "model"))
    assert model.name == name
    assert _quality(model) > max(0.9, _quality(untrained) + 0.2)


def test_a_run_that_was_ended_goes_on_as_if_it_had_not_been(tokens: Path, tmp_path: Path) -> None:
    pairs = TokenPairs(tokens)
    recipe = replace(SMALL, epochs=4.0)
    whole = train.train(pairs, recipe, tmp_path / "whole", log=lambda _: None)

    class Ended(Exception):
        pass

    def end(_: train.Model) -> str:
        raise Ended

    ends = 0
    while True:
        try:
            again = train.train(pairs, recipe, tmp_path / "ended", watch=end, watch_s=0, log=lambda _: None)
            break
        except Ended:
            ends += 1
            assert ends < 100
    assert ends > 5
    assert again.table.tobytes() == whole.table.tobytes()
    assert again.weights.tobytes() == whole.weights.tobytes()


def test_gradients_point_downhill(tokens: Path, tmp_path: Path) -> None:
    """The written-out gradient against a difference of losses."""
    pairs = TokenPairs(tokens)
    recipe = train.Recipe(
        dim=16, block=64, blocks_a_step=1, query_dropout=0, dropout=0, nameless=0, told=1, temperature=0.2
    )
    chosen = [np.arange(0, 640, 10)]

    def loss(model: train.Model) -> float:
        return train.Trainer(pairs, recipe, model, tmp_path).step(chosen)

    def fresh() -> train.Model:
        model = train.initial(pairs, recipe)
        return train.Model(model.table.astype(np.float64), model.weights.astype(np.float64))  # type: ignore[arg-type]

    trainer = train.Trainer(pairs, recipe, fresh(), tmp_path)
    trainer.step(chosen)
    slopes = trainer._rows.first / 0.1
    log_slopes = [adam.first / 0.1 for adam in trainer._logs]
    row = pairs.vocabulary.index("socket")
    step = 1e-5
    for column in range(3):
        there, back = fresh(), fresh()
        there.table[row, column] += step
        back.table[row, column] -= step
        assert (loss(there) - loss(back)) / (2 * step) == pytest.approx(slopes[row, column], rel=1e-3, abs=1e-7)
    for field in range(3):
        there, back = fresh(), fresh()
        there.weights[field, row] += step
        back.weights[field, row] -= step
        assert (loss(there) - loss(back)) / (2 * step) == pytest.approx(log_slopes[field][row], rel=1e-3, abs=1e-7)


def test_weights_of_questions_go_part_of_the_way_back(tokens: Path) -> None:
    pairs = TokenPairs(tokens)
    start = train.initial(pairs, SMALL)
    learned = train.Model(start.table, start.weights + np.float32(1))
    settled = train.settled(learned, start, replace(SMALL, asked_kept=0.25))
    assert settled.weights[train.QUERY] == pytest.approx(start.weights[train.QUERY] + 0.25, abs=1e-5)
    assert (settled.weights[: train.QUERY] == learned.weights[: train.QUERY]).all()


def test_a_packed_model_is_continued_and_taught(tokens: Path, tmp_path: Path) -> None:
    pairs = TokenPairs(tokens)
    train.train(pairs, replace(SMALL, epochs=6.0), tmp_path / "first", log=lambda _: None)
    pack.pack([tmp_path / "first"], tokens, tmp_path / "packed")
    packed = BundledEmbedder(str(tmp_path / "packed"))
    start = train.unpacked(tmp_path / "packed", pairs)
    again = _packed(start, pairs, tmp_path / "again")
    asked = [pair["query"] for pair in _pairs(5, 7)]
    assert np.einsum("ij,ij->i", packed.embed_query(asked), again.embed_query(asked)).min() > 0.999
    vectors = np.random.default_rng(1).standard_normal((200, 8)).astype(np.float32)
    words = [f"{asked} the {thing} {number}" for asked in MEANINGS for thing in OBJECTS for number in range(4)][:200]
    np.savez(tmp_path / "sentences.npz", words=np.array(words), vectors=train.unit(vectors)[0])
    assert write([tmp_path / "sentences.npz"], tokens) == 200
    recipe = replace(SMALL, epochs=2.0, taught=0.5, echoed=0.5, rows_kept=0.5)
    sentences = Sentences(tokens / SENTENCES)
    settled = train.train(pairs, recipe, tmp_path / "then", start=start, sentences=sentences, log=lambda _: None)
    learned = train._kept(tmp_path / "then" / "checkpoint.npz")
    assert settled.table == pytest.approx((start.table + learned.table) / 2, abs=1e-6)
    assert np.abs(learned.table - start.table).max() > 0.01
    mean = train.finished(tmp_path / "then", tmp_path / "then")
    assert mean.table == pytest.approx(settled.table, abs=1e-6)


def test_what_is_taught_has_the_right_slope() -> None:
    rng = np.random.default_rng(5)
    asked, stored, teacher = (train.unit(rng.standard_normal((12, 6)))[0] for _ in range(3))

    def loss(vectors: np.ndarray) -> float:  # type: ignore[type-arg]
        return neighbourhood(vectors, stored, teacher, 0.2, 0.1)[2]

    slope = neighbourhood(asked, stored, teacher, 0.2, 0.1)[0]
    for row, column in ((0, 0), (3, 2), (11, 5)):
        step = np.zeros_like(asked)
        step[row, column] = 1e-5
        assert (loss(asked + step) - loss(asked - step)) / 2e-5 == pytest.approx(slope[row, column], rel=1e-3, abs=1e-8)


def test_every_pair_has_its_run(tokens: Path) -> None:
    pairs = TokenPairs(tokens)
    everything = np.arange(pairs.count)
    runs = package_runs(pairs, everything, 3, np.random.default_rng(1))
    assert sorted(np.concatenate(runs).tolist()) == everything.tolist()
    assert all(len(run) <= 3 and len(set(pairs.package[run])) == 1 for run in runs)
    vectors = np.random.default_rng(2).standard_normal((pairs.count, 4)).astype(np.float32)
    near = nearby_runs(vectors, everything, 10, np.random.default_rng(3))
    assert sorted(np.concatenate(near).tolist()) == everything.tolist()
    assert max(map(len, near)) <= 10


def test_figures_of_a_ranking() -> None:
    scores = np.array([[3, 2, 1], [1, 2, 3], [1, 1, 1]], dtype=np.float32)
    figures = evaluate.measure(scores, np.array([0, 1, 2]))
    assert figures.mrr == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)
    assert figures.ndcg == pytest.approx((1 + 2 / np.log2(3)) / 3)


def test_bm25_leaves_stop_words_out_of_questions() -> None:
    bm25 = evaluate.BM25(["the\nthe the the", "parseHeader\nvalue", "other\nthing"])
    assert bm25.scores(["parse the header"]).argmax() == 1
    assert bm25.scores(["the"]).argmax() == 0
