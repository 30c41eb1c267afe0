"""An imported index answers as the exported one, with or without the project's files."""

from __future__ import annotations

import shutil
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sage_code import Project
from sage_code.chunk.version import CHUNKER_VERSION
from sage_code.embed.bundled import BundledEmbedder
from sage_code.errors import ArchiveError, IndexCorrupt, NotIndexed, SageError, UsageError
from sage_code.index import registry
from sage_code.index.batches import PortableFile, pack
from sage_code.index.manifest import FileState, load_manifest
from sage_code.index.portable.archive import FILES, HEAD, Archive, ArchiveWriter
from sage_code.index.portable.head import Head
from sage_code.index.portable.importing import _files
from sage_code.index.upkeep import verify_project
from sage_code.paths import codebase_dir, compiled_dir
from sage_code.search.results import SearchResponse
from sage_code.store.lance import Store, store_uri
from sage_code.store.rows import FileRows

QUESTIONS = ["reach a host", "connect", "Server.start", "open the port", "options url", "LIMIT", "lang:python stop"]


@pytest.fixture
def archive(sample: Path, tmp_path: Path) -> Path:
    """The sample with some more in it, indexed and exported."""
    project = Project.open(sample)
    (sample / "notes.md").write_text("# Hosts\n\nHow a host is reached.\n\n# Ports\n\nWhich ports are open.\n")
    (sample / "server.py").write_text((sample / "server.py").read_text() + "\n\ndef close():\n    return None\n")
    project.index()
    file = tmp_path / "sample.sageindex"
    project.export_index(file)
    return file


