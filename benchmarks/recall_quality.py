"""Does knowledge come back when it is about the question, and stay away when it is not?

    python benchmarks/recall_quality.py --repos DIR [--fit] [--model NAME] [--seed 1]

Sections of the documentation of real projects are the knowledge, their headings (three words that say something, or
more) the questions: a heading belongs to its own section and to none of forty others of the same project. Printed are,
at each threshold that a type of knowledge has, the share of sections recalled for their own heading and for another's,
without any keyword and with a keyword of the heading's; and what 0.90 means for deduplication. `--fit` fits the
weights of `sage_code/memory/index/calibration.py` on every other project; figures are always of the remaining ones.
"""

from __future__ import annotations

import argparse
import itertools
import random
import re
import statistics
from pathlib import Path

import numpy as np

from sage_code.embed.loading import load_embedder
from sage_code.embed.protocol import Embedder
from sage_code.memory.index.passages import all_of, record_of
from sage_code.memory.recall import calibration
from sage_code.memory.recall.keywords import Keywords
from sage_code.memory.recall.knowledge_score import combined
from sage_code.memory.recall.ranking import signals, words_of

_SECTION = re.compile(r"^#{1,4} (.+)$", re.MULTILINE)
_MOST, _OTHERS = 150, 40
THRESHOLDS = (0.3, 0.4, 0.7, 0.8)

Row = tuple[float, float, float | None, bool]  # words, cosine, keywords, whether it belongs


def sections(project: Path, chooser: random.Random) -> list[tuple[str, str]]:
    """Headings and the text below each, from a project's Markdown files."""
    found: dict[str, str] = {}
    for path in sorted(project.rglob("*.md"))[:400]:
        text = path.read_text(errors="replace")
        if path.name.lower().startswith(("changelog", "history", "release")) or len(text) > 500_000:
            continue
        marks = [*_SECTION.finditer(text)]
        for mark, following in zip(marks, [*marks[1:], None][: len(marks)], strict=True):
            body = text[mark.end() : following.start() if following else len(text)].strip()[:1500]
            heading = re.sub(r"[`*_\[\]{}#]|\(.*?\)", " ", mark[1]).strip()
            if len(words_of(heading)) >= 3 and len(words_of(body)) >= 12:
                found.setdefault(heading, body)
    return chooser.sample(sorted(found.items()), min(len(found), _MOST))


def rows_of(project: Path, embedder: Embedder, chooser: random.Random) -> list[Row]:
    """Every heading against its own section and others."""
    items = sections(project, chooser)
    if len(items) < 40:
        return []
    texts = [text for _, text in items]
    passages = all_of([record_of(str(n), text) for n, text in enumerate(texts)], embedder.embed_code(texts))
    rows: list[Row] = []
    for number, (heading, _) in enumerate(items):
        found = signals(passages, words_of(heading), embedder.embed_query([heading])[0])
        others = chooser.sample([n for n in range(len(items)) if n != number], min(_OTHERS, len(items) - 1))
        for row in (number, *others):
            keyword = max(words_of(items[row][0]), key=len)
            keywords = Keywords({"it": [keyword]}).scores(heading).get("it")
            rows.append((float(found.words[row]), float(found.dense[row]), keywords, row == number))
    return rows


def fit(rows: list[Row], of_model: calibration.Calibration) -> tuple[float, float, float]:
    """Logistic regression by Newton's method; related and unrelated pairs weigh as one to five."""
    x = np.array([(1.0, words, of_model.evidence(cosine)) for words, cosine, _, _ in rows])
    y = np.array([belongs for *_, belongs in rows], float)
    weight = np.where(y == 1, 1 / y.sum(), 5 / (1 - y).sum()) * len(y) / 6
    beta = np.zeros(3)
    for _ in range(30):
        p = 1 / (1 + np.exp(-x @ beta))
        slope = x.T @ (weight * (y - p)) - 1e-3 * beta
        curve = (x * (weight * p * (1 - p))[:, None]).T @ x + 1e-3 * np.eye(3)
        beta += np.linalg.solve(curve, slope)
    return float(beta[0]), float(beta[1]), float(beta[2])


