"""How well `conversation_search` orders messages: BEAM's long chats and LoCoMo's, one document a message.

    python benchmarks/recall.py --beam DIR --locomo FILE [--train] [--ablate] [--folds N] [--raw]

BEAM is the public repository mohammadtavakoli78/BEAM; DIR holds chats as `N/chat.json` and
`N/probing_questions/probing_questions.json`. FILE is `data/locomo10.json` of snap-research/LoCoMo; its questions of the
categories 1 to 4 count. The data stays outside of our repository. Recall@k is the share of a question's gold messages
among the first k, averaged over the questions that have gold. A pool is made as in production: the best by words, the
best by vector, and two neighbours on either side of each.

`recall_questions.py` adds questions by keywords, quotations, times and speakers, which both sets lack: an order that
was learned on theirs alone must not lose to words there. One set of weights serves all sets. "Cross-validated" means
that the weights were fitted on the conversations of other folds. `--train` fits on all conversations and writes
`weights.json`. `--ablate` leaves one signal out at a time (fitted again), and ranks by each signal alone. The numbers
that BEAM's generator left behind user messages ("->-> 1,2") are removed, unless `--raw` is given.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from recall_questions import made_up

from sage_code.embed.bundled import BundledEmbedder
from sage_code.memory.index.passages import all_of, record_of
from sage_code.memory.recall.ranking import signals as signals_today
from sage_code.memory.recall.ranking import words_of as words_today
from sage_code.memory.tiers.message_search import POOL_BY_MEANING, POOL_BY_WORDS
from sage_code.memory.tiers.ranking.features import GROUPS, NAMES, signals
from sage_code.memory.tiers.ranking.meanings import Meanings
from sage_code.memory.tiers.ranking.parts import parts, words_of_text
from sage_code.memory.tiers.ranking.pool import Candidate, Pool, Statistics
from sage_code.memory.tiers.ranking.question import Question, read_question
from sage_code.memory.tiers.ranking.ranker import WEIGHTS_FILE, WEIGHTS_VERSION, certainty, read_model

Floats = NDArray[np.float32]
Scores = Callable[["Case"], Floats]

LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
AROUND = (-2, -1, 1, 2)
# Fitting: steps of Adam, its rate, and the penalty on weights of standardised signals, chosen by cross-validation.
STEPS, RATE, PENALTY = 250, 0.05, 1e-3
# Messages of a question that take part in fitting: the best by words, and a share of the others, which then count for
# those that are left out.
_HARD, _SAMPLED = 40, 0.25
# What the collections count in fitting: made-up questions are easy, and only have to stay so.
MADE_UP = "made-up"
_SHARES = {"BEAM": 1.0, "LoCoMo": 1.0, MADE_UP: 0.3}
_ARTEFACT = re.compile(r"\s*->->\s*[\d,]+\s*$")


@dataclass(frozen=True, slots=True)
class Message:
    """One message or turn."""

    id: str
    role: str
    speaker: str
    text: str
    created: float
    session: str
    order: int


@dataclass(frozen=True, slots=True)
class Conversation:
    """A chat and the questions about it."""

    name: str
    messages: list[Message]
    questions: list[tuple[str, str, str, frozenset[str]]]  # collection, category, text, gold


@dataclass(frozen=True, slots=True)
class Case:
    """One question with the signals of its pool."""

    collection: str
    conversation: str
    category: str
    columns: Floats  # message by signal
    is_gold: NDArray[np.bool_]
    gold: int  # how many there are, found or not
    baselines: dict[str, tuple[float, float]]  # recall at 5 and 10


def read_beam(folder: Path, raw: bool) -> Iterator[Conversation]:
    """The chats of BEAM; a batch of a chat is a session."""
    for path in sorted(folder.glob("*/chat.json"), key=lambda path: int(path.parent.name)):
        messages: list[Message] = []
        created = 0.0
        for number, batch in enumerate(json.loads(path.read_text())):
            turns = [message for turn in batch["turns"] for message in turn]
            for order, message in enumerate(turns):
                created = _anchor(message.get("time_anchor")) or created
                text = message["content"] if raw else _ARTEFACT.sub("", message["content"])
                messages.append(Message(str(message["id"]), message["role"], "", text, created, str(number), order))
        probes = json.loads((path.parent / "probing_questions" / "probing_questions.json").read_text())
        asked = [
            (category, probe["question"], frozenset(_ids(probe.get("source_chat_ids", []))))
            for category, of_category in probes.items()
            for probe in of_category
        ]
        yield _asked("BEAM", path.parent.name, messages, [one for one in asked if one[2]])


def read_locomo(file: Path) -> Iterator[Conversation]:
    """The conversations of LoCoMo."""
    for sample in json.loads(file.read_text()):
        talk = sample["conversation"]
        messages: list[Message] = []
        for number in itertools.count(1):
            if f"session_{number}_date_time" not in talk:
                break
            created = datetime.strptime(talk[f"session_{number}_date_time"], "%I:%M %p on %d %B, %Y")
            for order, turn in enumerate(talk.get(f"session_{number}", [])):
                text = f"{turn['text']} {turn.get('blip_caption', '')}".strip()
                at = created.replace(tzinfo=UTC).timestamp()
                messages.append(Message(turn["dia_id"], "user", turn["speaker"], text, at, str(number), order))
        asked = [
            (LOCOMO_CATEGORIES[one["category"]], one["question"], evidence)
            for one in sample["qa"]
            if one["category"] in LOCOMO_CATEGORIES
            and (evidence := frozenset(re.findall(r"D\d+:\d+", " ".join(one.get("evidence", [])))))
        ]
        yield _asked("LoCoMo", sample["sample_id"], messages, asked)


def _asked(
    collection: str, name: str, messages: list[Message], asked: Sequence[tuple[str, str, frozenset[str]]]
) -> Conversation:
    """A conversation with the questions of its collection and made-up ones."""
    own = [(collection, *one) for one in asked]
    return Conversation(name, messages, [*own, *((MADE_UP, *one) for one in made_up(messages, name))])


def _anchor(text: str | None) -> float:
    try:
        return datetime.strptime(text or "", "%B-%d-%Y").replace(tzinfo=UTC).timestamp()
    except ValueError:
        return 0.0


def _ids(value: Any) -> Iterator[str]:
    """The numbers of messages in lists and dictionaries of any depth."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _ids(one)
    elif isinstance(value, int) or (isinstance(value, str) and value.strip().isdigit()):
        yield str(int(value))


