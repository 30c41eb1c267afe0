"""The inner loops of an index run and the price of an event, one benchmark each: what is slower shows here first.

    pytest benchmarks --benchmark-enable --benchmark-only

The input is Sage's own source, so that words, nesting and sizes are those of real code. No limits are set: absolute
times differ by machine. Compare two commits with `--benchmark-save NAME` and `--benchmark-compare`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sage_code.chunk.chunker import chunk_text
from sage_code.chunk.files import ChunkedFile
from sage_code.chunk.words import count_words
from sage_code.compiled.lookup import open_symbols
from sage_code.compiled.segment_builder import SegmentBuilder
from sage_code.embed.hashing import HashingEmbedder
from sage_code.events.bus import EventBus
from sage_code.events.events import Event
from sage_code.index.vectors import VectorSource
from sage_code.languages.table import by_name
from sage_code.parse.definitions import parse
from sage_code.paths import listeners_dir
from sage_code.project import Project
from sage_code.store.rows import FileRows
from sage_code.text.lexemes import Lexicon
from sage_code.values import SourceFile

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

_SOURCES = sorted((Path(__file__).resolve().parents[1] / "sage_code").rglob("*.py"))


@pytest.fixture(scope="module")
def files() -> list[ChunkedFile]:
    """Sage's own modules, chunked."""
    return [_chunked(path) for path in _SOURCES if path.stat().st_size]


@pytest.fixture(scope="module")
def texts(files: list[ChunkedFile]) -> list[str]:
    return [chunk.text for file in files for chunk in file.chunks]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Sage's own modules as an indexed project, with a home of its own."""
    root = tmp_path_factory.mktemp("project")
    for path in _SOURCES:
        copy = root / path.relative_to(_SOURCES[0].parents[1])
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
        os.utime(copy, (0, 0))  # fresh time stamps are not trusted, and the files would be read again
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAGE_HOME", str(tmp_path_factory.mktemp("home")))
        opened = Project(str(root))
        opened.index()
        yield opened  # what is compiled is believed only with this home


class _EmptyStore:
    """An empty store, so that everything is embedded."""

    def vectors(self, _hashes: list[str]) -> dict[str, object]:
        return {}


@pytest.fixture(scope="module")
def rows(files: list[ChunkedFile]) -> list[FileRows]:
    return VectorSource(_EmptyStore(), HashingEmbedder()).rows(files)  # type: ignore[arg-type]


def _chunked(path: Path) -> ChunkedFile:
    source = path.read_bytes()
    parsed = parse(source, by_name("python"))
    assert parsed is not None
    chunks = chunk_text(source.decode(), parsed.symbols, parsed.borders)
    return ChunkedFile(
        SourceFile(path.name, len(source), 0), path.name, "python", tuple(chunks), "", count_words(chunks)
    )


def test_lexicon_counts(benchmark: BenchmarkFixture, texts: list[str]) -> None:
    lexicon = Lexicon()
    lexicon.count(texts)  # a project repeats its words: the steady state counts
    benchmark(lexicon.count, texts)


def test_hashing_embedder(benchmark: BenchmarkFixture, texts: list[str]) -> None:
    embedder = HashingEmbedder()
    embedder.embed_code(texts)
    benchmark(embedder.embed_code, texts)


def test_parse_and_chunk(benchmark: BenchmarkFixture) -> None:
    benchmark(_chunked, max(_SOURCES, key=lambda path: path.stat().st_size))


def test_vectors_to_rows(benchmark: BenchmarkFixture, files: list[ChunkedFile]) -> None:
    embedder = HashingEmbedder()
    source = VectorSource(_EmptyStore(), embedder)  # type: ignore[arg-type]
    benchmark(source.rows, files)


def test_segment_write(benchmark: BenchmarkFixture, rows: list[FileRows], tmp_path: Path) -> None:
    def write() -> None:
        builder = SegmentBuilder("hashing", HashingEmbedder.dim)
        for file in rows:
            builder.add(file)
        builder.write(str(tmp_path / "benchmark.seg"))

    benchmark(write)


def test_symbol_lookup(benchmark: BenchmarkFixture, project: Project) -> None:
    found = benchmark(lambda: open_symbols(project.root).find("index_project"))
    assert len(found) == 1


def test_nothing_changed(benchmark: BenchmarkFixture, project: Project) -> None:
    stats = benchmark(project.index)
    assert not stats.files_indexed


def test_an_event_for_one_handler(benchmark: BenchmarkFixture) -> None:
    bus = EventBus()
    heard: list[str] = []
    bus.subscribe("my.event", lambda event: heard.append(event.id), timeout_ms=0)
    benchmark(lambda: bus.publish_sync(Event("my.event")))
    assert heard


def test_a_look_for_listeners(benchmark: BenchmarkFixture) -> None:
    # `paths.anybody_listens` without its look at the loaded modules: this one has loaded the bus.
    assert not benchmark(lambda: os.path.exists(listeners_dir()))
