"""Train the table that embeds questions and code in one space, by contrasting right pairs with wrong ones.

    python -m training.train --tokens DATA/tokens --out DATA/run --epochs 12

Symmetric InfoNCE over blocks of pairs (`train_batches.py`), Adam on the rows that a step touches, one cosine schedule.
The gradients are written out: the table is 16 million numbers of which a step needs a few thousand rows, and products
with SciPy's CSR matrices beat every embedding layer we tried by an order of magnitude. The same seed gives the same
model; a run that was ended continues from its last checkpoint.

`--start FOLDER` begins with a packed model instead of untrained rows. `--taught` adds a teacher's view of sentences
(`train_sentences.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

from sage_code.embed.packed import ROWS, WEIGHTS
from training.train_batches import Entries, Floats, Ints, TokenPairs, blocks, nearby_runs, package_runs
from training.train_sentences import SENTENCES, Sentences, neighbourhood

# The rows of `Model.weights`, as in `sage_code.embed.bundled`.
LEAD, BODY, QUERY = range(3)
_TINY = 1e-6
_START = "start.npz"
# Of the words of a question that stay in the code, so many are left out: it must not be enough to find them.
_ECHO_DROPOUT = 0.5


@dataclass(frozen=True, slots=True)
class Recipe:
    """All parameters of a run; with the data they determine the model."""

    dim: int = 256
    epochs: float = 2.0
    block: int = 1_024
    blocks_a_step: int = 4
    run: int = 128  # pairs of one package that stand together
    nearby_from: float = 2.0  # from this part of the training on, some runs are of nearby pairs; above 1 never
    nearby_share: float = 0.5
    nearby_run: int = 32
    temperature: float = 0.07
    rate: float = 0.004  # of the table; rows start with unit length
    weight_rate: float = 0.01
    rows_kept: float = 1.0  # of what the rows learn, this part is kept
    code_kept: float = 1.0  # the same of the words' weights in code
    asked_kept: float = 0.5  # the same of the words' weights in questions
    warm_up: float = 0.02
    query_dropout: float = 0.1
    dropout: float = 0.2  # of words of the code
    nameless: float = 0.1  # of pairs whose code loses the words of its name
    kinds: str = "name=0,comment=0,file=0,test=0,readme=0"  # the share of these kinds of pairs in an epoch
    told: float = 0.5  # of pairs whose code keeps the rest of its documentation, after the sentence that asks
    echoed: float = 0.0  # of pairs whose code also has half of the words of the question
    taught: float = 0.0  # the weight of what the teacher says of sentences
    taught_blocks: int = 2  # of sentences, in a step
    taught_run: int = 64  # sentences that stand together because the teacher finds them similar
    teacher_temperature: float = 0.05
    idf_power: float = 0.5
    lead_gain: float = 2.0  # how much more a word weighs in the first line, to begin with
    seed: int = 1


@dataclass(slots=True)
class Model:
    """The table and the logarithms of the words' weights in each field."""

    table: Floats
    weights: Floats

    def pool(self, entries: Entries, field: int, count: int) -> Floats:
        """The sums of `count` texts."""
        data = entries.tf * np.exp(self.weights[field, entries.ids])
        sums: Floats = csr_matrix((data, (entries.owner, entries.ids)), shape=(count, len(self.table))) @ self.table
        return sums

    def queries(self, pairs: TokenPairs, chosen: Ints) -> Floats:
        """Unit vectors of the questions of some pairs."""
        return unit(self.pool(pairs.entries("query", chosen), QUERY, len(chosen)))[0]

    def documents(self, pairs: TokenPairs, chosen: Ints) -> Floats:
        """Unit vectors of the code of some pairs."""
        sums = self.pool(pairs.entries("lead", chosen), LEAD, len(chosen))
        return unit(sums + self.pool(pairs.entries("body", chosen), BODY, len(chosen)))[0]


def initial(pairs: TokenPairs, recipe: Recipe, table: Floats | None = None) -> Model:
    """An untrained model: words are weighted by their rarity, and `table` gives the first rows."""
    rng = np.random.default_rng(recipe.seed)
    if table is None:
        table = rng.standard_normal((pairs.rows, recipe.dim), dtype=np.float32)
    rarity = _rarity(pairs, recipe)
    weights = np.stack([rarity + np.log(recipe.lead_gain), rarity, rarity]).astype(np.float32)
    return Model(unit(table)[0], weights)


def _rarity(pairs: TokenPairs, recipe: Recipe) -> Floats:
    """The logarithms of the weights that words start with."""
    idf = np.log(1 + pairs.count / (1 + pairs.document_frequency()))
    rarity: Floats = (recipe.idf_power * np.log(idf / idf.mean())).astype(np.float32)
    return rarity


