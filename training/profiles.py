"""Learns which clauses say something lasting about their speaker, for `sage_code/memory/context/profile/weights.py`.

    python -m training.profiles MSC_DIR --sessions DIR_OR_GIT > sage_code/memory/context/profile/weights.py
    python -m training.profiles MSC_DIR --sessions DIR_OR_GIT --compare     # by cross-validation

MSC says of each turn what it tells about its speaker; the even dialogues are learned from, the odd ones are not read
here. A turn holds a fact if one of its clauses does ("noisy or"), so that turns teach clauses; the words that a clause
shares with the persona's lines tell which of them it was. Messages of coding sessions (even minutes) that were not
written to say something about their authors, and the clauses of `profile_sentences.txt`, teach the same for work.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from benchmarks.session_logs import exchanges_of, sessions_of
from sage_code.memory.context.profile.clauses import Clause, clauses_of, words_of
from sage_code.memory.context.profile.features import features_of
from sage_code.text.stems import STOP_WORDS, stem

HERE = Path(__file__).parent
# Rarer features are names of things, which another person does not have.
_LEAST_COUNT = 12
_ROUNDS = 120
_RATE = 0.06
_RIDGE = 4e-4
_LASSO = 6e-4
# How much the guessed labels of clauses count beside the true ones of turns.
_GUESSED = 0.35
# Weights below this are left out of the table.
_LEAST_WEIGHT = 0.12
# Clauses written by hand are few and sure.
_WRITTEN = 6.0
_UNWRITTEN = 0.5


@dataclass(slots=True)
class Turn:
    """A message with its clauses' features and what is known of it."""

    features: list[set[str]]
    holds: bool
    clause_holds: list[float]  # 1, 0, or -1 where nothing is known
    weight: float = 1.0
    group: int = 0  # the dialogue, for cross-validation


def msc_turns(folder: Path, parity: int = 0) -> list[Turn]:
    """The turns of every other dialogue."""
    found = []
    for session in (1, 2, 3, 4):
        for number, line in enumerate((folder / f"session_{session}.valid.txt").read_text().splitlines()):
            if number % 2 != parity:
                continue
            asked: Clause | None = None
            for turn in json.loads(line)["dialog"]:
                clauses = clauses_of(turn["text"])
                persona = turn.get("persona_text") or ""
                features = [features_of(clause, asked) for clause in clauses]
                if features:
                    found.append(Turn(features, bool(persona), _aligned(clauses, persona), 1.0, number))
                asked = next((clause for clause in reversed(clauses) if clause.asks), None)
    return found


def _aligned(clauses: Sequence[Clause], persona: str) -> list[float]:
    """For each clause whether it is what the persona's lines retell."""
    if not persona:
        return [0.0] * len(clauses)
    gold = {stem(word) for word in words_of(persona) if word not in STOP_WORDS}
    shares = []
    for clause in clauses:
        own = {stem(word) for word in clause.words if word not in STOP_WORDS and word.isalnum()}
        shares.append(len(own & gold) / max(len(own), 1))
    best = max(shares, default=0.0)
    if best == 0:
        return [-1.0] * len(clauses)
    return [1.0 if share >= max(0.5, best * 0.75) else 0.0 if share == 0 else -1.0 for share in shares]


def work_turns(sessions: str) -> list[Turn]:
    """Clauses of coding sessions, and those that were written for this."""
    found: list[Turn] = []
    for line in (HERE / "profile_sentences.txt").read_text().splitlines():
        if line[:2] in ("+ ", "- "):
            holds = line[0] == "+"
            for clause in clauses_of(line[2:])[:1]:
                found.append(Turn([features_of(clause)], holds, [float(holds)], _WRITTEN, len(found)))
    seen: Counter[str] = Counter()
    for session in sessions_of(sessions, "even"):
        for exchange in exchanges_of(session):
            for clause in clauses_of(exchange.user):
                seen[clause.text] += 1
                if seen[clause.text] == 1:
                    found.append(Turn([features_of(clause)], False, [0.0], _UNWRITTEN, len(found)))
    return found