class Measured:
    """One conversation as an engine would hold it."""

    def __init__(self, talk: Conversation, embedder: BundledEmbedder, meanings: Meanings) -> None:
        self.talk, self.meanings = talk, meanings
        messages = talk.messages
        self.words = [words_of_text(message.text) for message in messages]
        self.counts = [Counter(words.split()) for words in self.words]
        self.lengths = [counts.total() for counts in self.counts]
        self.frequency = Counter(itertools.chain.from_iterable(self.counts))
        self.average = statistics.mean(self.lengths)
        spans = [(row, message.text[a:b]) for row, message in enumerate(messages) for a, b in parts(message.text)]
        starts = np.searchsorted([row for row, _ in spans], np.arange(len(messages)))
        vectors = embedder.embed_code([text for _, text in spans])
        asked = embedder.embed_query([text for _, _, text, _ in talk.questions])
        self.cosines = np.maximum.reduceat(asked @ vectors.T, starts, axis=1)
        self.place = {(message.session, message.order): row for row, message in enumerate(messages)}
        self.now = datetime.fromtimestamp(max(message.created for message in messages), UTC) + timedelta(days=1)
        # Today's ranking, as `locomo.py` measures it.
        said = [f"{one.speaker}: {one.text}" if one.speaker else one.text for one in messages]
        records, before, session = [], "", ""
        for row, (one, text) in enumerate(zip(messages, said, strict=True)):
            follows = before if one.session == session else ""
            records.append(record_of(str(row), text, follows=follows, names=(one.speaker,) if one.speaker else ()))
            before, session = str(row), one.session
        self.today = all_of(records, embedder.embed_code(said))
        self.asked = asked

    def bm25(self, stems: Sequence[str]) -> Floats:
        """The score of every message by words."""
        total, scores = len(self.words), np.zeros(len(self.words), np.float32)
        for term in stems:
            seen = self.frequency[term]
            rarity = np.log(1 + (total - seen + 0.5) / (seen + 0.5))
            for row, counts in enumerate(self.counts):
                if count := counts[term]:
                    scores[row] += (
                        rarity * count * 2.2 / (count + 1.2 * (0.25 + 0.75 * self.lengths[row] / self.average))
                    )
        return scores

    def cases(self) -> Iterator[Case]:
        """The questions with the signals of their pools."""
        ids = [message.id for message in self.talk.messages]
        for number, (collection, category, text, gold) in enumerate(self.talk.questions):
            question = read_question(text, self.now)
            by_words, cosines = self.bm25(question.stems()), self.cosines[number]
            candidates = self.pool(by_words, cosines)
            pool = Pool(candidates, self.meanings)
            found = signals(question, pool, self.statistics(question), self.meanings)
            baselines = {
                "BM25": by_words,
                "today": signals_today(self.today, words_today(text), self.asked[number]).score,
                "vector": cosines,
            }
            is_gold = np.array([one in gold for one in ids])
            yield Case(
                collection,
                self.talk.name,
                category,
                np.stack([found.columns[name] for name in NAMES], axis=1),
                is_gold[[one.key for one in pool.candidates]],
                len(gold),
                {name: recalls(score, is_gold, len(gold)) for name, score in baselines.items()},
            )

    def statistics(self, question: Question) -> Statistics:
        """What an engine knows about the words of a question."""
        return Statistics(len(self.words), self.average, {stem: self.frequency[stem] for stem in question.stems()})

    def pool(self, by_words: Floats, cosines: Floats) -> list[Candidate]:
        """The pool that an engine would load."""
        best = np.argsort(-by_words, kind="stable")[:POOL_BY_WORDS]
        found = {int(row) for row in best if by_words[row] > 0}
        found |= set(np.argsort(-cosines, kind="stable")[:POOL_BY_MEANING].tolist())
        messages = self.talk.messages
        around = {
            self.place.get((messages[row].session, messages[row].order + step), row) for row in found for step in AROUND
        }
        return [
            Candidate(row, one.role, one.speaker, one.text, self.words[row], one.created, one.session, one.order,
                      float(cosines[row]), row in found)
            for row in sorted(found | around)
            for one in (messages[row],)
        ]  # fmt: skip