def unpacked(folder: Path, pairs: TokenPairs) -> Model:
    """A packed model of the same vocabulary, to continue from: unit rows, and weights about 1."""
    rows = np.load(folder / ROWS).astype(np.float32)
    if len(rows) != pairs.rows:
        raise ValueError(f"{folder} has {len(rows)} rows and the tokens {pairs.rows}: tokenise with its vocabulary")
    table, lengths = unit(rows)
    weights = np.log(np.maximum(np.load(folder / WEIGHTS).astype(np.float32) * lengths[:, 0], 1))
    # Code and questions are never added to each other: each has its own scale.
    weights[:QUERY] -= np.median(weights[BODY])
    weights[QUERY] -= np.median(weights[QUERY])
    return Model(table, weights)


def settled(model: Model, start: Model, recipe: Recipe) -> Model:
    """The model as it is packed: part of the way from where it started. Questions have few words, and their weights
    fit those of training too well; and half of the way of a later training keeps most of what both know."""
    kept = np.array([recipe.code_kept, recipe.code_kept, recipe.asked_kept], dtype=np.float32)[:, None]
    weights = start.weights + kept * (model.weights - start.weights)
    if recipe.rows_kept == 1:
        return Model(model.table, weights)
    return Model(start.table + np.float32(recipe.rows_kept) * (model.table - start.table), weights)


def unit(sums: Floats) -> tuple[Floats, Floats]:
    """Rows of length one, and the lengths they had."""
    lengths = np.maximum(np.sqrt(np.einsum("ij,ij->i", sums, sums)), _TINY)[:, None]
    return sums / lengths, lengths


@dataclass(frozen=True, slots=True)
class _Group:
    """Texts of a step that are compared with each other: pairs, or sentences that a teacher knows."""

    chosen: Ints
    fields: dict[int, Entries]
    taught: bool = False


class Adam:
    """Adam over rows: rows that a step does not touch keep their moments."""

    def __init__(self, values: Floats, rate: float) -> None:
        self._values, self._rate = values, rate
        self.first, self.second = np.zeros_like(values), np.zeros_like(values)

    def step(self, rows: Ints, gradient: Floats, number: int, schedule: float) -> None:
        """Move `rows` against their gradient."""
        first = self.first[rows]
        first += 0.1 * (gradient - first)
        second = self.second[rows]
        second += 0.01 * (gradient * gradient - second)
        self.first[rows], self.second[rows] = first, second
        rate = self._rate * schedule * np.sqrt(1 - 0.99**number) / (1 - 0.9**number)
        np.sqrt(second, out=second)
        second += 1e-8
        first *= rate
        first /= second
        self._values[rows] -= first