class Model:
    """A weight for each feature."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        counts: Counter[str] = Counter()
        for turn in turns:
            for one in turn.features:
                counts.update(dict.fromkeys(one, max(turn.weight, 1.0)))
        self.names = sorted(name for name, count in counts.items() if count >= _LEAST_COUNT)
        self.number = {name: number for number, name in enumerate(self.names)}
        self.weights = np.zeros(len(self.names))
        self.constant = 0.0
        self.turn_scale = 1.0
        self.turn_shift = 0.0

    def learn(self, turns: Sequence[Turn], kept: np.ndarray | None = None) -> None:
        """Find the weights; `kept` says which of them may differ from zero."""
        torch.manual_seed(0)
        matrix, owner = self._matrix(turns)
        holds = torch.tensor([float(turn.holds) for turn in turns])
        weight = torch.tensor([turn.weight for turn in turns])
        guessed = torch.tensor([one for turn in turns for one in turn.clause_holds])
        known = (guessed >= 0).float() * weight[owner] * _GUESSED
        w = torch.zeros(len(self.names), requires_grad=True)
        b = torch.tensor(-1.0, requires_grad=True)
        steps = torch.optim.Adam([w, b], lr=_RATE)
        mask = None if kept is None else torch.tensor(kept, dtype=torch.float32)
        for round_ in range(_ROUNDS):
            for group in steps.param_groups:
                group["lr"] = _RATE * (1 - round_ / _ROUNDS)
            steps.zero_grad()
            logits = torch.sparse.mm(matrix, w[:, None])[:, 0] + b
            turn_logits = _noisy_or(logits, owner, len(turns))
            loss = (
                torch.nn.functional.binary_cross_entropy_with_logits(turn_logits, holds, reduction="none") * weight
            ).sum()
            of_clauses = torch.nn.functional.binary_cross_entropy_with_logits(
                logits, guessed.clamp(min=0), reduction="none"
            )
            total = (loss + (of_clauses * known).sum()) / weight.sum() + _RIDGE * (w**2).sum()
            total.backward()  # type: ignore[no-untyped-call]
            steps.step()
            with torch.no_grad():
                w.copy_(w.sign() * (w.abs() - _LASSO * steps.param_groups[0]["lr"] / _RATE * 10).clamp(min=0))
                if mask is not None:
                    w.mul_(mask)
        self.weights = w.detach().numpy().astype(float)
        self.constant = float(b.detach())

    def scores(self, turns: Sequence[Turn]) -> np.ndarray:
        """The log odds of the turns."""
        matrix, owner = self._matrix(turns)
        logits = torch.sparse.mm(matrix, torch.tensor(self.weights, dtype=torch.float32)[:, None])[:, 0] + self.constant
        return _noisy_or(logits, owner, len(turns)).numpy()

    def _matrix(self, turns: Sequence[Turn]) -> tuple[torch.Tensor, torch.Tensor]:
        rows, columns, owner = [], [], []
        row = 0
        for number, turn in enumerate(turns):
            for one in turn.features:
                hits = [self.number[name] for name in one if name in self.number]
                rows += [row] * len(hits)
                columns += hits
                owner.append(number)
                row += 1
        shape = (row, len(self.names))
        return torch.sparse_coo_tensor(
            torch.tensor([rows, columns]), torch.ones(len(rows)), shape
        ).to_sparse_csr(), torch.tensor(owner)


def _noisy_or(logits: torch.Tensor, owner: torch.Tensor, count: int) -> torch.Tensor:
    """The log odds that at least one clause of a turn holds."""
    none = torch.zeros(count).index_add(0, owner, torch.nn.functional.logsigmoid(-logits))
    none = none.clamp(max=-1e-6)
    return torch.log(-torch.expm1(none)) - none


def judged(scores: np.ndarray, holds: np.ndarray) -> str:
    """The best F1, and the recall at precision 0.90."""
    order = np.argsort(-scores)
    right = np.cumsum(holds[order])
    precision, recall = right / np.arange(1, len(holds) + 1), right / holds.sum()
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-9)
    best = int(f1.argmax())
    at = recall[precision >= 0.90]
    recall_then = at.max() if len(at) else 0.0
    return (
        f"F1 {f1[best]:.3f} at {scores[order][best]:.2f} (P {precision[best]:.3f} R {recall[best]:.3f}), "
        f"recall at P .90 {recall_then:.3f}"
    )


def compare(turns: Sequence[Turn], work: Sequence[Turn], folds: int = 4) -> None:
    """Cross-validation by dialogue."""
    scores = np.zeros(len(turns))
    of_work = np.zeros(len(work))
    for fold in range(folds):
        model = _model(
            [*(t for t in turns if t.group // 2 % folds != fold), *(t for t in work if t.group % folds != fold)]
        )
        chosen = [n for n, t in enumerate(turns) if t.group // 2 % folds == fold]
        scores[chosen] = model.scores([turns[n] for n in chosen])
        chosen = [n for n, t in enumerate(work) if t.group % folds == fold]
        of_work[chosen] = model.scores([work[n] for n in chosen])
        print(fold, (model.weights != 0).sum(), file=sys.stderr)
    print("MSC", judged(scores, np.array([t.holds for t in turns])))
    for low, high in ((-9, -2), (-2, -1), (-1, 0), (0, 1), (1, 2), (2, 9)):
        inside = [t.holds for t, s in zip(turns, scores, strict=True) if low <= s < high]
        print(f"  log odds {low} to {high}: {np.mean(inside):.2f} of {len(inside)} hold a fact")
    written = [n for n, t in enumerate(work) if t.weight == _WRITTEN]
    print("written", judged(of_work[written], np.array([work[n].holds for n in written])))
    rest = np.array([of_work[n] for n, t in enumerate(work) if t.weight != _WRITTEN])
    for limit in (0, 1, 1.5):
        print(f"clauses of sessions above {limit}: {np.mean(rest > limit):.4f} of {len(rest)}")


def _model(turns: Sequence[Turn]) -> Model:
    """The weights, learned, thinned out and learned again."""
    model = Model(turns)
    model.learn(turns)
    model.learn(turns, np.abs(model.weights) >= _LEAST_WEIGHT)
    model.weights[np.abs(model.weights) < _LEAST_WEIGHT / 2] = 0
    return model


def written(model: Model) -> Iterable[str]:
    """The module of the weights."""
    yield '"""How much each feature of a clause says for a lasting fact; made by `python -m training.profiles`.'
    yield ""
    yield "Learned from the even dialogues of MSC's validation part (persona summaries by turn), from messages of"
    yield "public coding sessions, and from `training/profile_sentences.txt`. Log odds; names: `features.py`."
    yield '"""'
    yield ""
    yield "from __future__ import annotations"
    yield ""
    yield f"CONSTANT = {model.constant:.3f}"
    yield "WEIGHTS = {"
    line = "   "
    for name, weight in sorted(zip(model.names, model.weights, strict=True)):
        if weight:
            entry = f" {json.dumps(name)}: {weight:.2f},"
            if len(line) + len(entry) > 120:
                yield line
                line = "   "
            line += entry
    yield line
    yield "}  # fmt: skip"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("msc", type=Path)
    parser.add_argument("--sessions", required=True)
    parser.add_argument("--compare", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    turns, work = msc_turns(options.msc), work_turns(options.sessions)
    if options.compare:
        compare(turns, work)
    else:
        print("\n".join(written(_model([*turns, *work]))))


if __name__ == "__main__":
    main()
