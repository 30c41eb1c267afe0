"""Measures how well questions find their code: in held-out packages, each by itself, and with CoSQA's dev questions.

    python -m training.evaluate --heldout DATA/heldout --cosqa DATA/cosqa [--model FOLDER]

A question has one right answer, so NDCG@10 is 1 / log2(1 + rank), and MRR@10 is 1 / rank. Ties count half. A
language's figure is the mean over its packages of the mean over their questions.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix  # type: ignore[import-untyped]

from sage_code.embed.words import Vocabulary
from sage_code.text.lexemes import lexemes

if TYPE_CHECKING:
    from training.train import Model
    from training.train_batches import TokenPairs

Floats = NDArray[np.float32]
DEPTH = 10
# Words that say nothing about what is looked for. They are rare in code, so BM25 would rate them high.
_NOISE = (
    "a about after also an and any are as at be been before being both but by can could did do does each from further "
    "given had has have having he her here him his how i in into is it its itself just like may me more most my no nor "
    "of off on once only or other our out over own s same she should so some such t than that the their them then "
    "there these they this those through to too under until up use used uses using very via was we were what when "
    "where which who whom why will with would you your"
)
STOP_WORDS = frozenset(_NOISE.split())


@dataclass(frozen=True, slots=True)
class Haystack:
    """A collection to search: texts, and questions with the number of the right text for each."""

    language: str
    name: str
    texts: tuple[str, ...]
    queries: tuple[str, ...]
    answers: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Figures:
    """Quality of one ranking of one haystack."""

    ndcg: float
    mrr: float


def load_packages(folder: Path, max_texts: int = 0, max_queries: int = 0, fewest: int = 1) -> list[Haystack]:
    """The held-out packages of languages that have at least so many. Of large ones a sample is used, the same for
    all systems, with all right answers in it."""
    found = []
    for path in sorted(folder.glob("*/*.jsonl")):
        if sum(1 for _ in path.parent.glob("*.jsonl")) < fewest:
            continue
        rows = _rows(path)
        asked = [number for number, row in enumerate(rows) if row["query"]]
        rng = np.random.default_rng(len(rows))
        if max_queries and len(asked) > max_queries:
            asked = sorted(rng.choice(asked, max_queries, replace=False).tolist())
        kept = list(range(len(rows)))
        if max_texts and len(rows) > max_texts:
            others = np.setdiff1d(kept, asked)
            more = rng.choice(others, max(0, min(len(others), max_texts - len(asked))), replace=False)
            kept = sorted({*asked, *more.tolist()})
        place = {number: position for position, number in enumerate(kept)}
        if asked:
            found.append(
                Haystack(
                    path.parent.name,
                    path.stem,
                    tuple(rows[number]["code"] for number in kept),
                    tuple(rows[number]["query"] for number in asked),
                    np.array([place[number] for number in asked]),
                )
            )
    return found


def load_cosqa(folder: Path) -> Haystack:
    """CoSQA's 500 dev questions over its 6,267 functions. The test file is never opened."""
    codes = {row["id"]: row["code"] for row in _rows(folder / "code.jsonl")}
    questions = _rows(folder / "dev.jsonl")
    place = {number: position for position, number in enumerate(sorted(codes))}
    return Haystack(
        "cosqa",
        "dev-500",
        tuple(_with_lead(codes[number]) for number in sorted(codes)),
        tuple(row["query"] for row in questions),
        np.array([place[row["relevant"]] for row in questions]),
    )


def _rows(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file]


def _with_lead(code: str) -> str:
    """The embedded text of a function: its name comes first."""
    name = code.partition("def ")[2].partition("(")[0].strip()
    return f"{name}\n{code}"


def measure(scores: Floats, answers: NDArray[np.int64]) -> Figures:
    """NDCG@10 and MRR@10, from one row of scores for each question."""
    own = scores[np.arange(len(answers)), answers][:, None]
    ranks = (scores > own).sum(axis=1) + 1 + ((scores == own).sum(axis=1) - 1) / 2
    inside = ranks <= DEPTH
    return Figures(
        float(np.where(inside, 1 / np.log2(1 + ranks), 0).mean()), float(np.where(inside, 1 / ranks, 0).mean())
    )


class BM25:
    """The lexical side: identifiers and their parts, stop words left out of the questions."""

    def __init__(self, texts: Sequence[str], k1: float = 1.5, b: float = 0.75) -> None:
        self._numbers: dict[str, int] = {}
        rows, columns, counts = [], [], []
        for row, text in enumerate(texts):
            for lexeme, count in Counter(lexemes(text)).items():
                rows.append(row)
                columns.append(self._numbers.setdefault(lexeme, len(self._numbers)))
                counts.append(count)
        tf = np.array(counts, dtype=np.float64)
        column = np.array(columns)
        lengths = np.bincount(rows, weights=tf, minlength=len(texts))
        frequency = np.bincount(column, minlength=len(self._numbers))
        idf = np.log(1 + (len(texts) - frequency + 0.5) / (frequency + 0.5))
        norm = k1 * (1 - b + b * lengths / max(lengths.mean(), 1))
        data = idf[column] * tf * (k1 + 1) / (tf + norm[rows])
        self._matrix = csr_matrix((data, (rows, column)), shape=(len(texts), len(self._numbers)))

    def scores(self, queries: Sequence[str]) -> Floats:
        """One row of scores for each question."""
        rows, columns = [], []
        for row, query in enumerate(queries):
            words = lexemes(query)
            kept = [word for word in words if word not in STOP_WORDS] or words
            for word in set(kept):
                if word in self._numbers:
                    rows.append(row)
                    columns.append(self._numbers[word])
        asked = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(len(queries), self._matrix.shape[1]))
        return np.asarray((asked @ self._matrix.T).todense(), dtype=np.float32)