@pytest.fixture
def another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Path]:
    """From the call on, everything belongs to a user without a store."""

    def become() -> Path:
        monkeypatch.setenv("SAGE_HOME", str(tmp_path / "another" / ".sage"))
        return tmp_path / "another" / "src" / "sample"

    return become


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that is embedded as code from here on."""
    texts: list[str] = []
    real = BundledEmbedder.embed_code

    def counted(self: BundledEmbedder, given: Any) -> Any:
        texts.extend(given)
        return real(self, given)

    monkeypatch.setattr(BundledEmbedder, "embed_code", counted)
    return texts


def _answers(root: Path) -> list[Any]:
    def answer(found: SearchResponse) -> Any:
        return found.project, found.good, found.truncated, found.note, found.results

    return [answer(Project.open(root).search(question, explain=True)) for question in QUESTIONS]


def test_the_same_answers_without_the_files(
    sample: Path, archive: Path, another_user: Callable[[], Path], embedded: list[str]
) -> None:
    at_home = _answers(sample)
    assert any(answer[1] for answer in at_home)
    symbols, callers = Project.open(sample).grep("connect"), Project.open(sample).analyze("Server")
    root = another_user()
    embedded.clear()
    report = Project.import_index(archive, root)
    assert (report.files, report.checkout) == (3, False)
    assert len(embedded) == report.vectors_checked == report.chunks_added  # each compared with the model, once
    embedded.clear()
    assert sorted(path.name for path in root.iterdir()) == [".sage"]
    for answer, expected in zip(_answers(root), at_home, strict=True):
        assert answer == expected
    assert Project.open(root).grep("connect") == symbols
    assert Project.open(root).analyze("Server") == callers
    assert not embedded
    assert [entry.root for entry in registry.projects()] == [str(root)]


def test_removed_versions_are_not_exported(
    sample: Path, archive: Path, another_user: Callable[[], Path], tmp_path: Path
) -> None:
    """Words of removed files count until their segment is written again; then the answers are the same."""
    (sample / "notes.md").write_text("# Hosts\n\nNobody reaches a host any more, whatever the port.\n")
    Project.open(sample).index()
    Project.open(sample).export_index(archive)
    (Path(compiled_dir(str(sample))) / "functions.json").unlink()
    assert verify_project(str(sample), Project.open(sample).settings).mended
    at_home, root = _answers(sample), another_user()
    Project.import_index(archive, root)
    for answer, expected in zip(_answers(root), at_home, strict=True):
        assert [(hit.file, hit.start_line, hit.snippet) for hit in answer[4]] == [
            (hit.file, hit.start_line, hit.snippet) for hit in expected[4]
        ]
        assert [hit.score for hit in answer[4]] == pytest.approx([hit.score for hit in expected[4]], abs=1e-4)


def test_with_the_files_only_the_difference_is_embedded(
    sample: Path, archive: Path, another_user: Callable[[], Path]
) -> None:
    root = another_user()
    Project.import_index(archive, root)
    for name in ("server.py", "notes.md", "web"):
        copy = shutil.copytree if (sample / name).is_dir() else shutil.copyfile
        copy(sample / name, root / name)
    unchanged = Project.open(root).index()
    # Parsed and cut here, not taken from the archive; the imported vectors were compared and are used.
    assert (unchanged.files_indexed, unchanged.files_unchanged, unchanged.chunks_created) == (3, 0, 0)
    (root / "new.py").write_text("def added(value):\n    return value + 1\n")
    (root / "notes.md").unlink()
    changed = Project.open(root).index()
    assert (changed.files_indexed, changed.files_removed, changed.chunks_created) == (1, 1, 1)
    manifest = load_manifest(str(root))
    assert manifest is not None
    assert not manifest.imported


def test_an_index_without_its_files_is_left_alone(archive: Path, another_user: Callable[[], Path]) -> None:
    root = another_user()
    Project.import_index(archive, root)
    (root / "own.txt").write_text("a note of mine about this index\n")
    project = Project.open(root)
    assert project.index().files_unchanged == 3
    assert project.status().fresh
    with pytest.raises(UsageError, match="none of its files"):
        project.index(full=True)
    shutil.rmtree(compiled_dir(str(root)), ignore_errors=True)
    Path(compiled_dir(str(root))).unlink()
    assert project.index().files_unchanged == 3  # brought back from the store, texts and all
    assert "def connect" in project.search("reach a host").results[0].snippet


def test_the_own_index_is_replaced_and_its_name_stays(sample: Path, archive: Path) -> None:
    project = Project.open(sample)
    (sample / "server.py").unlink()
    project.index(name="mine")
    assert not project.grep("Server")
    report = Project.import_index(archive, sample)
    assert (report.project, report.checkout, report.chunks_added) == ("mine", True, 0)
    assert project.grep("Server", refresh=False)  # its file is not there, which a refresh brings in
    assert project.index().files_removed == 1
    assert not project.grep("Server")


def test_what_cannot_be_exported(sample: Path, tmp_path: Path) -> None:
    project, file = Project.open(sample), tmp_path / "index"
    with pytest.raises(NotIndexed):
        project.export_index(file)
    project.index()
    manifest = load_manifest(str(sample))
    assert manifest is not None
    store = Store(store_uri(""), manifest.model, manifest.dim)
    store.delete([next(iter(manifest.files.values())).key])
    with pytest.raises(IndexCorrupt, match="lost 1 files"):
        project.export_index(file)
    assert not list(tmp_path.glob("index*"))
    replace(manifest, store_uri=str(tmp_path / "theirs")).save(str(sample))
    with pytest.raises(IndexCorrupt, match="another store"):
        project.export_index(file)
    assert not (tmp_path / "theirs").exists()
    manifest.save(str(sample))
    with pytest.raises(SageError, match="cannot write"):
        project.export_index(tmp_path / "no" / "such" / "folder")


@pytest.mark.parametrize("change", ["model", "chunker"])
def test_an_archive_that_does_not_fit(
    sample: Path, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    if change == "model":
        monkeypatch.setenv("SAGE_CODE_EMBEDDING_MODEL", "hashing")
    else:
        monkeypatch.setattr("sage_code.index.portable.importing.CHUNKER_VERSION", CHUNKER_VERSION + 1)
    with pytest.raises(ArchiveError, match=change if change == "model" else "cuts files in another way"):
        Project.import_index(archive, tmp_path / "elsewhere")
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_called_export_is_still_a_folder(sample: Path, monkeypatch: pytest.MonkeyPatch, sage: Any) -> None:
    folder = sample / "export"
    (folder / ".sage").mkdir(parents=True)
    (folder / "a.py").write_text("def inside():\n    return 1\n")
    monkeypatch.chdir(sample)
    assert sage("index", "./export").code == 0
    assert Path(codebase_dir(str(folder))).exists()
    assert "Missing argument" in sage("index", "export").err
    assert sage("index", "export", "--help").code == 0


def test_memory_grows_with_the_batch(tmp_path: Path, rows_of: Callable[..., FileRows]) -> None:
    """Ten times the frames, hardly more memory."""
    source = "".join(
        f"def work_{number}(values):\n" + "    total = values[0] * 7\n" * 30 + "\n" for number in range(60)
    )
    peaks = []
    for frames in (3, 30):
        path = str(tmp_path / f"of{frames}")
        with open(path, "wb") as file:
            writer = ArchiveWriter(file)
            head = Head("p", "m", 8, CHUNKER_VERSION, frames, frames, "now")
            writer.add(HEAD, head.pack())
            for number in range(frames):
                rows = rows_of(f"module_{number}.py", source)
                state = FileState(len(source), 0, f"{number:032x}", rows.key, len(rows.chunks), rows.language)
                writer.add(FILES, pack([PortableFile(rows, state)]))
            writer.finish()
        tracemalloc.start()
        with Archive.open(path) as archive:
            assert sum(len(batch) for batch in _files(archive, head)) == frames
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.5, peaks