def recalls(scores: Floats, is_gold: NDArray[np.bool_], gold: int) -> tuple[float, float]:
    """Recall at 5 and at 10."""
    order = np.argsort(-scores, kind="stable")[:10]
    return float(is_gold[order[:5]].sum() / gold), float(is_gold[order].sum() / gold)


class Fit:
    """Weights of signals: z = columns @ weights, fitted so that gold stands before the rest (softmax over a pool)."""

    def __init__(self, cases: Sequence[Case], used: Sequence[int], penalty: float = PENALTY) -> None:
        self.used = list(used)
        chance = np.random.default_rng(0)
        columns, gold, offsets, sizes, shares = [], [], [], [], []
        totals = Counter(case.collection for case in cases)
        counted = sum(_SHARES[collection] for collection in totals)
        for case in cases:
            if not case.is_gold.any():
                continue
            hard = np.zeros(len(case.is_gold), dtype=bool)
            hard[np.argsort(-case.columns[:, _COLUMN["context"]], kind="stable")[:_HARD]] = True
            hard |= case.is_gold
            kept = hard | (chance.random(len(hard)) < _SAMPLED)
            columns.append(case.columns[kept][:, self.used])
            gold.append(case.is_gold[kept] / case.is_gold.sum())
            offsets.append(np.where(hard[kept], 0.0, -np.log(_SAMPLED)))
            sizes.append(int(kept.sum()))
            shares.append(_SHARES[case.collection] / (counted * totals[case.collection]))
        matrix = np.concatenate(columns).astype(np.float32)
        mean, spread = matrix.mean(axis=0), matrix.std(axis=0) + np.float32(1e-6)
        matrix = (matrix - mean) / spread
        self.mean, self.spread = mean, spread
        self.weights = self._adam(
            matrix,
            np.concatenate(gold).astype(np.float32),
            np.concatenate(offsets).astype(np.float32),
            np.array(sizes),
            np.array(shares, np.float32),
            penalty,
        )

    def _adam(
        self, matrix: Floats, gold: Floats, offsets: Floats, sizes: NDArray[np.int64], shares: Floats, penalty: float
    ) -> Floats:
        starts = np.cumsum(sizes) - sizes
        of_row = np.repeat(shares, sizes)
        weights = np.zeros(matrix.shape[1], np.float32)
        first, second = np.zeros_like(weights), np.zeros_like(weights)
        for step in range(1, STEPS + 1):
            z = matrix @ weights + offsets
            z -= np.repeat(np.maximum.reduceat(z, starts), sizes)
            grown = np.exp(z)
            expected = grown / np.repeat(np.add.reduceat(grown, starts), sizes)
            gradient = matrix.T @ ((expected - gold) * of_row) + 2 * penalty * weights
            first = 0.9 * first + 0.1 * gradient
            second = 0.99 * second + 0.01 * gradient**2
            rate = RATE * 0.5 * (1 + np.cos(np.pi * step / STEPS))
            weights -= rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.99**step)) + 1e-8)
        return weights.astype(np.float32)

    def __call__(self, case: Case) -> Floats:
        """The scores of the messages of a case."""
        z: Floats = ((case.columns[:, self.used] - self.mean) / self.spread) @ self.weights
        return z