def fused(lexical: Floats, dense: Floats, share: float = 0.8) -> Floats:
    """Both, each scaled to mean 0 and deviation 1 over a question's candidates; `share` is the dense side's.

    0.8 is the best of 0.5, 0.6, 0.7 and 0.8 on the held-out packages; 0.7 gives 0.011 less.
    """
    mixed: Floats = (1 - share) * _standard(lexical) + share * _standard(dense)
    return mixed


def _standard(scores: Floats) -> Floats:
    deviation = np.maximum(scores.std(axis=1, keepdims=True), 1e-6)
    standard: Floats = (scores - scores.mean(axis=1, keepdims=True)) / deviation
    return standard


def by_language(figures: Sequence[tuple[str, Figures]]) -> dict[str, Figures]:
    """The mean over the packages of each language."""
    languages = sorted({language for language, _ in figures})
    return {
        language: Figures(
            float(np.mean([each.ndcg for name, each in figures if name == language])),
            float(np.mean([each.mrr for name, each in figures if name == language])),
        )
        for language in languages
    }


class Watch:
    """Measures a model during training, on a fixed sample that is prepared once, so that it takes seconds."""

    def __init__(self, pairs: TokenPairs, heldout: Path | None, cosqa: Path | None, max_texts: int = 1_500) -> None:
        self._vocabulary = Vocabulary(pairs.vocabulary, pairs.buckets)
        packages = load_packages(heldout, max_texts, 150) if heldout else []
        stacks = packages + ([load_cosqa(cosqa)] if cosqa else [])
        self._stacks = [(stack, _counted(stack, self._vocabulary)) for stack in stacks]

    def __call__(self, model: Model) -> str:
        """NDCG@10 of the model as it is, in one line."""
        figures = [(stack.language, measure(_scores(model, counted), stack.answers)) for stack, counted in self._stacks]
        languages = by_language(figures)
        mean = np.mean([each.ndcg for name, each in languages.items() if name != "cosqa"] or [0])
        return f"mean {mean:.4f}  " + "  ".join(f"{name} {each.ndcg:.3f}" for name, each in languages.items())

    def scores(self, model: Model, stack: Haystack) -> Floats:
        """One row of scores for each question, by weights that are not packed."""
        return _scores(model, _counted(stack, self._vocabulary))


Counts = list[tuple[NDArray[np.int64], NDArray[np.int64], Floats]]


def _counted(stack: Haystack, vocabulary: Vocabulary) -> tuple[Counts, int, int]:
    leads, bodies = zip(*(text.partition("\n")[::2] for text in stack.texts), strict=True)
    return [_entries(part, vocabulary) for part in (leads, bodies, stack.queries)], len(stack.texts), len(stack.queries)


def _entries(texts: Sequence[str], vocabulary: Vocabulary) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    owner: list[int] = []
    ids: list[int] = []
    tf: list[int] = []
    for row, text in enumerate(texts):
        found = vocabulary.count(text)
        owner += [row] * len(found)
        ids += found.keys()
        tf += found.values()
    return np.array(owner, dtype=np.int64), np.array(ids, dtype=np.int64), 1 + np.log(np.array(tf, dtype=np.float32))


def _scores(model: Model, counted: tuple[Counts, int, int]) -> Floats:
    from training.train import BODY, LEAD, QUERY, unit
    from training.train_batches import Entries

    (leads, bodies, queries), texts, questions = counted
    stored = model.pool(Entries(*leads), LEAD, texts) + model.pool(Entries(*bodies), BODY, texts)
    scores: Floats = unit(model.pool(Entries(*queries), QUERY, questions))[0] @ unit(stored)[0].T
    return scores


def main() -> None:
    """The command line."""
    from sage_code.embed.bundled import BundledEmbedder
    from sage_code.embed.packed import MODEL_FOLDER

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--heldout", type=Path, required=True)
    parser.add_argument("--cosqa", type=Path)
    parser.add_argument("--model", default=MODEL_FOLDER, help="a packed model")
    chosen = parser.parse_args()
    embedder = BundledEmbedder(chosen.model)
    stacks = load_packages(chosen.heldout) + ([load_cosqa(chosen.cosqa)] if chosen.cosqa else [])
    for line in _table(stacks, lambda stack: embedder.embed_query(stack.queries) @ embedder.embed_code(stack.texts).T):
        print(line)


def _table(stacks: Sequence[Haystack], dense: Callable[[Haystack], Floats]) -> Iterator[str]:
    """The rows of a table by language: BM25, the model, both fused."""
    yield "| language | BM25 | model | fused | gain over BM25 |\n|---|---|---|---|---|"
    columns: list[list[tuple[str, Figures]]] = [[], [], []]
    for stack in stacks:
        lexical, own = BM25(stack.texts).scores(stack.queries), dense(stack)
        for column, scores in zip(columns, (lexical, own, fused(lexical, own)), strict=True):
            column.append((stack.language, measure(scores, stack.answers)))
    tables = [by_language(column) for column in columns]
    for language in tables[0]:
        bm25, model, both = (table[language].ndcg for table in tables)
        yield f"| {language} | {bm25:.3f} | {model:.3f} | {both:.3f} | {both / bm25 - 1:+.1%} |"


if __name__ == "__main__":
    main()