class Trainer:
    """A training run."""

    def __init__(
        self, pairs: TokenPairs, recipe: Recipe, model: Model, out: Path, sentences: Sentences | None = None
    ) -> None:
        self.pairs, self.recipe, self.model, self._out = pairs, recipe, model, out
        self._sentences = sentences if recipe.taught else None
        self._taught_epoch, self._taught_order = -1, list[Ints]()
        self._rows = Adam(model.table, recipe.rate)
        self._logs = [Adam(model.weights[field], recipe.weight_rate) for field in range(3)]
        self.done = 0
        self._share = np.ones(pairs.count, dtype=np.float32)
        for kind, share in (entry.split("=") for entry in recipe.kinds.split(",") if entry):
            if kind in pairs.names["kind"]:
                self._share[pairs.kind == pairs.names["kind"].index(kind)] = float(share)
        self.steps = int(recipe.epochs * self._share.sum()) // (recipe.block * recipe.blocks_a_step)

    def plan(self) -> Iterator[list[Ints]]:
        """The blocks of every remaining step; the same if the run was interrupted."""
        size = self.recipe.blocks_a_step
        step = epoch = 0
        while step < self.steps:
            order = self._order(epoch, near=step >= self.recipe.nearby_from * self.steps)
            if len(order) < size:
                raise ValueError(f"{self.pairs.count} pairs are too few for blocks of {self.recipe.block}")
            for start in range(0, len(order) - size + 1, size):
                step += 1
                if self.done < step <= self.steps:
                    yield list(order[start : start + size])
            epoch += 1

    def _order(self, epoch: int, *, near: bool) -> NDArray[np.int64]:
        """The blocks of an epoch; saved if they depend on the model, so that a restart uses the same ones."""
        recipe = self.recipe
        rng = np.random.default_rng((recipe.seed, epoch))
        seen = rng.random(self.pairs.count) < self._share
        if not near:
            return np.array(list(blocks(package_runs(self.pairs, np.flatnonzero(seen), recipe.run, rng), recipe.block)))
        kept = self._out / f"order{epoch}.npy"
        if not kept.exists():
            split = rng.random(self.pairs.count) < recipe.nearby_share
            order = list(blocks(package_runs(self.pairs, np.flatnonzero(seen & ~split), recipe.run, rng), recipe.block))
            near_runs = nearby_runs(self._compass(), np.flatnonzero(seen & split), recipe.nearby_run, rng)
            order += blocks(near_runs, recipe.block)
            np.save(kept, rng.permutation(np.array(order)))
        order_of_blocks: NDArray[np.int64] = np.load(kept)
        return order_of_blocks

    def _compass(self) -> Floats:
        """One vector for each pair, to find similar pairs."""
        parts = [
            self.model.queries(self.pairs, chosen) + self.model.documents(self.pairs, chosen)
            for chosen in np.array_split(np.arange(self.pairs.count), max(1, self.pairs.count // 16_384))
        ]
        return np.concatenate(parts)

    def schedule(self) -> float:
        """The learning rate of this step: it rises linearly, then falls along a cosine."""
        part = self.done / max(1, self.steps)
        if part < self.recipe.warm_up:
            return (self.done + 1) / (self.recipe.warm_up * self.steps + 1)
        return float(0.02 + 0.49 * (1 + np.cos(np.pi * part)))

    def step(self, parts: list[Ints]) -> float:
        """One step over some blocks; the loss."""
        rng = np.random.default_rng((self.recipe.seed, 7, self.done))
        chosen = np.concatenate(parts)
        groups = [_Group(chosen, self._fields(chosen, rng))]
        if self._sentences is not None:
            for block in self._taught(self._sentences):
                words = self._sentences.entries(block)
                dropout = self.recipe.query_dropout
                both = {QUERY: _thinned(words, dropout, rng), BODY: _thinned(words, dropout, rng)}
                groups.append(_Group(block, both, taught=True))
        seen = np.zeros(self.pairs.rows, dtype=bool)
        for group in groups:
            for entries in group.fields.values():
                seen[entries.ids] = True
        rows = np.flatnonzero(seen)
        place = np.cumsum(seen) - 1
        table = self.model.table[rows]
        gradient = np.zeros_like(table)
        slopes = np.zeros((3, len(rows)), dtype=table.dtype)
        losses = [self._push(group, parts, table, place, gradient, slopes) for group in groups]
        self.done += 1
        schedule = self.schedule()
        for field, adam in enumerate(self._logs):
            adam.step(rows, slopes[field], self.done, schedule)
        self._rows.step(rows, gradient, self.done, schedule)
        return losses[0]

    def _fields(self, chosen: Ints, rng: np.random.Generator) -> dict[int, Entries]:
        """The words of some pairs, with what the recipe leaves out and adds."""
        recipe, count = self.recipe, len(chosen)
        nameless = rng.random(count) < recipe.nameless
        told = rng.random(count) < recipe.told
        body = self.pairs.entries("body", chosen, nameless)
        if recipe.told:
            body = _joined(body, _of(self.pairs.entries("more", chosen), told))
        if recipe.echoed:
            echoed = rng.random(count) < recipe.echoed
            body = _joined(body, _thinned(_of(self.pairs.entries("query", chosen), echoed), _ECHO_DROPOUT, rng))
        return {
            QUERY: _thinned(self.pairs.entries("query", chosen), recipe.query_dropout, rng),
            LEAD: _of(self.pairs.entries("lead", chosen), ~nameless),
            BODY: _thinned(body, recipe.dropout, rng),
        }

    def _taught(self, sentences: Sentences) -> list[Ints]:
        """The blocks of sentences of this step; the same if the run was interrupted."""
        found = []
        for number in range(self.done * self.recipe.taught_blocks, (self.done + 1) * self.recipe.taught_blocks):
            epoch, place = divmod(number, max(1, sentences.count // self.recipe.block))
            if epoch != self._taught_epoch:
                rng = np.random.default_rng((self.recipe.seed, 11, epoch))
                self._taught_order = sentences.order(self.recipe.block, self.recipe.taught_run, rng)
                self._taught_epoch = epoch
            found.append(self._taught_order[place])
        return found

    def _push(
        self, group: _Group, parts: list[Ints], table: Floats, place: Ints, gradient: Floats, slopes: Floats
    ) -> float:
        """Add the slopes of one group's loss to the gradient of the rows and of the weights; returns the loss."""
        count = len(group.chosen)
        matrices = {}
        for field, entries in group.fields.items():
            data = entries.tf * np.exp(self.model.weights[field, entries.ids])
            starts = np.concatenate(([0], np.cumsum(np.bincount(entries.owner, minlength=count))))
            matrices[field] = csr_matrix((data, place[entries.ids], starts), shape=(count, len(table)))
        questions, asked_length = unit(matrices[QUERY] @ table)
        stored, stored_length = unit(sum(matrix @ table for field, matrix in matrices.items() if field != QUERY))
        if group.taught and self._sentences is not None:
            vectors, recipe = self._sentences.vectors[group.chosen], self.recipe
            found = neighbourhood(questions, stored, vectors, recipe.temperature, recipe.teacher_temperature)
            share = np.float32(recipe.taught / recipe.taught_blocks)
        else:
            found, share = self._contrast(questions, stored, parts, group.chosen), np.float32(1)
        slope_asked, slope_stored, loss = found
        back_asked = _through_unit(slope_asked * share, questions, asked_length)
        back_stored = _through_unit(slope_stored * share, stored, stored_length)
        for field, matrix in matrices.items():
            own = matrix.T.tocsr() @ (back_asked if field == QUERY else back_stored)
            gradient += own
            # The slope of a weight's logarithm is the row times its gradient: no product of its own is needed.
            slopes[field] += np.einsum("ij,ij->i", own, table)
        return loss

    def _contrast(self, asked: Floats, stored: Floats, parts: list[Ints], chosen: Ints) -> tuple[Floats, Floats, float]:
        """The slopes of the loss by the vectors, block by block, and the mean loss."""
        slope_asked, slope_stored = np.empty_like(asked), np.empty_like(stored)
        loss, start = 0.0, 0
        for part in parts:
            block = slice(start, start + len(part))
            slope_asked[block], slope_stored[block], own = self._told_apart(asked[block], stored[block], chosen[block])
            loss += own / len(parts)
            start += len(part)
        return slope_asked, slope_stored, loss

    def _told_apart(self, one: Floats, other: Floats, chosen: Ints) -> tuple[Floats, Floats, float]:
        """Both slopes of the symmetric InfoNCE of a block, and the loss."""
        sharpness = np.float32(1 / self.recipe.temperature)
        score: Floats = one @ other.T
        own = np.diagonal(score).copy()
        score -= 1  # a cosine is at most 1: no exponent is positive, and none needs its row's maximum
        score *= sharpness
        np.exp(score, out=score)
        self._forgive(score, chosen)
        by_row, by_column = score.sum(axis=1), score.sum(axis=0)
        at_own = (own - 1) * sharpness
        loss = float((np.log(by_row) + np.log(by_column) - 2 * at_own).mean()) / 2
        score *= (1 / by_row)[:, None] + (1 / by_column)[None, :]
        np.fill_diagonal(score, np.diagonal(score) - 2)
        score *= sharpness / np.float32(2 * len(one))
        return score @ other, score.T @ one, loss

    def _forgive(self, score: Floats, chosen: Ints) -> None:
        """Remove false negatives: the same question or the same code twice in a block."""
        for column in (self.pairs.asked, self.pairs.code):
            values = column[chosen]
            order = np.argsort(values, kind="stable")
            same = np.flatnonzero(np.diff(values[order]) == 0)
            if len(same):
                repeated = np.isin(values, values[order[same]])
                places = np.flatnonzero(repeated)
                equal = values[places][:, None] == values[places][None, :]
                np.fill_diagonal(equal, val=False)
                score[np.ix_(places, places)] *= ~equal

    def save(self) -> None:
        """Write a checkpoint over the last one, atomically."""
        adams = [self._rows, *self._logs]
        moments = {f"moment{number}": np.stack([adam.first, adam.second]) for number, adam in enumerate(adams)}
        half = self._out / "checkpoint.half.npz"
        np.savez(half, table=self.model.table, weights=self.model.weights, done=self.done, **moments)  # type: ignore[arg-type]
        os.replace(half, self._out / "checkpoint.npz")

    def restore(self) -> bool:
        """Continue from the checkpoint of the same recipe, if there is one."""
        path = self._out / "checkpoint.npz"
        if not path.exists():
            return False
        with np.load(path, allow_pickle=False) as kept:
            self.model.table[:], self.model.weights[:] = kept["table"], kept["weights"]
            for number, adam in enumerate([self._rows, *self._logs]):
                adam.first[:], adam.second[:] = kept[f"moment{number}"]
            self.done = int(kept["done"])
        return True


def _of(entries: Entries, chosen: NDArray[np.bool_]) -> Entries:
    """The entries of some of the texts."""
    kept = chosen[entries.owner]
    return Entries(entries.owner[kept], entries.ids[kept], entries.tf[kept])


def _joined(one: Entries, other: Entries) -> Entries:
    """The entries of both, text by text."""
    owner = np.concatenate([one.owner, other.owner])
    order = np.argsort(owner, kind="stable")
    ids, tf = np.concatenate([one.ids, other.ids]), np.concatenate([one.tf, other.tf])
    return Entries(owner[order], ids[order], tf[order])


def _thinned(entries: Entries, part: float, rng: np.random.Generator) -> Entries:
    kept = rng.random(len(entries.ids), dtype=np.float32) >= part
    return Entries(entries.owner[kept], entries.ids[kept], entries.tf[kept])


def _through_unit(slope: Floats, vectors: Floats, lengths: Floats) -> Floats:
    back: Floats = (slope - np.einsum("ij,ij->i", slope, vectors)[:, None] * vectors) / lengths
    return back


def train(
    pairs: TokenPairs,
    recipe: Recipe,
    out: Path,
    *,
    table: Floats | None = None,
    start: Model | None = None,
    sentences: Sentences | None = None,
    watch: Callable[[Model], str] | None = None,
    watch_s: float = 300.0,
    log: Callable[[str], None] = print,
) -> Model:
    """Train from `start` or from `table`, or continue a run; `watch` describes the model at every checkpoint."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "recipe.json").write_text(json.dumps(asdict(recipe), indent=1))
    start = start or initial(pairs, recipe, table)
    np.savez(out / _START, table=start.table, weights=start.weights)
    own = Model(start.table.copy(), start.weights.copy())
    trainer = Trainer(pairs, recipe, own, out, sentences)
    if trainer.restore():
        log(f"continuing from step {trainer.done:,}")
    began = last = time.monotonic()
    at_start, recent = trainer.done, 0.0
    for parts in trainer.plan():
        loss = trainer.step(parts)
        recent = loss if not recent else 0.98 * recent + 0.02 * loss
        now = time.monotonic()
        if now - last > watch_s or trainer.done == trainer.steps:
            last = now
            speed = (trainer.done - at_start) * sum(map(len, parts)) / (now - began)
            trainer.save()
            note = watch(settled(trainer.model, start, recipe)) if watch else ""
            log(f"{now - began:6.0f} s  {trainer.done:,}/{trainer.steps:,} steps  {speed:,.0f}/s  {recent:.4f}  {note}")
    trainer.save()
    return settled(trainer.model, start, recipe)


def finished(*runs: Path) -> Model:
    """The model of the last checkpoint of a run, or the mean of those of several runs with the same start."""
    models = []
    for run in runs:
        recipe = Recipe(**json.loads((run / "recipe.json").read_text()))
        models.append(settled(_kept(run / "checkpoint.npz"), _kept(run / _START), recipe))
    share = np.float32(1 / len(models))
    table: Floats = np.add.reduce([share * model.table for model in models])
    weights: Floats = np.add.reduce([share * model.weights for model in models])
    return Model(table, weights)


def _kept(path: Path) -> Model:
    with np.load(path, allow_pickle=False) as kept:
        return Model(kept["table"], kept["weights"])


def main() -> None:
    """The command line."""
    from training.evaluate import Watch

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tokens", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--heldout", type=Path, help="folder of held-out packages to look at on the way")
    parser.add_argument("--cosqa", type=Path, help="folder of CoSQA to look at on the way")
    parser.add_argument("--init", type=Path, help=".npy of rows to start from")
    parser.add_argument("--start", type=Path, help="folder of a packed model to start from")
    parser.add_argument("--watch-s", type=float, default=300)
    for each in fields(Recipe):
        parser.add_argument(f"--{each.name.replace('_', '-')}", type=type(each.default), default=each.default)
    chosen = vars(parser.parse_args())
    pairs = TokenPairs(chosen["tokens"])
    recipe = Recipe(**{each.name: chosen[each.name] for each in fields(Recipe)})
    watch = Watch(pairs, chosen["heldout"], chosen["cosqa"])
    table = np.load(chosen["init"]) if chosen["init"] else None
    train(
        pairs,
        recipe,
        chosen["out"],
        table=table,
        start=unpacked(chosen["start"], pairs) if chosen["start"] else None,
        sentences=Sentences(chosen["tokens"] / SENTENCES) if recipe.taught else None,
        watch=watch,
        watch_s=chosen["watch_s"],
        log=_say,
    )


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    main()