_COLUMN = {name: number for number, name in enumerate(NAMES)}


def cross_validated(cases: Sequence[Case], used: Sequence[int], folds: int, penalty: float = PENALTY) -> list[Floats]:
    """The scores of all cases by weights that were fitted without their conversation."""
    names = sorted({case.conversation for case in cases})
    fold_of = {name: number % folds for number, name in enumerate(names)}
    scores: dict[int, Floats] = {}
    for fold in range(folds):
        inside = [fold_of[case.conversation] == fold for case in cases]
        fit = Fit([case for case, held in zip(cases, inside, strict=True) if not held], used, penalty)
        scores |= {row: fit(case) for row, (case, held) in enumerate(zip(cases, inside, strict=True)) if held}
    return [scores[row] for row in range(len(cases))]


def calibrated(cases: Sequence[Case], scores: Sequence[Floats]) -> list[float]:
    """The weights of `ranker.certainty` for the odds of being gold, by Newton's method; all sets count the same."""
    totals = Counter(case.collection for case in cases)
    gold = np.concatenate([case.is_gold for case in cases]).astype(np.float64)
    share = np.concatenate([np.full(len(case.is_gold), 1 / totals[case.collection]) for case in cases])
    inputs = np.concatenate(
        [certainty(z, case.columns[:, _COLUMN["base"]]) for case, z in zip(cases, scores, strict=True)]
    )
    line = np.zeros(inputs.shape[1])
    for _ in range(50):
        likely = 1 / (1 + np.exp(-np.clip(inputs @ line, -30, 30)))
        slope = inputs.T @ (share * (gold - likely))
        curve = (inputs * (share * likely * (1 - likely))[:, None]).T @ inputs
        line = line + np.linalg.solve(curve + 1e-9 * np.eye(len(line)), slope)
    return [round(one, 4) for one in line.tolist()]


def write_weights(cases: Sequence[Case]) -> None:
    """Fit on all conversations, and write the weights that Sage uses."""
    fit = Fit(cases, range(len(NAMES)))
    weights = np.round(fit.weights / fit.spread, 4)
    stored = {
        "version": WEIGHTS_VERSION,
        "made": f"benchmarks/recall.py --train: {len(cases)} questions: BEAM (100K, without Coding), LoCoMo, made up",
        "certainty": calibrated(cases, [case.columns @ weights for case in cases]),
        "weights": {name: float(weight) for name, weight in zip(NAMES, weights.tolist(), strict=True)},
    }
    WEIGHTS_FILE.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    read_model.cache_clear()
    print(f"wrote {WEIGHTS_FILE}\n")


Table = dict[str, tuple[float, float]]