def report(rows: list[Row], of_model: calibration.Calibration) -> None:
    """The table of thresholds."""
    own_rows = np.array([(cosine, keywords or 0) for _, cosine, keywords, belongs in rows if belongs])
    without, with_one = (own_rows @ np.array(shares) >= 0.7 for shares in ((0.7, 0.0), (0.7, 0.3)))
    print(f"0.7 x cosine + 0.3 x keywords as it stands reaches 0.70 for {without.mean():.3f} of the sections without a")
    print(f"keyword and for {with_one.mean():.3f} with one")
    for label, with_keywords in (("meaning alone", False), ("with a keyword of the heading's", True)):
        scores = [
            (combined(of_model.probability(words, cosine), keywords if with_keywords else None), belongs)
            for words, cosine, keywords, belongs in rows
        ]
        own = np.array([score for score, belongs in scores if belongs])
        other = np.array([score for score, belongs in scores if not belongs])
        above = (own[:, None] > chosen(other)[None, :]).mean()
        print(f"{label}: {len(own)} questions, {len(other)} other pairs; own scores higher {above:.3f} of the time")
        for threshold in THRESHOLDS:
            print(f"| {threshold:.2f} | {(own >= threshold).mean():.3f} | {(other >= threshold).mean():.4f} |")
        print(f"median own {statistics.median(own):.2f}, median other {statistics.median(other):.3f}")


def repeats(projects: list[Path], embedder: Embedder, chooser: random.Random) -> None:
    """What a similarity of 0.90 means: texts of forty words against changed copies of themselves and against others."""
    texts = [" ".join(text.split()[:40]) for path in projects for _, text in sections(path, chooser)[:20]]
    words = sorted({word for text in texts for word in text.split()})

    def changed(text: str, share: float) -> str:
        return " ".join(chooser.choice(words) if chooser.random() < share else word for word in text.split())

    def turned(text: str) -> str:
        parts = text.split()
        return " ".join(parts[len(parts) // 2 :] + parts[: len(parts) // 2])

    variants = {
        "its halves exchanged": list(map(turned, texts)),
        "1 word in 20 another": [changed(text, 0.05) for text in texts],
        "1 word in 10 another": [changed(text, 0.1) for text in texts],
        "1 word in 4 another": [changed(text, 0.25) for text in texts],
        "its first half": [" ".join(text.split()[: len(text.split()) // 2]) for text in texts],
        "the next text of the project": texts[1:] + texts[:1],
    }
    vectors = embedder.embed_code(texts)
    print(f"repeats, {len(texts)} texts: at least 0.90 similar, and the median")
    for label, others in variants.items():
        similar = (vectors * embedder.embed_code(others)).sum(axis=1)
        print(f"| {label} | {(similar >= 0.9).mean():.3f} | {np.median(similar):.2f} |")


def chosen(values: np.ndarray) -> np.ndarray:
    """A sample small enough to compare every pair."""
    return np.random.default_rng(1).choice(values, min(len(values), 2000), replace=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--projects", type=int, default=60)
    given = parser.parse_args()
    chooser = random.Random(given.seed)
    embedder = load_embedder(given.model, "prose")
    of_model = calibration.calibration_of(embedder)
    print(f"{embedder.name}: {of_model}")
    made = (rows_of(path, embedder, chooser) for path in sorted(given.repos.iterdir()) if path.is_dir())
    found = list(itertools.islice(filter(None, made), given.projects))
    print(f"{len(found)} projects")
    if given.fit:
        rows = [row for part in found[::2] for row in part]
        calibration.BIAS, calibration.WORDS, calibration.MEANING = fit(rows, of_model)
        print(f"BIAS, WORDS, MEANING = {calibration.BIAS:.2f}, {calibration.WORDS:.2f}, {calibration.MEANING:.2f}")
    report([row for part in found[1::2] for row in part], of_model)
    repeats([path for path in sorted(given.repos.iterdir()) if path.is_dir()][:40], embedder, chooser)


if __name__ == "__main__":
    main()
