"""A server answers many questions at once with one engine."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sage_code import Project
from sage_code.embed.bundled import BundledEmbedder
from sage_code.search.soft import WordMeanings

THREADS = 8
ASKED = {"retry": 0.6, "server": 0.4}


def _split(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(name.split("_")), ("folder", name[:3])


def test_words_that_many_threads_meet_first_keep_their_meanings() -> None:
    names = [f"{first}_{second}" for first in ("retry", "backoff", "open", "server", "port") for second in "abcdefgh"]
    parts = [names[number::THREADS] for number in range(THREADS)] * 8
    model = BundledEmbedder()
    right = [WordMeanings(model).match(ASKED, [(part, _split)]) for part in parts]
    for _ in range(5):
        shared = WordMeanings(model)
        with ThreadPoolExecutor(THREADS) as pool:
            found = list(pool.map(lambda part, one=shared: one.match(ASKED, [(part, _split)]), parts))
        for one, other in zip(found, right, strict=True):
            assert [(match.cover.tolist(), match.share.tolist()) for match in one] == [
                (match.cover.tolist(), match.share.tolist()) for match in other
            ]


def test_questions_at_once_have_the_answers_of_questions_in_turn(tmp_path: Path) -> None:
    for number in range(30):
        lines = (f"def work_{number}_{line}(value):\n    return value + {line}\n" for line in range(5))
        (tmp_path / f"module_{number}.py").write_text("\n".join(lines))
    asked = [f"work {number} value" for number in range(30)]
    Project.open(tmp_path).index()
    in_turn = [[(hit.file, hit.score) for hit in Project.open(tmp_path).search(text).results] for text in asked]
    project = Project.open(tmp_path)
    with ThreadPoolExecutor(THREADS) as pool:
        at_once = list(pool.map(lambda text: [(hit.file, hit.score) for hit in project.search(text).results], asked))
    assert at_once == in_turn
