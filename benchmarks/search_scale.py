"""How search slows down as an index grows: `python benchmarks/search_scale.py --sources DIR ... [--sizes N ...]`.

The chunks of real projects are multiplied: in every copy a third of the words is exchanged for others of the same
projects, so that names, postings and vectors differ as they would in other code. They are embedded by the real model
and written as a run would write them; the files are links to the originals, whose lines they have. Questions are asked
in process, warm, with snippets. What is printed: percentiles, and where the time goes.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import xxhash
from measure import machine, table

from sage_code import Project
from sage_code.chunk.embedded_text import embedded_text
from sage_code.chunk.files import ChunkedFile, chunk_file
from sage_code.compiled.generation import GenerationWriter
from sage_code.compiled.published import current
from sage_code.discover.listing import list_files
from sage_code.discover.rules import DEFAULT_RULES
from sage_code.embed import default_embedder
from sage_code.embed.protocol import Embedder
from sage_code.paths import codebase_dir, generations_dir
from sage_code.search.evaluation import percentiles
from sage_code.search.snapshot import SearchSnapshot
from sage_code.store.rows import FileRows
from sage_code.values import Chunk, SourceFile

_WORD = re.compile(r"[A-Za-z]{4,}")
# One word in so many is another one in a copy.
_CHANGED = 3
_QUESTIONS = 100
_BATCH = 64
# The functions whose time is shown, as the profile names them.
_STEPS = {
    "secret words": ("lexical.py", "_gather"),
    "best by words": ("lexical.py", "best"),
    "words of the files": ("lexical.py", "about"),
    "meaning": ("dense.py", "nearness"),
    "filters": ("filters.py", "allowed"),
    "names": ("engine.py", "_defined"),
    "choosing candidates": ("engine.py", "_choose"),
    "features": ("features.py", "measure"),
    "snippets": ("snippets.py", "snippet"),
    "the question's vector": ("", "embed_query"),
    "which index": ("published.py", "current"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", nargs="+", required=True, help="real projects, on the scratch folder's disk")
    parser.add_argument(
        "--scratch",
        default=os.path.join(tempfile.gettempdir(), "sage-scale"),
        help="where the indexes are written, and kept",
    )
    parser.add_argument("--sizes", nargs="+", type=int, default=[10_000, 100_000], help="chunks; 1000000 takes long")
    parser.add_argument("--profile", type=int, default=0, metavar="N", help="also the N most expensive functions")
    given = parser.parse_args()
    print(machine(), end="\n\n")
    rows, steps = [], []
    for size in given.sizes:
        root = os.path.join(given.scratch, str(size))
        known = current(root)
        if known is None or known.model != default_embedder().name:
            shutil.rmtree(codebase_dir(root), ignore_errors=True)
            build(root, given.sources, size)
        row, step = measure(root, given.profile)
        rows.append(row)
        steps.append(step)
    print(table(["chunks", "segments", "p50, ms", "p95", "own time p50", "first question, ms", "memory, MB"], rows))
    print("\nmilliseconds of processor time a question, under the profiler\n")
    print(table(["chunks", *_STEPS, "all"], steps))


# -- an index of any size ---------------------------------------------------------------------------------------------


def build(root: str, sources: Sequence[str], size: int) -> None:
    """Write an index of at least `size` chunks: copies of the sources with other words."""
    started = time.monotonic()
    os.makedirs(generations_dir(root))
    embedder = default_embedder()
    files = [(source, file) for source in sources for file in _chunked(source)]
    words = sorted({word for _, file in files for chunk in file.chunks for word in _WORD.findall(chunk.text)})
    chunks = copy = 0
    try:
        with GenerationWriter(root, embedder.name, embedder.dim, None, set()) as writer:
            while chunks < size:
                for start in range(0, len(files), _BATCH):
                    batch = [_copied(source, file, copy, words, root) for source, file in files[start : start + _BATCH]]
                    for rows in _embedded(batch, embedder):
                        writer.add(rows)
                        chunks += len(rows.chunks)
                    if chunks >= size:
                        break
                copy += 1
                print(
                    f"  {chunks:,} of {size:,} chunks, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True
                )
            writer.publish()
    except BaseException:
        shutil.rmtree(codebase_dir(root))
        raise


def _chunked(source: str) -> Iterator[ChunkedFile]:
    for file in list_files(source):
        if isinstance(file, SourceFile):
            cut = chunk_file(source, file, DEFAULT_RULES)
            if isinstance(cut, ChunkedFile) and cut.chunks:
                yield cut


def _copied(source: str, file: ChunkedFile, copy: int, words: Sequence[str], root: str) -> ChunkedFile:
    """A copy of a file with other words, at its own path, which links to the original."""
    path = f"copy{copy:04d}/{os.path.basename(source)}/{file.file.path}"
    place = Path(root, path)
    place.parent.mkdir(parents=True, exist_ok=True)
    if not place.exists():
        os.link(os.path.join(source, file.file.path), place)
    change = _exchanger(words, copy) if copy else str
    return replace(file, file=replace(file.file, path=path), chunks=tuple(_changed(c, change) for c in file.chunks))


def _exchanger(words: Sequence[str], copy: int) -> Callable[[str], str]:
    """A function that exchanges a third of the words of a text, the same way for one `copy`."""
    known: dict[str, str] = _KNOWN.setdefault(copy, {})

    def other(match: re.Match[str]) -> str:
        word = match.group()
        if word not in known:
            number = xxhash.xxh3_64_intdigest(word.encode(), seed=copy)
            known[word] = words[number % len(words)] if number % _CHANGED == 0 else word
        return known[word]

    return lambda text: _WORD.sub(other, text)


_KNOWN: dict[int, dict[str, str]] = {}


def _changed(chunk: Chunk, change: Callable[[str], str]) -> Chunk:
    symbols = tuple(
        replace(one, name=change(one.name), qualname=change(one.qualname), signature=change(one.signature))
        for one in chunk.symbols
    )
    return replace(
        chunk, name=change(chunk.name), qualname=change(chunk.qualname), signature=change(chunk.signature),
        docstring=change(chunk.docstring), text=change(chunk.text), symbols=symbols,
    )  # fmt: skip


def _embedded(files: Sequence[ChunkedFile], embedder: Embedder) -> Iterator[FileRows]:
    vectors = embedder.embed_code([embedded_text(chunk) for file in files for chunk in file.chunks])
    at = 0
    for file in files:
        own = vectors[at : at + len(file.chunks)]
        at += len(file.chunks)
        path, blank = file.file.path, ("",) * len(file.chunks)
        yield FileRows(path, path, file.language, file.chunks, blank, blank, own, file.references)


# -- asking it --------------------------------------------------------------------------------------------------------


def measure(root: str, profiled: int) -> tuple[list[object], list[object]]:
    """Time all questions; a row of percentiles, and a row of where the time goes."""
    snapshot = SearchSnapshot(root)
    asked = questions(snapshot)
    project = Project(root)
    started = time.perf_counter()
    project.search(asked[0], refresh=False)
    first = (time.perf_counter() - started) * 1000
    for text in asked[:10]:
        project.search(text, refresh=False)
    took, own = [], []
    for text in asked:
        started, busy = time.perf_counter(), time.thread_time()
        project.search(text, refresh=False)
        took.append((time.perf_counter() - started) * 1000)
        own.append((time.thread_time() - busy) * 1000)
    profile = cProfile.Profile(time.thread_time)  # what others do on the machine is not ours
    profile.runcall(lambda: [project.search(text, refresh=False) for text in asked])
    stats = pstats.Stats(profile)
    if profiled:
        stats.sort_stats("tottime").print_stats(profiled)
    wall_ms, own_ms = percentiles(took), percentiles(own)
    row = [
        f"{snapshot.chunks:,}", len(snapshot.segments), f"{wall_ms['p50']:.1f}", f"{wall_ms['p95']:.1f}",
        f"{own_ms['p50']:.1f}", f"{first:.0f}", f"{_resident_mb():.0f}",
    ]  # fmt: skip
    return row, [f"{snapshot.chunks:,}", *_steps(stats, len(asked))]


def questions(snapshot: SearchSnapshot) -> list[str]:
    """Questions by name (names of chunks) and in words (words of some chunks)."""
    chance = random.Random(7)
    asked: list[str] = []
    while len(asked) < _QUESTIONS:
        qualname = snapshot.qualname(chance.randrange(snapshot.chunks))
        signature = snapshot.signature(chance.randrange(snapshot.chunks))
        words = _WORD.findall(signature)
        if len(asked) % 4 == 0 and qualname:
            asked.append(qualname.rpartition(".")[2])
        elif len(words) >= 3:
            asked.append("how is " + " ".join(words[:5]).lower() + " handled")
    return asked


def _steps(stats: pstats.Stats, count: int) -> list[str]:
    raw = stats.stats  # type: ignore[attr-defined]
    shown = []
    for file, function in _STEPS.values():
        spent = max(
            (entry[3] for (path, _, name), entry in raw.items() if name == function and path.endswith(file)),
            default=0.0,
        )
        shown.append(f"{spent * 1000 / count:.1f}")
    return [*shown, f"{stats.total_tt * 1000 / count:.1f}"]  # type: ignore[attr-defined]


def _resident_mb() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


if __name__ == "__main__":
    main()