def table_of(cases: Sequence[Case], found: Sequence[tuple[float, float]]) -> Table:
    """Mean recall by collection and by category."""
    rows: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for case, recall in zip(cases, found, strict=True):
        rows[case.collection].append(recall)
        rows[f"{case.collection} {case.category}"].append(recall)
    return {
        name: (statistics.mean(one for one, _ in values), statistics.mean(other for _, other in values))
        for name, values in sorted(rows.items())
    }


def table_by(cases: Sequence[Case], scores: Sequence[Floats]) -> Table:
    """The same by scores."""
    return table_of(cases, [recalls(s, case.is_gold, case.gold) for case, s in zip(cases, scores, strict=True)])


def print_tables(tables: dict[str, Table]) -> None:
    """R@5 / R@10, a row a table."""
    first = next(iter(tables.values()))
    print("| R@5 / R@10 | " + " | ".join(tables) + " |")
    print("|---" * (len(tables) + 1) + "|")
    for row in first:
        print(
            f"| {row} | " + " | ".join(f"{table[row][0]:.3f} / {table[row][1]:.3f}" for table in tables.values()) + " |"
        )
    print(flush=True)


def print_ablation(cases: Sequence[Case], folds: int) -> None:
    """What each signal brings: cross-validated without it, and alone (fitted on its own columns)."""
    every = list(range(len(NAMES)))
    whole = table_by(cases, cross_validated(cases, every, folds))
    collections = sorted({case.collection for case in cases})
    print("| signal | " + " | ".join(f"{one} without | {one} alone" for one in collections) + " |")
    print("|---" * (1 + 2 * len(collections)) + "|")
    print(
        "| all | " + " | ".join(f"{whole[one][0]:.3f} / {whole[one][1]:.3f} |" for one in collections) + " |",
        flush=True,
    )
    worse: list[str] = []
    for group, names in GROUPS.items():
        own = [_COLUMN[name] for name in names]
        less = table_by(cases, cross_validated(cases, [row for row in every if row not in own], folds))
        alone = table_by(cases, cross_validated(cases, own, folds))
        cells = [
            f"{less[one][0] - whole[one][0]:+.3f} / {less[one][1] - whole[one][1]:+.3f} | "
            f"{alone[one][0]:.3f} / {alone[one][1]:.3f}"
            for one in collections
        ]
        print(f"| {group} | " + " | ".join(cells) + " |", flush=True)
        worse += [
            f"{row}: {group} alone {alone[row][k]:.3f} > all {whole[row][k]:.3f} (R@{(5, 10)[k]})"
            for row in whole
            for k in (0, 1)
            if alone[row][k] > whole[row][k] + 0.005
        ]
    print("\nCategories in which a signal alone is better than all:\n" + ("\n".join(worse) or "none"), flush=True)


def cases_of(given: argparse.Namespace) -> list[Case]:
    """All cases, measured."""
    embedder = BundledEmbedder()
    meanings = Meanings(embedder)
    talks = [*read_beam(given.beam, given.raw)] if given.beam else []
    talks += read_locomo(given.locomo) if given.locomo else []
    return [case for talk in talks for case in Measured(talk, embedder, meanings).cases()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beam", type=Path, help="folder of BEAM's chats")
    parser.add_argument("--locomo", type=Path, help="locomo10.json")
    parser.add_argument("--train", action="store_true", help="fit on everything and write weights.json")
    parser.add_argument("--ablate", action="store_true", help="what each signal brings")
    parser.add_argument("--folds", type=int, default=5, help="folds of the cross-validation; 0 for none")
    parser.add_argument("--raw", action="store_true", help="leave the generator's numbers in BEAM's messages")
    given = parser.parse_args()
    cases = cases_of(given)
    if given.train:
        write_weights(cases)
    model = read_model()
    tables = {name: table_of(cases, [case.baselines[name] for case in cases]) for name in ("BM25", "vector", "today")}
    tables["shipped weights"] = table_by(cases, [case.columns @ model.weights for case in cases])
    if given.folds:
        tables["cross-validated"] = table_by(cases, cross_validated(cases, range(len(NAMES)), given.folds))
    print_tables(tables)
    if given.ablate:
        print_ablation(cases, given.folds or 5)


if __name__ == "__main__":
    main()
